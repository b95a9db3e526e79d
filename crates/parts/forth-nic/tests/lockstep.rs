//! The NIC's FIFO between clocks and its flow control beside their RTL (`rtl/rdma`): every output equal at
//! every edge of either clock, over random programs and clocks that drift.

use des::Random;
use forth_nic::{CreditReceiver, CreditSender, Fifo};
use rtl::{Design, Library};
use serial::Credit;
use std::ffi::c_void;

/// The inputs of an edge, as the shim has them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct In {
    data: u64,
    words: u16,
    needed: u16,
    count: u16,
    free_words: u16,
    link: u8,
    rst_n: u8,
    push: u8,
    pop: u8,
    limit: u8,
    flow: u8,
    send: u8,
    credit: u8,
    credit_flow: u8,
    parity: u8,
    free: u8,
    free_flow: u8,
    idle: u8,
    sent: u8,
    unused: [u8; 2],
}

/// The outputs before an edge.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Out {
    data: u64,
    room: u16,
    count: u16,
    outstanding: u16,
    credit_count: u16,
    allowed: u8,
    discarded: u8,
    takes: u8,
    due: u8,
    credit_flow: u8,
    parity: u8,
    unused: [u8; 2],
}

/// Sizes of the units.
#[derive(Clone, Copy, Debug)]
struct Shape {
    depth: usize,
    flows: u8,
    bits: u32,
    urgent: u16,
}

type Run = unsafe extern "C" fn(*mut c_void, *const In, *mut Out, usize);

fn run_rtl(shape: Shape, inputs: &[In]) -> Vec<Out> {
    let library = Library::load(&Design {
        top: "rdma_units",
        traced: false,
        folders: &["rtl/rdma"],
        shim: "crates/parts/forth-nic/tests/rtl/shim.cpp",
        parameters: &[
            ("DEPTH", shape.depth as u64),
            ("FLOWS", u64::from(shape.flows)),
            ("BITS", u64::from(shape.bits)),
            ("URGENT", u64::from(shape.urgent)),
        ],
    });
    let mut outputs = vec![Out::default(); inputs.len()];
    // SAFETY: these are the types of the functions in shim.cpp; both arrays have as many elements as are
    // said, and the unit is not used after it is deleted.
    unsafe {
        let new: unsafe extern "C" fn() -> *mut c_void =
            std::mem::transmute(library.symbol(c"units_new"));
        let run = std::mem::transmute::<*mut c_void, Run>(library.symbol(c"units_run"));
        let delete = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(
            library.symbol(c"units_delete"),
        );
        let unit = new();
        run(unit, inputs.as_ptr(), outputs.as_mut_ptr(), inputs.len());
        delete(unit);
    }
    outputs
}

/// The models, driven edge by edge.
struct Models {
    shape: Shape,
    fifo: Fifo<u64>,
    sender: CreditSender,
    receiver: CreditReceiver,
    /// Flows that have a limit, and what a simple far end has of each: freed words.
    limits: Vec<u16>,
    freed: Vec<u16>,
}

impl Models {
    fn new(shape: Shape) -> Models {
        let flows = usize::from(shape.flows);
        Models {
            shape,
            fifo: Fifo::new(shape.depth),
            sender: CreditSender::new(shape.bits),
            receiver: CreditReceiver::new(shape.bits, shape.urgent),
            limits: vec![0; flows],
            freed: vec![0; flows],
        }
    }

    fn random_input(&self, random: &mut Random, link: bool) -> In {
        let flow = || 0..self.shape.flows;
        let mut any = |range: std::ops::Range<u8>| random.below(u64::from(range.end)) as u8;
        let (flow_now, credit_flow, free_flow) = (any(flow()), any(flow()), any(flow()));
        let mask = (1 << self.shape.bits) - 1;
        let mut input = In {
            link: link.into(),
            rst_n: 1,
            data: random.next_u64(),
            push: (random.below(3) != 0).into(),
            pop: (random.below(3) != 0).into(),
            flow: flow_now,
            words: 1 + random.below(6) as u16,
            credit_flow,
            free_flow: if random.below(3) == 0 { free_flow } else { 0 },
            free: (random.below(3) == 0).into(),
            free_words: 1 + random.below(1 << (self.shape.bits - 3)) as u16,
            idle: (random.below(4) == 0).into(),
            ..In::default()
        };
        input.needed = input.words + random.below(3) as u16;
        if self.limits[usize::from(flow_now)] == 0 && random.below(4) == 0 {
            input.limit = 1;
            input.words = 1 + random.below((u64::from(mask) >> 2) + 1) as u16;
        }
        // Some of what is outstanding has been freed at the far end; now and then the credit is spoilt.
        let outstanding = self.sender.outstanding(credit_flow);
        let part = random.below(u64::from(outstanding) + 1) as u16;
        let count = self.freed[usize::from(credit_flow)].wrapping_add(part) & mask;
        let credit = Credit::new(credit_flow, count);
        (input.credit, input.count) = ((random.below(3) == 0).into(), count);
        input.parity = (credit.parity ^ (random.below(8) == 0)).into();
        input
    }

    /// The outputs before the edge, and the edge. Fills in what is decided by outputs.
    fn edge(&mut self, input: &mut In) -> Out {
        let credit =
            Credit { flow: input.credit_flow, count: input.count, parity: input.parity == 1 };
        let waiting = input.free == 1 && !self.receiver.takes(input.free_flow);
        let due = self.receiver.due(input.idle == 1, waiting);
        let limited = self.limits[usize::from(input.flow)] > 0;
        let allowed = limited && self.sender.allows(input.flow, input.needed);
        input.send = (allowed && input.limit == 0).into();
        input.sent = (due.is_some() && input.data & 2 == 0).into();
        let data = self.fifo.front();
        let mut output = Out {
            data: data.unwrap_or(0),
            room: self.fifo.room() as u16,
            count: self.fifo.len() as u16,
            // Before its start a flow's counter is anything.
            outstanding: if limited { self.sender.outstanding(input.flow) } else { 0 },
            allowed: allowed.into(),
            discarded: (input.credit == 1 && !credit.is_whole()).into(),
            due: due.is_some().into(),
            ..Out::default()
        };
        if let Some(credit) = due {
            (output.credit_flow, output.credit_count) = (credit.flow, credit.count);
            output.parity = credit.parity.into();
        }
        if input.link == 0 {
            output.takes = self.takes_after(input).into();
            self.fifo.write_edge((input.push == 1).then_some(input.data));
            return output;
        }
        self.fifo.read_edge(input.pop == 1);
        self.link_edge(input, credit, &mut output);
        output
    }

    /// True if the freed words are taken in a cycle in which the credit before may be sent.
    fn takes_after(&self, input: &In) -> bool {
        let mut after = self.receiver.clone();
        if input.sent == 1 {
            after.sent();
        }
        after.takes(input.free_flow)
    }

    fn link_edge(&mut self, input: &In, credit: Credit, output: &mut Out) {
        if input.send == 1 {
            self.sender.send(input.flow, input.words);
        }
        if input.sent == 1 {
            self.receiver.sent();
        }
        let takes = self.receiver.takes(input.free_flow);
        output.takes = takes.into();
        if takes && input.free == 1 {
            self.receiver.free(input.free_flow, input.free_words);
        }
        if input.credit == 1 {
            if credit.is_whole() {
                self.freed[usize::from(credit.flow)] = credit.count;
            }
            self.sender.receive(credit);
        }
        if input.limit == 1 {
            self.sender.set_limit(input.flow, input.words);
            self.limits[usize::from(input.flow)] = input.words;
            self.freed[usize::from(input.flow)] = 0;
        }
    }
}

fn play(shape: Shape, seed: u64, edges: usize) {
    let mut random = Random::new(seed);
    let mut models = Models::new(shape);
    // Both clocks in reset.
    let mut inputs: Vec<In> = (0..4).map(|edge| In { link: edge % 2, ..In::default() }).collect();
    let mut expected = vec![Out::default(); 4];
    // A clock is at times twice as fast as the other, at times half.
    let mut pace = 1;
    for edge in 0..edges {
        if edge % 100 == 0 {
            pace = 1 + random.below(4);
        }
        let link = random.below(5) < pace;
        let mut input = models.random_input(&mut random, link);
        expected.push(models.edge(&mut input));
        inputs.push(input);
    }
    let mut real = run_rtl(shape, &inputs);
    for (out, right) in real.iter_mut().zip(&expected) {
        // A flow that has no limit yet.
        if right.allowed == 0 && right.outstanding == 0 {
            out.outstanding = 0;
        }
    }
    let place = (4..real.len()).find(|edge| real[*edge] != expected[*edge]);
    if let Some(edge) = place {
        panic!(
            "{shape:?}, seed {seed}, edge {edge}: {:#?}\nmodel {:#?}\nRTL {:#?}",
            inputs[edge], expected[edge], real[edge]
        );
    }
}

#[test]
fn small_units_are_their_rtl() {
    let shape = Shape { depth: 4, flows: 4, bits: 5, urgent: 4 };
    (0..50).for_each(|seed| play(shape, seed, 3_000));
}

#[test]
#[ignore = "long: verilates three shapes, three million edges; make soak"]
fn units_of_all_shapes_are_their_rtl() {
    let full = Shape { depth: 1024, flows: 128, bits: 12, urgent: 64 };
    (0..20).for_each(|seed| play(full, seed, 50_000));
    let wide = Shape { depth: 16, flows: 8, bits: 10, urgent: 16 };
    (0..40).for_each(|seed| play(wide, seed, 20_000));
    let tiny = Shape { depth: 4, flows: 2, bits: 4, urgent: 1 };
    (0..200).for_each(|seed| play(tiny, seed, 5_000));
}
