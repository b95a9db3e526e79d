//! A transport without network interface, network or kernel: letters lie in pigeonholes that all ranks share.
//! It implements MPI's transport interface as simply as possible. It can have a bug, too, which the tests
//! must notice.

use abi::mpi as c;
use des::{Duration, Random, Time};
use mpi::{
    Address, Begun, Bytes, Ending, Found, Local, Mode, RequestId, Result, Step, Taken, Transport,
    Wanted,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Greatest tag: less than others have, so that its use is noticed.
pub const TAG_MAX: i32 = 0x4fff_ffff;
/// Longest message that is over for its sender before it is received.
const KEPT: u64 = 1000;
/// Looks without news after which a wait is for ever.
const PATIENCE: u32 = 100_000;

/// Defect of an office.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The second letter on its way arrives before the first.
    Overtakes,
    /// A letter goes to the last receive that wants it.
    LastReceive,
    /// A receive gets the last letter that it wants, of those that have come.
    LastLetter,
    /// A letter that was received arrives again.
    Doubles,
    /// Every third letter is lost.
    Loses,
    /// A bit of a letter turns.
    Spoils,
    /// A receive tells the tag of another letter.
    WrongTag,
    /// A receive tells too few bytes.
    TooShort,
    /// A synchronous send is over at once.
    EndsTooSoon,
    /// A probe finds the last letter that it wants.
    ProbesLast,
    /// A receive that was taken back still gets its letter.
    Revives,
}

#[derive(Clone)]
struct Letter {
    from: u32,
    due: Time,
    address: Address,
    data: Vec<u8>,
    /// The sender waits for it to be taken.
    request: Option<RequestId>,
}

impl Letter {
    fn is(&self, wanted: Wanted) -> bool {
        let Address { context, source, tag, .. } = self.address;
        context == wanted.context
            && (wanted.source == c::ANY_SOURCE || wanted.source == source as i32)
            && (wanted.tag == c::ANY_TAG || wanted.tag == tag)
    }
    fn found(&self) -> Found {
        let Address { source, tag, .. } = self.address;
        Found { source: source as i32, tag, bytes: self.data.len() as u64 }
    }
}

/// Messages and receives that belong to a rank.
#[derive(Default)]
struct Pigeonhole {
    /// Letters on their way, a queue for each sender.
    coming: Vec<VecDeque<Letter>>,
    unexpected: VecDeque<Letter>,
    posted: Vec<(RequestId, Wanted, Bytes)>,
    taken: Vec<(u64, Letter)>,
    next: u64,
    /// Letters that have arrived.
    arrived: u32,
    /// Letters that a posted receive has got.
    got: VecDeque<(RequestId, Bytes, Letter)>,
    /// Sends that have been received.
    received: VecDeque<RequestId>,
}

impl Pigeonhole {
    /// The place of the first letter that is wanted, or of the last.
    fn place(&self, wanted: Wanted, last: bool) -> Option<usize> {
        let mut is = self.unexpected.iter().map(|letter| letter.is(wanted));
        match last {
            true => is.rposition(|is| is),
            false => is.position(|is| is),
        }
    }

    /// Lets everything arrive that is due.
    fn arrive(&mut self, now: Time, mutant: Option<Mutant>) {
        loop {
            let first = |queue: &VecDeque<Letter>| Some((queue.front()?.due, queue.front()?.from));
            let next = self.coming.iter().filter_map(first).min();
            let Some((due, from)) = next.filter(|(due, _)| *due <= now) else { return };
            let way = &mut self.coming[from as usize];
            let at = usize::from(mutant == Some(Mutant::Overtakes) && way.len() > 1);
            let mut letter = way.remove(at).unwrap();
            assert!(letter.due == due || at > 0);
            self.arrived += 1;
            if mutant == Some(Mutant::Loses) && self.arrived % 3 == 0 {
                continue;
            }
            if mutant == Some(Mutant::Spoils) && letter.data.len() > 3 {
                letter.data[3] ^= 4;
            }
            let mut wants = self.posted.iter().map(|(_, wanted, _)| letter.is(*wanted));
            let place = match mutant {
                Some(Mutant::LastReceive) => wants.rposition(|wants| wants),
                _ => wants.position(|wants| wants),
            };
            match place {
                Some(at) => {
                    let (id, _, room) = self.posted.remove(at);
                    if mutant == Some(Mutant::Doubles) {
                        let again = Letter { request: None, ..letter.clone() };
                        self.unexpected.push_back(again);
                    }
                    self.got.push_back((id, room, letter));
                }
                None => self.unexpected.push_back(letter),
            }
        }
    }
}

/// All pigeonholes of a world.
pub struct Office {
    holes: RefCell<Vec<Pigeonhole>>,
    random: RefCell<Random>,
    /// Longest time that a letter takes.
    lateness: Duration,
    mutant: Option<Mutant>,
}

impl Office {
    pub fn new(ranks: usize, seed: u64, lateness: Duration, mutant: Option<Mutant>) -> Rc<Office> {
        let hole = || {
            let coming = (0..ranks).map(|_| VecDeque::new()).collect();
            Pigeonhole { coming, ..Pigeonhole::default() }
        };
        let holes = RefCell::new((0..ranks).map(|_| hole()).collect());
        let random = RefCell::new(Random::new(seed));
        Rc::new(Office { holes, random, lateness, mutant })
    }
}

/// The transport of one rank.
pub struct Clerk {
    office: Rc<Office>,
    rank: u32,
}

impl Clerk {
    pub fn new(local: &Local, office: Rc<Office>) -> Clerk {
        Clerk { office, rank: local.world().rank }
    }

    fn hole<R>(&self, local: &Local, f: impl FnOnce(&mut Pigeonhole) -> R) -> R {
        let hole = &mut self.office.holes.borrow_mut()[self.rank as usize];
        hole.arrive(local.cpu().now(), self.office.mutant);
        f(hole)
    }

    /// Puts a letter where it belongs.
    fn deliver(&self, local: &Local, id: RequestId, room: Bytes, letter: Letter) -> Ending {
        let length = letter.data.len().min(room.length as usize);
        let error = local.write(room.va, &letter.data[..length]).err();
        if let Some(request) = letter.request {
            let holes = &mut self.office.holes.borrow_mut();
            holes[letter.from as usize].received.push_back(request);
        }
        let mut found = letter.found();
        match self.office.mutant {
            Some(Mutant::WrongTag) => found.tag ^= 1,
            Some(Mutant::TooShort) => found.bytes = found.bytes.saturating_sub(1),
            _ => {}
        }
        Ending { id, found, error }
    }
}

impl Transport for Clerk {
    fn tag_max(&self) -> i32 {
        TAG_MAX
    }

    fn node_of(&self, rank: u32) -> u32 {
        rank
    }

    fn send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool> {
        let mut data = vec![0; bytes.length as usize];
        local.read(bytes.va, &mut data)?;
        local.settle();
        let soon = self.office.mutant == Some(Mutant::EndsTooSoon);
        let over = soon || mode == Mode::Standard && bytes.length <= KEPT;
        let late = self.office.random.borrow_mut().below(self.office.lateness.0.max(1));
        let now = local.cpu().now();
        let queue = &mut self.office.holes.borrow_mut()[to.target as usize].coming;
        let queue = &mut queue[self.rank as usize];
        let due = queue.back().map_or(now, |last| last.due).max(now + Duration(late));
        let request = (!over).then_some(id);
        queue.push_back(Letter { from: self.rank, due, address: to, data, request });
        Ok(over)
    }

    fn receive(&mut self, local: &mut Local, id: RequestId, wanted: Wanted, room: Bytes) -> Begun {
        local.settle();
        let letter = self.hole(local, |hole| {
            let last = self.office.mutant == Some(Mutant::LastLetter);
            let at = hole.place(wanted, last);
            if at.is_none() {
                hole.posted.push((id, wanted, room));
            }
            at.and_then(|at| hole.unexpected.remove(at))
        });
        let ended = letter.map(|letter| self.deliver(local, id, room, letter));
        ended.map_or(Begun::UnderWay, Begun::Ended)
    }

    fn receive_taken(
        &mut self,
        local: &mut Local,
        id: RequestId,
        message: Taken,
        room: Bytes,
    ) -> Begun {
        let letter = self.hole(local, |hole| {
            let at = hole.taken.iter().position(|(name, _)| *name == message.0).unwrap();
            hole.taken.remove(at).1
        });
        Begun::Ended(self.deliver(local, id, room, letter))
    }

    fn cancel(&mut self, local: &mut Local, id: RequestId) -> bool {
        local.settle();
        self.hole(local, |hole| {
            let at = hole.posted.iter().position(|(posted, ..)| *posted == id);
            // One that revives stays.
            let keep = self.office.mutant == Some(Mutant::Revives);
            at.map(|at| (!keep).then(|| hole.posted.remove(at))).is_some()
        })
    }

    fn find(&mut self, local: &mut Local, wanted: Wanted) -> Option<Found> {
        self.hole(local, |hole| {
            let last = self.office.mutant == Some(Mutant::ProbesLast);
            hole.place(wanted, last).map(|at| hole.unexpected[at].found())
        })
    }

    fn has(&mut self, _: &mut Local, wanted: Wanted) -> bool {
        let hole = &self.office.holes.borrow()[self.rank as usize];
        hole.unexpected.iter().any(|letter| letter.is(wanted))
    }

    fn take(&mut self, _: &mut Local, wanted: Wanted) -> Taken {
        let hole = &mut self.office.holes.borrow_mut()[self.rank as usize];
        let at = hole.unexpected.iter().position(|letter| letter.is(wanted)).unwrap();
        let (name, letter) = (hole.next, hole.unexpected.remove(at).unwrap());
        hole.next += 1;
        hole.taken.push((name, letter));
        Taken(name)
    }

    fn poll(&mut self, local: &mut Local) -> Step {
        local.charge(Duration::from_ns(20));
        local.settle();
        if let Some((id, room, letter)) = self.hole(local, |hole| hole.got.pop_front()) {
            return Step::Ended(self.deliver(local, id, room, letter));
        }
        match self.hole(local, |hole| hole.received.pop_front()) {
            Some(id) => Step::Ended(Ending { id, found: Found::NOTHING, error: None }),
            None => Step::Nothing,
        }
    }

    fn wait(&mut self, local: &mut Local) -> Step {
        let before = self.hole(local, |hole| hole.unexpected.len());
        for _ in 0..PATIENCE {
            match self.poll(local) {
                Step::Nothing if self.hole(local, |hole| hole.unexpected.len()) > before => {
                    return Step::Event;
                }
                Step::Nothing => local.charge(Duration::from_ns(200)),
                step => return step,
            }
        }
        local.cpu().fault(format!("rank {}: {} waits for ever", self.rank, local.function()))
    }

    fn is_quiet(&self) -> bool {
        true
    }
}
