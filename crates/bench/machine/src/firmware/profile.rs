//! Profile of the firmware: cycles that the nodes' recorders counted, by function, by line and by call path.
//! Functions are those of the source, also where the compiler inlined them.

use super::symbols::{Frame, Lines, Symbols};
use std::collections::{BTreeMap, HashMap};

/// Use of cycles. Each processor has some of these causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An instruction issued.
    Issue,
    /// A result was waited for: of arithmetic, or of a load that needs no line of a cache.
    Operand,
    /// A line of the data cache was waited for.
    Load,
    /// A read around the data cache was waited for.
    Read,
    /// A write on the bus waited for a slot.
    Write,
    /// Instructions were waited for.
    Fetch,
    /// A taken branch, predicted right, made a bubble.
    Branch,
    /// A branch was predicted wrongly.
    Mispredict,
    /// The context was synchronised, or an exception was entered.
    Synchronise,
    /// The processor slept until an interrupt.
    Sleep,
    /// The memory was waited for, while DMA engines or links used it.
    Memory,
}

impl Cause {
    /// All, in order.
    pub const ALL: [Cause; 11] = [
        Cause::Issue,
        Cause::Operand,
        Cause::Load,
        Cause::Read,
        Cause::Write,
        Cause::Fetch,
        Cause::Branch,
        Cause::Mispredict,
        Cause::Synchronise,
        Cause::Sleep,
        Cause::Memory,
    ];
}

/// Cost of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Processor cycles by [`Cause`].
    pub cycles: [u64; Cause::ALL.len()],
    /// Instructions completed.
    pub instructions: u64,
    /// Lines of the instruction cache filled.
    pub icache_misses: u64,
    /// Lines of the data cache filled.
    pub dcache_misses: u64,
}

impl Cost {
    /// Processor cycles for all causes.
    pub fn total(&self) -> u64 {
        self.cycles.iter().sum()
    }
    /// Cycles in which nothing issued.
    pub fn stalls(&self) -> u64 {
        self.total() - self.of(Cause::Issue)
    }
    /// Cycles for one cause.
    pub fn of(&self, cause: Cause) -> u64 {
        self.cycles[cause as usize]
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        for (sum, cycles) in self.cycles.iter_mut().zip(other.cycles) {
            *sum += cycles;
        }
        self.instructions += other.instructions;
        self.icache_misses += other.icache_misses;
        self.dcache_misses += other.dcache_misses;
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), |mut sum, cost| {
            sum += cost;
            sum
        })
    }
}

/// Cost of one function's own instructions on one call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Functions of the image, the outermost first, this one last.
    pub functions: Vec<String>,
    /// Cost by address in iterations of the main loop that did something.
    pub work: Vec<(u32, Cost)>,
    /// Cost by address in iterations that found nothing to do.
    pub idle: Vec<(u32, Cost)>,
}

/// Cycles of one node's firmware between the launch of the program and the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Node id.
    pub nid: u32,
    /// Call paths on which anything was spent.
    pub paths: Vec<Path>,
    /// Turns of the main loop that found nothing to do.
    pub idle_turns: u64,
    /// Turns that did something.
    pub work_turns: u64,
}

/// A function of the source with its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Of its own instructions.
    pub own: Cost,
    /// Cycles of its own instructions and of what it called.
    pub with_callees: u64,
}

/// A line of the source with its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The function that it is in.
    pub function: String,
    /// File, as the compiler was given it, and number; empty and 0 if there is no debug
    /// information.
    pub file: String,
    /// Number of the line.
    pub line: u32,
    /// Of its instructions.
    pub cost: Cost,
}

/// The profiles of some nodes, by function, line and call path.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// All work.
    pub work: Cost,
    /// All idle polling.
    pub idle: Cost,
    /// Turns of the main loop that found nothing to do.
    pub idle_turns: u64,
    /// Turns that did something.
    pub work_turns: u64,
    /// Work by function, the most expensive first.
    pub functions: Vec<Function>,
    /// Work by line, the most expensive first.
    pub lines: Vec<Line>,
    /// Cycles of work by call path, inlined functions included, the outermost first.
    pub stacks: BTreeMap<Vec<String>, u64>,
}

impl Summary {
    /// Adds up profiles of the image that has these symbols.
    pub fn of(profiles: &[&Profile], symbols: &Symbols) -> Summary {
        let mut all = Summary::default();
        let mut lines = Sources::new(symbols.lines());
        let mut functions: BTreeMap<String, Function> = BTreeMap::new();
        let mut by_line: BTreeMap<(String, u32, String), Cost> = BTreeMap::new();
        for profile in profiles {
            all.idle_turns += profile.idle_turns;
            all.work_turns += profile.work_turns;
            for path in &profile.paths {
                all.idle += path.idle.iter().map(|(_, cost)| *cost).sum();
                for &(pc, cost) in &path.work {
                    let frames = lines.of(pc, &path.functions);
                    all.work += cost;
                    let stack = stack(&path.functions, frames);
                    own(&mut functions, &frames[0].function).own += cost;
                    for (depth, name) in stack.iter().enumerate() {
                        // A function that calls itself is told once.
                        if !stack[..depth].contains(name) {
                            own(&mut functions, name).with_callees += cost.total();
                        }
                    }
                    let Frame { function, file, line } = line_of(frames);
                    let place = (file.clone(), *line, function.clone());
                    *by_line.entry(place).or_default() += cost;
                    if cost.total() > 0 {
                        *all.stacks.entry(stack).or_default() += cost.total();
                    }
                }
            }
        }
        all.functions = functions.into_values().collect();
        all.functions.sort_by_key(|function| std::cmp::Reverse(function.own.total()));
        let line = |((file, line, function), cost)| Line { function, file, line, cost };
        all.lines = by_line.into_iter().map(line).collect();
        all.lines.sort_by_key(|line| std::cmp::Reverse(line.cost.total()));
        all
    }
}

fn own<'a>(functions: &'a mut BTreeMap<String, Function>, name: &str) -> &'a mut Function {
    if !functions.contains_key(name) {
        let function = Function { name: name.to_string(), own: Cost::default(), with_callees: 0 };
        functions.insert(name.to_string(), function);
    }
    functions.get_mut(name).expect("it was there or has been put there")
}

/// The line that an instruction belongs to: an accessor in a header belongs to the line that uses
/// it.
fn line_of(frames: &[Frame]) -> &Frame {
    frames.iter().find(|frame| !frame.file.ends_with(".h")).unwrap_or(&frames[0])
}

/// The whole path to an instruction, the outermost function first: `path` to the function of the
/// image, then what was inlined into it.
fn stack(path: &[String], frames: &[Frame]) -> Vec<String> {
    let outer = path.len().saturating_sub(1);
    let inlined = frames.iter().rev().map(|frame| frame.function.clone());
    path[..outer].iter().cloned().chain(inlined).collect()
}

/// Source of addresses, each looked up once.
struct Sources {
    lines: Lines,
    known: HashMap<u32, Vec<Frame>>,
}

impl Sources {
    fn new(lines: Lines) -> Sources {
        Sources { lines, known: HashMap::new() }
    }
    /// Frames of `pc`, the innermost first, at least one; the last function of `path` is the one of
    /// the image.
    fn of(&mut self, pc: u32, path: &[String]) -> &[Frame] {
        let lines = &self.lines;
        self.known.entry(pc).or_insert_with(|| {
            let function = path.last().cloned().unwrap_or_default();
            let mut frames = lines.frames(pc);
            if frames.is_empty() {
                frames.push(Frame { function: String::new(), file: String::new(), line: 0 });
            }
            // The image's own name, which tells clones of a function apart.
            if let Some(outermost) = frames.last_mut() {
                outermost.function = function;
            }
            frames
        })
    }
}
