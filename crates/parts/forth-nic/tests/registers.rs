//! The registers of the model, and of the RTL, are as `abi/forth` declares them: each readable one has its
//! reset value after a reset, and fields keep their access. A table that tells another access is found out.

mod bench;

use abi::forth::register::{Aids, Control, Status, TABLE};
use abi::forth::{control, control_bit, register, table, Descriptor};
use abi::registers::{self, lies, Audit, Register, Violation};
use bench::fabric::Cable;
use bench::{odd, Card, World};
use des::{Duration, Random};
use forth_nic::{Arrival, Nic, Params};
use pci::{DeviceIn, TargetRead, TargetWrite};
use rtl::{DesignPaths, NicDesign};
use serial::{ChannelParams, Fault, Symbols};

/// Bindings, so that a handle can be a wrong one; the smallest buffers that the RTL is verilated with.
fn params(source: u8) -> Params {
    Params { source, ..odd() }
}

/// AIDS of a card.
fn aids() -> Aids {
    Aids(0).with_words(params(0).rx_words)
}

/// The RTL as a card of the bench's.
struct Chip(rtl::Nic);

impl pci::Device for Chip {
    fn outputs(&self) -> pci::DeviceOut {
        self.0.outputs()
    }
    fn clock(&mut self, inputs: &DeviceIn) {
        self.0.clock(inputs);
    }
}

impl Card for Chip {
    fn link_clock(&mut self, symbols: Symbols) -> Symbols {
        self.0.link_clock(symbols)
    }
    fn arrival(&self) -> Option<Arrival> {
        self.0.arrival()
    }
    fn is_quiet(&self) -> bool {
        self.0.bus_rests() && self.0.lanes_rest()
    }
}

/// Words that leave a card at rest: no reset.
fn admit(register: &Register, word: u64) -> Option<u64> {
    match register.offset {
        register::CONTROL => Some(word & !Control::RESET),
        _ => Some(word),
    }
}

fn parameter(register: &Register, aids: Aids) -> u64 {
    match register.offset {
        register::QUEUE_FREE => params(0).queue_depth.into(),
        register::BINDINGS => params(0).bindings.into(),
        register::AIDS => aids.0,
        _ => panic!("{} has no parameter", register.name),
    }
}

/// A card whose target interface is driven cycle by cycle, right after a reset.
struct Target<C> {
    card: C,
    aids: Aids,
}

impl<C: Card> Target<C> {
    /// Both clocks go on, so that levels cross.
    fn edges(&mut self, inputs: &DeviceIn) {
        self.card.clock(inputs);
        for _ in 0..4 {
            self.card.link_clock(Symbols::default());
            self.card.clock(&DeviceIn::default());
        }
    }
}

impl<C: Card> registers::Device for Target<C> {
    fn read(&mut self, offset: u32) -> Option<u64> {
        self.edges(&DeviceIn {
            read: Some(TargetRead { offset, enables: 0xFF }),
            ..DeviceIn::default()
        });
        Some(self.card.outputs().read_word)
    }
    fn write(&mut self, offset: u32, data: u64) -> bool {
        self.edges(&DeviceIn {
            write: Some(TargetWrite { offset, data, enables: 0xFF }),
            ..DeviceIn::default()
        });
        true
    }
    fn parameter(&self, register: &Register, _: u32) -> u64 {
        parameter(register, self.aids)
    }
    fn has(&self, _: &str) -> bool {
        self.aids.0 != 0
    }
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        admit(register, word)
    }
}

/// Card 0 of a world in which something has happened, behind its bus.
struct Slot<C: Card> {
    world: World<Cable, C>,
    aids: Aids,
}

impl<C: Card> Slot<C> {
    /// Messages go both ways, with an interrupt; descriptors are wrong in three ways; a turned bit freezes
    /// it.
    fn with(cards: Vec<C>, aids: Aids) -> Slot<C> {
        let cable = Cable::new(ChannelParams::default(), [0; 4]);
        let mut world = World::with(cards, pci::Params::pcix_64_100(), true, &[0, 0], cable);
        for node in 0..2 {
            world.nodes[node].set_limit(1, 70);
            world.write(node, 0x1000, 1, 0x8_0000, 20, control::INTERRUPT);
            world.nodes[node].unspecified = true;
            world.nodes[node].lossy = true;
        }
        world.run_until(world.now + Duration::from_ns(20_000));
        let handles = control_bit::SEND | control_bit::RECEIVE | control_bit::HANDLES;
        world.nodes[0].set(register::CONTROL, handles.into());
        let wrong = [
            Descriptor { control: 0, ..Descriptor::default() },
            Descriptor { control: 1, ..Descriptor::default() },
        ];
        world.nodes[0].post(&wrong[..1]);
        world.nodes[0].post(&wrong[1..]);
        let freeze = control_bit::SEND | control_bit::RECEIVE | control_bit::FREEZE;
        world.nodes[0].set(register::CONTROL, freeze.into());
        world.nodes[0].post(&[Descriptor { source_hi: 1, control: 1, ..Descriptor::default() }]);
        world.run_until(world.now + Duration::from_ns(20_000));
        for _ in 0..10 {
            world.write(1, 0x1000, 1, 0x8_0000, 20, 0);
        }
        let symbols = world.now.0 / (1_000_000_000_000 / forth_nic::LINK_HZ);
        world.fabric.inject(0, 0, Fault { nth: symbols + 300, bits: 2 });
        world.run_until(world.now + Duration::from_ns(20_000));
        Slot { world, aids }
    }
}

impl<C: Card> registers::Device for Slot<C> {
    fn read(&mut self, offset: u32) -> Option<u64> {
        Some(self.world.register(0, offset))
    }
    fn write(&mut self, offset: u32, word: u64) -> bool {
        self.world.nodes[0].set(offset, word);
        // A read waits behind the write; then the lanes' clock sees the level.
        self.world.register(0, offset);
        self.world.run_until(self.world.now + Duration::from_ns(200));
        true
    }
    fn has(&self, _: &str) -> bool {
        self.aids.0 != 0
    }
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        // Nothing is sent any more, and samples are for who drives the lanes.
        match register.offset {
            register::SAMPLE_CONTROL => None,
            _ => admit(register, word),
        }
    }
}

/// Audits a card after a reset, and in a world. Returns fields whose access was not seen at work.
fn audit<C: Card>(
    table: &[Register],
    card: &mut dyn FnMut(u8) -> C,
    aids: Aids,
) -> Result<Vec<String>, Violation> {
    let mut random = Random::new(table.len() as u64);
    let mut random = || random.next_u64();
    let mut fresh = Target { card: card(0), aids };
    let mut audit = Audit::after_reset(table, &mut fresh)?;
    audit.write_at_random(&mut fresh, 1500, &mut random)?;
    if audit.unseen().is_empty() {
        return Ok(Vec::new());
    }
    let mut slot = Slot::with(vec![card(0), card(1)], aids);
    audit.look(&mut slot)?;
    audit.write(&mut slot, "STATUS", 0)?;
    audit.write(&mut slot, "STATUS", Status::FROZEN)?;
    // What the freeze has held up goes on.
    slot.world.run_until(slot.world.now + Duration::from_ns(20_000));
    audit.look(&mut slot)?;
    audit.write_at_random(&mut slot, 100, &mut random)?;
    Ok(audit.unseen())
}

#[test]
fn the_model_keeps_its_declarations() {
    assert_eq!(audit(TABLE, &mut |source| Nic::new(params(source)), aids()), Ok(vec![]));
}

#[test]
fn the_rtl_keeps_its_declarations() {
    let design = NicDesign::build(&DesignPaths::of_tests(), &params(0));
    let design = design.unwrap_or_else(|why| panic!("{why}"));
    let mut card = |source| Chip(rtl::Nic::new(design, &params(source)));
    assert_eq!(audit(TABLE, &mut card, aids()), Ok(vec![]));
}

#[test]
fn a_declaration_that_lies_is_found_out() {
    let lies = lies(TABLE);
    assert!(lies.len() > 300, "{} lies", lies.len());
    for (lie, table) in lies {
        let verdict = audit(&table, &mut |source| Nic::new(params(source)), aids());
        assert!(verdict != Ok(vec![]), "{lie}");
    }
}

#[test]
fn tables_give_their_words_to_the_card() {
    let mut slot = Slot::with(vec![Nic::new(params(0)), Nic::new(params(1))], aids());
    for (flow, words) in [(0, 70), (5, 3), (127, 1)] {
        slot.world.nodes[0].set(table::LIMITS + 8 * flow, words);
        slot.world.nodes[0].set(register::DEBUG_SELECT, flow.into());
        slot.world.run_until(slot.world.now + Duration::from_ns(2_000));
        let credits = register::Credits(slot.world.register(0, register::CREDITS));
        assert_eq!(u64::from(credits.limit()), words, "flow {flow}");
    }
}
