//! Location of a memory descriptor's bytes: one region, or a list of them (Portals 3.3 s3.10.2).

use super::types::Md;
use std::rc::Rc;

/// One region of a memory descriptor that has several (`ptl_md_iovec_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoVec {
    /// First byte, an address of the process.
    pub start: u64,
    /// Bytes.
    pub length: u64,
}

/// A memory descriptor as a call brings it: what the process said, and the list that `Md::start` points to if
/// it has `option::IOVEC`.
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'a> {
    /// Descriptor as the process gave it.
    pub md: Md,
    /// Its regions; empty without `option::IOVEC`.
    pub regions: &'a [IoVec],
}

impl From<Md> for Buffer<'static> {
    fn from(md: Md) -> Buffer<'static> {
        Buffer { md, regions: &[] }
    }
}

/// Bytes of a process that an operation reads or fills.
#[derive(Clone, Debug, Default)]
pub struct Span {
    /// The list that the bytes are taken from; None if they are contiguous.
    regions: Option<Rc<[IoVec]>>,
    /// Address of the first byte, or with `regions` its offset in them.
    start: u64,
    /// Bytes.
    length: u64,
}

impl Span {
    /// `length` bytes from address `start` on.
    pub fn contiguous(start: u64, length: u64) -> Span {
        Span { regions: None, start, length }
    }

    /// `length` bytes from `offset` on, counted through `regions`.
    pub(crate) fn scattered(regions: Rc<[IoVec]>, offset: u64, length: u64) -> Span {
        Span { regions: Some(regions), start: offset, length }
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.length
    }
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first `length` bytes of it.
    pub fn first(&self, length: u64) -> Span {
        Span { length: length.min(self.length), ..self.clone() }
    }

    /// Its contiguous pieces in order; none is empty.
    pub fn pieces(&self) -> Pieces<'_> {
        let list = self.regions.as_ref().map(|regions| regions.iter());
        Pieces { list, at: self.start, left: self.length }
    }
}

/// The contiguous pieces of a [`Span`].
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    list: Option<std::slice::Iter<'a, IoVec>>,
    at: u64,
    left: u64,
}

impl Iterator for Pieces<'_> {
    type Item = IoVec;

    fn next(&mut self) -> Option<IoVec> {
        if self.left == 0 {
            return None;
        }
        let Some(list) = &mut self.list else {
            let piece = IoVec { start: self.at, length: self.left };
            self.left = 0;
            return Some(piece);
        };
        for region in list {
            if self.at >= region.length {
                self.at -= region.length;
                continue;
            }
            let length = (region.length - self.at).min(self.left);
            let piece = IoVec { start: region.start + self.at, length };
            self.at = 0;
            self.left -= length;
            return Some(piece);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(offset: u64, length: u64) -> Vec<(u64, u64)> {
        let regions = [(100, 4), (200, 0), (300, 8), (400, 2)];
        let regions = regions.map(|(start, length)| IoVec { start, length });
        let span = Span::scattered(regions.into(), offset, length);
        span.pieces().map(|piece| (piece.start, piece.length)).collect()
    }

    #[test]
    fn bytes_are_counted_through_the_regions() {
        assert_eq!(pieces(0, 14), [(100, 4), (300, 8), (400, 2)]);
        assert_eq!(pieces(3, 2), [(103, 1), (300, 1)]);
        assert_eq!(pieces(4, 8), [(300, 8)]);
        assert_eq!(pieces(11, 3), [(307, 1), (400, 2)]);
        assert_eq!(pieces(14, 0), []);
    }

    #[test]
    fn a_contiguous_place_is_one_piece() {
        let span = Span::contiguous(7, 3);
        assert_eq!(span.pieces().collect::<Vec<_>>(), [IoVec { start: 7, length: 3 }]);
        assert_eq!(span.first(2).len(), 2);
        assert_eq!(Span::contiguous(7, 0).pieces().next(), None);
    }
}
