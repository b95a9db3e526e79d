//! Random programs of packets and credits: the model and `rtl/crossbar` side by side, every output equal in
//! every cycle. The cards are simple, which keep to the credits and at times send errors.

use crossbar::{Crossbar, Params};
use des::Random;
use rtl::{Design, Library};
use serial::{Credit, Word};
use std::ffi::c_void;

/// A cycle's inputs, as the shim has them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct In {
    data: [u64; 8],
    kind: [u8; 8],
    ready: u8,
    rst_n: u8,
    unused: [u8; 6],
}

/// A cycle's outputs; errors as one bit for each port.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Out {
    data: [u64; 8],
    kind: [u8; 8],
    header_error: u8,
    credit_error: u8,
    overflow: u8,
    unused: [u8; 5],
}

/// A word as kind and 64 bits.
fn raw(word: Option<Word>) -> (u8, u64) {
    match word {
        None | Some(Word::Idle) => (0, 0),
        Some(Word::Start) => (1, 0),
        Some(Word::Credit(credit)) => {
            let flow = u64::from(credit.flow) << 16 | u64::from(credit.parity) << 23;
            (2, flow | u64::from(credit.count))
        }
        Some(Word::Data(data)) => (3, data),
    }
}

/// The RTL.
struct Rtl {
    unit: *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, *const In, *mut Out, usize),
    delete: unsafe extern "C" fn(*mut c_void),
}

impl Rtl {
    fn new(params: &Params) -> Rtl {
        let library = Library::load(&Design {
            top: "crossbar",
            traced: false,
            folders: &["rtl/crossbar", "rtl/rdma"],
            shim: "crates/parts/crossbar/tests/rtl/shim.cpp",
            parameters: &[
                ("PORTS", params.ports as u64),
                ("DEPTH", u64::from(params.point_words)),
                ("LIMIT", u64::from(params.card_words)),
                ("URGENT", u64::from(params.urgent_words)),
            ],
        });
        type Run = unsafe extern "C" fn(*mut c_void, *const In, *mut Out, usize);
        // SAFETY: these are the types of the functions in shim.cpp.
        unsafe {
            let new: unsafe extern "C" fn() -> *mut c_void =
                std::mem::transmute(library.symbol(c"crossbar_new"));
            let run = std::mem::transmute::<*mut c_void, Run>(library.symbol(c"crossbar_run"));
            let delete = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(
                library.symbol(c"crossbar_delete"),
            );
            Rtl { unit: new(), run, delete }
        }
    }
    fn run(&mut self, inputs: &[In]) -> Vec<Out> {
        let mut outputs = vec![Out::default(); inputs.len()];
        // SAFETY: the unit is alive until drop, and both arrays have as many elements as are said.
        unsafe { (self.run)(self.unit, inputs.as_ptr(), outputs.as_mut_ptr(), inputs.len()) }
        outputs
    }
}

impl Drop for Rtl {
    fn drop(&mut self) {
        // SAFETY: the unit came from `crossbar_new` and is not used again.
        unsafe { (self.delete)(self.unit) }
    }
}

/// A card at a port: sends packets as far as credits go, and takes what comes.
struct Card {
    /// Words sent to each crosspoint of its row, and words credited.
    sent: Vec<u16>,
    credited: Vec<u16>,
    /// Words of the packet that is sent.
    left: u16,
    header: bool,
    to: usize,
    words: u16,
    /// Words taken out of the buffer, cumulative; and those that are in it.
    freed: u16,
    held: u16,
    told: u16,
}

impl Card {
    fn new(ports: usize) -> Card {
        Card {
            sent: vec![0; ports],
            credited: vec![0; ports],
            left: 0,
            header: false,
            to: 0,
            words: 0,
            freed: 0,
            held: 0,
            told: 0,
        }
    }

    fn word(&mut self, params: &Params, port: usize, random: &mut Random) -> Option<Word> {
        if random.below(8) == 0 && self.told != self.freed {
            let credit = Credit::new(port as u8, self.freed);
            if random.below(6) == 0 {
                return Some(Word::Credit(Credit { count: credit.count ^ 4, ..credit }));
            }
            self.told = self.freed;
            return Some(Word::Credit(credit));
        }
        if random.below(4) == 0 {
            return None;
        }
        if self.left == 0 && !self.header {
            return self.start(params, random);
        }
        if self.header {
            self.header = false;
            // Now and then a header that cannot be; its words never count.
            if random.below(20) == 0 {
                let sent = &mut self.sent[self.to];
                *sent = sent.wrapping_sub(self.words + 3);
                return Some(Word::Data(if random.below(2) == 0 {
                    0
                } else {
                    0xFF << 48 | 1 << 32
                }));
            }
            self.left = self.words + 2;
            let noise = random.next_u64() & 0xFF00_0000_FFFF_FFFF;
            return Some(Word::Data(noise | (self.to as u64) << 48 | u64::from(self.words) << 32));
        }
        self.left -= 1;
        // Now and then a packet is cut off by the next.
        if random.below(300) == 0 {
            let cut = self.left + 1;
            self.left = 0;
            return if cut > 0 { Some(Word::Start) } else { None };
        }
        Some(Word::Data(random.next_u64()))
    }

    fn start(&mut self, params: &Params, random: &mut Random) -> Option<Word> {
        let most = u64::from(params.point_words.min(params.card_words) - 3).min(512);
        let to = random.below(params.ports as u64) as usize;
        let words =
            1 + if random.below(3) == 0 { random.below(most) } else { random.below(4) } as u16;
        let mask = (1 << Params::counter_bits(params.point_words)) - 1;
        let outstanding = self.sent[to].wrapping_sub(self.credited[to]) & mask;
        if outstanding + words + 3 > params.point_words {
            return None;
        }
        self.sent[to] = self.sent[to].wrapping_add(words + 3);
        (self.to, self.words, self.header) = (to, words, true);
        Some(Word::Start)
    }

    fn take(&mut self, word: Option<Word>, random: &mut Random) {
        match word {
            Some(Word::Data(_)) => self.held += 1,
            Some(Word::Credit(credit)) => self.credited[usize::from(credit.flow)] = credit.count,
            _ => {}
        }
        if self.held > 0 && random.below(3) != 0 {
            self.held -= 1;
            self.freed = self.freed.wrapping_add(1);
        }
    }
}

/// The first difference between model and RTL.
#[derive(Debug, thiserror::Error)]
#[error("seed {seed}, cycle {cycle}: the RTL differs from the model\n{}RTL   {real:x?}", listed(.before))]
struct Difference {
    seed: u64,
    cycle: usize,
    /// Inputs of the last cycles, and outputs of the model.
    before: Vec<(In, Out)>,
    real: Out,
}

fn listed(cycles: &[(In, Out)]) -> String {
    cycles.iter().map(|(input, model)| format!("in    {input:x?}\nmodel {model:x?}\n")).collect()
}

/// A random program of so many cycles; the error is the first difference.
fn play(params: &Params, rtl: &mut Rtl, seed: u64, cycles: usize) -> Result<u64, Difference> {
    let mut random = Random::new(seed);
    let mut model = Crossbar::new(*params);
    let mut cards: Vec<Card> = (0..params.ports).map(|_| Card::new(params.ports)).collect();
    let (mut inputs, mut expected) = (vec![In::default(); 2], vec![Out::default(); 2]);
    let mut before = model.counters();
    for _ in 0..cycles {
        let (mut input, mut output) = (In { rst_n: 1, ..In::default() }, Out::default());
        let (mut arrived, mut ready) = ([None; 8], [false; 8]);
        for port in 0..params.ports {
            arrived[port] = cards[port].word(params, port, &mut random);
            ready[port] = random.below(5) != 0;
            (input.kind[port], input.data[port]) = raw(arrived[port]);
            // What is not valid is noise, so that a unit which looks at it is found out.
            if input.kind[port] < 2 {
                input.data[port] = random.next_u64();
            }
            input.ready |= u8::from(ready[port]) << port;
        }
        let words = model.clock(&arrived[..params.ports], &ready[..params.ports]);
        for port in 0..params.ports {
            (output.kind[port], output.data[port]) = raw(words[port]);
            cards[port].take(words[port], &mut random);
        }
        let after = model.counters();
        output.header_error = (after.header_errors - before.header_errors) as u8;
        output.credit_error = (after.credit_errors - before.credit_errors) as u8;
        output.overflow = (after.overflows - before.overflows) as u8;
        before = after;
        inputs.push(input);
        expected.push(output);
    }
    let mut real = rtl.run(&inputs);
    for out in &mut real {
        for errors in [&mut out.header_error, &mut out.credit_error, &mut out.overflow] {
            *errors = errors.count_ones() as u8;
        }
    }
    let place = (2..real.len()).find(|cycle| real[*cycle] != expected[*cycle]);
    let Some(place) = place else { return Ok(before.words.iter().sum()) };
    let cycles = (place.saturating_sub(6)..=place).map(|cycle| (inputs[cycle], expected[cycle]));
    Err(Difference { seed, cycle: place, before: cycles.collect(), real: real[place] })
}

/// Parameters with which crosspoints are often full, and counters often wrap.
fn small() -> Params {
    Params { ports: 3, point_words: 16, card_words: 20, urgent_words: 4, miscounts: None }
}

fn check(params: Params, seeds: std::ops::Range<u64>, cycles: usize) {
    let mut rtl = Rtl::new(&params);
    let mut words = 0;
    for seed in seeds {
        match play(&params, &mut rtl, seed, cycles) {
            Ok(passed) => words += passed,
            Err(difference) => panic!("{params:?}, {difference}"),
        }
    }
    assert!(words > 100, "{words} words have passed");
}

#[test]
fn a_small_crossbar_is_its_rtl() {
    check(small(), 0..60, 2_000);
}

#[test]
fn one_that_is_another_is_found_out() {
    let mut rtl = Rtl::new(&small());
    let other = Params { urgent_words: 5, ..small() };
    assert!((0..10).any(|seed| play(&other, &mut rtl, seed, 2_000).is_err()));
}

#[test]
#[ignore = "long: verilates four crossbars, two million cycles; make soak"]
fn crossbars_of_all_shapes_are_their_rtl() {
    check(Params::default(), 0..40, 20_000);
    check(Params { ports: 2, ..small() }, 100..400, 2_000);
    check(
        Params { ports: 8, point_words: 64, card_words: 33, urgent_words: 8, miscounts: None },
        0..40,
        5_000,
    );
    check(
        Params { ports: 5, point_words: 32, card_words: 32, urgent_words: 1, miscounts: None },
        0..60,
        5_000,
    );
}
