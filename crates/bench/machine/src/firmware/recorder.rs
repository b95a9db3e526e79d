//! The profiler's part of a node: it gets the processor's events ([`Observation`]) and sums them up, by call
//! path and instruction, separately for the firmware's work and for its idle polling.
//!
//! # What is idle
//!
//! The only assumptions about the firmware are that it polls in an endless loop and that it has nothing to do
//! before the launch. In that time the recorder learns the loop: it begins at the lowest address that the
//! outermost function executes, and each set of instructions that one iteration executes then is an idle
//! iteration. After the launch an iteration is idle if it executes exactly such a set, and work otherwise: an
//! iteration that finds work takes a branch that idle iterations do not take. All cycles of an iteration
//! count as idle or as work together, so the polling around a piece of work counts as work.
//!
//! # Call paths
//!
//! A stack of return addresses is kept beside the processor's. Control that arrives in another
//! function without a call (a jump to a function that returns for this one) replaces it on the
//! path. A return to an address that is not on the stack ends at a new outermost function.

use super::profile::{Cause, Cost, Path, Profile};
use super::symbols::Symbols;
use crate::instruments::timeline::Picture;
use std::collections::HashSet;
use std::sync::Arc;

/// Event of the processor, with the address of its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// Cycles passed for the instruction.
    Spent {
        /// Address of the instruction.
        pc: u32,
        /// Cause for which they passed.
        cause: Cause,
        /// Number of cycles.
        cycles: u64,
    },
    /// An instruction completed.
    Completed {
        /// Its address.
        pc: u32,
    },
    /// Lines of a cache were filled for it.
    Missed {
        /// Address of the instruction.
        pc: u32,
        /// Lines of the instruction cache.
        instructions: u64,
        /// Lines of the data cache.
        data: u64,
    },
    /// Control went to another function.
    Jumped {
        /// Address of the instruction.
        pc: u32,
        /// Address of the next instruction.
        target: u32,
        /// Kind of the jump.
        jump: Jump,
    },
}

/// Kind of a jump to another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// By a call, or an exception.
    Call {
        /// Return address.
        back: u32,
    },
    /// Back.
    Return,
}

/// Function of each instruction of the firmware.
pub struct Code {
    base: u32,
    /// Index in `functions`, by instruction.
    function: Vec<u16>,
    functions: Vec<Function>,
}

struct Function {
    name: String,
    start: u32,
    /// Instructions.
    len: usize,
}

/// Index of addresses outside of all functions.
const ELSEWHERE: u16 = 0;

impl Code {
    /// Code of firmware with these symbols.
    pub fn new(symbols: &Symbols) -> Code {
        let code = || symbols.sections().iter().filter(|section| section.code);
        let base = code().map(|section| section.address).min().unwrap_or(0);
        let end = code().map(|section| section.address + section.size).max().unwrap_or(base);
        let nowhere = Function { name: "outside of the firmware".into(), start: 0, len: 1 };
        let mut all = Code {
            base,
            function: vec![ELSEWHERE; ((end - base) / 4) as usize],
            functions: vec![nowhere],
        };
        for index in 0..all.function.len() {
            let pc = base + 4 * index as u32;
            let Some((name, offset)) = symbols.function(pc) else { continue };
            let known = all.functions.last().is_some_and(|last| last.start == pc - offset);
            if !known {
                let function = Function { name: name.into(), start: pc - offset, len: 0 };
                all.functions.push(function);
            }
            let last = all.functions.len() - 1;
            all.functions[last].len = (offset / 4) as usize + 1;
            all.function[index] = last as u16;
        }
        all
    }
    fn function(&self, pc: u32) -> u16 {
        let index = (pc.wrapping_sub(self.base) / 4) as usize;
        self.function.get(index).copied().unwrap_or(ELSEWHERE)
    }
    /// Index of an instruction in its function's array.
    fn place(&self, function: u16, pc: u32) -> usize {
        match function {
            ELSEWHERE => 0,
            _ => (pc.wrapping_sub(self.functions[usize::from(function)].start) / 4) as usize,
        }
    }
}

/// A function as called on one path, with the cost of its own instructions there.
struct Branch {
    function: u16,
    parent: usize,
    children: Vec<usize>,
    /// Costs by instruction of the function, for work and for idling; empty as long as there are none.
    costs: [Vec<Cost>; 2],
}

const ROOT: usize = 0;
const WORK: usize = 0;
const IDLE: usize = 1;
/// Number of observations after which an iteration counts as work.
const LONG: usize = 1 << 16;
/// Most calls that can be open.
const DEPTH: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is known of the idle loop yet.
    Boot,
    /// The firmware idles.
    Learn,
    /// Costs count.
    Count,
}

/// A node's profiler.
pub struct Recorder {
    code: Arc<Code>,
    branches: Vec<Branch>,
    here: usize,
    /// Open calls: return address and branch.
    calls: Vec<(u32, usize)>,
    phase: Phase,
    /// Address at which an iteration of the main loop begins, and whether one has begun.
    head: Option<u32>,
    begun: bool,
    /// Events of the present iteration, each with its number of occurrences.
    turn: Vec<(Observation, u64)>,
    /// Hash of the addresses and numbers of the instructions that it executed.
    path: u64,
    idle: HashSet<u64>,
    idle_turns: u64,
    work_turns: u64,
    /// True if the last iteration was idle.
    was_idle: bool,
    /// Drawing of the executed functions, if it is asked for.
    picture: Option<Picture>,
}

/// Numbers of occurrences.
#[derive(Clone, Copy)]
struct Times {
    /// In all.
    spent: u64,
    /// In one iteration of the main loop.
    within: u64,
    /// Iterations, if one ends here.
    turns: u64,
}

const ONCE: Times = Times { spent: 1, within: 1, turns: 1 };

impl Recorder {
    /// Recorder of one processor that executes this code.
    pub fn new(code: Arc<Code>) -> Recorder {
        let root =
            Branch { function: ELSEWHERE, parent: ROOT, children: vec![], costs: [vec![], vec![]] };
        Recorder {
            code,
            branches: vec![root],
            here: ROOT,
            calls: Vec::new(),
            phase: Phase::Boot,
            head: None,
            begun: false,
            turn: Vec::new(),
            path: 0,
            idle: HashSet::new(),
            idle_turns: 0,
            work_turns: 0,
            was_idle: true,
            picture: None,
        }
    }

    /// True if a function begins at `pc`.
    pub fn begins(&self, pc: u32) -> bool {
        let function = self.code.function(pc);
        function != ELSEWHERE && self.code.place(function, pc) == 0
    }

    /// Starts drawing the executed functions. Called before the first observation.
    pub fn set_picture(&mut self, picture: Picture) {
        self.picture = Some(picture);
    }

    /// Learns the idle loop: the firmware has nothing to do from now on.
    pub fn learn(&mut self) {
        self.phase = Phase::Learn;
        self.calls.clear();
        self.here = ROOT;
        self.forget_loop();
    }

    fn forget_loop(&mut self) {
        self.head = None;
        self.begun = false;
        self.idle.clear();
    }

    /// Starts counting; the processor has reported everything before this cycle.
    pub fn count(&mut self, cycle: u64) {
        self.phase = Phase::Count;
        if let Some(picture) = &mut self.picture {
            picture.begin_at(cycle);
        }
    }

    /// Profile of everything observed; the processor has reported everything before this cycle.
    pub fn finish(mut self, nid: u32, cycle: u64) -> Profile {
        // Of the turn that the end of the run cuts nobody knows what it would have become.
        self.spend(if self.was_idle { IDLE } else { WORK });
        // Nothing is drawn of a run that ends before the launch.
        if let Some(picture) = self.picture.as_ref().filter(|_| self.phase == Phase::Count) {
            picture.check(cycle);
        }
        let mut paths = Vec::new();
        for index in 0..self.branches.len() {
            let costs = std::mem::take(&mut self.branches[index].costs);
            if costs.iter().any(|costs| !costs.is_empty()) {
                let function = &self.code.functions[usize::from(self.branches[index].function)];
                let by_address = |costs: Vec<Cost>| {
                    let places = costs.into_iter().zip((function.start..).step_by(4));
                    let spent = places.filter(|(cost, _)| *cost != Cost::default());
                    spent.map(|(cost, pc)| (pc, cost)).collect()
                };
                let [work, idle] = costs.map(by_address);
                paths.push(Path { functions: self.functions(index), work, idle });
            }
        }
        Profile { nid, paths, idle_turns: self.idle_turns, work_turns: self.work_turns }
    }

    /// Names of the functions on a path, the outermost first.
    fn functions(&self, mut index: usize) -> Vec<String> {
        let mut names = Vec::new();
        while index != ROOT {
            let branch = &self.branches[index];
            names.push(self.code.functions[usize::from(branch.function)].name.clone());
            index = branch.parent;
        }
        names.reverse();
        names
    }

    fn child(&mut self, parent: usize, function: u16) -> usize {
        let children = &self.branches[parent].children;
        let known = children.iter().find(|&&child| self.branches[child].function == function);
        if let Some(&child) = known {
            return child;
        }
        let child = self.branches.len();
        self.branches.push(Branch { function, parent, children: vec![], costs: [vec![], vec![]] });
        self.branches[parent].children.push(child);
        child
    }

    /// Goes to the branch on which the instruction at `pc` is executed.
    fn arrive(&mut self, pc: u32) {
        let branch = &self.branches[self.here];
        let function = self.code.function(pc);
        if self.here == ROOT || branch.function != function {
            self.here = self.child(branch.parent, function);
        }
    }

    /// Follows the flow of control.
    fn follow(&mut self, what: Observation) {
        let Observation::Jumped { pc, target, jump } = what else { return };
        let function = self.code.function(target);
        match jump {
            Jump::Call { back } => {
                if self.calls.len() == DEPTH {
                    self.calls.remove(0);
                }
                self.arrive(pc);
                self.calls.push((back, self.here));
                self.here = self.child(self.here, function);
            }
            Jump::Return => {
                match self.calls.iter().rposition(|(back, _)| *back == target) {
                    Some(open) => {
                        self.here = self.calls[open].1;
                        self.calls.truncate(open);
                    }
                    None => {
                        self.calls.clear();
                        self.here = self.child(ROOT, function);
                        // What seemed to be the outermost function was none.
                        if self.phase == Phase::Learn {
                            self.forget_loop();
                        }
                    }
                }
            }
        }
    }

    /// Counts the present iteration as work or as idle.
    fn spend(&mut self, kind: usize) {
        if let Some(picture) = self.picture.as_mut().filter(|_| kind == IDLE) {
            picture.show_idle();
        }
        let mut turn = std::mem::take(&mut self.turn);
        for (what, times) in turn.drain(..) {
            match what {
                Observation::Spent { pc, cause, cycles } => {
                    self.cost(kind, pc).cycles[cause as usize] += cycles * times;
                    self.draw(kind, cycles * times);
                }
                Observation::Completed { pc } => self.cost(kind, pc).instructions += times,
                Observation::Missed { pc, instructions, data } => {
                    let cost = self.cost(kind, pc);
                    cost.icache_misses += instructions * times;
                    cost.dcache_misses += data * times;
                }
                Observation::Jumped { .. } => self.follow(what),
            }
        }
        self.turn = turn;
    }

    /// Draws cycles of the function that is executed.
    fn draw(&mut self, kind: usize, cycles: u64) {
        let Some(picture) = &mut self.picture else { return };
        if kind == WORK && picture.shown() != Some(self.here) {
            let parent = |&index: &usize| Some(self.branches[index].parent);
            let open = |index: &usize| *index != ROOT;
            let mut path: Vec<_> =
                std::iter::successors(Some(self.here), parent).take_while(open).collect();
            path.reverse();
            let function = |index: usize| usize::from(self.branches[index].function);
            picture.show(&path, |index| &self.code.functions[function(index)].name);
        }
        picture.pass(cycles);
    }

    fn cost(&mut self, kind: usize, pc: u32) -> &mut Cost {
        self.arrive(pc);
        let branch = &mut self.branches[self.here];
        let costs = &mut branch.costs[kind];
        if costs.is_empty() {
            let len = self.code.functions[usize::from(branch.function)].len;
            costs.resize(len, Cost::default());
        }
        &mut costs[self.code.place(branch.function, pc)]
    }

    /// Ends an iteration, which happened `times` times.
    fn end_turn(&mut self, times: u64) {
        match self.phase {
            Phase::Boot => {}
            Phase::Learn => {
                self.idle.insert(self.path);
            }
            Phase::Count => {
                self.was_idle = self.idle.contains(&self.path);
                if self.was_idle {
                    self.idle_turns += times;
                    self.spend(IDLE);
                } else {
                    self.work_turns += times;
                    self.spend(WORK);
                }
            }
        }
    }

    /// Looks for the start of the loop among the addresses that the outermost function executes while the
    /// firmware idles.
    fn look_for_loop_head(&mut self, pc: u32) {
        self.arrive(pc);
        let outermost = self.branches[self.here].parent == ROOT;
        if outermost && self.head.is_none_or(|head| pc < head) {
            self.forget_loop();
            self.head = Some(pc);
        }
    }

    fn take(&mut self, what: Observation, times: Times) {
        if let Observation::Completed { pc } = what {
            if self.phase == Phase::Learn {
                self.look_for_loop_head(pc);
            }
            if self.head == Some(pc) {
                if self.begun {
                    self.end_turn(times.turns);
                }
                self.begun = true;
                self.path = 0;
            }
            self.path = self.path.wrapping_add(mixed(pc).wrapping_mul(times.within));
        }
        if self.phase != Phase::Count {
            return self.follow(what);
        }
        self.turn.push((what, times.spent));
        if self.turn.len() > LONG {
            self.spend(WORK);
        }
    }

    fn is_head(&self, what: &Observation) -> bool {
        matches!(what, Observation::Completed { pc } if self.head == Some(*pc))
    }
}

/// Hash of an address; sums of hashes are hardly ever equal for other addresses.
fn mixed(pc: u32) -> u64 {
    des::Random::new(pc.into()).next_u64()
}

impl Recorder {
    /// Records an observation.
    pub fn observe(&mut self, what: Observation) {
        self.take(what, ONCE);
    }

    /// Records iterations of a polling loop: these observations, `times` times.
    pub fn repeat<I>(&mut self, turn: I, times: u64)
    where
        I: DoubleEndedIterator<Item = Observation> + ExactSizeIterator + Clone,
    {
        turn.clone().for_each(|what| self.take(what, ONCE));
        let rest = times - 1;
        if rest == 0 {
            return;
        }
        let Some(last) = turn.clone().rposition(|what| self.is_head(&what)) else {
            // A loop within a turn of the main loop.
            let times = Times { spent: rest, within: rest, turns: 1 };
            return turn.for_each(|what| self.take(what, times));
        };
        // The main loop's turn does not begin where the core's does. What follows its last beginning is in
        // `turn` already, once; together with what precedes the next beginning it happens `rest` times, and
        // once more at the end.
        for (_, spent) in &mut self.turn {
            *spent *= rest;
        }
        for (index, what) in turn.enumerate() {
            let spent = if index < last { rest } else { 1 };
            self.take(what, Times { spent, within: 1, turns: rest });
        }
    }
}
