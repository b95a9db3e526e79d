//! Registers of the card, and the layout of both rings in host memory: for driver and card alike. Numbers are
//! little-endian.
//!
//! ```text
//! submission: command 0, tag 4, pieces 8, address 16, bytes 24, header of the message 32..96
//! completion: phase 0, outcome 1, tag or bytes of operand 4, header 16..80, operand 80..144
//! ```
//! The address is that of the payload, or, if it is in several pieces, of a list: address and length of each.

use crate::settings::Params;
use abi::wire::PortalsHeader;
use portals::messages::Incoming;

/// Register with the index behind the last submission: the doorbell.
pub(crate) const TAIL: u64 = 0;
/// Register with the index behind the last completion that the driver has read.
pub(crate) const HEAD: u64 = 8;
/// Register with the address of the rings.
pub(crate) const BASE: u64 = 16;

/// Bytes of an entry of each ring.
pub(crate) const SUBMISSION: usize = 32 + PortalsHeader::SIZE;
pub(crate) const COMPLETION: usize = OPERAND + OPERAND_MAX;
/// A payload's first bytes, in the completion that tells of it: operands of atomic operations fit.
const OPERAND: usize = 16 + PortalsHeader::SIZE;
pub(crate) const OPERAND_MAX: usize = 64;
/// Bytes of a completion that tells of no message.
pub(crate) const SHORT: usize = 16;
/// Bytes of an entry of a list.
pub(crate) const PIECE: u64 = 16;

/// Addresses of the rings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub base: u64,
    pub params: Params,
}

impl Layout {
    /// Address of a submission. Indices count on, beyond the ring's end.
    pub fn submission(&self, index: u32) -> u64 {
        self.base + u64::from(index % self.params.submissions) * SUBMISSION as u64
    }
    pub fn completion(&self, index: u32) -> u64 {
        let slot = u64::from(index % self.params.completions);
        self.submission(0)
            + u64::from(self.params.submissions) * SUBMISSION as u64
            + slot * COMPLETION as u64
    }
    /// The phase of an entry that has been written: the ring is zero at first, and each round has the other.
    pub fn phase(&self, index: u32) -> u8 {
        u8::from(index / self.params.completions % 2 == 0)
    }
    pub fn size(&self) -> u64 {
        let completions = u64::from(self.params.completions) * COMPLETION as u64;
        self.completion(0) - self.base + completions
    }
}

/// Command of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Send a message.
    Send = 1,
    /// Put the payload of one that has come into its place.
    Place,
    /// Forget one that has come.
    Release,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    pub command: Command,
    /// Name of the command until its completion.
    pub tag: u32,
    pub pieces: u32,
    pub address: u64,
    pub bytes: u64,
    pub header: PortalsHeader,
}

impl Submission {
    pub fn emit(&self) -> [u8; SUBMISSION] {
        let mut entry = [0; SUBMISSION];
        entry[0] = self.command as u8;
        entry[4..8].copy_from_slice(&self.tag.to_le_bytes());
        entry[8..12].copy_from_slice(&self.pieces.to_le_bytes());
        entry[16..24].copy_from_slice(&self.address.to_le_bytes());
        entry[24..32].copy_from_slice(&self.bytes.to_le_bytes());
        self.header.emit(&mut entry[32..]);
        entry
    }
    /// `None` if there is no such command.
    pub fn parse(entry: &[u8; SUBMISSION]) -> Option<Submission> {
        let commands = [Command::Send, Command::Place, Command::Release];
        Some(Submission {
            command: commands.into_iter().find(|command| *command as u8 == entry[0])?,
            tag: word(entry, 4),
            pieces: word(entry, 8),
            address: long(entry, 16),
            bytes: long(entry, 24),
            header: PortalsHeader::parse(&entry[32..]).expect("it has a header's size"),
        })
    }
}

#[derive(Debug)]
pub(crate) enum Completion {
    /// A command has been carried out, or its memory was not there.
    Ended { tag: u32, failed: bool },
    /// A message has come; `data` is an operand's room at most.
    Arrived(Incoming),
}

impl Completion {
    pub fn emit(&self, phase: u8) -> Vec<u8> {
        match self {
            Completion::Ended { tag, failed } => {
                let mut entry = vec![0; SHORT];
                (entry[0], entry[1]) = (phase, u8::from(*failed));
                entry[4..8].copy_from_slice(&tag.to_le_bytes());
                entry
            }
            Completion::Arrived(Incoming { header, data }) => {
                let mut entry = vec![0; COMPLETION];
                (entry[0], entry[1]) = (phase, 2);
                entry[4..8].copy_from_slice(&(data.len() as u32).to_le_bytes());
                header.emit(&mut entry[SHORT..OPERAND]);
                entry[OPERAND..][..data.len()].copy_from_slice(data);
                entry
            }
        }
    }
    pub fn parse(entry: &[u8; COMPLETION]) -> Completion {
        let word = word(entry, 4);
        if entry[1] < 2 {
            return Completion::Ended { tag: word, failed: entry[1] == 1 };
        }
        let header = PortalsHeader::parse(&entry[SHORT..OPERAND]).expect("it has a header's size");
        Completion::Arrived(Incoming { header, data: entry[OPERAND..][..word as usize].to_vec() })
    }
}

fn word(entry: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn long(entry: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let header = PortalsHeader { serial: 0x0102_0304, ..PortalsHeader::default() };
        for command in [Command::Send, Command::Place, Command::Release] {
            let (address, bytes) = (0x1122_3344_5566, 1 << 40);
            let entry = Submission { command, tag: 7, pieces: 3, address, bytes, header };
            assert_eq!(Submission::parse(&entry.emit()), Some(entry));
        }
        assert_eq!(Submission::parse(&[0; SUBMISSION]), None);
        let operand = vec![9; OPERAND_MAX];
        let arrived = Completion::Arrived(Incoming { header, data: operand.clone() });
        let bytes = arrived.emit(1).try_into().expect("a whole entry");
        let Completion::Arrived(read) = Completion::parse(&bytes) else { panic!("{arrived:?}") };
        assert_eq!((read.header, read.data), (header, operand));
        let mut bytes = [0; COMPLETION];
        bytes[..SHORT].copy_from_slice(&Completion::Ended { tag: 5, failed: true }.emit(0));
        let read = Completion::parse(&bytes);
        assert!(matches!(read, Completion::Ended { tag: 5, failed: true }), "{read:?}");
    }
}
