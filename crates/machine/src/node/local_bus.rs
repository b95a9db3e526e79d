//! The embedded processor's way to the rest of the node.

use super::moves::Mover;
use super::Visible;
use abi::seastar::{niccb, NICCB_BASE, REG_INTERRUPT, SRAM_BASE};
use bus::BusError;
use des::Time;

/// What the processor reads and writes goes to its NIC; the seam is told of what others may notice.
pub(crate) struct LocalBus<'a> {
    pub mover: Mover<'a>,
    pub horizon: Time,
    /// The processor need not come to the horizon.
    pub may_wait: bool,
}

impl bus::Bus for LocalBus<'_> {
    #[inline(always)]
    fn horizon(&self) -> Time {
        self.horizon.min(self.mover.seam.next_time())
    }
    fn passes(&self) -> bool {
        self.may_wait
            && self.mover.seam.next_is_visible(self.mover.nic, self.horizon) == Visible::Nobody
    }
    #[inline(always)]
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        self.mover.nic.plb_read(now, addr, buf, self.mover.seam)
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        // Gathered with a neighbour it beats all the same.
        if (addr..addr + data.len() as u64).contains(&HEARTBEAT) {
            let written = self.mover.nic.plb_write(now, addr, data, self.mover.seam);
            self.mover.seam.beats(1, self.mover.nic.plb_free());
            return written;
        }
        if !is_own_data(addr) {
            self.mover.seam.stimulated();
            self.mover.seam.acted = now;
            if addr == u64::from(REG_INTERRUPT) {
                self.mover.seam.journal.interrupt_written(now);
            }
            if self.mover.seam.journal.is_watched() {
                return self.write_watched(now, addr, data);
            }
        }
        self.mover.nic.plb_write(now, addr, data, self.mover.seam)
    }
    fn free(&self) -> Option<[Time; 2]> {
        Some(self.mover.nic.plb_free())
    }
    fn peek(&mut self, addr: u64, buf: &mut [u8]) -> bool {
        self.mover.nic.plb_peek(addr, buf, self.mover.seam)
    }
    fn repeatable(&self, addr: u64) -> bool {
        self.mover.nic.is_sram(addr) && is_own_data(addr)
    }
    fn repeat(&mut self, turns: u64, accesses: &[bus::Access], free: [Time; 2]) {
        let beats = accesses.iter().filter(|a| a.write && a.addr == HEARTBEAT).count() as u64;
        self.mover.nic.plb_repeat(turns, accesses, free);
        if beats > 0 {
            self.mover.seam.beats(turns * beats, free);
        }
    }
}

/// Written once in every turn of the main loop.
const HEARTBEAT: u64 = NICCB_BASE as u64 + niccb::FIRMWARE_HEARTBEAT as u64;

/// True for SRAM that only the firmware uses, or only the RAS system reads (the heartbeat): writing it is
/// part of the idle loop.
fn is_own_data(addr: u64) -> bool {
    let shared = u64::from(SRAM_BASE)..u64::from(abi::seastar::TRACE_BASE);
    addr >= u64::from(SRAM_BASE) && !shared.contains(&addr) && addr <= u64::from(NICCB_BASE) + 0xfff
}
