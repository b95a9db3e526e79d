//! Events, from the firmware to the library.

use super::*;

impl Accelerated {
    /// Takes all events that are in the ring. It is empty when this returns, in the same instant.
    pub(crate) fn drain(&self, kernel: &Kernel, cpu: &Cpu) {
        cpu.spend(self.slot_read());
        self.drain_now(kernel, cpu);
    }

    /// True if there is an event in the ring.
    pub(crate) fn has_events(&self) -> bool {
        self.driver.region.has_event(self.driver.slot.get())
    }

    /// Time of a look at the next slot.
    pub(crate) fn slot_read(&self) -> des::Duration {
        self.driver.config.costs.slot_read
    }

    /// The same as [`Accelerated::drain`] when the first slot has been read.
    pub(crate) fn drain_now(&self, kernel: &Kernel, cpu: &Cpu) {
        let costs = &self.driver.config.costs;
        loop {
            if let Some(op) = self.ended.get() {
                cpu.fault(format_args!(
                    "node {}: the firmware cannot obey command {op} of the process, and ended it",
                    kernel.nid
                ));
            }
            let slot = self.driver.slot.get();
            let Some(word) = self.driver.region.take_event(slot) else { return };
            self.driver.slot.set((slot + 1) % EVENT_SLOTS);
            cpu.spend(costs.dispatch);
            kernel.count(|counters| counters.ring_events += 1);
            self.event(kernel, cpu, word, slot);
            cpu.spend(costs.slot_read);
        }
    }

    /// The event of a word, whose line stands in `slot`.
    fn event(&self, kernel: &Kernel, cpu: &Cpu, word: u32, slot: u32) {
        let (kind, index) = ((word >> 16) as u16, word as u16);
        if kind == event_type::RESULT {
            return self.result.set(Some(index));
        }
        if kind == event_type::COLLECTIVE {
            return self.collected.borrow_mut().push_back(index);
        }
        let sent = u32::from(index) < u32::from(self.driver.config.tx_pendings);
        match kind {
            event_type::TX_COMPLETE | event_type::ERR_TX => {
                let fail = if kind == event_type::ERR_TX { NiFail::Fail } else { NiFail::Ok };
                if sent {
                    return self.driver.transmitted(kernel, cpu, index, fail);
                }
                self.ends_in(kernel, cpu, index, fail);
            }
            event_type::RX_INLINE => {
                let receive = self.begins(kernel, cpu, slot);
                self.ends(kernel, cpu, receive, NiFail::Ok);
            }
            event_type::RX_HEADER | event_type::RX_GET => {
                let receive = Some(Box::new(self.begins(kernel, cpu, slot)));
                self.receives.borrow_mut()[usize::from(index)] = receive;
            }
            event_type::RX_COMPLETE if self.is_answered(index, false) => {}
            event_type::RX_COMPLETE => self.ends_in(kernel, cpu, index, NiFail::Ok),
            event_type::ERR_RX_CRC if u32::from(index) == EVENT_WHOLE => {
                let receive = self.begins(kernel, cpu, slot);
                self.ends(kernel, cpu, receive, NiFail::Fail);
            }
            event_type::ERR_RX_CRC if self.is_answered(index, true) => {}
            event_type::ERR_RX_CRC => self.ends_in(kernel, cpu, index, NiFail::Fail),
            _ => cpu.fault(format_args!(
                "the firmware of node {} posted an event of unknown type {kind} to a process",
                kernel.nid
            )),
        }
        self.has_read(cpu);
    }

    /// The operand of a message is there, or `damaged`: true if it is that of an atomic operation, which the
    /// firmware answers now, and which ends when the answer has left.
    fn is_answered(&self, pending: u16, damaged: bool) -> bool {
        let mut receives = self.receives.borrow_mut();
        let Some(receive) = &mut receives[usize::from(pending)] else { return false };
        receive.damaged = damaged;
        receive.taker.is_some() && wire::atomic(&receive.header).is_some()
    }

    /// A message has been matched, or was dropped. The look at the event's word has brought its line.
    fn begins(&self, kernel: &Kernel, cpu: &Cpu, slot: u32) -> Receive {
        let found = self.driver.region.read_line(slot);
        let header = self.header(kernel, &found);
        let id = MessageId::from(&header);
        kernel.count(|counters| {
            counters.receives += 1;
            counters.nic_entries += u64::from(found.visits);
        });
        kernel.mark(cpu, id, TracePoint::RingRead);
        let taker = self.take(kernel, cpu, &header, &found);
        if taker.is_none() && header.op != portals_op::ACK {
            kernel.mark(cpu, id, TracePoint::Dropped);
        }
        if taker.is_some() && wire::atomic(&header).is_some() {
            kernel.count(|counters| counters.nic_atomics += 1);
        }
        self.refuse(kernel, &header, &found);
        Receive { header, taker, damaged: false }
    }

    /// The header of an event's line, as far as it has that.
    fn header(&self, kernel: &Kernel, line: &EventLine) -> PortalsHeader {
        let data = [line.hdr_data_lo, line.hdr_data_hi].map(u64::from);
        let back = matches!(line.op, portals_op::ACK | portals_op::REPLY);
        PortalsHeader {
            op: line.op,
            flags: line.flags,
            pt_index: line.pt_index,
            ac_index: line.ac_index,
            source_nid: line.source_nid,
            source_pid: line.source_pid,
            target_nid: kernel.nid,
            length: line.length,
            match_bits: u64::from(line.match_bits_hi) << 32 | u64::from(line.match_bits_lo),
            hdr_data: if back { data[0] } else { data[1] << 32 | data[0] },
            remote_offset: if back { data[1] } else { 0 },
            md_handle: if back { line.handle } else { 0 },
            uid: line.uid,
            serial: line.serial,
            ..PortalsHeader::default()
        }
    }

    /// Carries out the firmware's decision in the library's copy.
    fn take(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        header: &PortalsHeader,
        found: &EventLine,
    ) -> Option<Taker> {
        let (slot, id) = (self.slot, MessageId::from(header));
        if header.op == portals_op::ACK {
            self.acks.set(self.acks.get().wrapping_add(1));
            kernel.acknowledged(cpu, slot, header);
            return None;
        }
        if u32::from(found.entry) == ENTRY_NONE {
            kernel.with(slot, |interface| interface.dropped(header.length.into()));
            return None;
        }
        let md = MdHandle::from_raw(found.handle);
        let queue = kernel.with(slot, |interface| interface.look(md)).flatten();
        if let Some(eq) = queue.and_then(|look| look.user.eq) {
            let seen = &mut self.seen.borrow_mut()[eq.index() as usize % 64];
            *seen = seen.wrapping_add(1);
        }
        let delivery = kernel.with(slot, |interface| match header.op {
            portals_op::REPLY => Some(interface.reply(&wire::response(header))),
            _ => {
                let request = wire::request(header)?;
                let (offset, mlength) = (found.offset.into(), found.mlength.into());
                interface.deliver_to(md, Accepted { offset, mlength }, &request)
            }
        });
        let Some(delivery) = delivery.flatten() else {
            cpu.fault(format_args!(
                "the firmware of node {} matched a descriptor that is not there",
                kernel.nid
            ));
        };
        kernel.mark(cpu, id, TracePoint::Matched(found.visits.into()));
        kernel.charge_events(cpu, slot, delivery.work, id);
        Some(Taker { slot, grant: delivery.grant? })
    }

    /// A message came that posts did not know of: the firmware has refused those that name its queue.
    fn refuse(&self, kernel: &Kernel, header: &PortalsHeader, found: &EventLine) {
        let dropped = u32::from(found.entry) == ENTRY_NONE;
        let ack = header.op == portals_op::ACK;
        let mut posts = self.posts.borrow_mut();
        while posts.front().is_some_and(|post| post.command <= found.taken) {
            posts.pop_front();
        }
        if dropped && !ack {
            return;
        }
        let md = MdHandle::from_raw(found.handle);
        let queue = kernel.with(self.slot, |interface| interface.look(md)).flatten();
        let queue = queue.and_then(|look| look.user.eq);
        posts.retain(|post| {
            if !ack && queue != Some(post.test) {
                return true;
            }
            let gone = kernel.with(self.slot, |interface| interface.me_unlink(post.me));
            debug_assert!(gone.is_none_or(|gone| gone.is_ok()), "a refused post is unused");
            self.calls.borrow_mut().retain(|call| call.command != post.command);
            self.refused.borrow_mut().push_back(post.me);
            kernel.count(|counters| counters.posts_refused += 1);
            false
        });
    }

    /// All of the message in a pending is there, or its answer has left.
    fn ends_in(&self, kernel: &Kernel, cpu: &Cpu, pending: u16, fail: NiFail) {
        let receive = self.receives.borrow_mut()[usize::from(pending)].take();
        let Some(receive) = receive else {
            cpu.fault(format_args!(
                "the firmware of node {} ended message {pending}, which it never announced",
                kernel.nid
            ));
        };
        self.ends(kernel, cpu, *receive, fail);
    }

    /// The same of a message.
    fn ends(&self, kernel: &Kernel, cpu: &Cpu, receive: Receive, fail: NiFail) {
        let id = MessageId::from(&receive.header);
        let flags = receive.header.flags;
        let atomic = wire::atomic(&receive.header).is_some();
        let answered = atomic || receive.header.op == portals_op::GET;
        if flags & header_flag::INLINE == 0 && !answered {
            kernel.mark(cpu, id, TracePoint::RingCompleted);
        }
        let unread = atomic && flags & header_flag::FAILED != 0;
        let fail = if unread || receive.damaged { NiFail::Fail } else { fail };
        if let Some(Taker { slot, grant }) = receive.taker {
            let md = grant.operation.event().md_handle;
            let ending = Some(Ending { slot, operation: grant.operation });
            kernel.end(cpu, ending, id, fail);
            if receive.header.op == portals_op::REPLY {
                self.answered(md);
            }
        } else if receive.header.op == portals_op::REPLY {
            self.answered(MdHandle::from_raw(receive.header.md_handle));
        }
    }
}
