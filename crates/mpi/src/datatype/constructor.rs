//! Constructors of derived datatypes.

use super::{append, too_large, Run, Type};
use crate::constant;
use crate::error::{Error, Result};

/// `count` items of a type, from byte `offset` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    pub offset: i64,
    pub count: u64,
    pub of: &'a Type,
}

impl Type {
    /// `count` items one after another.
    pub fn contiguous(&self, count: u64) -> Result<Type> {
        Type::build("a contiguous type", &[Block { offset: 0, count, of: self }])
    }

    /// `count` blocks of `block` items, `stride` bytes from one to the next.
    pub fn vector(&self, count: u64, block: u64, stride: i64) -> Result<Type> {
        let blocks: Option<Vec<_>> = (0..count as i64)
            .map(|i| Some(Block { offset: i.checked_mul(stride)?, count: block, of: self }))
            .collect();
        Type::build("a vector type", &blocks.ok_or_else(too_large)?)
    }

    /// Blocks of items, each at a byte offset with a number of items.
    pub fn indexed(&self, blocks: &[(i64, u64)]) -> Result<Type> {
        let blocks: Vec<_> =
            blocks.iter().map(|&(offset, count)| Block { offset, count, of: self }).collect();
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
        let piece = Type::build("a subarray", &[Block { offset, count: 1, of: &piece }])?;
        Ok(Type { name: "a subarray", ..piece.with_bounds(0, stride) })
    }

    /// This process's part of an array that is distributed over a grid of processes: in each
    /// dimension, from the one that varies fastest, how many items there are in all, and the runs of
    /// them that are here (first item, items).
    pub fn distributed(&self, dimensions: &[(u64, Vec<(i64, u64)>)]) -> Result<Type> {
        let mut piece = self.contiguous(1)?;
        for (whole, runs) in dimensions {
            let extent = piece.extent;
            let scale = |&(first, items): &(i64, u64)| {
                first.checked_mul(extent).map(|offset| (offset, items))
            };
            let blocks = runs.iter().map(scale).collect::<Option<Vec<_>>>();
            let all = extent.checked_mul(*whole as i64).ok_or_else(too_large)?;
            piece = piece.indexed(&blocks.ok_or_else(too_large)?)?.with_bounds(0, all);
        }
        Ok(Type { name: "a distributed array", ..piece })
    }

    /// Blocks of items of one or several types, in the order of their data.
    pub fn build(name: &'static str, blocks: &[Block<'_>]) -> Result<Type> {
        // What has no entry in the type map leaves no trace: a block without items, one of an empty
        // type; but bounds that were set by hand are entries, too.
        let marks = |of: &Type| of.elements > 0 || of.resized;
        let there = || blocks.iter().filter(|block| block.count > 0 && marks(block.of));
        let mut new = Type {
            name,
            size: 0,
            lower_bound: 0,
            extent: 0,
            runs: Vec::new(),
            basic: None,
            elements: 0,
            atoms: Vec::new(),
            alignment: 1,
            resized: there().any(|block| block.of.resized),
            committed: false,
            predefined: false,
            recipe: None,
        };
        let mut bounds: Option<(i64, i64)> = None;
        let mut basics = there().map(|block| block.of.basic);
        let first = basics.next().flatten();
        new.basic = first.filter(|&first| basics.all(|basic| basic == Some(first)));
        for block in there() {
            let of = block.of;
            let last = i64::try_from(block.count - 1).ok().and_then(|n| n.checked_mul(of.extent));
            let last = last.and_then(|l| l.checked_add(block.offset)).ok_or_else(too_large)?;
            // Bounds that were set by hand count alone, if there are any.
            if of.resized == new.resized {
                for start in [block.offset, last] {
                    let lower = start.checked_add(of.lower_bound).ok_or_else(too_large)?;
                    let upper = lower.checked_add(of.extent).ok_or_else(too_large)?;
                    let (low, high) = bounds.unwrap_or((lower, upper));
                    bounds = Some((low.min(lower), high.max(upper)));
                }
            }
            new.alignment = new.alignment.max(of.alignment);
            new.add(block)?;
        }
        // The upper bound may lie below the lower one, if an extent was set by hand.
        if let Some((low, high)) = bounds {
            new.lower_bound = low;
            new.extent = high.checked_sub(low).ok_or_else(too_large)?;
        }
        Ok(new)
    }

    fn add(&mut self, block: &Block<'_>) -> Result<()> {
        let &Block { offset, count, of } = block;
        let bytes = count.checked_mul(of.size).ok_or_else(too_large)?;
        self.size = self.size.checked_add(bytes).ok_or_else(too_large)?;
        self.elements += count.checked_mul(of.elements).ok_or_else(too_large)?;
        self.add_atoms(count, &of.atoms);
        if of.is_contiguous(2) {
            append(&mut self.runs, Run { offset, length: bytes });
            return Ok(());
        }
        for item in 0..count as i64 {
            for run in &of.runs {
                let offset = offset + item * of.extent + run.offset;
                append(&mut self.runs, Run { offset, ..*run });
            }
        }
        Ok(())
    }

    fn add_atoms(&mut self, count: u64, atoms: &[(u64, u64)]) {
        let mut push = |size: u64, times: u64| match self.atoms.last_mut() {
            Some(last) if last.0 == size => last.1 += times,
            _ => self.atoms.push((size, times)),
        };
        match atoms {
            [] => {}
            &[(size, times)] => push(size, times * count),
            many => (0..count).for_each(|_| many.iter().for_each(|&(size, n)| push(size, n))),
        }
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

    /// Packed bytes of the first `elements` predefined items of an item.
    pub fn bytes_of(&self, elements: u64) -> u64 {
        let mut left = elements;
        let mut bytes = 0;
        for &(size, times) in &self.atoms {
            let here = times.min(left);
            bytes += here * size;
            left -= here;
        }
        bytes
    }

    /// Predefined items that the first `bytes` packed bytes of items hold; None if the last is cut.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let per_item: u64 = self.atoms.iter().map(|&(_, times)| times).sum();
        let (items, mut left) = (bytes / self.size, bytes % self.size);
        let mut elements = items * per_item;
        for &(size, times) in &self.atoms {
            if size == 0 {
                continue;
            }
            let here = (left / size).min(times);
            elements += here;
            left -= here * size;
            if here < times {
                break;
            }
        }
        (left == 0).then_some(elements)
    }
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
