//! The registers are as `abi/myrinet` declares them, for the processor and for the host.

use crate::card::{Card, CardParams};
use crate::Params;
use abi::myrinet::{self as my, board, isr, register};
use abi::registers::{self, lies, Access, Audit, Register, Violation};
use des::{Duration, Random, Time};
use lanai::Board;

/// Interfaces and DMA that a write starts have not moved yet: no time passes.
const NOW: Time = Time::ZERO;

fn card() -> Card {
    Card::new(CardParams::new(Params::new(Duration::from_ns(50))))
}

/// The registers as the processor loads and stores.
struct Processor(Card);

/// SMLT is another address of SML, so that writing it changes that.
fn admit(register: &Register, word: u64) -> Option<u64> {
    (register.name != "SMLT").then_some(word)
}

impl registers::Device for Processor {
    fn read(&mut self, offset: u32) -> Option<u64> {
        self.0.chip.read(NOW, my::SPECIAL_BASE + offset, 4).ok().map(u64::from)
    }
    fn write(&mut self, offset: u32, word: u64) -> bool {
        self.0.chip.write(NOW, my::SPECIAL_BASE + offset, 4, word as u32).is_ok()
    }
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        admit(register, word)
    }
}

/// The card's space as the host maps it, from `base` on.
struct Host {
    card: Card,
    base: u32,
}

impl registers::Device for Host {
    fn read(&mut self, offset: u32) -> Option<u64> {
        let mut bytes = [0; 4];
        let read = self.card.host_read(NOW, self.base + offset, &mut bytes);
        read.is_ok().then_some(u32::from_be_bytes(bytes).into())
    }
    fn write(&mut self, offset: u32, word: u64) -> bool {
        let bytes = (word as u32).to_be_bytes();
        self.card.host_write(NOW, self.base + offset, &bytes).is_ok()
    }
    fn parameter(&self, register: &Register, index: u32) -> u64 {
        assert_eq!(register.name, "BOARD_POINTERS");
        [my::DMA_SEND_CHAIN, my::DMA_RECEIVE_CHAIN][index as usize].into()
    }
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        admit(register, word)
    }
}

/// Audits the registers as they are, and again after everything that sets a bit of the status.
fn audit<D: registers::Device>(
    table: &[Register],
    device: &mut D,
    raise: impl Fn(&mut D),
) -> Result<Vec<String>, Violation> {
    let mut random = Random::new(table.len() as u64);
    let mut audit = Audit::after_reset(table, device)?;
    audit.write_at_random(device, 1000, &mut || random.next_u64())?;
    raise(device);
    audit.look(device)?;
    if table.iter().any(|register| register.name == "ISR") {
        audit.write(device, "ISR", 0)?;
    }
    audit.write_at_random(device, 300, &mut || random.next_u64())?;
    Ok(audit.unseen())
}

fn raise(card: &mut Card) {
    card.chip.isr |= register::TABLE[0].bits(|_| true) as u32;
}

fn audit_processor(table: &[Register]) -> Result<Vec<String>, Violation> {
    audit(table, &mut Processor(card()), |processor| {
        // HOST is for the processor to set.
        let own = processor.0.chip.isr & isr::HOST;
        raise(&mut processor.0);
        processor.0.chip.isr &= own | !isr::HOST;
    })
}

#[test]
fn special_registers_keep_their_declarations() {
    assert_eq!(audit_processor(register::TABLE), Ok(vec![]));
}

#[test]
fn both_limits_of_sending_are_one() {
    use registers::Device;
    let mut processor = Processor(card());
    assert!(processor.write(register::SMLT, 0x1230));
    assert_eq!(processor.read(register::SML), Some(0x1230));
}

#[test]
fn the_host_sees_them_too_and_clears_its_signal() {
    let mut table = register::TABLE.to_vec();
    let mut fields = table[0].fields.to_vec();
    let host = fields.iter_mut().find(|field| field.name == "HOST").unwrap();
    host.access = Access::OneClears;
    table[0].fields = fields.leak();
    let mut host = Host { card: card(), base: my::BOARD_SPECIAL };
    assert_eq!(audit(&table, &mut host, |host| raise(&mut host.card)), Ok(vec![]));
    let mut host = Host { card: card(), base: my::BOARD_SPECIAL };
    let found = audit(register::TABLE, &mut host, |host| raise(&mut host.card));
    assert!(found != Ok(vec![]), "the processor's table is not the host's");
}

#[test]
fn board_registers_keep_their_declarations() {
    let board = |table: &[Register]| audit(table, &mut Host { card: card(), base: 0 }, |_| ());
    assert_eq!(board(board::TABLE), Ok(vec![]));
    for (lie, table) in lies(board::TABLE) {
        assert!(board(&table) != Ok(vec![]), "{lie}");
    }
}

#[test]
fn a_declaration_that_lies_is_found_out() {
    for (lie, table) in lies(register::TABLE) {
        assert!(audit_processor(&table) != Ok(vec![]), "{lie}");
    }
}
