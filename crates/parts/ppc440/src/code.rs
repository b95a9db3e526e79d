//! Decoded instructions. The meaning of a word depends only on the word and the core's timing, so
//! cores that execute the same code share what was decoded: hundreds of nodes with one firmware need
//! it once. They share the way to it, too (`Text`): what each has of its own is a bit a line.

use crate::decode::{decode, Op};
use crate::timing::Latencies;
use crate::Timing;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Instructions of a line of the instruction cache.
pub(crate) const WORDS: usize = 8;

/// A line of instructions.
#[derive(Debug)]
pub(crate) struct Line {
    pub words: [u32; WORDS],
    ops: [Op; WORDS],
}

impl Line {
    fn new(words: [u32; WORDS], latencies: &Latencies) -> Arc<Line> {
        Arc::new(Line { words, ops: words.map(|word| decode(word, latencies)) })
    }
    /// The instruction at `pc`, which lies in this line.
    #[inline(always)]
    pub fn op(&self, pc: u32) -> &Op {
        &self.ops[(pc >> 2) as usize % WORDS]
    }
    /// The instructions from `pc` on, which lies in this line.
    #[inline(always)]
    pub fn rest(&self, pc: u32) -> &[Op] {
        &self.ops[(pc >> 2) as usize % WORDS..]
    }
    /// `count` instructions from `pc` on, which lie in this line.
    pub fn ops(&self, pc: u32, count: u8) -> &[Op] {
        &self.ops[(pc >> 2) as usize % WORDS..][..usize::from(count)]
    }
}

/// All lines that were decoded, for any number of cores with the same timing. Only asked when a line
/// is not among those that a core has had lately.
#[derive(Clone, Debug)]
pub struct Code {
    lines: Arc<Mutex<HashMap<[u32; WORDS], Arc<Line>>>>,
    text: Arc<Text>,
    latencies: Latencies,
}

/// Lines by their effective line number. The first one that any core has fetched at a number, modulo
/// their count, is kept there for good; others are not found here, which takes longer.
#[derive(Debug)]
pub(crate) struct Text(Box<[OnceLock<Placed>; Text::PLACES]>);

#[derive(Debug)]
struct Placed {
    number: u32,
    line: Arc<Line>,
}

impl Text {
    /// Number of lines of the instruction cache: 32 KB of code.
    pub const PLACES: usize = 1 << 10;

    fn new() -> Text {
        Text(Box::new([const { OnceLock::new() }; Text::PLACES]))
    }
    /// Index of the slot that line `number` would occupy.
    #[inline(always)]
    pub fn place(number: u32) -> usize {
        number as usize % Text::PLACES
    }
    /// Line `number`.
    #[inline(always)]
    pub fn line(&self, number: u32) -> Option<&Line> {
        let placed = self.0[Text::place(number)].get()?;
        (placed.number == number).then_some(&placed.line)
    }
    /// Puts a line there unless another one has its place. True if it is the one that is there.
    pub fn put(&self, number: u32, line: &Arc<Line>) -> bool {
        let place = &self.0[Text::place(number)];
        let placed = place.get_or_init(|| Placed { number, line: line.clone() });
        placed.number == number && placed.line.words == line.words
    }
}

impl Code {
    /// More lines than a firmware has. Code that changes all the time must not fill the memory.
    const MOST: usize = 1 << 14;

    /// Nothing decoded yet.
    pub fn new(timing: &Timing) -> Code {
        Code::of(Latencies::new(timing))
    }
    fn of(latencies: Latencies) -> Code {
        Code { lines: Arc::default(), text: Arc::new(Text::new()), latencies }
    }
    pub(crate) fn text(&self) -> Arc<Text> {
        self.text.clone()
    }
    fn line(&self, words: [u32; WORDS]) -> Arc<Line> {
        // Nothing here is ever half done.
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= Self::MOST {
            lines.clear();
        }
        lines.entry(words).or_insert_with(|| Line::new(words, &self.latencies)).clone()
    }
}

/// One core's way to decoded lines.
#[derive(Clone)]
pub(crate) struct Decoder {
    code: Code,
    /// The last one for each address, modulo their number.
    recent: Box<[Arc<Line>]>,
}

impl Decoder {
    const RECENT: usize = 256;

    pub fn new(code: &Code, timing: &Timing) -> Decoder {
        assert_eq!(code.latencies, Latencies::new(timing), "code is shared by cores of one timing");
        Decoder::of(code)
    }
    fn of(code: &Code) -> Decoder {
        let nothing = code.line([0; WORDS]);
        Decoder { code: code.clone(), recent: vec![nothing; Self::RECENT].into() }
    }
    /// The line of these words, which have line number `line`.
    pub fn line(&mut self, line: u64, words: [u32; WORDS]) -> Arc<Line> {
        let recent = &mut self.recent[line as usize & (Self::RECENT - 1)];
        if recent.words != words {
            *recent = self.code.line(words);
        }
        recent.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_share_lines_and_code_that_changes_does_not_pile_up() {
        let code = Code::of(Latencies::default());
        let (mut mine, mut theirs) = (Decoder::of(&code), Decoder::of(&code));
        let words = [0x3860_0001; WORDS];
        let line = mine.line(5, words);
        assert!(Arc::ptr_eq(&line, &theirs.line(6, words)));
        assert_eq!(line.words, words);
        for word in 0..2 * Code::MOST as u32 {
            mine.line(u64::from(word), [word; WORDS]);
            assert!(code.lines.lock().unwrap().len() <= Code::MOST);
        }
    }

    #[test]
    fn the_first_line_at_a_number_stands_in_the_text() {
        let code = Code::of(Latencies::default());
        let (text, mut decoder) = (code.text(), Decoder::of(&code));
        let mut line = |word: u32| decoder.line(5, [word; WORDS]);
        assert!(text.line(5).is_none());
        assert!(text.put(5, &line(1)) && text.put(5, &line(1)));
        assert!(!text.put(5, &line(2)));
        let same_place = 5 + Text::PLACES as u32;
        assert!(!text.put(same_place, &line(1)) && text.line(same_place).is_none());
        assert_eq!(text.line(5).map(|line| line.words), Some([1; WORDS]));
    }
}
