//! The whole NIC beside its RTL (`rtl/rdma/rdma_nic.sv`): in small worlds of buses, bridges and cables every
//! output of either is equal after every edge of either clock, and so is every counter.

mod bench;

use abi::forth::register::{SampleControl, TraceIndex};
use abi::forth::{register, trace_bit, TRACE_DEPTH};
use bench::both::{Both, Tally};
use bench::fabric::Cable;
use bench::program::{play, Played};
use bench::{odd, World};
use forth_nic::Params;
use rtl::{DesignPaths, NicDesign};
use serial::ChannelParams;
use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};

fn built(params: Params) -> NicDesign {
    NicDesign::build(&DesignPaths::of_tests(), &params).unwrap_or_else(|why| panic!("{why}"))
}

fn check(params: Params, seeds: std::ops::Range<u64>, acts: u64) {
    let design = built(params);
    let mut all = Played::default();
    for seed in seeds.clone() {
        let played = play(design, params, seed, acts);
        all.arrived += played.arrived;
        all.errors += played.errors;
        all.resets.add(&played.resets);
    }
    let programs = seeds.end - seeds.start;
    assert!(all.arrived > 10 * programs, "{} packets have come", all.arrived);
    assert!(all.errors > 0, "no fault was found");
    println!("{all:?}");
    let Tally { count, outlived, amid } = all.resets;
    assert!(count > programs, "{count} resets");
    assert!(outlived > programs / 2, "{outlived} cards have worked behind a reset");
    assert!(amid.iter().all(|resets| *resets > 0), "resets amid all that a card does: {amid:?}");
}

#[test]
fn a_card_with_two_lanes_is_its_rtl() {
    check(Params::default(), 0..48, 40);
}

#[test]
fn an_odd_card_with_one_lane_is_its_rtl() {
    check(odd(), 0..48, 40);
}

#[test]
fn full_memories_are_those_of_the_model_and_outlive_a_reboot() {
    let design = built(Params::default());
    for stop in [0, trace_bit::STOP] {
        let card = |source| Both::new(design, Params { source, ..Params::default() }, None);
        let cable = Cable::new(ChannelParams::default(), [1, 2, 0, 3]);
        let bus = pci::Params::pcix_64_100();
        let mut world = World::with(vec![card(0), card(1)], bus, true, &[50, -50], cable);
        let on = trace_bit::ON | trace_bit::CLEAR | stop;
        let samples = SampleControl(0).with_period(0).with_samples(4095).0;
        for node in &mut world.nodes {
            node.set(register::TRACE_CONTROL, on.into());
            node.set(register::SAMPLE_CONTROL, samples);
        }
        for word in 0..512 {
            world.nodes[0].set_word(0x1000 + 8 * word, word * word);
        }
        world.nodes[0].set_limit(1, 640);
        for message in 0..5 {
            world.write(0, 0x1000, 1, 0x8_0000 + 0x1000 * message, 512, 0);
        }
        world.settle().unwrap();
        // Memories of the sender, then of the receiver; five headers, five ends.
        let all = if stop == 0 { [[2560, 2565], [2570, 2570]] } else { [[2048; 2]; 2] };
        for ((node, all), memories) in world.nodes.iter_mut().zip(all).zip([[0, 1], [2, 3]]) {
            node.nic.compare_memories();
            assert_eq!(node.nic.read(register::SAMPLE_COUNT), TRACE_DEPTH.into());
            node.nic.reboot();
            node.nic.compare_memories();
            assert_eq!(node.nic.read(register::SAMPLE_COUNT), 0);
            for (memory, count) in memories.into_iter().zip(all) {
                node.nic.write(register::TRACE_INDEX, TraceIndex(0).with_memory(memory).0);
                assert_eq!(node.nic.read(register::TRACE_COUNT), count, "memory {memory}");
            }
        }
    }
}

/// True if one of so many programs shows that RTL of one shape is not the model of another, or is spoilt.
fn differs(design: NicDesign, params: Params, programs: u64) -> bool {
    let plays = |seed| catch_unwind(AssertUnwindSafe(|| play(design, params, seed, 40)));
    (0..programs).any(|seed| plays(seed).is_err())
}

#[test]
fn one_that_is_another_is_found_out() {
    let design = built(odd());
    assert!(!differs(design, odd(), 24));
    assert!(differs(design, Params { credit_words: 8, ..odd() }, 24));
    assert!(differs(design, Params { reads_max: 2, ..odd() }, 24));
}

#[test]
#[ignore = "long: verilates the NIC for each of some seventy bugs, or MUTANT alone; make soak"]
fn mutants_are_found() {
    let place = DesignPaths::of_tests();
    let text =
        fs::read_to_string(place.root.join("crates/parts/forth-nic/tests/rtl/bugs.toml")).unwrap();
    let bugs: toml::Table = toml::from_str(&text).unwrap();
    let mut missed = Vec::new();
    let wanted = std::env::var("MUTANT").ok();
    for (name, bug) in bugs.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| w == *name)) {
        let folder = format!("build/verilated/bugs/{name}");
        let copy = place.root.join(&folder);
        fs::create_dir_all(&copy).unwrap();
        for source in fs::read_dir(place.root.join("rtl/rdma")).unwrap() {
            let source = source.unwrap();
            if source.path().extension().is_some_and(|extension| extension == "sv") {
                fs::copy(source.path(), copy.join(source.file_name())).unwrap();
            }
        }
        let file = copy.join(bug["file"].as_str().unwrap());
        let mut source = fs::read_to_string(&file).unwrap();
        for edit in bug["edits"].as_array().unwrap() {
            let [old, new] = [0, 1].map(|side: usize| edit[side].as_str().unwrap());
            assert_eq!(source.matches(old).count(), 1, "{name}: {old:?}");
            source = source.replace(old, new);
        }
        fs::write(&file, source).unwrap();
        let design = NicDesign::of(&place, &folder, &odd()).unwrap_or_else(|why| panic!("{why}"));
        // A card freezes in one program of twelve, and then has seldom something to send.
        let found = differs(design, odd(), 240);
        println!("{name}: {}", if found { "found" } else { "NOT FOUND" });
        if !found {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
#[ignore = "long: verilates five shapes; make soak"]
fn cards_of_all_shapes_are_their_rtl() {
    check(Params::default(), 100..400, 80);
    check(odd(), 100..600, 80);
    let crossed = Params { lanes: 1, peer_words: 1024, ..Params::default() };
    check(crossed, 0..200, 80);
    let narrow = Params {
        queue_depth: 8,
        tx_words: 32,
        rx_words: 40,
        peer_words: 33,
        reads_max: 1,
        lanes: 2,
        credit_words: 1,
        ..Params::default()
    };
    check(narrow, 0..400, 80);
    let four = Params { lanes: 4, ..Params::default() };
    check(four, 0..200, 80);
}
