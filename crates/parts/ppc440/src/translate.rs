//! Firmware as code of the host's own processor.
//!
//! What is executed often is translated, a *block* at a time: instructions from an address on, up to a
//! branch. A block is made for one [`PipelineState`]: pipes that are taken, and registers that are not
//! ready, as seen from its first cycle. So all of its timing is known when it is made, and it holds no more
//! of it than how many cycles it takes. Its ends lead to other blocks, made for the pipeline state that it
//! leaves.
//!
//! Blocks do what is fast in the interpreter as well: registers, branches that are predicted and teach
//! nothing, loads and stores that hit in the data cache. Everything else they leave to it, an instruction
//! at a time (`Then::Interpret`), as they do at every point at which the interpreter would look up: at
//! the limit, and where a line begins that is not in the instruction cache, or an iteration (`idle_loop`).
//! So nothing that can be seen depends on what has been translated; `tests/translate.rs` holds both against
//! one another.
//!
//! Each thread has translations of its own; those of a thread serve all cores that share code. There are
//! blocks for hosts of the architecture x86-64 that run Linux; elsewhere everything is interpreted.

use crate::code::Text;
use crate::core::blocks::{self, Address, View};
use crate::core::Flow;
use crate::decode::Op;
use crate::timing::pipeline_state::PipelineState;
use access::Visit;
use arena::Arena;
use bus::Bus;
use emit::{Exit, Site, Then};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use thunk::Places;

mod access;
mod arena;
mod emit;
mod thunk;

/// Outcome of a run of blocks.
#[derive(Clone, Copy)]
pub(crate) enum Ran {
    /// The next instruction must be interpreted.
    Up,
    /// A load or store has ended in an unusual way. Its operation is in the text.
    With(*const Op, Flow),
    /// Something may be up.
    Enough,
    /// There is no block here.
    Cold,
}

/// Requests for a block before it is made.
pub(crate) const HOT: u32 = 16;
/// Most starts and pipeline states that are remembered: more than firmware has.
const MOST: usize = 1 << 16;

/// Enters a block, with so many slots left to the limit.
type Enter = extern "sysv64" fn(
    core: Address,
    code: *const u8,
    slots: u64,
    history: *const u8,
    visit: *mut (),
) -> Left;

/// Exit from blocks: its number, and the slots that were left to the limit.
#[repr(C)]
struct Left {
    exit: u64,
    slots: u64,
}

/// Code that begins at an address, in a pipeline state.
#[derive(Clone, Copy)]
enum Start {
    /// Nothing yet; it has been requested so often.
    Asked(u32),
    /// An instruction that blocks do not do.
    Interpret,
    Block(*const u8),
}

/// A block that was begun lately, where returns find it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Quick {
    /// Number of the pipeline state, address.
    key: u64,
    code: *const u8,
}

/// Places of those.
const QUICK: usize = 1 << 10;

impl Quick {
    const NONE: Quick = Quick { key: u64::MAX, code: std::ptr::null() };

    fn key(pc: u32, pipeline_state: u32) -> u64 {
        u64::from(pipeline_state) << 32 | u64::from(pc)
    }
    /// Part of a pipeline state's number that the index uses.
    fn mix(pipeline_state: u32) -> u32 {
        pipeline_state.wrapping_mul(0x2f1)
    }
    fn place(pc: u32, pipeline_state: u32) -> usize {
        (pc >> 2 ^ Quick::mix(pipeline_state)) as usize % QUICK
    }
}

/// The same for those who know the pipeline state, not its number.
#[derive(Clone, Copy)]
struct Lately {
    pipeline_state: PipelineState,
    pc: u32,
    start: Start,
}

/// Places of those.
const LATELY: usize = 1 << 10;

impl Lately {
    /// There is no instruction at that address.
    const NONE: Lately =
        Lately { pipeline_state: PipelineState::NONE, pc: 1, start: Start::Interpret };

    fn place(pc: u32, pipeline_state: PipelineState) -> usize {
        (u64::from(pc >> 2) ^ pipeline_state.mixed()) as usize % LATELY
    }
}

/// Numbers of pipeline states. One in which every register is ready has its pipes for a number.
#[derive(Default)]
struct Numbers(FxHashMap<PipelineState, u32>);

impl Numbers {
    fn of(&mut self, pipeline_state: PipelineState) -> u32 {
        let next = 8 + self.0.len() as u32;
        pipeline_state.ready().unwrap_or_else(|| *self.0.entry(pipeline_state).or_insert(next))
    }
}

fn next_serial() -> u64 {
    static SERIAL: AtomicU64 = AtomicU64::new(1);
    SERIAL.fetch_add(1, Ordering::Relaxed) // it only has to differ
}

/// Translations that one thread has made of one text.
pub(crate) struct Translator {
    text: Arc<Text>,
    block_bits: u32,
    /// A number that no other one has or had.
    serial: u64,
    /// It must forget all before it is used again.
    full: bool,
    enter: Enter,
    /// Entry point, and addresses of its parts.
    thunk: *const u8,
    places: Places,
    /// Address at which an access goes on that leaves.
    left: *const u8,
    quick: Box<[Quick; QUICK]>,
    lately: Box<[Lately; LATELY]>,
    exits: Vec<Exit>,
    numbers: Numbers,
    starts: FxHashMap<u64, Start>,
    arena: Arena,
    /// Address behind the code that enters and leaves.
    begin: *const u8,
}

thread_local! {
    /// Bytes for code of each translator that is made.
    static ROOM: Cell<usize> = const { Cell::new(16 << 20) };
}

/// Gives translations that this thread begins from now on so many bytes for their code, instead of 16 MB.
/// When they are full, all is forgotten: it changes nothing but the speed of the simulation.
pub fn set_room_for_translations(bytes: usize) {
    ROOM.set(bytes);
}

/// Most translators of a thread. Only tests have more than a few texts.
const TRANSLATORS: usize = 8;

thread_local! {
    /// The one that was used last, and the others, if none is in use. Boxed, since they are taken out and put
    /// back all the time.
    static LAST: Cell<Option<Box<Translator>>> = const { Cell::new(None) };
    #[allow(clippy::vec_box)]
    static OTHERS: RefCell<Vec<Box<Translator>>> = const { RefCell::new(Vec::new()) };
}

impl Translator {
    /// This thread's for a core; `None` if the core is not to be translated, or if the system gives no
    /// memory for code.
    #[inline]
    pub fn take(core: &mut View<'_>, text: &Arc<Text>) -> Option<Box<Translator>> {
        if core.hot() == 0 {
            return None;
        }
        match LAST.take() {
            Some(last) if last.serves(core, text) => Some(last),
            last => Translator::look(core, text, last),
        }
    }
    #[cold]
    fn look(
        core: &mut View<'_>,
        text: &Arc<Text>,
        last: Option<Box<Translator>>,
    ) -> Option<Box<Translator>> {
        OTHERS.with_borrow_mut(|others| {
            others.extend(last);
            if let Some(index) = others.iter().position(|other| other.serves(core, text)) {
                return Some(others.remove(index));
            }
            if others.len() >= TRANSLATORS {
                others.remove(0);
            }
            let translator = Translator::new(core, text);
            if translator.is_none() {
                core.never_translate();
            }
            translator.map(Box::new)
        })
    }
    /// Gives it back.
    #[inline]
    pub fn give_back(mut self: Box<Translator>) {
        if self.full {
            self.forget();
        }
        LAST.set(Some(self));
    }
    fn new(core: &View<'_>, text: &Arc<Text>) -> Option<Translator> {
        let mut arena = Arena::new(ROOM.get())?;
        let thunk = thunk::thunk(arena.next(), core.block_bits());
        let enter = arena.put(&thunk.code)?;
        Some(Translator {
            text: text.clone(),
            block_bits: core.block_bits(),
            serial: next_serial(),
            full: false,
            begin: arena.next(),
            arena,
            // SAFETY: there is a function of this kind there.
            enter: unsafe { std::mem::transmute::<*const u8, Enter>(enter) },
            thunk: enter,
            left: enter.wrapping_add(thunk.places.left),
            places: thunk.places,
            exits: Vec::new(),
            numbers: Numbers::default(),
            starts: FxHashMap::default(),
            quick: Box::new([Quick::NONE; QUICK]),
            lately: Box::new([Lately::NONE; LATELY]),
        })
    }
    fn serves(&self, core: &View<'_>, text: &Arc<Text>) -> bool {
        Arc::ptr_eq(&self.text, text) && self.block_bits == core.block_bits()
    }
    /// Code that begins at `pc`; made if it is often requested.
    #[inline]
    fn start(&mut self, core: &View<'_>, pc: u32, pipeline_state: PipelineState) -> Start {
        let lately = &self.lately[Lately::place(pc, pipeline_state)];
        if lately.pc == pc && lately.pipeline_state == pipeline_state {
            return lately.start;
        }
        self.find(core, pc, pipeline_state)
    }
    #[inline(never)]
    fn find(&mut self, core: &View<'_>, pc: u32, pipeline_state: PipelineState) -> Start {
        self.full |= self.starts.len() > MOST || self.numbers.0.len() > MOST;
        if self.full {
            return Start::Asked(0);
        }
        let number = self.numbers.of(pipeline_state);
        let key = Quick::key(pc, number);
        let start = self.starts.entry(key).or_insert(Start::Asked(0));
        if let Start::Asked(times) = start {
            *times += 1;
            if *times < core.hot() {
                return *start;
            }
            self.make(core, pc, pipeline_state, number);
        }
        let start = self.starts.get(&key).copied().unwrap_or(Start::Asked(0));
        if !matches!(start, Start::Asked(_)) {
            self.lately[Lately::place(pc, pipeline_state)] = Lately { pipeline_state, pc, start };
        }
        if let Start::Block(code) = start {
            self.quick[Quick::place(pc, number)] = Quick { key, code };
        }
        start
    }
    #[cold]
    fn make(&mut self, core: &View<'_>, pc: u32, pipeline_state: PipelineState, number: u32) {
        let site = Site {
            at: self.arena.next(),
            thunk: self.thunk,
            places: self.places,
            quick: self.quick.as_ptr(),
            exits: &mut self.exits,
            numbers: &mut self.numbers,
        };
        let start = match emit::translate(core, &self.text, pc, pipeline_state, site) {
            None => Start::Interpret,
            Some(code) => match self.arena.put(&code) {
                Some(code) => Start::Block(code),
                None => return self.full = true,
            },
        };
        self.starts.insert(Quick::key(pc, number), start);
    }
    /// Forgets all blocks. Not while one runs, which may request others.
    #[cold]
    fn forget(&mut self) {
        self.serial = next_serial();
        self.full = false;
        self.arena.clear(self.begin);
        self.exits.clear();
        self.starts.clear();
        self.numbers.0.clear();
        self.quick.fill(Quick::NONE);
        self.lately.fill(Lately::NONE);
    }
    /// Lets an exit that was taken lead to the block that begins there, if there is one.
    #[inline(never)]
    fn link(&mut self, core: &View<'_>, exit: usize, jump: *const u8) {
        let pipeline_state = self.exits[exit].pipeline_state;
        if let Start::Block(code) = self.start(core, core.pc(), pipeline_state)
            && let Some(Exit { then: then @ Then::Next(Some(_)), .. }) = self.exits.get_mut(exit)
        {
            *then = Then::Next(None);
            self.arena.link(jump, code);
        }
    }

    /// Runs blocks from the core's next instruction on, whose line is in the text and the cache.
    pub fn run<B: Bus>(&mut self, core: &mut View<'_>, bus: &mut B, text: &Text) -> Ran {
        if !core.is_quiet() || self.block_bits != core.block_bits() {
            return Ran::Cold;
        }
        if let Some(code) = self.goes_on(core) {
            return self.go_through(core, bus, text, code);
        }
        let Some(pipeline_state) = core.pipeline_state() else { return Ran::Cold };
        match self.start(core, core.pc(), pipeline_state) {
            Start::Asked(_) => Ran::Cold,
            Start::Interpret => Ran::Up,
            Start::Block(code) => {
                if let Some(exit) = core.last_exit(self.serial) {
                    self.know(exit, code);
                }
                self.go_through(core, bus, text, code)
            }
        }
    }
    /// The block that follows an exit by which a core has left.
    #[cold]
    fn know(&mut self, exit: usize, code: *const u8) {
        if let Some(exit) = self.exits.get_mut(exit) {
            // A return does not always have the same target.
            if exit.pc.is_some() {
                exit.code = code;
            }
        }
    }
    /// The block that goes on where the core is, if it has left blocks there and that is known.
    #[inline]
    pub fn goes_on(&self, core: &View<'_>) -> Option<*const u8> {
        if !core.is_quiet() || self.block_bits != core.block_bits() {
            return None;
        }
        let code = self.exits[core.last_exit(self.serial)?].code;
        (!code.is_null()).then_some(code)
    }
    /// Runs blocks from `code` on, and what they leave to the load and store unit (`access`).
    #[inline]
    pub fn go_through<B: Bus>(
        &mut self,
        core: &mut View<'_>,
        bus: &mut B,
        text: &Text,
        code: *const u8,
    ) -> Ran {
        let (address, slots, history) = core.begin();
        let (enter, table) = (self.enter, Visit::<B>::TABLE);
        let mut visit =
            Visit { table, core: address, bus, own: self, text, ran: None, panic: None };
        let Left { exit, slots } = enter(address, code, slots, history, (&raw mut visit).cast());
        let Visit { ran, panic, .. } = visit;
        if let Some(ended) = ran {
            if let Some(panic) = panic {
                resume_unwind(panic);
            }
            return ended;
        }
        let (number, base) = (exit as usize, core.cycle_before_limit(slots));
        let Exit { pc, cycles, pipeline_state, instructions, ref then, .. } = self.exits[number];
        let cycle = base + u64::from(cycles);
        let exit = blocks::Exit { pc, cycle, pipeline_state, instructions };
        core.end(exit, self.serial, number);
        match *then {
            Then::Next(None) => {}
            Then::Next(Some(jump)) => self.link(core, number, jump),
            Then::Interpret | Then::Access { .. } => return Ran::Up,
        }
        Ran::Enough
    }
}
