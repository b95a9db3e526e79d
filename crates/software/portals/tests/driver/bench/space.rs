//! A process's memory: everything below 2^47 is there and zero at first, except a hole, a part that may
//! only be read, and a part that is removed.

use bus::BusError;
use host::AddressSpace;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

const PAGE: u64 = 4096;
/// Addresses that the process does not have.
pub const HOLE: Range<u64> = 0x7000_0000..0x7001_0000;
/// Addresses that the process may not write to.
pub const CONSTANT: Range<u64> = 0x7002_0000..0x7003_0000;
/// Addresses that the process has until it writes there.
pub const FLEETING: Range<u64> = 0x7004_0000..0x7004_1000;

#[derive(Default)]
pub struct Space(RefCell<BTreeMap<u64, Box<[u8; PAGE as usize]>>>);

impl Space {
    fn check(&self, va: u64, len: usize, write: bool) -> Result<(), BusError> {
        let end = va + len as u64;
        let apart = |from: &Range<u64>| end <= from.start || va >= from.end;
        let there = apart(&FLEETING) || !self.0.borrow().contains_key(&(FLEETING.start / PAGE));
        if end <= 1 << 47 && there && apart(&HOLE) && (!write || apart(&CONSTANT)) {
            return Ok(());
        }
        Err(BusError { addr: va, len, write, why: "no such memory" })
    }
}

impl AddressSpace for Space {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.check(va, buf.len(), false)?;
        let pages = self.0.borrow();
        for (at, byte) in (va..).zip(buf) {
            *byte = pages.get(&(at / PAGE)).map_or(0, |page| page[(at % PAGE) as usize]);
        }
        Ok(())
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        self.check(va, data.len(), true)?;
        let mut pages = self.0.borrow_mut();
        for (at, byte) in (va..).zip(data) {
            let page = pages.entry(at / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
            page[(at % PAGE) as usize] = *byte;
        }
        Ok(())
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        host::read_each(pieces, buf, |va, piece| self.read(va, piece))
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        host::write_each(pieces, data, |va, piece| self.write(va, piece))
    }
}
