//! Registers behind the region, as the host reads and writes them.

use super::*;
use crate::link_side::LinkCounters;
use abi::forth::register;

impl HostSide {
    /// The word at `offset`; it stands at the outputs in the next cycle.
    pub(crate) fn read(&mut self, offset: u32, link: &LinkCounters, frozen: bool) {
        let interrupt = u64::from(self.interrupt_enabled) | u64::from(self.interrupt_line) << 1;
        let room = u64::from(self.params.queue_depth) - self.queue.len() as u64;
        let status = self.status | if frozen { status_bit::FROZEN } else { 0 };
        self.read_word = match offset {
            register::CONTROL => u64::from(self.control),
            register::INTERRUPT => interrupt,
            register::NOTIFY => self.notify_addr,
            register::QUEUE_FREE => room,
            register::STATUS => u64::from(status),
            register::SENT_WORDS => link.sent_words,
            register::RECEIVED_WORDS => self.counters.received_words,
            register::SENT_MESSAGES => self.counters.sent_messages,
            register::RECEIVED_MESSAGES => self.counters.received_messages,
            register::BACK_PRESSURE => link.back_pressure,
            register::HEADER_ERRORS => link.header_errors,
            register::PAYLOAD_ERRORS => link.payload_errors,
            register::CREDIT_ERRORS => link.credit_errors,
            register::BOND_ERRORS => link.bond_errors,
            register::OVERFLOWS => link.overflows,
            register::BINDINGS => self.params.bindings.into(),
            register::INTERRUPTS => self.counters.interrupts,
            _ => 0,
        };
    }

    pub(super) fn write_register(&mut self, write: &TargetWrite, crossing: &mut Crossing) {
        let value = write.data;
        match write.offset {
            register::CONTROL => {
                self.control = value as u32;
                crossing.levels.loop_back = self.control & control_bit::LOOP_BACK != 0;
                crossing.levels.freeze = self.control & control_bit::FREEZE != 0;
            }
            register::INTERRUPT => {
                // Enabling and disabling both clear the line (marazakis2006 s4.1).
                self.interrupt_enabled = value & 1 == 1;
                self.interrupt_line = false;
            }
            register::NOTIFY => self.notify_addr = value & !7,
            register::STATUS => {
                self.status &= !(value as u32);
                crossing.levels.frozen &= value as u32 & status_bit::FROZEN == 0;
            }
            _ => {}
        }
    }
}
