//! Holes of a disk: what was never written, and what was trimmed.

use std::collections::BTreeMap;
use std::ops::Range;

/// Kind of a part of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentKind {
    /// Data, as far as anybody knows.
    Data,
    /// Zeroes that were written, and are to have their place.
    Zeroes,
    /// Nothing, which reads as zeroes.
    Hole,
}

impl ExtentKind {
    /// Flags of the context `base:allocation`: a hole, zeroes.
    pub(crate) fn flags(self) -> u32 {
        match self {
            ExtentKind::Data => 0,
            ExtentKind::Zeroes => 2,
            ExtentKind::Hole => 3,
        }
    }
}

/// Bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes.
    pub length: u32,
    /// Their kind.
    pub kind: ExtentKind,
}

/// The parts of a disk, which is one hole at first.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    /// First byte of each part that is no hole, with the byte behind its last, and its kind.
    parts: BTreeMap<u64, (u64, ExtentKind)>,
}

/// Parts that one answer tells of at most: a client asks again behind them.
const PARTS_MAX: usize = 4096;

impl Extents {
    /// Bytes are of a kind now.
    pub fn set(&mut self, bytes: Range<u64>, kind: ExtentKind) {
        if bytes.is_empty() {
            return;
        }
        self.cut(bytes.start);
        self.cut(bytes.end);
        let inside: Vec<u64> = self.parts.range(bytes.clone()).map(|(start, _)| *start).collect();
        for start in inside {
            self.parts.remove(&start);
        }
        if kind == ExtentKind::Hole {
            return;
        }
        // Neighbours of the same kind are one part.
        let (mut start, mut end) = (bytes.start, bytes.end);
        if let Some((before, (to, same))) = self.parts.range(..start).next_back()
            && (*to, *same) == (start, kind)
        {
            start = *before;
        }
        if let Some((to, _)) = self.parts.get(&end).copied().filter(|(_, same)| *same == kind) {
            self.parts.remove(&end);
            end = to;
        }
        self.parts.insert(start, (end, kind));
    }

    /// A part that goes over a place is two.
    fn cut(&mut self, at: u64) {
        let Some((_, part)) = self.parts.range_mut(..at).next_back() else { return };
        let (end, kind) = *part;
        if at < end {
            part.0 = at;
            self.parts.insert(at, (end, kind));
        }
    }

    /// The parts of a range, the first `one` only if that is wanted.
    pub fn of(&self, bytes: Range<u64>, one: bool) -> Vec<Extent> {
        let (mut at, mut all) = (bytes.start, Vec::new());
        let most = if one { 1 } else { PARTS_MAX };
        while at < bytes.end && all.len() < most {
            let here = self.parts.range(..=at).next_back();
            let here = here.map(|(_, part)| *part).filter(|(end, _)| at < *end);
            let (end, kind) = here.unwrap_or_else(|| {
                let next = self.parts.range(at..).next().map_or(u64::MAX, |(start, _)| *start);
                (next, ExtentKind::Hole)
            });
            let end = end.min(bytes.end);
            all.push(Extent { length: (end - at) as u32, kind });
            at = end;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExtentKind::{Data, Hole, Zeroes};

    #[test]
    fn parts_are_as_an_array_of_bytes_has_them() {
        const SIZE: usize = 64;
        let (mut extents, mut bytes, mut state) = (Extents::default(), [Hole; SIZE], 7_u64);
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for turn in 0..3000 {
            let start = random(SIZE);
            let end = start + random(SIZE - start + 1);
            let kind = [Data, Zeroes, Hole][random(3)];
            extents.set(start as u64..end as u64, kind);
            bytes[start..end].fill(kind);
            let from = random(SIZE);
            let told = extents.of(from as u64..SIZE as u64, false);
            let mut at = from;
            for (place, part) in told.iter().enumerate() {
                let end = at + part.length as usize;
                assert!(end > at && bytes[at..end].iter().all(|kind| *kind == part.kind), "{turn}");
                assert!(told.get(place + 1).is_none_or(|next| next.kind != part.kind), "{turn}");
                at = end;
            }
            assert_eq!(at, SIZE, "{turn}");
            assert_eq!(extents.of(from as u64..SIZE as u64, true), told[..1]);
        }
    }
}
