//! The device registers are as `abi/seastar` declares them.

use crate::bench::*;
use abi::registers::{self, lies, Audit, Register, Violation};
use abi::seastar::device::TABLE;
use abi::seastar::*;
use des::Random;

/// Number of the node, which its register tells.
const NODE: usize = 2;

/// A node's local bus at one instant: engines that a write starts have not moved yet.
struct LocalBus {
    bench: Bench,
    recovers: bool,
}

impl registers::Device for LocalBus {
    fn read(&mut self, offset: u32) -> Option<u64> {
        let (addr, mut word) = (offset.into(), [0; 4]);
        let read =
            self.bench.call(NODE, |nic, now, ports| nic.plb_read(now, addr, &mut word, ports));
        read.is_ok().then_some(u32::from_le_bytes(word).into())
    }
    fn write(&mut self, offset: u32, word: u64) -> bool {
        self.bench.try_write(NODE, offset, &(word as u32).to_le_bytes()).is_ok()
    }
    fn parameter(&self, register: &Register, _: u32) -> u64 {
        assert_eq!(register.name, "REG_NID");
        NODE as u64
    }
    fn has(&self, _: &str) -> bool {
        self.recovers
    }
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        match register.offset {
            // An index beyond the FIFO is refused.
            TX_TAIL | RX_TAIL | TX_CONTROL_TAIL | RX_CONTROL_HEAD | TX_DONE_HEAD | RX_DONE_HEAD => {
                Some(word & register.bits(|_| true))
            }
            _ => Some(word),
        }
    }
}

fn audit(table: &[Register], recovers: bool) -> Result<Vec<String>, Violation> {
    let params = seastar_nic::Params { recovers, ..params() };
    let mut bus = LocalBus { bench: Bench::with(NODE + 1, &params), recovers };
    let mut random = Random::new(table.len() as u64);
    let mut audit = Audit::after_reset(table, &mut bus)?;
    audit.write_at_random(&mut bus, 3000, &mut || random.next_u64())?;
    Ok(audit.unseen())
}

#[test]
fn registers_keep_their_declarations() {
    assert_eq!(audit(TABLE, false), Ok(vec![]));
    assert_eq!(audit(TABLE, true), Ok(vec![]));
}

#[test]
fn a_declaration_that_lies_is_found_out() {
    for (lie, table) in lies(TABLE) {
        assert!(audit(&table, true) != Ok(vec![]), "{lie}");
    }
}

#[test]
fn registers_of_recovery_are_there_only_with_it() {
    for register in TABLE.iter().filter(|register| !register.when.is_empty()) {
        let mut bench = Bench::new(1);
        let written = bench.try_write(0, register.offset, &[0; 4]);
        assert_eq!(written.unwrap_err().why, "no device register answers", "{}", register.name);
    }
}
