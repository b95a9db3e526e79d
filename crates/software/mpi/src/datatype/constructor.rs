//! Constructors of derived datatypes.

use super::layout::{self, Layout};
use super::{signature, too_large, Type};
use crate::constant;
use crate::error::{Error, Result};

/// Blocks of items of a type: `times` of them, `step` bytes from one to the next, the first from byte
/// `offset` on, each of `count` items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    offset: i64,
    count: u64,
    of: &'a Type,
    times: u64,
    step: i64,
}

impl<'a> Block<'a> {
    /// `count` items of a type, from byte `offset` on.
    pub fn new(offset: i64, count: u64, of: &'a Type) -> Block<'a> {
        Block { offset, count, of, times: 1, step: 0 }
    }
    /// The same again and again: `times` in all, `step` bytes from one to the next.
    pub fn again(self, times: u64, step: i64) -> Block<'a> {
        Block { times, step, ..self }
    }
    /// True if it has entries in the type map. A block without items has none, nor has one of an empty
    /// type; but bounds that were set by hand are entries, too.
    fn is_there(&self) -> bool {
        self.count > 0 && self.times > 0 && (self.of.elements > 0 || self.of.resized)
    }
    /// The lowest and the highest address of an item. None: it is beyond 2^63.
    fn ends(&self) -> Option<(i64, i64)> {
        let last = |count: u64, step: i64| i64::try_from(count - 1).ok()?.checked_mul(step);
        let (item, block) = (last(self.count, self.of.extent)?, last(self.times, self.step)?);
        let low = self.offset.checked_add(item.min(0))?.checked_add(block.min(0))?;
        let high = self.offset.checked_add(item.max(0))?.checked_add(block.max(0))?;
        Some((low, high))
    }
}

impl Type {
    /// `count` items one after another.
    pub fn contiguous(&self, count: u64) -> Result<Type> {
        Type::build("a contiguous type", &[Block::new(0, count, self)])
    }

    /// `count` blocks of `block` items, `stride` bytes from one to the next.
    pub fn vector(&self, count: u64, block: u64, stride: i64) -> Result<Type> {
        Type::build("a vector type", &[Block::new(0, block, self).again(count, stride)])
    }

    /// Blocks of items, each at a byte offset with a number of items.
    pub fn indexed(&self, blocks: &[(i64, u64)]) -> Result<Type> {
        let blocks: Vec<_> =
            blocks.iter().map(|&(offset, count)| Block::new(offset, count, self)).collect();
        Type::build("an indexed type", &blocks)
    }

    /// The same with other bounds.
    pub fn with_bounds(&self, lower_bound: i64, extent: i64) -> Type {
        let name = "a resized type";
        let (committed, predefined, resized) = (false, false, true);
        Type { name, lower_bound, extent, committed, predefined, resized, ..self.clone() }
    }

    /// A box of `part` items in each dimension from `start` on, out of an array of `whole` items in
    /// each; the last dimension varies fastest.
    pub fn subarray(&self, whole: &[u64], part: &[u64], start: &[u64]) -> Result<Type> {
        let mut stride = self.extent;
        let mut offset = 0i64;
        let mut piece = self.contiguous(1)?;
        for dimension in (0..whole.len()).rev() {
            piece = piece.vector(part[dimension], 1, stride)?;
            let skipped = stride.checked_mul(start[dimension] as i64);
            offset = skipped.and_then(|s| s.checked_add(offset)).ok_or_else(too_large)?;
            stride = stride.checked_mul(whole[dimension] as i64).ok_or_else(too_large)?;
        }
        let piece = Type::build("a subarray", &[Block::new(offset, 1, &piece)])?;
        Ok(Type { name: "a subarray", ..piece.with_bounds(0, stride) })
    }

    /// This process's part of an array that is distributed over a grid of processes: in each
    /// dimension, from the one that varies fastest, how many items there are in all, and which are here.
    pub fn distributed(&self, dimensions: &[(u64, Share)]) -> Result<Type> {
        let mut piece = self.contiguous(1)?;
        for (whole, share) in dimensions {
            let bytes = |items: u64| {
                i64::try_from(items)
                    .ok()
                    .and_then(|n| n.checked_mul(piece.extent))
                    .ok_or_else(too_large)
            };
            let (first, step, all) = (bytes(share.first)?, bytes(share.step)?, bytes(*whole)?);
            let blocks = Block::new(first, share.block, &piece).again(share.blocks, step);
            let rest = Block::new(bytes(share.rest.0)?, share.rest.1, &piece);
            piece = Type::build("a distributed array", &[blocks, rest])?.with_bounds(0, all);
        }
        Ok(Type { name: "a distributed array", ..piece })
    }

    /// Blocks of items of one or several types, in the order of their data.
    pub fn build(name: &'static str, blocks: &[Block<'_>]) -> Result<Type> {
        let there = || blocks.iter().filter(|block| block.is_there());
        let mut basics = there().map(|block| block.of.basic);
        let first = basics.next().flatten();
        let basic = first.filter(|&first| basics.all(|basic| basic == Some(first)));
        let resized = there().any(|block| block.of.resized);
        let (lower_bound, extent) = bounds(there(), resized).ok_or_else(too_large)?;
        let mut data = Data::default();
        data.layout.reserve(blocks.len());
        for block in there() {
            data.add(block).ok_or_else(too_large)?;
        }
        Ok(Type {
            name,
            size: data.size,
            lower_bound,
            extent,
            layout: data.layout.finish(),
            basic,
            elements: data.elements,
            signature: data.signature.finish(),
            alignment: there().map(|block| block.of.alignment).max().unwrap_or(1),
            resized,
            committed: false,
            predefined: false,
            recipe: None,
        })
    }

    /// A structure of C: its extent is a multiple of its alignment, unless bounds were set by hand.
    pub fn structure(blocks: &[Block<'_>]) -> Result<Type> {
        let mut new = Type::build("a structure type", blocks)?;
        if !new.resized {
            // Only bounds that were set by hand make a negative extent.
            let extent = u64::try_from(new.extent).ok();
            let extent = extent.and_then(|e| e.checked_next_multiple_of(new.alignment));
            new.extent = extent.and_then(|e| i64::try_from(e).ok()).ok_or_else(too_large)?;
        }
        Ok(new)
    }

    /// Packed bytes of the first `atoms` predefined items of items, the parts of pairs counted apart. None:
    /// they are more than 2^63.
    pub fn bytes_of(&self, atoms: u64) -> Option<u64> {
        let each = self.signature.count();
        if each == 0 {
            return Some(0);
        }
        let items = (atoms / each).checked_mul(self.size)?;
        items.checked_add(self.signature.bytes_of(atoms % each)).filter(|&bytes| bytes <= SIZE_MAX)
    }

    /// Predefined items that the first `bytes` packed bytes of items hold; None if the last is cut.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let items = (bytes / self.size) * self.signature.count();
        Some(items + self.signature.atoms_in(bytes % self.size)?)
    }
}

/// Most bytes of data in an item: `MPI_Count` has a sign.
const SIZE_MAX: u64 = i64::MAX as u64;

/// Lower bound and extent of what these blocks make. None: they are beyond 2^63.
fn bounds<'a>(blocks: impl Iterator<Item = &'a Block<'a>>, resized: bool) -> Option<(i64, i64)> {
    let mut bounds: Option<(i64, i64)> = None;
    for block in blocks {
        let (first, last) = block.ends()?;
        // Bounds that were set by hand count alone, if there are any.
        if block.of.resized == resized {
            for start in [first, last] {
                let lower = start.checked_add(block.of.lower_bound)?;
                let upper = lower.checked_add(block.of.extent)?;
                let (low, high) = bounds.unwrap_or((lower, upper));
                bounds = Some((low.min(lower), high.max(upper)));
            }
        }
    }
    // The upper bound may lie below the lower one, if an extent was set by hand.
    let (low, high) = bounds.unwrap_or_default();
    Some((low, high.checked_sub(low)?))
}

/// The data of the type to come.
#[derive(Default)]
struct Data {
    size: u64,
    elements: u64,
    layout: layout::Builder,
    signature: signature::Builder,
}

impl Data {
    /// None: it spans more than 2^63 bytes, or has more.
    fn add(&mut self, block: &Block<'_>) -> Option<()> {
        let &Block { offset, count, of, times, step } = block;
        let items = count.checked_mul(times)?;
        self.size = self.size.checked_add(items.checked_mul(of.size)?)?;
        self.elements = self.elements.checked_add(items.checked_mul(of.elements)?)?;
        self.signature.repeat(items, &of.signature)?;
        if times == 1 {
            self.layout.repeat(offset, count, of.extent, &of.layout)?;
        } else {
            let block = Layout::repeated(count, of.extent, &of.layout)?;
            self.layout.repeat(offset, times, step, &block)?;
        }
        (self.size <= SIZE_MAX).then_some(())
    }
}

/// The items of a dimension that a process has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    /// The first one.
    pub first: u64,
    /// So many one after the other.
    pub block: u64,
    /// That so often.
    pub blocks: u64,
    /// Items from the beginning of a block to the next.
    pub step: u64,
    /// One more block, a smaller one, at the end: its first item, and how many.
    pub rest: (u64, u64),
}

/// Checks the shape of a subarray.
pub(crate) fn check_shape(whole: &[u64], part: &[u64], start: &[u64]) -> Result<()> {
    for (dimension, ((&whole, &part), &start)) in whole.iter().zip(part).zip(start).enumerate() {
        if part == 0 || start.checked_add(part).is_none_or(|end| end > whole) {
            let text = format!(
                "dimension {dimension}: {part} items from item {start} on do not lie in {whole}"
            );
            return Err(Error::new(constant::ERR_ARG, text));
        }
    }
    Ok(())
}
