//! Bugs that are planted do what is told of them; the stages of bring-up find them in whole machines.

mod bench;

use abi::forth::{control_bit, register};
use bench::fabric::Cable;
use bench::World;
use des::Duration;
use forth_nic::{Bug, Params};
use serial::{ChannelParams, LaneBug};

fn pair(bug: Option<Bug>, channel: ChannelParams) -> World<Cable> {
    let bug = bug.map(|bug| (bug, 3));
    let params = [0, 1].map(|source| Params { source, bug, ..Params::default() });
    let bus = pci::Params::pcix_64_100();
    let mut world = World::new(&params, bus, true, &[100, -100], Cable::new(channel, [0; 4]));
    for node in 0..2 {
        world.nodes[node].set_limit(1 - node as u8, 640);
        world.nodes[node].unspecified = true;
    }
    world
}

fn pass(world: &mut World<Cable>, ns: u64) {
    let later = world.now + Duration::from_ns(ns);
    world.run_until(later);
}

/// Bursts of 12 packets of 131 words against receive DMA that is off for a while: words that found the FIFO
/// full after each.
fn bursts(bug: Option<Bug>, count: usize) -> Vec<u64> {
    let mut world = pair(bug, ChannelParams::default());
    let receive = u64::from(control_bit::RECEIVE);
    let burst = |world: &mut World<Cable>| {
        world.nodes[1].set(register::CONTROL, 0);
        for message in 0..12 {
            world.write(0, 0x400 * message, 1, 0x8_0000 + 0x400 * message as u32, 128, 0);
        }
        pass(world, 40_000);
        let lost = world.nodes[1].nic.link_counters().overflows;
        world.nodes[1].set(register::CONTROL, receive);
        pass(world, 60_000);
        lost
    };
    (0..count).map(|_| burst(&mut world)).collect()
}

#[test]
fn a_full_buffer_runs_over_at_once_or_when_counters_wrap() {
    assert_eq!(bursts(None, 8), [0; 8]);
    assert!(bursts(Some(Bug::FirstCredit), 1)[0] > 0);
    assert!(bursts(Some(Bug::RoundTripShort), 1)[0] > 0);
    let lost = bursts(Some(Bug::NoWrapBits), 8);
    assert_eq!(lost[..2], [0, 0], "4,096 words were not sent yet");
    assert!(lost[7] > 0, "{lost:?}");
}

fn short_ones(bug: Bug) -> (World<Cable>, u64) {
    let mut world = pair(Some(bug), ChannelParams::default());
    for message in 0..40 {
        world.write(0, 0x1000, 1, 0x8_0000 + 0x100 * message, 8, 0);
    }
    pass(&mut world, 60_000);
    let slip = world.nodes[0].nic.outstanding(1).into();
    (world, slip)
}

#[test]
fn counters_slip_by_headers_that_are_wrong() {
    let (world, slip) = short_ones(Bug::HeaderCrc);
    let errors = world.nodes[1].nic.link_counters().header_errors;
    assert!(errors > 0);
    assert_eq!(slip, 11 * errors, "the words of packets that nobody knows of");
}

#[test]
fn flipped_credits_are_seen_by_their_parity_or_not_at_all() {
    let (world, _) = short_ones(Bug::CreditFlip);
    assert!(world.nodes[0].nic.link_counters().credit_errors > 0);
    let (world, slip) = short_ones(Bug::CreditFlipUnseen);
    assert_eq!(world.nodes[0].nic.link_counters().credit_errors, 0);
    assert!(slip == 0 || slip == 0x40, "{slip}");
}

#[test]
fn a_lane_that_slips_is_harmless_unless_an_empty_fifo_repeats() {
    let slips = ChannelParams { bug: Some((LaneBug::Slips, 1)), ..ChannelParams::default() };
    for (bug, harmless) in [(None, true), (Some(Bug::EmptyFifo), false)] {
        let mut world = pair(bug, slips);
        for message in 0..16 {
            world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * message, 512, 0);
        }
        pass(&mut world, 200_000);
        let link = world.nodes[1].nic.link_counters();
        assert_eq!(link.payload_errors + link.bond_errors == 0, harmless, "{link:?}");
    }
}

#[test]
fn clock_correction_that_takes_data_along_spoils_packets() {
    let wrong = ChannelParams { bug: Some((LaneBug::CorrectsData, 1)), ..ChannelParams::default() };
    let mut world = pair(None, wrong);
    for message in 0..100 {
        world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * (message % 8), 512, 0);
    }
    pass(&mut world, 800_000);
    let errors = [0, 1].map(|node: usize| {
        let link = world.nodes[node].nic.link_counters();
        link.bond_errors + link.header_errors + link.payload_errors
    });
    assert!(errors.iter().sum::<u64>() > 0, "{errors:?}");
    assert_eq!(world.fabric.errors(), 0, "elastic buffers are well");
}

#[test]
fn a_line_that_stays_is_high_after_it_was_cleared() {
    for (bug, high) in [(None, false), (Some(Bug::LineStays), true)] {
        let mut world = pair(bug, ChannelParams::default());
        world.write(0, 0x1000, 1, 0x8_0000, 1, abi::forth::control::INTERRUPT);
        pass(&mut world, 5_000);
        assert!(world.nodes[1].bus.bridge.interrupt());
        world.nodes[1].set(register::INTERRUPT, 1);
        pass(&mut world, 1_000);
        assert_eq!(world.nodes[1].bus.bridge.interrupt(), high);
    }
}
