//! Messages that arrived before their receive: blocks of library memory that catch them, and the
//! list of the messages in the blocks.
//!
//! A block's offset is managed at the target, so messages lie in it one behind the other. When less
//! than the eager limit is left, Portals unlinks it; once the last message in it was consumed it is
//! attached again, behind the others. The list is kept in the order of the START events, which is
//! the order of matching; a message may be claimed by a receive before its bytes are complete.
//! While the process is in the library, it adds blocks rather than let the last one fill up.

use super::matching::{self, Exposed, Pattern, Protocol};
use crate::request::RequestId;
use crate::transport::Found;
use abi::MessageId;
use portals::{Event, ProcessId};
use std::collections::VecDeque;

/// A message in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnexpectedMessage {
    pub bits: u64,
    pub length: u64,
    pub hdr_data: u64,
    pub initiator: ProcessId,
    /// Block that holds its bytes; a message that is fetched has none.
    pub block: Option<u32>,
    /// Offset in the block.
    pub offset: u64,
    /// All bytes are there, or lost.
    pub complete: bool,
    /// The network lost or changed bytes.
    pub damaged: bool,
    /// Its name for those who observe it.
    pub id: MessageId,
    /// Number of its START event, which its END event refers to.
    start: u64,
}

impl UnexpectedMessage {
    /// Protocol by which its bytes travel.
    pub fn protocol(&self) -> Protocol {
        matching::protocol_of(self.bits)
    }
    /// The message as MPI sees it.
    pub fn found(&self) -> Found {
        let bytes = match self.protocol() {
            Protocol::Eager => self.length,
            Protocol::Announced | Protocol::Long => Exposed::unpack(self.hdr_data).length,
        };
        let (source, tag) = (matching::source_of(self.bits), matching::tag_of(self.bits));
        Found { source, tag, bytes }
    }
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Address in the process.
    pub va: u64,
    /// Messages in it that were not consumed.
    pub messages: u32,
    /// It takes no more messages.
    pub full: bool,
    /// Portals has unlinked it because it was full.
    pub unlinked: bool,
}

/// Blocks and list.
#[derive(Default)]
pub(super) struct Unexpected {
    pub blocks: Vec<Block>,
    /// Blocks that Portals has.
    pub attached: u32,
    /// Empty blocks that it does not have.
    spare: Vec<u32>,
    list: VecDeque<UnexpectedMessage>,
    /// Number behind that of the newest message that came into it.
    pub next: u64,
    /// Messages that have been taken out of it.
    pub taken: u64,
    /// Messages claimed by a receive before they were complete.
    claimed: Vec<(UnexpectedMessage, RequestId)>,
    /// Messages that a probe took out for a later receive.
    held: Vec<UnexpectedMessage>,
}

impl Unexpected {
    /// A message has been matched by a block, or by the empty entry: `block` is None.
    pub fn started(&mut self, block: Option<u32>, event: &Event) {
        if let Some(block) = block {
            self.blocks[block as usize].messages += 1;
        }
        self.next = event.sequence + 1;
        self.list.push_back(UnexpectedMessage {
            bits: event.match_bits,
            length: event.rlength,
            hdr_data: event.hdr_data,
            initiator: event.initiator,
            block,
            offset: event.offset,
            // The empty entry keeps no bytes: its END tells nothing more.
            complete: block.is_none(),
            damaged: false,
            id: event.message,
            start: event.sequence,
        });
    }

    /// The bytes of the message that `start` began are there, or `damaged`. Gives it back if a
    /// receive has claimed it.
    pub fn ended(&mut self, start: u64, damaged: bool) -> Option<(UnexpectedMessage, RequestId)> {
        if let Some(index) = self.claimed.iter().position(|(m, _)| m.start == start) {
            let (message, request) = self.claimed.swap_remove(index);
            return Some((UnexpectedMessage { damaged, ..message }, request));
        }
        // Recent messages are at the back.
        let mut waiting = self.list.iter_mut().rev().chain(&mut self.held);
        let message = waiting.find(|m| m.start == start);
        let message = message.expect("an END event follows its START event");
        (message.complete, message.damaged) = (true, damaged);
        None
    }

    /// Index of the first message with this number or a later one.
    pub fn since(&self, number: u64) -> usize {
        self.list.partition_point(|message| message.start < number)
    }

    /// Index of the first message from `from` on that `pattern` accepts.
    pub fn find(&self, pattern: Pattern, from: usize) -> Option<usize> {
        self.list.range(from..).position(|m| pattern.accepts(m.bits)).map(|at| at + from)
    }

    /// The message at `index` of the list.
    pub fn peek(&self, index: usize) -> &UnexpectedMessage {
        &self.list[index]
    }

    /// Takes the message at `index` out of the list.
    pub fn take(&mut self, index: usize) -> UnexpectedMessage {
        self.taken += 1;
        self.list.remove(index).expect("the index was just found")
    }

    /// Takes the message at `index` out of the list for a receive that comes later; its name.
    pub fn hold(&mut self, index: usize) -> u64 {
        let message = self.take(index);
        self.held.push(message);
        message.start
    }

    /// The message of that name, as it is now.
    pub fn held(&mut self, start: u64) -> UnexpectedMessage {
        let index = self.held.iter().position(|held| held.start == start);
        self.held.swap_remove(index.expect("a taken message is received once"))
    }

    /// `request` waits for the bytes of `message`.
    pub fn claim(&mut self, message: UnexpectedMessage, request: RequestId) {
        self.claimed.push((message, request));
    }

    /// A message of `block` was consumed. True if the block must be attached again.
    pub fn consumed(&mut self, block: u32) -> bool {
        self.blocks[block as usize].messages -= 1;
        self.recyclable(block)
    }

    /// Portals has unlinked `block`. True if it must be attached again at once.
    pub fn unlinked(&mut self, block: u32) -> bool {
        self.blocks[block as usize].unlinked = true;
        self.attached -= 1;
        self.recyclable(block)
    }

    fn recyclable(&mut self, block: u32) -> bool {
        let block = &mut self.blocks[block as usize];
        let empty = block.unlinked && block.messages == 0;
        if empty {
            block.unlinked = false;
            block.full = false;
        }
        empty
    }

    /// An empty block is not attached again for now.
    pub fn lay_by(&mut self, block: u32) {
        self.blocks[block as usize].full = true;
        self.spare.push(block);
    }

    /// A block that was laid by.
    pub fn laid_by(&mut self) -> Option<u32> {
        let block = self.spare.pop()?;
        self.blocks[block as usize].full = false;
        Some(block)
    }

    /// Messages that no receive has taken.
    pub fn len(&self) -> usize {
        self.list.len()
    }
}
