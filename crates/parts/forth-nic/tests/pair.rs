//! Two cards back to back: random remote writes, judged; faults that the paper tells of, found.

mod bench;

use abi::forth::{control, control_bit, register, status_bit};
use bench::fabric::Cable;
use bench::{World, MEMORY_BYTES};
use des::{Random, Time};
use forth_nic::{Estimate, Params};
use serial::{ChannelParams, Fault};

fn pair(params: Params, combining: bool, ppm: [i64; 2], shifts: [u8; 4]) -> World<Cable> {
    let params = [Params { source: 0, ..params }, Params { source: 1, ..params }];
    let cable = Cable::new(ChannelParams::default(), shifts);
    let bus = pci::Params::pcix_64_100();
    let mut world = World::new(&params, bus, combining, &ppm, cable);
    // A flow is named after its destination; each card's whole FIFO is for the other.
    world.nodes[0].set_limit(1, params[0].rx_words);
    world.nodes[1].set_limit(0, params[1].rx_words);
    for node in &mut world.nodes {
        for word in 0..MEMORY_BYTES as u64 / 16 {
            node.set_word(8 * word, word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        node.set_word(bench::NOTIFY_ADDR, 0);
    }
    world
}

/// Sources lie in the lower half of memory, destinations in the upper.
fn random_writes(world: &mut World<Cable>, random: &mut Random, count: u64) {
    for _ in 0..count {
        let node = random.below(2) as usize;
        let words = if random.below(3) == 0 { 1 + random.below(8) } else { 1 + random.below(512) };
        let from = 0x200 + 8 * random.below(0xF000);
        let to = MEMORY_BYTES as u64 / 2 + 8 * random.below(0xFC00);
        let mut flags = 0;
        flags |= if random.below(2) == 0 { control::NOTIFY } else { 0 };
        flags |= if random.below(4) == 0 { control::INTERRUPT } else { 0 };
        world.write(node, from, 1 - node as u8, to as u32, words as u16, flags);
        let pause = world.now + des::Duration::from_ns(random.below(3000));
        world.run_until(pause);
        if random.below(10) == 0 {
            let until = world.nodes[node].bus.now() + random.below(400);
            world.nodes[node].bus.bridge.occupy_memory(until);
        }
    }
}

fn counters(world: &World<Cable>) -> [u64; 2] {
    [0, 1].map(|node: usize| {
        let link = world.nodes[node].nic.link_counters();
        let errors = link.header_errors + link.payload_errors + link.credit_errors;
        errors + link.bond_errors + link.overflows
    })
}

#[test]
fn random_writes_arrive_as_the_specification_says() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let estimate = if seed % 2 == 0 { Estimate::Fine } else { Estimate::Conservative };
        let params = Params { estimate, lanes: 1 + (seed % 3 != 0) as u8, ..Params::default() };
        let shifts = std::array::from_fn(|_| random.below(4) as u8);
        let ppm = if seed % 2 == 0 { [100, -100] } else { [-100, 100] };
        let mut world = pair(params, seed % 4 < 2, ppm, shifts);
        random_writes(&mut world, &mut random, 60);
        world.settle().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(world.spec.arrived(), 60);
        assert_eq!(counters(&world), [0, 0], "seed {seed}");
        for node in 0..2 {
            let flow = 1 - node as u8;
            assert_eq!(world.nodes[node].nic.outstanding(flow), 0, "no credit is lost or made");
        }
    }
}

#[test]
fn a_small_buffer_holds_back_and_is_never_overrun() {
    let params = Params { rx_words: 520, peer_words: 520, ..Params::default() };
    let mut world = pair(params, true, [0, 0], [0; 4]);
    for message in 0..20 {
        world.write(0, 0x1000 * message, 1, 0x8_0000 + 0x1000 * message as u32, 512, 0);
    }
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    let link = world.nodes[0].nic.link_counters();
    assert!(link.back_pressure > 1000, "{link:?}");
    assert_eq!(counters(&world), [0, 0]);
}

#[test]
fn receive_dma_switched_off_fills_the_buffer_and_no_more() {
    let mut world = pair(Params::default(), true, [0, 0], [0; 4]);
    world.nodes[1].set(register::CONTROL, u64::from(control_bit::SEND));
    for message in 0..12 {
        world.write(0, 0x400 * message, 1, 0x8_0000 + 0x400 * message as u32, 128, 0);
    }
    world.run_until(Time(100_000_000));
    assert_eq!(world.spec.arrived(), 0);
    assert_eq!(world.nodes[0].nic.outstanding(1), 4 * 131, "four packets of 131 words fit in 640");
    world.nodes[1].set(register::CONTROL, u64::from(control_bit::SEND | control_bit::RECEIVE));
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((world.spec.arrived(), counters(&world)), (12, [0, 0]));
}

#[test]
fn registers_tell_what_has_happened() {
    let mut world = pair(Params::default(), false, [50, -50], [1, 2, 3, 0]);
    for message in 0..5 {
        let flags = control::NOTIFY | control::INTERRUPT;
        world.write(0, 0x1000, 1, 0x8_0000 + 0x100 * message, 4, flags);
    }
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    let read = |world: &mut World<Cable>, node, offset| world.register(node, offset);
    assert_eq!(read(&mut world, 0, register::SENT_MESSAGES), 5);
    assert_eq!(read(&mut world, 0, register::SENT_WORDS), 20);
    assert_eq!(read(&mut world, 1, register::RECEIVED_WORDS), 20);
    assert_eq!(read(&mut world, 1, register::RECEIVED_MESSAGES), 5);
    assert_eq!(read(&mut world, 0, register::QUEUE_FREE), 16);
    assert!(world.nodes[1].bus.bridge.interrupt());
    assert_eq!(read(&mut world, 1, register::INTERRUPTS), 1, "the line stays until it is cleared");
    assert_eq!(read(&mut world, 1, register::INTERRUPT), 3);
}

#[test]
fn disabling_clears_the_line_and_what_comes_meanwhile_raises_nothing() {
    let mut world = pair(Params::default(), false, [0, 0], [0; 4]);
    world.write(0, 0x1000, 1, 0x8_0000, 1, control::INTERRUPT);
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    world.nodes[1].set(register::INTERRUPT, 0);
    world.write(0, 0x1000, 1, 0x8_0000, 1, control::INTERRUPT);
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    assert!(!world.nodes[1].bus.bridge.interrupt());
    world.nodes[1].set(register::INTERRUPT, 1);
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    assert!(!world.nodes[1].bus.bridge.interrupt(), "so hosts look again after enabling");
    world.write(0, 0x1000, 1, 0x8_0000, 1, control::INTERRUPT);
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    assert!(world.nodes[1].bus.bridge.interrupt());
}

#[test]
fn loop_back_needs_no_other_card() {
    let mut world = pair(Params::default(), true, [0, 0], [0; 4]);
    let bits = control_bit::SEND | control_bit::RECEIVE | control_bit::LOOP_BACK;
    world.nodes[0].set(register::CONTROL, u64::from(bits));
    world.nodes[0].set_limit(7, 640);
    for message in 0..6 {
        world.write(0, 0x1000 * message, 7, 0x8_0000 + 0x1000 * message as u32, 500, 0);
    }
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(world.spec.arrived(), 6);
}

#[test]
fn a_descriptor_that_cannot_be_is_dropped_and_told() {
    let mut world = pair(Params::default(), true, [0, 0], [0; 4]);
    let descriptor = abi::forth::Descriptor { control: 0, ..Default::default() };
    world.nodes[0].post(&[descriptor]);
    let far = abi::forth::Descriptor { source_hi: 1, control: 1, ..Default::default() };
    world.nodes[0].post(&[far]);
    world.settle().unwrap_or_else(|error| panic!("{error}"));
    let status = world.register(0, register::STATUS);
    assert_eq!(status, u64::from(status_bit::BAD_DESCRIPTOR | status_bit::ABORTED));
}

/// One bit of one symbol is turned on its way; something must tell, whatever it hits.
#[test]
fn no_turned_bit_goes_unnoticed() {
    let (mut hit, mut random) = (0, Random::new(1));
    for nth in 90..160 {
        let mut world = pair(Params::default(), true, [0, 0], [0; 4]);
        world.nodes[1].lossy = true;
        world.fabric.inject(1, (nth % 2) as usize, Fault { nth, bits: 1 << random.below(32) });
        world.write(0, 0x1000, 1, 0x8_0000, 40, 0);
        let whole = world.settle().is_ok();
        let told = counters(&world)[1] > 0;
        hit += u64::from(told);
        assert!(whole || told, "symbol {nth} was spoilt, nothing told");
        let good = world.nodes[1].arrivals.iter().filter(|(_, arrival)| arrival.good).count();
        assert!(good <= 1 && (good == 1) == whole);
    }
    assert!(hit > 30, "{hit} of 70 hit a packet");
}

#[test]
fn a_frozen_card_stops_at_the_first_error() {
    let mut world = pair(Params::default(), true, [0, 0], [0; 4]);
    world.nodes[1].unspecified = true;
    let bits = control_bit::SEND | control_bit::RECEIVE | control_bit::FREEZE;
    world.nodes[1].set(register::CONTROL, u64::from(bits));
    world.fabric.inject(1, 0, Fault { nth: 120, bits: 2 });
    for message in 0..4 {
        world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * message, 100, 0);
    }
    world.run_until(Time(60_000_000));
    assert!(world.nodes[1].nic.is_frozen());
    let before = world.nodes[1].arrivals.len();
    assert!(before < 4);
    // Cleared, it goes on, and the error of then does not stop it again.
    world.nodes[1].set(register::STATUS, u64::from(status_bit::FROZEN));
    let later = world.now + des::Duration::from_ns(20_000);
    world.run_until(later);
    assert!(!world.nodes[1].nic.is_frozen());
    assert!(world.nodes[1].arrivals.len() > before);
}
