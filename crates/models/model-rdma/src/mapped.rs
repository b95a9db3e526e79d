//! The request queue mapped into a program: which of its stores make descriptors, and when they leave the
//! processor. The card's own queue is behind the bus; this tells what comes there, for counters and messages.

use abi::forth::{control, Descriptor, WORDS_MAX};
use pci::{Burst, WriteCombiner};

/// Stores on their way to the queue.
#[derive(Debug)]
pub(super) struct MappedQueue {
    /// Copy of the processor's: the same stores leave it at the same times.
    combiner: Option<WriteCombiner>,
    /// Words of 32 bits of the next descriptor, as the card keeps them.
    stage: [u32; 4],
}

impl MappedQueue {
    /// Queue without a store; `combining`: it is mapped with write combining.
    pub fn new(combining: bool) -> MappedQueue {
        MappedQueue { combiner: combining.then(|| WriteCombiner::new(1)), stage: [0; 4] }
    }

    /// A store at that byte of the queue; the descriptors that leave with it.
    pub fn store(&mut self, offset: u32, bytes: &[u8]) -> Vec<Descriptor> {
        let (mut left, stage) = (Vec::new(), &mut self.stage);
        let mut at = u64::from(offset);
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(8 - (at % 8) as usize));
            match &mut self.combiner {
                Some(combiner) => {
                    combiner.store(at, piece, &mut |burst| left.extend(posted(stage, &burst)));
                }
                None => left.extend(posted(stage, &pci::node::single(at, piece))),
            }
            at += piece.len() as u64;
            rest = after;
        }
        left
    }

    /// The processor's buffers are emptied: a fence, or an access to anything else of the card's.
    pub fn flush(&mut self) -> Vec<Descriptor> {
        let (mut left, stage) = (Vec::new(), &mut self.stage);
        if let Some(combiner) = &mut self.combiner {
            combiner.flush(&mut |burst| left.extend(posted(stage, &burst)));
        }
        left
    }
}

/// Descriptors that are complete with this burst.
fn posted(stage: &mut [u32; 4], burst: &Burst) -> Vec<Descriptor> {
    let mut complete = Vec::new();
    for (word, place) in (0..usize::from(burst.words)).zip(burst.addr / 8..) {
        for half in 0..2 {
            if burst.enables[word] >> (4 * half) & 0xF != 0xF {
                continue;
            }
            let place = (place as usize % 2) * 2 + half;
            stage[place] = (burst.data[word] >> (32 * half)) as u32;
            if place == 3 {
                let [source_lo, source_hi, destination, control] = *stage;
                complete.push(Descriptor { source_lo, source_hi, destination, control });
            }
        }
    }
    complete
}

/// Words and node of a descriptor that the card takes; `None`: it drops it.
pub(super) fn taken(descriptor: &Descriptor) -> Option<(u16, u32)> {
    let words = (descriptor.control & control::WORDS_MASK) as u16;
    let whole = descriptor.source_lo % 8 == 0 && descriptor.destination % 8 == 0;
    let flow = descriptor.control >> control::FLOW_SHIFT & control::FLOW_MASK;
    ((1..=WORDS_MAX as u16).contains(&words) && whole).then_some((words, flow))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(from: u32, to: u32, control: u32) -> Vec<u8> {
        [from, 0, to, control].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_descriptor_leaves_at_once_or_with_its_line() {
        let one = bytes(0x1000, 0x2000, 1 << 24 | 3);
        let mut plain = MappedQueue::new(false);
        assert_eq!(plain.store(0, &one[..8]), []);
        let left = plain.store(8, &one[8..]);
        assert_eq!(taken(&left[0]), Some((3, 1)));
        let mut combined = MappedQueue::new(true);
        for slot in 0..3 {
            assert_eq!(combined.store(16 * slot, &one), []);
        }
        assert_eq!(combined.store(48, &one).len(), 4);
        assert_eq!(combined.store(0, &one), []);
        assert_eq!(combined.flush().len(), 1);
        assert_eq!(combined.flush(), []);
    }

    /// Test: bytes come together in a line; alone the card ignores them.
    #[test]
    fn single_bytes_make_a_descriptor_only_where_they_are_combined() {
        let one = bytes(8, 16, 1);
        for (combining, count) in [(true, 1), (false, 0)] {
            let mut queue = MappedQueue::new(combining);
            let mut left = Vec::new();
            for (place, byte) in (0..).zip(&one) {
                left.extend(queue.store(place, &[*byte]));
            }
            left.extend(queue.flush());
            assert_eq!(left.len(), count);
        }
    }

    #[test]
    fn the_card_drops_what_has_no_size_or_is_not_aligned() {
        let of = |source_lo, destination, control| {
            taken(&Descriptor { source_lo, source_hi: 0, destination, control })
        };
        assert_eq!(of(8, 8, 512), Some((512, 0)));
        assert_eq!([of(8, 8, 0), of(8, 8, 513), of(4, 8, 1), of(8, 4, 1)], [None; 4]);
    }
}
