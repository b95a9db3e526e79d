//! Byte enables: a device's transfer moves the requested bytes, and no others.

mod bench;

use bench::{Bench, MEMORY_BYTES};
use des::Random;
use pci::{Burst, HostRead, Params, Phase};

fn kinds() -> [Params; 6] {
    [
        Params::pcix_64_100(),
        Params { completion_blocks: 1, ..Params::pcix_64_100() },
        Params { width: 4, ..Params::pcix_64_100() },
        Params::pci_64_66(),
        Params::pci_32_33(),
        Params { burst_words: 3, ..Params::pci_32_33() },
    ]
}

/// The bytes of the reads of `tag` of chip 0, from `addr` on.
fn read(bench: &Bench, tag: u8, addr: u64, len: usize) -> Vec<u8> {
    let words = bench.chips[0].completions.iter().filter(|(_, word)| word.tag == tag);
    let bytes: Vec<u8> = words.flat_map(|(_, word)| word.data.to_le_bytes()).collect();
    bytes[(addr % 8) as usize..][..len].to_vec()
}

#[test]
fn bytes_go_anywhere_and_their_neighbours_stay() {
    for params in kinds() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let mut bench = Bench::new(params, 1);
            let mut memory: Vec<u8> = (0..MEMORY_BYTES).map(|_| random.next_u64() as u8).collect();
            bench.bus.bridge.memory.write(0, &memory).unwrap();
            let mut reads = Vec::new();
            for tag in 0..8 {
                let most = if random.below(2) == 0 { 12 } else { 1500 };
                let (len, addr) = (1 + random.below(most) as u16, random.below(0x8000));
                if random.below(2) == 0 {
                    // Bytes that are read are not written.
                    let addr = addr + 0x8_0000;
                    bench.chips[0].read_bytes(addr, len, tag);
                    reads.push((tag, addr, usize::from(len)));
                } else {
                    let data: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
                    bench.chips[0].write_bytes(addr, &data);
                    memory[addr as usize..][..data.len()].copy_from_slice(&data);
                }
            }
            for _ in 0..400 {
                bench.chips[0].flowing = random.below(3) != 0;
                bench.clock();
            }
            bench.settle();
            assert!(bench.bus.bridge.memory.all() == memory, "{params:?} seed {seed}");
            for (tag, addr, len) in reads {
                let right = &memory[addr as usize..][..len];
                assert_eq!(read(&bench, tag, addr, len), right, "{params:?} seed {seed}");
            }
        }
    }
}

#[test]
fn a_packet_of_21_bytes_leaves_the_three_behind_it_alone() {
    let mut bench = Bench::new(Params::pci_32_33(), 1);
    bench.bus.bridge.memory.write(0x1000, &[0xAA; 24]).unwrap();
    bench.chips[0].write_bytes(0x1000, &[0x55; 21]);
    bench.settle();
    let bytes = bench.bus.bridge.memory.bytes(0x1000, 24).unwrap();
    assert_eq!(bytes, [&[0x55; 21][..], &[0xAA; 3]].concat());
}

#[test]
fn a_data_phase_is_only_there_for_bytes_that_move() {
    let phases = |params: Params, addr: u64, len: usize| {
        let mut bench = Bench::new(params, 1);
        let from = bench.cycles.len();
        bench.chips[0].write_bytes(addr, &vec![1; len]);
        bench.settle();
        let data = |phase| matches!(phase, Phase::Data { .. });
        let cycles = bench.cycles[from..].iter().filter(|cycle| data(cycle.phase));
        cycles.map(|cycle| cycle.cbe).collect::<Vec<u8>>()
    };
    let (wide, narrow) = (Params::pcix_64_100(), Params::pci_32_33());
    assert_eq!(phases(wide, 0x103, 6), [0xF8, 0x01]);
    assert_eq!(phases(narrow, 0x103, 6), [0x08, 0xF0, 0x01]);
    assert_eq!(phases(narrow, 0x104, 4), [0xF0]);
    assert_eq!(phases(narrow, 0x106, 1), [0x40]);
}

#[test]
fn the_host_writes_and_reads_single_bytes_of_a_device() {
    for params in [Params::pcix_64_100(), Params::pci_32_33()] {
        let mut bench = Bench::new(params, 1);
        bench.chips[0].registers[1] = 0x1111_1111_1111_1111;
        let mut burst = Burst { addr: bench::REGION + 8, data: [0; 8], enables: [0; 8], words: 1 };
        (burst.data[0], burst.enables[0]) = (0x0000_BB00_AA00_0000, 0b0010_1000);
        assert!(bench.bus.bridge.post(&burst));
        bench.settle();
        assert_eq!(bench.chips[0].registers[1], 0x1111_BB11_AA11_1111);
        let lane = HostRead::Memory { addr: bench::REGION + 8, enables: 0b0010_0000 };
        let before = bench.bus.counters().data_cycles;
        assert_eq!(bench.read(lane).data >> 40 & 0xFF, 0xBB);
        assert_eq!(bench.bus.counters().data_cycles, before + 1, "one word, in one phase");
    }
}
