//! The judge beside a node: it translates the events of library and kernel, and the DMA engines' accesses to
//! processes' memory, for the specification.

mod words;

use des::Time;
use host::{SharedMemory, SpaceId};
use portals::Told;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The judge of one node. All its causes come from the node's own thread.
pub struct Adapter {
    judge: RefCell<spec::Judge>,
    memory: SharedMemory,
    spaces: Spaces,
    now: Cell<Time>,
}

/// Address spaces of processes; the specification names them by their index here.
type Spaces = Rc<RefCell<Vec<SpaceId>>>;

/// Number of a space that belongs to no process with an interface.
const FOREIGN: u32 = u32::MAX;

struct View {
    memory: SharedMemory,
    spaces: Spaces,
}

impl View {
    fn space(&self, space: u32) -> Option<SpaceId> {
        self.spaces.borrow().get(space as usize).copied()
    }
}

impl spec::Memory for View {
    fn read(&self, space: u32, va: u64, buf: &mut [u8]) -> bool {
        let space = self.space(space);
        space.is_some_and(|space| self.memory.borrow_mut().peek(space, va, buf).is_ok())
    }

    fn refused(&self, space: u32, va: u64, length: u64) -> bool {
        let space = self.space(space);
        space.is_some_and(|space| self.memory.borrow_mut().take_refused(space, va, length))
    }
}

impl Adapter {
    /// The judge of node `nid`. `watched`: the DMA engines report their accesses. `scattered`: memory may be
    /// in more pieces than a command of the network interface can describe.
    pub fn new(
        nid: u32,
        ledger: Arc<spec::Ledger>,
        memory: SharedMemory,
        watched: bool,
        scattered: bool,
    ) -> Adapter {
        let spaces = Spaces::default();
        let view = Box::new(View { memory: memory.clone(), spaces: spaces.clone() });
        let judge = spec::Judge::new(nid, ledger, view, watched, scattered);
        Adapter { judge: RefCell::new(judge), memory, spaces, now: Cell::default() }
    }

    /// The first disagreement.
    pub fn verdict(&self) -> Option<spec::Disagreement> {
        self.judge.borrow().verdict().cloned()
    }

    /// Numbers of comparisons so far.
    pub fn tally(&self) -> spec::Tally {
        self.judge.borrow().tally()
    }

    /// Sets the time of the events that follow.
    pub fn set_now(&self, now: Time) {
        self.now.set(now);
    }

    /// Reports that a device has read (`data` is what was there, `None` if there was no memory) or, with
    /// `write`, written memory.
    pub fn device(&self, phys: u64, length: usize, data: Option<&[u8]>, write: bool) {
        let at = self.now.get().0;
        let mut done = 0;
        while done < length {
            let from = phys + done as u64;
            let (owner, piece) = {
                let memory = self.memory.borrow();
                (memory.owner_of(from), memory.piece(from, length - done))
            };
            let part = data.map(|data| &data[done..done + piece]);
            done += piece;
            // The kernel's own memory belongs to nobody.
            let Some((space, va)) = owner else { continue };
            let space = self.spaces.borrow().iter().position(|known| *known == space);
            let space = space.map_or(FOREIGN, |space| space as u32);
            let mut judge = self.judge.borrow_mut();
            match (write, part) {
                (true, Some(part)) => judge.dma_write(at, space, va, part),
                _ => judge.dma_read(at, space, va, piece as u64, part),
            }
        }
    }

    fn space(&self, space: SpaceId) -> u32 {
        let mut spaces = self.spaces.borrow_mut();
        let known = spaces.iter().position(|known| *known == space);
        known.unwrap_or_else(|| {
            spaces.push(space);
            spaces.len() - 1
        }) as u32
    }

    /// Reports an event of library or kernel.
    pub fn told(&self, at: Time, told: &Told) {
        self.now.set(at);
        let at = at.0;
        let mut judge = self.judge.borrow_mut();
        match *told {
            Told::Opened { slot, space, identity, limits, on_nic } => {
                let user = [identity.uid, identity.jid];
                judge.opened(
                    slot,
                    self.space(space),
                    words::id(identity.id),
                    user,
                    words::limits_of(limits),
                    on_nic,
                );
            }
            Told::Posted { slot } => judge.stored(at, slot),
            Told::Landed { slot } => judge.landed(at, slot),
            Told::Leaving { slot } => judge.leaves(at, slot),
            Told::Closed { slot } => judge.closed(at, slot),
            Told::Called { slot, call, regions, result } => {
                let value = result.as_ref().map(words::value).map_err(|error| error.name());
                let result = value.as_ref().map_err(|code| *code);
                judge.called(at, slot, &words::call_of(call, regions), result);
            }
            Told::Looked { slot, eq, result } => {
                let got = result.as_ref().map(|next| (words::event(&next.event), next.dropped));
                let got = got.as_ref().map(|(event, lost)| (event, *lost));
                judge.next_event(at, slot, eq.raw(), got.map_err(|error| error.name()));
            }
            Told::Asked { slot, ref asked, result, work } => {
                let grant = result.map(words::grant).map_err(|error| error.name());
                let grant = grant.as_ref().map_err(|code| *code);
                judge.issued(at, slot, &words::issue(asked), grant, work.events);
            }
            Told::Header { slot, header } => judge.sent(at, slot, &words::header_of(header)),
            Told::Commanded { slot, message, inline, failed } => {
                judge.commanded(at, slot.unwrap_or(usize::MAX), message, inline, failed);
            }
            Told::Taken { header, fate } => {
                judge.taken(at, &words::header_of(header), &words::fate_of(fate))
            }
            Told::Delivered { message, fate } => {
                judge.delivered(at, message, &words::fate_of(fate))
            }
            Told::Damaged => judge.damaged(at),
            Told::Performs { slot, message } => judge.performs(at, slot, message),
            Told::Performed { slot, message, found, left } => {
                judge.performed(at, slot, message, found, left);
            }
            Told::Answered { slot, request, reaction, fail } => {
                let failed = fail != portals::NiFail::Ok;
                judge.answered(at, slot, request, &words::answer(reaction), failed);
            }
            Told::Ended { slot, kind, message, fail, work } => {
                let failed = fail != portals::NiFail::Ok;
                judge.ended(at, slot, words::kind_of(kind), message, failed, work.events);
            }
        }
    }
}
