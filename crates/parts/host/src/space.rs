//! Memory that is not the simulator's own: that of processes, and of guests.

use bus::BusError;

/// The memory of a process outside of the simulator.
pub trait AddressSpace {
    /// Fills `buf` from `va` on.
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError>;
    /// Stores `data` at `va`; an error names the first byte that cannot be stored, and the number of bytes
    /// left.
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError>;
    /// Fills `buf` with these pieces (address and length), one after the other: [`read_each`], unless the
    /// space can read them together. An error names the first piece that is not there.
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError>;
    /// Stores `data` in these pieces, one after the other: [`write_each`], or together.
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError>;
}

/// Fills `buf` with pieces (address and length), each of which `read` fills.
pub fn read_each(
    pieces: &[(u64, usize)],
    buf: &mut [u8],
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), BusError>,
) -> Result<(), BusError> {
    let mut rest = buf;
    pieces.iter().try_for_each(|&(va, len)| {
        let (piece, after) = std::mem::take(&mut rest).split_at_mut(len);
        rest = after;
        read(va, piece)
    })
}

/// Stores `data` in pieces (address and length), each of which `write` stores.
pub fn write_each(
    pieces: &[(u64, usize)],
    data: &[u8],
    mut write: impl FnMut(u64, &[u8]) -> Result<(), BusError>,
) -> Result<(), BusError> {
    let mut rest = data;
    pieces.iter().try_for_each(|&(va, len)| {
        let (piece, after) = rest.split_at(len);
        rest = after;
        write(va, piece)
    })
}

/// Address space without memory.
pub(crate) struct Nothing;

impl AddressSpace for Nothing {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        Err(BusError { addr: va, len: buf.len(), write: false, why: NOTHING })
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        Err(BusError { addr: va, len: data.len(), write: true, why: NOTHING })
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        read_each(pieces, buf, |va, piece| self.read(va, piece))
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        write_each(pieces, data, |va, piece| self.write(va, piece))
    }
}

const NOTHING: &str = "a user in the kernel has no process";
