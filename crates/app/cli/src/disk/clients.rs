//! The clients: what each has sent that is not carried out yet, and what it has not taken yet. Both are
//! bounded: nothing is read from a client that has asked for enough.

use super::poll;
use super::simulator::{Broken, Ended, Simulator, REQUESTS_MAX};
use block::{Ask, Operation};
use nbd::{Command, Error, Export, ExtentKind, Extents, Request, Session, Step};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;

/// Requests of a client that wait, at most, and bytes of their data, beyond which no further are read.
const WAITING_MAX: usize = 64;
const WAITING_BYTES_MAX: usize = 8 << 20;
/// Bytes of answers that a client has not taken, beyond which nothing is done for it.
const ANSWERS_MAX: usize = 8 << 20;
/// Clients at a time.
pub const CLIENTS_MAX: usize = 256;

/// A client.
struct Client {
    stream: UnixStream,
    session: Session,
    /// Bytes for it, of which some are sent.
    out: Vec<u8>,
    sent: usize,
    waiting: VecDeque<Request>,
    waiting_bytes: usize,
    /// Requests that the disk has, and bytes of their answers.
    under_way: usize,
    promised: usize,
    /// It may send more.
    open: bool,
    gone: bool,
}

impl Client {
    fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
            || self.waiting_bytes >= WAITING_BYTES_MAX
            || self.unsent() >= ANSWERS_MAX
    }
    fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Sends what it can; true if something was sent.
    fn send(&mut self) -> bool {
        let mut some = false;
        while self.unsent() > 0 && !self.gone {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(count) => (self.sent, some) = (self.sent + count, true),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => return some,
                Err(_) => self.gone = true,
            }
        }
        (self.out, self.sent) = (Vec::new(), 0);
        some
    }

    /// Takes what it has sent, as far as there is room; true if that was something, so that it may send more.
    fn receive(&mut self, extents: &Extents) -> bool {
        let (mut bytes, mut some) = (vec![0; 1 << 16], false);
        loop {
            self.step(extents);
            if self.is_full() || !self.open || self.gone {
                return some;
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => {
                    // One that has closed both ways waits for nothing.
                    (self.open, self.gone) = (false, poll::is_gone(&self.stream));
                }
                Ok(count) => {
                    self.session.receive(&bytes[..count]);
                    some = true;
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => return some,
                Err(_) => self.gone = true,
            }
        }
    }

    /// Goes on with its session. What needs no disk is answered at once.
    fn step(&mut self, extents: &Extents) {
        while !self.is_full() && !self.gone {
            match self.session.step(&mut self.out) {
                Step::Request(request) => match request.command {
                    Command::BlockStatus { one } => {
                        let parts = extents.of(bytes_of(&request), one);
                        self.session.answer_status(&request, &parts, &mut self.out);
                    }
                    _ => {
                        self.waiting_bytes += request.data.len();
                        self.waiting.push_back(request);
                    }
                },
                Step::More => return,
                Step::Closed => {
                    self.open = false;
                    return;
                }
            }
        }
    }

    /// True if nothing is to be done for it any more.
    fn is_over(&self) -> bool {
        let done = self.waiting.is_empty() && self.under_way == 0 && self.unsent() == 0;
        self.gone || !self.open && done
    }

    /// Its next request, if there is room for the answer.
    fn first(&self) -> Option<&Request> {
        let kept = self.promised + self.unsent();
        let fits = |next: &Request| kept == 0 || kept + answer_of(next) <= ANSWERS_MAX;
        self.waiting.front().filter(|next| !self.gone && fits(next))
    }

    /// The same; it is taken.
    fn next(&mut self) -> Option<Request> {
        self.first()?;
        let request = self.waiting.pop_front()?;
        self.waiting_bytes -= request.data.len();
        (self.under_way, self.promised) = (self.under_way + 1, self.promised + answer_of(&request));
        Some(request)
    }
}

/// Bytes of the answer to a request.
fn answer_of(request: &Request) -> usize {
    match request.command {
        Command::Read => request.length as usize,
        _ => 0,
    }
}

fn bytes_of(request: &Request) -> Range<u64> {
    request.offset..request.offset + u64::from(request.length)
}

/// A request that the disk has.
struct UnderWay {
    client: u64,
    request: Request,
    /// Its range becomes that, once it has ended, unless somebody writes there before.
    becomes: Option<ExtentKind>,
}

/// All of them, at a disk.
pub struct Clients {
    export: Export,
    all: BTreeMap<u64, Client>,
    named: u64,
    /// The one whose request began last.
    turn: u64,
    under_way: BTreeMap<u32, UnderWay>,
    extents: Extents,
}

impl Clients {
    /// None yet.
    pub fn new(export: Export) -> Clients {
        let (all, under_way, extents) = Default::default();
        Clients { export, all, named: 0, turn: 0, under_way, extents }
    }
    /// A client comes.
    pub fn add(&mut self, stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        let mut out = Vec::new();
        let session = Session::new(self.export, &mut out);
        let client = Client {
            stream,
            session,
            out,
            sent: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            under_way: 0,
            promised: 0,
            open: true,
            gone: false,
        };
        self.named += 1;
        self.all.insert(self.named, client);
        Ok(())
    }
    /// Clients that are there.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Each client's stream: whether it is to be read, and to be written.
    pub fn streams(&self) -> impl Iterator<Item = (&UnixStream, bool, bool)> {
        let all = self.all.values();
        all.map(|one| (&one.stream, one.open && !one.is_full(), one.unsent() > 0))
    }
    /// The other ends of some streams, in the order of [`Clients::streams`], are closed.
    pub fn gone(&mut self, gone: impl Iterator<Item = bool>) {
        for (client, gone) in self.all.values_mut().zip(gone) {
            client.gone |= gone && (!client.open || client.is_full() || client.unsent() > 0);
        }
    }

    /// Sends to all what they take; true if something was sent.
    pub fn send(&mut self) -> bool {
        self.all.values_mut().fold(false, |some, client| client.send() | some)
    }

    /// Takes what they have sent, and answers what needs no disk. Those that have left are forgotten. True
    /// if something has moved, so that a client may go on.
    pub fn exchange(&mut self) -> bool {
        let mut some = false;
        for client in self.all.values_mut() {
            some |= client.receive(&self.extents);
            some |= client.send();
        }
        let before = self.all.len();
        self.all.retain(|_, client| !client.is_over());
        some | (self.all.len() < before)
    }

    /// True if requests have not begun.
    pub fn are_waiting(&self) -> bool {
        self.all.values().any(|client| !client.waiting.is_empty())
    }

    /// Requests of a clocked client begin, as many as the disk takes: those that are there at the same time
    /// in the order of their places. Which of its connections has which is up to its threads.
    #[cfg(target_arch = "x86_64")]
    pub fn begin_in_order(&mut self, disk: &mut Simulator) -> Result<(), Broken> {
        while disk.under_way() < REQUESTS_MAX {
            let all = self.all.iter().filter_map(|(name, client)| {
                client.first().map(|request| (request.offset, request.length, *name))
            });
            let first = all.min().and_then(|(.., name)| {
                self.all.get_mut(&name)?.next().map(|request| (name, request))
            });
            let Some((name, request)) = first else { return Ok(()) };
            self.begin_one(disk, name, request)?;
        }
        Ok(())
    }

    /// Requests begin, by turns of clients, as many as the disk takes.
    pub fn begin(&mut self, disk: &mut Simulator) -> Result<(), Broken> {
        while disk.under_way() < REQUESTS_MAX {
            let next = |(name, client): (&u64, &mut Client)| Some((*name, client.next()?));
            let mut found = self.all.range_mut(self.turn + 1..).find_map(next);
            if found.is_none() {
                found = self.all.iter_mut().find_map(next);
            }
            let Some((name, request)) = found else { return Ok(()) };
            self.turn = name;
            self.begin_one(disk, name, request)?;
        }
        Ok(())
    }

    fn begin_one(
        &mut self,
        disk: &mut Simulator,
        client: u64,
        mut request: Request,
    ) -> Result<(), Broken> {
        let (mut fua, mut becomes) = (false, None);
        let operation = match request.command {
            Command::Read | Command::BlockStatus { .. } => Operation::Read,
            Command::Write { fua: through } => {
                fua = through;
                Operation::Write
            }
            Command::Flush | Command::Disconnect => Operation::Flush,
            // What was trimmed reads as zeroes.
            Command::Trim { fua: through } => {
                (fua, becomes) = (through, Some(ExtentKind::Hole));
                Operation::Zero
            }
            Command::WriteZeroes { fua: through, no_hole } => {
                let kind = if no_hole { ExtentKind::Zeroes } else { ExtentKind::Hole };
                (fua, becomes) = (through, Some(kind));
                Operation::Zero
            }
        };
        let bytes = bytes_of(&request);
        let touches = |other: &Range<u64>| bytes.start < other.end && other.start < bytes.end;
        if matches!(operation, Operation::Write | Operation::Zero) {
            for other in self.under_way.values_mut() {
                if touches(&bytes_of(&other.request)) {
                    other.becomes = None;
                }
            }
            // Until it has ended nobody knows.
            self.extents.set(bytes.clone(), ExtentKind::Data);
        }
        let data = std::mem::take(&mut request.data);
        let length = bytes.end - bytes.start;
        let ask = Ask { fua, ..Ask::new(operation, bytes.start, length) };
        let number = disk.begin(ask, &data)?;
        self.under_way.insert(number, UnderWay { client, request, becomes });
        Ok(())
    }

    /// A request has ended: its client gets the answer.
    pub fn answer(&mut self, ended: Ended) {
        let Ended { number, result } = ended;
        let Some(UnderWay { client, request, becomes }) = self.under_way.remove(&number) else {
            return;
        };
        if let Some(kind) = becomes.filter(|_| result.is_ok()) {
            self.extents.set(bytes_of(&request), kind);
        }
        let Some(client) = self.all.get_mut(&client) else { return };
        client.under_way -= 1;
        if request.command == Command::Read {
            client.promised -= request.length as usize;
        }
        let result = result.as_deref().map_err(|error: &Error| *error);
        client.session.answer(&request, result, &mut client.out);
    }
}
