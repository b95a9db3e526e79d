//! Layout of an item's data: loops, as they were described, however often they repeat.

use super::nested::{release, Nested};
use super::Run;
use std::rc::Rc;

/// The data of an item, in order.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(super) shape: Rc<Shape>,
}

/// Pieces, one after the other.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub pieces: Vec<Piece>,
    /// First and one past the last byte, from the item's address; equal if there are none.
    span: (i64, i64),
}

/// A part of an item's data.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Bytes from the item's address.
    pub offset: i64,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    /// So many bytes, at least one.
    Run(u64),
    /// A shape that is not empty, `count` times (at least once), `stride` bytes from one to the next.
    Loop { count: u64, stride: i64, of: Rc<Shape> },
}

impl Nested for Shape {
    fn give_parts(&mut self, parts: &mut Vec<Rc<Shape>>) {
        parts.extend(self.pieces.drain(..).filter_map(|piece| match piece.body {
            Body::Run(_) => None,
            Body::Loop { of, .. } => Some(of),
        }));
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        if self.pieces.iter().any(|piece| matches!(piece.body, Body::Loop { .. })) {
            release(self);
        }
    }
}

impl Layout {
    /// `count` times `of`, `stride` bytes from one to the next. None: it spans more than 2^63 bytes.
    pub fn repeated(count: u64, stride: i64, of: &Layout) -> Option<Layout> {
        if count == 1 {
            return Some(of.clone());
        }
        let mut builder = Builder::default();
        builder.repeat(0, count, stride, of)?;
        Some(builder.finish())
    }
    /// True if there are no data.
    pub fn is_empty(&self) -> bool {
        self.shape.pieces.is_empty()
    }
    /// The data, if they are one run. What is one run in the end is always kept as one.
    pub fn single(&self) -> Option<Run> {
        match self.shape.pieces[..] {
            [Piece { offset, body: Body::Run(length) }] => Some(Run { offset, length }),
            _ => None,
        }
    }
    /// First and one past the last byte, from the item's address; equal if there are none.
    pub fn span(&self) -> (i64, i64) {
        self.shape.span
    }
    /// The offset of the first byte in the order of the data.
    pub fn first(&self) -> Option<i64> {
        let (mut shape, mut at) = (&self.shape, 0);
        loop {
            let piece = shape.pieces.first()?;
            at += piece.offset;
            match &piece.body {
                Body::Run(_) => return Some(at),
                Body::Loop { of, .. } => shape = of,
            }
        }
    }
    /// Pieces that are kept for it, those of its parts as often as they are used.
    #[cfg(test)]
    pub fn pieces(&self) -> usize {
        fn all(shape: &Shape) -> usize {
            let part = |piece: &Piece| match &piece.body {
                Body::Run(_) => 1,
                Body::Loop { of, .. } => 1 + all(of),
            };
            shape.pieces.iter().map(part).sum()
        }
        all(&self.shape)
    }
}

/// Makes a layout, piece by piece in the order of the data. `None` where it spans more than 2^63 bytes.
#[derive(Default)]
pub(super) struct Builder {
    pieces: Vec<Piece>,
    span: Option<(i64, i64)>,
}

impl Builder {
    /// Room for so many more pieces.
    pub fn reserve(&mut self, pieces: usize) {
        self.pieces.reserve_exact(pieces);
    }

    /// A run of bytes; one that touches the last becomes a part of it.
    pub fn run(&mut self, offset: i64, length: u64) -> Option<()> {
        if length == 0 {
            return Some(());
        }
        let end = offset.checked_add(i64::try_from(length).ok()?)?;
        self.widen(offset, end);
        if let Some(Piece { offset: start, body: Body::Run(before) }) = self.pieces.last_mut()
            && *start + *before as i64 == offset
        {
            *before += length;
            return Some(());
        }
        self.pieces.push(Piece { offset, body: Body::Run(length) });
        Some(())
    }

    /// `count` times `of`, `stride` bytes from one to the next, the first at `offset`.
    pub fn repeat(&mut self, offset: i64, count: u64, stride: i64, of: &Layout) -> Option<()> {
        if count == 0 || of.is_empty() {
            return Some(());
        }
        if let Some(run) = of.single() {
            let touching = i64::try_from(run.length) == Ok(stride);
            if count == 1 || touching {
                let start = offset.checked_add(run.offset)?;
                return self.run(start, run.length.checked_mul(count)?);
            }
        }
        let last = i64::try_from(count - 1).ok()?.checked_mul(stride)?;
        let (low, high) = of.span();
        let low = offset.checked_add(last.min(0))?.checked_add(low)?;
        let high = offset.checked_add(last.max(0))?.checked_add(high)?;
        self.widen(low, high);
        let piece = match &of.shape.pieces[..] {
            [only] if count == 1 => {
                Piece { offset: offset.checked_add(only.offset)?, body: only.body.clone() }
            }
            _ => Piece { offset, body: Body::Loop { count, stride, of: of.shape.clone() } },
        };
        self.pieces.push(piece);
        Some(())
    }

    fn widen(&mut self, low: i64, high: i64) {
        let (lowest, highest) = self.span.unwrap_or((low, high));
        self.span = Some((lowest.min(low), highest.max(high)));
    }

    /// The layout.
    pub fn finish(mut self) -> Layout {
        // The same piece in a shape of its own would only be deeper.
        if let [Piece { offset: 0, body: Body::Loop { count: 1, of, .. } }] = &self.pieces[..] {
            return Layout { shape: of.clone() };
        }
        self.pieces.shrink_to_fit();
        let span = self.span.unwrap_or_default();
        Layout { shape: Rc::new(Shape { pieces: self.pieces, span }) }
    }
}
