//! What a guest does next, and how it reads that from what its kernel says.

use crate::guest::wrong;
use crate::ring::Buffer;
use crate::vhost::{pci, Payload};
use std::io;

/// What a guest accesses of its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Its configuration.
    Config,
    /// The region of that number.
    Region(u8),
}

/// Where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of these.
    pub space: Space,
    /// The first byte.
    pub offset: u64,
}

/// How a guest's program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It returned this.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// There is no guest any more, or nothing may be expected of it: a sentence without a period that begins
    /// behind the guest's name.
    Lost(String),
}

/// An interrupt of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// At its line (INTx).
    Line,
    /// A message: what the device would write to the address that its driver gave it.
    Message(u32),
}

/// What a guest does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing, until this time of its clock; `u64::MAX` if only an interrupt wakes it.
    Sleep(u64),
    /// It stores bytes, and stands still until [`Guest::answer`].
    Store(Place, Vec<u8>),
    /// It loads so many bytes, and stands still until [`Guest::answer`] gives them.
    Load(Place, usize),
    /// It has ended.
    End(Ending),
}

/// A program's end, as a parent is told of it.
pub(crate) fn ended(status: i32) -> Ending {
    match status & 0x7f {
        0 => Ending::Exited(status >> 8 & 0xff),
        signal => Ending::Killed(signal),
    }
}

/// What the guest does to its device.
pub(crate) fn command(buffer: &Buffer) -> io::Result<Act> {
    let bytes = &buffer.bytes;
    if bytes.len() < pci::HEADER {
        return Err(wrong("its kernel sends half a command to its device"));
    }
    let (head, data) = bytes.split_at(pci::HEADER);
    let payload = Payload(head);
    let (size, offset) = (payload.u32(4) as usize, payload.u64(8));
    let region = Place { space: Space::Region(head[1]), offset };
    let config = Place { space: Space::Config, offset };
    let stored =
        || data.get(..size).map(<[u8]>::to_vec).ok_or_else(|| wrong("a store has no bytes"));
    Ok(match head[0] {
        pci::CFG_READ => Act::Load(config, size),
        pci::CFG_WRITE => Act::Store(config, stored()?),
        pci::MMIO_READ => Act::Load(region, size.min(buffer.wants())),
        pci::MMIO_WRITE => Act::Store(region, stored()?),
        pci::MMIO_MEMSET => Act::Store(region, vec![data.first().copied().unwrap_or(0); size]),
        other => {
            return Err(wrong(format!("its kernel does {other} to its device, which nobody knows")))
        }
    })
}
