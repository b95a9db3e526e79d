//! Windows of processes of several kinds, on one thread and more.

use super::*;
use crate::{EventQueue, Random, TraceHash};

/// No end but its own, and a notice that takes longer than most windows.
const FREE: Bounds = Bounds { until: Time::NEVER, notice: Duration(1_000), begins: Time::ZERO };

fn busy_with<E: Clone>(queue: &EventQueue<E>) -> Status {
    match queue.is_empty() {
        true => Status::Done,
        false => Status::Busy,
    }
}

/// Passes tokens to random peers; each token lives a number of hops.
struct Node {
    queue: EventQueue<u32>,
    random: Random,
    peers: u32,
    hash: TraceHash,
    fail_at: Time,
    failed: Option<Time>,
}

impl LogicalProcess for Node {
    type Message = u32;
    type Report = u64;
    fn next_event(&self) -> Time {
        self.queue.next_time()
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<u32>) {
        while let Some((now, hops)) = self.queue.pop_before(horizon) {
            self.hash.event(now, hops.into());
            if hops > 0 {
                let target = self.random.below(self.peers.into()) as u32;
                // Few distinct delays: many ties.
                outbox.send(target, now + Duration(50 + 10 * self.random.below(3)), hops - 1);
            }
            if now >= self.fail_at {
                self.failed = Some(now);
                break;
            }
        }
    }
    fn receive(&mut self, e: Envelope<u32>) {
        self.queue.schedule_from(e.at, e.source, e.sequence, e.message);
    }
    fn status(&self) -> Status {
        match (self.failed, self.queue.is_empty()) {
            (Some(at), _) => Status::Failed(at),
            (None, true) => Status::Done,
            (None, false) => Status::Busy,
        }
    }
    fn finish(self, _: Time) -> u64 {
        self.hash.value()
    }
}

fn tokens(threads: usize, fail_at: Time) -> (Vec<u64>, Ending, Time) {
    let builders: Vec<_> = (0..7u32)
        .map(|id| {
            move || {
                let mut queue = EventQueue::new(id);
                queue.schedule(Time(u64::from(id % 2)), 500);
                queue.schedule(Time(1), 300);
                let random = Random::new(id.into());
                let hash = TraceHash::default();
                Node { queue, random, peers: 7, hash, fail_at, failed: None }
            }
        })
        .collect();
    run(builders, &Links::between_all(Duration(50), 7), threads, FREE, &Stop::new())
}

#[test]
fn threads_do_not_change_the_run() {
    let one = tokens(1, Time::NEVER);
    assert_eq!(one.1, Ending::Done);
    for threads in [2, 3, 7, 20] {
        assert_eq!(tokens(threads, Time::NEVER), one);
    }
}

/// Answers each message (9) after a time of its own (0), and does what nobody else sees (7).
struct Slow {
    queue: EventQueue<u32>,
    hash: TraceHash,
    windows: u64,
    tells: bool,
    last: Time,
}
const THINKS: Duration = Duration(400);

impl LogicalProcess for Slow {
    type Message = u32;
    type Report = (u64, u64);
    fn next_event(&self) -> Time {
        self.queue.next_time()
    }
    fn earliest_output(&self) -> Time {
        // Messages are events that lead to others; the others to messages.
        let leads = |(at, _, kind): (Time, u32, &u32)| if *kind == 0 { at } else { at + THINKS };
        match self.tells {
            true => self.queue.iter().map(leads).min().unwrap_or(Time::NEVER),
            false => self.next_event(),
        }
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<u32>) {
        self.windows += 1;
        while let Some((now, kind)) = self.queue.pop_before(horizon) {
            self.hash.event(now, kind.into());
            self.last = now;
            match kind {
                0 => outbox.send(1 - outbox.source, now + Duration(50), 9),
                _ if now > Time(100_000) => {}
                9 => self.queue.schedule(now + THINKS, 0),
                _ => self.queue.schedule(now + Duration(20), 7),
            }
        }
    }
    fn receive(&mut self, e: Envelope<u32>) {
        self.queue.schedule_from(e.at, e.source, e.sequence, e.message);
    }
    fn status(&self) -> Status {
        busy_with(&self.queue)
    }
    fn quiesce_time(&self) -> Time {
        self.last + THINKS + THINKS
    }
    fn finish(self, end: Time) -> (u64, u64) {
        assert!(end >= self.quiesce_time());
        (self.hash.value(), self.windows)
    }
}

#[test]
fn looking_further_ahead_makes_fewer_windows_and_changes_nothing() {
    let slow = |threads, tells| {
        let builders: Vec<_> = (0..2)
            .map(|id| {
                move || {
                    let mut queue = EventQueue::new(id);
                    queue.schedule(Time(3), 7);
                    queue.schedule(Time(17), 9);
                    let hash = TraceHash::default();
                    Slow { queue, hash, windows: 0, tells, last: Time::ZERO }
                }
            })
            .collect();
        let (reports, _, end) =
            run(builders, &Links::between_all(Duration(50), 2), threads, FREE, &Stop::new());
        (reports, end)
    };
    let ((near, end), (far, far_end)) = (slow(1, false), slow(1, true));
    assert_eq!((far.clone(), far_end), slow(2, true));
    assert_eq!(far_end, end, "what rests longer than a window ends at the same time");
    for (near, far) in near.iter().zip(&far) {
        assert_eq!(near.0, far.0);
        assert!(far.1 * 2 < near.1, "{} and {} windows", far.1, near.1);
    }
}

#[test]
fn a_failure_ends_the_run_at_one_instant_for_any_number_of_threads() {
    let one = tokens(1, Time(4_000));
    assert_eq!(one.1, Ending::Failed);
    assert!(one.2 >= Time(4_000) + FREE.notice);
    assert_eq!(tokens(2, Time(4_000)), one);
}

/// Fails at a time of its own, after some work alone.
struct Alone {
    fails: Time,
    done: Time,
    steps: Vec<Time>,
}

impl LogicalProcess for Alone {
    type Message = ();
    type Report = Vec<Time>;
    fn next_event(&self) -> Time {
        self.done + Duration(10)
    }
    fn advance_to(&mut self, horizon: Time, _: &mut Outbox<()>) {
        while self.next_event() < horizon && self.done < self.fails {
            self.done = self.next_event();
            self.steps.push(self.done);
        }
    }
    fn receive(&mut self, _: Envelope<()>) {}
    fn status(&self) -> Status {
        if self.done < self.fails {
            Status::Busy
        } else {
            Status::Failed(self.done)
        }
    }
    fn finish(self, _: Time) -> Vec<Time> {
        self.steps
    }
}

#[test]
fn a_failure_ends_all_others_a_notice_later_wherever_windows_end() {
    // In a long row the first is far from the last: the last one fails early in the run's rounds, but late in
    // time.
    let fails = [900, 5_000, 5_000, 5_000, 5_000, 300].map(Time);
    for (threads, hop, notice) in [(1, 70, 400), (2, 70, 400), (1, 1, 400), (1, 400, 400)] {
        let builders: Vec<_> = fails
            .iter()
            .map(|fails| move || Alone { fails: *fails, done: Time::ZERO, steps: Vec::new() })
            .collect();
        let row = Links::new(Duration(hop), 6, |i| {
            [i.wrapping_sub(1), i + 1].into_iter().filter(|i| *i < 6)
        });
        let never = Time::NEVER;
        for (until, begins) in [(never, 0), (Time(600), 0), (Time(200), 0), (never, 800)] {
            let bounds = Bounds { until, notice: Duration(notice), begins: Time(begins) };
            let (reports, ending, end) = run(builders.clone(), &row, threads, bounds, &Stop::new());
            let failed = until > Time(300);
            assert_eq!(ending, if failed { Ending::Failed } else { Ending::TimeUp });
            assert_eq!(end, until.min(Time(700.max(begins))));
            for (steps, fails) in reports.iter().zip(&fails) {
                let last = (end.0 - 1) / 10 * 10;
                assert_eq!(*steps.last().unwrap(), Time(last).min(*fails));
            }
        }
    }
}

/// Passes messages on along a row to where they are meant for, which thinks before it sends another one.
struct Relay {
    id: u32,
    queue: EventQueue<Letter>,
    random: Random,
    hash: TraceHash,
    windows: u64,
    announces: bool,
    last: Time,
}

#[derive(Clone, Copy)]
enum Letter {
    To(u32),
    Thought,
}

const HOP: Duration = Duration(50);
const RELAYS: u32 = 9;

impl Relay {
    fn next_to(&self, to: u32) -> u32 {
        if to > self.id {
            self.id + 1
        } else {
            self.id - 1
        }
    }
    fn pass(&mut self, now: Time, to: u32, outbox: &mut Outbox<u32>) {
        if to == self.id {
            return self.queue.schedule(now + THINKS, Letter::Thought);
        }
        outbox.send(self.next_to(to), now + HOP, to);
    }
    fn announce(&self, at: Time, to: u32, told: &mut Vec<Announced>) {
        let way: Vec<_> =
            if to > self.id { (self.id + 1..=to).collect() } else { (to..self.id).rev().collect() };
        let mut at = at;
        for target in way {
            at += HOP;
            told.push(Announced { target, at, ends: target == to });
        }
    }
}

impl LogicalProcess for Relay {
    type Message = u32;
    type Report = (u64, u64);
    fn next_event(&self) -> Time {
        self.queue.next_time()
    }
    fn lookahead(&self, told: &mut Vec<Announced>) -> Lookahead {
        let mut earliest_output = Time::NEVER;
        for (at, _, letter) in self.queue.iter() {
            earliest_output = earliest_output.min(match *letter {
                Letter::To(to) if !self.announces || to == self.id => at + THINKS,
                Letter::To(to) => {
                    self.announce(at, to, told);
                    Time::NEVER
                }
                Letter::Thought => at,
            });
            if !self.announces {
                earliest_output = earliest_output.min(at);
            }
        }
        Lookahead {
            earliest_output,
            reaction_time: if self.announces { THINKS } else { Duration::ZERO },
        }
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<u32>) {
        self.windows += 1;
        while let Some((now, letter)) = self.queue.pop_before(horizon) {
            self.last = now;
            match letter {
                Letter::To(to) => {
                    self.hash.event(now, to.into());
                    self.pass(now, to, outbox);
                }
                Letter::Thought if now > Time(200_000) => {}
                Letter::Thought => {
                    let to = self.random.below(RELAYS.into()) as u32;
                    self.hash.event(now, 100 + u64::from(to));
                    self.pass(now, to, outbox);
                }
            }
        }
    }
    fn receive(&mut self, e: Envelope<u32>) {
        self.queue.schedule_from(e.at, e.source, e.sequence, Letter::To(e.message));
    }
    fn status(&self) -> Status {
        busy_with(&self.queue)
    }
    fn quiesce_time(&self) -> Time {
        self.last + THINKS + THINKS
    }
    fn finish(self, _: Time) -> (u64, u64) {
        (self.hash.value(), self.windows)
    }
}

#[test]
fn announcements_make_windows_longer_and_change_nothing() {
    let row =
        Links::new(HOP, RELAYS, |i| [i.wrapping_sub(1), i + 1].into_iter().filter(|i| *i < RELAYS));
    let run = |announces, threads| {
        let builders: Vec<_> = (0..RELAYS)
            .map(|id| {
                move || {
                    let mut queue = EventQueue::new(id);
                    if id % 4 == 0 {
                        queue.schedule(Time(100 + 130 * u64::from(id)), Letter::Thought);
                    }
                    let random = Random::new(id.into());
                    let (hash, windows, last) = (TraceHash::default(), 0, Time::ZERO);
                    Relay { id, queue, random, hash, windows, announces, last }
                }
            })
            .collect();
        let (reports, ending, end) = run(builders, &row, threads, FREE, &Stop::new());
        assert_eq!(ending, Ending::Done);
        let windows: u64 = reports.iter().map(|(_, windows)| windows).sum();
        (reports.into_iter().map(|(hash, _)| hash).collect::<Vec<_>>(), end, windows)
    };
    let (hashes, end, most) = run(false, 1);
    for threads in [1, 2, 3] {
        let (told, until, windows) = run(true, threads);
        assert_eq!((told, until), (hashes.clone(), end));
        assert!(5 * windows < 4 * most, "{windows} instead of {most}");
    }
}

/// Waits for a message that never comes.
struct Waiting;
impl LogicalProcess for Waiting {
    type Message = ();
    type Report = ();
    fn next_event(&self) -> Time {
        Time::NEVER
    }
    fn advance_to(&mut self, _: Time, _: &mut Outbox<()>) {}
    fn receive(&mut self, _: Envelope<()>) {}
    fn status(&self) -> Status {
        Status::Quiet
    }
    fn finish(self, _: Time) {}
}

#[test]
fn nothing_moving_is_a_deadlock() {
    let builders = vec![|| Waiting, || Waiting];
    let links = Links::between_all(Duration(1), 2);
    assert_eq!(run(builders, &links, 2, FREE, &Stop::new()).1, Ending::Deadlock);
}

#[test]
fn a_panic_on_one_worker_ends_the_run() {
    let result = std::panic::catch_unwind(|| {
        let builders: Vec<Box<dyn FnOnce() -> Waiting + Send>> =
            vec![Box::new(|| Waiting), Box::new(|| panic!("our bug"))];
        run(builders, &Links::between_all(Duration(1), 2), 2, FREE, &Stop::new())
    });
    assert!(result.is_err());
}

/// Fails at a time of its own.
struct Fragile {
    fails: Time,
    failed: bool,
}

impl LogicalProcess for Fragile {
    type Message = ();
    type Report = bool;
    fn next_event(&self) -> Time {
        self.fails
    }
    fn advance_to(&mut self, horizon: Time, _: &mut Outbox<()>) {
        self.failed = self.fails < horizon;
    }
    fn receive(&mut self, _: Envelope<()>) {}
    fn status(&self) -> Status {
        if self.failed {
            Status::Failed(self.fails)
        } else {
            Status::Busy
        }
    }
    fn finish(self, _: Time) -> bool {
        self.failed
    }
}

#[test]
fn all_that_fail_at_the_time_of_the_first_are_heard() {
    let ring = Links::new(Duration(50), 6, |to| [(to + 1) % 6, (to + 5) % 6]);
    for times in [[300, 500, 300, 200, 200, 201], [201, 200, 201, 201, 200, 900]] {
        let builders = times.map(|fails| move || Fragile { fails: Time(fails), failed: false });
        let (failed, ending, _) = run(builders.into(), &ring, 1, FREE, &Stop::new());
        assert_eq!(ending, Ending::Failed);
        assert!(times.iter().zip(failed).all(|(fails, failed)| failed || *fails > 200));
    }
}

/// Has something to do every 10 ps, for ever; asks for the end at a time of its own.
struct Ticking<'a> {
    next: Time,
    stops: Time,
    stop: &'a Stop,
}

impl LogicalProcess for Ticking<'_> {
    type Message = ();
    type Report = Time;
    fn next_event(&self) -> Time {
        self.next
    }
    fn advance_to(&mut self, horizon: Time, _: &mut Outbox<()>) {
        while self.next < horizon {
            if self.next >= self.stops {
                self.stop.request();
            }
            self.next += Duration(10);
        }
    }
    fn receive(&mut self, _: Envelope<()>) {}
    fn status(&self) -> Status {
        Status::Busy
    }
    fn finish(self, _: Time) -> Time {
        self.next
    }
}

#[test]
fn a_run_that_is_stopped_ends_behind_all_that_was_done_in_it() {
    for threads in [1, 2, 3] {
        let stop = &Stop::new();
        let builders = [4_000, 700, 5_000]
            .map(|stops| move || Ticking { next: Time::ZERO, stops: Time(stops), stop });
        let links = Links::between_all(Duration(50), 3);
        let (next, ending, end) = run(builders.into(), &links, threads, FREE, stop);
        assert_eq!(ending, Ending::Stopped);
        // The end is that of the last window, in which each did what it had to do before it.
        assert!(
            end > Time(700) && next.iter().all(|next| (end..end + Duration(10)).contains(next))
        );
    }
}
