//! Messages over Portals.
//!
//! ```text
//! portal MESSAGES:  [posted receives ...] [empty entry] [block] [block] [block]
//! portal EXPOSED:   [buffers of long or synchronous sends, each fetched at most once by its receiver]
//! ```
//! A message up to the eager limit is one put.
//!
//! A longer one is one put, too, which requests an acknowledgement. A posted receive takes it without this
//! library, and the acknowledgement completes the send. With no receive posted, the empty entry takes it:
//! it cuts the message to nothing and acknowledges nothing. Its header data say how long it is and which
//! exposed buffer holds it; the receiver gets it from there, and the end of that get completes the send.
//!
//! A synchronous one up to the eager limit is only announced, by an empty put with such header data, and is
//! always fetched.
//!
//! A receive is posted only if no event waits in the queue of unexpected messages, which Portals tests and
//! does in one step; else the events are taken, the list is searched, and the receive is posted again. So no
//! message can slip through between search and post.
//!
//! | module | what |
//! |---|---|
//! | `send`, `receive` | operations begun |
//! | `events` | Portals events of them |
//! | `operations` | operations under way, and the owner of an event |
//! | `overtaken` | receives in no list of Portals: a message came before, or there is no room |
//! | `room`, `waiting` | room on the network interface, and what waits for it |
//! | `unexpected` | blocks, and the list of messages that came before their receive |
//! | `matching` | match bits and header data |
//! | `credits` | flow control, if it is asked for |
//! | `collective` | operations that the network interface performs |

use super::{
    Address, Begun, Bytes, Entries, Found, GroupStep, Mode, Step, Taken, Transport, Wanted,
};
use crate::error::Result;
use crate::local::Local;
use crate::params::PortalsParams;
use crate::request::RequestId;
use collective::Collecting;
use credits::Credits;
use des::Duration;
use matching::Pattern;
use operations::{Operations, Owner, Waiting};
use overtaken::{Overtaken, Queues};
use portals::{
    option, Criteria, EqHandle, Error as PortalsError, Md, MdHandle, MeHandle, Ni, Position,
    ProcessId, Unlink,
};
use room::{Room, MOST_ADDED_BLOCKS};
use std::collections::VecDeque;
use std::sync::Arc;
use unexpected::{Block, Unexpected};

mod collective;
mod credits;
mod events;
pub(crate) mod matching;
mod operations;
mod overtaken;
mod receive;
mod room;
mod send;
mod unexpected;
mod waiting;

/// Portal of all messages.
const MESSAGES: u32 = 4;
/// Portal of exposed buffers.
const EXPOSED: u32 = 5;
/// Access control entry that admits the processes of the job.
const ACCESS: u32 = 0;
/// The same of a long send: the END of its put, an acknowledgement or the END of a get, UNLINK.
const EVENTS_PER_LONG_SEND: u32 = 3;

/// An event queue for expected messages and sends.
struct Queue {
    eq: EqHandle,
    /// Events that operations under way may still post.
    reserved: u32,
}

/// One process's Portals interface, and how MPI uses it.
pub struct Portals {
    ni: Ni,
    /// The Portals process of each rank.
    map: Arc<[ProcessId]>,
    params: PortalsParams,
    /// The queue of the blocks and the empty entry.
    unexpected_queue: EqHandle,
    queues: Vec<Queue>,
    /// All queues, that of the unexpected first.
    poll_set: Vec<EqHandle>,
    /// Entry of no bytes that catches gets of exposed buffers; receives are posted before it.
    catcher: MeHandle,
    /// Descriptor of no bytes and no events.
    empty: MdHandle,
    /// Library buffers for copied sends: address and descriptor.
    copies: Vec<(u64, MdHandle)>,
    free_copies: Vec<u32>,
    unexpected: Unexpected,
    operations: Operations,
    overtaken: Overtaken,
    room: Room,
    /// Operations that have none.
    waiting: Waiting,
    /// Flow control, if it is asked for.
    credits: Option<Credits>,
    /// Collective operations on the network interface that are not over, in the order of their beginning.
    collecting: Vec<Collecting>,
    /// Groups of those that are over, of which nobody has been told.
    collected: VecDeque<u16>,
}

impl Portals {
    /// Transport over the process's own interface `ni`; each rank of the world is one of the processes in
    /// `map`. From then on messages are accepted.
    pub fn open(
        local: &mut Local,
        ni: Ni,
        map: Arc<[ProcessId]>,
        params: PortalsParams,
    ) -> Portals {
        let world = &local.world;
        assert!(world.size <= matching::MAX_RANKS, "ranks fit in match bits");
        assert_eq!(map.len(), world.size as usize, "every rank has a place");
        assert!(params.unexpected_block_size > params.eager_limit, "a block holds a message");
        let faulty = |what, error| -> ! { local.cpu.fault(format!("{what}: {error}")) };
        let made = match params.unexpected_events {
            0 => ni.eq_alloc_growing(params.unexpected_queue, params.unexpected_growth),
            most => ni.eq_alloc(most),
        };
        let unexpected_queue = match made {
            Ok(eq) => eq,
            Err(error) => faulty("PtlEQAlloc", error),
        };
        // Every wait takes events from it, so whoever is refused is called.
        ni.eq_refuses(unexpected_queue);
        let empty = match ni.md_bind(Md::new(0, 0, 0), Unlink::Retain) {
            Ok(md) => md,
            Err(error) => faulty("PtlMDBind", error),
        };
        let fetched = Criteria {
            match_id: ProcessId::ANY,
            match_bits: matching::FETCHED,
            ignore_bits: matching::IGNORE_ALL_BUT_FETCHED,
        };
        let catcher = match ni.me_attach(MESSAGES, fetched, Unlink::Retain, Position::After) {
            Ok(entry) => entry,
            Err(error) => faulty("PtlMEAttach", error),
        };
        let mut portals = Portals {
            poll_set: vec![unexpected_queue],
            queues: Vec::new(),
            copies: Vec::new(),
            free_copies: Vec::new(),
            unexpected: Unexpected::default(),
            operations: Operations::default(),
            overtaken: Overtaken::default(),
            room: Room::new(ni.limits(), &params),
            waiting: Waiting::default(),
            credits: None,
            collecting: Vec::new(),
            collected: VecDeque::new(),
            ni,
            map,
            params,
            unexpected_queue,
            catcher,
            empty,
        };
        portals.set_up(local);
        portals
    }

    fn set_up(&mut self, local: &mut Local) {
        let caught = Md {
            user_ptr: Owner::Catcher.pack(),
            eq: Some(self.unexpected_queue),
            ..Md::new(0, 0, option::OP_PUT | option::TRUNCATE | option::ACK_DISABLE)
        };
        let attached = self.ni.md_attach(self.catcher, caught, Unlink::Retain);
        must(local, attached, "PtlMDAttach");
        let eq = must(local, self.ni.eq_alloc(self.params.events), "PtlEQAlloc");
        self.add_queue(eq);
        if self.params.send_credits > 0 {
            self.open_credits(local);
        }
        for _ in 0..self.params.unexpected_blocks {
            let block = self.add_block(local);
            self.attach_block(local, block);
        }
        let (buffers, bytes) = (self.params.copy_buffers, self.params.copy_limit);
        for index in 0..buffers {
            let va = local.allocate(bytes);
            let md = Md {
                user_ptr: Owner::Copy(index).pack(),
                eq: Some(eq),
                ..Md::new(va, bytes, option::EVENT_START_DISABLE)
            };
            let md = must(local, self.ni.md_bind(md, Unlink::Retain), "PtlMDBind");
            self.copies.push((va, md));
            self.queues[0].reserved += 1;
        }
        // The first buffer is used first.
        self.free_copies = (0..buffers).rev().collect();
    }

    fn add_queue(&mut self, eq: EqHandle) {
        self.queues.push(Queue { eq, reserved: 0 });
        self.poll_set.push(eq);
    }

    /// A block for unexpected messages beside those that there are.
    fn add_block(&mut self, local: &Local) -> u32 {
        if let Some(block) = self.unexpected.laid_by() {
            return block;
        }
        let va = local.allocate(self.params.unexpected_block_size);
        self.unexpected.blocks.push(Block { va, messages: 0, full: false, unlinked: false });
        self.unexpected.blocks.len() as u32 - 1
    }

    /// Attaches an empty block again. Where Portals has few entries it has enough blocks without this one.
    fn attach_again(&mut self, local: &mut Local, index: u32) {
        let most = self.params.unexpected_blocks + MOST_ADDED_BLOCKS;
        if self.ni.is_on_nic() && self.unexpected.attached >= most {
            return self.unexpected.lay_by(index);
        }
        self.attach_block(local, index);
    }

    /// Puts a block for unexpected messages behind all others.
    fn attach_block(&mut self, local: &mut Local, index: u32) {
        let everything = Criteria {
            match_id: ProcessId::ANY,
            match_bits: matching::EAGER,
            ignore_bits: matching::IGNORE_ALL_BUT_PROTOCOL,
        };
        let md = Md {
            max_size: self.params.eager_limit,
            user_ptr: Owner::Block(index).pack(),
            eq: Some(self.unexpected_queue),
            ..Md::new(
                self.unexpected.blocks[index as usize].va,
                self.params.unexpected_block_size,
                option::OP_PUT | option::MAX_SIZE | option::ACK_DISABLE,
            )
        };
        local.settle();
        let entry = self.ni.me_attach(MESSAGES, everything, Unlink::Unlink, Position::After);
        let entry = must(local, entry, "PtlMEAttach");
        must(local, self.ni.md_attach(entry, md, Unlink::Unlink), "PtlMDAttach");
        self.unexpected.attached += 1;
    }
}

/// Result of a Portals call.
type Answer<T> = std::result::Result<T, PortalsError>;

/// The value of a Portals call that this library has no way to do without; else the rank's fault.
fn must<T>(local: &Local, answer: Answer<T>, call: &'static str) -> T {
    match answer {
        Ok(value) => value,
        Err(error) => {
            let (rank, function) = (local.world.rank, local.function);
            local.cpu.fault(format!("rank {rank}: {function}: {call} failed: {error}"))
        }
    }
}

impl Transport for Portals {
    fn tag_max(&self) -> i32 {
        matching::TAG_UPPER_BOUND
    }

    fn node_of(&self, rank: u32) -> u32 {
        self.map[rank as usize].nid
    }

    fn send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool> {
        if !self.take_credit(id, to, bytes, mode) {
            return Ok(false);
        }
        let begun = self.start_or_wait(local, id, to, bytes, mode);
        if begun.is_err() {
            self.untake_credit(to);
        }
        begun
    }

    fn receive(&mut self, local: &mut Local, id: RequestId, wanted: Wanted, room: Bytes) -> Begun {
        self.start_receive(local, id, Pattern::from(wanted), room)
    }

    fn receive_taken(
        &mut self,
        local: &mut Local,
        id: RequestId,
        message: Taken,
        room: Bytes,
    ) -> Begun {
        let message = self.unexpected.held(message.0);
        self.begin_operation(local, id, false, room);
        self.accept(local, id, message)
    }

    fn cancel(&mut self, local: &mut Local, id: RequestId) -> bool {
        self.unpost(local, id)
    }

    fn find(&mut self, local: &mut Local, wanted: Wanted) -> Option<Found> {
        if self.overtaken.choose() {
            // Receives that were posted before choose first.
            return None;
        }
        let found = self.search(local, Pattern::from(wanted), 0)?;
        Some(self.unexpected.peek(found).found())
    }

    fn has(&mut self, _: &mut Local, wanted: Wanted) -> bool {
        !self.overtaken.choose() && self.unexpected.find(Pattern::from(wanted), 0).is_some()
    }

    fn take(&mut self, _: &mut Local, wanted: Wanted) -> Taken {
        let found = self.unexpected.find(Pattern::from(wanted), 0);
        Taken(self.unexpected.hold(found.expect("a message that was found stays")))
    }

    fn poll(&mut self, local: &mut Local) -> Step {
        self.look(local, Queues::All, Some(Duration::ZERO))
    }

    fn wait(&mut self, local: &mut Local) -> Step {
        self.look(local, Queues::All, None)
    }

    fn is_quiet(&self) -> bool {
        let waits = self.credits.as_ref().is_some_and(|credits| !credits.is_quiet());
        self.free_copies.len() == self.copies.len() && !waits && self.waiting.is_quiet()
    }

    fn open_group(
        &mut self,
        local: &mut Local,
        group: u16,
        steps: &[GroupStep],
        reduces: bool,
    ) -> bool {
        local.settle();
        self.open_steps(group, steps, reduces)
    }

    fn close_group(&mut self, local: &mut Local, group: u16) {
        local.settle();
        self.close_steps(group);
    }

    fn reduces(&self, entries: &Entries) -> bool {
        self.knows(entries)
    }

    fn collect(&mut self, local: &mut Local, id: RequestId, group: u16, entries: Option<Entries>) {
        self.start_collecting(local, id, group, entries);
    }
}
