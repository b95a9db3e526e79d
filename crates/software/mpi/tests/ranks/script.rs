//! Requests over a scripted transport: a double that answers as a script tells it to.

use crate::world::{self, Rank};
use abi::mpi::{self as c, Function};
use des::Duration;
use mpi::{
    Address, Begun, Bytes, Ending, Error, Found, Local, Mode, Mpi, Outcome, Process, RequestId,
    Result, Step, Taken, Transport, Wanted,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Expected call of the transport, and the answer.
#[derive(Debug)]
enum Line {
    /// A send: whether it is over at once.
    Send(Result<bool>),
    /// A receive: how far it comes.
    Receive(fn(RequestId) -> Begun),
    /// A receive that is taken back.
    Cancel(bool),
    /// A look for news, about the latest operation, or a wait.
    News(fn(RequestId) -> Step),
}

/// The lines that are left, and the latest operation.
#[derive(Default)]
struct Script {
    lines: RefCell<VecDeque<Line>>,
    latest: RefCell<Option<RequestId>>,
    asked: RefCell<Vec<(Address, Bytes, Mode)>>,
}

impl Script {
    fn next(&self) -> Line {
        self.lines.borrow_mut().pop_front().expect("the script goes on")
    }
    fn news(&self) -> Step {
        match self.next() {
            Line::News(step) => step(self.latest.borrow().unwrap()),
            line => panic!("{line:?} was not to be asked"),
        }
    }
}

struct Double(Rc<Script>);

impl Transport for Double {
    fn tag_max(&self) -> i32 {
        32_767
    }
    fn node_of(&self, rank: u32) -> u32 {
        100 + rank
    }
    fn send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool> {
        local.charge(Duration::from_ns(1000));
        self.0.asked.borrow_mut().push((to, bytes, mode));
        *self.0.latest.borrow_mut() = Some(id);
        match self.0.next() {
            Line::Send(answer) => answer,
            line => panic!("a send instead of {line:?}"),
        }
    }
    fn receive(&mut self, _: &mut Local, id: RequestId, _: Wanted, _: Bytes) -> Begun {
        *self.0.latest.borrow_mut() = Some(id);
        match self.0.next() {
            Line::Receive(answer) => answer(id),
            line => panic!("a receive instead of {line:?}"),
        }
    }
    fn receive_taken(&mut self, _: &mut Local, _: RequestId, _: Taken, _: Bytes) -> Begun {
        unreachable!("nothing is taken")
    }
    fn cancel(&mut self, _: &mut Local, _: RequestId) -> bool {
        match self.0.next() {
            Line::Cancel(answer) => answer,
            line => panic!("a cancel instead of {line:?}"),
        }
    }
    fn find(&mut self, _: &mut Local, _: Wanted) -> Option<Found> {
        None
    }
    fn has(&mut self, _: &mut Local, _: Wanted) -> bool {
        false
    }
    fn take(&mut self, _: &mut Local, _: Wanted) -> Taken {
        unreachable!("nothing is found")
    }
    fn poll(&mut self, _: &mut Local) -> Step {
        self.0.news()
    }
    fn wait(&mut self, _: &mut Local) -> Step {
        self.0.news()
    }
    fn is_quiet(&self) -> bool {
        true
    }
}

const COMM: u64 = c::COMM_WORLD;
const WORLD: mpi::CommId = Process::WORLD;

/// Runs one rank of two with this script, to its last line.
fn play(lines: Vec<Line>, program: impl Fn(&mut Rank, &Script) + 'static) {
    let script = Rc::new(Script { lines: RefCell::new(lines.into()), ..Script::default() });
    let (own, told) = (script.clone(), script.clone());
    let make = move |cpu, space, params| {
        let world = mpi::World { rank: 0, size: 2, program: 0 };
        Mpi::new(cpu, space, world, params, |_: &mut Local| Box::new(Double(own.clone())))
    };
    let end = world::end_of_one(make, move |rank| program(rank, &told));
    assert_eq!(end, world::End::Finished);
    assert_eq!(script.lines.borrow().len(), 0, "the script was played to its end");
}

fn found(id: RequestId, bytes: u64) -> Ending {
    Ending { id, found: Found { source: 1, tag: 5, bytes }, error: None }
}

fn sent(id: RequestId) -> Ending {
    Ending { id, found: Found::NOTHING, error: None }
}

fn why() -> Error {
    Error::new(c::ERR_OTHER, "the wire is cut")
}

#[test]
fn a_receive_is_asked_for_until_it_stands() {
    let lines = vec![
        Line::Receive(|_| Begun::Again(Step::Event)),
        Line::Receive(|_| Begun::Again(Step::Nothing)),
        Line::Receive(|_| Begun::UnderWay),
        Line::News(|_| Step::Event),
        Line::News(|id| Step::Ended(found(id, 8))),
    ];
    play(lines, |rank, _| {
        let va = rank.alloc(8);
        let status = rank.process().recv(va, 8, c::ANY_SOURCE, c::ANY_TAG, WORLD).unwrap();
        assert_eq!((status.source, status.tag, status.bytes), (1, 5, 8));
    });
}

#[test]
fn a_receive_of_more_than_its_room_is_truncated_whoever_carries_it() {
    let lines = vec![Line::Receive(|id| Begun::Ended(found(id, 9)))];
    play(lines, |rank, _| {
        let va = rank.alloc(8);
        let error = rank.process().recv(va, 8, 1, 5, WORLD).unwrap_err();
        assert_eq!(error.class, c::ERR_TRUNCATE);
        assert!(error.text.contains("9 bytes from rank 1 with tag 5"), "{error}");
    });
}

#[test]
fn a_receive_that_cannot_be_taken_back_ends_as_any_other() {
    let lines = vec![
        Line::Receive(|_| Begun::UnderWay),
        Line::Cancel(false),
        Line::News(|id| Step::Ended(found(id, 4))),
        Line::Receive(|_| Begun::UnderWay),
        Line::Cancel(true),
    ];
    play(lines, |rank, _| {
        let va = rank.alloc(8);
        for cancelled in [false, true] {
            let request = rank.process().irecv(va, 8, 1, 5, WORLD).unwrap();
            assert_eq!(rank.process().cancel(request), cancelled);
            assert_eq!(rank.process().wait(request).unwrap().cancelled, cancelled);
        }
    });
}

#[test]
fn a_send_that_cannot_start_leaves_no_request() {
    let lines = vec![Line::Send(Err(why())), Line::Send(Ok(true))];
    play(lines, |rank, script| {
        let va = rank.alloc(8);
        assert_eq!(rank.process().send(va, 8, 1, 5, WORLD), Err(why()));
        // Its number is free again.
        let first = script.latest.borrow().unwrap().index();
        rank.process().send(va, 8, 1, 5, WORLD).unwrap();
        assert_eq!(script.latest.borrow().unwrap().index(), first);
        let (address, bytes, mode) = script.asked.borrow()[1];
        assert_eq!((address.source, address.target, address.tag), (0, 1, 5));
        assert_eq!((bytes, mode), (Bytes { va, length: 8 }, Mode::Standard));
    });
}

/// The error is reported once, when the send is over; if errors are not handled, the run ends at once.
#[test]
fn a_send_that_fails_is_an_error_of_its_own_process() {
    let lines = || {
        vec![
            Line::Send(Ok(false)),
            Line::News(|id| Step::Failed(id, why())),
            Line::News(|id| Step::Ended(sent(id))),
        ]
    };
    play(lines(), |rank, _| {
        rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
        let va = rank.alloc(8);
        let given = rank.call(Function::Ssend, &[va, 8, c::BYTE, 1, 5, COMM]);
        assert_eq!(given, Outcome::Ok(c::ERR_OTHER));
    });
    let script = Rc::new(Script { lines: RefCell::new(lines().into()), ..Script::default() });
    let own = script.clone();
    let make = move |cpu, space, params| {
        let world = mpi::World { rank: 0, size: 2, program: 0 };
        Mpi::new(cpu, space, world, params, |_: &mut Local| Box::new(Double(own.clone())))
    };
    let end = world::end_of_one(make, |rank| {
        let va = rank.alloc(8);
        rank.call(Function::Ssend, &[va, 8, c::BYTE, 1, 5, COMM]);
    });
    let fault =
        "rank 0: MPI_Ssend: 8 bytes for rank 1 of MPI_COMM_WORLD were not sent: the wire is cut";
    assert_eq!(end, world::End::Fault(fault.into()));
    assert_eq!(script.lines.borrow().len(), 1, "nobody waits any more");
}

#[test]
fn the_transport_says_which_tags_and_nodes_there_are() {
    play(Vec::new(), |rank, _| {
        rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
        let va = rank.alloc(8);
        let given = rank.call(Function::Send, &[va, 0, c::BYTE, 1, 32_768, COMM]);
        assert_eq!(given, Outcome::Ok(c::ERR_TAG));
        let (name, length) = (rank.alloc(256), rank.alloc(4));
        rank.ok(Function::GetProcessorName, &[name, length]);
        assert_eq!(rank.get(name, 8), b"nid00100");
    });
}
