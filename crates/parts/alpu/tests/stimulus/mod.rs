//! Programs for a unit: words to push with their times, and times at which results are taken. They are
//! random, by a seed, and are shrunk when one fails.

// Each test program uses its part of this.
#![allow(dead_code)]

use alpu::{Command, Config, Entry, Inputs, Outputs, Request};
use des::Random;

/// Events at a unit's ports. A number beside a word is the number of cycles that its port waits before it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub commands: Vec<(u32, Command)>,
    pub headers: Vec<(u32, Request)>,
    /// Cycles in which results are taken, and cycles in which they are not, again and again.
    pub results: Vec<(u32, u32)>,
    /// A cycle with the reset input on.
    pub reset_at: Option<u64>,
}

/// A program being played: turns outputs of a cycle into inputs of the same cycle.
pub struct Player<'a> {
    program: &'a Program,
    cycle: u64,
    command: Port,
    header: Port,
    stall: u32,
    run: usize,
}

#[derive(Default)]
struct Port {
    next: usize,
    waited: u32,
}

impl Port {
    /// The word at the port, if its time has come.
    fn word<T: Copy>(&mut self, words: &[(u32, T)]) -> Option<T> {
        let (gap, word) = words.get(self.next)?;
        if self.waited < *gap {
            self.waited += 1;
            return None;
        }
        Some(*word)
    }

    fn taken(&mut self) {
        self.next += 1;
        self.waited = 0;
    }
}

impl<'a> Player<'a> {
    pub fn new(program: &'a Program) -> Player<'a> {
        let (command, header) = (Port::default(), Port::default());
        Player { program, cycle: 0, command, header, stall: 0, run: 0 }
    }

    /// Inputs of the next cycle, whose outputs are `outputs`.
    pub fn inputs(&mut self, outputs: &Outputs) -> Inputs {
        // The first cycle resets the unit, whatever it has been through.
        let reset = self.cycle == 0 || self.program.reset_at == Some(self.cycle);
        self.cycle += 1;
        if reset {
            return Inputs { reset, ..Inputs::default() };
        }
        let command = self.command.word(&self.program.commands);
        if command.is_some() && outputs.command_ready {
            self.command.taken();
        }
        let header = self.header.word(&self.program.headers);
        if header.is_some() && outputs.header_ready {
            self.header.taken();
        }
        Inputs { reset, header, command, result_ready: self.result_ready() }
    }

    fn result_ready(&mut self) -> bool {
        let Some((on, off)) = self.program.results.get(self.run).copied() else {
            return true;
        };
        let ready = self.stall < on;
        self.stall += 1;
        if self.stall >= on + off {
            self.stall = 0;
            self.run += 1;
        }
        ready
    }

    /// True if every word has been pushed that the unit will take, and results are being taken.
    pub fn is_done(&self, outputs: &Outputs) -> bool {
        self.command.next == self.program.commands.len()
            && (self.header.next == self.program.headers.len() || !outputs.header_ready)
            && self.run >= self.program.results.len()
            && self.program.reset_at.is_none_or(|at| self.cycle > at)
    }
}

/// A random program for a unit of `config`.
pub fn random(config: &Config, seed: u64) -> Program {
    let mut random = Random::new(seed);
    let values = Values::new(config, &mut random);
    let many = |random: &mut Random| {
        let most = pick(random, [4, 20, 80, 80]);
        random.below(most) as usize
    };
    let mut program = Program::default();
    let (gaps, count) = (Gaps::new(&mut random), many(&mut random) + 1);
    let mut tag = 0;
    while program.commands.len() < count {
        for command in episode(config, &values, &mut random, &mut tag) {
            program.commands.push((gaps.next(&mut random), command));
        }
    }
    let gaps = Gaps::new(&mut random);
    for _ in 0..many(&mut random) {
        let request = Request { bits: values.bits(&mut random), mask: values.mask(&mut random) };
        program.headers.push((gaps.next(&mut random), request));
    }
    for _ in 0..pick(&mut random, [0, 0, 3, 40]) {
        let long = pick(&mut random, [3, 60]);
        program.results.push((random.below(4) as u32, random.below(long) as u32));
    }
    if random.below(16) == 0 {
        program.reset_at = Some(1 + random.below(200));
    }
    program
}

/// A few commands in a row: mostly a proper insertion, sometimes anything.
fn episode(config: &Config, values: &Values, random: &mut Random, tag: &mut u64) -> Vec<Command> {
    let mut insert = |random: &mut Random| {
        *tag = (*tag + 1) & config.tag_bits();
        let (bits, mask) = (values.bits(random), values.mask(random));
        Command::Insert(Entry { bits, mask, tag: *tag })
    };
    match random.below(12) {
        0 => vec![Command::Reset],
        1 => vec![insert(random)],
        2 => vec![Command::StopInsert],
        3 => vec![Command::StartInsert],
        _ => {
            let longest = pick(random, [3, 10, config.cells as u64 + 3]);
            let count = random.below(longest);
            let inserts = (0..count).map(|_| insert(random)).collect::<Vec<_>>();
            [vec![Command::StartInsert], inserts, vec![Command::StopInsert]].concat()
        }
    }
}

fn pick<T: Copy, const N: usize>(random: &mut Random, choices: [T; N]) -> T {
    choices[random.below(N as u64) as usize]
}

/// Cycles that a port waits between two words: none, a few, or sometimes many.
#[derive(Clone, Copy)]
struct Gaps(u64, u64);

impl Gaps {
    fn new(random: &mut Random) -> Gaps {
        pick(random, [Gaps(1, 1), Gaps(3, 1), Gaps(16, 2), Gaps(120, 8)])
    }

    fn next(&self, random: &mut Random) -> u32 {
        if random.below(self.1) == 0 {
            random.below(self.0) as u32
        } else {
            0
        }
    }
}

/// Match words that differ in few bits, so that they meet.
struct Values {
    places: Vec<u32>,
    wild: u64,
    all: u64,
}

impl Values {
    fn new(config: &Config, random: &mut Random) -> Values {
        let width = u64::from(config.match_width);
        let places = (0..1 + random.below(4)).map(|_| random.below(width) as u32).collect();
        Values { places, wild: random.below(4), all: config.match_bits() }
    }

    fn bits(&self, random: &mut Random) -> u64 {
        if random.below(30) == 0 {
            return random.next_u64() & self.all;
        }
        self.places.iter().fold(0, |bits, place| bits | random.below(2) << place)
    }

    fn mask(&self, random: &mut Random) -> u64 {
        match random.below(4 * (self.wild + 1)) {
            0 => self.all,
            1 => random.next_u64() & self.all,
            n if n < 6 => self.bits(random),
            _ => 0,
        }
    }
}

/// The smallest program found that still fails, with the error.
pub fn shrink<E>(
    mut program: Program,
    mut error: E,
    mut fails: impl FnMut(&Program) -> Option<E>,
) -> (Program, E) {
    let mut tries = 3000;
    loop {
        let mut candidates = candidates(&program).take(tries);
        let found = candidates.find_map(|candidate| {
            tries -= 1;
            fails(&candidate).map(|said| (candidate, said))
        });
        drop(candidates);
        match found {
            Some(smaller) => (program, error) = smaller,
            None => return (program, error),
        }
    }
}

/// Programs that are a little simpler.
fn candidates(program: &Program) -> impl Iterator<Item = Program> + '_ {
    let without = |length: usize| {
        let sizes = [length / 2, length / 4, length / 8, 2, 1].into_iter().filter(|size| *size > 0);
        sizes.flat_map(move |size| {
            (0..length).step_by(size).map(move |from| from..(from + size).min(length))
        })
    };
    let reset = program.reset_at.map(|_| Program { reset_at: None, ..program.clone() });
    let commands = without(program.commands.len()).map(|range| {
        let mut smaller = program.clone();
        smaller.commands.drain(range);
        smaller
    });
    let headers = without(program.headers.len()).map(|range| {
        let mut smaller = program.clone();
        smaller.headers.drain(range);
        smaller
    });
    let results = without(program.results.len()).map(|range| {
        let mut smaller = program.clone();
        smaller.results.drain(range);
        smaller
    });
    let gaps = (0..program.commands.len() + program.headers.len()).filter_map(|index| {
        let mut smaller = program.clone();
        let gap = match smaller.commands.get_mut(index) {
            Some((gap, _)) => gap,
            None => &mut smaller.headers[index - program.commands.len()].0,
        };
        (*gap > 0).then(|| *gap /= 2)?;
        Some(smaller)
    });
    reset.into_iter().chain(commands).chain(headers).chain(results).chain(gaps)
}
