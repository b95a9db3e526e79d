//! Shared parts of the chip: local memory, the local bus, the way to the host, the counters.

use crate::plb::Plb;
use crate::windows::PostedWrites;
use crate::{Counters, Params, Ports};
use abi::seastar::{SRAM_BASE, SRAM_SIZE};
use bus::{BusError, Direction, Memory};
use des::Time;

/// Bytes of a HyperTransport packet's data at most, and of a line of host memory.
pub(crate) const LINE: u64 = 64;

/// Shared parts.
#[derive(Clone, Debug)]
pub(crate) struct Fabric {
    pub(crate) params: Params,
    pub(crate) sram: Memory,
    pub(crate) plb: Plb,
    pub(crate) posted: PostedWrites,
    pub(crate) counters: Counters,
}

impl Fabric {
    pub(crate) fn new(params: &Params) -> Fabric {
        Fabric {
            params: params.clone(),
            sram: Memory::new(u64::from(SRAM_BASE), SRAM_SIZE as usize),
            plb: Plb::new(params),
            posted: PostedWrites::default(),
            counters: Counters::default(),
        }
    }
    /// Sends a read request of an engine to the host; returns when its data leave host memory.
    pub(crate) fn request(&self, now: Time, ports: &mut impl Ports) -> Time {
        let bytes = self.params.ht_request_bytes;
        ports.link().send(now, Direction::ToHost, bytes) + self.params.host_memory_read
    }
    /// Sends a posted write of any bytes of a line as one packet: doublewords, with a mask if not
    /// all of their bytes are written. Returns when it arrives.
    pub(crate) fn send_bytes(
        &self,
        now: Time,
        addr: u64,
        len: u64,
        ports: &mut impl Ports,
    ) -> Time {
        const DOUBLEWORD: u64 = 4;
        let whole = addr % DOUBLEWORD == 0 && len % DOUBLEWORD == 0;
        let mask = if whole { 0 } else { self.params.ht_mask_bytes };
        let doublewords = (addr + len).div_ceil(DOUBLEWORD) - addr / DOUBLEWORD;
        let bytes = self.params.ht_write_bytes + mask + DOUBLEWORD * doublewords;
        ports.link().send(now, Direction::ToHost, bytes)
    }
    /// Sends a posted write of `len` bytes to `addr`, a packet for each line that it touches;
    /// returns when the last arrives.
    pub(crate) fn send_write(
        &self,
        now: Time,
        addr: u64,
        len: u64,
        ports: &mut impl Ports,
    ) -> Time {
        let mut arrival = now;
        let mut done = 0;
        while done < len {
            let piece = (LINE - (addr + done) % LINE).min(len - done);
            let bytes = self.params.ht_write_bytes + piece;
            arrival = ports.link().send(now, Direction::ToHost, bytes);
            done += piece;
        }
        arrival
    }
}

/// A fault of the writer of the command at `place`.
pub(crate) fn command_fault(place: u64, why: &'static str) -> BusError {
    BusError { addr: place, len: abi::seastar::DmaCommand::SIZE, write: true, why }
}

/// Joins the halves of a command's host address; `None` if it has more than the 40 bits of a host
/// address.
pub(crate) fn host_address(hi: u16, lo: u32) -> Option<u64> {
    const HOST_ADDRESS_BITS: u32 = 40;
    let addr = u64::from(hi) << 32 | u64::from(lo);
    (addr >> HOST_ADDRESS_BITS == 0).then_some(addr)
}
