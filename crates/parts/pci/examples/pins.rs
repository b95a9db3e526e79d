//! Writes the pins of a PCI-X bus as a waveform: `cargo run -p pci --example pins [FILE]`
//! (build/pci/pins.vcd if not given), then `gtkwave FILE`.
//!
//! The host writes three words to a card, the card reads 21 bytes of the host's memory (a split read) and
//! writes 20 words.

#[path = "../tests/bench/mod.rs"]
mod bench;

use bench::{Bench, REGION, REGION_BYTES};
use pci::pins::{transfers, Analyser, Board, Waves};
use pci::{Burst, ConfigSpace, Monitor, Params};
use std::path::PathBuf;
use std::{env, fs, process};

fn main() {
    let file = env::args_os().nth(1).map_or_else(|| "build/pci/pins.vcd".into(), PathBuf::from);
    let params = Params::pcix_64_100();
    let mut bench = Bench::new(params, 1);
    let before = bench.bus.bridge.memory.clone();
    bench.bus.bridge.post(&Burst { addr: REGION, data: [7; 8], enables: [0xFF; 8], words: 3 });
    bench.chips[0].read_bytes(0x1003, 21, 0);
    bench.chips[0].write(0x2000, (1..=20).collect());
    bench.settle();
    let space = ConfigSpace::new(0x10EE, 0x0300, 0x02_8000, REGION_BYTES, true);
    let mut board = Board::new(params, before, vec![space], REGION_BYTES as usize);
    transfers(&params, &bench.cycles).iter().for_each(|transfer| board.plan(transfer));
    let (mut analyser, mut monitor) = (Analyser::new(params), Monitor::new(params));
    let mut waves = Waves::new(&params, 1);
    for _ in 0..bench.cycles.len() {
        let lines = board.clock();
        waves.push(&lines);
        if let Err(violation) = analyser.judge(&lines, &mut monitor) {
            println!("{violation}");
        }
    }
    let folder = file.parent().unwrap_or(&file);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, waves.text()));
    if let Err(error) = written {
        eprintln!("{}: {error}", file.display());
        process::exit(1);
    }
    println!("{}: {} cycles", file.display(), bench.cycles.len());
}
