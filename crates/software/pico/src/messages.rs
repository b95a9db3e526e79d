//! MPI's messages over links: matching, short messages at once, long ones when their receive is there.
//!
//! ```text
//!  sender                                    receiver
//!    EAGER (envelope, bytes) ───────────────►  matched, or kept until it is received
//!
//!    ANNOUNCE (envelope, length) ───────────►  matched, or kept: an envelope only
//!    ◄─────────────────────────────── FETCH    its receive is there
//!    PART, PART, PART ──────────────────────►  into the receive's memory
//! ```
//! A message that fits in a packet goes at once, as long as the receiver keeps fewer than `UNEXPECTED` such
//! messages of this sender; so unexpected messages take bounded memory, and nobody has to wait for room.

use crate::begin_error::BeginError;
use crate::link::{Came, Link};
use crate::space::Space;
use abi::pico::{self, kind, Announcement, Envelope, Fetch, Header, Part};
use mpi::{Address, Begun, Bytes, Ending, Found, Mode, RequestId, Step, Taken, Wanted};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a packet behind its header.
const BODY: usize = DP_MAX - Header::SIZE;
/// Most bytes of a packet of Directed Point (dp.h).
pub const DP_MAX: usize = 1500;
/// Most bytes of a message that goes at once.
pub const EAGER: usize = BODY - Envelope::SIZE;
const PART: usize = BODY - Part::SIZE;
/// Looks for packets after which the time is looked at although there are some. Assumed.
const LOOKS: u32 = 16;
/// Asks in vain after which the peers of a rank that has finished are taken to have ended. Assumed.
const ASKS: u32 = 8;
/// Nanoseconds for which a rank that has finished still answers: who has missed its last packet has asked
/// twice by then.
const LINGER: u64 = 4 * crate::link::FIRST;

/// Packets to and from peers. Errors end the program.
pub trait Network {
    /// Sends a packet.
    fn send(&mut self, peer: u32, packet: &[u8]);
    /// Packets that have come, at most one from each peer, in the order of peers. Waits for one until that
    /// time; without a time, for as long as it takes; not at all with 0.
    fn receive(&mut self, until: Option<u64>) -> Vec<(u32, Vec<u8>)>;
    /// The time, in ns.
    fn now(&self) -> u64;
}

/// A message that nobody has received yet.
struct Message {
    context: u16,
    found: Found,
    peer: u32,
    body: Body,
}

enum Body {
    Here(Vec<u8>),
    /// At its sender, by this name.
    There(u32),
}

/// Something that goes to a peer when the link has room.
enum Job {
    /// A segment; the request of a send that is then over.
    Segment(u8, Vec<u8>, Option<RequestId>),
    /// Bytes for a receive of the peer's.
    Parts { receive: u32, bytes: Bytes, id: RequestId },
}

struct Peer {
    link: Link,
    jobs: VecDeque<Job>,
    /// Messages EAGER that were sent.
    eager: u16,
}

/// A receive that has its message, and not all of the bytes.
struct Receive {
    id: RequestId,
    found: Found,
    room: Bytes,
    /// Bytes that have come.
    came: u64,
}

/// The messages of one rank.
pub struct Messages<N> {
    rank: u32,
    space: Space,
    network: N,
    peers: BTreeMap<u32, Peer>,
    /// Receives that wait for a message, and messages that wait for a receive, the oldest first.
    posted: VecDeque<(RequestId, Wanted, Bytes)>,
    unexpected: VecDeque<Message>,
    /// Messages that a probe has taken; announced sends; receives under way; by name.
    taken: BTreeMap<u64, Message>,
    sends: BTreeMap<u32, (RequestId, Bytes)>,
    receives: BTreeMap<u32, Receive>,
    /// The name that was given last.
    name: u32,
    /// Looks for packets so far.
    looks: u32,
    news: VecDeque<Step>,
}

fn matches(wanted: &Wanted, context: u16, found: &Found) -> bool {
    wanted.context == context
        && (wanted.source == found.source || wanted.source == abi::mpi::ANY_SOURCE)
        && (wanted.tag == found.tag || wanted.tag == abi::mpi::ANY_TAG)
}

fn structure<const SIZE: usize>(emit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BODY);
    bytes.resize(SIZE, 0);
    emit(&mut bytes);
    bytes
}

/// Places that each of so many ranks has in the module of another node.
pub fn places(ranks: u32) -> Result<u16, BeginError> {
    let places = (pico::NODE_PLACES / (ranks - 1).max(1)).min(pico::CHANNEL_PLACES);
    if places < pico::LEAST_PLACES {
        return Err(BeginError::Ranks { ranks });
    }
    Ok(places as u16)
}

impl<N: Network> Messages<N> {
    /// Nothing has been sent.
    pub fn new(rank: u32, ranks: u32, places: u16, space: Space, network: N) -> Messages<N> {
        let peer = |_: &u32| Peer { link: Link::new(places), jobs: VecDeque::new(), eager: 0 };
        let others = (0..ranks).filter(|other| *other != rank);
        Messages {
            rank,
            space,
            network,
            peers: others.map(|other| (other, peer(&other))).collect(),
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            taken: BTreeMap::new(),
            sends: BTreeMap::new(),
            receives: BTreeMap::new(),
            name: 0,
            looks: 0,
            news: VecDeque::new(),
        }
    }

    fn new_name(&mut self) -> u32 {
        self.name = self.name.wrapping_add(1);
        self.name
    }

    fn peer(&mut self, peer: u32) -> &mut Peer {
        self.peers.get_mut(&peer).expect("a rank of the world")
    }

    // Sending.

    /// Starts a send. True if it is over.
    pub fn send(
        &mut self,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> mpi::Result<bool> {
        let found = Found { source: to.source as i32, tag: to.tag, bytes: bytes.length };
        let short = mode == Mode::Standard && bytes.length <= EAGER as u64;
        if to.target == self.rank {
            let body = if short {
                Body::Here(self.space.read(bytes)?)
            } else {
                self.wait_there(id, bytes)
            };
            self.arrived(Message { context: to.context, found, peer: self.rank, body });
            return Ok(short);
        }
        let envelope =
            Envelope { context: to.context, source: to.source as u16, tag: to.tag as u32 };
        let mut body = structure::<{ Envelope::SIZE }>(|body| envelope.emit(body));
        let peer = self.peer(to.target);
        let kept = peer.eager.wrapping_sub(peer.link.freed_there());
        if short && u32::from(kept) < pico::UNEXPECTED {
            body.extend(self.space.read(bytes)?);
            let peer = self.peer(to.target);
            peer.eager = peer.eager.wrapping_add(1);
            peer.jobs.push_back(Job::Segment(kind::EAGER, body, Some(id)));
        } else {
            let Body::There(send) = self.wait_there(id, bytes) else { unreachable!("it is there") };
            let announcement = Announcement { length: bytes.length, send };
            body.extend(structure::<{ Announcement::SIZE }>(|body| announcement.emit(body)));
            self.peer(to.target).jobs.push_back(Job::Segment(kind::ANNOUNCE, body, None));
        }
        self.pump(to.target);
        let own = Step::Ended(over(id, Found::NOTHING));
        let over = self.news.back() == Some(&own);
        if over {
            self.news.pop_back();
        }
        Ok(over)
    }

    /// A send that waits for its receive.
    fn wait_there(&mut self, id: RequestId, bytes: Bytes) -> Body {
        let name = self.new_name();
        self.sends.insert(name, (id, bytes));
        Body::There(name)
    }

    /// Sends a peer what its link allows.
    fn pump(&mut self, to: u32) {
        let Messages { network, peers, news, space, .. } = self;
        let peer = peers.get_mut(&to).expect("a rank of the world");
        while let Some(packet) = peer.link.due() {
            network.send(to, &packet);
        }
        while peer.link.may_send() {
            let Some(job) = peer.jobs.pop_front() else { return };
            let (kind, body, ended) = match job {
                Job::Segment(kind, body, ended) => (kind, body, ended),
                Job::Parts { receive, bytes: Bytes { va, length }, id } => {
                    let mut body = structure::<{ Part::SIZE }>(|body| Part { receive }.emit(body));
                    let piece = length.min(PART as u64);
                    let bytes = space.read(Bytes { va, length: piece });
                    body.extend(bytes.expect("the send has looked at its buffer"));
                    let rest = Bytes { va: va + piece, length: length - piece };
                    let ended = (rest.length == 0).then_some(id);
                    if ended.is_none() {
                        peer.jobs.push_front(Job::Parts { receive, bytes: rest, id });
                    }
                    (kind::PART, body, ended)
                }
            };
            network.send(to, &peer.link.send(kind, body));
            news.extend(ended.map(|id| Step::Ended(over(id, Found::NOTHING))));
        }
    }

    // Receiving.

    /// Starts a receive.
    pub fn receive(&mut self, id: RequestId, wanted: Wanted, room: Bytes) -> Begun {
        match self.unexpected(&wanted).and_then(|at| self.unexpected.remove(at)) {
            Some(message) => self.accept(id, room, message),
            None => {
                self.posted.push_back((id, wanted, room));
                Begun::UnderWay
            }
        }
    }

    /// Starts a receive of a message that was taken.
    pub fn receive_taken(&mut self, id: RequestId, name: Taken, room: Bytes) -> Begun {
        let message = self.taken.remove(&name.0).expect("it was taken");
        self.accept(id, room, message)
    }

    /// Takes back a receive. False if it has its message.
    pub fn cancel(&mut self, id: RequestId) -> bool {
        let at = self.posted.iter().position(|(own, ..)| *own == id);
        at.and_then(|at| self.posted.remove(at)).is_some()
    }

    fn unexpected(&self, wanted: &Wanted) -> Option<usize> {
        self.unexpected.iter().position(|own| matches(wanted, own.context, &own.found))
    }

    /// The message that a receive would get.
    pub fn find(&self, wanted: &Wanted) -> Option<Found> {
        self.unexpected(wanted).map(|at| self.unexpected[at].found)
    }

    /// Takes that message.
    pub fn take(&mut self, wanted: &Wanted) -> Taken {
        let at = self.unexpected(wanted).expect("it was found");
        let name = u64::from(self.new_name());
        self.taken.extend(self.unexpected.remove(at).map(|message| (name, message)));
        Taken(name)
    }

    /// A receive gets its message.
    fn accept(&mut self, id: RequestId, room: Bytes, message: Message) -> Begun {
        let Message { found, peer, body, .. } = message;
        let length = found.bytes.min(room.length);
        let error = match body {
            Body::Here(bytes) => {
                if peer != self.rank {
                    self.peer(peer).link.free();
                }
                self.space.write(room.va, &bytes[..length as usize]).err()
            }
            Body::There(name) if peer == self.rank => {
                let (send, bytes) = self.sends.remove(&name).expect("it is announced");
                self.news.push_back(Step::Ended(over(send, Found::NOTHING)));
                let bytes = self.space.read(Bytes { length, ..bytes });
                bytes.and_then(|bytes| self.space.write(room.va, &bytes)).err()
            }
            Body::There(send) => {
                let receive = self.new_name();
                let fetch = Fetch { length, send, receive };
                let body = structure::<{ Fetch::SIZE }>(|body| fetch.emit(body));
                self.peer(peer).jobs.push_back(Job::Segment(kind::FETCH, body, None));
                self.pump(peer);
                if length > 0 {
                    let room = Bytes { length, ..room };
                    self.receives.insert(receive, Receive { id, found, room, came: 0 });
                    return Begun::UnderWay;
                }
                None
            }
        };
        Begun::Ended(Ending { error, ..over(id, found) })
    }

    /// A message has come: to the first receive that wants it.
    fn arrived(&mut self, message: Message) {
        let wants =
            |(_, wanted, _): &(_, Wanted, _)| matches(wanted, message.context, &message.found);
        let Some((id, _, room)) =
            self.posted.iter().position(wants).and_then(|at| self.posted.remove(at))
        else {
            return self.unexpected.push_back(message);
        };
        if let Begun::Ended(ending) = self.accept(id, room, message) {
            self.news.push_back(Step::Ended(ending));
        }
    }

    /// A segment has come.
    fn segment(&mut self, peer: u32, kind: u8, body: &[u8]) {
        match kind {
            kind::EAGER | kind::ANNOUNCE => {
                let Some(envelope) = Envelope::parse(body) else { return };
                let rest = &body[Envelope::SIZE..];
                let announced = Announcement::parse(rest).filter(|_| kind == kind::ANNOUNCE);
                let (bytes, body) = match announced {
                    Some(Announcement { length, send }) => (length, Body::There(send)),
                    None => (rest.len() as u64, Body::Here(rest.to_vec())),
                };
                let found =
                    Found { source: envelope.source.into(), tag: envelope.tag as i32, bytes };
                self.arrived(Message { context: envelope.context, found, peer, body });
            }
            kind::FETCH => {
                let Some(Fetch { length, send, receive }) = Fetch::parse(body) else { return };
                let Some((id, bytes)) = self.sends.remove(&send) else { return };
                if length == 0 {
                    return self.news.push_back(Step::Ended(over(id, Found::NOTHING)));
                }
                let bytes = Bytes { length, ..bytes };
                self.peer(peer).jobs.push_back(Job::Parts { receive, bytes, id });
            }
            _ => self.part(body),
        }
    }

    fn part(&mut self, body: &[u8]) {
        let Some(Part { receive: name }) = Part::parse(body) else { return };
        let Some(receive) = self.receives.get_mut(&name) else { return };
        let bytes = &body[Part::SIZE..];
        let written = self.space.write(receive.room.va + receive.came, bytes);
        receive.came += bytes.len() as u64;
        if receive.came == receive.room.length || written.is_err() {
            let ending = Ending { error: written.err(), ..over(receive.id, receive.found) };
            self.news.push_back(Step::Ended(ending));
            self.receives.remove(&name);
        }
    }

    // Progress.

    /// Looks once for packets, as [`Network::receive`] does until that time. True if one came.
    fn progress(&mut self, until: Option<u64>) -> bool {
        let Messages { peers, network, .. } = self;
        let alarms = peers.values_mut().filter_map(|peer| {
            let blocked = !peer.jobs.is_empty();
            peer.link.alarm(blocked, || network.now())
        });
        let alarm = alarms.min();
        let until = match (until, alarm) {
            (Some(until), Some(alarm)) => Some(until.min(alarm)),
            (until, alarm) => until.or(alarm),
        };
        let packets = network.receive(until);
        for (from, packet) in &packets {
            if let Came::Segment(kind, body) = self.peer(*from).link.take(packet) {
                self.segment(*from, kind, body);
            }
            self.pump(*from);
        }
        // Others may have much to say while one is silent; the time is not looked at for each packet.
        self.looks = self.looks.wrapping_add(1);
        if alarm.is_some() && (packets.is_empty() || self.looks % LOOKS == 0) {
            self.ask();
        }
        !packets.is_empty()
    }

    /// Asks the peers of which too little has been heard.
    fn ask(&mut self) {
        let now = self.network.now();
        for (to, peer) in &mut self.peers {
            if let Some(packet) = peer.link.ask(now) {
                self.network.send(*to, &packet);
            }
        }
    }

    /// Looks once for news.
    pub fn poll(&mut self) -> Step {
        if self.news.is_empty() && self.progress(Some(0)) && self.news.is_empty() {
            return Step::Event;
        }
        self.news.pop_front().unwrap_or(Step::Nothing)
    }

    /// Waits for news.
    pub fn wait(&mut self) -> Step {
        if self.news.is_empty() {
            self.progress(None);
        }
        self.news.pop_front().unwrap_or(Step::Event)
    }

    /// This rank has finished, and so have all others or they are about to: waits until all that it has sent
    /// is confirmed, and answers for a while.
    pub fn close(&mut self) {
        let mut asks = 0;
        while asks < ASKS && !self.peers.values().all(|peer| peer.link.is_quiet()) {
            asks += u32::from(!self.progress(None));
        }
        let peers: Vec<u32> = self.peers.keys().copied().collect();
        for peer in peers {
            self.peer(peer).link.sign_off();
            self.pump(peer);
        }
        let end = self.network.now() + LINGER;
        while self.network.now() < end {
            self.progress(Some(end));
        }
    }
}

fn over(id: RequestId, found: Found) -> Ending {
    Ending { id, found, error: None }
}
