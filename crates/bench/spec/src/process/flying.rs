//! Events of a process whose match lists are on the network interface, and that it cannot know yet: the
//! firmware has done its work, and the word that tells of it is on its way to host memory.

use super::{Key, Process};
use crate::types::{Event, Register};
use std::collections::{BTreeMap, VecDeque};

/// Event of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    Start(Key),
    End(Key),
    Neither,
}

#[derive(Clone, Debug)]
enum Step {
    Post(Option<u32>, Event, Of),
    Count(Register, u64),
}

/// Contents of one word.
#[derive(Clone, Debug, Default)]
struct Word {
    steps: Vec<Step>,
    ended: Vec<(Key, bool)>,
    /// Descriptors of operations that have ended.
    used: Vec<u32>,
}

/// Words on their way.
#[derive(Clone, Debug, Default)]
pub(super) struct Flying {
    /// Acts of the firmware are kept for the next word.
    keeping: bool,
    next: Word,
    words: VecDeque<Word>,
    /// Sequence numbers of START events whose END is not shown.
    links: BTreeMap<Key, u64>,
}

impl Flying {
    /// Keeps an event, or gives it back to be shown at once.
    pub fn keeps(&mut self, eq: Option<u32>, event: Event, of: Of) -> Option<Event> {
        if !self.keeping || eq.is_none() {
            return Some(event);
        }
        self.next.steps.push(Step::Post(eq, event, of));
        None
    }
    /// The same of a count.
    pub fn keeps_count(&mut self, register: Register, by: u64) -> bool {
        if self.keeping {
            self.next.steps.push(Step::Count(register, by));
        }
        self.keeping
    }
    /// Keeps that an operation on a descriptor has ended.
    pub fn keeps_use(&mut self, md: u32) {
        if self.keeping {
            self.next.used.push(md);
        }
    }
    /// True if the process may not know yet that an operation on a descriptor has ended.
    pub fn uses(&self, md: u32) -> bool {
        self.words.iter().any(|word| word.used.contains(&md))
    }
    /// True if an event for `eq` is on its way.
    pub fn has(&self, eq: u32) -> bool {
        let words = self.words.iter().chain([&self.next]);
        let mut steps = words.flat_map(|word| &word.steps);
        steps.any(|step| matches!(step, Step::Post(to, ..) if *to == Some(eq)))
    }
}

impl Process {
    /// From now on, or no longer, what happens is what the firmware does.
    pub(crate) fn keep(&mut self, keeping: bool) {
        self.flying.keeping = keeping;
    }
    /// An operation has ended; whether its bytes are there is looked at when the process can know.
    pub(crate) fn keep_end(&mut self, key: Key, failed: bool) {
        self.flying.next.ended.push((key, failed));
    }
    /// The firmware stores the word that tells of all that was kept.
    pub(crate) fn store_word(&mut self) {
        let word = std::mem::take(&mut self.flying.next);
        self.flying.words.push_back(word);
    }
    /// The oldest word is in memory: the process can see what it tells of. The operations that have ended.
    pub(crate) fn land_word(&mut self) -> Vec<(Key, bool)> {
        let Some(word) = self.flying.words.pop_front() else { return Vec::new() };
        for step in word.steps {
            match step {
                Step::Count(register, by) => self.counters[register as usize] += by,
                Step::Post(eq, event, of) => self.land_event(eq, event, of),
            }
        }
        word.ended
    }

    fn land_event(&mut self, eq: Option<u32>, mut event: Event, of: Of) {
        if let Of::End(key) = of {
            event.link = self.flying.links.remove(&key).unwrap_or(event.link);
        }
        let queue = eq.and_then(|eq| self.eqs.get(&eq));
        if let (Of::Start(key), Some(queue)) = (of, queue) {
            self.flying.links.insert(key, queue.written + 1);
        }
        self.show(eq, event);
    }
}
