//! Repeated spans are skipped, without any difference in the results.

use des::*;

/// Passes tokens around a ring of processes at its own pace, until it has passed enough of them. At times it
/// has an event of its own. Each token adds to sums.
struct Station {
    queue: EventQueue<Due>,
    skip: bool,
    /// Time that a token stays here.
    pace: Duration,
    next: u32,
    /// Sums: tokens passed, and their products.
    passed: u64,
    weighed: u64,
    left: u64,
    extra: u64,
    hash: TraceHash,
    carried_out: u64,
    samples: Vec<Sample>,
}

struct Sample {
    number: u64,
    state: Vec<u64>,
    passed: u64,
    weighed: u64,
    left: u64,
    /// Events since the last sample.
    trail: Vec<(Time, u64)>,
}

#[derive(Clone, Copy)]
enum Due {
    Token(u64),
    Pass(u64),
    Own,
}

impl Station {
    fn state(&self, now: Time) -> (Vec<u64>, Time) {
        let (mut state, mut until) = (vec![self.extra], Time::NEVER);
        for (at, source, due) in self.queue.iter() {
            match due {
                Due::Token(weight) => {
                    state.extend([1, at.since(now).0, u64::from(source), *weight]);
                }
                Due::Pass(weight) => state.extend([2, at.since(now).0, *weight]),
                Due::Own => {
                    state.extend([3, at.0]);
                    until = until.min(at);
                }
            }
        }
        (state, until)
    }
    fn event(&mut self, now: Time, kind: u64) {
        self.carried_out += 1;
        self.hash.event(now, kind);
        self.samples.iter_mut().for_each(|sample| sample.trail.push((now, kind)));
    }
}

impl LogicalProcess for Station {
    type Message = u64;
    type Report = ([u64; 5], u64);
    fn next_event(&self) -> Time {
        self.queue.next_time()
    }
    fn earliest_output(&self) -> Time {
        // Paces only become longer.
        let passes = self.queue.iter().map(|(at, _, due)| match due {
            Due::Pass(_) => at,
            Due::Token(_) | Due::Own => at + self.pace,
        });
        passes.min().unwrap_or(Time::NEVER)
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<u64>) {
        while let Some((now, due)) = self.queue.pop_before(horizon) {
            match due {
                Due::Token(weight) => {
                    self.event(now, 1);
                    self.queue.schedule(now + self.pace, Due::Pass(weight));
                }
                Due::Pass(weight) => {
                    self.event(now, 2 | weight << 8);
                    self.passed += 1;
                    self.weighed += weight + self.extra;
                    self.left = self.left.saturating_sub(1);
                    if self.left > 0 {
                        outbox.send(self.next, now + LOOKAHEAD, weight);
                    }
                }
                Due::Own => {
                    self.event(now, 3);
                    self.extra += 1;
                    self.pace += Duration(self.extra);
                    self.samples.clear();
                }
            }
        }
    }
    fn receive(&mut self, e: Envelope<u64>) {
        self.queue.schedule_from(e.at, e.source, e.sequence, Due::Token(e.message));
    }
    fn status(&self) -> Status {
        if self.queue.is_empty() {
            Status::Done
        } else {
            Status::Busy
        }
    }
    fn progress(&self) -> Option<u64> {
        (self.left > 0).then_some(self.passed / 4)
    }
    fn sample(&mut self, number: u64, now: Time, began: [Time; LAGS]) -> Option<Offers> {
        if !self.skip {
            return None;
        }
        let (state, until) = self.state(now);
        let fits = fitting(until, now, began);
        let mut offers = [0; LAGS];
        for (lag, offer) in offers.iter_mut().enumerate() {
            let before = self.samples.iter().find(|s| s.number + lag as u64 + 1 == number);
            if let Some(before) = before.filter(|s| s.state == state) {
                let most = self
                    .left
                    .saturating_sub(1)
                    .checked_div(before.left - self.left)
                    .unwrap_or(u64::MAX);
                *offer = most.min(fits[lag]);
            }
        }
        let Station { passed, weighed, left, .. } = *self;
        self.samples.push(Sample { number, state, passed, weighed, left, trail: Vec::new() });
        Some(offers)
    }
    fn repeat(&mut self, since: u64, span: Duration, times: u64, _: &mut Outbox<u64>) {
        let samples = std::mem::take(&mut self.samples);
        let sample = samples.into_iter().find(|sample| sample.number == since);
        let sample = sample.expect("a stretch begins with a sample");
        self.passed += (self.passed - sample.passed) * times;
        self.weighed += (self.weighed - sample.weighed) * times;
        self.left -= (sample.left - self.left) * times;
        for turn in 1..=times {
            for (at, kind) in &sample.trail {
                self.hash.event(*at + span * turn, *kind);
            }
        }
        self.queue.shift(span * times, |due| !matches!(due, Due::Own));
    }
    fn finish(self, horizon: Time) -> ([u64; 5], u64) {
        let hash = self.hash.value();
        ([hash, self.passed, self.weighed, self.left, horizon.0], self.carried_out)
    }
}

const LOOKAHEAD: Duration = Duration(50);

type Ended = (Vec<[u64; 5]>, Ending, Time);

/// Runs a ring by seed until a time; the result, and the number of simulated events.
fn ring(seed: u64, threads: usize, skip: bool, until: Time) -> (Ended, u64) {
    let mut random = Random::new(seed);
    let stations = 2 + random.below(6) as u32;
    let builders: Vec<_> = (0..stations)
        .map(|id| {
            let mut queue = EventQueue::new(id);
            for _ in 0..random.below(3) {
                queue.schedule(Time(random.below(100)), Due::Token(random.below(4)));
            }
            for _ in 0..random.below(4) {
                queue.schedule(Time(random.below(400_000)), Due::Own);
            }
            let (pace, left) = (Duration(10 * random.below(9)), 500 + random.below(2_000));
            // Not always a ring: some wait for ever, or turn by themselves.
            let next = if random.below(5) > 0 {
                (id + 1) % stations
            } else {
                random.below(stations.into()) as u32
            };
            move || Station {
                queue,
                skip,
                pace,
                next,
                passed: 0,
                weighed: 0,
                left,
                extra: 0,
                hash: TraceHash::default(),
                carried_out: 0,
                samples: Vec::new(),
            }
        })
        .collect();
    let bounds = Bounds { until, notice: LOOKAHEAD * 100, begins: Time::ZERO };
    let (reports, ending, horizon) =
        run(builders, &Links::between_all(LOOKAHEAD, stations), threads, bounds, &Stop::new());
    let (reports, carried_out): (Vec<_>, Vec<_>) = reports.into_iter().unzip();
    ((reports, ending, horizon), carried_out.iter().sum())
}

#[test]
fn skipping_changes_nothing_but_the_work() {
    let (mut all, mut carried_out) = (0, 0);
    for seed in 0..300 {
        let (plain, work) = ring(seed, 1, false, Time::NEVER);
        all += work;
        for threads in 1..=if seed % 10 == 0 { 3 } else { 1 } {
            let (skipped, less) = ring(seed, threads, true, Time::NEVER);
            assert_eq!(skipped, plain, "seed {seed}, {threads} threads");
            if threads == 1 {
                carried_out += less;
            }
        }
    }
    assert!(carried_out * 3 < all, "{carried_out} of {all}");
}

#[test]
fn a_run_ends_where_its_time_is_up() {
    let mut ended = 0;
    for seed in 0..50 {
        let whole = ring(seed, 1, true, Time::NEVER).0;
        let mut random = Random::new(seed);
        for _ in 0..3 {
            let until = Time(random.below(whole.2 .0 + 1000));
            let (plain, _) = ring(seed, 1, false, until);
            for (threads, skip) in [(1, true), (2, false), (3, true)] {
                let (other, _) = ring(seed, threads, skip, until);
                assert_eq!(other, plain, "seed {seed} until {until}, {threads} threads");
            }
            match plain.1 {
                Ending::TimeUp => ended += 1,
                _ => assert_eq!(plain, whole, "seed {seed} until {until}"),
            }
            assert!(plain.1 != Ending::TimeUp || plain.2 == until, "seed {seed}: {plain:?}");
        }
    }
    assert!(ended > 80, "{ended}");
}
