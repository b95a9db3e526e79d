//! The two cache arrays: 32 KB, 16 sets of 64 ways, 32-byte lines, replaced round robin. They hold
//! data and are not coherent with anything. The data cache has real tags, the instruction cache
//! virtual ones.
//!
//! A table of lines that were used lately gives their places without a search of 64 ways. What an
//! instruction needs of the cache is kept close together, since simulated nodes by the hundred share
//! the caches of the machine that simulates.

use crate::code::{Code, Decoder, Line, Text, WORDS};
use crate::fetch::Ahead;
use crate::Timing;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub(crate) const LINE: usize = 32;
const WAYS: usize = 64;
const SETS: usize = 16;
const LINES: usize = WAYS * SETS;

/// Next way to replace in each set: one byte a set, four to an SPR.
#[derive(Clone, Hash)]
pub(crate) struct Victims {
    normal: [u8; SETS],
    /// Transient victim indices: kept, not used (no transient regions yet).
    transient: [u8; SETS],
    /// Victim limits: the last eight bits are the floor of the normal region.
    pub limits: u32,
}

impl Victims {
    fn new() -> Victims {
        Victims { normal: [0; SETS], transient: [0; SETS], limits: 0 }
    }
    fn way(&self, set: usize) -> usize {
        usize::from(self.normal[set]) & (WAYS - 1)
    }
    fn advance(&mut self, set: usize) {
        let next = self.way(set) + 1;
        self.normal[set] = if next == WAYS { self.limits as u8 & 63 } else { next as u8 };
    }
    /// Register `n` (0 to 3) of the normal, or the transient, victim registers.
    pub fn register(&self, transient: bool, n: usize) -> u32 {
        let bytes = if transient { &self.transient } else { &self.normal };
        bytes[4 * n..4 * n + 4].iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
    }
    pub fn set_register(&mut self, transient: bool, n: usize, word: u32) {
        let bytes = if transient { &mut self.transient } else { &mut self.normal };
        for (byte, value) in bytes[4 * n..4 * n + 4].iter_mut().zip(word.to_be_bytes()) {
            *byte = value & 63;
        }
    }
}

/// No line: real line numbers have 31 bits.
const EMPTY: u32 = u32::MAX;
/// Bit in the tag of a line: others have written some of its bytes in memory. The fast paths do not
/// find such a line.
const STALE: u32 = 1 << 31;
/// Lines that the cache holds are counted by pieces of 4 KB of memory, modulo this number.
const PIECES: usize = 256;

/// Location of a recently used line that is not stale, and its dirty doublewords, so that a store which
/// makes none dirty need not look elsewhere.
#[derive(Clone, Copy, Hash)]
pub(crate) struct Hint {
    pub line: u32,
    pub index: u16,
    pub dirty: u8,
}

impl Hint {
    const NONE: Hint = Hint { line: EMPTY, index: 0, dirty: 0 };
}

pub(crate) const HINTS: usize = 256;

fn hint_of(line: u32) -> usize {
    line as usize & (HINTS - 1)
}

/// The data cache. A line is named by its real line number (real address / 32).
#[derive(Clone, Hash)]
pub(crate) struct DataCache {
    pub data: Box<[u8; LINES * LINE]>,
    tags: Box<[u32; LINES]>,
    /// Dirty doublewords of each line.
    dirty: Box<[u8; LINES]>,
    pub hints: Box<[Hint; HINTS]>,
    pub victims: Victims,
    /// Bytes of each line that memory has others of, and how many lines have such bytes.
    stale: Box<[u32; LINES]>,
    pub stale_lines: u32,
    /// Lines held of each piece of memory.
    held: Box<[u16; PIECES]>,
}

/// The piece of memory that a line lies in.
fn piece(line: u32) -> usize {
    (line >> 7) as usize % PIECES
}

/// Bits of `len` bytes from `first` on in a line.
fn byte_mask(first: usize, len: usize) -> u32 {
    (((1u64 << len) - 1) << first) as u32
}

impl DataCache {
    pub fn new() -> DataCache {
        DataCache {
            data: Box::new([0; LINES * LINE]),
            tags: Box::new([EMPTY; LINES]),
            dirty: Box::new([0; LINES]),
            hints: Box::new([Hint::NONE; HINTS]),
            victims: Victims::new(),
            stale: Box::new([0; LINES]),
            stale_lines: 0,
            held: Box::new([0; PIECES]),
        }
    }
    /// Index of `line`, if it was used recently.
    #[inline(always)]
    pub fn hinted(&self, line: u32) -> Option<usize> {
        let hint = self.hints[hint_of(line)];
        (hint.line == line).then_some(usize::from(hint.index) & (LINES - 1))
    }
    /// Dirty doublewords of the line at `index`, a bit each.
    pub fn dirty(&self, index: usize) -> u8 {
        self.dirty[index]
    }
    /// Index of `line`, if it was used recently and these doublewords are dirty.
    pub fn hinted_dirty(&self, line: u32, doublewords: u8) -> Option<usize> {
        let hint = self.hints[hint_of(line)];
        self.hinted(line).filter(|_| hint.dirty & doublewords == doublewords)
    }
    /// Doublewords of `line`, which was used lately, become dirty.
    #[inline(always)]
    pub fn soil_hinted(&mut self, line: u32, doublewords: u8) {
        let hint = &mut self.hints[hint_of(line)];
        if hint.dirty & doublewords != doublewords {
            hint.dirty |= doublewords;
            self.dirty[usize::from(hint.index) & (LINES - 1)] = hint.dirty;
        }
    }
    /// Just these doublewords of the line at `index` are dirty from now on.
    pub fn set_dirty(&mut self, index: usize, doublewords: u8) {
        self.dirty[index] = doublewords;
        let hint = &mut self.hints[hint_of(self.tags[index])];
        if usize::from(hint.index) == index {
            hint.dirty = doublewords;
        }
    }
    /// The line at `index` goes, or is no longer fresh.
    fn forget_hint(&mut self, index: usize) {
        let hint = &mut self.hints[hint_of(self.tags[index])];
        if usize::from(hint.index) == index {
            *hint = Hint::NONE;
        }
    }
    /// Index of `line`.
    pub fn find(&mut self, line: u32) -> Option<usize> {
        if let Some(index) = self.hinted(line) {
            return Some(index);
        }
        let first = (line as usize & (SETS - 1)) * WAYS;
        let ways = &self.tags[first..first + WAYS];
        if let Some(way) = ways.iter().position(|&tag| tag == line) {
            let index = first + way;
            self.hint(line, index);
            return Some(index);
        }
        if self.stale_lines == 0 {
            return None;
        }
        ways.iter().position(|&tag| tag == line | STALE).map(|way| first + way)
    }
    fn hint(&mut self, line: u32, index: usize) {
        let dirty = self.dirty[index];
        self.hints[hint_of(line)] = Hint { line, index: index as u16, dirty };
    }
    /// The same for one who only looks, and so leaves no hint.
    pub fn position(&self, line: u32) -> Option<usize> {
        let first = (line as usize & (SETS - 1)) * WAYS;
        let ways = &self.tags[first..first + WAYS];
        ways.iter().position(|&tag| tag & !STALE == line).map(|way| first + way)
    }
    /// The line at `index`.
    pub fn line_number(&self, index: usize) -> u32 {
        self.tags[index] & !STALE
    }
    /// Gives the place at `index` to a line, or to none.
    fn set_tag(&mut self, index: usize, tag: u32) {
        self.freshen(index, 0, LINE);
        self.forget_hint(index);
        let old = std::mem::replace(&mut self.tags[index], tag);
        if old != EMPTY {
            self.held[piece(old)] -= 1;
        }
        if tag != EMPTY {
            self.held[piece(tag)] += 1;
        }
    }
    /// `len` bytes of the line at `index` are no longer stale.
    pub fn freshen(&mut self, index: usize, first: usize, len: usize) {
        let stale = &mut self.stale[index];
        if *stale == 0 {
            return;
        }
        *stale &= !byte_mask(first, len);
        if *stale == 0 {
            self.stale_lines -= 1;
            self.tags[index] &= !STALE;
        }
    }
    /// First stale byte of `len` bytes at `offset` in the array, within a line.
    pub fn first_stale(&self, offset: usize, len: usize) -> Option<usize> {
        let stale = self.stale[offset / LINE] & byte_mask(offset % LINE, len);
        (stale != 0).then_some(stale.trailing_zeros() as usize - offset % LINE)
    }
    /// Memory has got other bytes behind `len` bytes of `line`.
    pub fn make_stale(&mut self, line: u32, first: usize, len: usize) {
        if self.held[piece(line)] == 0 {
            return;
        }
        if let Some(index) = self.find(line) {
            self.stale_lines += u32::from(self.stale[index] == 0);
            self.stale[index] |= byte_mask(first, len);
            self.forget_hint(index);
            self.tags[index] |= STALE;
        }
    }
    /// First byte of `line`, from `first` on, that was stored but is not in `memory`.
    pub fn first_unflushed(&mut self, line: u32, first: usize, memory: &[u8]) -> Option<usize> {
        if self.held[piece(line)] == 0 {
            return None;
        }
        let index = self.find(line)?;
        let dirty = self.dirty[index];
        let cached = &self.line(index)[first..];
        let mut pairs = memory.iter().zip(cached).enumerate();
        let differs =
            pairs.find(|(i, (byte, cached))| dirty >> ((first + i) / 8) & 1 != 0 && byte != cached);
        differs.map(|(i, _)| i)
    }
    /// The line that `line` would replace.
    pub fn victim(&self, line: u32) -> usize {
        let set = line as usize & (SETS - 1);
        set * WAYS + self.victims.way(set)
    }
    /// Puts `line` into the victim's place, clean, its bytes as they were there.
    pub fn install(&mut self, line: u32) -> usize {
        let index = self.victim(line);
        debug_assert_eq!(
            self.dirty[index], 0,
            "a dirty line is written back before it is replaced"
        );
        self.set_tag(index, line);
        self.hint(line, index);
        self.victims.advance(line as usize & (SETS - 1));
        index
    }
    pub fn invalidate(&mut self, index: usize) {
        self.set_dirty(index, 0);
        self.set_tag(index, EMPTY);
    }
    pub fn invalidate_all(&mut self) {
        self.tags.fill(EMPTY);
        self.hints.fill(Hint::NONE);
        self.dirty.fill(0);
        self.stale.fill(0);
        self.stale_lines = 0;
        self.held.fill(0);
    }
    /// The bytes of the aligned word at `offset` in the array.
    pub fn word(&self, offset: usize) -> [u8; 4] {
        self.data[offset..].first_chunk().copied().expect("an aligned word lies in the array")
    }
    pub fn set_word(&mut self, offset: usize, word: [u8; 4]) {
        self.data[offset..offset + 4].copy_from_slice(&word);
    }
    pub fn line(&self, index: usize) -> &[u8] {
        &self.data[index * LINE..(index + 1) * LINE]
    }
    pub fn line_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.data[index * LINE..(index + 1) * LINE]
    }
}

/// The key of an effective line (27 bits), while translations are those of a generation. That the same
/// generation comes round again, after 2^37 changes, is left out of account.
fn fetch_key(generation: u64, number: u32) -> u64 {
    generation << 27 | u64::from(number)
}

/// Index of the line fetch buffer, which holds the line of a caching-inhibited page while it is
/// executed.
pub(crate) const BUFFER: usize = LINES;

/// The instruction cache. A line is named by its virtual tag: effective line, address space,
/// process id, valid. Each line holds its decoded instructions, so they live and die with it.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct InstructionCache {
    /// Taken out while the core executes it.
    pub text: Option<Arc<Text>>,
    generation: u64,
    /// Bit for each place in the text: its line is in the cache, while translations are those of
    /// `generation`. What is held may be missing here.
    pub held: [u64; Text::PLACES / 64],
    /// Changed whenever a line is filled.
    pub epoch: u64,
    tags: Box<[u64; LINES]>,
    /// The instructions of each line and of the buffer.
    lines: Box<[Arc<Line>]>,
    decoder: Decoder,
    /// Key of what the fetch buffer holds.
    buffered: Option<u64>,
    /// Lines on their way that were not requested yet.
    pub ahead: Ahead,
    pub victims: Victims,
}

impl Hash for InstructionCache {
    /// Hashes of the instructions only the words, from which all else follows.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.tags, self.buffered, &self.victims).hash(state);
        self.lines.iter().for_each(|line| line.words.hash(state));
        self.ahead.hash(state);
    }
}

/// The virtual tag of an effective address.
pub(crate) fn tag(effective: u32, space: bool, tid: u8) -> u64 {
    1 << 63 | u64::from(space) << 40 | u64::from(tid) << 32 | u64::from(effective >> 5)
}

impl InstructionCache {
    pub fn new(code: &Code, timing: &Timing) -> InstructionCache {
        let mut decoder = Decoder::new(code, timing);
        let nothing = decoder.line(0, [0; WORDS]);
        InstructionCache {
            tags: Box::new([0; LINES]),
            lines: vec![nothing; LINES + 1].into(),
            decoder,
            text: Some(code.text()),
            held: Default::default(),
            generation: 0,
            buffered: None,
            ahead: Ahead::default(),
            victims: Victims::new(),
            epoch: 0,
        }
    }
    /// Line `number` of the text, if it is in the cache.
    #[inline(always)]
    pub fn fetched<'a>(&self, text: &'a Text, generation: u64, number: u32) -> Option<&'a Line> {
        let place = Text::place(number);
        let held = self.held[place / 64] >> (place % 64) & 1 != 0;
        if !held || generation != self.generation {
            return None;
        }
        text.line(number)
    }
    /// Remembers that line `number` is at `index`. Returns it.
    pub fn remember(
        &mut self,
        text: &Text,
        generation: u64,
        number: u32,
        index: usize,
    ) -> Arc<Line> {
        if self.generation != generation {
            self.held = Default::default();
            self.generation = generation;
        }
        let line = &self.lines[index];
        if text.put(number, line) {
            let place = Text::place(number);
            self.held[place / 64] |= 1 << (place % 64);
        }
        line.clone()
    }
    /// True if all these lines of the text, a bit each of the numbered words, are in the cache.
    pub fn holds(&self, generation: u64, lines: &[(usize, u64)]) -> bool {
        let held = |&(word, bits): &(usize, u64)| self.held[word] & bits == bits;
        generation == self.generation && lines.iter().all(held)
    }
    /// Line in the fetch buffer, if that is line `number`.
    pub fn buffered(&self, generation: u64, number: u32) -> Option<Arc<Line>> {
        let same = self.buffered == Some(fetch_key(generation, number));
        same.then(|| self.lines[BUFFER].clone())
    }
    /// Fills the fetch buffer with line `number`.
    pub fn buffer(&mut self, generation: u64, number: u32, words: [u32; WORDS]) -> Arc<Line> {
        self.set_words(BUFFER, number.into(), words);
        self.buffered = Some(fetch_key(generation, number));
        self.lines[BUFFER].clone()
    }
    /// The fetch buffer holds nothing any more.
    pub fn forget_buffer(&mut self) {
        self.buffered = None;
    }
    pub fn find(&self, tag: u64) -> Option<usize> {
        let first = (tag as usize & (SETS - 1)) * WAYS;
        self.tags[first..first + WAYS].iter().position(|&t| t == tag).map(|way| first + way)
    }
    /// Puts a line into the victim's place.
    pub fn install(&mut self, tag: u64, words: [u32; WORDS]) -> usize {
        let set = tag as usize & (SETS - 1);
        let line = set * WAYS + self.victims.way(set);
        self.victims.advance(set);
        self.drop_held(self.tags[line]);
        self.tags[line] = tag;
        self.set_words(line, tag, words);
        line
    }
    /// Fills a line, or the buffer, with the instructions of line number `number`.
    fn set_words(&mut self, line: usize, number: u64, words: [u32; WORDS]) {
        self.epoch += 1;
        self.lines[line] = self.decoder.line(number, words);
    }
    /// The line of this tag is no longer in the cache.
    fn drop_held(&mut self, tag: u64) {
        let place = Text::place(tag as u32);
        self.held[place / 64] &= !(1 << (place % 64));
    }
    pub fn invalidate(&mut self, tag: u64) {
        if let Some(line) = self.find(tag) {
            self.tags[line] = 0;
        }
        self.drop_held(tag);
        self.buffered = None;
        self.ahead.forget();
    }
    pub fn invalidate_all(&mut self) {
        self.tags.fill(0);
        self.held = Default::default();
        self.buffered = None;
        self.ahead.forget();
    }
}
