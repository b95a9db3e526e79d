//! The embedded processor's way to the rest of the node.

use super::kinds::Visible;
use super::ports::NodePorts;
use abi::seastar::{niccb, NICCB_BASE, REG_INTERRUPT, SRAM_BASE};
use bus::BusError;
use des::Time;

/// Local bus of the processor: its accesses go to its NIC; the node ports are told of what others may notice.
pub(crate) struct LocalBus<'a> {
    pub nic: &'a mut seastar_nic::SeaStar,
    pub around: NodePorts<'a>,
    pub horizon: Time,
    /// The processor need not reach the horizon.
    pub may_wait: bool,
}

impl bus::Bus for LocalBus<'_> {
    #[inline(always)]
    fn horizon(&self) -> Time {
        self.horizon.min(self.around.chipset.next_time(self.around.ports))
    }
    fn passes(&self) -> bool {
        let NodePorts { chipset, ports } = &self.around;
        self.may_wait && chipset.next_is_visible(self.nic, self.horizon, ports) == Visible::Nobody
    }
    #[inline(always)]
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        let read = self.nic.plb_read(now, addr, buf, &mut self.around);
        self.tell_load(addr, buf.len(), &read);
        read
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        // Gathered with a neighbour it beats all the same.
        if (addr..addr + data.len() as u64).contains(&HEARTBEAT) {
            let written = self.nic.plb_write(now, addr, data, &mut self.around);
            self.around.chipset.firmware.beats(1, self.nic.plb_free());
            return written;
        }
        if !is_own_data(addr) {
            self.around.chipset.firmware.stimulated();
            self.around.chipset.firmware.acted = now;
            if addr == u64::from(REG_INTERRUPT) {
                self.around.ports.journal().interrupt_written(now);
            }
            self.tell_store(addr, data.len());
            if self.around.ports.is_watched() {
                let written = self.write_watched(now, addr, data);
                self.tell_rings(now, addr, data);
                return written;
            }
            let written = self.nic.plb_write(now, addr, data, &mut self.around);
            self.tell_rings(now, addr, data);
            return written;
        }
        self.nic.plb_write(now, addr, data, &mut self.around)
    }
    fn free(&self) -> Option<[Time; 2]> {
        Some(self.nic.plb_free())
    }
    fn peek(&mut self, addr: u64, buf: &mut [u8]) -> bool {
        self.nic.plb_peek(addr, buf, &mut self.around)
    }
    fn repeatable(&self, addr: u64) -> bool {
        self.nic.is_sram(addr) && is_own_data(addr)
    }
    fn repeat(&mut self, turns: u64, accesses: &[bus::Access], free: [Time; 2]) {
        let beats = accesses.iter().filter(|a| a.write && a.addr == HEARTBEAT).count() as u64;
        self.nic.plb_repeat(turns, accesses, free);
        if beats > 0 {
            self.around.chipset.firmware.beats(turns * beats, free);
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
