//! Random programs of commands and headers: the cycle model and the RTL side by side, every output is equal
//! in every cycle, and the results are judged by the untimed specification.

mod bench;
mod rtl;
mod stimulus;

use alpu::{Config, QueueKind};
use bench::Bench;

/// A small unit with small FIFOs, so that every FIFO is full at times.
fn small(kind: QueueKind, cells: usize, block: usize) -> Config {
    Config {
        match_width: 5,
        tag_width: 7,
        header_depth: 4,
        command_depth: 4,
        result_depth: 2,
        ..Config::new(kind, cells, block)
    }
}

/// Configurations that are different in every parameter.
fn variety() -> Vec<Config> {
    let small_overlap = Config { overlap: true, ..small(QueueKind::Posted, 8, 4) };
    let overlap =
        Config { overlap: true, resolve_cycles: 2, ..small(QueueKind::Unexpected, 24, 8) };
    vec![
        small(QueueKind::Unexpected, 8, 2),
        small_overlap,
        overlap,
        Config { match_width: 64, tag_width: 20, ..Config::new(QueueKind::Posted, 128, 16) },
        Config { match_width: 1, tag_width: 1, ..Config::new(QueueKind::Posted, 2, 2) },
        Config { match_width: 42, ..Config::new(QueueKind::Unexpected, 256, 32) },
        Config { match_width: 42, ..Config::new(QueueKind::Posted, 256, 16) },
        Config { match_width: 33, tag_width: 64, ..Config::new(QueueKind::Unexpected, 48, 16) },
        Config { match_width: 7, ..Config::new(QueueKind::Posted, 64, 64) },
        Config { match_width: 9, command_depth: 2, ..Config::new(QueueKind::Unexpected, 256, 8) },
    ]
}

#[test]
fn model_keeps_to_the_specification() {
    for config in variety() {
        Bench::without_rtl(config).random(0..300);
    }
}

#[test]
fn a_small_posted_unit_is_its_rtl() {
    Bench::new(small(QueueKind::Posted, 8, 4)).random(0..3000);
}

#[test]
fn a_small_unexpected_unit_with_overlap_is_its_rtl() {
    let config = Config { overlap: true, resolve_cycles: 2, ..small(QueueKind::Unexpected, 12, 4) };
    Bench::new(config).random(0..3000);
}

#[test]
fn a_unit_that_is_another_is_found_out_by_a_small_program() {
    let config = small(QueueKind::Posted, 8, 4);
    let mut bench = Bench::between(Config { overlap: true, ..config }, config);
    let found = (0..1000).find_map(|seed| bench.fails(seed));
    let (program, failure) = found.expect("the second match comes a cycle earlier");
    let message = failure.to_string();
    assert!(message.contains("the RTL differs from the model"), "{message}");
    assert!(program.commands.is_empty() && program.headers.len() == 2, "{program:#x?}");
}

#[test]
#[ignore = "long: verilates ten configurations; make soak"]
fn units_of_all_shapes_are_their_rtl() {
    for config in variety() {
        Bench::new(config).random(0..2000);
    }
}

#[test]
#[ignore = "long: a hundred thousand programs; make soak"]
fn small_units_are_their_rtl_for_long() {
    for kind in [QueueKind::Posted, QueueKind::Unexpected] {
        Bench::new(small(kind, 8, 4)).random(10_000..60_000);
    }
}
