//! Decoded instructions. What a word means depends on nothing but the word and the core's timing, so
//! cores that execute the same code share what was decoded: hundreds of nodes with one firmware need
//! it once.

use crate::decode::{decode, Op};
use crate::timing::Latencies;
use crate::Timing;
use des::{Checkpoint, Checkpointed};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Instructions of a line of the instruction cache.
pub(crate) const WORDS: usize = 8;

/// A line of instructions.
#[derive(Debug)]
pub(crate) struct Line {
    pub words: [u32; WORDS],
    pub ops: [Op; WORDS],
}

impl Line {
    fn new(words: [u32; WORDS], latencies: &Latencies) -> Arc<Line> {
        Arc::new(Line { words, ops: words.map(|word| decode(word, latencies)) })
    }
}

/// All lines that were decoded, for any number of cores with the same timing. Only asked when a line
/// is not among those that a core has had lately.
#[derive(Clone, Debug)]
pub struct Code {
    lines: Arc<Mutex<HashMap<[u32; WORDS], Arc<Line>>>>,
    latencies: Latencies,
}

impl Code {
    /// More lines than a firmware has. Code that changes all the time must not fill the memory.
    const MOST: usize = 1 << 14;

    /// Nothing decoded yet.
    pub fn new(timing: &Timing) -> Code {
        Code { lines: Arc::default(), latencies: Latencies::new(timing) }
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
    /// The line of these words, which stand at line number `line`.
    pub fn line(&mut self, line: u64, words: [u32; WORDS]) -> Arc<Line> {
        let recent = &mut self.recent[line as usize & (Self::RECENT - 1)];
        if recent.words != words {
            *recent = self.code.line(words);
        }
        recent.clone()
    }
    /// A line that stands at line number `number`, for a checkpoint, which holds its words.
    pub fn pass(&mut self, number: u64, line: &mut Arc<Line>, checkpoint: &mut Checkpoint<'_>) {
        let mut words = line.words;
        words.pass(checkpoint);
        if words != line.words {
            *line = self.line(number, words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_share_lines_and_code_that_changes_does_not_pile_up() {
        let code = Code { lines: Arc::default(), latencies: Latencies::default() };
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
}
