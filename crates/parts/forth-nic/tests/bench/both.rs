//! A model and its RTL side by side, as one card.

use super::Card;
use abi::forth::register::{Control, States, TraceIndex};
use abi::forth::{control_bit, register, TRACE_DEPTH};
use des::Random;
use forth_nic::{Arrival, Nic, Params, Transceiver};
use pci::{Device, DeviceIn, DeviceOut, TargetRead, TargetWrite};
use rtl::NicDesign;
use serial::{lane, lane_bytes, set_lane, Credit, Symbol, Symbols, Word};

/// A model and its RTL, with the same inputs.
pub struct Both {
    pub model: Nic,
    pub rtl: rtl::Nic,
    edges: u64,
    /// Symbols are lost now and then on their way to both, so that packets are cut off, and credits have a
    /// bit turned, which may be any of them: an error at a random time seldom hits one.
    losses: Option<Random>,
    lanes: u8,
    /// Transceivers change, and edges are said to be left out.
    pub aids: Option<Random>,
    pub resets: Resets,
}

/// Resets of a card.
#[derive(Default)]
pub struct Resets {
    /// They come between the cycles in which the bus has something to do with the card.
    pub random: Option<Random>,
    pub tally: Tally,
    /// Edges for which counters are still compared after the last.
    looks: u64,
    /// No packet has come to memory since.
    fresh: bool,
    /// Errors of the lanes so far, and edges since the last during which a reset is likely.
    errors: u64,
    hot: u64,
}

/// Counts of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub count: u64,
    /// Those behind which the card has written a packet to memory.
    pub outlived: u64,
    /// Those that found reads open, a packet on its way to memory, one on its way to the lanes, and one on
    /// its way from there.
    pub amid: [u64; 4],
}

impl Tally {
    pub fn add(&mut self, others: &Tally) {
        self.count += others.count;
        self.outlived += others.outlived;
        self.amid.iter_mut().zip(others.amid).for_each(|(all, some)| *all += some);
    }
}

impl Both {
    pub fn new(design: NicDesign, params: Params, losses: Option<Random>) -> Both {
        let (model, rtl) = (Nic::new(params), rtl::Nic::new(design, &params));
        let (lanes, resets) = (params.lanes, Resets::default());
        Both { model, rtl, edges: 0, losses, lanes, aids: None, resets }
    }

    /// The bus's inputs, with a reset instead of nothing now and then: a transfer of the card's, which keeps
    /// the bus, excludes it.
    fn with_reset(&mut self, inputs: &DeviceIn) -> DeviceIn {
        let free = inputs.write.is_none() && self.model.outputs().request.is_none();
        let mut inputs = *inputs;
        if let Some(random) = self.resets.random.as_mut().filter(|_| free) {
            // Seldom, and then perhaps soon once more; and while an error of the lanes crosses.
            let rare = match (self.resets.hot, self.resets.looks) {
                (1.., _) => 20,
                (_, 1..) => 100,
                _ => 4000,
            };
            if random.below(rare) == 0 {
                let data = random.below(256) | u64::from(control_bit::RESET);
                inputs.write = Some(TargetWrite { offset: register::CONTROL, data, enables: 0xFF });
            }
        }
        let is_reset =
            |write: &TargetWrite| write.offset == register::CONTROL && Control(write.data).reset();
        if inputs.write.as_ref().is_some_and(is_reset) {
            self.count_reset();
        }
        self.read_behind_a_reset(&mut inputs);
        inputs
    }

    /// Reads a register, which is what a bus that has no read itself never sees.
    fn read_behind_a_reset(&mut self, inputs: &mut DeviceIn) {
        let Resets { random, looks, .. } = &mut self.resets;
        if let Some(random) = random.as_mut().filter(|_| *looks > 0 && inputs.read.is_none()) {
            let offset = register::CONTROL + 8 * random.below(62) as u32;
            inputs.read = Some(TargetRead { offset, enables: 0xFF });
        }
    }

    /// A reset comes: a copy of the card tells what that finds.
    fn count_reset(&mut self) {
        let mut copy = self.model.clone();
        let read = Some(TargetRead { offset: register::STATES, enables: 0xFF });
        copy.clock(&DeviceIn { read, ..DeviceIn::default() });
        let states = States(copy.outputs().read_word);
        let found = [states.reads(), states.deposit(), states.send(), states.parse()];
        let Resets { tally, looks, fresh, .. } = &mut self.resets;
        tally.count += 1;
        tally.amid.iter_mut().zip(found).for_each(|(all, state)| *all += u64::from(state > 0));
        (*looks, *fresh) = (64, true);
    }

    /// Tells the aids something from outside.
    fn tell_aids(&mut self, lanes: bool) {
        let Some(random) = &mut self.aids else { return };
        if random.below(16) == 0 {
            let edges = random.below(80);
            self.model.pass(lanes, edges);
            self.rtl.pass(lanes, edges);
        }
        if random.below(64) == 0 {
            let (lane, counts) = (random.below(4) as usize, [0, 1].map(|_| random.below(300)));
            let status = Transceiver { buffer_errors: counts[0], corrections: counts[1] };
            self.model.set_transceiver(lane, status);
            self.rtl.set_transceiver(lane, status);
        }
    }

    /// Compares what stands in the memories of the aids, through their registers, without a bus: the card is
    /// no more part of a world.
    pub fn compare_memories(&mut self) {
        let depth = u64::from(TRACE_DEPTH);
        let samples = (0..24).chain(depth - 4..depth);
        for index in samples {
            for memory in 0..4 {
                let select = TraceIndex(index).with_memory(memory).0;
                self.write(register::TRACE_INDEX, select);
                (register::TRACE_COUNT..=register::TRACE_TAG)
                    .step_by(8)
                    .for_each(|offset| _ = self.read(offset));
            }
            self.write(register::SAMPLE_INDEX, index);
            (register::SAMPLE_COUNT..=register::SAMPLE_PRESSURE)
                .step_by(8)
                .for_each(|offset| _ = self.read(offset));
        }
        (register::AIDS..=register::SAMPLE_PRESSURE)
            .step_by(8)
            .for_each(|offset| _ = self.read(offset));
    }
    /// The host is started again.
    pub fn reboot(&mut self) {
        self.write(register::CONTROL, control_bit::RESET.into());
    }
    pub fn write(&mut self, offset: u32, data: u64) {
        let write = Some(TargetWrite { offset, data, enables: 0xFF });
        self.clock(&DeviceIn { write, ..DeviceIn::default() });
    }
    pub fn read(&mut self, offset: u32) -> u64 {
        let read = Some(TargetRead { offset, enables: 0xFF });
        self.clock(&DeviceIn { read, ..DeviceIn::default() });
        self.model.outputs().read_word
    }

    /// After an edge. Counters are told less often, since asking costs more.
    fn compare(&mut self, what: &str) {
        self.edges += 1;
        let place = format!("after {what}, edge {}", self.edges);
        let rests = |bus, lanes, frozen| (("bus", bus), ("lanes", lanes), ("frozen", frozen));
        let (model, rtl) = (&self.model, &self.rtl);
        assert_eq!(rtl.lanes_are_held(), model.lanes_are_held(), "{place}: reset");
        assert_eq!(
            rests(rtl.bus_rests(), rtl.lanes_rest(), rtl.is_frozen()),
            rests(model.bus_rests(), model.lanes_rest(), model.is_frozen()),
            "{place}: rests"
        );
        assert_eq!(rtl.outputs(), model.outputs(), "{place}: outputs");
        assert_eq!(rtl.arrival(), model.arrival(), "{place}: arrival");
        let looks = self.resets.looks > 0;
        self.resets.looks -= u64::from(looks);
        let outlived = self.resets.fresh && model.arrival().is_some();
        self.resets.tally.outlived += u64::from(outlived);
        self.resets.fresh &= !outlived;
        let link = model.link_counters();
        let errors = link.header_errors + link.payload_errors + link.bond_errors;
        let Resets { errors: before, hot, .. } = &mut self.resets;
        *hot = if errors > *before { 8 } else { hot.saturating_sub(1) };
        *before = errors;
        if looks || self.edges % 16 == 0 {
            assert_eq!(rtl.host_counters(), *model.host_counters(), "{place}: counters");
            assert_eq!(rtl.link_counters(), model.link_counters(), "{place}: counters");
            let flow = if looks { self.resets.looks % 2 } else { self.edges / 16 % 128 } as u8;
            assert_eq!(self.rtl.outstanding(flow), model.outstanding(flow), "{place}: credits");
        }
    }
}

impl Device for Both {
    fn outputs(&self) -> DeviceOut {
        self.model.outputs()
    }
    fn clock(&mut self, inputs: &DeviceIn) {
        self.tell_aids(false);
        let inputs = self.with_reset(inputs);
        self.model.clock(&inputs);
        self.rtl.clock(&inputs);
        self.compare("the bus's");
    }
}

impl Card for Both {
    fn link_clock(&mut self, mut symbols: Symbols) -> Symbols {
        if let Some(random) = &mut self.losses {
            let lanes = self.lanes.max(2);
            let n = random.below(lanes.into()) as u8;
            if random.below(150) == 0 {
                set_lane(&mut symbols, lanes, n, Word::Idle.part(lanes, n));
            }
            let upper = 4 * u64::from(lane_bytes(lanes));
            for n in 0..lanes {
                let mut symbol = lane(&symbols, lanes, n);
                if is_credit(&symbol) && random.below(8) == 0 {
                    symbol.bytes ^= 1 << (upper + random.below(upper));
                    set_lane(&mut symbols, lanes, n, symbol);
                }
            }
        }
        self.tell_aids(true);
        let model = self.model.link_clock(symbols);
        let rtl = self.rtl.link_clock(symbols);
        assert_eq!(rtl, model, "after the lanes', edge {}", self.edges);
        self.compare("the lanes'");
        model
    }
    fn arrival(&self) -> Option<Arrival> {
        self.model.arrival()
    }
    fn is_quiet(&self) -> bool {
        self.model.is_quiet()
    }
}

/// Part of a credit, as its mark says.
fn is_credit(symbol: &Symbol) -> bool {
    let credit = Word::Credit(Credit::new(0, 0)).half(0);
    symbol.control == credit.control && symbol.bytes & 0xFF == credit.bytes & 0xFF
}
