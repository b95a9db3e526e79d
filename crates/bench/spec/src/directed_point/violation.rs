//! Sentences about what the specification does not allow.

use super::{Announced, Channel, Packet, Stage, PACKET_MAX};

/// Something that was seen in a run and that the specification does not allow, or a loss without a reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum Violation {
    /// A node's host has packets of a kind that it does not want.
    #[error("node {nid}: {packets} packets of a kind that nobody wants are in its memory")]
    Strange { nid: u16, packets: u64 },
    /// An interrupt came before the card had told the size of the packet.
    #[error(
        "node {nid}: the card interrupted{} for a packet of {} bytes, and its DMA block had {}",
        instant(.interrupt.at), .interrupt.received, .interrupt.announced
    )]
    Unannounced { nid: u16, interrupt: Announced },
    /// A packet passed a stage at a node that is not that end of its channel.
    #[error("{} at node {nid}", passed(*.stage, .packet))]
    Astray { nid: u16, stage: Stage, packet: Packet },
    /// A packet is empty, or longer than any may be.
    #[error("{}: it may have 1 to {PACKET_MAX}", passed(*.stage, .packet))]
    Length { stage: Stage, packet: Packet },
    /// A packet came behind one that was later at the stage before.
    #[error("{}{}, behind a later one", passed(*.stage, .packet), maybe(*.at))]
    Overtaken { stage: Stage, packet: Packet, at: Option<u64> },
    /// A packet came to a stage a second time.
    #[error("{}{}, which it was already", passed(*.stage, .packet), maybe(*.at))]
    Doubled { stage: Stage, packet: Packet, at: Option<u64> },
    /// A packet was at no stage before this one.
    #[error(
        "{}{}, and none like it was {}",
        passed(*.stage, .packet), maybe(*.at), before(*.stage)
    )]
    Unknown { stage: Stage, packet: Packet, at: Option<u64> },
    /// Packets of a channel that never came to a stage, where nobody loses any.
    #[error("{missing} packets on channel {channel} were {}, and never {stage}", before(*.stage))]
    Missing { channel: Channel, missing: u64, stage: Stage },
    /// More were lost between the cards than cables and switches have lost.
    #[error(
        "{lost} packets did not come, of which cables and switches have lost {network}{}",
        standing(*.stuck)
    )]
    Network { lost: u64, network: u64, stuck: Option<u64> },
    /// A card that is held up has more than one packet to send.
    #[error("node {nid}: {held} packets stand in its card, which sends one")]
    Held { nid: u16, held: u64 },
    /// The host does not fetch a packet from its card.
    #[error("node {nid}: a packet stands in its card since {} us", .since / 1_000_000)]
    Unfetched { nid: u16, since: u64 },
    /// More were lost in the card than it counted.
    #[error("node {nid}: {lost} packets did not come into memory, and {excused} have a reason")]
    Card { nid: u16, lost: u64, excused: u64 },
    /// The module did not take what is in memory.
    #[error("node {nid}: {moved} packets are in memory, the module took {taken}")]
    Untaken { nid: u16, moved: u64, taken: u64 },
    /// The module found headers that do not fit their packets.
    #[error(
        "node {nid}: the module found {packets} packets of another length or node than their \
         headers say"
    )]
    Headers { nid: u16, packets: u64 },
    /// More were lost in the module than it counted.
    #[error("node {nid}: {lost} packets were not read, and {excused} have a reason")]
    Module { nid: u16, lost: u64, excused: u64 },
}

fn passed(stage: Stage, packet: &Packet) -> String {
    let Packet { channel, length, .. } = packet;
    format!("a packet of {length} bytes on channel {channel} was {stage}")
}

/// The stage before another; there is one before each at which a packet can be missed.
fn before(stage: Stage) -> Stage {
    Stage::ALL[(stage as usize).saturating_sub(1)]
}

fn instant(at: u64) -> String {
    format!(" at {}.{:06} us", at / 1_000_000, at % 1_000_000)
}

fn maybe(at: Option<u64>) -> String {
    at.map(instant).unwrap_or_default()
}

fn standing(stuck: Option<u64>) -> String {
    match stuck {
        Some(standing) => format!(", and {standing} stand before outputs that are stuck"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::Violation::*;
    use super::*;

    #[test]
    fn each_violation_is_a_sentence() {
        let channel = Channel { source: 1, source_point: 2, target: 3, target_point: 4 };
        let packet = Packet { channel, length: 24, sum: 0 };
        let (nid, stage, at) = (3, Stage::Came, Some(7_000_042));
        let interrupt = Announced { at: 2_500_000, announced: 0, received: 24 };
        let seen = "a packet of 24 bytes on channel 1.2-3.4 was come to the card";
        let cases = [
            (
                Strange { nid, packets: 2 },
                "node 3: 2 packets of a kind that nobody wants are in its memory",
            ),
            (
                Unannounced { nid, interrupt },
                "node 3: the card interrupted at 2.500000 us for a packet of 24 bytes, and its \
                 DMA block had 0",
            ),
            (Astray { nid, stage, packet }, &format!("{seen} at node 3")),
            (Length { stage, packet }, &format!("{seen}: it may have 1 to 1500")),
            (
                Overtaken { stage, packet, at },
                &format!("{seen} at 7.000042 us, behind a later one"),
            ),
            (Doubled { stage, packet, at: None }, &format!("{seen}, which it was already")),
            (
                Unknown { stage, packet, at },
                &format!("{seen} at 7.000042 us, and none like it was sent by the card"),
            ),
            (
                Missing { channel, missing: 5, stage: Stage::Left },
                "5 packets on channel 1.2-3.4 were given to the card, and never sent by the card",
            ),
            (
                Network { lost: 5, network: 3, stuck: None },
                "5 packets did not come, of which cables and switches have lost 3",
            ),
            (
                Network { lost: 5, network: 3, stuck: Some(1) },
                "5 packets did not come, of which cables and switches have lost 3, and 1 stand \
                 before outputs that are stuck",
            ),
            (Held { nid, held: 2 }, "node 3: 2 packets stand in its card, which sends one"),
            (Unfetched { nid, since: 9_900_000 }, "node 3: a packet stands in its card since 9 us"),
            (
                Card { nid, lost: 4, excused: 1 },
                "node 3: 4 packets did not come into memory, and 1 have a reason",
            ),
            (
                Untaken { nid, moved: 4, taken: 1 },
                "node 3: 4 packets are in memory, the module took 1",
            ),
            (
                Headers { nid, packets: 6 },
                "node 3: the module found 6 packets of another length or node than their headers \
                 say",
            ),
            (
                Module { nid, lost: 4, excused: 1 },
                "node 3: 4 packets were not read, and 1 have a reason",
            ),
        ];
        for (violation, sentence) in cases {
            assert_eq!(violation.to_string(), sentence);
        }
    }
}
