//! Histories of processes: those that an independent model makes are accepted, and each that is spoilt in one
//! place is refused.

mod words;

use super::{Broken, Buffer, Envelope, Found, Judge, Ledger, Send, Status, Tally, Wanted};
use std::collections::VecDeque;
use std::sync::Arc;

/// Report to the judge of one rank.
#[derive(Clone, Debug)]
enum Told {
    Sends(u64, Send),
    Sent(u64),
    Receives(u64, Wanted, u64),
    ReceivesTaken(u64, u64, u64),
    Ended(u64, Found, Vec<u8>),
    Cancels(u64, bool),
    Probed(Wanted, Option<Found>),
    Takes(Wanted, u64, Found),
    Completed(u64, Status),
}

type History = Vec<(u32, Told)>;

/// Verdict of the judges on a history, after which nothing moves any more.
fn judge(ranks: u32, history: &[(u32, Told)]) -> (Option<Broken>, Tally) {
    let ledger = Arc::new(Ledger::new(ranks));
    let judges: Vec<_> = (0..ranks).map(|rank| Judge::new(rank, ledger.clone())).collect();
    let mut first = None;
    for (step, (rank, told)) in history.iter().enumerate() {
        let (at, judge) = (1_000_000 * (step as u64 + 1), &judges[*rank as usize]);
        let answer = match told.clone() {
            Told::Sends(id, send) => {
                judge.sends(at, id, send);
                Ok(())
            }
            Told::Sent(id) => {
                judge.sent(at, id);
                Ok(())
            }
            Told::Receives(id, wanted, room) => {
                judge.receives(at, id, wanted, Buffer { address: 0, length: room });
                Ok(())
            }
            Told::ReceivesTaken(id, name, room) => {
                judge.receives_taken(at, id, name, Buffer { address: 0, length: room })
            }
            Told::Ended(id, found, bytes) => {
                let read = |_, length| Some(bytes[..bytes.len().min(length as usize)].to_vec());
                judge.ended(at, id, found, None, false, &read)
            }
            Told::Cancels(id, cancelled) => judge.cancels(at, id, cancelled),
            Told::Probed(wanted, found) => judge.probed(at, wanted, found),
            Told::Takes(wanted, name, found) => judge.takes(at, wanted, name, found),
            Told::Completed(id, status) => judge.completed(at, id, status),
        };
        if let Err(broken) = answer {
            first = Some(broken);
            break;
        }
    }
    let end = 1_000_000 * (history.len() as u64 + 1);
    let last = ledger.conclude(end, |_| true).into_iter().next();
    (first.or(last), ledger.tally())
}

/// Random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
    fn often(&mut self) -> bool {
        self.below(3) > 0
    }
}

/// Bug of the model, which appears once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// A message arrives before the one that was sent before it.
    Overtakes,
    /// A message goes to the youngest receive that wants it.
    YoungestReceive,
    /// A receive takes the last message of a sender that came.
    LastUnexpected,
    /// A probe finds the second message of a sender.
    ProbeSkips,
    /// A probe takes the second message of a sender.
    TakesSecond,
    /// A probe finds nothing where one has found something.
    ProbeForgets,
    /// A synchronous send ends before anybody receives it.
    EndsTooSoon,
    /// A message is delivered again.
    Doubles,
    /// A receive never ends.
    Loses,
    /// A byte is wrong.
    Spoils,
    /// The tag that a receive tells is wrong.
    WrongTag,
    /// The sender that a receive tells is wrong.
    WrongSource,
    /// The size that a receive tells is wrong.
    WrongSize,
    /// The program is told something else than the receive was.
    WrongStatus,
    /// A receive ends that was cancelled.
    Revives,
}

const BUGS: [Bug; 15] = [
    Bug::Overtakes,
    Bug::YoungestReceive,
    Bug::LastUnexpected,
    Bug::ProbeSkips,
    Bug::TakesSecond,
    Bug::ProbeForgets,
    Bug::EndsTooSoon,
    Bug::Doubles,
    Bug::Loses,
    Bug::Spoils,
    Bug::WrongTag,
    Bug::WrongSource,
    Bug::WrongSize,
    Bug::WrongStatus,
    Bug::Revives,
];

#[derive(Clone, Debug)]
struct Letter {
    from: u32,
    envelope: Envelope,
    data: Vec<u8>,
    /// Its synchronous send, until that ends.
    waits: Option<u64>,
}

fn is_wanted(wanted: &Wanted, letter: &Letter) -> bool {
    wanted.context == letter.envelope.context
        && wanted.source.is_none_or(|source| source == letter.envelope.source)
        && wanted.tag.is_none_or(|tag| tag == letter.envelope.tag)
}

#[derive(Default)]
struct Office {
    coming: Vec<VecDeque<Letter>>,
    unexpected: Vec<Letter>,
    posted: Vec<(u64, Wanted, u64)>,
    /// Receives that have their letter and have not ended.
    matched: Vec<(u64, u64, Letter)>,
    taken: Vec<(u64, Letter)>,
}

/// Ranks that exchange letters: an operation a step, chosen at random.
struct Model {
    random: Random,
    offices: Vec<Office>,
    history: History,
    next: u64,
    bug: Option<Bug>,
}

const RANKS: u32 = 3;
const ROOM: u64 = 24;

impl Model {
    fn new(seed: u64, bug: Option<Bug>) -> Model {
        let office = |_| Office {
            coming: (0..RANKS).map(|_| VecDeque::new()).collect(),
            ..Office::default()
        };
        let offices = (0..RANKS).map(office).collect();
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Model { random, offices, history: Vec::new(), next: 0, bug }
    }

    fn tell(&mut self, rank: u32, told: Told) {
        self.history.push((rank, told));
    }
    fn name(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
    /// True, once, if this bug is to show.
    fn errs(&mut self, bug: Bug) -> bool {
        self.bug.take_if(|own| *own == bug).is_some()
    }

    fn wanted(&mut self) -> Wanted {
        let context = self.random.below(2) as u16;
        let source = self.random.often().then(|| self.random.below(RANKS as usize) as i32);
        let tag = self.random.often().then(|| self.random.below(2) as i32);
        Wanted { context, source, tag }
    }

    fn send(&mut self, rank: u32) {
        let to = self.random.below(RANKS as usize);
        let (context, tag) = (self.random.below(2) as u16, self.random.below(2) as i32);
        let (id, source) = (self.name(), rank as i32);
        // No two are alike.
        let mut data = id.to_le_bytes().to_vec();
        data.resize(8 + self.random.below(20), 7);
        let (envelope, synchronous) =
            (Envelope { context, source, tag }, self.random.below(4) == 0);
        let (length, bytes) = (data.len() as u64, Some(data.clone()));
        let kinds = None;
        let send = Send { to: to as u32, envelope, length, bytes, kinds, synchronous };
        self.tell(rank, Told::Sends(id, send));
        if !synchronous {
            self.tell(rank, Told::Sent(id));
        }
        let waits = synchronous.then_some(id);
        let letter = Letter { from: rank, envelope, data, waits };
        self.offices[to].coming[rank as usize].push_back(letter);
    }

    fn arrive(&mut self, rank: u32) {
        let from = self.random.below(RANKS as usize);
        let office = &self.offices[rank as usize];
        let first_of = |letter: &Letter| {
            office.posted.iter().position(|(_, wanted, _)| is_wanted(wanted, letter))
        };
        let mut two = office.coming[from].iter().map(|letter| (first_of(letter), letter));
        let (first, second) = (two.next(), two.next());
        let same = |one: &Letter, other: &Letter| one.envelope.context == other.envelope.context;
        let overtakes = match (first, second) {
            (Some((Some(a), one)), Some((Some(b), other))) => a == b && same(one, other),
            _ => false,
        };
        let at = usize::from(overtakes && self.errs(Bug::Overtakes));
        let office = &mut self.offices[rank as usize];
        let Some(letter) = office.coming[from].remove(at) else { return };
        let wants = |posted: &&(u64, Wanted, u64)| is_wanted(&posted.1, &letter);
        let Some(place) = office.posted.iter().position(|posted| wants(&posted)) else {
            let waits = letter.waits.filter(|_| self.errs(Bug::EndsTooSoon));
            if let Some(waits) = waits {
                let found = Found { source: 0, tag: 0, bytes: 0 };
                self.tell(letter.from, Told::Ended(waits, found, Vec::new()));
                let letter = Letter { waits: None, ..letter };
                self.offices[rank as usize].unexpected.push(letter);
                return;
            }
            self.offices[rank as usize].unexpected.push(letter);
            return;
        };
        let last = office.posted.iter().rposition(|posted| wants(&posted)).unwrap();
        if last > place
            && office.posted[place].1.source.is_some()
            && self.errs(Bug::YoungestReceive)
        {
            // It ends before anybody takes the older one back, which would explain it.
            let (id, _, room) = self.offices[rank as usize].posted.remove(last);
            let office = &mut self.offices[rank as usize];
            office.matched.push((id, room, letter));
            let youngest = office.matched.len() - 1;
            return self.complete_one(rank, youngest);
        }
        let office = &mut self.offices[rank as usize];
        let (id, _, room) = office.posted.remove(place);
        office.matched.push((id, room, letter));
    }

    /// The place of the first letter that is wanted; with a bug, of the second of its sender.
    fn look(&mut self, rank: u32, wanted: &Wanted, bug: Bug) -> Option<usize> {
        let unexpected = &self.offices[rank as usize].unexpected;
        let first = unexpected.iter().position(|letter| is_wanted(wanted, letter))?;
        let source = unexpected[first].envelope.source;
        let of_it = |letter: &Letter| is_wanted(wanted, letter) && letter.envelope.source == source;
        let last = unexpected.iter().rposition(of_it).unwrap();
        // What a probe tells of the two must differ.
        let differ = Model::found(&unexpected[first]) != Model::found(&unexpected[last]);
        let shows = last > first && (differ || bug != Bug::ProbeSkips);
        Some(if shows && self.errs(bug) { last } else { first })
    }

    fn receive(&mut self, rank: u32) {
        let (id, wanted) = (self.name(), self.wanted());
        let room = if self.random.often() { 64 } else { ROOM };
        self.tell(rank, Told::Receives(id, wanted, room));
        let place = self.look(rank, &wanted, Bug::LastUnexpected);
        let office = &mut self.offices[rank as usize];
        match place {
            Some(place) => {
                let letter = office.unexpected.remove(place);
                office.matched.push((id, room, letter));
            }
            None => office.posted.push((id, wanted, room)),
        }
    }

    fn found(letter: &Letter) -> Found {
        let Envelope { source, tag, .. } = letter.envelope;
        Found { source, tag, bytes: letter.data.len() as u64 }
    }

    fn probe(&mut self, rank: u32) {
        let wanted = self.wanted();
        let place = self.look(rank, &wanted, Bug::ProbeSkips);
        let office = &self.offices[rank as usize];
        let found = place.map(|place| Model::found(&office.unexpected[place]));
        let quiet = office.matched.is_empty();
        self.tell(rank, Told::Probed(wanted, found));
        if found.is_some() && quiet && self.errs(Bug::ProbeForgets) {
            self.tell(rank, Told::Probed(wanted, None));
        }
    }

    fn take(&mut self, rank: u32) {
        let wanted = self.wanted();
        let Some(place) = self.look(rank, &wanted, Bug::TakesSecond) else { return };
        let letter = self.offices[rank as usize].unexpected.remove(place);
        let name = self.name();
        self.tell(rank, Told::Takes(wanted, name, Model::found(&letter)));
        self.offices[rank as usize].taken.push((name, letter));
    }

    fn receive_taken(&mut self, rank: u32) {
        let office = &mut self.offices[rank as usize];
        let Some((name, letter)) = office.taken.pop() else { return };
        let id = self.name();
        self.tell(rank, Told::ReceivesTaken(id, name, 64));
        self.offices[rank as usize].matched.push((id, 64, letter));
    }

    fn complete(&mut self, rank: u32) {
        let count = self.offices[rank as usize].matched.len();
        if count == 0 {
            return;
        }
        let place = self.random.below(count);
        self.complete_one(rank, place);
    }

    fn complete_one(&mut self, rank: u32, place: usize) {
        let (id, room, letter) = self.offices[rank as usize].matched.remove(place);
        if let Some(waits) = letter.waits {
            let found = Found { source: 0, tag: 0, bytes: 0 };
            self.tell(letter.from, Told::Ended(waits, found, Vec::new()));
        }
        if self.errs(Bug::Loses) {
            return;
        }
        let (mut found, mut data) = (Model::found(&letter), letter.data.clone());
        if self.errs(Bug::Spoils) {
            let at = self.random.below(data.len().min(room as usize));
            data[at] ^= 1 << self.random.below(8);
        }
        if self.errs(Bug::WrongTag) {
            found.tag += 5;
        }
        if self.errs(Bug::WrongSource) {
            found.source += RANKS as i32;
        }
        if self.errs(Bug::WrongSize) {
            found.bytes += 100;
            data.resize(found.bytes as usize, 7);
        }
        let mut status = Status {
            source: found.source,
            tag: found.tag,
            bytes: found.bytes.min(room),
            failed: found.bytes > room,
        };
        if self.errs(Bug::WrongStatus) {
            status.bytes += 1;
        }
        self.tell(rank, Told::Ended(id, found, data.clone()));
        self.tell(rank, Told::Completed(id, status));
        if self.errs(Bug::Doubles) {
            self.tell(rank, Told::Ended(id, found, data));
        }
    }

    fn cancel(&mut self, rank: u32) {
        let office = &mut self.offices[rank as usize];
        if let Some((id, ..)) = office.posted.pop() {
            self.tell(rank, Told::Cancels(id, true));
            if self.errs(Bug::Revives) {
                let found = Found { source: 0, tag: 0, bytes: 0 };
                self.tell(rank, Told::Ended(id, found, Vec::new()));
            }
        } else if let Some(&(id, ..)) = office.matched.first() {
            self.tell(rank, Told::Cancels(id, false));
        }
    }

    fn step(&mut self) {
        let rank = self.random.below(RANKS as usize) as u32;
        match self.random.below(16) {
            0..4 => self.send(rank),
            4..8 => self.arrive(rank),
            8..11 => self.receive(rank),
            11..13 => self.complete(rank),
            13 => self.probe(rank),
            14 if self.random.often() => self.take(rank),
            14 => self.cancel(rank),
            _ => self.receive_taken(rank),
        }
    }

    /// Lets everything arrive and end; gives the history, if its bug has shown.
    fn play(mut self, steps: u32) -> Option<History> {
        for _ in 0..steps {
            self.step();
        }
        for rank in 0..RANKS {
            while self.offices[rank as usize].coming.iter().any(|way| !way.is_empty()) {
                self.arrive(rank);
            }
            while !self.offices[rank as usize].taken.is_empty() {
                self.receive_taken(rank);
            }
            while !self.offices[rank as usize].matched.is_empty() {
                self.complete(rank);
            }
        }
        self.bug.is_none().then_some(self.history)
    }
}

#[test]
fn what_follows_the_rules_is_accepted() {
    let mut all = Tally::default();
    for seed in 0..600 {
        let history = Model::new(seed, None).play(20 + seed as u32).unwrap();
        let (broken, tally) = judge(RANKS, &history);
        assert_eq!(broken, None, "seed {seed}: {history:#?}");
        all += tally;
    }
    assert!(all.received > 10_000 && all.probes > 1_000 && all.bytes > 100_000, "{all:?}");
}

#[test]
fn what_is_wrong_in_one_place_is_refused() {
    for bug in BUGS {
        let mut shown = 0;
        for seed in 0..200 {
            let Some(history) = Model::new(seed, Some(bug)).play(200) else { continue };
            let (broken, _) = judge(RANKS, &history);
            assert!(broken.is_some(), "{bug:?}, seed {seed}: {history:#?}");
            shown += 1;
        }
        assert!(shown > 50, "{bug:?} has shown {shown} times only");
    }
}
