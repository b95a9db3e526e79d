//! A polling loop of the embedded processor that is repeated without being executed (`bus::Bus`
//! says what that means).

use crate::plb::{decode, Target};
use crate::{Ports, SeaStar};
use abi::seastar::OWN_WINDOW_FIRST;
use bus::Access;
use des::Time;

impl SeaStar {
    /// Times at which the local bus is free for the embedded processor: reads, writes.
    pub fn plb_free(&self) -> [Time; 2] {
        self.fabric.plb.free()
    }
    /// Reads as the embedded processor would now, without any effect. False for host memory, whose reads
    /// use the link. Reading a register has no effect on this chip.
    #[inline(always)]
    pub fn plb_peek(&mut self, addr: u64, buf: &mut [u8], ports: &mut impl Ports) -> bool {
        match decode(addr) {
            Target::Sram => self.fabric.sram.read(addr, buf).is_ok(),
            Target::Register => self.ras_read(addr, buf, ports).is_ok(),
            Target::Window(..) | Target::Nothing => false,
        }
    }
    /// Reads as the embedded processor would now, host memory included, without any effect.
    pub fn plb_look(&mut self, addr: u64, buf: &mut [u8], ports: &mut impl Ports) -> bool {
        let Target::Window(window, offset) = decode(addr) else {
            return self.ras_read(addr, buf, ports).is_ok();
        };
        let Ok(phys) = self.control.windows.translate(window, offset) else { return false };
        let there = ports.host_peek(phys, buf).is_ok();
        self.fabric.posted.overlay(phys, buf);
        there
    }
    /// Host memory as it will be when all that is on its way there has come.
    pub fn host_look(&self, phys: u64, buf: &mut [u8], ports: &mut impl Ports) {
        let _ = ports.host_peek(phys, buf);
        self.fabric.posted.overlay(phys, buf);
    }
    /// The host memory behind `addr`, if that is in a window that the firmware maps by itself.
    pub fn own_window(&self, addr: u64) -> Option<u64> {
        let Target::Window(window, offset) = decode(addr) else { return None };
        let own = window >= OWN_WINDOW_FIRST as usize;
        own.then(|| self.control.windows.translate(window, offset).ok()).flatten()
    }
    /// The host memory behind `addr`, if that is in any window.
    pub fn window(&self, addr: u64) -> Option<u64> {
        let Target::Window(window, offset) = decode(addr) else { return None };
        self.control.windows.translate(window, offset).ok()
    }
    /// True if `addr` is local memory.
    pub fn is_sram(&self, addr: u64) -> bool {
        decode(addr) == Target::Sram
    }
    /// Leaves the chip as if the embedded processor had done `accesses`, peeks and writes of local
    /// memory, `turns` times over, the last time with their data.
    pub fn plb_repeat(&mut self, turns: u64, accesses: &[Access], free: [Time; 2]) {
        self.fabric.plb.set_free(free);
        for access in accesses {
            if !self.is_sram(access.addr) {
                assert!(!access.write, "only local memory is written over and over");
                self.fabric.counters.register_accesses += turns;
                continue;
            }
            self.fabric.counters.sram_accesses += turns;
            if access.write {
                let written = self.fabric.sram.write(access.addr, access.bytes());
                written.expect("the processor has written there before");
            }
        }
    }
}
