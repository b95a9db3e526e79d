//! Drives the cycle model and the RTL side by side and writes a waveform of both:
//! `cargo run -p alpu --example waveform [FILE]` (build/alpu/waveform.vcd if not given), then `gtkwave FILE`.
//!
//! Three receives are posted, the second from any source; a header comes while they are being inserted and
//! fails, is held, and succeeds when the insertion has ended; two more find the others; a last one fails.

#[path = "../tests/rtl/mod.rs"]
mod rtl;

use alpu::{Alpu, Command, Config, Entry, Inputs, QueueKind, Request};
use rtl::{RawIn, RawOut, Rtl};
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs, process};

/// Nanoseconds of a cycle: that of a 500 MHz unit (brightwell2005 s6.1).
const PERIOD_NS: usize = 2;

const CYCLES: usize = 80;

fn main() {
    let built = || rtl::root().join("build/alpu/waveform.vcd");
    let file = env::args_os().nth(1).map_or_else(built, PathBuf::from);
    let name = file.display();
    let config = Config { match_width: 16, tag_width: 8, ..Config::new(QueueKind::Posted, 16, 4) };
    let inputs = script();
    let mut model = Alpu::new(config);
    let ours: Vec<RawOut> = inputs.iter().map(|cycle| (&model.clock(cycle)).into()).collect();
    let mut rtl = Rtl::new(&config);
    let theirs = rtl.run(&inputs);
    for (cycle, inputs) in inputs.iter().enumerate() {
        if ours[cycle].rsp_valid == 1 && inputs.result_ready {
            let RawOut { rsp_kind, rsp_payload, .. } = ours[cycle];
            let kind = ["start acknowledge, free", "match success, tag", "match failure"];
            println!("cycle {cycle:2}: {} {rsp_payload}", kind[usize::from(rsp_kind)]);
        }
    }
    let text = waveform(&config, &inputs, &ours, theirs);
    if let Err(error) = fs::write(&file, text) {
        eprintln!("{name} cannot be written: {error}");
        process::exit(2);
    }
    println!("{CYCLES} cycles of the model and the RTL are in {name}");
    // In the first cycle nothing has been reset yet.
    if let Some(cycle) = (1..CYCLES).find(|cycle| ours[*cycle] != theirs[*cycle]) {
        eprintln!("the model and the RTL differ in cycle {cycle}");
        process::exit(1);
    }
}

/// Inputs of the unit in each cycle. Source in the upper byte of a match word, tag in the lower.
fn script() -> Vec<Inputs> {
    let mut script = vec![Inputs { result_ready: true, ..Inputs::default() }; CYCLES];
    (script[0].reset, script[1].reset) = (true, true);
    let entry = |bits, mask, tag| Command::Insert(Entry { bits, mask, tag });
    let commands = [
        (3, Command::StartInsert),
        (8, entry(0x0101, 0, 10)),
        (9, entry(0x0002, 0xff00, 11)),
        (22, entry(0x0303, 0, 12)),
        (24, Command::StopInsert),
    ];
    for (cycle, command) in commands {
        script[cycle].command = Some(command);
    }
    for (cycle, bits) in [(11, 0x0303), (30, 0x0702), (31, 0x0101), (32, 0x0101)] {
        script[cycle].header = Some(Request { bits, mask: 0 });
    }
    script
}

/// A signal: its scope, name, width in bits, and its value in each cycle.
struct Signal {
    scope: &'static str,
    name: &'static str,
    width: u32,
    values: Vec<u64>,
}

/// The text of a value change dump.
fn waveform(config: &Config, inputs: &[Inputs], model: &[RawOut], rtl: &[RawOut]) -> String {
    let signals = signals(config, inputs, model, rtl);
    let mut text = format!(
        "$timescale 1 ns $end\n$scope module alpu $end\n$var wire 1 {} clk_i $end\n",
        id(0)
    );
    for scope in ["in", "model", "rtl"] {
        let _ = writeln!(text, "$scope module {scope} $end");
        for (index, signal) in signals.iter().enumerate().filter(|(_, s)| s.scope == scope) {
            let Signal { name, width, .. } = signal;
            let _ = writeln!(text, "$var wire {width} {} {name} $end", id(index + 1));
        }
        text += "$upscope $end\n";
    }
    text += "$upscope $end\n$enddefinitions $end\n";
    for cycle in 0..inputs.len() {
        // The edge that begins the cycle, then its other half.
        let _ = writeln!(text, "#{}\n1{}", cycle * PERIOD_NS, id(0));
        for (index, signal) in signals.iter().enumerate() {
            let value = signal.values[cycle];
            if cycle == 0 || signal.values[cycle - 1] != value {
                let _ = match signal.width {
                    1 => writeln!(text, "{value}{}", id(index + 1)),
                    _ => writeln!(text, "b{value:b} {}", id(index + 1)),
                };
            }
        }
        let _ = writeln!(text, "#{}\n0{}", cycle * PERIOD_NS + PERIOD_NS / 2, id(0));
    }
    let _ = writeln!(text, "#{}", inputs.len() * PERIOD_NS);
    text
}

/// The short name of a signal in a dump: one printable character is enough.
fn id(index: usize) -> char {
    char::from(b'!' + index as u8)
}

fn signals(config: &Config, inputs: &[Inputs], model: &[RawOut], rtl: &[RawOut]) -> Vec<Signal> {
    type Port<T> = (&'static str, u32, fn(&T) -> u64);
    let (bits, tag) = (config.match_width, config.tag_width);
    let free = (config.cells + 1).next_power_of_two().trailing_zeros();
    let ports: [Port<RawIn>; 10] = [
        ("rst_ni", 1, |port| port.rst_n.into()),
        ("hdr_valid_i", 1, |port| port.hdr_valid.into()),
        ("hdr_match_i", bits, |port| port.hdr_match),
        ("hdr_mask_i", bits, |port| port.hdr_mask),
        ("cmd_valid_i", 1, |port| port.cmd_valid.into()),
        ("cmd_op_i", 2, |port| port.cmd_op.into()),
        ("cmd_match_i", bits, |port| port.cmd_match),
        ("cmd_mask_i", bits, |port| port.cmd_mask),
        ("cmd_tag_i", tag, |port| port.cmd_tag),
        ("rsp_ready_i", 1, |port| port.rsp_ready.into()),
    ];
    let outs: [Port<RawOut>; 5] = [
        ("hdr_ready_o", 1, |port| port.hdr_ready.into()),
        ("cmd_ready_o", 1, |port| port.cmd_ready.into()),
        ("rsp_valid_o", 1, |port| port.rsp_valid.into()),
        ("rsp_kind_o", 2, |port| port.rsp_kind.into()),
        ("rsp_payload_o", tag.max(free), |port| port.rsp_payload),
    ];
    let raw: Vec<RawIn> = inputs.iter().map(|cycle| rtl::quiet(cycle, config)).collect();
    let mut signals = Vec::new();
    for (name, width, value) in ports {
        signals.push(Signal { scope: "in", name, width, values: raw.iter().map(value).collect() });
    }
    for (scope, cycles) in [("model", model), ("rtl", rtl)] {
        for (name, width, value) in outs {
            signals.push(Signal { scope, name, width, values: cycles.iter().map(value).collect() });
        }
    }
    signals
}
