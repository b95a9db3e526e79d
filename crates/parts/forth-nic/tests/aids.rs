//! The debugging aids, read through the target interface as a utility on the host does.

mod bench;

use abi::forth::register::{Credits, States, TraceTag};
use abi::forth::{
    control_bit, register, trace_bit, trace_point, trace_tag, PACKET_OVERHEAD, TRACE_DEPTH,
};
use bench::fabric::Cable;
use bench::World;
use des::{Duration, Time};
use forth_nic::Params;
use serial::{ChannelParams, Fault};

const MODE: u32 = control_bit::SEND | control_bit::RECEIVE;

fn pair() -> World<Cable> {
    let params = [0, 1].map(|source| Params { source, ..Params::default() });
    let cable = Cable::new(ChannelParams::default(), [1, 2, 0, 3]);
    let mut world = World::new(&params, pci::Params::pcix_64_100(), true, &[50, -50], cable);
    for node in 0..2 {
        world.nodes[node].set_limit(1 - node as u8, 640);
        for word in 0..512 {
            world.nodes[node].set_word(0x1000 + 8 * word, word + 1);
        }
    }
    world
}

fn set(world: &mut World<Cable>, node: usize, offset: u32, value: u64) {
    world.nodes[node].set(offset, value);
    // A read waits behind the write, and the lanes' clock has seen the level.
    world.register(node, offset);
    world.run_until(world.now + Duration::from_ns(200));
}

/// All samples of a memory, as data and tag.
fn trace(world: &mut World<Cable>, node: usize, point: u32) -> Vec<(u64, TraceTag)> {
    set(world, node, register::TRACE_INDEX, (point << 16).into());
    let count = world.register(node, register::TRACE_COUNT);
    let first = count.saturating_sub(TRACE_DEPTH.into());
    let mut sample = |index: u64| {
        let index = (index % u64::from(TRACE_DEPTH)) | u64::from(point << 16);
        set(world, node, register::TRACE_INDEX, index);
        let data = world.register(node, register::TRACE_DATA);
        (data, TraceTag(world.register(node, register::TRACE_TAG)))
    };
    (first..count).map(&mut sample).collect()
}

fn kinds(samples: &[(u64, TraceTag)]) -> Vec<u8> {
    samples.iter().map(|(_, tag)| tag.kind()).collect()
}

fn data(samples: &[(u64, TraceTag)]) -> Vec<u64> {
    samples.iter().map(|(data, _)| *data).collect()
}

#[test]
fn four_memories_see_the_words_at_both_ends_of_both_fifos() {
    let mut world = pair();
    for node in 0..2 {
        let on = trace_bit::CLEAR | trace_bit::ON;
        set(&mut world, node, register::TRACE_CONTROL, on.into());
    }
    world.write(0, 0x1000, 1, 0x8_0000, 3, 0);
    world.settle().unwrap();
    let header = 0x8_0000 | 3 << 32 | 1 << 42;
    let sent_in = trace(&mut world, 0, trace_point::SEND_IN);
    assert_eq!(data(&sent_in), [1, 2, 3]);
    assert_eq!(kinds(&sent_in), [trace_tag::DATA, trace_tag::DATA, trace_tag::END_GOOD]);
    let sent_out = trace(&mut world, 0, trace_point::SEND_OUT);
    assert_eq!(data(&sent_out), [header, 1, 2, 3]);
    for point in [trace_point::RECEIVE_IN, trace_point::RECEIVE_OUT] {
        let come = trace(&mut world, 1, point);
        assert_eq!(data(&come), [header, 1, 2, 3, 0], "memory {point}");
        assert_eq!(
            kinds(&come),
            [
                trace_tag::HEADER,
                trace_tag::DATA,
                trace_tag::DATA,
                trace_tag::DATA,
                trace_tag::END_GOOD
            ]
        );
        // A word a cycle behind the first.
        let gaps: Vec<u8> = come.iter().map(|(_, tag)| tag.gap()).collect();
        assert_eq!((gaps[0], gaps[2]), (trace_tag::GAP_MAX, 1), "memory {point}: {gaps:?}");
    }
    assert_eq!(trace(&mut world, 1, trace_point::SEND_IN), []);
}

#[test]
fn a_full_memory_keeps_the_newest_or_stops_and_survives_a_reset() {
    for stops in [false, true] {
        let mut world = pair();
        let bits = trace_bit::CLEAR | trace_bit::ON | if stops { trace_bit::STOP } else { 0 };
        set(&mut world, 0, register::TRACE_CONTROL, bits.into());
        for message in 0..5 {
            world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * message, 512, 0);
        }
        world.settle().unwrap();
        let before = trace(&mut world, 0, trace_point::SEND_IN);
        assert_eq!(before.len(), TRACE_DEPTH as usize);
        assert_eq!(before[0].0, 1);
        set(&mut world, 0, register::CONTROL, control_bit::RESET.into());
        assert_eq!(world.register(0, register::SENT_MESSAGES), 0, "the rest is as at power on");
        assert_eq!(trace(&mut world, 0, trace_point::SEND_IN), before);
        let count = world.register(0, register::TRACE_COUNT);
        assert_eq!(count, if stops { 2048 } else { 5 * 512 });
        set(&mut world, 0, register::TRACE_CONTROL, (trace_bit::CLEAR | 1).into());
        world.settle().unwrap();
        assert_eq!(world.register(0, register::TRACE_COUNT), 0, "cleared on request");
    }
}

#[test]
fn tracing_stops_where_a_wrong_crc_freezes_the_card() {
    let mut world = pair();
    world.nodes[1].unspecified = true;
    set(&mut world, 1, register::TRACE_CONTROL, (trace_bit::CLEAR | trace_bit::ON).into());
    set(&mut world, 1, register::CONTROL, (MODE | control_bit::FREEZE).into());
    let nth = world.now.0 / 12_800 + 190;
    world.fabric.inject(1, 0, Fault { nth, bits: 2 });
    for message in 0..4 {
        world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * message, 100, 0);
    }
    world.run_until(world.now + Duration::from_ns(60_000));
    assert!(world.nodes[1].nic.is_frozen());
    let come = trace(&mut world, 1, trace_point::RECEIVE_IN);
    let bad = come.iter().position(|(_, tag)| tag.kind() == trace_tag::END_BAD);
    let bad = bad.expect("the bad packet was captured");
    assert!(come.len() - bad < 60, "{} samples behind the error", come.len() - bad);
    let wrong = come[..bad].iter().rev().take(100).rev().zip(1..).filter(|((d, _), n)| d != n);
    assert_eq!(wrong.count(), 1, "one word of it is wrong");
}

#[test]
fn samples_tell_throughput_and_back_pressure() {
    let mut world = pair();
    set(&mut world, 1, register::CONTROL, control_bit::SEND.into());
    set(&mut world, 0, register::SAMPLE_CONTROL, 200 << 32 | 50);
    for message in 0..4 {
        world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * message, 300, 0);
    }
    world.run_until(world.now + Duration::from_ns(200 * 50 * 13));
    set(&mut world, 1, register::CONTROL, MODE.into());
    world.settle().unwrap();
    assert_eq!(world.register(0, register::SAMPLE_COUNT), 200);
    let mut samples = Vec::new();
    for index in 0..200 {
        set(&mut world, 0, register::SAMPLE_INDEX, index);
        let sent = world.register(0, register::SAMPLE_SENT);
        samples.push((sent, world.register(0, register::SAMPLE_PRESSURE)));
    }
    assert!(samples.windows(2).all(|pair| pair[0] <= pair[1]));
    // Two messages fit into 640 words; then all waits.
    assert_eq!(samples[199].0, 600);
    assert!(samples[199].1 - samples[100].1 > 90 * 50, "{:?} {:?}", samples[100], samples[199]);
}

#[test]
fn packets_carry_the_counts_of_flow_control_on_request() {
    let mut world = pair();
    world.nodes[1].unspecified = true;
    set(&mut world, 0, register::CONTROL, (MODE | control_bit::CREDITS_IN_PAYLOAD).into());
    set(&mut world, 1, register::TRACE_CONTROL, (trace_bit::CLEAR | trace_bit::ON).into());
    for message in 0..3 {
        world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * message, 4, 0);
    }
    world.run_until(world.now + Duration::from_ns(20_000));
    let come = trace(&mut world, 1, trace_point::RECEIVE_IN);
    let words: Vec<u64> = come.chunks(6).map(|packet| packet[4].0).collect();
    let sent = words.iter().map(|word| u64::from(Credits(*word).sent())).collect::<Vec<_>>();
    let packet = 4 + u64::from(PACKET_OVERHEAD);
    assert_eq!(sent, [packet, 2 * packet, 3 * packet]);
    assert!(words.iter().all(|word| Credits(*word).limit() == 640), "the limit: {words:x?}");
    assert_eq!(world.nodes[0].nic.outstanding(1), 0);
    set(&mut world, 0, register::DEBUG_SELECT, 1);
    let three = 3 * packet;
    assert_eq!(world.register(0, register::CREDITS) & 0xFFFF_FFFF, (three << 16) | three);
    assert!(world.now > Time(0));
}

#[test]
fn lanes_and_states_are_told() {
    let mut world = pair();
    world.write(0, 0x1000, 1, 0x8_0000, 512, 0);
    world.run_until(world.now + Duration::from_ns(6_000));
    let states = States(world.register(0, register::STATES));
    assert_eq!(states.send(), 3, "it sends payload: {states:?}");
    world.settle().unwrap();
    for (lane, shift) in [(0, 0), (1, 3)] {
        set(&mut world, 1, register::DEBUG_SELECT, lane << 8);
        let status = world.register(1, register::LANES);
        assert_eq!(status & 7, 1 | shift << 1, "lane {lane}: {status:#x}");
    }
    assert_eq!(world.register(1, register::AIDS), 640);
    assert!((1..=640).contains(&world.register(1, register::RECEIVE_LEVEL)));
    assert_eq!(world.register(0, register::FETCH_WORDS), 512);
    assert_eq!(world.register(0, register::DESCRIPTORS), 1);
}
