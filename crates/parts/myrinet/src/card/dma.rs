//! The two DMA chains between local memory and the host.

use super::chip::Chip;
use super::points::Point;
use super::{Host, Stopped};
use crate::mutant::{is_mutant, Mutant};
use abi::myrinet::{self as my, dma, dma_block, isr};
use des::Time;

pub(super) const CHAINS: usize = 2;

/// A block that is on its way.
#[derive(Clone, Copy, Debug)]
struct Block {
    chain: usize,
    addr: u32,
    next: u32,
    length: u32,
    local: u32,
    host: u64,
    done: u32,
    sum: u32,
}

pub(super) struct Dma {
    burst: u32,
    /// Head of each chain.
    pub heads: [u32; CHAINS],
    /// A bit for each chain that must be started.
    wanted: u32,
    block: Option<Block>,
    /// Bytes that the host has been asked to move.
    burst_len: usize,
    /// Time at which the next burst can begin; `Time::NEVER` while one is on its way.
    due: Time,
}

impl Dma {
    pub fn new(burst: u32) -> Dma {
        let heads = [my::DMA_SEND_CHAIN, my::DMA_RECEIVE_CHAIN];
        Dma { burst, heads, wanted: 0, block: None, burst_len: 0, due: Time::NEVER }
    }
    pub fn due(&self) -> Time {
        self.due
    }
    pub fn is_active(&self) -> bool {
        self.block.is_some()
    }
    /// Starts chains by their bits.
    pub fn start(&mut self, now: Time, chains: u32) {
        self.wanted |= chains & ((1 << CHAINS) - 1);
        if self.block.is_none() && self.wanted != 0 {
            self.due = self.due.min(now);
        }
    }
}

impl Chip {
    /// Asks for the next burst, or goes on to the next block.
    pub fn move_burst(&mut self, now: Time, host: &mut impl Host) -> Option<Stopped> {
        let Some(block) = self.dma.block else {
            let chain = self.dma.wanted.trailing_zeros() as usize;
            self.dma.wanted &= !(1 << chain);
            let head = self.dma.heads[chain];
            return self.fetch(now, chain, head);
        };
        if block.done == block.length {
            return self.complete(now, block);
        }
        let count = (block.length - block.done).min(self.dma.burst) as usize;
        let place = (block.local + block.done) as usize;
        let Some(bytes) = self.sram.get(place..place + count) else {
            return Some(Stopped::Block { at: now, chain: block.chain, block: block.addr });
        };
        let addr = block.host + u64::from(block.done);
        (self.dma.burst_len, self.dma.due) = (count, Time::NEVER);
        match block.next & dma::FROM_HOST != 0 {
            true => host.read(now, addr, count),
            false => host.write(now, addr, bytes),
        }
        None
    }

    /// The host has completed the burst; `read` are the bytes of a read.
    pub fn burst_done(&mut self, now: Time, read: Option<&[u8]>) {
        let mut block = self.dma.block.expect("a burst is of a block");
        let count = std::mem::take(&mut self.dma.burst_len);
        assert!(count > 0, "nothing was asked for");
        let place = (block.local + block.done) as usize;
        let bytes = &mut self.sram[place..place + count];
        if let Some(read) = read {
            bytes.copy_from_slice(read);
        }
        block.sum = add(block.sum, bytes, block.done);
        if read.is_some() {
            self.wrote(place as u32, count as u32);
        }
        block.done += count as u32;
        self.counters.bytes_moved += count as u64;
        (self.dma.block, self.dma.due) = (Some(block), now);
    }

    /// The last byte of a block has been moved.
    fn complete(&mut self, now: Time, block: Block) -> Option<Stopped> {
        let sum = u32::from(fold(block.sum));
        self.put_word(block.addr + dma_block::SUMS as u32, sum << 16);
        self.counters.blocks += 1;
        self.points.pass(now, Point::Moved);
        self.dma.block = None;
        if block.next & dma::WAKE != 0 {
            self.raise(now, isr::WAKE);
        }
        if block.next & dma::TERMINAL != 0 || is_mutant(Mutant::OneBlock) {
            self.dma.due = if self.dma.wanted != 0 { now } else { Time::NEVER };
            return None;
        }
        self.fetch(now, block.chain, block.next & !7)
    }

    /// Fetches the block at `addr`.
    fn fetch(&mut self, now: Time, chain: usize, addr: u32) -> Option<Stopped> {
        let region = my::REGION_DMA_BASE..my::REGION_DMA_BASE + my::REGION_DMA_SIZE;
        if !region.contains(&addr) {
            return Some(Stopped::Chain { at: now, chain, block: addr });
        }
        let word = |offset: usize| self.word(addr + offset as u32);
        let words = [dma_block::NEXT, dma_block::LENGTH, dma_block::LOCAL].map(word);
        let host = [dma_block::HOST_HI, dma_block::HOST_LO].map(word);
        let ([Some(next), Some(length), Some(local)], [Some(high), Some(low)]) = (words, host)
        else {
            return Some(Stopped::Block { at: now, chain, block: addr });
        };
        let high = if is_mutant(Mutant::LosesHigh) { 0 } else { high };
        let host = u64::from(high) << 32 | u64::from(low);
        self.dma.block = Some(Block { chain, addr, next, length, local, host, done: 0, sum: 0 });
        self.dma.due = now;
        None
    }
}

/// Adds bytes to a ones' complement sum of 16 bits, of which `before` have been added.
fn add(sum: u32, bytes: &[u8], before: u32) -> u32 {
    bytes.iter().zip(before..).fold(sum, |sum, (byte, place)| {
        let sum = sum + (u32::from(*byte) << if place % 2 == 0 { 8 } else { 0 });
        (sum & 0xffff) + (sum >> 16)
    })
}

fn fold(sum: u32) -> u16 {
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_how_bytes_are_cut() {
        let bytes: Vec<u8> = (0..=200_u8).map(|n| n.wrapping_mul(7)).collect();
        let whole = fold(add(0, &bytes, 0));
        let halves = add(0, &bytes[..33], 0);
        assert_eq!(fold(add(halves, &bytes[33..], 33)), whole);
        // 0x0102 + 0xffff wraps round.
        assert_eq!(fold(add(0, &[1, 2, 0xff, 0xff], 0)), 0x0102);
    }
}
