//! A transport with an observer of all its calls.

use super::{
    Address, Begun, Bytes, Ending, Entries, Found, GroupStep, Mode, Step, Taken, Transport, Wanted,
};
use crate::datatype::items::{Items, Kinds};
use crate::error::Result;
use crate::local::Local;
use crate::observe::Witness;
use crate::request::RequestId;
use std::collections::HashMap;
use std::rc::Rc;

/// Another transport, and the observer of its calls and answers.
pub(crate) struct Watched {
    transport: Box<dyn Transport>,
    witness: Rc<dyn Witness>,
    /// A receive that is not posted yet.
    beginning: Option<RequestId>,
    /// The program's items that receives under way fill, and the calls that began them.
    filled: HashMap<RequestId, (Items, &'static str)>,
    /// Message that the last probe found.
    found: Option<Found>,
    /// Messages that were taken and not received: the transport's name, which it may use again, and one that
    /// no other message has.
    taken: Vec<(u64, u64)>,
    /// The next such name.
    name: u64,
}

impl Watched {
    pub fn new(transport: Box<dyn Transport>, witness: Rc<dyn Witness>) -> Watched {
        Watched {
            transport,
            witness,
            beginning: None,
            filled: HashMap::new(),
            found: None,
            taken: Vec::new(),
            name: 0,
        }
    }

    fn begun(&mut self, id: RequestId, begun: Begun) -> Begun {
        self.beginning = matches!(begun, Begun::Again(_)).then_some(id);
        match &begun {
            Begun::Ended(ending) => self.ended(ending),
            Begun::Again(step) => self.stepped(step),
            Begun::UnderWay => {}
        }
        begun
    }

    fn stepped(&mut self, step: &Step) {
        if let Step::Ended(ending) = step {
            self.ended(ending);
        }
    }

    fn ended(&mut self, ending: &Ending) {
        let kinds = self.filled.remove(&ending.id).and_then(|(items, call)| {
            // A longer message is an error above.
            Some(ending.found.bytes).filter(|bytes| *bytes <= items.room()).map(|bytes| {
                let cut = || Kinds { text: items.text(), call, ..Kinds::CUT };
                items.kinds(bytes, call).unwrap_or_else(cut)
            })
        });
        self.witness.ended(ending, kinds);
    }

    /// A receive begins: what it fills.
    fn fills(&mut self, local: &mut Local, id: RequestId) {
        if let Some(items) = local.declared.receives.take() {
            self.filled.insert(id, (items, local.function));
        }
    }
}

impl Transport for Watched {
    fn tag_max(&self) -> i32 {
        self.transport.tag_max()
    }

    fn node_of(&self, rank: u32) -> u32 {
        self.transport.node_of(rank)
    }

    fn node_name(&self, rank: u32) -> String {
        self.transport.node_name(rank)
    }

    fn send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool> {
        let items = local.declared.sends.take();
        let kinds = items.and_then(|items| items.kinds(bytes.length, local.function));
        self.witness.sends(id, to, bytes, mode, kinds);
        let begun = self.transport.send(local, id, to, bytes, mode);
        match begun {
            Ok(true) => self.witness.sent(id),
            Ok(false) => {}
            Err(_) => self.witness.unsent(id),
        }
        begun
    }

    fn receive(&mut self, local: &mut Local, id: RequestId, wanted: Wanted, room: Bytes) -> Begun {
        if self.beginning != Some(id) {
            self.fills(local, id);
            self.witness.receives(id, wanted, room);
        }
        let begun = self.transport.receive(local, id, wanted, room);
        self.begun(id, begun)
    }

    fn receive_taken(
        &mut self,
        local: &mut Local,
        id: RequestId,
        message: Taken,
        room: Bytes,
    ) -> Begun {
        if self.beginning != Some(id) {
            let known = self.taken.iter().position(|(name, _)| *name == message.0);
            // One that is not there is the witness's to judge: no message has this name.
            let name = known.map_or(u64::MAX, |at| self.taken.swap_remove(at).1);
            self.fills(local, id);
            self.witness.receives_taken(id, Taken(name), room);
        }
        let begun = self.transport.receive_taken(local, id, message, room);
        self.begun(id, begun)
    }

    fn cancel(&mut self, local: &mut Local, id: RequestId) -> bool {
        let cancelled = self.transport.cancel(local, id);
        if cancelled {
            self.filled.remove(&id);
        }
        self.witness.cancels(id, cancelled);
        cancelled
    }

    fn find(&mut self, local: &mut Local, wanted: Wanted) -> Option<Found> {
        self.found = self.transport.find(local, wanted);
        self.witness.probed(wanted, self.found);
        self.found
    }

    fn has(&mut self, local: &mut Local, wanted: Wanted) -> bool {
        let has = self.transport.has(local, wanted);
        self.witness.promises(wanted, has);
        has
    }

    fn take(&mut self, local: &mut Local, wanted: Wanted) -> Taken {
        let taken = self.transport.take(local, wanted);
        let found = self.found.expect("only a message that was found is taken");
        self.witness.takes(wanted, Taken(self.name), found);
        self.taken.push((taken.0, self.name));
        self.name += 1;
        taken
    }

    fn poll(&mut self, local: &mut Local) -> Step {
        let step = self.transport.poll(local);
        self.stepped(&step);
        step
    }

    fn wait(&mut self, local: &mut Local) -> Step {
        let step = self.transport.wait(local);
        self.stepped(&step);
        step
    }

    fn is_quiet(&self) -> bool {
        self.transport.is_quiet()
    }

    fn open_group(
        &mut self,
        local: &mut Local,
        group: u16,
        steps: &[GroupStep],
        reduces: bool,
    ) -> bool {
        self.transport.open_group(local, group, steps, reduces)
    }

    fn close_group(&mut self, local: &mut Local, group: u16) {
        self.transport.close_group(local, group);
    }

    fn reduces(&self, entries: &Entries) -> bool {
        self.transport.reduces(entries)
    }

    fn collect(&mut self, local: &mut Local, id: RequestId, group: u16, entries: Option<Entries>) {
        self.transport.collect(local, id, group, entries);
    }
}
