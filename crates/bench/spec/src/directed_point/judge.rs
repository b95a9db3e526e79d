//! The judge.

use super::{
    Channel, Counts, Excuses, Outcome, Packet, Record, Sighting, Stage, Violation, PACKET_MAX,
    PATIENCE,
};
use std::collections::BTreeMap;

/// Numbers of what was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sightings of packets.
    pub sightings: u64,
    /// Packets that programs have read.
    pub read: u64,
    /// Packets that were lost, each for a reason.
    pub lost: u64,
    /// Nodes of which it is not known what their programs wrote and read.
    pub silent: u64,
}

/// Sightings of a channel's packets, by stage.
type Passage<'a> = [Vec<&'a Sighting>; 6];

/// Holds what was seen at the nodes against the specification; node `n` is at index `n`. The error is
/// the first thing that is wrong.
pub fn judge(nodes: &[Record], excuses: Excuses) -> Result<Tally, Violation> {
    let mut channels: BTreeMap<Channel, Passage<'_>> = BTreeMap::new();
    let mut tally = Tally::default();
    for (nid, record) in (0..).zip(nodes) {
        if record.strange > 0 {
            return Err(Violation::Strange { nid, packets: record.strange });
        }
        if let Some(interrupt) = record.announced_wrong {
            return Err(Violation::Unannounced { nid, interrupt });
        }
        tally.silent += u64::from(!record.is_told());
        for stage in Stage::ALL {
            for sighting in record.at(stage) {
                belongs(nid, stage, &sighting.packet)?;
                tally.sightings += 1;
                let passage = channels.entry(sighting.packet.channel).or_default();
                passage[stage as usize].push(sighting);
            }
        }
    }
    let mut lost = Lost::default();
    for (channel, passage) in &channels {
        tally.read += passage[Stage::Read as usize].len() as u64;
        follow_all(nodes, *channel, passage, excuses, &mut lost)?;
    }
    tally.lost = lost.reasons(nodes, excuses)?;
    Ok(tally)
}

/// The node is that end of the packet's channel to which the stage belongs.
fn belongs(nid: u16, stage: Stage, packet: &Packet) -> Result<(), Violation> {
    let channel = packet.channel;
    let own = if stage < Stage::Came { channel.source } else { channel.target };
    if own != nid {
        return Err(Violation::Astray { nid, stage, packet: *packet });
    }
    if packet.length == 0 || packet.length > PACKET_MAX {
        return Err(Violation::Length { stage, packet: *packet });
    }
    Ok(())
}

/// Numbers of packets that did not come to the next stage, by the node that should know why.
#[derive(Default)]
struct Lost {
    /// Packets that stand in their card, which is held up.
    sending: BTreeMap<u16, u64>,
    network: u64,
    card: BTreeMap<u16, u64>,
    module: BTreeMap<u16, u64>,
}

/// Follows a channel's packets from stage to stage, and finds those that are missing; where packets were
/// under way, the last ones are not.
fn follow_all(
    nodes: &[Record],
    channel: Channel,
    passage: &Passage<'_>,
    excuses: Excuses,
    lost: &mut Lost,
) -> Result<(), Violation> {
    let is_told = |nid: u16| nodes.get(usize::from(nid)).is_some_and(Record::is_told);
    let (source, target) = (is_told(channel.source), is_told(channel.target));
    let failed = passage[Stage::Written as usize].iter();
    let failed = failed.filter(|written| written.outcome == Outcome::Failed).count() as u64;
    for (before, stage) in Stage::ALL.into_iter().zip(Stage::ALL.into_iter().skip(1)) {
        if before == Stage::Written && !source || stage == Stage::Read && !target {
            continue;
        }
        let (from, to) = (&passage[before as usize], &passage[stage as usize]);
        let (skipped, last) = follow(from, to, stage)?;
        let missing = if excuses.under_way { skipped } else { skipped + last };
        match stage {
            Stage::Written => {}
            Stage::Commanded | Stage::Left => {
                let stuck = excuses.stuck.is_some();
                // A card that is held up answers nobody.
                let excused = if stuck || stage == Stage::Left { failed } else { 0 };
                if missing > excused && stuck && stage == Stage::Left {
                    *lost.sending.entry(channel.source).or_default() += missing - excused;
                } else if missing > excused && source {
                    let missing = missing - excused;
                    return Err(Violation::Missing { channel, missing, stage });
                }
            }
            Stage::Came => lost.network += missing,
            Stage::Moved => *lost.card.entry(channel.target).or_default() += missing,
            Stage::Read => *lost.module.entry(channel.target).or_default() += missing,
        }
    }
    Ok(())
}

/// Finds each packet of `to` among those of `from`, in order. Returns how many of those are missing: before
/// the last one that was found, and behind it.
fn follow(from: &[&Sighting], to: &[&Sighting], stage: Stage) -> Result<(u64, u64), Violation> {
    let mut processes: Vec<u32> = from.iter().chain(to).map(|sighting| sighting.process).collect();
    processes.retain(|process| *process > 0);
    processes.sort_unstable();
    processes.dedup();
    // Several processes share one end: nobody knows the order between them.
    let shared = processes.len() > 1;
    let mut used = vec![false; from.len()];
    let (mut next, mut behind) = (0, 0);
    let mut to = to.to_vec();
    if shared {
        // Those of which all is known first: the others take what is left.
        to.sort_by_key(|sighting| sighting.outcome == Outcome::Cut);
    }
    for found in &to {
        let begin = if shared { 0 } else { next };
        let place = (begin..from.len()).find(|at| !used[*at] && is_same(&from[*at].packet, found));
        let place = place.ok_or_else(|| wrong(from, found, stage, &used))?;
        used[place] = true;
        next = place + 1;
        behind = behind.max(next);
    }
    let last = from.len() - behind;
    Ok(((behind - to.len()) as u64, last as u64))
}

/// True if that packet can be what was found.
fn is_same(packet: &Packet, found: &Sighting) -> bool {
    match found.outcome {
        Outcome::Cut => found.packet.length <= packet.length,
        Outcome::Done | Outcome::Failed => {
            (packet.length, packet.sum) == (found.packet.length, found.packet.sum)
        }
    }
}

/// Violation by a packet that should not be there.
fn wrong(from: &[&Sighting], found: &Sighting, stage: Stage, used: &[bool]) -> Violation {
    let Sighting { packet, at, .. } = *found;
    let mut same = from.iter().zip(used).filter(|(sighting, _)| is_same(&sighting.packet, found));
    match (same.clone().any(|(_, used)| !used), same.next()) {
        (true, _) => Violation::Overtaken { stage, packet, at },
        (false, Some(_)) => Violation::Doubled { stage, packet, at },
        (false, None) => Violation::Unknown { stage, packet, at },
    }
}

impl Lost {
    /// The number of all, if each has a reason.
    fn reasons(&self, nodes: &[Record], excuses: Excuses) -> Result<u64, Violation> {
        let Excuses { network, stuck, under_way, end } = excuses;
        // A card that is reset may be sending.
        let cut: u64 = nodes.iter().map(|record| record.resets).sum();
        let standing = stuck.unwrap_or_default();
        if self.network > network + cut + standing {
            return Err(Violation::Network { lost: self.network, network, stuck });
        }
        if let Some((&nid, &held)) = self.sending.iter().find(|(_, held)| **held > 1) {
            return Err(Violation::Held { nid, held });
        }
        let mut all = self.network + self.sending.values().sum::<u64>();
        for (nid, record) in (0..).zip(nodes) {
            let of = |lost: &BTreeMap<u16, u64>| lost.get(&nid).copied().unwrap_or_default();
            let (card, module) = (of(&self.card), of(&self.module));
            all += card + module;
            if record.resets > 0 {
                continue;
            }
            // A host that has been switched off takes nothing.
            let end = record.counts.map_or(end, |counts| counts.at);
            let since = record.standing.filter(|since| since + PATIENCE < end);
            if let Some(since) = since {
                return Err(Violation::Unfetched { nid, since });
            }
            let late = |sighting: &&Sighting| sighting.at.is_some_and(|at| at >= end);
            let late = record.at(Stage::Came).iter().filter(late).count() as u64;
            let kept = record.kept + late + record.counts.map_or(0, |counts| counts.no_memory);
            if card > kept && (record.counts.is_some() || record.kept == 0) {
                return Err(Violation::Card { nid, lost: card, excused: kept });
            }
            if let Some(counts) = record.counts {
                balanced(nid, record, counts, module, under_way)?;
            }
        }
        Ok(all)
    }
}

/// The module has counted what it took, and what it lost.
fn balanced(
    nid: u16,
    record: &Record,
    counts: Counts,
    lost: u64,
    under_way: bool,
) -> Result<(), Violation> {
    let Counts { received, no_channel, no_room, closed, wrong, .. } = counts;
    let early = |sighting: &&Sighting| sighting.at.is_none_or(|at| at < counts.at);
    let moved = record.at(Stage::Moved).iter().filter(early).count() as u64;
    if received != moved {
        return Err(Violation::Untaken { nid, moved, taken: received });
    }
    if wrong > 0 {
        return Err(Violation::Headers { nid, packets: wrong });
    }
    let late = record.at(Stage::Moved).len() as u64 - moved;
    let reasons = no_channel + no_room + closed + late;
    if record.is_told() && lost > reasons && !under_way {
        return Err(Violation::Module { nid, lost, excused: reasons });
    }
    Ok(())
}
