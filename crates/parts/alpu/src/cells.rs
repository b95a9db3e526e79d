//! Proof that the model needs no cells, only the order of the entries and one bit.
//!
//! The place of an entry shows at the ports in one way only: an INSERT waits while cell 0 is full. Here the
//! cells are moved as `rtl/alpu/PORTS.md` says, through every state that small units can reach, and while
//! there is room, cell 0 is full in just those cycles that follow a load.

use std::collections::HashSet;

/// A unit's cells: bit c is cell c, in blocks of `block`.
#[derive(Clone, Copy)]
struct Cells {
    count: u32,
    block: u32,
}

impl Cells {
    /// One cycle of compaction, with an entry coming into cell 0 if there is a load.
    fn compact(self, full: u64, load: bool) -> u64 {
        let is_full = |cell: u32| full >> cell & 1 == 1;
        let enabled = |cell: u32| {
            let end = (cell / self.block + 1) * self.block;
            let above_empty = (cell..end).any(|other| !is_full(other));
            above_empty || (end < self.count && !is_full(end))
        };
        (0..self.count).fold(0, |next, cell| {
            let from_below = match cell {
                0 => load,
                _ if cell % self.block == 0 => is_full(cell - 1) && !is_full(cell),
                _ => is_full(cell - 1),
            };
            let stays = if enabled(cell) { from_below } else { is_full(cell) };
            next | u64::from(stays) << cell
        })
    }

    /// The entry in `cell` goes, and those below it move up.
    fn delete(self, full: u64, cell: u32) -> u64 {
        let younger = full & ((1 << cell) - 1);
        let older = full & !((1 << cell) | ((1 << cell) - 1));
        older | younger << 1
    }
}

/// Every state from empty on. Returns how many there are.
fn explore(cells: Cells) -> usize {
    let mut seen = HashSet::from([(0, false)]);
    let mut open = vec![(0u64, false)];
    while let Some((full, loaded)) = open.pop() {
        let entries = full.count_ones();
        let mut next = vec![(cells.compact(full, false), false)];
        assert_eq!(next[0].0.count_ones(), entries, "compaction of {full:b} lost an entry");
        if !loaded {
            // The cycle after a load always compacts; otherwise a match can end here.
            let hits = (0..cells.count).filter(|cell| full >> cell & 1 == 1);
            next.extend(hits.map(|cell| (cells.delete(full, cell), false)));
        }
        if entries < cells.count {
            assert_eq!(full & 1 == 1, loaded, "cell 0 in {full:b} of {}", cells.block);
            if !loaded {
                let after = cells.compact(full, true);
                assert_eq!(after.count_ones(), entries + 1, "a load into {full:b} lost an entry");
                next.push((after, true));
            }
        }
        open.extend(next.into_iter().filter(|state| seen.insert(*state)));
    }
    seen.len()
}

#[test]
fn cell_0_is_full_only_after_a_load() {
    for (count, block) in [(2, 2), (4, 2), (8, 2), (8, 4), (8, 8), (12, 4), (16, 2), (16, 8)] {
        let states = explore(Cells { count, block });
        assert!(states > count as usize, "{states} states of {count} cells");
    }
}
