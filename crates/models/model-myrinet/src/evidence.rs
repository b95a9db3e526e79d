//! Evidence for the judge of Directed Point: what a node's packets look like in the card, on the cable at
//! both ends, and in the host's memory; and what programs and module have told of them.

use super::pins::{is_command, is_reset};
use ::myrinet::{crc32, crc8, Point, Slot};
use abi::myrinet::{
    command, command_area, dma_block, packet_type, PacketHeader, DMA_RECEIVE_CHAIN,
    REGION_COMMAND_BASE, REGION_SEND_BASE,
};
use des::Time;
use host::SharedMemory;
use machine::programs::guests::KeptByRank;
use pci::TargetWrite;
use spec::directed_point::{
    sum, Announced, Channel, Counts, Excuses, Outcome, Packet, Record, Sighting, Stage,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Behind the last byte of a packet: CRC-32 and CRC-8.
const TAIL: usize = 5;
/// Set in the bytes of a route, never in the first of a header.
pub(super) const ROUTE: u8 = 0x80;

/// All that the nodes of a run have seen; each adds its own at its end.
#[derive(Debug, Default)]
pub(super) struct File(Mutex<BTreeMap<u32, Seen>>);

/// Sightings of one node.
#[derive(Debug, Default)]
struct Seen {
    record: Record,
    /// Packets that came with a wrong CRC.
    damaged: u64,
    /// Something is in the card, or on its cable.
    under_way: bool,
}

impl File {
    /// Records of `nodes` nodes, and what excuses losses, apart from switches.
    pub fn take(&self, nodes: u32, kept: &KeptByRank) -> (Vec<Record>, Excuses) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut excuses = Excuses::default();
        let records = (0..nodes).map(|nid| {
            let mut seen = all.remove(&nid).unwrap_or_default();
            excuses.network += seen.damaged;
            excuses.under_way |= seen.under_way;
            told(&mut seen.record, nid, kept);
            seen.record
        });
        (records.collect(), excuses)
    }
}

/// Bytes of a packet on the cable.
#[derive(Debug, Default)]
pub(super) struct Assembly(Vec<u8>);

impl Assembly {
    /// Adds a slot. Returns the packet that it ends.
    pub fn add(&mut self, slot: &Slot) -> Option<Vec<u8>> {
        self.0.extend_from_slice(slot.bytes());
        slot.ends.then(|| std::mem::take(&mut self.0))
    }
}

/// A node's own.
pub(super) struct Evidence {
    nid: u32,
    launch: Time,
    file: Arc<File>,
    memory: SharedMemory,
    seen: Seen,
    leaving: Assembly,
    coming: Assembly,
    /// Address and bytes of the packet that the DMA brings.
    moving: Option<(u64, u32)>,
    /// Bytes of the packet in the receive buffer.
    received: u32,
    /// The host was signalled, and has not taken the packet.
    signalled: bool,
    /// Bytes before the card.
    held: u32,
    /// Time at which a packet came or went on for the last time.
    progress: Time,
}

impl Evidence {
    pub fn new(nid: u32, launch: Time, file: Arc<File>, memory: SharedMemory) -> Evidence {
        let (seen, leaving, coming) = Default::default();
        let (received, signalled, held, progress) = (0, false, 0, Time::ZERO);
        let moving = None;
        Evidence {
            nid,
            launch,
            file,
            memory,
            seen,
            leaving,
            coming,
            moving,
            received,
            signalled,
            held,
            progress,
        }
    }

    fn sees(&mut self, at: Time, stage: Stage, packet: Packet) {
        let sighting = Sighting { packet, at: Some(at.0), outcome: Outcome::Done, process: 0 };
        self.seen.record.add(stage, sighting);
    }

    /// The host has written to the card; that is its memory.
    pub fn written(&mut self, at: Time, write: &TargetWrite, sram: &[u8]) {
        if is_reset(write) {
            self.reset(at);
        }
        let area = |field: usize| word(sram, REGION_COMMAND_BASE as usize + field);
        if is_command(write) && area(command_area::COMMAND) == command::SEND {
            let bytes = sram.get(REGION_SEND_BASE as usize..).unwrap_or_default();
            let length = area(command_area::LENGTH) as usize;
            if let Some(Kind::Point(packet)) = bytes.get(..length).and_then(parse) {
                self.sees(at, Stage::Commanded, packet);
            }
        }
    }

    /// The card was reset.
    fn reset(&mut self, at: Time) {
        self.leaving = Assembly::default();
        (self.moving, self.signalled) = (None, false);
        if at >= self.launch {
            self.seen.record.resets += 1;
        }
    }

    pub fn leaves(&mut self, at: Time, slot: &Slot) {
        let Some(bytes) = self.leaving.add(slot) else { return };
        let route = bytes.iter().take_while(|byte| **byte & ROUTE != 0).count();
        let body = &bytes[route..bytes.len().saturating_sub(TAIL).max(route)];
        if let Some(Kind::Point(packet)) = parse(body) {
            self.sees(at, Stage::Left, packet);
        }
    }

    pub fn comes(&mut self, at: Time, slot: &Slot) {
        let Some(bytes) = self.coming.add(slot) else { return };
        let Some((body, tail)) = bytes.split_last_chunk::<TAIL>() else {
            self.seen.damaged += 1;
            return;
        };
        let whole = crc8(&bytes[..bytes.len() - 1]) == tail[4];
        if !whole || crc32(body).to_be_bytes() != tail[..4] {
            self.seen.damaged += 1;
        } else if let Some(Kind::Point(packet)) = parse(body) {
            self.sees(at, Stage::Came, packet);
        }
    }

    /// The card passes a point; that is its memory.
    pub fn passes(&mut self, at: Time, point: Point, sram: &[u8]) {
        match point {
            Point::Asked | Point::Fetches | Point::Discarded => {}
            Point::Received { bytes, .. } => (self.received, self.progress) = (bytes, at),
            Point::Signalled { announced } => {
                (self.signalled, self.progress) = (true, at);
                let announced = Announced { at: at.0, announced, received: self.received };
                if announced.is_wrong() {
                    self.seen.record.announced_wrong.get_or_insert(announced);
                }
            }
            Point::Released => (self.signalled, self.progress) = (false, at),
            Point::Held(bytes) => {
                if std::mem::replace(&mut self.held, bytes) == 0 {
                    self.progress = at;
                }
            }
            Point::Started => {
                let block = |field: usize| word(sram, DMA_RECEIVE_CHAIN as usize + field);
                let [high, low] = [dma_block::HOST_HI, dma_block::HOST_LO].map(block);
                let address = u64::from(high) << 32 | u64::from(low);
                self.moving = Some((address, block(dma_block::LENGTH)));
            }
            Point::Moved => {
                let Some((address, length)) = self.moving.take() else { return };
                let mut bytes = vec![0; length as usize];
                let read = self.memory.borrow_mut().read_phys(address, &mut bytes);
                // A header alone: the driver has no memory for the rest.
                if read.is_err() || bytes.len() == PacketHeader::SIZE {
                    return;
                }
                match parse(&bytes) {
                    Some(Kind::Point(packet)) => self.sees(at, Stage::Moved, packet),
                    Some(Kind::Frame) => {}
                    Some(Kind::Other) | None => self.seen.record.strange += 1,
                }
            }
        }
    }

    /// The run is over.
    pub fn finish(mut self, sram: &[u8]) {
        let area = |field: usize| word(sram, REGION_COMMAND_BASE as usize + field);
        let fields = [command_area::TOO_LONG, command_area::TOO_SHORT, command_area::OTHER];
        self.seen.record.kept = fields.map(|field| u64::from(area(field))).iter().sum();
        let standing = self.signalled || self.held > 0;
        self.seen.record.standing = standing.then_some(self.progress.0);
        let on_cable = !self.leaving.0.is_empty() || !self.coming.0.is_empty();
        let sends = area(command_area::COMMAND) != command::NONE;
        self.seen.under_way = standing || sends || on_cable || self.moving.is_some();
        let mut all = self.file.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(self.nid, self.seen);
    }
}

/// A big-endian word of the card's memory.
fn word(sram: &[u8], at: usize) -> u32 {
    let bytes = sram.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Owner of a packet.
enum Kind {
    Point(Packet),
    Frame,
    Other,
}

/// A packet with its header; none if it is too short.
fn parse(bytes: &[u8]) -> Option<Kind> {
    let header = PacketHeader::parse(bytes)?;
    let data = &bytes[PacketHeader::SIZE..];
    let PacketHeader { source, source_point, target, target_point, .. } = header;
    Some(match header.kind {
        packet_type::DP => Kind::Point(Packet {
            channel: Channel { source, source_point, target, target_point },
            length: data.len() as u32,
            sum: sum(data),
        }),
        packet_type::FRAME => Kind::Frame,
        _ => Kind::Other,
    })
}

// ---- what programs and module have told ------------------------------------------------------------------

/// File of a guest that tells what became of packets.
pub(super) const COUNTS: &str = "/proc/net/dp";

/// Adds what node `nid` has told at its end.
fn told(record: &mut Record, nid: u32, kept: &KeptByRank) {
    let node = kept.of(nid);
    let log = node.log.as_deref().unwrap_or_default();
    let told = read_log(&String::from_utf8_lossy(log), nid as u16, record).is_some();
    let counts = node.files.first().and_then(|file| file.as_ref());
    record.counts = counts.and_then(|(at, text)| read_counts(*at, &String::from_utf8_lossy(text)));
    // A node that was switched off has not said that it has no log.
    record.told = told && (record.counts.is_some() || !log.is_empty());
}

/// Reads libdp's log (lib/dp/log.c). None if a process has not told all.
fn read_log(log: &str, nid: u16, record: &mut Record) -> Option<()> {
    let mut open = BTreeMap::<u32, i32>::new();
    for line in log.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["begin", process] => *open.entry(process.parse().ok()?).or_default() += 1,
            ["end", process] => *open.entry(process.parse().ok()?).or_default() -= 1,
            [what @ ("w" | "r"), process, local, node, point, length, sum, result] => {
                let (local, point) = (local.parse().ok()?, point.parse().ok()?);
                let peer = node.parse().ok()?;
                let (stage, channel) = if what == "w" {
                    let (source, source_point) = (nid, local);
                    (
                        Stage::Written,
                        Channel { source, source_point, target: peer, target_point: point },
                    )
                } else {
                    let (source, source_point) = (peer, point);
                    (
                        Stage::Read,
                        Channel { source, source_point, target: nid, target_point: local },
                    )
                };
                let sum = u64::from_str_radix(sum, 16).ok()?;
                let packet = Packet { channel, length: length.parse().ok()?, sum };
                let outcome = match result {
                    "done" => Outcome::Done,
                    "failed" => Outcome::Failed,
                    "cut" => Outcome::Cut,
                    _ => return None,
                };
                let process = process.parse().ok()?;
                record.add(stage, Sighting { packet, at: None, outcome, process });
            }
            _ => return None,
        }
    }
    open.values().all(|open| *open == 0).then_some(())
}

/// Reads `/proc/net/dp` as it was at `at`, in ns.
fn read_counts(at: u64, text: &str) -> Option<Counts> {
    let number = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    Some(Counts {
        at: at * 1000,
        sent: number("sent")?,
        received: number("received")?,
        read: number("read")?,
        no_channel: number("lost_no_channel")?,
        no_room: number("lost_no_room")?,
        closed: number("lost_closed")?,
        wrong: number("lost_other_node")? + number("lost_wrong_length")?,
        no_memory: number("lost_no_memory")? + number("lost_too_long")?,
    })
}
