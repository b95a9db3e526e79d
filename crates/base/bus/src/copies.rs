//! Copies of a number in memory: two images that are equal except for a number that both contain.

use crate::Memory;

/// Position of a copy of a 16-bit number, and its byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copy16 {
    offset: usize,
    big: bool,
}

impl Copy16 {
    fn bytes(self, value: u16) -> [u8; 2] {
        if self.big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }
    /// Writes `value` there in the bytes of an image.
    pub fn write(self, image: &mut [u8], value: u16) {
        image[self.offset..self.offset + 2].copy_from_slice(&self.bytes(value));
    }
    /// Writes `value` there in a memory.
    pub fn write_memory(self, memory: &mut Memory, value: u16) {
        let written = memory.write(memory.base() + self.offset as u64, &self.bytes(value));
        written.expect("a copy was found there");
    }
}

/// Finds every place where `a` has `in_a` and `b` has `in_b`, if these are the only differences; `None` if
/// there are others. The two numbers must differ in every bit, so that no bit of a copy can hide, and the
/// bytes of each in both nibbles.
pub fn copies(a: &[u8], in_a: u16, b: &[u8], in_b: u16) -> Option<Vec<Copy16>> {
    assert!(in_a ^ in_b == 0xffff && in_a.swap_bytes() != in_a && in_a.swap_bytes() != in_b);
    if a.len() != b.len() {
        return None;
    }
    let mut found = Vec::new();
    let mut offset = 0;
    while offset < a.len() {
        // Images are long, and differences few.
        let same = a[offset..].chunks(64).zip(b[offset..].chunks(64)).take_while(|(a, b)| a == b);
        offset += same.map(|(a, _)| a.len()).sum::<usize>();
        let Some(next) = (offset..a.len()).find(|&at| a[at] != b[at]) else { break };
        let there = |image: &[u8], value: [u8; 2]| image[next..].starts_with(&value);
        let copy = [false, true].map(|big| Copy16 { offset: next, big });
        let copy = copy
            .into_iter()
            .find(|copy| there(a, copy.bytes(in_a)) && there(b, copy.bytes(in_b)))?;
        found.push(copy);
        offset = next + 2;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u16 = 0x5ac3;
    const B: u16 = 0xa53c;

    #[test]
    fn copies_are_found_in_both_byte_orders_and_nothing_else_may_differ() {
        let mut a: Vec<u8> = (0..1000u32).map(|i| (i * 7) as u8).collect();
        let mut b = a.clone();
        for (offset, big) in [(0, false), (63, true), (500, false), (502, true), (998, true)] {
            Copy16 { offset, big }.write(&mut a, A);
            Copy16 { offset, big }.write(&mut b, B);
        }
        // A number that only looks like one stays.
        for image in [&mut a, &mut b] {
            Copy16 { offset: 700, big: false }.write(image, A);
        }
        let found = copies(&a, A, &b, B).unwrap();
        assert_eq!(found.len(), 5);
        let mut other = a.clone();
        found.iter().for_each(|copy| copy.write(&mut other, B));
        assert_eq!(other, b);
        b[800] ^= 1;
        assert_eq!(copies(&a, A, &b, B), None);
        b[800] ^= 1;
        b[999] = 0;
        assert_eq!(copies(&a, A, &b, B), None, "half a copy");
        assert_eq!(copies(&a[..999], A, &b, B), None);
    }
}
