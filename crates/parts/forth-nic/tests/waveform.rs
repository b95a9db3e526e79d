//! The waveform of a card around a trigger: every edge in it, with the inputs and outputs that the model has
//! in the same run.

mod bench;

use abi::forth::{control, Descriptor};
use bench::fabric::Cable;
use bench::vcd::Vcd;
use bench::{Card, World, MEMORY_BYTES};
use des::{Clock, Time};
use forth_nic::{Arrival, Nic, Params, LINK_HZ};
use pci::{Device, DeviceIn, DeviceOut, Operation};
use rtl::{Capture, Captured, DesignPaths, NicDesign, Trigger};
use serial::{ChannelParams, Fault, Symbols};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// An edge as the model has seen it: values of ports before it (inputs), and after it (outputs).
struct Edge {
    time: u64,
    lanes: bool,
    inputs: Vec<(&'static str, u64)>,
    outputs: Vec<(&'static str, u64)>,
}

/// A model, and its RTL with a recorder.
struct Watched {
    model: Nic,
    rtl: rtl::Nic,
    clocks: [Clock; 2],
    edges: [u64; 2],
    log: Vec<Edge>,
    /// Times at which the model counted a wrong CRC.
    crcs: Vec<u64>,
}

impl Watched {
    fn time(&mut self, lanes: bool) -> u64 {
        let edge = &mut self.edges[usize::from(lanes)];
        *edge += 1;
        let time = self.clocks[usize::from(lanes)].edge(*edge - 1).0;
        self.rtl.set_time(time);
        time
    }
}

fn joined(symbols: &Symbols) -> [u64; 2] {
    let [low, high] = symbols;
    [
        u64::from(high.bytes) << 32 | u64::from(low.bytes),
        u64::from(high.control) << 4 | u64::from(low.control),
    ]
}

fn outputs(out: &DeviceOut) -> Vec<(&'static str, u64)> {
    let mut ports = vec![
        ("request_o", out.request.is_some().into()),
        ("write_word_o", out.write_word),
        ("write_on_o", out.write_on.into()),
        ("read_word_o", out.read_word),
        ("busy_o", out.busy.into()),
        ("interrupt_o", out.interrupt.into()),
    ];
    if let Some(request) = &out.request {
        ports.push(("request_write_o", (request.operation == Operation::Write).into()));
        ports.push(("request_addr_o", request.addr));
        ports.push(("request_words_o", u64::from(request.bytes) / 8));
    }
    ports
}

fn inputs(inputs: &DeviceIn) -> Vec<(&'static str, u64)> {
    let mut ports = vec![
        ("write_i", inputs.write.is_some().into()),
        ("read_i", inputs.read.is_some().into()),
        ("accepted_i", inputs.accepted.into()),
        ("completion_i", inputs.completion.is_some().into()),
        ("took_i", inputs.took_word.into()),
        ("ended_i", inputs.ended.is_some().into()),
    ];
    if let Some(write) = inputs.write {
        ports.push(("write_offset_i", write.offset.into()));
        ports.push(("write_data_i", write.data));
    }
    if let Some(completion) = inputs.completion {
        ports.push(("completion_data_i", completion.data));
    }
    ports
}

impl Device for Watched {
    fn outputs(&self) -> DeviceOut {
        self.model.outputs()
    }
    fn clock(&mut self, given: &DeviceIn) {
        let time = self.time(false);
        self.model.clock(given);
        self.rtl.clock(given);
        let outputs = outputs(&self.model.outputs());
        self.log.push(Edge { time, lanes: false, inputs: inputs(given), outputs });
    }
}

impl Card for Watched {
    fn link_clock(&mut self, symbols: Symbols) -> Symbols {
        let time = self.time(true);
        let errors = |nic: &Nic| {
            let counters = nic.link_counters();
            counters.header_errors + counters.payload_errors
        };
        let before = errors(&self.model);
        let sent = self.model.link_clock(symbols);
        self.rtl.link_clock(symbols);
        if errors(&self.model) > before {
            self.crcs.push(time);
        }
        let [[bytes_i, control_i], [bytes_o, control_o]] = [joined(&symbols), joined(&sent)];
        self.log.push(Edge {
            time,
            lanes: true,
            inputs: vec![("bytes_i", bytes_i), ("control_i", control_i)],
            outputs: vec![("bytes_o", bytes_o), ("control_o", control_o)],
        });
        sent
    }
    fn arrival(&self) -> Option<Arrival> {
        self.model.arrival()
    }
    fn is_quiet(&self) -> bool {
        self.model.is_quiet()
    }
}

/// The card as it is, and with tracing.
fn designs() -> [NicDesign; 2] {
    static BUILT: OnceLock<[NicDesign; 2]> = OnceLock::new();
    *BUILT.get_or_init(|| {
        let (place, params) = (DesignPaths::of_tests(), Params::default());
        let sentence = |why: rtl::Unbuilt| -> NicDesign { panic!("{why}") };
        [
            NicDesign::build(&place, &params).unwrap_or_else(sentence),
            NicDesign::traced(&place, &params).unwrap_or_else(sentence),
        ]
    })
}

fn file(name: &str) -> PathBuf {
    let folder = DesignPaths::of_tests().built.join("waves");
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder.join(name)
}

/// Two cards, of which the second is recorded; twelve messages for it, and a symbol that is spoilt.
fn play(trigger: Trigger, (before, after): (u64, u64), name: &str) -> (Watched, Option<Captured>) {
    let ([design, traced], bus) = (designs(), pci::Params::pcix_64_100());
    let clocks = [Clock::from_hz(bus.hertz), Clock::from_hz(LINK_HZ)];
    let capture = Capture {
        trigger,
        before,
        after,
        halves: clocks.map(|clock| clock.cycles(1).0 / 2),
        file: file(name),
        first: Arc::new(AtomicU64::new(u64::MAX)),
    };
    let card = |source: u8| {
        let params = Params { source, ..Params::default() };
        let mut rtl = rtl::Nic::new(design, &params);
        if source == 1 {
            rtl.record(traced, &params, capture.clone());
        }
        let (edges, log, crcs) = ([0; 2], Vec::new(), Vec::new());
        Watched { model: Nic::new(params), rtl, clocks, edges, log, crcs }
    };
    let _ = fs::remove_file(file(name));
    let cable = Cable::new(ChannelParams::default(), [0, 1, 2, 3]);
    let mut world = World::with(vec![card(0), card(1)], bus, true, &[0, 0], cable);
    for node in &mut world.nodes {
        node.unspecified = true;
        for word in 0x40..MEMORY_BYTES as u64 / 16 {
            node.set_word(8 * word, word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
    }
    world.nodes[0].set_limit(1, 640);
    world.nodes[1].set_limit(0, 640);
    for message in 0..12 {
        let descriptor = Descriptor {
            source_lo: 0x200 + 0x800 * message,
            source_hi: 0,
            destination: 0x8_0000 + 0x800 * message,
            control: 40 | control::INTERRUPT | 1 << control::FLOW_SHIFT,
        };
        world.nodes[0].post(&[descriptor]);
        if message == 6 {
            let nth = world.now.0 / 12_800 + 110;
            world.fabric.inject(1, 0, Fault { nth, bits: 1 << 9 });
        }
        let pause = world.now + des::Duration::from_ns(1500);
        world.run_until(pause);
    }
    world.run_until(Time(30_000_000));
    let mut watched = world.nodes.pop().expect("there are two").nic;
    let captured = watched.rtl.recorded().expect("the file can be written");
    (watched, captured)
}

/// Holds a file against what the model has seen.
fn compare(watched: &Watched, captured: &Captured) {
    let text = fs::read_to_string(&captured.file).expect("it was written");
    let vcd = Vcd::read(&text);
    assert_eq!(vcd.times, (captured.from, captured.to));
    let signals = vcd.signals.len();
    assert!(signals > 500, "{signals} signals: the inside is missing");
    let mut rising: BTreeMap<(bool, u64), u64> = BTreeMap::new();
    // An edge at the very beginning has no level before it.
    let inside = |edge: &&Edge| captured.from < edge.time && edge.time <= captured.to;
    for edge in watched.log.iter().filter(inside) {
        *rising.entry((edge.lanes, edge.time)).or_default() += 1;
        for (port, value) in &edge.inputs {
            let found = vcd.at(port, edge.time - 1);
            assert_eq!(found, u128::from(*value), "{port} before the edge at {}", edge.time);
        }
        for (port, value) in &edge.outputs {
            let found = vcd.at(port, edge.time);
            assert_eq!(found, u128::from(*value), "{port} after the edge at {}", edge.time);
        }
    }
    for (lanes, clock) in [(false, "bus_clk_i"), (true, "link_clk_i")] {
        let known: Vec<u64> =
            rising.keys().filter(|(of, _)| *of == lanes).map(|(_, time)| *time).collect();
        assert!(known.len() > 30, "{} edges of {clock}", known.len());
        assert_eq!(vcd.rises(clock), known, "{clock}");
    }
}

#[test]
fn the_cycles_around_a_wrong_crc_are_those_of_the_model() {
    let trigger = Trigger::parse("crc").unwrap();
    let (watched, captured) = play(trigger, (1_000_000, 2_000_000), "crc.vcd");
    let captured = captured.expect("a symbol was spoilt");
    assert_eq!(captured.at, watched.crcs[0], "the time of the first wrong CRC");
    assert!(captured.from >= captured.at - 1_000_000 && captured.from < captured.at - 980_000);
    assert!(captured.to <= captured.at + 2_000_000 && captured.to > captured.at + 1_980_000);
    compare(&watched, &captured);
    let vcd = Vcd::read(&fs::read_to_string(&captured.file).unwrap());
    assert_eq!(
        vcd.comment,
        format!("trigger at {} ps: crc (a header or payload with a wrong CRC)", captured.at)
    );
    // Inside, the parser finds the error in the cycle before that edge.
    assert_eq!(vcd.at("payload_error_o", captured.at - 1), 1);
    assert_eq!(vcd.at("payload_error_o", captured.at), 0);
}

#[test]
fn a_port_with_a_value_a_time_and_an_interrupt_are_triggers() {
    // The first descriptor's second burst of words; the header of the eighth packet.
    let cases = ["arrived_o=1", "interrupt", "write_offset_i=0x1008", "request_addr_o=0x80800"];
    for text in cases {
        let name = format!("{}.vcd", text.replace(['=', '_'], "-"));
        let (watched, captured) = play(Trigger::parse(text).unwrap(), (400_000, 400_000), &name);
        let captured = captured.unwrap_or_else(|| panic!("{text} has not come"));
        compare(&watched, &captured);
        let (port, value) = text.split_once('=').unwrap_or(("interrupt_o", "1"));
        let value = u128::from_str_radix(value.trim_start_matches("0x"), 16).unwrap();
        let vcd = Vcd::read(&fs::read_to_string(&captured.file).unwrap());
        assert_eq!(vcd.at(port, captured.at), value, "{text}");
    }
    let (watched, captured) = play(Trigger::Time(3_141_592), (0, 400_000), "time.vcd");
    let captured = captured.unwrap();
    // The first edge from then on.
    let first = watched.log.iter().map(|edge| edge.time).find(|time| *time >= 3_141_592);
    assert_eq!(Some(captured.at), first);
    compare(&watched, &captured);
}

#[test]
fn a_trigger_that_never_comes_writes_nothing() {
    for text in ["overflow", "parity", "frozen", "stop"] {
        let (_, captured) = play(Trigger::parse(text).unwrap(), (1_000, 1_000), "none.vcd");
        assert_eq!(captured, None, "{text}");
        assert!(!file("none.vcd").exists());
    }
}

#[test]
fn wrong_triggers_are_refused() {
    let sentence = |text: &str| Trigger::parse(text).unwrap_err().to_string();
    assert!(sentence("crash").contains("crc, parity, bond"), "{}", sentence("crash"));
    assert!(sentence("clk=1").contains("no port"), "{}", sentence("clk=1"));
    assert!(sentence("interrupt_o=yes").contains("0x11"), "{}", sentence("interrupt_o=yes"));
}
