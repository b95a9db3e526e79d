//! The registers of the card and of its units are as `abi/offload` declares them.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

use abi::offload as of;
use abi::offload::{register, unit_command, unit_register, unit_result};
use abi::registers::{lies, Audit, Device, Register, Violation};
use alpu::{Config, QueueKind};
use bus::BusError;
use des::{Clock, Duration, Random, Time};
use offload_nic::{Card, Event, Image, Params, Ports, Units, WireMessage};

/// Number of the node, which its register tells.
const NODE: u32 = 3;
const CELLS: usize = 16;
const THRESHOLD: u32 = 9;

/// A node in which nothing ever moves.
struct Nowhere;

impl Ports for Nowhere {
    fn schedule(&mut self, _: Time, _: Event) {}
    fn due(&self) -> Time {
        Time::NEVER
    }
    fn send(&mut self, _: Time, _: u32, _: WireMessage) {}
    fn host_read(&mut self, _: u64, _: &mut [u8]) -> Result<(), BusError> {
        Ok(())
    }
    fn host_write(&mut self, _: Time, _: u64, _: &[u8]) -> Result<(), BusError> {
        Ok(())
    }
}

fn params() -> Params {
    let clock = Clock::from_hz(500_000_000);
    let timing = ppc440::Timing::POWERPC_440;
    let code = ppc440::Code::new(&timing);
    let unit = |kind| Config {
        match_width: of::MATCH_WIDTH,
        tag_width: 20,
        ..Config::new(kind, CELLS, 4)
    };
    let ns = Duration::from_ns;
    Params {
        node: NODE,
        processor: ppc440::Config { clock, timing, coherence_faults: true, code },
        bus_delay: ns(20),
        bus_beat: ns(2),
        memory: ns(10),
        host_memory: ns(60),
        dma_rate: 1_000_000_000,
        wire_rate: Some(1_000_000_000),
        units: Some(Units {
            posted: unit(QueueKind::Posted),
            unexpected: unit(QueueKind::Unexpected),
            clock,
            threshold: THRESHOLD,
        }),
    }
}

/// The card's bus as its processor uses it, from `base` on.
struct Bus {
    card: Card,
    base: u32,
    now: Time,
}

impl Bus {
    fn new(base: u32) -> Bus {
        let image = Image { text: vec![0; 4], rom: vec![0; of::ROM_SIZE as usize] };
        Bus { card: Card::new(params(), &image), base, now: Time::ZERO }
    }
    /// Time for what a unit does, and for writes that still wait for the bus.
    fn pass(&mut self) {
        self.now += Duration::from_us(100);
    }
}

impl Device for Bus {
    fn read(&mut self, offset: u32) -> Option<u64> {
        let (addr, mut bytes) = ((self.base + offset).into(), [0; 4]);
        let mut ports = Nowhere;
        let (_, mut around) = self.card.halted(&mut ports);
        let answers = around.look(self.now, addr, &mut bytes);
        answers.then_some(u32::from_le_bytes(bytes).into())
    }
    fn write(&mut self, offset: u32, word: u64) -> bool {
        let addr = (self.base + offset).into();
        let mut ports = Nowhere;
        let (_, mut around) = self.card.halted(&mut ports);
        around.write(self.now, addr, &(word as u32).to_le_bytes())
    }
    fn parameter(&self, register: &Register, _: u32) -> u64 {
        match register.name {
            "NODE" => NODE.into(),
            "OPTIONS" => CELLS as u64 | u64::from(THRESHOLD) << 16,
            name => panic!("{name} has no parameter"),
        }
    }
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        // Commands of a unit have results; doorbells are the host's.
        let acts = ["COMMAND", "DOORBELL"].contains(&register.name);
        (!acts).then_some(word)
    }
}

fn audit(table: &[Register], bus: &mut Bus) -> Result<Vec<String>, Violation> {
    let mut random = Random::new(table.len() as u64);
    let mut audit = Audit::after_reset(table, bus)?;
    audit.write_at_random(bus, 500, &mut || random.next_u64())?;
    Ok(audit.unseen())
}

#[test]
fn registers_of_the_card_keep_their_declarations() {
    assert_eq!(audit(register::TABLE, &mut Bus::new(of::REGISTER_BASE)), Ok(vec![]));
}

#[test]
fn registers_of_units_keep_their_declarations() {
    for base in [of::POSTED_UNIT, of::UNEXPECTED_UNIT] {
        let bus = &mut Bus::new(base);
        let own: Vec<_> =
            unit_register::TABLE.iter().filter(|r| r.name == "RESULT").copied().collect();
        assert_eq!(audit(&own, bus), Ok(vec![]));
        // A result stands there until a write takes it away.
        assert!(bus.write(unit_register::COMMAND, unit_command::START_INSERT.into()));
        bus.pass();
        let result = unit_register::Result(bus.read(unit_register::RESULT).unwrap() as u32);
        assert!(result.valid());
        assert_eq!(u32::from(result.kind()), unit_result::START_ACKNOWLEDGE);
        assert_eq!(result.payload(), CELLS as u32);
        assert!(bus.write(unit_register::RESULT, u64::MAX));
        assert_eq!(bus.read(unit_register::RESULT), Some(result.0.into()), "it is read only");
        assert!(bus.write(unit_register::POP, 0));
        bus.pass();
        assert_eq!(bus.read(unit_register::RESULT), Some(0));
    }
}

#[test]
fn a_declaration_that_lies_is_found_out() {
    for (lie, table) in lies(register::TABLE) {
        assert!(audit(&table, &mut Bus::new(of::REGISTER_BASE)) != Ok(vec![]), "{lie}");
    }
}

#[test]
fn the_host_reads_what_firmware_has_taken() {
    let bus = &mut Bus::new(of::REGISTER_BASE);
    for process in 0..of::PROCESSES {
        let offset = register::TAKEN_COMMANDS + 4 * process;
        assert_eq!(bus.card.load(of::REGISTER_BASE + offset), 0);
        assert!(bus.write(offset, u64::from(7 + process)));
        assert_eq!(bus.card.load(of::REGISTER_BASE + offset), 7 + process);
    }
}
