//! Match bits of the interface: what of a message MPI's matching rules look at, in 42 bits (brightwell2005
//! s6.1).
//!
//! ```text
//! 41     30 29         15 14   0
//! | context | source rank | tag |
//! ```
//! Tags of collectives count further than that; they are folded. Those that are under way at a time differ.

use crate::comm::MAX_COMMUNICATORS;
use crate::constant::{ANY_SOURCE, ANY_TAG};
use crate::transport::{Address, Found, Wanted};
use abi::offload::{CONTEXT_WIDTH, MATCH_WIDTH, SOURCE_WIDTH, TAG_WIDTH};

/// Largest tag.
pub(super) const TAG_MAX: i32 = (1 << TAG_WIDTH) - 1;

const TAGS: u64 = TAG_MAX as u64;
const SOURCES: u64 = (1 << SOURCE_WIDTH) - 1;
const CONTEXT_SHIFT: u32 = TAG_WIDTH + SOURCE_WIDTH;
const _: () = assert!(2 * MAX_COMMUNICATORS <= 1 << CONTEXT_WIDTH);
const _: () = assert!(CONTEXT_SHIFT + CONTEXT_WIDTH == MATCH_WIDTH);

fn pack(context: u16, source: u64, tag: u64) -> u64 {
    u64::from(context) << CONTEXT_SHIFT | (source & SOURCES) << TAG_WIDTH | tag & TAGS
}

/// Bits of a message.
pub(super) fn of(to: Address) -> u64 {
    pack(to.context, to.source.into(), to.tag as u64)
}

/// Source and tag in the bits of a message; its length is not in them.
pub(super) fn found(bits: u64) -> Found {
    let source = (bits >> TAG_WIDTH & SOURCES) as i32;
    Found { source, tag: (bits & TAGS) as i32, bytes: 0 }
}

/// Pattern that a receive or a probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Bits that must agree where `mask` is 0.
    pub bits: u64,
    /// Bits that match anything.
    pub mask: u64,
}

impl From<Wanted> for Pattern {
    fn from(Wanted { context, source, tag }: Wanted) -> Pattern {
        let mut mask = 0;
        if source == ANY_SOURCE {
            mask |= SOURCES << TAG_WIDTH;
        }
        if tag == ANY_TAG {
            mask |= TAGS;
        }
        Pattern { bits: pack(context, source as u64, tag as u64) & !mask, mask }
    }
}
