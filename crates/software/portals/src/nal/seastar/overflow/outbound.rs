//! A sender's side, for one peer: the messages that it may have to send again.

use super::{after, distance, is_before};
use crate::mutant::{is_mutant, Mutant};
use std::collections::VecDeque;

/// Messages that have been sent and not taken, at most. Kept in the kernel's memory, so that it is no scarce
/// resource; numbers allow 16,383.
const WINDOW: usize = 256;
/// Every so many messages the sender asks whether they were taken.
const ASK: u16 = 16;
/// Longest burst after a refusal.
const BURST: u16 = 256;

/// A message with its number.
#[derive(Clone, Debug)]
pub(crate) struct Kept<M> {
    pub(crate) number: u16,
    pub(crate) message: M,
}

/// Messages that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flow {
    Free,
    /// One was refused, and its sender not called.
    Stopped,
    /// Called: messages before `end` may leave.
    Burst {
        size: u16,
        end: u16,
    },
}

/// The messages to one peer.
#[derive(Clone, Debug)]
pub(crate) struct Outbound<M> {
    /// In the order of their numbers.
    kept: VecDeque<Kept<M>>,
    /// So many of them have left, since the last call.
    left: usize,
    /// Number of the next message.
    next: u16,
    flow: Flow,
}

impl<M> Default for Outbound<M> {
    fn default() -> Outbound<M> {
        Outbound { kept: VecDeque::new(), left: 0, next: 0, flow: Flow::Free }
    }
}

impl<M: Clone> Outbound<M> {
    /// Numbers a message, which goes behind the others.
    pub(crate) fn push(&mut self, message: M) {
        self.kept.push_back(Kept { number: self.next, message });
        self.next = after(self.next);
    }

    /// The message that may leave now.
    pub(crate) fn offer(&self) -> Option<&Kept<M>> {
        let kept = self.kept.get(self.left)?;
        let may = match self.flow {
            Flow::Free => self.left < WINDOW,
            Flow::Stopped => false,
            Flow::Burst { end, .. } => is_before(kept.number, end),
        };
        may.then_some(kept)
    }

    /// True if its receiver has to say that it has taken the message that may leave now; `needed`: because it is
    /// not done with before.
    pub(crate) fn asks(&self, needed: bool) -> bool {
        let Some(kept) = self.kept.get(self.left) else { return false };
        let last = self.left + 1 == self.kept.len();
        let asked = match self.flow {
            Flow::Burst { end, .. } => last || after(kept.number) == end,
            _ => kept.number % ASK == ASK - 1,
        };
        needed || asked
    }

    /// The message that might leave has left.
    pub(crate) fn sent(&mut self) {
        self.left += 1;
    }

    /// Messages before `number` were taken: returns them.
    fn done(&mut self, number: u16) -> Vec<M> {
        let mut taken = Vec::new();
        while self.kept.front().is_some_and(|kept| is_before(kept.number, number)) {
            taken.extend(self.kept.pop_front().map(|kept| kept.message));
            self.left = self.left.saturating_sub(1);
        }
        taken
    }

    /// TAKEN came.
    pub(crate) fn taken(&mut self, number: u16) -> Vec<M> {
        let taken = self.done(after(number));
        if let Flow::Burst { size, end } = self.flow {
            if self.kept.is_empty() {
                self.flow = Flow::Free;
            } else if !is_before(after(number), end) {
                // There may be room for twice as many.
                let size = (size * 2).min(BURST);
                let end = after(number).wrapping_add(size) & super::NUMBER_MASK;
                self.flow = Flow::Burst { size, end };
            }
        }
        taken
    }

    /// REFUSED came. False if it names no message that has left.
    pub(crate) fn refused(&mut self, number: u16) -> (Vec<M>, bool) {
        let taken = self.done(number);
        self.flow = Flow::Stopped;
        (taken, self.is_kept(number))
    }

    /// CALLED came. False if it names no message that has left.
    pub(crate) fn called(&mut self, number: u16) -> (Vec<M>, bool) {
        let taken = self.done(number);
        let known = self.is_kept(number);
        self.left = 0;
        self.flow = Flow::Burst { size: 1, end: after(number) };
        if is_mutant(Mutant::RepeatsTheNext) {
            self.left = usize::from(self.kept.len() > 1);
            self.flow = Flow::Burst { size: 2, end: after(after(number)) };
        }
        (taken, known)
    }

    /// The message is the first that is kept, and has left.
    fn is_kept(&self, number: u16) -> bool {
        let front = self.kept.front().map(|kept| distance(kept.number, number));
        front == Some(0) && (self.left > 0 || self.flow != Flow::Free)
    }

    /// The messages that have left and were not taken.
    #[cfg(test)]
    pub(crate) fn unsettled(&self) -> usize {
        self.kept.len()
    }
}
