//! Error cases of the bus.

mod bench;

use bench::{Bench, MEMORY_BYTES, REGION, REGION_BYTES};
use pci::{register, Command, Ending, HostRead, Params, Phase};

fn memory_word(bench: &Bench, addr: u64) -> u64 {
    let mut bytes = [0; 8];
    bench.bus.bridge.memory.read(addr, &mut bytes).expect("it is memory");
    u64::from_le_bytes(bytes)
}

/// Address phases of a command.
fn starts(bench: &Bench, command: Command) -> usize {
    let wanted = |phase: Phase| matches!(phase, Phase::Address { command: c, .. } if c == command);
    bench.cycles.iter().filter(|cycle| wanted(cycle.phase)).count()
}

#[test]
fn a_write_that_cannot_go_on_disconnects_at_a_boundary_and_comes_again() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.chips[0].flowing = false;
    bench.chips[0].write(0x1008, (0..40).collect());
    bench.settle();
    let words: Vec<u16> = bench.chips[0].ended.iter().map(|(_, ended)| ended.words).collect();
    assert_eq!(words, [15, 16, 9]);
    assert!((0..40).all(|i| memory_word(&bench, 0x1008 + 8 * i) == i));
    assert_eq!(bench.bus.counters().disconnects, 2);
}

#[test]
fn a_busy_chip_is_asked_again_and_reads_are_not_held_up() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.chips[0].busy = true;
    assert!(bench.bus.bridge.store(REGION + 8, &[9; 8]));
    bench.chips[0].read(0x100, 16, 0);
    for _ in 0..400 {
        bench.clock();
    }
    assert!(bench.chips[0].written.is_empty());
    assert_eq!(bench.chips[0].completions.len(), 16, "completions pass what is retried");
    bench.chips[0].busy = false;
    bench.settle();
    assert_eq!(bench.chips[0].registers[1], u64::from_le_bytes([9; 8]));
    assert!(bench.bus.counters().retries > 3);
}

#[test]
fn a_bridge_whose_memory_is_busy_retries_writes_and_loses_none() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.bus.bridge.occupy_memory(bench.bus.now() + 500);
    bench.chips[0].write(0x2000, (1..=300).collect());
    bench.settle();
    assert!(bench.bus.counters().retries > 0);
    assert!((0..300).all(|i| memory_word(&bench, 0x2000 + 8 * i) == i + 1));
}

#[test]
fn a_read_pushes_what_was_posted_before_it() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.bus.bridge.occupy_memory(bench.bus.now() + 300);
    bench.chips[0].write(0x3000, vec![0xABCD]);
    bench.chips[0].read(0x3000, 1, 0);
    bench.settle();
    let (cycle, word) = bench.chips[0].completions[0];
    assert_eq!(word.data, 0xABCD);
    assert!(cycle > 300, "memory was busy until then");
}

#[test]
fn more_reads_than_the_bridge_holds_are_retried() {
    let mut bench = Bench::new(Params { splits_max: 2, ..Params::pcix_64_100() }, 2);
    for tag in 0..3 {
        bench.chips[0].read(0x1000 * u64::from(tag), 4, tag);
        bench.chips[1].read(0x1000 * u64::from(tag), 4, tag);
    }
    bench.settle();
    assert!(bench.bus.counters().retries > 0);
    assert!(bench.chips.iter().all(|chip| chip.completions.len() == 12));
}

#[test]
fn completions_may_be_cut_into_blocks() {
    let mut bench = Bench::new(Params { completion_blocks: 1, ..Params::pcix_64_100() }, 1);
    bench.chips[0].read(0x1040, 40, 0);
    bench.settle();
    assert_eq!(starts(&bench, Command::SplitCompletion), 3, "8, 16 and 16 words");
    assert_eq!(bench.chips[0].completions.len(), 40);
}

#[test]
fn nobody_answers_where_nobody_is() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.chips[0].write(MEMORY_BYTES as u64, vec![1]);
    bench.settle();
    assert!(bench.chips[0].ended[0].1.aborted);
    let status = bench.read(HostRead::Config { slot: 0, offset: register::COMMAND });
    assert_ne!(status.data >> 29 & 1, 0, "received master abort");
    let nothing = bench.read(HostRead::Memory { addr: 0xE000_0000, enables: 0xFF });
    assert_eq!((nothing.data, nothing.aborted), (u64::MAX, true));
}

#[test]
fn an_address_from_4_gb_on_takes_a_cycle_more() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    bench.chips[0].read(0x1_0000_0000, 1, 0);
    bench.settle();
    assert_eq!(starts(&bench, Command::DualAddress), 1);
    assert!(bench.chips[0].ended[0].1.aborted, "there is no memory");
}

#[test]
fn the_host_reads_registers_and_their_halves() {
    for params in [Params::pcix_64_100(), Params::pci_32_33(), Params::pci_64_66()] {
        let mut bench = Bench::new(params, 1);
        bench.chips[0].registers[3] = 0x1122_3344_5566_7788;
        let word = bench.read(HostRead::Memory { addr: REGION + 24, enables: 0xFF });
        assert_eq!(word.data, 0x1122_3344_5566_7788);
        let half = bench.read(HostRead::Memory { addr: REGION + 24, enables: 0xF0 });
        assert_eq!(half.data >> 32, 0x1122_3344);
        let id = bench.read(HostRead::Config { slot: 0, offset: register::ID });
        assert_eq!(id.data, 0x0300_10EE);
    }
}

#[test]
fn a_turned_bit_is_seen_by_the_taker_and_by_the_monitor() {
    let mut bench = Bench::new(Params::pcix_64_100(), 1);
    assert!(bench.bus.bridge.store(REGION, &[0; 8]));
    // Address, attribute, four cycles of response.
    bench.bus.flip(bench.bus.now() + 6, 5);
    let told = (0..40).filter_map(|_| {
        let cycle = bench.bus.clock(&mut bench.chips);
        bench.monitor.judge(&cycle).err()
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].rule.starts_with("parity"));
    assert_eq!(bench.chips[0].registers[0], 1 << 5);
    assert_eq!(bench.bus.counters().parity_errors, 1);
    assert_ne!(bench.bus.config(0).read(register::COMMAND) >> 31, 0);
}

#[test]
fn the_interrupt_is_a_level_of_all_devices() {
    let mut bench = Bench::new(Params::pcix_64_100(), 2);
    assert!(!bench.bus.bridge.interrupt());
    bench.chips[1].interrupt = true;
    bench.clock();
    assert!(bench.bus.bridge.interrupt());
    assert!(bench.bus.bridge.config_write(1, register::COMMAND, 0b110 | 1 << 10, 0x3));
    bench.settle();
    assert!(!bench.bus.bridge.interrupt(), "masked in the command register");
}

#[test]
fn devices_take_turns() {
    let mut bench = Bench::new(Params::pcix_64_100(), 3);
    for _ in 0..50 {
        for slot in 0..3 {
            bench.chips[slot].write(0x1000 * (slot as u64 + 1), vec![1; 16]);
        }
    }
    for _ in 0..2000 {
        bench.clock();
    }
    let done: Vec<usize> = bench.chips.iter().map(|chip| chip.ended.len()).collect();
    let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
    assert!(most - least <= 1 && *least > 20, "{done:?}");
}

#[test]
fn a_delayed_read_is_asked_for_until_its_data_are_there() {
    let mut bench = Bench::new(Params::pci_64_66(), 1);
    for word in 0..100_u64 {
        bench.bus.bridge.memory.write(8 * word, &word.to_le_bytes()).unwrap();
    }
    bench.chips[0].read(0, 100, 5);
    bench.settle();
    let words: Vec<u64> = bench.chips[0].completions.iter().map(|(_, word)| word.data).collect();
    assert_eq!(words, (0..100).collect::<Vec<u64>>());
    assert!(bench.bus.counters().retries > 1);
    assert_eq!(bench.bus.counters().disconnects, 1, "bursts of 64");
    let split = |phase| phase == Phase::End(Ending::Split);
    assert!(!bench.cycles.iter().any(|cycle| split(cycle.phase)), "PCI knows no splits");
}

#[test]
fn a_region_ends_where_the_next_begins() {
    let mut bench = Bench::new(Params::pci_32_33(), 2);
    for word in 0..4 {
        let addr = REGION + u64::from(REGION_BYTES) - 8 + 4 * word;
        assert!(bench.bus.bridge.store(addr, &[word as u8 + 1; 4]));
    }
    bench.settle();
    let last = bench.chips[0].registers.last().copied();
    assert_eq!(last, Some(0x0202_0202_0101_0101));
    assert_eq!(bench.chips[1].registers[0], 0x0404_0404_0303_0303);
}

#[test]
fn a_write_to_nobody_does_not_lose_the_delayed_read_beside_it() {
    let mut bench = Bench::new(Params::pci_64_66(), 1);
    bench.chips[0].read(0x100, 4, 0);
    bench.chips[0].write(MEMORY_BYTES as u64, vec![1]);
    bench.settle();
    assert!(bench.chips[0].ended[0].1.aborted);
    assert_eq!(bench.chips[0].completions.len(), 4);
}

/// Cycles may be left out from power on: the arbiter counts on as if they had been there.
#[test]
fn cycles_left_out_at_power_on_are_as_those_that_pass() {
    for cycles in 0..8 {
        let mut buses = [(); 2].map(|()| {
            let params = Params { arbitration_cycles: 4, ..Params::pcix_64_100() };
            let space = pci::ConfigSpace::new(1, 2, 0, REGION_BYTES, true);
            pci::Bus::new(params, bus::Memory::new(0, MEMORY_BYTES), vec![space])
        });
        let mut chips = [[bench::Chip::new()], [bench::Chip::new()]];
        for _ in 0..cycles {
            buses[0].clock(&mut chips[0]);
        }
        buses[1].pass(cycles);
        for bus in &mut buses {
            assert!(bus.bridge.read(HostRead::Config { slot: 0, offset: 0 }, 0));
        }
        for _ in 0..40 {
            let both = [0, 1].map(|at| buses[at].clock(&mut chips[at]));
            assert_eq!(both[0], both[1], "{cycles} cycles left out");
        }
        assert_eq!(buses[0].counters(), buses[1].counters());
    }
}
