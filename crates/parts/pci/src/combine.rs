//! Write combining in the host's processor: buffers of 64 bytes that gather stores.

/// Bytes of a buffer.
pub const LINE: u64 = 64;

/// Bytes for consecutive words that leave as one burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Address of the first word, a multiple of 8.
    pub addr: u64,
    /// The words.
    pub data: [u64; 8],
    /// Lanes of each word that are written.
    pub enables: [u8; 8],
    /// Words that are used.
    pub words: u8,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    base: u64,
    data: [u64; 8],
    enables: [u8; 8],
}

/// The processor's write-combining buffers. A buffer is flushed when it is full, when a store to another
/// line needs it, by a fence, and by an uncached access.
#[derive(Clone, Debug)]
pub struct WriteCombiner {
    /// Oldest first.
    lines: Vec<Line>,
    buffers: usize,
}

impl WriteCombiner {
    /// Combiner with `buffers` buffers of 64 bytes. With one, a store to another line flushes at once.
    pub fn new(buffers: usize) -> WriteCombiner {
        assert!(buffers > 0, "write combining needs a buffer");
        WriteCombiner { lines: Vec::with_capacity(buffers), buffers }
    }

    /// A store of `bytes`, which may not cross an 8-byte boundary. Bytes that must leave now go to `out`, in
    /// order.
    pub fn store(&mut self, addr: u64, bytes: &[u8], out: &mut impl FnMut(Burst)) {
        let (base, lane) = (addr & !(LINE - 1), (addr % 8) as usize);
        assert!(lane + bytes.len() <= 8, "a store stays within a word");
        let place = match self.lines.iter().position(|line| line.base == base) {
            Some(place) => place,
            None => {
                if self.lines.len() == self.buffers {
                    self.flush_line(0, out);
                }
                self.lines.push(Line { base, data: [0; 8], enables: [0; 8] });
                self.lines.len() - 1
            }
        };
        let (line, word) = (&mut self.lines[place], (addr % LINE / 8) as usize);
        let mut value = line.data[word].to_le_bytes();
        value[lane..lane + bytes.len()].copy_from_slice(bytes);
        line.data[word] = u64::from_le_bytes(value);
        line.enables[word] |= (((1_u16 << bytes.len()) - 1) << lane) as u8;
        if line.enables == [0xFF; 8] {
            self.flush_line(place, out);
        }
    }

    /// Empties all buffers, the oldest first: a fence, or an uncached access.
    pub fn flush(&mut self, out: &mut impl FnMut(Burst)) {
        while !self.lines.is_empty() {
            self.flush_line(0, out);
        }
    }

    /// A buffer leaves as a burst for each run of words that were written to.
    fn flush_line(&mut self, place: usize, out: &mut impl FnMut(Burst)) {
        let line = self.lines.remove(place);
        let mut at = 0;
        while at < 8 {
            let run = line.enables[at..].iter().take_while(|enables| **enables != 0).count();
            if run > 0 {
                let mut burst = Burst {
                    addr: line.base + 8 * at as u64,
                    data: [0; 8],
                    enables: [0; 8],
                    words: run as u8,
                };
                burst.data[..run].copy_from_slice(&line.data[at..at + run]);
                burst.enables[..run].copy_from_slice(&line.enables[at..at + run]);
                out(burst);
            }
            at += run + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(f: impl FnOnce(&mut WriteCombiner, &mut dyn FnMut(Burst))) -> Vec<(u64, u8)> {
        let (mut combiner, mut seen) = (WriteCombiner::new(1), Vec::new());
        f(&mut combiner, &mut |burst: Burst| seen.push((burst.addr, burst.words)));
        seen
    }

    #[test]
    fn a_full_line_leaves_by_itself() {
        let seen = bursts(|combiner, mut out| {
            for word in 0..16 {
                combiner.store(0x1000 + 4 * word, &[1; 4], &mut out);
            }
        });
        assert_eq!(seen, [(0x1000, 8)]);
    }

    #[test]
    fn another_line_or_a_fence_flushes_what_is_there() {
        let seen = bursts(|combiner, mut out| {
            combiner.store(0x1008, &[1; 8], &mut out);
            combiner.store(0x1040, &[1; 8], &mut out);
            combiner.store(0x1050, &[1; 4], &mut out);
            combiner.flush(&mut out);
        });
        assert_eq!(seen, [(0x1008, 1), (0x1040, 1), (0x1050, 1)]);
    }

    #[test]
    fn a_later_store_to_the_same_bytes_wins() {
        let (mut combiner, mut seen) = (WriteCombiner::new(2), Vec::new());
        let mut out = |burst: Burst| seen.push((burst.data[0], burst.enables[0]));
        combiner.store(0x8, &[1, 2], &mut out);
        combiner.store(0x9, &[7], &mut out);
        combiner.flush(&mut out);
        assert_eq!(seen, [(0x0701, 0b11)]);
    }
}
