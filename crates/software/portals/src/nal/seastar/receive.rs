//! Receiving: the interrupt handler drains the firmware's events, matches, and says where payloads go
//! (pedretti2005 s4.3.2).

use super::dma_list::{self, DmaList};
use super::overflow::Relay;
use super::Driver;
use crate::kernel::wire::{self, payload_length};
use crate::kernel::{Data, Kernel, Slot, Taker, Told, TracePoint, DATA_MAX};
use crate::library::{Grant, NiFail};
use crate::nal::Run;
use abi::seastar::{
    command_op, event_type, header_flag, PortalsHeader, ReleaseCommand, RxCommand,
    GENERIC_PENDINGS, GENERIC_PROCESS, INLINE_MAX,
};
use abi::MessageId;
use host::{Cpu, Extent};

/// Words of an RX command that have a meaning.
const RX_BYTES: usize = 24;
/// Words of a RELEASE command that have a meaning.
const RELEASE_BYTES: usize = 4;

/// A message whose payload the firmware is depositing.
#[derive(Clone, Debug)]
pub(crate) struct Receive {
    header: PortalsHeader,
    /// Process that gets it; `None` if it is dropped or done.
    taker: Option<Taker>,
    list: Option<DmaList>,
    /// It is dropped, and comes again.
    turned_away: bool,
}

impl Driver {
    /// Takes all new events of the firmware.
    pub(super) fn drain(&self, kernel: &Kernel, cpu: &Cpu, run: Run) {
        kernel.count(|counters| counters.interrupts += 1);
        let mut events = 0;
        loop {
            cpu.spend(self.config.costs.slot_read);
            let slot = self.slot.get();
            let Some(word) = self.region.take_event(slot) else { break };
            self.slot.set((slot + 1) % self.config.pools.event_slots);
            events += 1;
            cpu.spend(self.config.costs.dispatch);
            if let Some(relay) = &self.relay
                && self.told(relay, kernel, cpu, word)
            {
                continue;
            }
            self.event(kernel, cpu, run, (word >> 16) as u16, word as u16);
        }
        if let Some(relay) = &self.relay {
            self.answer(relay, kernel, cpu);
        }
        kernel.count(|counters| {
            counters.events += events;
            counters.empty_interrupts += u64::from(events == 0);
        });
        self.empty.set(if events > 0 { 0 } else { self.empty.get() + 1 });
        if self.empty.get() >= self.config.empty_interrupts {
            cpu.fault(format_args!(
                "{} interrupts in a row found no event: the line is stuck",
                self.empty.get()
            ));
        }
    }

    fn event(&self, kernel: &Kernel, cpu: &Cpu, run: Run, kind: u16, pending: u16) {
        if kind == event_type::PROCESS_ENDED {
            return self.process_ended(kernel, pending);
        }
        if u32::from(pending) >= GENERIC_PENDINGS {
            cpu.fault(format_args!(
                "the firmware of node {} posted event {kind} for pending {pending}, which is none",
                kernel.nid
            ));
        }
        if u32::from(pending) >= u32::from(self.config.tx_pendings) {
            self.seen.borrow_mut()[usize::from(pending)] = true;
        }
        if let Some(relay) = &self.relay
            && !self.lets_in(relay, kernel, cpu, kind, pending)
        {
            return;
        }
        match kind {
            event_type::TX_COMPLETE => self.transmitted(kernel, cpu, pending, NiFail::Ok),
            event_type::ERR_TX => self.transmitted(kernel, cpu, pending, NiFail::Fail),
            event_type::RX_INLINE => self.arrived_whole(kernel, cpu, run, pending),
            event_type::RX_HEADER => self.announced(kernel, cpu, run, pending),
            event_type::RX_COMPLETE => self.received(kernel, cpu, run, pending, NiFail::Ok),
            event_type::ERR_RX_CRC => self.received(kernel, cpu, run, pending, NiFail::Fail),
            event_type::ERR_RX_HDR_CRC => {
                // Nothing in such a header can be believed, not even whose it is.
                kernel.count(|counters| counters.undeliverable += 1);
                kernel.tell(cpu, || Told::Damaged);
                self.release(cpu, pending);
            }
            _ => cpu.fault(format_args!(
                "the firmware of node {} posted an event of unknown type {kind}",
                kernel.nid
            )),
        }
    }

    /// True if an event of `pending` goes its usual way: messages that do not come in their turn are turned away.
    fn lets_in(&self, relay: &Relay, kernel: &Kernel, cpu: &Cpu, kind: u16, pending: u16) -> bool {
        match kind {
            event_type::RX_INLINE | event_type::ERR_RX_HDR_CRC => {
                let whole = kind == event_type::RX_INLINE;
                let taken = self.admits(relay, kernel, cpu, pending, whole);
                if !taken {
                    self.release(cpu, pending);
                }
                taken
            }
            event_type::RX_HEADER => {
                self.under_way(relay, true);
                let taken = self.admits(relay, kernel, cpu, pending, true);
                if !taken {
                    // Nothing of it is wanted.
                    let header = self.region.read_header(pending);
                    let receive = Receive { header, taker: None, list: None, turned_away: true };
                    self.receives.borrow_mut()[usize::from(pending)] = Some(Box::new(receive));
                    self.try_receive(kernel, cpu, pending, &[]);
                }
                taken
            }
            event_type::RX_COMPLETE | event_type::ERR_RX_CRC => {
                self.under_way(relay, false);
                let mut receives = self.receives.borrow_mut();
                let slot = &mut receives[usize::from(pending)];
                let gone = slot.as_ref().is_some_and(|receive| receive.turned_away);
                if gone {
                    *slot = None;
                    drop(receives);
                    self.release(cpu, pending);
                }
                !gone
            }
            _ => true,
        }
    }

    fn drained(&self, kernel: &Kernel, cpu: &Cpu, run: Run, id: MessageId, mark: TracePoint) {
        kernel.observer.mark(cpu.core(), run.raised, id, TracePoint::InterruptRaised);
        kernel.observer.mark(cpu.core(), run.entered, id, TracePoint::HandlerEntered);
        kernel.mark(cpu, id, mark);
    }

    fn header(&self, kernel: &Kernel, cpu: &Cpu, run: Run, pending: u16) -> PortalsHeader {
        let header = self.region.read_header(pending);
        kernel.count(|counters| counters.receives += 1);
        self.drained(kernel, cpu, run, MessageId::from(&header), TracePoint::HeaderDrained);
        cpu.spend(self.config.costs.header_read);
        header
    }

    /// A message whose payload is in its header.
    fn arrived_whole(&self, kernel: &Kernel, cpu: &Cpu, run: Run, pending: u16) {
        let header = self.header(kernel, cpu, run, pending);
        let taker = kernel.take(cpu, &header);
        let fail = self.store_inline(kernel, cpu, &header, taker.as_ref());
        self.finish(kernel, cpu, &header, pending, taker, fail);
        self.release(cpu, pending);
    }

    /// A message whose payload waits to be told where to go.
    fn announced(&self, kernel: &Kernel, cpu: &Cpu, run: Run, pending: u16) {
        let header = self.header(kernel, cpu, run, pending);
        let mut taker = kernel.take(cpu, &header);
        let mut extents = None;
        if header.flags & header_flag::INLINE != 0 {
            // Firmware without the very-small-message path announces these too.
            let fail = self.store_inline(kernel, cpu, &header, taker.as_ref());
            if fail != NiFail::Ok {
                self.finish(kernel, cpu, &header, pending, taker.take(), fail);
            }
        } else if let Some(Taker { slot, grant }) = &taker {
            extents = self.deposit_at(kernel, cpu, *slot, &header, pending, grant);
            if extents.is_none() {
                self.finish(kernel, cpu, &header, pending, taker.take(), NiFail::Fail);
            }
        }
        let extents = extents.unwrap_or_else(|| kernel.no_extents());
        let slot = usize::from(pending);
        let receive = Box::new(Receive { header, taker, list: None, turned_away: false });
        let previous = self.receives.borrow_mut()[slot].replace(receive);
        if previous.is_some() {
            cpu.fault(format_args!(
                "the firmware of node {} announced pending {pending} twice",
                kernel.nid
            ));
        }
        if !self.try_receive(kernel, cpu, pending, &extents) {
            kernel.count(|counters| counters.receives_deferred += 1);
            self.deferred.borrow_mut().push_back((pending, extents));
        } else {
            kernel.keep_extents(extents);
        }
    }

    /// Destination of a message's payload; `None` if the process does not have the memory, or it is in more
    /// pieces than a DMA list can have commands.
    fn deposit_at(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        slot: Slot,
        header: &PortalsHeader,
        pending: u16,
        grant: &Grant,
    ) -> Option<Vec<Extent>> {
        if wire::atomic(header).is_none() {
            return kernel.extents(cpu, slot, &grant.span);
        }
        let mut extents = kernel.no_extents();
        if grant.mlength > 0 {
            extents.push(Extent { phys: self.region.data(pending), len: grant.mlength });
        }
        Some(extents)
    }

    /// Writes the receive command. False if there is no DMA list for it.
    fn try_receive(&self, kernel: &Kernel, cpu: &Cpu, pending: u16, extents: &[Extent]) -> bool {
        let mut command = RxCommand {
            op: command_op::RX,
            process_index: GENERIC_PROCESS as u8,
            pending,
            length: extents.iter().map(|extent| extent.len as u32).sum(),
            ..RxCommand::default()
        };
        if let Some(first) = extents.first() {
            command.addr_lo = first.phys as u32;
            command.addr_hi = (first.phys >> 32) as u32;
        }
        if extents.len() > 1 {
            let Some(list) = self.lists.alloc(extents.len()) else { return false };
            dma_list::write(cpu, &self.region, list, extents);
            command.dma_count = list.count();
            command.dma_list = list.addr;
            if let Some(receive) = &mut self.receives.borrow_mut()[usize::from(pending)] {
                receive.list = Some(list);
            }
        }
        let mut bytes = [0; RxCommand::SIZE];
        command.emit(&mut bytes);
        cpu.spend(self.config.costs.command_build);
        self.mailbox.command(cpu, &bytes[..RX_BYTES]);
        let receives = self.receives.borrow();
        let id = receives[usize::from(pending)].as_ref().map(|r| MessageId::from(&r.header));
        if receives[usize::from(pending)].as_ref().is_some_and(|receive| !receive.turned_away) {
            kernel.mark(cpu, id.unwrap_or_default(), TracePoint::ReceiveWritten);
        }
        true
    }

    /// A DMA list has become free.
    pub(crate) fn receive_deferred(&self, kernel: &Kernel, cpu: &Cpu) {
        loop {
            let Some((pending, extents)) = self.deferred.borrow_mut().pop_front() else { return };
            if !self.try_receive(kernel, cpu, pending, &extents) {
                self.deferred.borrow_mut().push_front((pending, extents));
                return;
            }
        }
    }

    /// The payload of `pending` is in memory, or did not survive.
    fn received(&self, kernel: &Kernel, cpu: &Cpu, run: Run, pending: u16, fail: NiFail) {
        let slot = usize::from(pending);
        let receive = self.receives.borrow_mut().get_mut(slot).and_then(Option::take);
        let Some(receive) = receive else {
            cpu.fault(format_args!(
                "the firmware of node {} completed pending {pending}, which it never announced",
                kernel.nid
            ));
        };
        self.drained(
            kernel,
            cpu,
            run,
            MessageId::from(&receive.header),
            TracePoint::ReceivedDrained,
        );
        self.finish(kernel, cpu, &receive.header, pending, receive.taker, fail);
        if let Some(list) = receive.list {
            self.free_list(kernel, cpu, list);
        }
        self.release(cpu, pending);
    }

    fn release(&self, cpu: &Cpu, pending: u16) {
        if let Some(relay) = &self.relay {
            relay.released();
        }
        let command = ReleaseCommand {
            op: command_op::RELEASE,
            process_index: GENERIC_PROCESS as u8,
            pending,
        };
        let mut bytes = [0; ReleaseCommand::SIZE];
        command.emit(&mut bytes);
        cpu.spend(self.config.costs.command_build);
        self.mailbox.command(cpu, &bytes[..RELEASE_BYTES]);
    }

    /// Copies an inline payload to its taker; an atomic operation's operand stays where it is.
    fn store_inline(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        header: &PortalsHeader,
        taker: Option<&Taker>,
    ) -> NiFail {
        let Some(Taker { slot, grant }) = taker else { return NiFail::Ok };
        if header.flags & header_flag::FAILED != 0 {
            return NiFail::Fail;
        }
        if wire::atomic(header).is_some() {
            return NiFail::Ok;
        }
        let sent = payload_length(header).min(INLINE_MAX);
        let span = grant.span.first(sent.into());
        kernel.store(cpu, *slot, &span, &header.inline_data)
    }

    /// All bytes of a message are there, or did not survive.
    fn finish(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        header: &PortalsHeader,
        pending: u16,
        taker: Option<Taker>,
        fail: NiFail,
    ) {
        kernel.finish(cpu, header, taker, fail, |grant| self.operand(header, pending, grant));
    }

    /// The operand of an atomic operation: in its header, or in its pending.
    fn operand(&self, header: &PortalsHeader, pending: u16, grant: &Grant) -> Data {
        let mut data = [0; DATA_MAX];
        if header.flags & header_flag::INLINE != 0 {
            data[..header.inline_data.len()].copy_from_slice(&header.inline_data);
        } else {
            self.region.read_data(pending, &mut data[..grant.mlength as usize]);
        }
        data
    }
}
