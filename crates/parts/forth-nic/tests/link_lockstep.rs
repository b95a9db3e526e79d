//! The receiving side of the lanes beside its RTL (`rtl/rdma/rdma_link_rx.sv`): equal after every edge,
//! over random words, lanes that are late by some bytes, and symbols that are spoilt, lost or doubled.

use des::Random;
use rtl::{Design, Library};
use serial::{lane, lane_bytes, set_lane, Credit, LinkRx, LinkTx, Shifter, Symbols, Word};
use std::ffi::c_void;

/// A cycle's inputs, as the shim has them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct In {
    bytes: [u32; 2],
    control: [u8; 2],
    rst_n: u8,
    unused: [u8; 5],
}

/// Outputs after the edge.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Out {
    data: u64,
    kind: u8,
    errors: u8,
    unused: [u8; 6],
}

type Run = unsafe extern "C" fn(*mut c_void, *const In, *mut Out, usize);

fn run_rtl(lanes: u8, inputs: &[In]) -> Vec<Out> {
    let library = Library::load(&Design {
        top: "rdma_link_rx",
        traced: false,
        folders: &["rtl/rdma"],
        shim: "crates/parts/forth-nic/tests/rtl/link.cpp",
        parameters: &[("LANES", u64::from(lanes))],
    });
    let mut outputs = vec![Out::default(); inputs.len()];
    // SAFETY: these are the types of the functions in link.cpp; both arrays have as many elements as are
    // said, and the unit is not used after it is deleted.
    unsafe {
        let new: unsafe extern "C" fn() -> *mut c_void =
            std::mem::transmute(library.symbol(c"link_new"));
        let run = std::mem::transmute::<*mut c_void, Run>(library.symbol(c"link_run"));
        let delete = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(
            library.symbol(c"link_delete"),
        );
        let unit = new();
        run(unit, inputs.as_ptr(), outputs.as_mut_ptr(), inputs.len());
        delete(unit);
    }
    outputs
}

fn random_word(random: &mut Random) -> Word {
    match random.below(8) {
        0 | 1 => Word::Idle,
        2 => Word::Start,
        3 => Word::Credit(Credit::new(random.below(128) as u8, random.next_u64() as u16)),
        _ => Word::Data(random.next_u64()),
    }
}

/// Words that have come, and times that the lanes have lost one another.
fn play(lanes: u8, seed: u64, cycles: usize) -> (u64, u64) {
    let mut random = Random::new(seed);
    let (mut tx, mut rx) = (LinkTx::new(lanes), LinkRx::new(lanes));
    let (mut inputs, mut expected) = (vec![In::default(); 2], vec![Out::default(); 2]);
    let all = lanes.max(2);
    let mut before = Symbols::default();
    let mut late = vec![Shifter::new(lane_bytes(all), 0); all.into()];
    let (mut words, mut errors) = (0, 0);
    for cycle in 0..cycles {
        if cycle % 500 == 0 {
            let width = lane_bytes(all);
            let shift = || Shifter::new(width, random.below(width.into()) as u8);
            late = std::iter::repeat_with(shift).take(all.into()).collect();
        }
        let mut sent = tx.clock(random_word(&mut random));
        let n = random.below(all.into()) as u8;
        let mut symbol = lane(&sent, all, n);
        match random.below(120) {
            0 => symbol.bytes ^= 1 << random.below(8 * u64::from(lane_bytes(all))),
            1 => symbol = Word::Idle.part(all, n),
            2 => symbol = lane(&before, all, n),
            _ => {}
        }
        set_lane(&mut sent, all, n, symbol);
        before = sent;
        let mut arrived = Symbols::default();
        for (n, late) in (0..).zip(&mut late) {
            set_lane(&mut arrived, all, n, late.shift(lane(&sent, all, n)));
        }
        let [even, odd] = arrived;
        inputs.push(In {
            bytes: [even.bytes, odd.bytes],
            control: [even.control, odd.control],
            rst_n: 1,
            ..In::default()
        });
        rx.clock(arrived);
        let (kind, data) = match rx.word() {
            None | Some(Word::Idle) => (0, 0),
            Some(Word::Start) => (1, 0),
            Some(Word::Credit(Credit { flow, count, parity })) => {
                let upper = u64::from(parity) << 23 | u64::from(flow) << 16;
                (2, upper | u64::from(count))
            }
            Some(Word::Data(data)) => (3, data),
        };
        let lost = (rx.errors() - errors) as u8;
        (words, errors) = (words + u64::from(kind > 0), rx.errors());
        expected.push(Out { data, kind, errors: lost, ..Out::default() });
    }
    let real = run_rtl(lanes, &inputs);
    if let Some(cycle) = (2..real.len()).find(|cycle| real[*cycle] != expected[*cycle]) {
        let from = cycle.saturating_sub(4);
        panic!(
            "{lanes} lanes, seed {seed}, cycle {cycle}: {:x?}\nmodel {:x?}\nRTL   {:x?}",
            &inputs[from..=cycle],
            expected[cycle],
            real[cycle]
        );
    }
    (words, errors)
}

fn check(lanes: u8) {
    let (mut words, mut errors) = (0, 0);
    for seed in 0..20 {
        let (came, lost) = play(lanes, seed, 3_000);
        (words, errors) = (words + came, errors + lost);
    }
    assert!(words > 10_000 && errors > 100, "{words} words, {errors} times out of step");
}

#[test]
fn receivers_are_their_rtl() {
    check(2);
    check(1);
}

#[test]
#[ignore = "verilates one more shape; make soak"]
fn a_receiver_of_four_lanes_is_its_rtl() {
    check(4);
}
