//! The launcher's answers do not depend on which node looks first.

#![allow(clippy::single_range_in_vec_init)] // Runs of one program.

use super::network::{Answer, Costs, Network};
use super::records::Name;
use crate::launch;
use des::{Duration, Random, Time};

const NOTICE: u64 = 30;
const RANKS: u32 = 6;
const PER_NODE: u32 = 2;
/// All begin then.
const BEGIN: Time = Time(1000);

/// A thing that a rank does.
#[derive(Clone, Debug)]
enum Act {
    /// It computes for so long.
    Think(u64),
    Send(String),
    /// It waits for so many lines.
    Await(usize),
    /// It closes its connection.
    Close,
}

/// A rank, at its own time.
struct Rank {
    number: u32,
    socket: u64,
    now: Time,
    connected: bool,
    again: bool,
    acts: Vec<Act>,
    at: usize,
    sent: usize,
    come: Vec<u8>,
    /// Each piece that it has received.
    log: Vec<(Time, Vec<u8>)>,
}

impl Rank {
    fn is_over(&self) -> bool {
        self.at == self.acts.len()
    }

    /// Does what it does next, or looks and waits.
    fn step(&mut self, network: &Network) {
        let now = self.now;
        let mut state = network.at(now);
        let outlook = state.outlook().unwrap();
        let to = Name { node: launch::NODE, port: launch::PORT };
        let answer = match &self.acts[self.at] {
            _ if !self.connected => match state.connect(self.socket, to, self.again, now) {
                Answer::Done(_) => {
                    self.connected = true;
                    return;
                }
                answer => answer,
            },
            Act::Think(time) => {
                self.now += Duration(*time);
                self.at += 1;
                return;
            }
            Act::Send(text) => match state.send(self.socket, &text.as_bytes()[self.sent..], now) {
                Answer::Done(sent) => {
                    self.sent += sent as usize;
                    if self.sent == text.len() {
                        (self.at, self.sent) = (self.at + 1, 0);
                    }
                    return;
                }
                answer => answer,
            },
            Act::Await(lines) => match state.receive(self.socket, 100, false, now) {
                Ok(data) => {
                    self.come.extend(&data);
                    self.log.push((now, data));
                    if self.come.iter().filter(|byte| **byte == b'\n').count() == *lines {
                        self.come.clear();
                        self.at += 1;
                    }
                    return;
                }
                Err(answer) => answer,
            },
            Act::Close => {
                state.close(self.socket, now);
                state.end_rank(self.number, now);
                self.at += 1;
                return;
            }
        };
        let Answer::Later(next) = answer else { panic!("{answer:?}") };
        self.again = true;
        self.now = next.unwrap_or(Time::NEVER).min(now + outlook);
        assert!(self.now > now && self.now < Time(1_000_000), "rank {} hangs", self.number);
    }
}

/// Acts of a rank: its commands are drawn by lot, and meet at the same barriers.
fn acts(rank: u32, lots: &mut Random) -> Vec<Act> {
    let mut acts = vec![Act::Send(format!("cmd=initack pmiid={rank}\n")), Act::Await(4)];
    for round in 0..3 {
        for _ in 0..lots.below(4) {
            acts.push(Act::Think([0, 1, 7, 30, 111][lots.below(5) as usize]));
            let key = lots.below(3);
            acts.push(Act::Send(match lots.below(3) {
                0 => format!("cmd=put key=k{key} value={rank}.{round}\n"),
                1 => format!("cmd=get key=k{key}\n"),
                _ => format!("cmd=get key=k{key}\ncmd=get key=k0\ncmd=get_appnum\n"),
            }));
            let Some(Act::Send(text)) = acts.last() else { unreachable!("just pushed") };
            acts.push(Act::Await(text.lines().count()));
        }
        acts.extend([Act::Send("cmd=barrier_in\n".into()), Act::Await(1)]);
    }
    acts.extend([Act::Send("cmd=finalize\n".into()), Act::Await(1), Act::Close]);
    acts
}

/// Runs a case; nodes take turns as `turns` says, as far as none gets ahead of another by the notice.
fn run(
    case: u64,
    costs: Costs,
    turns: &mut dyn FnMut(usize) -> usize,
) -> Vec<Vec<(Time, Vec<u8>)>> {
    let network = Network::default();
    network.begin(costs, Duration(NOTICE), RANKS, PER_NODE);
    network.launch(&[0..RANKS]);
    let mut lots = Random::new(case);
    let rank = |number| Rank {
        number,
        socket: network.lock().open(number, number / PER_NODE),
        now: BEGIN,
        connected: false,
        again: false,
        acts: acts(number, &mut lots),
        at: 0,
        sent: 0,
        come: vec![],
        log: vec![],
    };
    let mut ranks: Vec<Rank> = (0..RANKS).map(rank).collect();
    while let Some(first) = ranks.iter().filter(|rank| !rank.is_over()).map(|rank| rank.now).min() {
        // A node's ranks go on in the order of time.
        let nodes = (0..RANKS / PER_NODE).filter_map(|node| {
            let own = (node * PER_NODE..(node + 1) * PER_NODE).map(|rank| rank as usize);
            own.filter(|rank| !ranks[*rank].is_over()).min_by_key(|rank| (ranks[*rank].now, *rank))
        });
        let able = |rank: &usize| ranks[*rank].now < first + Duration(NOTICE);
        let able: Vec<usize> = nodes.filter(able).collect();
        let next = able[turns(able.len())];
        ranks[next].step(&network);
    }
    ranks.into_iter().map(|rank| rank.log).collect()
}

#[test]
fn answers_do_not_depend_on_who_looks_first() {
    let wide = Costs {
        call: Duration(1),
        latency: Duration(100),
        rate: 1_000_000_000_000, // a byte a picosecond
        buffer: 1000,
        segment: 64,
        launcher: Duration(7),
    };
    let narrow = Costs { buffer: 10, segment: 4, ..wide };
    let fast = Costs { rate: u64::MAX, launcher: Duration(0), ..wide };
    let slow = Costs { launcher: Duration(250), ..wide };
    for costs in [wide, narrow, fast, slow] {
        for case in 0..15 {
            let expected = run(case, costs, &mut |_| 0);
            assert_eq!(expected, run(case, costs, &mut |able| able - 1), "{case} {costs:?}");
            for order in 0..6 {
                let mut lots = Random::new(1000 + order);
                let turns = &mut |able: usize| lots.below(able as u64) as usize;
                assert_eq!(run(case, costs, turns), expected, "{case} {order} {costs:?}");
            }
        }
    }
}
