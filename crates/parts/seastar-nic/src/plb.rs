//! The processor local bus: who answers an address, and what a transaction costs.
//!
//! Reads and writes have data paths of their own, so that a read waits for reads and a write for
//! writes.

use crate::Params;
use abi::seastar::{HOST_WINDOW_BASE, HOST_WINDOW_SIZE, SRAM_BASE, WINDOW_COUNT, WINDOW_SIZE};
use des::{Duration, Time};

/// Bytes a data beat (facts: 128-bit data paths).
const BEAT: u64 = 16;

/// Target that answers an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Local memory.
    Sram,
    /// A device register.
    Register,
    /// Host memory through a window: its number and the offset in it.
    Window(usize, u64),
    /// No target.
    Nothing,
}

const SRAM_FIRST: u64 = SRAM_BASE as u64;
const REGISTER_FIRST: u64 = HOST_WINDOW_BASE as u64;
const LAST: u64 = HOST_WINDOW_BASE as u64 + HOST_WINDOW_SIZE as u64 - 1;

/// Target that answers `addr`.
#[inline(always)]
pub(crate) fn decode(addr: u64) -> Target {
    match addr {
        SRAM_FIRST..=LAST => Target::Sram,
        REGISTER_FIRST..SRAM_FIRST => Target::Register,
        _ if addr < u64::from(WINDOW_COUNT) * u64::from(WINDOW_SIZE) => {
            let size = u64::from(WINDOW_SIZE);
            Target::Window((addr / size) as usize, addr % size)
        }
        _ => Target::Nothing,
    }
}

/// The bus: when its data paths are free.
#[derive(Clone, Debug)]
pub(crate) struct Plb {
    request: Duration,
    beat: Duration,
    sram_read: Duration,
    read_free: Time,
    write_free: Time,
}

impl Plb {
    pub(crate) fn new(params: &Params) -> Plb {
        Plb {
            request: params.plb_request,
            sram_read: params.sram_read,
            beat: Duration::of_transfer(BEAT, params.plb_bytes_per_second / 2),
            read_free: Time::ZERO,
            write_free: Time::ZERO,
        }
    }
    /// Times at which the data paths are free: reads, writes.
    pub(crate) fn free(&self) -> [Time; 2] {
        [self.read_free, self.write_free]
    }
    /// Books the data paths until then.
    pub(crate) fn set_free(&mut self, [read, write]: [Time; 2]) {
        self.read_free = read;
        self.write_free = write;
    }
    #[inline(always)]
    fn beats(&self, len: usize) -> Duration {
        self.beat * (len as u64).div_ceil(BEAT).max(1)
    }
    /// A read of `len` bytes, requested at `now`, from a device that takes `access`. Returns when
    /// the first beat is there.
    #[inline(always)]
    pub(crate) fn read(&mut self, now: Time, len: usize, access: Duration) -> Time {
        let first = (now + self.request + access).max(self.read_free) + self.beat;
        self.read_free = first + (self.beats(len) - self.beat);
        first
    }
    /// Time of a read of `len` bytes of local memory through a path of its own.
    pub(crate) fn unbooked(&self, len: usize) -> Duration {
        self.request + self.sram_read + self.beats(len)
    }
    /// Arrival of data that come from outside at `back`. They do not book the data path: it would be booked
    /// too early for reads that are requested in between.
    pub(crate) fn response(&self, back: Time, access: Duration) -> Time {
        back + access + self.beat
    }
    /// A write of `len` bytes, requested at `now`, to a device that takes `access`. Returns when
    /// the device has taken it.
    #[inline(always)]
    pub(crate) fn write(&mut self, now: Time, len: usize, access: Duration) -> Time {
        let granted = (now + self.request).max(self.write_free);
        self.write_free = granted + self.beats(len);
        self.write_free + access
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_at_most_one_owner() {
        for (addr, target) in [
            (0, Target::Window(0, 0)),
            (0x8000_1234, Target::Window(8, 0x1234)),
            (0xefff_ffff, Target::Window(14, 0xfff_ffff)),
            (0xf000_0000, Target::Nothing),
            (0xffdf_ffff, Target::Nothing),
            (0xffe0_0000, Target::Register),
            (0xfff9_ffff, Target::Register),
            (0xfffa_0000, Target::Sram),
            (0xffff_ffff, Target::Sram),
            (0x1_0000_0000, Target::Nothing),
        ] {
            assert_eq!(decode(addr), target, "{addr:#x}");
        }
    }
}
