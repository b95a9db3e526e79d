//! The special registers, for processor and host.

use super::chip::Chip;
use super::points::Point;
use abi::myrinet::register::{self, Eimr, Myrinet, Pulse};
use abi::myrinet::{dma_block, isr};
use des::Time;

impl Chip {
    /// Reads the register at `offset`; none if there is none.
    pub fn read_register(&self, now: Time, offset: u32) -> Option<u32> {
        Some(match offset {
            register::ISR => self.isr,
            register::EIMR => self.mask,
            register::IT0 => self.timers.left(0, now),
            register::IT1 => self.timers.left(1, now),
            register::IT2 => self.timers.left(2, now),
            register::RTC => self.timers.clock(now),
            register::RMW => self.receive.end,
            register::RMP => self.receive.next,
            register::RML => self.receive.limit,
            register::SMP => self.send.next,
            register::SMH => self.send.header_end,
            register::SML | register::SMLT => self.send.limit,
            register::MYRINET => Myrinet(0).with_crc32(self.crc32).0,
            register::LED => self.led,
            register::PULSE => 0,
            _ => return None,
        })
    }

    /// True of a register that changes as time passes.
    pub fn counts(offset: u32) -> bool {
        matches!(offset, register::IT0 | register::IT1 | register::IT2 | register::RTC)
    }

    /// Writes the register at `offset`; false if there is none.
    pub fn write_register(
        &mut self,
        now: Time,
        offset: u32,
        value: u32,
        by_processor: bool,
    ) -> bool {
        match offset {
            register::ISR => self.write_status(now, value, by_processor),
            register::EIMR => {
                self.mask = value & Eimr::WRITABLE;
                self.line_due = self.line_due.min(now);
            }
            register::IT0 => self.timers.set(0, now, value),
            register::IT1 => self.timers.set(1, now, value),
            register::IT2 => self.timers.set(2, now, value),
            register::RTC => self.timers.set_clock(now, value),
            register::RMP => self.receive.next = value,
            register::RML => self.receive.let_in(now, value),
            register::SMP => self.send.next = value,
            register::SMH => self.send.set_header_end(value),
            register::SML => self.send.begin(now, value, false),
            register::SMLT => {
                self.points.pass(now, Point::Asked);
                self.send.begin(now, value, true);
            }
            register::MYRINET => self.crc32 = Myrinet(value).crc32(),
            register::LED => self.led = value,
            register::PULSE => self.start_dma(now, Pulse(value).chains().into()),
            _ => return false,
        }
        true
    }

    /// A bit that is written is cleared; but the processor sets the one that signals the host.
    fn write_status(&mut self, now: Time, value: u32, by_processor: bool) {
        let set = if by_processor { value & isr::HOST } else { 0 };
        if set != 0 {
            let length = self.dma.heads[1].wrapping_add(dma_block::LENGTH as u32);
            let announced = self.word(length).unwrap_or_default();
            self.points.pass(now, Point::Signalled { announced });
        }
        if by_processor && self.isr & value & isr::WAKE != 0 {
            self.points.pass(now, Point::Released);
        }
        self.isr = self.isr & !value | set;
        self.line_due = self.line_due.min(now);
    }
}

#[cfg(test)]
mod tests;
