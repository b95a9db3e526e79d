//! Handling of Portals events.

use super::matching::{self, Exposed, Protocol};
use super::operations::Owner;
use super::{must, Answer, Portals};
use crate::constant;
use crate::error::Error;
use crate::local::Local;
use crate::request::RequestId;
use crate::transport::{Found, Step};
use portals::{Error as PortalsError, Event, EventKind, NiFail, Polled, StatusRegister};

impl Portals {
    /// Deals with what a poll gave.
    pub(super) fn take_event(&mut self, local: &mut Local, polled: Answer<Polled>) -> Step {
        let polled = match polled {
            Err(PortalsError::EqEmpty) => return Step::Nothing,
            polled => must(local, polled, "PtlEQPoll"),
        };
        let Polled { event, dropped, which } = polled;
        if dropped {
            let (rank, params) = (local.world.rank, &self.params);
            let (what, key, events) = if self.poll_set[which] == self.unexpected_queue {
                ("unexpected messages", "unexpected_events", params.unexpected_events)
            } else {
                ("sends and receives under way", "events", params.events)
            };
            local.cpu.fault(format!(
                "rank {rank}: more {what} than its event queue holds (mpi.{key} = {events})"
            ));
        }
        self.dispatch(local, &event)
    }

    fn dispatch(&mut self, local: &mut Local, event: &Event) -> Step {
        local.charge(local.params.event);
        let owner = Owner::unpack(event.md.user_ptr);
        // The first event of a message: a posted receive has no START.
        let first = match owner {
            Owner::Block(_) | Owner::Catcher => event.kind == EventKind::PutStart,
            Owner::Operation(_) => event.kind == EventKind::PutEnd,
            Owner::Copy(_) | Owner::Credits => false,
        };
        if first {
            self.owe_credit(local, event.initiator);
        }
        match owner {
            Owner::Credits => {
                self.credits_came(event);
                Step::Event
            }
            Owner::Operation(id) => self.of_operation(local, id, event),
            Owner::Block(block) => self.of_block(local, block, event),
            Owner::Catcher => {
                // Damage to its bytes does not matter: they are fetched.
                if event.kind == EventKind::PutStart {
                    self.unexpected.started(None, event);
                    self.overtaken.message_came();
                    let at = local.cpu.now();
                    local.observe(|observer| observer.kept(event.message, at));
                }
                Step::Event
            }
            Owner::Copy(copy) => {
                if event.fail != NiFail::Ok {
                    // The program was told long ago that this send is over.
                    let rank = local.world.rank;
                    local.cpu.fault(format!("rank {rank}: a message that was sent did not leave"))
                }
                self.free_copies.push(copy);
                Step::Event
            }
        }
    }

    fn of_operation(&mut self, local: &mut Local, id: RequestId, event: &Event) -> Step {
        let failed = event.fail != NiFail::Ok;
        let Some(operation) = self.operations.find(id) else {
            // The UNLINK of an operation that is over.
            return Step::Event;
        };
        match event.kind {
            // Of a long send this is the first moment at which its put has left and its receiver has the
            // bytes, in whichever order those ended.
            EventKind::Unlink if operation.long_send => Step::Ended(self.end_operation(id)),
            EventKind::Unlink => Step::Event,
            EventKind::SendEnd | EventKind::GetEnd | EventKind::Ack => {
                match (operation.long_send, failed) {
                    (true, false) => Step::Event,
                    (true, true) => Step::Failed(id, unsent()),
                    (false, failed) => {
                        operation.error = failed.then(unsent);
                        Step::Ended(self.end_operation(id))
                    }
                }
            }
            EventKind::PutEnd | EventKind::ReplyEnd => {
                if failed {
                    let lost = local.look_at_buffer(operation.bytes.va, operation.bytes.length);
                    operation.error = Some(lost.err().unwrap_or_else(damaged));
                }
                match event.kind {
                    EventKind::PutEnd => self.arrived(local, id, event),
                    _ => Step::Ended(self.end_operation(id)),
                }
            }
            kind => unreachable!("no {kind:?} event was asked for"),
        }
    }

    /// A message met a posted receive.
    fn arrived(&mut self, local: &mut Local, id: RequestId, event: &Event) -> Step {
        let at = local.cpu.now();
        local.observe(|observer| observer.unposted(at));
        self.leave_list(id);
        let operation = self.operations.get(id);
        operation.found = Found {
            source: matching::source_of(event.match_bits),
            tag: matching::tag_of(event.match_bits),
            bytes: event.rlength,
        };
        match matching::protocol_of(event.match_bits) {
            Protocol::Eager => Step::Ended(self.end_operation(id)),
            // Bytes that were lost are not acknowledged.
            Protocol::Long if event.fail == NiFail::Ok => Step::Ended(self.end_operation(id)),
            Protocol::Long | Protocol::Announced => {
                self.fetch(local, id, event.initiator, Exposed::unpack(event.hdr_data));
                Step::Event
            }
        }
    }

    fn of_block(&mut self, local: &mut Local, block: u32, event: &Event) -> Step {
        match event.kind {
            EventKind::PutStart => {
                self.unexpected.started(Some(block), event);
                self.overtaken.message_came();
                let at = local.cpu.now();
                local.observe(|observer| observer.kept(event.message, at));
                self.watch_room(local, block, event.offset + event.rlength);
            }
            EventKind::PutEnd => {
                let damaged = event.fail != NiFail::Ok;
                if let Some((message, id)) = self.unexpected.ended(event.link, damaged) {
                    return Step::Ended(self.take_from_block(local, id, message));
                }
            }
            EventKind::Unlink if self.unexpected.unlinked(block) => {
                self.attach_again(local, block);
            }
            EventKind::Unlink => {}
            kind => unreachable!("no {kind:?} event was asked for"),
        }
        Step::Event
    }

    /// A block is filled up to `end`. Beside the one that fills there must be another, or messages
    /// could arrive between the last that fits and this library's hearing of it.
    fn watch_room(&mut self, local: &mut Local, block: u32, end: u64) {
        if end + self.params.eager_limit <= self.params.unexpected_block_size {
            return;
        }
        self.unexpected.blocks[block as usize].full = true;
        if self.unexpected.blocks.iter().filter(|block| !block.full).count() > 1 {
            return;
        }
        let another = self.add_block(local);
        self.attach_block(local, another);
        // While the program was busy elsewhere and the last block was full, messages may have gone
        // astray.
        let lost = self.ni.ni_status(StatusRegister::DropCount);
        if lost > 0 {
            let (rank, blocks) = (local.world.rank, self.params.unexpected_blocks);
            let size = self.params.unexpected_block_size;
            local.cpu.fault(format!(
                "rank {rank}: {lost} messages were lost because unexpected messages had filled \
                 all {blocks} blocks of {size} bytes (mpi.unexpected_blocks, \
                 mpi.unexpected_block_size)"
            ));
        }
    }
}

/// The network lost or damaged bytes, or never had them.
pub(super) fn damaged() -> Error {
    let text = "the network lost or damaged the message, its sender could not read it, or its \
                buffer may not be written (Portals reports a failed transfer)";
    Error::new(constant::ERR_OTHER, text)
}

/// Bytes have not left.
fn unsent() -> Error {
    let text =
        "Portals reports a failed transfer (PTL_NI_FAIL); their memory is gone, or is in more \
                pieces than the kernel has DMA commands for (linux.list_commands)";
    Error::new(constant::ERR_OTHER, text)
}
