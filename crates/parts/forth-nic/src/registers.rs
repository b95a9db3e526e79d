//! Registers behind the region, as the host reads and writes them.

use super::*;
use crate::aids::Aids;
use crate::link_side::LinkSide;
use abi::forth::register::{
    self, Control, DebugSelect, Interrupt, Notify, SampleIndex, States, Status, TraceIndex,
};

impl HostSide {
    /// The word at `offset`; it stands at the outputs in the next cycle.
    pub(crate) fn read(&mut self, offset: u32, c: &Crossing, lanes: &LinkSide, aids: &Aids) {
        let (link, frozen) = (c.counters_seen.seen(), c.levels.frozen);
        let wanted = &c.levels.aids;
        let interrupt =
            Interrupt(0).with_enabled(self.interrupt_enabled).with_line(self.interrupt_line);
        let room = u64::from(self.params.queue_depth) - self.queue.len() as u64;
        self.read_word = match offset {
            register::CONTROL => self.control.0,
            register::INTERRUPT => interrupt.0,
            register::NOTIFY => self.notify_addr,
            register::QUEUE_FREE => room,
            register::STATUS => self.status.with_frozen(frozen).0,
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
            register::STATES => self.states(frozen).0 | lanes.states().0,
            register::LANES => lanes.lane_status(c.levels_seen.seen().aids.lane(), aids).0,
            register::FETCH_CYCLES => self.events.fetch_cycles,
            register::FETCH_WORDS => self.events.fetch_words,
            register::DEPOSIT_CYCLES => self.events.deposit_cycles,
            register::DISCONNECTS => self.events.disconnects,
            register::DESCRIPTORS => self.events.descriptors,
            register::INTERRUPTS_WANTED => self.events.interrupts_wanted,
            register::RECEIVE_LEVEL => lanes.events().level_max,
            register::CREDITS_IN => lanes.events().credits_in,
            register::CREDITS_OUT => lanes.events().credits_out,
            register::DEBUG_SELECT => wanted.select.0,
            register::CREDITS => lanes.credit_counts(c.levels_seen.seen().aids.flow()).0,
            register::TRACE_CONTROL => wanted.trace.0,
            register::TRACE_INDEX => aids.trace_index.0,
            register::TRACE_COUNT => aids.trace_count(),
            register::TRACE_DATA => aids.trace_sample().0,
            register::TRACE_TAG => aids.trace_sample().1 .0,
            register::SAMPLE_CONTROL => wanted.sample.0,
            register::SAMPLE_INDEX => aids.sample_index.0,
            register::SAMPLE_COUNT => aids.sampler.count(),
            register::SAMPLE_SENT => aids.sampler.sample(aids.sample_index).sent,
            register::SAMPLE_RECEIVED => aids.sampler.sample(aids.sample_index).received,
            register::SAMPLE_PRESSURE => aids.sampler.sample(aids.sample_index).pressure,
            _ => 0,
        };
    }

    fn states(&self, frozen: bool) -> States {
        let deposit = self.depositing.map_or(0, |packet| if packet.left > 0 { 1 } else { 2 });
        let most = |count: usize| count.min(15) as u8;
        States(0)
            .with_bus_owner(self.owner as u8)
            .with_reads(most(self.fetching.len()))
            .with_deposit(deposit)
            .with_queue(most(self.queue.len()))
            .with_frozen(frozen.into())
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
                self.control = Control(value & Control::WRITABLE);
                self.reset = Control(value).reset();
                crossing.levels.loop_back = self.control.loop_back();
                crossing.levels.freeze = self.control.freeze();
                crossing.levels.credits_in_payload = self.control.credits_in_payload();
            }
            register::INTERRUPT => {
                // Enabling and disabling both clear the line (marazakis2006 s4.1).
                self.interrupt_enabled = Interrupt(value).enabled();
                self.interrupt_line &= self.params.has(Bug::LineStays);
            }
            register::NOTIFY => self.notify_addr = value & Notify::WRITABLE,
            register::STATUS => {
                self.status.0 &= !value;
                crossing.levels.frozen &= !Status(value).frozen();
            }
            register::DEBUG_SELECT => {
                crossing.levels.aids.select = DebugSelect(value & DebugSelect::WRITABLE);
            }
            register::TRACE_CONTROL => crossing.levels.aids.write_trace(value),
            register::TRACE_INDEX => aids.trace_index = TraceIndex(value & TraceIndex::WRITABLE),
            register::SAMPLE_CONTROL => crossing.levels.aids.write_sample(value),
            register::SAMPLE_INDEX => {
                aids.sample_index = SampleIndex(value & SampleIndex::WRITABLE);
            }
            _ => {}
        }
    }
}
