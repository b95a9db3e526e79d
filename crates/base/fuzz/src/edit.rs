//! Changes of bytes.

use proptest::prelude::*;
use proptest::sample::Index;

/// Numbers at which readers often fail.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    i64::MAX as u64,
    u64::MAX,
];

/// A change of some bytes.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Another byte.
    Set(Index, u8),
    /// Another bit.
    Flip(Index, u8),
    /// A number over the bytes there: its index, its size in bytes, and true if the most significant byte
    /// comes first.
    Number(Index, usize, u8, bool),
    /// Additional bytes.
    Insert(Index, Vec<u8>),
    /// A word of the target, over the bytes there or before them.
    Word(Index, usize, bool),
    /// Fewer bytes, by so many.
    Remove(Index, u8),
    /// The end is missing.
    Cut(Index),
    /// Bytes at one place, inserted at another, so many times.
    Repeat(Index, Index, u8, u8),
    /// Bytes of another seed, over the bytes there.
    Splice(Index, Index, Index, u8),
}

impl Edit {
    /// Any edit, for a target with so many words.
    pub(crate) fn any(words: usize) -> impl Strategy<Value = Edit> {
        let at = any::<Index>;
        prop_oneof![
            2 => (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
            2 => (at(), 0u8..8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
            2 => (at(), 0..EDGES.len(), 0u8..4, any::<bool>())
                .prop_map(|(at, which, size, big)| Edit::Number(at, which, 1 << size, big)),
            1 => (at(), prop::collection::vec(any::<u8>(), 1..9))
                .prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
            if words > 0 { 4 } else { 1 } => (at(), 0..words.max(1), any::<bool>())
                .prop_map(|(at, which, over)| Edit::Word(at, which, over)),
            1 => (at(), 1u8..).prop_map(|(at, count)| Edit::Remove(at, count)),
            1 => at().prop_map(Edit::Cut),
            1 => (at(), at(), 1u8.., 1u8..).prop_map(|(from, to, count, times)| {
                Edit::Repeat(from, to, count, times)
            }),
            1 => (at(), at(), at(), 1u8..).prop_map(|(seed, from, to, count)| {
                Edit::Splice(seed, from, to, count)
            }),
        ]
    }

    /// Changes the bytes.
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>, words: &[Vec<u8>], seeds: &[Vec<u8>]) {
        match self {
            Edit::Set(at, byte) if !bytes.is_empty() => *at.get_mut(bytes) = *byte,
            Edit::Flip(at, bit) if !bytes.is_empty() => *at.get_mut(bytes) ^= 1 << bit,
            Edit::Set(..) | Edit::Flip(..) => {}
            Edit::Number(at, which, size, big) => {
                let (number, size) = (EDGES[*which], usize::from(*size));
                match big {
                    true => over(bytes, *at, &number.to_be_bytes()[8 - size..]),
                    false => over(bytes, *at, &number.to_le_bytes()[..size]),
                }
            }
            Edit::Insert(at, more) => insert(bytes, *at, more),
            Edit::Word(at, which, replace) => match (words.get(*which), replace) {
                (Some(word), true) => over(bytes, *at, word),
                (Some(word), false) => insert(bytes, *at, word),
                (None, _) => {}
            },
            Edit::Remove(at, count) => {
                let at = at.index(bytes.len() + 1);
                bytes.drain(at..bytes.len().min(at + usize::from(*count)));
            }
            Edit::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
            Edit::Repeat(from, to, count, times) => {
                let part = part(bytes, *from, *count).repeat(usize::from(*times));
                insert(bytes, *to, &part);
            }
            Edit::Splice(seed, from, to, count) => {
                let part = part(&seeds[seed.index(seeds.len())], *from, *count).to_vec();
                over(bytes, *to, &part);
            }
        }
    }
}

fn part(bytes: &[u8], from: Index, count: u8) -> &[u8] {
    let from = from.index(bytes.len() + 1);
    &bytes[from..bytes.len().min(from + usize::from(count))]
}

fn insert(bytes: &mut Vec<u8>, at: Index, more: &[u8]) {
    let at = at.index(bytes.len() + 1);
    bytes.splice(at..at, more.iter().copied());
}

fn over(bytes: &mut Vec<u8>, at: Index, more: &[u8]) {
    let at = at.index(bytes.len() + 1);
    let end = bytes.len().min(at + more.len());
    bytes.splice(at..end, more.iter().copied());
}
