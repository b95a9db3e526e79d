//! Points that observers of a card are told. They change nothing of what the card does.

use abi::offload as of;
use abi::offload::{Command, Packet};

/// A point in what a card does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The host has rung its doorbell for this command.
    Given {
        /// Process that gives it.
        process: u32,
        /// The command.
        command: Command,
    },
    /// The processor fetches a command: perhaps not for the first time.
    ReadsCommand {
        /// Process that gave it.
        process: u32,
        /// Its place in the FIFO.
        slot: u32,
        /// The command.
        command: Command,
    },
    /// A message begins to come over the wire.
    Comes(Packet),
    /// A header has its place in the header FIFO.
    Placed(Packet),
    /// The processor fetches a header: perhaps not for the first time.
    ReadsHeader {
        /// Its place in the FIFO.
        slot: u32,
        /// Its packet.
        packet: Packet,
    },
    /// The firmware says which message it works on.
    Context(u32),
    /// The firmware stores what others can see, so that a search before it is over.
    Acts,
    /// It gives the send engine a message for a node.
    Sends(Packet, u32),
    /// The oldest of these begins to leave for a node.
    Departs(Packet, u32),
    /// Its last byte has left.
    Left,
    /// It gives the receive DMA engine a descriptor.
    Moves(Moves),
    /// The oldest of these is done.
    Moved,
    /// It stores a part of a completion.
    Completes {
        /// Process that gets it.
        process: u32,
        /// Offset in the ring.
        offset: u32,
        /// Bytes that there are.
        length: u8,
        /// These.
        bytes: [u8; 16],
    },
    /// The oldest of these stores is in the host's memory.
    Stored,
    /// The unit of this number gets a copy to match.
    Delivered(usize),
    /// The firmware takes a result from it.
    Answered(usize, u32),
    /// The firmware gives it a command.
    Commanded(usize, alpu::Command),
}

/// A descriptor of the receive DMA engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Its operation.
    pub operation: u32,
    /// Address in the card's memory.
    pub local: u32,
    /// Number of bytes.
    pub length: u32,
}

/// Places of commands and headers in memory: fetches of the processor there are reported.
const FIRST: u32 = of::COMMAND_BASE;
const END: u32 = of::ARRIVAL_BASE + of::ARRIVAL_COUNT * of::PACKET_SIZE;
const COMMANDS_END: u32 = FIRST + of::PROCESSES * of::COMMAND_COUNT * of::COMMAND_SIZE;

/// Point that the processor passes by fetching from `addr`, if `memory` has a command or a header there.
#[inline(always)]
pub(crate) fn fetched(addr: u64, memory: &bus::Memory) -> Option<Point> {
    let addr = u32::try_from(addr).ok()?;
    if !(FIRST..END).contains(&addr) {
        return None;
    }
    read(addr, memory)
}

fn read(addr: u32, memory: &bus::Memory) -> Option<Point> {
    if addr < COMMANDS_END {
        // Its first line alone, without which nothing is done with it.
        let (number, offset) = ((addr - FIRST) / of::COMMAND_SIZE, addr % of::COMMAND_SIZE);
        let command = command_at(addr - offset, memory)?;
        let (process, slot) = (number / of::COMMAND_COUNT, number % of::COMMAND_COUNT);
        return (offset < of::COMMAND_SIZE / 2).then_some(Point::ReadsCommand {
            process,
            slot,
            command,
        });
    }
    let offset = addr.checked_sub(of::ARRIVAL_BASE)?;
    let mut bytes = [0; Packet::SIZE];
    memory.read((addr - offset % of::PACKET_SIZE).into(), &mut bytes).ok()?;
    let slot = offset / of::PACKET_SIZE;
    Packet::parse(&bytes).map(|packet| Point::ReadsHeader { slot, packet })
}

/// The command at `addr`.
pub(crate) fn command_at(addr: u32, memory: &bus::Memory) -> Option<Command> {
    let mut bytes = [0; Command::SIZE];
    memory.read(addr.into(), &mut bytes).ok()?;
    Command::parse(&bytes)
}

/// A header.
pub(crate) fn packet(bytes: &[u8; of::PACKET_SIZE as usize]) -> Packet {
    Packet::parse(bytes).expect("a header's bytes")
}
