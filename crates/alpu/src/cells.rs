//! Which cells are full, cycle by cycle: compaction, loads and deletes move valid bits only. The entries
//! themselves keep their order and stand in `store`.
//!
//! Bit p of the words is the cell with p cells above it, so bit 0 is the cell of highest priority and the
//! n-th lowest bit that is set belongs to the n-th oldest entry.

/// The valid bits of a chain of blocks.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    valid: Box<[u64]>,
    cells: usize,
    block: u32,
    /// The bit of each block's top cell, the one of highest priority in it.
    tops: u64,
    /// The bit of each block's cell 0.
    bottoms: u64,
    len: usize,
    /// All full cells lie above all empty ones: compaction has nothing to do.
    packed: bool,
}

impl Cells {
    /// `cells` empty cells in blocks of `block`, at most 64.
    pub fn new(cells: usize, block: usize) -> Cells {
        let tops = (0..64).step_by(block).fold(0, |bits, bit| bits | 1 << bit);
        Cells {
            valid: vec![0; cells.div_ceil(64)].into_boxed_slice(),
            cells,
            block: block as u32,
            tops,
            bottoms: tops << (block - 1),
            len: 0,
            packed: true,
        }
    }

    /// Makes all cells empty.
    pub fn clear(&mut self) {
        self.valid.fill(0);
        self.len = 0;
        self.packed = true;
    }

    /// Whether compaction has nothing to do.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// Whether cell 0 of the unit can take an entry.
    pub fn can_load(&self) -> bool {
        let last = self.cells - 1;
        self.valid[last / 64] >> (last % 64) & 1 == 0
    }

    /// One cycle of compaction. With `load`, an entry comes into cell 0, which must be empty.
    ///
    /// A cell is enabled if it or a cell above it in its block is empty, or cell 0 of the next block is;
    /// it takes what the cell below it holds. Cell 0 takes the top cell of the block before only if it was
    /// empty itself, because only then has that block let it go.
    pub fn compact(&mut self, load: bool) {
        if self.packed && !load {
            return;
        }
        let mut next_bottom_empty = 0; // the bit before the word; nothing lies above the last block
        for index in 0..self.valid.len() {
            let valid = self.valid[index];
            let below = self.valid.get(index + 1).copied().unwrap_or(0);
            // Most words of a long list are full or empty and stay so.
            if (valid == u64::MAX && next_bottom_empty == 0) || (valid == 0 && below & 1 == 0) {
                next_bottom_empty = !valid >> 63;
                continue;
            }
            // The run of full cells at the top of each block: adding to its lowest bit carries through it.
            // The carry is kept out of the next block by leaving out the highest bit.
            let inner = valid & !self.bottoms;
            let sum = inner.wrapping_add(self.tops);
            let run = (inner & !sum) | (valid & sum & self.bottoms);
            // Blocks whose next block has an empty cell 0 move as a whole.
            let free = (!valid << 1 | next_bottom_empty) & self.tops;
            let moving = match self.block {
                64 => 0u64.wrapping_sub(free),
                block => (free << block).wrapping_sub(free),
            };
            let hold = run & !moving;
            let arriving = (valid >> 1 | below << 63) & !(valid & self.bottoms);
            next_bottom_empty = !valid >> 63;
            self.valid[index] = (valid & hold) | (arriving & !hold);
        }
        if load {
            let last = self.cells - 1;
            self.valid[last / 64] |= 1 << (last % 64);
            self.len += 1;
        }
        self.packed = self.look_packed();
    }

    /// Deletes the entry that has `older` entries before it: all cells below it move up by one.
    /// The number matters only if the cells are not packed.
    pub fn delete(&mut self, older: usize) {
        self.len -= 1;
        if self.packed {
            self.valid[self.len / 64] &= !(1 << (self.len % 64));
            return;
        }
        let place = self.place(older);
        for index in place / 64..self.valid.len() {
            let valid = self.valid[index];
            let below = self.valid.get(index + 1).copied().unwrap_or(0);
            let kept = if index == place / 64 { (1 << (place % 64)) - 1 } else { 0 };
            self.valid[index] = (valid & kept) | ((valid >> 1 | below << 63) & !kept);
        }
        self.packed = self.look_packed();
    }

    /// The bit of the entry with `older` entries before it.
    fn place(&self, older: usize) -> usize {
        let mut before = older;
        for (index, word) in self.valid.iter().enumerate() {
            let count = word.count_ones() as usize;
            if before < count {
                let rest = (0..before).fold(*word, |rest, _| rest & (rest - 1));
                return index * 64 + rest.trailing_zeros() as usize;
            }
            before -= count;
        }
        unreachable!("the store has as many entries as there are full cells")
    }

    fn look_packed(&self) -> bool {
        self.valid.iter().enumerate().all(|(index, word)| *word == low_ones(self.len, index))
    }
}

/// Word `index` of a bit set whose lowest `len` bits are set.
pub(crate) fn low_ones(len: usize, index: usize) -> u64 {
    match len.saturating_sub(index * 64) {
        0 => 0,
        count if count < 64 => (1 << count) - 1,
        _ => u64::MAX,
    }
}
