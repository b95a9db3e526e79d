//! The driver's part: numbers on messages that leave, the check of those that come, packets between kernels.

use super::super::transmit::Numbered;
use super::super::Driver;
use super::inbound::{Arrival, Packet, Room};
use super::{Control, Inbound, Lack, Outbound};
use crate::kernel::wire::payload_length;
use crate::kernel::{Data, Kernel, Slot, TracePoint};
use crate::library::NiFail;
use crate::nal::{Source, Transmit};
use abi::seastar::{
    command_op, control_op, header_flag, host_event, ControlCommand, SeenCommand, CONTROL_WINDOW,
    GENERIC_PROCESS, INLINE_MAX, NUMBER_TELL,
};
use abi::MessageId;
use host::Cpu;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Words of a CONTROL and of a SEEN command that have a meaning.
const CONTROL_BYTES: usize = 8;
const SEEN_BYTES: usize = 4;

/// A message that is kept until its receiver has taken it.
#[derive(Debug)]
pub(in crate::nal::seastar) struct Sending {
    message: Transmit,
    /// Payload as it was sent in the header, when the process may have changed its own.
    copy: Cell<Option<Data>>,
    /// Its operation ends only when it was taken: the process's memory is read.
    needed: bool,
    /// Copies in the hands of the firmware.
    flights: Cell<u32>,
    /// It has been given to the firmware before.
    again: Cell<bool>,
    taken: Cell<bool>,
    ended: Cell<bool>,
    /// The header went alone, because there was no payload.
    failed: Cell<bool>,
    fail: Cell<NiFail>,
}

impl Sending {
    /// True if it was sent before.
    pub(in crate::nal::seastar) fn is_repeat(&self) -> bool {
        self.again.get()
    }

    /// It is given to the firmware, with these bytes in its header, or without what should be its payload.
    pub(in crate::nal::seastar) fn flies(&self, inline: Option<Data>, failed: bool) {
        self.flights.set(self.flights.get() + 1);
        self.again.set(true);
        self.copy.set(inline);
        self.failed.set(failed);
    }

    /// The message as it is sent now.
    fn now(&self) -> Transmit {
        let mut message = self.message.clone();
        if self.failed.get() {
            message.source = Source::Lost;
        } else if let Some(data) = self.copy.get() {
            message.source = Source::Data(data);
        }
        message
    }
}

/// The messages to a node.
#[derive(Default)]
struct Peer {
    messages: Outbound<Rc<Sending>>,
    /// It is among those that may send.
    ready: bool,
}

/// Counts of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverflowCounts {
    /// REFUSED packets sent.
    pub refused: u64,
    /// CALLED packets sent.
    pub called: u64,
    /// TAKEN packets sent.
    pub taken: u64,
    /// Messages sent again.
    pub repeated: u64,
    /// Messages that came into pendings and were not taken.
    pub turned_away: u64,
}

/// State of the protocol in a kernel.
pub(in crate::nal::seastar) struct Relay {
    peers: RefCell<BTreeMap<u16, Peer>>,
    ready: RefCell<VecDeque<u16>>,
    inbound: RefCell<Inbound>,
    /// Receive pendings in all, and those in use.
    pool: usize,
    in_use: Cell<usize>,
    /// Announced messages whose payload is not in memory.
    under_way: Cell<usize>,
    /// CONTROL commands that may be given.
    control_room: Cell<u32>,
    /// Events of the protocol taken since the last SEEN, and how many make one.
    seen: Cell<u32>,
    seen_most: u32,
    counts: Cell<OverflowCounts>,
}

impl Relay {
    /// A kernel with `pool` receive pendings and `spare` slots of its event ring beside those for pendings.
    pub(in crate::nal::seastar) fn new(pool: usize, spare: u32) -> Relay {
        Relay {
            peers: RefCell::default(),
            ready: RefCell::default(),
            inbound: RefCell::default(),
            pool,
            in_use: Cell::new(0),
            under_way: Cell::new(0),
            control_room: Cell::new(CONTROL_WINDOW),
            seen: Cell::new(0),
            seen_most: (spare / 4).max(1),
            counts: Cell::default(),
        }
    }

    fn count(&self, change: impl FnOnce(&mut OverflowCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// A receive pending was given to the firmware.
    pub(in crate::nal::seastar) fn released(&self) {
        self.in_use.set(self.in_use.get().saturating_sub(1));
    }

    /// Messages for a process wait for room in its event queue.
    pub(in crate::nal::seastar) fn has_refused(&self, slot: Slot) -> bool {
        self.inbound.borrow().wait_for(slot.0)
    }
}

/// Word of another kernel about a message.
struct Said {
    nid: u16,
    control: Control,
    number: u16,
}

impl Driver {
    /// Counts of the recovery by the kernel; `None` if it does not recover.
    pub fn overflow_counts(&self) -> Option<OverflowCounts> {
        self.relay.as_ref().map(|relay| relay.counts.get())
    }

    /// Numbers a message and sends it when its turn comes.
    pub(in crate::nal::seastar) fn keep(
        &self,
        relay: &Relay,
        kernel: &Kernel,
        cpu: &Cpu,
        message: Transmit,
    ) {
        cpu.spend(self.config.costs.peer);
        let bytes = payload_length(&message.header);
        let inline = message.header.flags & header_flag::INLINE != 0
            || (self.config.inline_messages && bytes <= INLINE_MAX);
        let peer = message.header.target_nid;
        let id = MessageId::from(&message.header);
        let sending = Rc::new(Sending {
            needed: matches!(message.source, Source::Span(_)) && bytes > 0 && !inline,
            message,
            copy: Cell::new(None),
            flights: Cell::new(0),
            again: Cell::new(false),
            taken: Cell::new(false),
            ended: Cell::new(false),
            failed: Cell::new(false),
            fail: Cell::new(NiFail::Ok),
        });
        relay.peers.borrow_mut().entry(peer).or_default().messages.push(sending.clone());
        self.may_send(relay, peer);
        self.send_ready(relay, kernel, cpu);
        if !sending.is_repeat() {
            kernel.count(|counters| counters.transmits_queued += 1);
            kernel.mark(cpu, id, TracePoint::Queued);
        }
    }

    /// A peer goes behind the others that may send.
    fn may_send(&self, relay: &Relay, nid: u16) {
        let mut peers = relay.peers.borrow_mut();
        let peer = peers.entry(nid).or_default();
        if !peer.ready && peer.messages.offer().is_some() {
            peer.ready = true;
            relay.ready.borrow_mut().push_back(nid);
        }
    }

    /// Sends what may be sent, as far as there are pendings and DMA lists.
    pub(in crate::nal::seastar) fn send_ready(&self, relay: &Relay, kernel: &Kernel, cpu: &Cpu) {
        loop {
            let Some(nid) = relay.ready.borrow_mut().pop_front() else { return };
            let offer = {
                let mut peers = relay.peers.borrow_mut();
                let peer = peers.entry(nid).or_default();
                peer.ready = false;
                peer.messages.offer().map(|kept| {
                    let asks = peer.messages.asks(kept.message.needed);
                    let tell = if asks { NUMBER_TELL as u16 } else { 0 };
                    Numbered { number: kept.number | tell, sending: kept.message.clone() }
                })
            };
            let Some(numbered) = offer else { continue };
            let again = numbered.sending.is_repeat();
            if !self.try_transmit(kernel, cpu, &numbered.sending.now(), Some(&numbered)) {
                relay.peers.borrow_mut().entry(nid).or_default().ready = true;
                return relay.ready.borrow_mut().push_front(nid);
            }
            relay.count(|counts| counts.repeated += u64::from(again));
            relay.peers.borrow_mut().entry(nid).or_default().messages.sent();
            self.may_send(relay, nid);
        }
    }

    /// A copy of a message has left, or could not.
    pub(in crate::nal::seastar) fn left(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        sending: &Sending,
        fail: NiFail,
    ) {
        sending.flights.set(sending.flights.get() - 1);
        if fail != NiFail::Ok {
            sending.fail.set(fail);
        }
        self.settle(kernel, cpu, sending);
    }

    /// Ends the operation of a message, if nothing of it is wanted any more.
    fn settle(&self, kernel: &Kernel, cpu: &Cpu, sending: &Sending) {
        let done = sending.taken.get() || !sending.needed;
        if sending.flights.get() == 0 && done && !sending.ended.replace(true) {
            let id = MessageId::from(&sending.message.header);
            kernel.end(cpu, sending.message.ending, id, sending.fail.get());
        }
    }

    /// A message that could not be read ends at once.
    pub(in crate::nal::seastar) fn ends_failed(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        sending: &Sending,
    ) {
        if !sending.ended.replace(true) {
            let id = MessageId::from(&sending.message.header);
            kernel.end(cpu, sending.message.ending, id, NiFail::Fail);
        }
    }

    /// Takes an event that is of no pending. False if it is of one.
    pub(in crate::nal::seastar) fn told(
        &self,
        relay: &Relay,
        kernel: &Kernel,
        cpu: &Cpu,
        word: u32,
    ) -> bool {
        let kind = word & host_event::KIND_MASK;
        if kind == 0 {
            return false;
        }
        relay.seen.set(relay.seen.get() + 1);
        cpu.spend(self.config.costs.peer);
        let nid = (word & host_event::NODE_MASK) as u16;
        let number = (word >> host_event::NUMBER_SHIFT) as u16 & super::NUMBER_MASK;
        let said = |control| Said { nid, control, number };
        match kind {
            host_event::NO_STREAM | host_event::NO_PENDING => {
                let stream = kind == host_event::NO_STREAM;
                let lack = if stream { Lack::Stream } else { Lack::Pending };
                relay.inbound.borrow_mut().dropped(nid, number, lack);
            }
            host_event::ROOM => {
                relay.control_room.set(relay.control_room.get() + CONTROL_WINDOW / 2);
            }
            host_event::TAKEN => self.obey(relay, kernel, cpu, said(Control::Taken)),
            host_event::REFUSED => self.obey(relay, kernel, cpu, said(Control::Refused)),
            host_event::CALLED => self.obey(relay, kernel, cpu, said(Control::Called)),
            _ => cpu.fault(format_args!(
                "the firmware of node {} posted event {word:#010x}, which has no meaning",
                kernel.nid
            )),
        }
        true
    }

    /// Does what another kernel says.
    fn obey(&self, relay: &Relay, kernel: &Kernel, cpu: &Cpu, said: Said) {
        let Said { nid, control, number } = said;
        let (taken, known) = {
            let mut peers = relay.peers.borrow_mut();
            let messages = &mut peers.entry(nid).or_default().messages;
            match control {
                Control::Taken => (messages.taken(number), true),
                Control::Refused => messages.refused(number),
                Control::Called => messages.called(number),
            }
        };
        if !known {
            cpu.fault(format_args!(
                "the kernel of node {nid} says of message {number} of node {} {control:?}; it was \
                 not sent",
                kernel.nid
            ));
        }
        for sending in taken {
            sending.taken.set(true);
            self.settle(kernel, cpu, &sending);
        }
        self.may_send(relay, nid);
        self.send_ready(relay, kernel, cpu);
    }

    /// True if the message in `pending` is taken. One that is not is as if it had not come.
    pub(in crate::nal::seastar) fn admits(
        &self,
        relay: &Relay,
        kernel: &Kernel,
        cpu: &Cpu,
        pending: u16,
        whole: bool,
    ) -> bool {
        relay.in_use.set(relay.in_use.get() + 1);
        cpu.spend(self.config.costs.peer);
        let mut word = [0; 4];
        self.region.read_data(pending, &mut word);
        let word = u32::from_le_bytes(word);
        let (nid, number) = ((word >> 16) as u16, word as u16);
        let tell = u32::from(number) & NUMBER_TELL != 0;
        let number = number & super::NUMBER_MASK;
        // Nothing in a damaged header can be believed.
        let header = whole.then(|| self.region.read_header(pending));
        let crowded = header.and_then(|header| kernel.crowded(&header)).map(|slot| slot.0);
        let taken = relay.inbound.borrow_mut().arrived(Arrival { nid, number, tell }, crowded);
        relay.count(|counts| counts.turned_away += u64::from(!taken));
        taken
    }

    /// A payload is coming, or is there.
    pub(in crate::nal::seastar) fn under_way(&self, relay: &Relay, more: bool) {
        if more {
            return relay.under_way.set(relay.under_way.get() + 1);
        }
        relay.under_way.set(relay.under_way.get().saturating_sub(1));
        relay.inbound.borrow_mut().completed();
    }

    /// Says to other kernels what this run of the handler has brought.
    pub(in crate::nal::seastar) fn answer(&self, relay: &Relay, kernel: &Kernel, cpu: &Cpu) {
        let room = Room {
            pendings: relay.pool - relay.in_use.get().min(relay.pool),
            under_way: relay.under_way.get(),
        };
        relay.inbound.borrow_mut().call(room, |slot| kernel.is_roomy(Slot(slot)));
        while relay.control_room.get() > 0 {
            let Some(packet) = relay.inbound.borrow_mut().next_packet() else { break };
            self.control(relay, cpu, packet);
        }
        let seen = relay.seen.get();
        if seen >= relay.seen_most {
            relay.seen.set(0);
            let command = SeenCommand {
                op: command_op::SEEN,
                process_index: GENERIC_PROCESS as u8,
                count: seen as u16,
            };
            let mut bytes = [0; SeenCommand::SIZE];
            command.emit(&mut bytes);
            cpu.spend(self.config.costs.command_build);
            self.mailbox.command(cpu, &bytes[..SEEN_BYTES]);
        }
    }

    fn control(&self, relay: &Relay, cpu: &Cpu, packet: Packet) {
        relay.control_room.set(relay.control_room.get() - 1);
        let control = match packet.control {
            Control::Taken => control_op::TAKEN,
            Control::Refused => control_op::REFUSED,
            Control::Called => control_op::CALLED,
        };
        relay.count(|counts| match packet.control {
            Control::Taken => counts.taken += 1,
            Control::Refused => counts.refused += 1,
            Control::Called => counts.called += 1,
        });
        let command = ControlCommand {
            op: command_op::CONTROL,
            process_index: GENERIC_PROCESS as u8,
            control: u16::from(control),
            peer: packet.peer,
            number: packet.number,
        };
        let mut bytes = [0; ControlCommand::SIZE];
        command.emit(&mut bytes);
        cpu.spend(self.config.costs.peer + self.config.costs.command_build);
        self.mailbox.command(cpu, &bytes[..CONTROL_BYTES]);
    }
}
