//! Messages over a network interface that keeps MPI's queues itself (brightwell2005): it matches, it moves
//! bytes, and this library gives it commands and polls a ring of completions.
//!
//! ```text
//!   Queues ── command, 64 bytes, by stores; doorbell ──► command FIFO of the interface
//!      ▲                                                        │ firmware
//!      └── completion, 32 bytes, in a ring of host memory ◄─────┘
//! ```
//! Every command but OPEN and CLOSE has one completion. A request that must be answered before the
//! call goes on (a probe, a receive taken back) waits for its own; those that come before are kept for later
//! looks.
//!
//! A buffer in several physical pieces goes through one in library memory that has one: a descriptor of the
//! interface names one piece.

use super::{Address, Begun, Bytes, Ending, Found, Mode, Step, Taken, Transport, Wanted};
use crate::error::Result;
use crate::local::Local;
use crate::observe::Sent;
use crate::request::RequestId;
use abi::offload as of;
use abi::offload::{completion_kind as kind, operation, Command, Completion};
use abi::MessageId;
use des::Duration;
use host::Waker;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

mod bits;

/// The token of commands that belong to no request.
const NO_REQUEST: u32 = u32::MAX;

/// Completions that a ring holds.
const SLOTS: u32 = of::WINDOW_SIZE / Completion::SIZE as u32;

/// The completion rings of a node, for who carries the interface's stores.
#[derive(Default)]
pub struct Rings {
    all: RefCell<Vec<(Range<u64>, Waker)>>,
    /// Messages that the node's processes have sent.
    serial: Cell<u32>,
}

impl Rings {
    /// Something has come into host memory at `phys`. True if it wakes a process, which looks at
    /// [`host::Host::attend`].
    pub fn landed(&self, phys: u64) -> bool {
        let all = self.all.borrow();
        let ring = all.iter().find(|(ring, _)| ring.contains(&phys));
        ring.inspect(|(_, waker)| waker.wake()).is_some()
    }

    fn next_serial(&self) -> u32 {
        self.serial.set(self.serial.get().wrapping_add(1));
        self.serial.get()
    }
}

/// Addresses of the processes of the world, and costs of looking at the interface.
#[derive(Clone, Debug)]
pub struct QueuesSetup {
    /// Node and process of each rank.
    pub map: Arc<[(u32, u32)]>,
    /// This process's number on its node.
    pub process: u32,
    /// Reading a completion that has come.
    pub read: Duration,
}

/// An operation under way.
struct Operation {
    id: RequestId,
    bytes: Bytes,
    receives: bool,
    /// Library memory in the place of its buffer.
    bounce: Option<Bytes>,
    /// The tag that a receive wants, where it is folded on the way.
    folded: Option<i32>,
}

/// One process's queues.
pub struct Queues {
    rings: Rc<Rings>,
    place: QueuesSetup,
    ring: u64,
    /// Completions read.
    read: u32,
    /// Commands given, and those known to be taken.
    given: u32,
    taken: u32,
    /// Operations by the index of their requests.
    operations: Vec<Option<Operation>>,
    /// Commands whose completion is due, and those that wait for room in the ring.
    due: u32,
    backlog: VecDeque<Command>,
    /// Completions that came while another was waited for.
    kept: VecDeque<Completion>,
    /// Pattern of the last probe that found nothing; true once such a message has come.
    watch: Option<(Wanted, bool)>,
    /// Library buffers that nobody uses.
    spare: Vec<Bytes>,
    /// Sends that are under way.
    sends: u32,
}

impl Queues {
    /// The queues of a process at `place`, on a node with these rings.
    pub fn open(local: &mut Local, place: QueuesSetup, rings: Rc<Rings>) -> Queues {
        let ring = local.allocate(of::WINDOW_SIZE.into());
        let phys = one_piece(local, Bytes { va: ring, length: of::WINDOW_SIZE.into() });
        let phys = phys.expect("library memory is contiguous");
        let span = phys..phys + u64::from(of::WINDOW_SIZE);
        rings.all.borrow_mut().push((span, local.cpu.waker()));
        let mut queues = Queues {
            rings,
            place,
            ring,
            read: 0,
            given: 0,
            taken: 0,
            operations: Vec::new(),
            due: 0,
            backlog: VecDeque::new(),
            kept: VecDeque::new(),
            watch: None,
            spare: Vec::new(),
            sends: 0,
        };
        let open = Command { operation: operation::OPEN.into(), ..command(NO_REQUEST, phys) };
        queues.give(local, &open);
        queues
    }

    /// Stores a command into the FIFO of the interface, and rings its doorbell.
    fn give(&mut self, local: &mut Local, command: &Command) {
        local.settle();
        let process = self.place.process;
        while self.given.wrapping_sub(self.taken) >= of::COMMAND_COUNT {
            let at = of::REGISTER_BASE + of::register::TAKEN_COMMANDS + 4 * process;
            self.taken = local.cpu.mmio_read(at);
        }
        let mut bytes = [0; Command::SIZE];
        command.emit(&mut bytes);
        let slot = process * of::COMMAND_COUNT + self.given % of::COMMAND_COUNT;
        let at = of::COMMAND_BASE + slot * of::COMMAND_SIZE;
        let end = used(command.operation as u8);
        for (offset, piece) in (0..).step_by(8).zip(bytes[..end].chunks(8)) {
            local.cpu.mmio_write(at + offset, piece);
        }
        self.given = self.given.wrapping_add(1);
        let doorbell = of::REGISTER_BASE + of::register::DOORBELL + 4 * process;
        local.cpu.mmio_write(doorbell, &self.given.to_le_bytes());
    }

    /// Gives a command that has a completion; it waits if the ring would not hold that.
    fn ask(&mut self, local: &mut Local, command: Command) {
        // The last place is left for an answer that a call waits for, and one for NEWS.
        if self.due + 2 >= SLOTS || !self.backlog.is_empty() {
            self.backlog.push_back(command);
            return;
        }
        self.due += 1;
        self.give(local, &command);
    }

    /// Gives what has waited and has room now.
    fn go_on(&mut self, local: &mut Local) {
        while self.due + 2 < SLOTS {
            let Some(command) = self.backlog.pop_front() else { return };
            self.due += 1;
            self.give(local, &command);
        }
    }

    /// The next completion of the ring, if it is there.
    fn next(&mut self, local: &mut Local) -> Option<Completion> {
        local.settle();
        let (slot, lap) = (self.read % SLOTS, self.read / SLOTS + 1);
        let mut bytes = [0; Completion::SIZE];
        let at = self.ring + u64::from(slot) * Completion::SIZE as u64;
        local.read(at, &mut bytes).expect("the ring is the library's");
        let completion = Completion::parse(&bytes).expect("a completion's bytes");
        if completion.lap != lap {
            return None;
        }
        self.read = self.read.wrapping_add(1);
        local.charge(self.place.read);
        if completion.kind == kind::NEWS {
            if let Some((_, news)) = &mut self.watch {
                *news = true;
            }
        } else {
            self.due -= 1;
        }
        Some(completion)
    }

    fn await_next(&mut self, local: &mut Local) -> Completion {
        loop {
            if let Some(completion) = self.next(local) {
                return completion;
            }
            local.cpu.wait(local.cpu.costs().poll_period);
        }
    }

    /// Gives a command and waits for its answer, one of these kinds.
    fn answer(&mut self, local: &mut Local, command: &Command, kinds: [u32; 2]) -> Completion {
        self.due += 1;
        self.give(local, command);
        loop {
            let completion = self.await_next(local);
            if kinds.contains(&completion.kind) {
                return completion;
            }
            self.kept.push_back(completion);
        }
    }

    /// Handles a completion, and returns its meaning for the layers above.
    fn take_in(&mut self, local: &mut Local, completion: &Completion) -> Step {
        self.observed(local, completion);
        local.charge(local.params.event);
        self.go_on(local);
        match completion.kind {
            kind::SENT | kind::RECEIVED => Step::Ended(self.end(local, completion)),
            kind::NEWS => Step::Event,
            other => unreachable!("completion {other} answers a call that waits for it"),
        }
    }

    /// Reports a completion to the observers of the process.
    fn observed(&self, local: &Local, completion: &Completion) {
        let (at, serial) = (local.now(), completion.serial);
        match completion.kind {
            kind::SENT => {
                let source_nid = self.place.map[local.world.rank as usize].0;
                local.observe(|observer| observer.sent(MessageId { source_nid, serial }, at));
            }
            kind::RECEIVED => {
                let source_nid = (completion.handle as u16).into();
                local.observe(|observer| observer.received(MessageId { source_nid, serial }, at));
            }
            _ => {}
        }
    }

    fn end(&mut self, local: &mut Local, completion: &Completion) -> Ending {
        let operation = self.operations[completion.request as usize].take();
        let Operation { id, bytes, receives, bounce, folded } = operation.expect("it is under way");
        let mut error = None;
        let mut found = Found::NOTHING;
        if receives {
            let bits = u64::from(completion.bits_hi) << 32 | u64::from(completion.bits_lo);
            found = Found { bytes: completion.length.into(), ..bits::found(bits) };
            found.tag = folded.unwrap_or(found.tag);
            if let Some(bounce) = bounce {
                let length = found.bytes.min(bytes.length);
                error = local.copy(bounce.va, bytes.va, length).err();
            }
        } else {
            self.sends -= 1;
        }
        self.spare.extend(bounce);
        Ending { id, found, error }
    }

    /// Begins an operation on these bytes. Returns where they are physically.
    fn begin(
        &mut self,
        local: &mut Local,
        id: RequestId,
        bytes: Bytes,
        receives: bool,
    ) -> Result<u64> {
        let mut bounce = None;
        let phys = match one_piece(local, bytes) {
            Some(phys) => phys,
            None => {
                let buffer = self.bounce(local, bytes.length);
                if !receives {
                    local.copy(bytes.va, buffer.va, bytes.length)?;
                }
                bounce = Some(buffer);
                one_piece(local, buffer).expect("library memory is contiguous")
            }
        };
        let index = id.index();
        if index >= self.operations.len() {
            self.operations.resize_with(index + 1, || None);
        }
        self.operations[index] = Some(Operation { id, bytes, receives, bounce, folded: None });
        Ok(phys)
    }

    /// Library memory for so many bytes.
    fn bounce(&mut self, local: &Local, length: u64) -> Bytes {
        let fits = self.spare.iter().position(|spare| spare.length >= length);
        match fits {
            Some(index) => self.spare.swap_remove(index),
            None => Bytes { va: local.allocate(length), length },
        }
    }

    fn receive_command(&self, id: RequestId, phys: u64, room: Bytes) -> Command {
        Command { length: length_of(room), ..command(id.index, phys) }
    }
}

/// Bytes that a command says; no message is longer, and no receive has more room.
fn length_of(bytes: Bytes) -> u32 {
    u32::try_from(bytes.length).unwrap_or(u32::MAX)
}

/// A command with nothing in it but whose it is and where its bytes are.
fn command(request: u32, phys: u64) -> Command {
    let [host_lo, host_hi] = [phys as u32, (phys >> 32) as u32];
    Command { request, host_lo, host_hi, ..Command::parse(&[0; Command::SIZE]).expect("64 bytes") }
}

/// The same for a `wanted` message.
fn searching(wanted: Wanted, with: Command) -> Command {
    let bits::Pattern { bits, mask } = bits::Pattern::from(wanted);
    let [bits_lo, bits_hi] = [bits as u32, (bits >> 32) as u32];
    let [mask_lo, mask_hi] = [mask as u32, (mask >> 32) as u32];
    Command { bits_lo, bits_hi, mask_lo, mask_hi, ..with }
}

/// Bytes of a command that its operation uses; the others are not stored.
fn used(operation: u8) -> usize {
    match operation {
        operation::SEND | operation::SEND_SYNCHRONOUS => of::command::SERIAL + 4,
        operation::PROBE | operation::TAKE => of::command::MASK_HI + 4,
        operation::CANCEL | operation::CLOSE => of::command::REQUEST + 4,
        _ => of::command::HOST_HI + 4,
    }
}

/// Physical address of the bytes, if they are one piece.
fn one_piece(local: &Local, Bytes { va, length }: Bytes) -> Option<u64> {
    if length == 0 {
        return Some(0);
    }
    let extents = local.cpu.memory().borrow_mut().translate(local.space, va, length).ok()?;
    match extents[..] {
        [one] => Some(one.phys),
        _ => None,
    }
}

impl Transport for Queues {
    fn tag_max(&self) -> i32 {
        bits::TAG_MAX
    }

    fn node_of(&self, rank: u32) -> u32 {
        self.place.map[rank as usize].0
    }

    fn send(
        &mut self,
        local: &mut Local,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> Result<bool> {
        local.check_buffer(bytes.va, bytes.length)?;
        let began = local.now();
        let phys = self.begin(local, id, bytes, false)?;
        let bits = bits::of(to);
        let (node, process) = self.place.map[to.target as usize];
        let operation = match mode {
            Mode::Standard => operation::SEND,
            Mode::Synchronous => operation::SEND_SYNCHRONOUS,
        };
        let send = Command {
            operation: operation.into(),
            bits_lo: bits as u32,
            bits_hi: (bits >> 32) as u32,
            length: length_of(bytes),
            target: node | process << 16,
            serial: self.rings.next_serial(),
            ..command(id.index, phys)
        };
        self.sends += 1;
        let source_nid = self.place.map[local.world.rank as usize].0;
        let sent = Sent {
            to: to.target,
            bytes: bytes.length,
            collective: crate::comm::is_collective(to.context),
            fetched: mode == Mode::Synchronous || bytes.length > of::EAGER_LIMIT.into(),
        };
        let message = MessageId { source_nid, serial: send.serial };
        local.observe(|observer| observer.begins(message, began, &sent));
        self.ask(local, send);
        Ok(false)
    }

    fn receive(&mut self, local: &mut Local, id: RequestId, wanted: Wanted, room: Bytes) -> Begun {
        let phys = self.begin(local, id, room, true).expect("nothing is copied yet");
        let operation = self.operations[id.index()].as_mut().expect("it has begun");
        operation.folded = Some(wanted.tag).filter(|tag| *tag > bits::TAG_MAX);
        let receive = searching(wanted, self.receive_command(id, phys, room));
        self.ask(local, Command { operation: operation::RECEIVE.into(), ..receive });
        Begun::UnderWay
    }

    fn receive_taken(
        &mut self,
        local: &mut Local,
        id: RequestId,
        message: Taken,
        room: Bytes,
    ) -> Begun {
        let phys = self.begin(local, id, room, true).expect("nothing is copied yet");
        let operation = operation::RECEIVE_TAKEN.into();
        let handle = message.0 as u32;
        let receive = Command { operation, handle, ..self.receive_command(id, phys, room) };
        self.ask(local, receive);
        Begun::UnderWay
    }

    fn cancel(&mut self, local: &mut Local, id: RequestId) -> bool {
        let own = |command: &Command| command.request == id.index;
        if let Some(index) = self.backlog.iter().position(own) {
            self.backlog.remove(index);
        } else {
            if self.operations[id.index()].is_none() {
                return false;
            }
            let cancel = Command { operation: operation::CANCEL.into(), ..command(id.index, 0) };
            let kinds = [kind::CANCELLED, kind::NOT_CANCELLED];
            if self.answer(local, &cancel, kinds).kind == kind::NOT_CANCELLED {
                return false;
            }
            // The receive has no completion of its own any more.
            self.due -= 1;
        }
        let operation = self.operations[id.index()].take();
        self.spare.extend(operation.and_then(|operation| operation.bounce));
        true
    }

    fn find(&mut self, local: &mut Local, wanted: Wanted) -> Option<Found> {
        let probe = searching(wanted, command(NO_REQUEST, 0));
        let probe = Command { operation: operation::PROBE.into(), ..probe };
        let answer = self.answer(local, &probe, [kind::FOUND, kind::NOT_FOUND]);
        if answer.kind == kind::NOT_FOUND {
            self.watch = Some((wanted, false));
            return None;
        }
        self.watch = None;
        let bits = u64::from(answer.bits_hi) << 32 | u64::from(answer.bits_lo);
        Some(Found { bytes: answer.length.into(), ..bits::found(bits) })
    }

    fn has(&mut self, local: &mut Local, wanted: Wanted) -> bool {
        match self.watch {
            Some((looked_for, false)) if looked_for == wanted => false,
            _ => self.find(local, wanted).is_some(),
        }
    }

    fn take(&mut self, local: &mut Local, wanted: Wanted) -> Taken {
        let take = searching(wanted, command(NO_REQUEST, 0));
        let take = Command { operation: operation::TAKE.into(), ..take };
        let answer = self.answer(local, &take, [kind::TAKEN, kind::NOT_FOUND]);
        assert_eq!(answer.kind, kind::TAKEN, "a message that was found stays");
        Taken(answer.handle.into())
    }

    fn poll(&mut self, local: &mut Local) -> Step {
        if let Some(completion) = self.kept.pop_front() {
            return self.take_in(local, &completion);
        }
        match self.next(local) {
            Some(completion) => self.take_in(local, &completion),
            None => {
                local.charge(local.cpu.costs().poll_period);
                Step::Nothing
            }
        }
    }

    fn wait(&mut self, local: &mut Local) -> Step {
        let kept = self.kept.pop_front();
        let completion = kept.unwrap_or_else(|| self.await_next(local));
        self.take_in(local, &completion)
    }

    fn is_quiet(&self) -> bool {
        self.sends == 0
    }
}
