//! The console's program on its own: a crossbar that a test moves by hand.

use super::*;
use abi::registers::{lies, Audit, Device, Register, Violation};
use crossbar::Params as CrossbarParams;
use serial::Word;
use std::path::Path;

fn params(baud: u64) -> Params {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let image = root.join("build/firmware/crossbar/console.bin");
    Params::load(&image, Clock::from_hz(300_000_000), baud).expect("make parts builds it")
}

/// A crossbar through which a packet of `words` goes from input 0 to output 2, and the cycles that it took.
fn after_a_packet(words: u64) -> (Crossbar, u64) {
    let mut crossbar = Crossbar::new(CrossbarParams { ports: 3, ..CrossbarParams::default() });
    let header = words << (8 * abi::forth::packet_header::WORDS)
        | 2 << (8 * abi::forth::packet_header::FLOW);
    let overhead = u64::from(abi::forth::PACKET_OVERHEAD);
    let mut arriving = vec![Word::Start, Word::Data(header)];
    arriving.extend((1..words + overhead).map(Word::Data));
    let mut arriving = arriving.into_iter();
    for _ in 0..4 * (words + overhead) {
        let arrived = [arriving.next(), None, None];
        crossbar.clock(&arrived, &[true; 3]);
    }
    let cycles = crossbar.cycle();
    (crossbar, cycles)
}

#[test]
fn a_flow_that_has_moved_is_told_once() {
    let mut console = Console::new(&params(10_000_000));
    let (crossbar, cycles) = after_a_packet(20);
    let nothing = Crossbar::new(*crossbar.params());
    let first = Time::ZERO + Duration::from_us(100);
    console.run(first, &nothing, 0);
    assert_eq!(console.text(Time::NEVER), "", "nothing has passed");
    let end = first + Duration::from_us(1000);
    console.run(end, &crossbar, cycles);
    let text = console.text(end);
    let words = 20 + u64::from(abi::forth::PACKET_OVERHEAD);
    let forwarding = crossbar.forwarding().nth(2).unwrap();
    // Cut-through: the last word leaves a few cycles after the last has come.
    assert!((words..words + 8).contains(&forwarding.most), "{forwarding:?}");
    let most = forwarding.most;
    let line = format!("0>2 words       {words} +{words}, held 0, cycles {most} to {most}");
    assert_eq!(text, format!("cycle {cycles}\n{line}\n"));
}

#[test]
fn nothing_is_said_faster_than_the_line_carries() {
    let mut console = Console::new(&params(115_200));
    let (crossbar, cycles) = after_a_packet(20);
    let end = Time::ZERO + Duration::from_us(1000);
    console.run(end, &crossbar, cycles);
    // A byte each 86.8 us: the twelfth is under way.
    assert_eq!(console.text(end).trim_end().len(), 12, "{}", console.text(end));
    assert_eq!(console.text(Time::ZERO), "", "what is said later is not known");
}

#[test]
fn a_program_that_goes_astray_is_told() {
    let mut params = params(115_200);
    let last = params.image.len() - 4;
    params.image[last..].copy_from_slice(&[0; 4]);
    let mut console = Console::new(&params);
    let (crossbar, cycles) = after_a_packet(1);
    let end = Time::ZERO + Duration::from_us(10);
    console.run(end, &crossbar, cycles);
    assert!(console.text(end).starts_with("the console has stopped: "), "{}", console.text(end));
}

/// The peripheral as the processor uses it, behind a crossbar that rests.
struct Peripheral {
    board: Board,
    crossbar: Crossbar,
}

impl Peripheral {
    fn sight(&mut self) -> Sight<'_> {
        let Peripheral { board, crossbar } = self;
        Sight { board, cycles: crossbar.cycle(), crossbar, horizon: Time::NEVER }
    }
}

impl Device for Peripheral {
    fn read(&mut self, offset: u32) -> Option<u64> {
        let (addr, mut bytes) = ((console::DEVICE_BASE + offset).into(), [0; 4]);
        let read = self.sight().read(Time::ZERO, addr, &mut bytes);
        read.is_ok().then_some(u32::from_be_bytes(bytes).into())
    }
    fn write(&mut self, offset: u32, word: u64) -> bool {
        let addr = (console::DEVICE_BASE + offset).into();
        self.sight().write(Time::ZERO, addr, &(word as u32).to_be_bytes()).is_ok()
    }
    fn parameter(&self, register: &Register, _: u32) -> u64 {
        assert_eq!(register.offset, register::PORTS);
        self.crossbar.params().ports as u64
    }
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        // Taking the counters changes them all.
        (register.offset != register::LATCH).then_some(word)
    }
}

/// Audits the peripheral at power-on, and with counters that are not 0.
fn audit(table: &[Register]) -> Result<Vec<String>, Violation> {
    let (crossbar, _) = after_a_packet(20);
    let board = Console::new(&params(115_200)).board;
    let mut peripheral = Peripheral { board, crossbar };
    let mut random = des::Random::new(table.len() as u64);
    let mut audit = Audit::after_reset(table, &mut peripheral)?;
    audit.write_at_random(&mut peripheral, 1000, &mut || random.next_u64())?;
    assert!(peripheral.write(register::LATCH, 0));
    let flow_2 = register::WORDS + 8;
    assert!(peripheral.read(flow_2).is_some_and(|words| words > 20), "counters are taken");
    audit.look(&mut peripheral)?;
    audit.write_at_random(&mut peripheral, 1000, &mut || random.next_u64())?;
    Ok(audit.unseen())
}

#[test]
fn registers_keep_their_declarations() {
    assert_eq!(audit(register::TABLE), Ok(vec![]));
    for (lie, table) in lies(register::TABLE) {
        assert!(audit(&table) != Ok(vec![]), "{lie}");
    }
}

#[test]
fn each_reason_for_no_console_is_one_sentence() {
    let file = Path::new("console.bin").to_path_buf();
    for (reason, sentence) in [
        (
            NoConsole::Link,
            "this machine has a link and no switch to watch; forth-switch has one".into(),
        ),
        (
            NoConsole::Rtl,
            "--console switch shows counters that the RTL of the crossbar has not; leave out \
             --rtl, or set switch.rtl=off"
                .into(),
        ),
        (
            NoConsole::File { file: file.clone(), why: io::Error::other("it is gone") },
            "cannot load console.bin: it is gone".into(),
        ),
        (
            NoConsole::Size { file, bytes: 17 },
            format!(
                "console.bin has 17 bytes, not the {} of the memory; make parts builds it anew",
                console::RAM_SIZE
            ),
        ),
    ] {
        assert_eq!(reason.to_string(), sentence);
    }
}
