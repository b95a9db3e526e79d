//! The process's memory without the kernel, as far as the channel has it: what a call reads travels with the
//! call, and data stored while the process waits travel with the answer (`lib/mpi/memory.c`).

use crate::channel::{Channel, Turn};
use abi::rank::{channel as at, CHANNEL_SIZE};
use std::sync::atomic::Ordering;

/// Bytes before each piece in the log: its address and its length.
const PIECE_HEAD: usize = 16;
/// Ranges of memory that the process is sure to have: data, heap, stack.
const RANGES: usize = 3;

impl Channel {
    /// Fills `buf` with what the process has at `va`, if all of that is in the channel; else does nothing
    /// and returns false.
    pub fn read_passed(&self, va: u64, buf: &mut [u8]) -> bool {
        let base = self.long(at::BASE).load(Ordering::Relaxed);
        let (from, bytes) = self.carried();
        let place = if base != 0 && within(va, buf.len(), base, CHANNEL_SIZE as usize) {
            (va - base) as usize
        } else if within(va, buf.len(), from, bytes) {
            at::CARRIED + (va - from) as usize
        } else {
            return false;
        };
        self.copy_out(place, buf);
        true
    }

    /// Leaves `data` for the process to store at `va` when it goes on. Does nothing and returns false
    /// unless it waits and is sure to have that memory, and the log has room. In any case what the call has
    /// brought of that memory is no longer believed.
    pub fn log(&self, va: u64, data: &[u8]) -> bool {
        let (from, bytes) = self.carried();
        if va < from.saturating_add(bytes as u64) && from < va.saturating_add(data.len() as u64) {
            self.word(at::CARRIED_BYTES).store(0, Ordering::Relaxed);
        }
        let start = self.logged.load(Ordering::Relaxed) as usize;
        let end = start + PIECE_HEAD + data.len().next_multiple_of(8);
        if end > at::LOG_SIZE || self.turn() != Turn::Simulator || !self.is_plain(va, data.len()) {
            return false;
        }
        let place = at::LOG + start;
        self.long(place).store(va, Ordering::Relaxed);
        self.long(place + 8).store(data.len() as u64, Ordering::Relaxed);
        self.copy_in(place + PIECE_HEAD, data);
        self.logged.store(end as u32, Ordering::Relaxed);
        true
    }

    /// Discards the data that the call carried.
    pub fn forget_carried(&self) {
        self.word(at::CARRIED_BYTES).store(0, Ordering::Relaxed);
    }

    /// Empties the log: hands out its pieces, oldest first.
    pub fn take_log(&self) -> Vec<(u64, Vec<u8>)> {
        let end = self.logged.swap(0, Ordering::Relaxed) as usize;
        let (mut pieces, mut start) = (Vec::new(), 0);
        // A program that overwrites the channel must not lead us out of it: the rest of a piece counts.
        while start + PIECE_HEAD <= end {
            let place = at::LOG + start;
            let va = self.long(place).load(Ordering::Relaxed);
            let length = self.long(place + 8).load(Ordering::Relaxed);
            let most = end - start - PIECE_HEAD;
            let mut data = vec![0; length.min(most as u64) as usize];
            self.copy_out(place + PIECE_HEAD, &mut data);
            start += PIECE_HEAD + data.len().next_multiple_of(8);
            pieces.push((va, data));
        }
        pieces
    }

    /// Data that the call carried: its address in the process, and its bytes.
    fn carried(&self) -> (u64, usize) {
        let bytes = self.word(at::CARRIED_BYTES).load(Ordering::Relaxed) as usize;
        (self.long(at::CARRIED_AT).load(Ordering::Relaxed), bytes.min(at::CARRIED_SIZE))
    }

    /// True if the process surely has such memory and may write it.
    fn is_plain(&self, va: u64, bytes: usize) -> bool {
        (0..RANGES).map(|range| at::PLAIN + 16 * range).any(|place| {
            let begin = self.long(place).load(Ordering::Relaxed);
            let end = self.long(place + 8).load(Ordering::Relaxed);
            within(va, bytes, begin, end.saturating_sub(begin) as usize)
        })
    }

    pub(crate) fn copy_out(&self, mut place: usize, buf: &mut [u8]) {
        let words = if place % 8 == 0 { buf.len() / 8 } else { 0 };
        let (words, bytes) = buf.split_at_mut(8 * words);
        for word in words.chunks_exact_mut(8) {
            word.copy_from_slice(&self.long(place).load(Ordering::Relaxed).to_ne_bytes());
            place += 8;
        }
        for (at, byte) in (place..).zip(bytes) {
            *byte = self.byte(at).load(Ordering::Relaxed);
        }
    }

    /// `place` is a multiple of 8, as all pieces' are.
    pub(crate) fn copy_in(&self, mut place: usize, data: &[u8]) {
        let words = data.chunks_exact(8);
        let bytes = words.remainder();
        for word in words {
            let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
            self.long(place).store(word, Ordering::Relaxed);
            place += 8;
        }
        for (at, byte) in (place..).zip(bytes) {
            self.byte(at).store(*byte, Ordering::Relaxed);
        }
    }
}

/// True if `bytes` bytes at `va` lie within `size` bytes from `begin` on.
fn within(va: u64, bytes: usize, begin: u64, size: usize) -> bool {
    let Some(offset) = va.checked_sub(begin) else { return false };
    bytes <= size && offset <= (size - bytes) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_file;
    use crate::spawn::SpawnOptions;
    use abi::rank::turn;

    /// A program can write into the log while the simulator does.
    #[test]
    fn lengths_in_the_log_do_not_lead_out_of_it() {
        let file = memory_file::new(1).unwrap();
        let channel = Channel::in_file(&file, 0, &SpawnOptions::default()).unwrap();
        for length in [0, 1, 8, 9, 2015, 2016, 2024, 2032, 2040, 1 << 32, u64::MAX - 8, u64::MAX] {
            channel.word(at::TURN).store(turn::SIMULATOR, Ordering::Relaxed);
            channel.long(at::PLAIN + 8).store(u64::MAX, Ordering::Relaxed);
            while channel.log(4096, &[7; 24]) {}
            for place in (at::LOG..at::LOG + at::LOG_SIZE).step_by(40) {
                channel.long(place + 8).store(length, Ordering::Relaxed);
            }
            let pieces = channel.take_log();
            let bytes: usize = pieces.iter().map(|(_, data)| data.len()).sum();
            assert!(bytes <= at::LOG_SIZE, "{length}: {bytes}");
            assert!(channel.take_log().is_empty());
        }
    }
}
