//! Two cards with the real control program over a switch: packets of 8 bytes and of 64 KB go to and fro.

use crate::bench::cards::control_program;
use crate::story;

#[test]
fn packets_go_to_and_fro_over_a_switch() {
    story::ping_pong(&control_program(0)).unwrap();
}

#[test]
fn packets_go_over_six_switches() {
    story::six_switches(&control_program(0)).unwrap();
}

#[test]
fn what_is_not_for_the_host_is_dropped() {
    story::foreign_packets(&control_program(0)).unwrap();
}

/// A second run gives the same, to the picosecond.
#[test]
fn runs_are_the_same() {
    let image = control_program(0);
    assert_eq!(story::ping_pong(&image), story::ping_pong(&image));
}

#[test]
fn sixteen_cards_behind_three_switches_reach_one_another() {
    let image = control_program(0);
    assert_eq!(story::sixteen_cards(&image).unwrap(), story::sixteen_cards(&image).unwrap());
}

/// The image against `firmware/lanai/budget.csv`.
#[test]
fn the_control_program_keeps_to_its_budget() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../firmware/lanai/budget.csv");
    let budget = std::fs::read_to_string(path).unwrap();
    let sizes = control_program(0).sizes;
    for size in &sizes {
        let line = budget.lines().find(|line| line.starts_with(size.what)).unwrap();
        let limit: u32 = line.split(',').nth(1).unwrap().parse().unwrap();
        assert!(size.bytes <= limit, "{} takes {} of {limit} bytes", size.what, size.bytes);
    }
    assert!(sizes[0].bytes > 1000, "there is code");
}

#[test]
fn packets_of_64_kb_pass_one_another() {
    story::both_ways(&control_program(0)).unwrap();
}

/// A wild store of the control program is named with its function and line.
#[test]
fn a_fault_names_function_and_line() {
    let image = control_program(7);
    let (function, file, line) = story::place_of_fault(&image).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../firmware/lanai/core/receive.c");
    let text = std::fs::read_to_string(source).unwrap();
    // The store itself is inlined from the port; its function is one of the core's.
    let names = ["receive_step", "look_at_packet"];
    assert!(names.contains(&&*function), "{function}");
    assert!(file.ends_with("port/lanai/port.h") || file.ends_with("core/receive.c"), "{file}");
    if file.ends_with("receive.c") {
        let wild = text.lines().nth(line as usize - 1).unwrap();
        assert!(wild.contains("GUARD"), "{wild}");
    }
}
