//! The image of a program of random cases: code and data as both machines get them.

use crate::random::{self, Case, Oracle, BLOCK, INPUT_WORDS};
use crate::support::asm::*;
use crate::support::ALL;
use des::Random;
use ppc440::{Core, TlbEntry};

/// Byte order of an image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Big,
    Little,
}

impl Order {
    pub fn bytes(self, word: u32) -> [u8; 4] {
        match self {
            Order::Big => word.to_be_bytes(),
            Order::Little => word.to_le_bytes(),
        }
    }
}

/// Addresses of the parts of an image.
pub struct Plan {
    pub oracle: Oracle,
    pub order: Order,
    pub base: u32,
    /// The first case.
    pub code: u32,
    /// The first block of data; the code may not grow beyond it.
    pub data: u32,
    /// Cases, and random instructions in each.
    pub cases: usize,
    pub length: usize,
}

pub struct Image {
    pub plan: Plan,
    pub bytes: Vec<u8>,
    pub cases: Vec<Case>,
    /// Address behind the code of the last case.
    pub end: u32,
}

impl Image {
    pub fn new(seed: u64, plan: Plan) -> Image {
        let mut random = Random::new(seed);
        let size = (plan.data - plan.base) as usize + plan.cases * BLOCK as usize;
        let mut image = Image { end: plan.code, plan, bytes: vec![0; size], cases: Vec::new() };
        for index in 0..image.plan.cases {
            let (start, block) = (image.end, image.plan.data + index as u32 * BLOCK);
            let plan = &image.plan;
            let case = Case::new(plan.oracle, &mut random, block, start, plan.length);
            let input: Vec<u32> =
                (0..INPUT_WORDS + 64).map(|_| random::value(&mut random)).collect();
            image.put(block, &input);
            image.append(&case.code);
            image.cases.push(case);
        }
        image
    }
    pub fn data_len(&self) -> usize {
        self.plan.cases * BLOCK as usize
    }
    /// Random instructions that are executed for certain.
    pub fn words(&self) -> Vec<u32> {
        self.cases.iter().flat_map(|case| &case.executed).copied().collect()
    }
    pub fn executed(&self) -> usize {
        self.cases.iter().map(|case| case.executed.len()).sum()
    }
    /// Puts words at an address.
    pub fn put(&mut self, at: u32, words: &[u32]) {
        let offset = (at - self.plan.base) as usize;
        for (bytes, word) in self.bytes[offset..].chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&self.plan.order.bytes(*word));
        }
    }
    /// Puts words behind the code.
    pub fn append(&mut self, words: &[u32]) {
        self.put(self.end, words);
        self.end += 4 * words.len() as u32;
        assert!(self.end < self.plan.data, "too many cases");
    }
    /// Turns the bytes of each word of code round: it is in a page of the other order then.
    pub fn iteration_code(&mut self) {
        let len = (self.plan.data - self.plan.base) as usize;
        self.bytes[..len].chunks_exact_mut(4).for_each(|word| word.reverse());
    }
    /// Maps code and data one to one, in pages of 16 MB.
    pub fn map(&self, core: &mut Core, code: u32, data: u32) {
        let end = self.plan.base + self.bytes.len() as u32;
        let pages = (self.plan.base..end).step_by(16 << 20);
        for (index, page) in pages.enumerate() {
            let attributes = if page < self.plan.data { code } else { data };
            core.set_tlb_entry(index, TlbEntry::new(page, page.into(), 7, attributes | ALL));
        }
    }
    /// Code that writes all data back from the data cache.
    pub fn flush(&self) -> Vec<u32> {
        let lines = self.data_len().div_ceil(32) as u32;
        let mut code = vec![lis(4, self.plan.data >> 16), ori(4, 4, self.plan.data & 0xffff)];
        code.extend([lis(5, lines >> 16), ori(5, 5, lines & 0xffff), mtspr(9, 5)]);
        code.extend([x(31, 0, 0, 4, 86), addi(4, 4, 32), bdnz(-8), MSYNC]);
        code
    }
    /// Panics at the first difference of the data that the oracle and our core leave behind.
    pub fn compare(&self, seed: u64, expected: &[u8], found: &[u8]) {
        for (index, case) in self.cases.iter().enumerate() {
            let at = index * BLOCK as usize;
            let (expected, found) = (&expected[at..], &found[at..]);
            if let Some(offset) = (0..BLOCK as usize).find(|&i| expected[i] != found[i]) {
                let word = offset & !3;
                panic!(
                    "seed {seed} case {index}: {} is {:02x?}, QEMU has {:02x?}\n{}",
                    random::place(word),
                    &found[word..word + 4],
                    &expected[word..word + 4],
                    case.listing(),
                );
            }
        }
    }
}
