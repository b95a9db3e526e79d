//! Next act of a guest, as its kernel's messages describe it.

use crate::ring::{Buffer, BYTES_MAX};
use crate::sys::wrong;
use crate::vhost::{pci, Payload};
use std::io;

/// Part of its device that a guest accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Its configuration.
    Config,
    /// The region of that number.
    Region(u8),
}

/// Place of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Part of the device.
    pub space: Space,
    /// Offset of the first byte.
    pub offset: u64,
}

/// Ending of a guest's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It returned this.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// The guest has ended, or cannot go on: a sentence without a period that continues the guest's name.
    Lost(String),
}

/// An interrupt of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// At its line (INTx).
    Line,
    /// A message: the data that the device writes to the address that its driver gave it.
    Message(u32),
}

/// A word of memory at which a guest looks at each multiple of a period, from the beginning of its sleep on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Physical address of four bytes.
    pub word: u64,
    /// Nanoseconds from one look to the next.
    pub period: u64,
}

/// Next act of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It sleeps until this time of its clock; `u64::MAX` if only an interrupt wakes it.
    Sleep(u64),
    /// The same, but a program of its looks at a word of memory: a store of its device there wakes it.
    Watch(u64, Watch),
    /// It stores bytes, and is suspended until [`crate::Guest::answer`].
    Store(Location, Vec<u8>),
    /// It loads so many bytes, and is suspended until [`crate::Guest::answer`] gives them.
    Load(Location, usize),
    /// It has ended.
    End(Ending),
}

/// Ending of a program, from the status for its parent.
pub(crate) fn ended(status: i32) -> Ending {
    match status & 0x7f {
        0 => Ending::Exited(status >> 8 & 0xff),
        signal => Ending::Killed(signal),
    }
}

/// Act of the guest on its device, from a command in its queue.
pub(crate) fn command(buffer: &Buffer) -> io::Result<Act> {
    let bytes = &buffer.bytes;
    if bytes.len() < pci::HEADER {
        return Err(wrong("its kernel sends half a command to its device"));
    }
    let (head, data) = bytes.split_at(pci::HEADER);
    let payload = Payload(head);
    let (size, offset) = (payload.u32(4) as usize, payload.u64(8));
    let region = Location { space: Space::Region(head[1]), offset };
    let config = Location { space: Space::Config, offset };
    if size > BYTES_MAX {
        return Err(wrong(format!("its kernel accesses {size} bytes of its device at once")));
    }
    let stored =
        || data.get(..size).map(<[u8]>::to_vec).ok_or_else(|| wrong("a store has no bytes"));
    Ok(match head[0] {
        pci::CFG_READ => Act::Load(config, size.min(buffer.wants())),
        pci::CFG_WRITE => Act::Store(config, stored()?),
        pci::MMIO_READ => Act::Load(region, size.min(buffer.wants())),
        pci::MMIO_WRITE => Act::Store(region, stored()?),
        pci::MMIO_MEMSET => Act::Store(region, vec![data.first().copied().unwrap_or(0); size]),
        other => {
            return Err(wrong(format!("its kernel does {other} to its device, which nobody knows")))
        }
    })
}
