//! Registers behind the region, as the host reads and writes them.

use super::*;
use crate::aids::{state_field, Aids};
use crate::link_side::LinkSide;
use abi::forth::{register, state};

impl HostSide {
    /// The word at `offset`; it stands at the outputs in the next cycle.
    pub(crate) fn read(&mut self, offset: u32, c: &Crossing, lanes: &LinkSide, aids: &Aids) {
        let (link, frozen) = (c.counters_seen.seen(), c.levels.frozen);
        let wanted = &c.levels.aids;
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
            register::AIDS => self.params.rx_words.into(),
            register::STATES => self.states(frozen) | lanes.states(),
            register::LANES => lanes.lane_status(c.levels_seen.seen().aids.lane(), aids),
            register::FETCH_CYCLES => self.events.fetch_cycles,
            register::FETCH_WORDS => self.events.fetch_words,
            register::DEPOSIT_CYCLES => self.events.deposit_cycles,
            register::DISCONNECTS => self.events.disconnects,
            register::DESCRIPTORS => self.events.descriptors,
            register::INTERRUPTS_WANTED => self.events.interrupts_wanted,
            register::RECEIVE_LEVEL => lanes.events().level_max,
            register::CREDITS_IN => lanes.events().credits_in,
            register::CREDITS_OUT => lanes.events().credits_out,
            register::DEBUG_SELECT => wanted.select.into(),
            register::CREDITS => lanes.credit_counts(c.levels_seen.seen().aids.flow()),
            register::TRACE_CONTROL => wanted.trace.into(),
            register::TRACE_INDEX => aids.trace_index.into(),
            register::TRACE_COUNT => aids.trace_count(),
            register::TRACE_DATA => aids.trace_sample().0,
            register::TRACE_TAG => aids.trace_sample().1.into(),
            register::SAMPLE_CONTROL => wanted.sample,
            register::SAMPLE_INDEX => aids.sample_index.into(),
            register::SAMPLE_COUNT => aids.sampler.count(),
            register::SAMPLE_SENT => aids.sampler.sample(aids.sample_index).sent,
            register::SAMPLE_RECEIVED => aids.sampler.sample(aids.sample_index).received,
            register::SAMPLE_PRESSURE => aids.sampler.sample(aids.sample_index).pressure,
            _ => 0,
        };
    }

    fn states(&self, frozen: bool) -> u64 {
        let deposit = self.depositing.map_or(0, |packet| if packet.left > 0 { 1 } else { 2 });
        state_field(self.owner as usize, state::BUS_OWNER)
            | state_field(self.fetching.len(), state::READS)
            | state_field(deposit, state::DEPOSIT)
            | state_field(self.queue.len(), state::QUEUE)
            | state_field(usize::from(frozen), state::FROZEN)
    }

    pub(super) fn write_register(
        &mut self,
        write: &TargetWrite,
        crossing: &mut Crossing,
        aids: &mut Aids,
    ) {
        let value = write.data;
        match write.offset {
            register::CONTROL => {
                self.control = value as u32 & !control_bit::RESET;
                self.reset = value as u32 & control_bit::RESET != 0;
                crossing.levels.loop_back = self.control & control_bit::LOOP_BACK != 0;
                crossing.levels.freeze = self.control & control_bit::FREEZE != 0;
                crossing.levels.credits_in_payload =
                    self.control & control_bit::CREDITS_IN_PAYLOAD != 0;
            }
            register::INTERRUPT => {
                // Enabling and disabling both clear the line (marazakis2006 s4.1).
                self.interrupt_enabled = value & 1 == 1;
                self.interrupt_line &= self.params.has(Bug::LineStays);
            }
            register::NOTIFY => self.notify_addr = value & !7,
            register::STATUS => {
                self.status &= !(value as u32);
                crossing.levels.frozen &= value as u32 & status_bit::FROZEN == 0;
            }
            register::DEBUG_SELECT => crossing.levels.aids.select = value as u32,
            register::TRACE_CONTROL => crossing.levels.aids.write_trace(value as u32),
            register::TRACE_INDEX => aids.trace_index = value as u32,
            register::SAMPLE_CONTROL => crossing.levels.aids.write_sample(value),
            register::SAMPLE_INDEX => aids.sample_index = value as u32,
            _ => {}
        }
    }
}
