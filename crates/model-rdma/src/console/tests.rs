//! The console's program on its own: a crossbar that a test moves by hand.

use super::*;
use crossbar::Params as CrossbarParams;
use serial::Word;
use std::path::Path;

fn params(baud: u64) -> Params {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
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
    console.run(first, (&nothing, 0));
    assert_eq!(console.text(Time::NEVER), "", "nothing has passed");
    let end = first + Duration::from_us(1000);
    console.run(end, (&crossbar, cycles));
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
    console.run(end, (&crossbar, cycles));
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
    console.run(end, (&crossbar, cycles));
    assert!(console.text(end).starts_with("the console has stopped: "), "{}", console.text(end));
}
