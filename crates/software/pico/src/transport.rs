//! Messages as the library's transport.

use crate::messages::{Messages, Network};
use mpi::{Address, Begun, Bytes, Found, Local, Mode, RequestId, Step, Taken, Transport, Wanted};
use std::cell::RefCell;
use std::rc::Rc;

/// The messages of a rank, which its library and its end share.
pub struct Carried<N>(pub Rc<RefCell<Messages<N>>>);

impl<N: Network> Transport for Carried<N> {
    fn tag_max(&self) -> i32 {
        i32::MAX
    }

    fn node_of(&self, rank: u32) -> u32 {
        rank
    }

    fn node_name(&self, rank: u32) -> String {
        format!("node{rank}")
    }

    fn send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> mpi::Result<bool> {
        local.check_buffer(bytes.va, bytes.length)?;
        self.0.borrow_mut().send(id, to, bytes, mode)
    }

    fn receive(&mut self, _: &mut Local, id: RequestId, wanted: Wanted, room: Bytes) -> Begun {
        self.0.borrow_mut().receive(id, wanted, room)
    }

    fn receive_taken(&mut self, _: &mut Local, id: RequestId, name: Taken, room: Bytes) -> Begun {
        self.0.borrow_mut().receive_taken(id, name, room)
    }

    fn cancel(&mut self, _: &mut Local, id: RequestId) -> bool {
        self.0.borrow_mut().cancel(id)
    }

    fn find(&mut self, _: &mut Local, wanted: Wanted) -> Option<Found> {
        self.0.borrow().find(&wanted)
    }

    fn has(&mut self, _: &mut Local, wanted: Wanted) -> bool {
        self.0.borrow().find(&wanted).is_some()
    }

    fn take(&mut self, _: &mut Local, wanted: Wanted) -> Taken {
        self.0.borrow_mut().take(&wanted)
    }

    fn poll(&mut self, _: &mut Local) -> Step {
        self.0.borrow_mut().poll()
    }

    fn wait(&mut self, _: &mut Local) -> Step {
        self.0.borrow_mut().wait()
    }

    /// Bytes are copied into packets, and kept there until they are confirmed.
    fn is_quiet(&self) -> bool {
        true
    }
}
