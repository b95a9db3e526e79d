//! Atomic operations: PtlGetPut (Portals 3.3 s3.13), and PtlCGetPut and PtlGetAdd, which Cray added for
//! SHMEM (brightwell2007). The target's kernel library performs them; their effect on the bytes is defined
//! here.

use super::deliver::{Grant, Issue};
use super::error::Error;
use super::handle::MdHandle;
use super::table::Interface;
use super::types::Work;
use crate::mutant::{is_mutant, Mutant};

/// Atomic operation on the bytes that it finds. All of them return these bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// PtlGetPut: the operand takes their place.
    Swap,
    /// PtlCGetPut: the operand takes their place if they equal the condition, which travels as `hdr_data`.
    CompareSwap,
    /// PtlGetAdd: the operand is added; carries out of the number are lost.
    Add,
}

/// Bytes of the numbers that compare-and-swap and add work on.
const WIDTHS: [u64; 2] = [4, 8];

impl Atomic {
    /// True if it works on whole numbers, which are never truncated.
    pub fn is_numeric(self) -> bool {
        self != Atomic::Swap
    }

    /// True if `bytes` is a legal size of its operand, where a swap may have up to `max`.
    pub fn takes(self, bytes: u64, max: u32) -> bool {
        bytes <= u64::from(max) && (!self.is_numeric() || WIDTHS.contains(&bytes))
    }

    /// Performs it on `memory` with an operand of the same length. Numbers are little endian, as the hosts.
    /// False if the memory stays as it is.
    pub fn perform(self, memory: &mut [u8], operand: &[u8], condition: u64) -> bool {
        match self {
            Atomic::Swap => memory.copy_from_slice(operand),
            Atomic::CompareSwap => {
                if memory[..] != condition.to_le_bytes()[..memory.len()] {
                    return false;
                }
                memory.copy_from_slice(operand);
            }
            Atomic::Add => {
                let mut sum = number(memory).wrapping_add(number(operand));
                if is_mutant(Mutant::LosesCarry) {
                    let above = (number(memory) >> 8).wrapping_add(number(operand) >> 8);
                    sum = above << 8 | sum & 0xff;
                }
                memory.copy_from_slice(&sum.to_le_bytes()[..operand.len()]);
            }
        }
        true
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

impl Interface {
    /// Begins an atomic operation with all of `put` as operand; what the target had goes to `get`. To events
    /// and thresholds it is a put of `put`; the reply counts for `get` when it comes.
    pub fn start_atomic(
        &mut self,
        atomic: Atomic,
        get: MdHandle,
        put: MdHandle,
        issue: &Issue,
    ) -> Result<(Grant, Work), Error> {
        self.check_atomic(atomic, get, put)?;
        self.start_put(put, None, issue)
    }

    fn check_atomic(&self, atomic: Atomic, get: MdHandle, put: MdHandle) -> Result<(), Error> {
        let active =
            |md: MdHandle| self.mds.get(md.raw()).filter(|md| md.active()).ok_or(Error::MdInvalid);
        active(get)?;
        if !atomic.takes(active(put)?.bytes, self.limits.max_getput_md) {
            return Err(Error::MdIllegal);
        }
        Ok(())
    }

    /// True if nothing is wrong with the descriptors of an atomic operation.
    pub(crate) fn may_begin(&self, atomic: Atomic, get: MdHandle, put: MdHandle) -> bool {
        self.check_atomic(atomic, get, put).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_does_its_own() {
        let mut memory = 5u64.to_le_bytes();
        assert!(Atomic::Add.perform(&mut memory, &(-7i64).to_le_bytes(), 0));
        assert_eq!(memory, (-2i64).to_le_bytes());
        assert!(!Atomic::CompareSwap.perform(&mut memory, &[9; 8], 5));
        assert_eq!(memory, (-2i64).to_le_bytes());
        assert!(Atomic::CompareSwap.perform(&mut memory, &[9; 8], -2i64 as u64));
        assert_eq!(memory, [9; 8]);
        assert!(Atomic::Swap.perform(&mut memory[..3], &[1, 2, 3], 0));
        assert_eq!(memory, [1, 2, 3, 9, 9, 9, 9, 9]);
    }

    #[test]
    fn four_byte_numbers_wrap_and_compare_as_such() {
        let mut memory = u32::MAX.to_le_bytes();
        assert!(Atomic::Add.perform(&mut memory, &2u32.to_le_bytes(), 0));
        assert_eq!(memory, 1u32.to_le_bytes());
        assert!(Atomic::CompareSwap.perform(&mut memory, &[7; 4], 0xffff_ffff_0000_0001));
        assert_eq!(memory, [7; 4]);
    }

    #[test]
    fn operands_have_legal_sizes() {
        assert!(Atomic::Swap.takes(0, 64) && Atomic::Swap.takes(64, 64));
        assert!(!Atomic::Swap.takes(65, 64));
        assert!(Atomic::Add.takes(4, 64) && Atomic::CompareSwap.takes(8, 64));
        assert!(
            !Atomic::Add.takes(2, 64) && !Atomic::Add.takes(16, 64) && !Atomic::Add.takes(8, 4)
        );
    }
}
