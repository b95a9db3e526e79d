//! A world of its own, right, and then with each fault; the judge finds what is wrong in it.

use super::*;

/// xorshift64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn seen(packet: Packet, at: u64) -> Sighting {
    Sighting { packet, at: Some(at), outcome: Outcome::Done, process: 0 }
}

/// Packets that nodes send to one another, some of which are lost for each reason that there is.
fn world(seed: u64) -> (Vec<Record>, Excuses) {
    let mut chance = Chance(seed * 2 + 1);
    let mut nodes =
        vec![Record { told: true, counts: Some(Counts::default()), ..Record::default() }; 3];
    let mut excuses = Excuses::default();
    for at in 0..200 {
        let (source, target) = (chance.below(3), chance.below(3));
        let [source_point, target_point] = [(); 2].map(|()| chance.below(2) as u16);
        let (a, b) = (source as u16, target as u16);
        let channel = Channel { source: a, source_point, target: b, target_point };
        let packet =
            Packet { channel, length: 1 + chance.below(1500) as u32, sum: sum(&[at as u8]) };
        let written = Sighting { at: None, process: 7, ..seen(packet, at) };
        nodes[source].add(Stage::Written, written);
        nodes[source].add(Stage::Commanded, seen(packet, at));
        let end = chance.below(12);
        if end == 0 {
            nodes[source].seen[0].last_mut().unwrap().outcome = Outcome::Failed;
            continue;
        }
        counts(&mut nodes[source]).sent += 1;
        nodes[source].add(Stage::Left, seen(packet, at));
        if end == 1 {
            excuses.network += 1;
            continue;
        }
        let node = &mut nodes[target];
        node.add(Stage::Came, seen(packet, at));
        if end == 2 {
            node.kept += 1;
            continue;
        }
        if end == 3 {
            counts(node).no_memory += 1;
            continue;
        }
        node.add(Stage::Moved, seen(packet, at));
        counts(node).received += 1;
        match end {
            4 => counts(node).no_channel += 1,
            5 => counts(node).no_room += 1,
            6 => counts(node).closed += 1,
            _ => {
                counts(node).read += 1;
                node.add(Stage::Read, Sighting { at: None, process: 8, ..seen(packet, at) });
            }
        }
    }
    nodes.iter_mut().for_each(|node| counts(node).at = 1000);
    (nodes, excuses)
}

fn counts(node: &mut Record) -> &mut Counts {
    node.counts.as_mut().unwrap()
}

#[test]
fn a_right_world_is_right() {
    for seed in 0..50 {
        let (nodes, excuses) = world(seed);
        let tally = judge(&nodes, excuses).unwrap();
        assert!(tally.read > 50 && tally.lost > 50 && tally.silent == 0, "{tally:?}");
    }
}

/// A world with a fault at a stage of node 1, and what the judge says.
fn with(
    seed: u64,
    stage: Stage,
    fault: impl Fn(&mut Vec<Sighting>, usize),
) -> Result<Tally, Violation> {
    let (mut nodes, excuses) = world(seed);
    let list = &mut nodes[1].seen[stage as usize];
    let at = Chance(seed + 1).below(list.len() - 1);
    fault(list, at);
    judge(&nodes, excuses)
}

#[test]
fn each_fault_is_found_at_each_stage() {
    for seed in 0..50 {
        for stage in Stage::ALL {
            let doubled = with(seed, stage, |list, at| list.insert(at, list[at]));
            // What programs do twice by the module's counts they did by themselves.
            let own = [Stage::Written, Stage::Read].contains(&stage);
            assert!(doubled.is_err() || own, "{seed} {stage:?} doubled");
            let lost = with(seed, stage, |list, at| {
                list.remove(at);
            });
            assert!(lost.is_err() || own, "{seed} {stage:?} lost");
            let changed = with(seed, stage, |list, at| list[at].packet.sum ^= 1);
            assert!(changed.is_err(), "{seed} {stage:?} changed");
            let elsewhere = with(seed, stage, |list, at| list[at].packet.channel.target_point += 2);
            assert!(elsewhere.is_err(), "{seed} {stage:?} elsewhere");
            let swapped = with(seed, stage, |list, at| {
                let same = |other: &usize| list[*other].packet.channel == list[at].packet.channel;
                let other = (at + 1..list.len()).find(same).unwrap_or(at);
                list.swap(at, other);
                if other == at {
                    list[at].packet.length = 1501;
                }
            });
            assert!(swapped.is_err(), "{seed} {stage:?} in another order");
        }
    }
}

#[test]
fn counts_that_do_not_fit_are_found() {
    let faults: [fn(&mut Record); 8] = [
        |node| {
            node.standing = Some(counts(node).at);
            counts(node).at += PATIENCE + 1;
        },
        |node| node.strange = 1,
        |node| {
            node.announced_wrong = Some(Announced { at: 7, announced: 0, received: 24 });
        },
        |node| node.kept -= 1,
        |node| counts(node).no_memory -= 1,
        |node| counts(node).received += 1,
        |node| counts(node).wrong = 1,
        |node| counts(node).no_room -= 1,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let (mut nodes, excuses) = world(number as u64);
        fault(&mut nodes[1]);
        assert!(judge(&nodes, excuses).is_err(), "fault {number}");
    }
    let (nodes, excuses) = world(9);
    let excuses = Excuses { network: excuses.network - 1, ..excuses };
    assert!(judge(&nodes, excuses).is_err());
}

/// A node that was switched off knows nothing of its programs, and what is under way has not come yet.
#[test]
fn what_nobody_knows_is_no_fault() {
    let (mut nodes, excuses) = world(3);
    (nodes[1].told, nodes[1].counts) = (false, None);
    nodes[1].seen[Stage::Read as usize].clear();
    assert_eq!(judge(&nodes, excuses).unwrap().silent, 1);
    for node in &mut nodes {
        node.counts = None;
        node.seen[Stage::Came as usize].pop();
        node.seen[Stage::Moved as usize].clear();
        node.seen[Stage::Read as usize].clear();
    }
    assert!(judge(&nodes, excuses).is_err());
    assert!(judge(&nodes, Excuses { under_way: true, ..excuses }).is_ok());
}

/// Whatever stands before a stuck output is lost for that reason, and nothing else is.
#[test]
fn packets_before_a_stuck_output_have_a_reason() {
    let (mut nodes, excuses) = world(4);
    let lost = judge(&nodes, excuses).unwrap().lost;
    let stuck = |stuck| Excuses { network: excuses.network - 3, stuck, ..excuses };
    assert_eq!(judge(&nodes, stuck(Some(3))).unwrap().lost, lost);
    for too_few in [None, Some(0), Some(2)] {
        let why = judge(&nodes, stuck(too_few)).unwrap_err();
        assert!(matches!(why, Violation::Network { stuck, .. } if stuck == too_few), "{why}");
    }
    // A card that is held up stands with one packet, and its program does not end.
    let last = *nodes[0].at(Stage::Commanded).last().unwrap();
    (nodes[0].told, nodes[0].counts) = (false, None);
    let lost = judge(&nodes, stuck(Some(3))).unwrap().lost;
    nodes[0].add(Stage::Commanded, last);
    assert_eq!(judge(&nodes, stuck(Some(3))).unwrap().lost, lost + 1);
    nodes[0].add(Stage::Commanded, last);
    let why = judge(&nodes, stuck(Some(3))).unwrap_err();
    assert_eq!(why, Violation::Held { nid: 0, held: 2 });
}
