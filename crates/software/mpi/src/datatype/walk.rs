//! Walks through the loops of a type: its runs come one by one and are never listed.

use super::layout::{Body, Layout, Piece};
use super::Run;

/// Runs of one item, in order; those that touch are not joined.
struct Walk<'a> {
    /// The loops that are under way, the outermost first.
    loops: Vec<Turn<'a>>,
}

/// A loop under way.
struct Turn<'a> {
    pieces: &'a [Piece],
    /// The piece that is next in this turn.
    next: usize,
    /// Address of this turn.
    base: i64,
    stride: i64,
    /// Turns after this one.
    left: u64,
}

impl<'a> Walk<'a> {
    /// Begins with the item at `base`. To be called at the end of the one before.
    fn begin(&mut self, layout: &'a Layout, base: i64) {
        let pieces = &layout.shape.pieces;
        self.loops.push(Turn { pieces, next: 0, base, stride: 0, left: 0 });
    }
}

impl Iterator for Walk<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        loop {
            let turn = self.loops.last_mut()?;
            let Some(piece) = turn.pieces.get(turn.next) else {
                if turn.left == 0 {
                    self.loops.pop();
                } else {
                    turn.left -= 1;
                    // The last turn of all has an address, so those before have one.
                    turn.base = turn.base.wrapping_add(turn.stride);
                    turn.next = 0;
                }
                continue;
            };
            turn.next += 1;
            let base = turn.base.wrapping_add(piece.offset);
            match &piece.body {
                Body::Run(length) => return Some(Run { offset: base, length: *length }),
                Body::Loop { count, stride, of } => {
                    let (pieces, next) = (&of.pieces[..], 0);
                    self.loops.push(Turn { pieces, next, base, stride: *stride, left: count - 1 });
                }
            }
        }
    }
}

/// Runs of several items that hold their first bytes. Runs of an item that touch are joined.
pub(crate) struct Runs<'a> {
    layout: &'a Layout,
    extent: i64,
    walk: Walk<'a>,
    /// The item after this one, and how many there are.
    next: u64,
    count: u64,
    /// A run that the next one may touch.
    pending: Option<Run>,
    /// Bytes that are still wanted.
    left: u64,
}

impl<'a> Runs<'a> {
    /// The first `bytes` bytes of `count` items, `extent` bytes from one to the next.
    pub fn new(layout: &'a Layout, extent: i64, count: u64, bytes: u64) -> Runs<'a> {
        let left = if layout.is_empty() { 0 } else { bytes };
        let walk = Walk { loops: Vec::new() };
        Runs { layout, extent, walk, next: 0, count, pending: None, left }
    }

    /// The next run of an item, whole. None at its end.
    fn joined(&mut self) -> Option<Run> {
        for run in self.walk.by_ref() {
            match &mut self.pending {
                Some(before)
                    if before.offset.wrapping_add_unsigned(before.length) == run.offset =>
                {
                    before.length += run.length;
                }
                pending => {
                    if let Some(before) = pending.replace(run) {
                        return Some(before);
                    }
                }
            }
        }
        self.pending.take()
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        while self.left > 0 {
            if let Some(run) = self.joined() {
                let length = run.length.min(self.left);
                self.left -= length;
                return Some(Run { length, ..run });
            }
            if self.next == self.count {
                break;
            }
            let base = (self.next as i64).wrapping_mul(self.extent);
            self.walk.begin(self.layout, base);
            self.next += 1;
        }
        None
    }
}
