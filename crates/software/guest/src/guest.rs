//! A guest, as the simulator sees it.

use crate::act::{command, ended, Act, Ending, Interrupt};
use crate::clock::{self, op, Calendar, ClockMessage};
use crate::input::Typing;
use crate::memory::GuestMemory;
use crate::process::{Kept, Process, Task};
use crate::ring::{Buffer, Ring};
use crate::sys::{self, wrong, Mapping};
use crate::vhost::{self, pci, request, Header, Payload};
use crate::{Kernel, StartError};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Least value of a request that is no time: the guest sleeps for ever.
const NEVER: u64 = i64::MAX as u64;

/// Processor time without a system call, in ms, after which a guest's program counts as one that never makes
/// any.
const PATIENCE_MS: u64 = 10_000;
/// Wall time between two checks of it, in ms.
const LOOK_MS: i32 = 1000;

/// Queues of the device: the guest's accesses, and the device's interrupts.
const COMMANDS: usize = 0;
const INTERRUPTS: usize = 1;

/// Codes of the guest's first program for the end, in the upper bytes of a number.
const ENDED: u64 = 0x454e_4400;
const FAILED: u64 = 0x4641_494c;
/// Code for the time at which all is ready for the program.
const READY: u64 = 0x5245_4144;

/// State in which it is suspended.
enum State {
    /// It waits for its time.
    Waits,
    /// It accesses its device.
    Accesses(Buffer),
    Ended,
}

/// A guest. Its clock counts nanoseconds; each call gives its time, never less than before.
pub struct Guest {
    process: Process,
    clock: UnixStream,
    calendar: Calendar,
    device: Option<UnixStream>,
    /// Connection for the device's own requests.
    requests: Option<UnixStream>,
    memory: GuestMemory,
    rings: [Ring; 2],
    state: State,
    now: u64,
    /// Date of its calendar at time 0, in ns since 1970.
    date: u64,
    /// Time at which it wants to go on.
    wish: u64,
    sequence: u32,
    /// Interrupts for which it had no room.
    waiting: VecDeque<Interrupt>,
    /// True from its line's interrupt until it gives the message's buffer back, behind its handler.
    serves: bool,
    /// Typing at its terminal, if it has one.
    typing: Option<Typing>,
    /// True if all is ready for its program.
    ready: bool,
    /// Report of its first program about the end.
    said: Option<u64>,
}

impl Guest {
    /// Starts a guest, whose clock is at 0.
    pub fn start(kernel: &Kernel, task: &Task) -> Result<Guest, StartError> {
        let mut process = Process::start(kernel, task)?;
        let clock = process.accept_clock()?;
        Guest::begin(process, clock, None, task)
    }

    /// A guest whose kernel has connected to its clock.
    pub(crate) fn begin(
        process: Process,
        clock: UnixStream,
        device: Option<UnixStream>,
        task: &Task,
    ) -> Result<Guest, StartError> {
        for socket in device.iter().chain([&clock]) {
            sys::limit(socket).map_err(|why| process.broken(why))?;
        }
        let calendar = Calendar::new().map_err(StartError::Memory)?;
        let mut guest = Guest {
            process,
            clock,
            calendar,
            device,
            requests: None,
            memory: GuestMemory::default(),
            rings: [Ring::default(); 2],
            state: State::Waits,
            now: 0,
            date: task.date,
            wish: 0,
            sequence: 0,
            waiting: VecDeque::new(),
            serves: false,
            typing: Typing::of(&task.input),
            ready: false,
            said: None,
        };
        let start = guest.hear().map_err(|why| guest.process.broken(why))?;
        if start.op != op::START {
            return Err(StartError::Greeting(guest.process.last_words()));
        }
        // What both look at; and where it might log, which it does not.
        let null = std::fs::File::open("/dev/null").map_err(StartError::Null)?;
        let shared = [guest.calendar.file().as_raw_fd(), null.as_raw_fd()];
        let answer = ClockMessage { op: op::ACK, sequence: start.sequence, time: 0 };
        sys::send_with(&guest.clock, &answer.emit(), shared)
            .map_err(|why| guest.process.broken(why))?;
        Ok(guest)
    }

    /// Its memory, for its device.
    pub fn memory(&self) -> &GuestMemory {
        &self.memory
    }

    /// True if it has been told of its line, and its handler has not ended.
    pub fn serves(&self) -> bool {
        self.serves || !self.waiting.is_empty()
    }

    /// True if all is ready for its program.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Boots it up to its first sleep or access. This is the first call.
    pub fn boot(&mut self) -> Act {
        self.go_on()
    }

    /// Lets it go on at `now`. It must be asleep.
    pub fn run(&mut self, now: u64) -> Act {
        assert!(matches!(self.state, State::Waits) && now >= self.now, "it sleeps until then");
        if let Some(typing) = self.typing.as_mut().filter(|_| self.ready) {
            let Some(typed) = typing.attend(now, Instant::now()) else {
                return self.end(Ending::Killed(libc::SIGHUP));
            };
            if let Err(error) = self.process.type_in(&typed) {
                return self.lost(&error);
            }
        }
        self.set_now(now);
        self.sequence += 1;
        match self.say(op::RUN, self.sequence, now) {
            Ok(()) => self.go_on(),
            Err(error) => self.lost(&error),
        }
    }

    /// Ends its access at `now`, with these bytes if it was a load.
    pub fn answer(&mut self, now: u64, bytes: &[u8]) -> Act {
        let State::Accesses(buffer) = std::mem::replace(&mut self.state, State::Waits) else {
            panic!("an access is outstanding")
        };
        match self.finish(now, &buffer, bytes) {
            Ok(()) => self.go_on(),
            Err(error) => self.lost(&error),
        }
    }

    fn finish(&mut self, now: u64, buffer: &Buffer, bytes: &[u8]) -> io::Result<()> {
        buffer.fill(&self.memory, bytes).map_err(wrong)?;
        let ring = &self.rings[COMMANDS];
        ring.give_back(&self.memory, buffer, bytes.len() as u32).map_err(wrong)?;
        if now > self.now {
            self.set_now(now);
            self.tell_now()?;
        }
        self.next_command()
    }

    /// Interrupts it at `now`. It sleeps then until another time, mostly until now.
    pub fn interrupt(&mut self, now: u64, interrupt: Interrupt) -> Act {
        assert!(matches!(self.state, State::Waits) && now >= self.now, "it sleeps");
        self.set_now(now);
        self.waiting.push_back(interrupt);
        match self.tell_interrupts() {
            Ok(()) => self.sleeps(),
            Err(error) => self.lost(&error),
        }
    }

    /// Sends interrupts to the guest, as far as it has room for them.
    fn tell_interrupts(&mut self) -> io::Result<()> {
        let mut told = false;
        while let Some(interrupt) = self.waiting.front() {
            let Some(buffer) = self.rings[INTERRUPTS].take(&self.memory)? else {
                break;
            };
            let message = match interrupt {
                Interrupt::Line => {
                    self.serves = true;
                    pci::message(pci::INT, 0, &[])
                }
                Interrupt::Message(data) => pci::message(pci::MSI, 0, &data.to_le_bytes()),
            };
            self.waiting.pop_front();
            buffer.fill(&self.memory, &message).map_err(wrong)?;
            let ring = &self.rings[INTERRUPTS];
            ring.give_back(&self.memory, &buffer, message.len() as u32).map_err(wrong)?;
            told = true;
        }
        if told {
            self.call(INTERRUPTS)?;
        }
        Ok(())
    }

    /// Makes the guest look at a queue: it asks for the time, says that it wants to go on, and answers.
    fn call(&mut self, queue: usize) -> io::Result<()> {
        let flags = vhost::VERSION | vhost::NEED_REPLY;
        let call = vhost::message(request::VRING_CALL, flags, queue as u64);
        let requests =
            self.requests.as_mut().ok_or_else(|| wrong("its device has no way to it"))?;
        requests.write_all(&call)?;
        loop {
            let requests = self.requests.as_ref().map(|socket| socket.as_raw_fd());
            match self.await_one(&[requests, Some(self.clock.as_raw_fd())])? {
                0 => break,
                _ => {
                    let message = self.hear()?;
                    self.heed(message)?;
                }
            }
        }
        let mut answer = [0; vhost::HEADER + 8];
        self.requests
            .as_mut()
            .ok_or_else(|| wrong("its device has no way to it"))?
            .read_exact(&mut answer)
    }

    /// Runs it until it sleeps, accesses its device, or ends.
    fn go_on(&mut self) -> Act {
        match self.listen() {
            Ok(act) => act,
            Err(error) => self.lost(&error),
        }
    }

    fn listen(&mut self) -> io::Result<Act> {
        loop {
            if let State::Accesses(buffer) = &self.state {
                return command(buffer);
            }
            let device = self.device.as_ref().map(|socket| socket.as_raw_fd());
            let listener = self.process.device_listener();
            match self.await_one(&[Some(self.clock.as_raw_fd()), device, listener])? {
                0 => {
                    let message = self.hear()?;
                    if self.heed(message)? {
                        // Those for which there was no room.
                        self.tell_interrupts()?;
                        return Ok(self.sleeps());
                    }
                    if let Some(said) = self.said {
                        return Ok(self.over(said));
                    }
                }
                1 => self.serve()?,
                _ => {
                    let device = self.process.accept_device()?;
                    sys::limit(&device)?;
                    self.device = Some(device);
                }
            }
        }
    }

    /// Sleep of a guest that waits. If it has not asked since an access, the time before that holds.
    fn sleeps(&mut self) -> Act {
        self.wish = self.calendar.wish().unwrap_or(self.wish);
        let until = if self.wish >= NEVER { u64::MAX } else { self.wish.max(self.now) };
        self.calendar.watch().map_or(Act::Sleep(until), |watch| Act::Watch(until, watch))
    }

    /// Waits until one of these descriptors can be read; its index.
    fn await_one(&self, fds: &[Option<i32>]) -> io::Result<usize> {
        let mut since = None;
        loop {
            if let Some(found) = sys::poll(fds, LOOK_MS)? {
                return Ok(found);
            }
            let spent = self.process.processor_ms();
            let since = *since.get_or_insert(spent);
            if spent - since >= PATIENCE_MS {
                let seconds = PATIENCE_MS / 1000;
                return Err(wrong(format!(
                    "computes without end: it made no system call for {seconds} s of processor time"
                )));
            }
        }
    }

    // ---- the clock ---------------------------------------------------------------------------------------

    fn hear(&mut self) -> io::Result<ClockMessage> {
        let mut bytes = [0; clock::SIZE];
        self.clock.read_exact(&mut bytes)?;
        Ok(ClockMessage::parse(bytes))
    }

    fn say(&mut self, op: u32, sequence: u32, time: u64) -> io::Result<()> {
        self.clock.write_all(&ClockMessage { op, sequence, time }.emit())
    }

    /// Handles a message of the guest about time. True if the guest waits now.
    fn heed(&mut self, message: ClockMessage) -> io::Result<bool> {
        let ClockMessage { op: what, sequence, time } = message;
        let mut answer = 0;
        match what {
            op::ACK => return Ok(false),
            op::WAIT => {
                if !self.calendar.is_shared() {
                    return Err(wrong("its kernel does not share memory"));
                }
                return Ok(true);
            }
            op::GET_TOD => answer = self.date.wrapping_add(self.now),
            op::BROADCAST if time >> 32 == READY => self.ready = true,
            op::BROADCAST => self.said = Some(time),
            _ => return Err(wrong(format!("its kernel says {message:?}, which nobody knows"))),
        }
        self.say(op::ACK, sequence, answer)?;
        Ok(false)
    }

    fn set_now(&mut self, now: u64) {
        self.now = now;
        self.calendar.set_now(now);
    }

    /// Sets the guest's clock while it is suspended in an access. The guest takes RUN as an order to forget
    /// the time it asked for, and does not answer; so a request that it answers follows.
    fn tell_now(&mut self) -> io::Result<()> {
        self.wish = self.calendar.wish().unwrap_or(self.wish);
        let run = ClockMessage { op: op::RUN, sequence: self.sequence + 1, time: self.now };
        let ask = ClockMessage { op: op::FREE_UNTIL, sequence: self.sequence + 2, time: 0 };
        self.sequence += 2;
        let mut both = [0; 2 * clock::SIZE];
        both[..clock::SIZE].copy_from_slice(&run.emit());
        both[clock::SIZE..].copy_from_slice(&ask.emit());
        self.clock.write_all(&both)?;
        let answer = self.hear()?;
        if answer.op != op::ACK || answer.sequence != self.sequence {
            return Err(wrong(format!("its kernel answers {answer:?} to RUN")));
        }
        Ok(())
    }

    // ---- the device --------------------------------------------------------------------------------------

    fn serve(&mut self) -> io::Result<()> {
        let device = self.device.as_ref().ok_or_else(|| wrong("it has no device"))?;
        let (mut head, mut fds) = ([0; vhost::HEADER], Vec::new());
        let got = sys::receive(device, &mut head, &mut fds)?;
        let mut rest = device;
        if got == 0 {
            // The guest shuts down.
            self.device = None;
            return Ok(());
        }
        rest.read_exact(&mut head[got..])?;
        let header = Header::parse(head);
        let mut payload = [0; vhost::PAYLOAD_MAX];
        let payload = payload
            .get_mut(..header.size as usize)
            .ok_or_else(|| wrong(format!("its kernel sends {} bytes at once", header.size)))?;
        rest.read_exact(payload)?;
        self.set_up(header, &Payload(payload), fds)
    }

    fn set_up(
        &mut self,
        header: Header,
        payload: &Payload<'_>,
        fds: Vec<OwnedFd>,
    ) -> io::Result<()> {
        let ring = payload.u32(0) as usize % 2;
        match header.request {
            request::GET_FEATURES => return self.reply(header, vhost::FEATURES),
            request::GET_PROTOCOL_FEATURES => return self.reply(header, vhost::PROTOCOL),
            request::SET_MEM_TABLE => self.map(payload, &fds)?,
            request::SET_VRING_NUM => self.rings[ring].size = payload.u32(4) as u16,
            request::SET_VRING_BASE => self.rings[ring].taken = payload.u32(4) as u16,
            request::SET_VRING_ADDR => {
                let ring = &mut self.rings[ring];
                ring.descriptors = payload.u64(8);
                ring.used = payload.u64(16);
                ring.available = payload.u64(24);
            }
            request::SET_SLAVE_REQ_FD => {
                self.requests = fds.into_iter().next().map(UnixStream::from);
                self.requests.as_ref().map_or(Ok(()), sys::limit)?;
            }
            request::VRING_KICK if ring == COMMANDS => {
                // Answered once the device has done it.
                return self.next_command();
            }
            // Its driver of the bus has called the handlers.
            request::VRING_KICK => self.serves = false,
            _ => {}
        }
        if header.flags & vhost::NEED_REPLY != 0 {
            return self.reply(header, 0);
        }
        Ok(())
    }

    /// Takes the guest's next command to its device; if there is none, the guest goes on.
    fn next_command(&mut self) -> io::Result<()> {
        match self.rings[COMMANDS].take(&self.memory)? {
            Some(buffer) => self.state = State::Accesses(buffer),
            None => {
                let header = Header { request: request::VRING_KICK, flags: 0, size: 0 };
                self.reply(header, 0)?;
            }
        }
        Ok(())
    }

    fn reply(&mut self, header: Header, value: u64) -> io::Result<()> {
        let answer = vhost::message(header.request, vhost::VERSION | vhost::REPLY, value);
        self.device.as_mut().ok_or_else(|| wrong("it has no device"))?.write_all(&answer)
    }

    /// Maps the parts of its memory: physical address, length, the kernel's own address and their offset in a
    /// file.
    fn map(&mut self, payload: &Payload<'_>, fds: &[OwnedFd]) -> io::Result<()> {
        self.memory.clear();
        for (index, fd) in (0..payload.u32(0) as usize).zip(fds) {
            let at = 8 + 32 * index;
            let (base, len) = (payload.u64(at), payload.u64(at + 8));
            let offset = payload.u64(at + 24);
            // A mapping begins with a page; the file's first byte does.
            let end = offset.checked_add(len).and_then(|end| usize::try_from(end).ok());
            let end = end.filter(|end| *end > 0 && *end as u64 <= sys::size(fd));
            let end = end.ok_or_else(|| wrong("its kernel's memory is not in its file"))?;
            let mapping = Mapping::new(fd, 0, end)?;
            self.memory.add(base, mapping, offset as usize);
        }
        Ok(())
    }

    // ---- the end -----------------------------------------------------------------------------------------

    /// Ends the guest, whose first program has reported its ending.
    fn over(&mut self, said: u64) -> Act {
        self.end(match said >> 32 {
            ENDED => self.process.refused(said as i32).unwrap_or_else(|| ended(said as i32)),
            FAILED => {
                let what = io::Error::from_raw_os_error(said as u32 as i32);
                Ending::Lost(self.process.why(&format!("has no program to run: {what}")))
            }
            _ => Ending::Lost(self.process.why(&format!("says {said:#x}, which nobody knows"))),
        })
    }

    /// Gives up a guest that has ended or cannot go on.
    fn lost(&mut self, error: &io::Error) -> Act {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof, WouldBlock};
        let what = match error.kind() {
            UnexpectedEof | ConnectionReset | BrokenPipe => "has ended before its program".into(),
            WouldBlock => "has stopped within a message of its kernel's".into(),
            _ => error.to_string(),
        };
        self.end(Ending::Lost(self.process.why(&what)))
    }

    fn end(&mut self, ending: Ending) -> Act {
        self.state = State::Ended;
        self.process.end();
        Act::End(ending)
    }

    /// Output of the program since the last call: standard output and error.
    pub fn take_output(&mut self) -> io::Result<[Vec<u8>; 2]> {
        self.process.take_output()
    }

    /// Files that it has left, after its end ([`Setup`](crate::Setup)).
    pub fn kept(&self) -> Kept {
        self.process.kept()
    }
}
