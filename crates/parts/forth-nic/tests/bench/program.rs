//! Random programs for worlds of two cards that are both model and RTL.

use super::both::{Both, Tally};
use super::fabric::Cable;
use super::{World, MEMORY_BYTES, NOTIFY_ADDR};
use abi::forth::register::{DebugSelect, SampleControl, TraceIndex};
use abi::forth::{control, control_bit, register, table, trace_bit, Descriptor};
use des::{Duration, Random};
use forth_nic::{Estimate, Params};
use rtl::NicDesign;
use serial::{lane_bytes, ChannelParams, Fault};

/// Random actions of a world. Most messages are short: edges are expensive.
struct Program {
    random: Random,
    params: Params,
    longest: u64,
    /// Bits are turned on the lanes.
    faults: bool,
    /// The aids are used.
    aids: bool,
    /// Cards are reset, at any time; resets of each that the program has seen.
    resets: bool,
    reset_counts: [u64; 2],
    /// Value of each card's CONTROL.
    modes: [u32; 2],
    /// Destinations are handles: for each card its bindings, as flow and page, and whether they are valid.
    handles: Option<[[(u8, u32, bool); 5]; 2]>,
}

impl Program {
    fn world(&mut self, design: NicDesign) -> World<Cable, Both> {
        let random = &mut self.random;
        let lanes = self.params.lanes;
        let shifts = std::array::from_fn(|_| random.below(lane_bytes(lanes).into()) as u8);
        let cable = Cable::new(ChannelParams { lanes, ..ChannelParams::default() }, shifts);
        let bus = match random.below(5) {
            0 => pci::Params::pci_64_66(),
            1 => pci::Params::pci_32_33(),
            _ => pci::Params::pcix_64_100(),
        };
        let ppm = if random.below(2) == 0 { [100, -100] } else { [-100, 100] };
        let combining = random.below(3) != 0;
        let mut losses = [0, 1].map(|_| self.faults.then(|| Random::new(random.next_u64())));
        let mut aids = [0, 1].map(|_| self.aids.then(|| Random::new(random.next_u64())));
        let mut resets = [0, 1].map(|_| self.resets.then(|| Random::new(random.next_u64())));
        let mut card = |source: u8| {
            let losses = losses[usize::from(source)].take();
            let mut both = Both::new(design, Params { source, ..self.params }, losses);
            both.aids = aids[usize::from(source)].take();
            both.resets.random = resets[usize::from(source)].take();
            both
        };
        let mut world = World::with(vec![card(0), card(1)], bus, combining, &ppm, cable);
        for node in &mut world.nodes {
            node.unspecified = self.faults || self.resets || self.replaces();
            for word in 0x40..MEMORY_BYTES as u64 / 16 {
                node.set_word(8 * word, word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
        }
        (0..2).for_each(|node| self.set_limits(&mut world, node));
        world
    }

    fn set_limits(&self, world: &mut World<Cable, Both>, node: usize) {
        for flow in [[1, 77], [0, 127]][node] {
            world.nodes[node].set_limit(flow, self.params.peer_words);
        }
    }

    /// The host resets a card, or both, or finds that one was, and sets up what a reset has taken. Something
    /// of it is left out now and then.
    fn reset(&mut self, world: &mut World<Cable, Both>) {
        let chosen = self.random.below(24);
        for node in 0..2 {
            let random = &mut self.random;
            if chosen == 2 || chosen == node as u64 {
                let bits = random.below(256) | u64::from(control_bit::RESET);
                world.nodes[node].set(register::CONTROL, bits);
                let pause = world.now + Duration::from_ns(random.below(2500));
                world.run_until(pause);
            }
            let count = world.nodes[node].nic.resets.tally.count;
            if std::mem::replace(&mut self.reset_counts[node], count) == count {
                continue;
            }
            let random = &mut self.random;
            if random.below(2) == 0 && world.nodes[node].bus.bridge.is_quiet() {
                let offset = register::CONTROL + 8 * random.below(62) as u32;
                world.register(node, offset);
            }
            let random = &mut self.random;
            if random.below(8) > 0 {
                world.nodes[node].set(register::INTERRUPT, 1);
                world.nodes[node].set(register::NOTIFY, NOTIFY_ADDR);
            }
            if random.below(16) > 0 {
                self.set_limits(world, node);
            }
            if let Some(bindings) = &mut self.handles {
                bindings[node] = [(0, 0, false); 5];
                (0..4).for_each(|_| self.bind(world, node));
            }
            world.nodes[node].set(register::CONTROL, self.modes[node].into());
        }
    }

    /// A remote write, or now and then something else that a host may do.
    fn act(&mut self, world: &mut World<Cable, Both>) {
        let random = &mut self.random;
        let node = random.below(2) as usize;
        if self.aids && random.below(3) == 0 {
            self.set_aid(world, node);
        }
        if self.resets {
            self.reset(world);
        }
        let random = &mut self.random;
        match random.below(24) {
            0 | 8 => {
                let most = if self.aids && random.below(3) > 0 { 62 } else { 18 };
                let offset = register::CONTROL + 8 * random.below(most) as u32;
                if !self.may_stop() || world.nodes[node].bus.bridge.is_quiet() {
                    world.register(node, offset);
                }
            }
            1 => {
                let until = world.nodes[node].bus.now() + random.below(400);
                world.nodes[node].bus.bridge.occupy_memory(until);
            }
            2 => world.nodes[node].set(register::INTERRUPT, random.below(2)),
            3 => {
                let on = self.modes[node];
                let dma = control_bit::SEND | control_bit::RECEIVE;
                let bits = on & !(1 << random.below(4) & dma);
                world.nodes[node].set(register::CONTROL, bits.into());
                let pause = world.now + Duration::from_ns(random.below(900));
                world.run_until(pause);
                world.nodes[node].set(register::CONTROL, on.into());
            }
            4 => {
                let bad = self.bad_descriptor();
                world.nodes[node].post(&[bad]);
            }
            // What the card says of one is cleared, or is not, and read.
            9 => {
                let bits = random.below(8);
                let bad = self.bad_descriptor();
                world.nodes[node].post(&[bad]);
                self.settle(world);
                world.nodes[node].set(register::STATUS, bits);
                self.settle(world);
                if !self.may_stop() || world.nodes[node].bus.bridge.is_quiet() {
                    world.register(node, register::STATUS);
                }
            }
            // As many short ones as there is room for, so that reads wait for one another.
            6 | 7 => (0..6).for_each(|_| self.write(world, node, 4)),
            // A flow that is none.
            5 => world.nodes[node].set_limit(201, 64),
            10 | 11 if self.handles.is_some() => self.bind(world, node),
            12..=15 if self.handles.is_some() => {
                let bad = self.bad_handle(node);
                world.nodes[node].post(&[bad]);
            }
            _ => {
                let most = if random.below(8) == 0 { self.longest } else { 20 };
                self.write(world, node, most);
            }
        }
        let pause = world.now + Duration::from_ns(self.random.below(900));
        world.run_until(pause);
    }

    /// A register of the aids gets a value.
    fn set_aid(&mut self, world: &mut World<Cable, Both>, node: usize) {
        let random = &mut self.random;
        let index = [random.below(2048), random.below(24)][random.below(2) as usize];
        let (offset, value) = match random.below(8) {
            0..=2 => {
                let mut bits = random.below(16);
                bits |= if random.below(2) == 0 { u64::from(trace_bit::CLEAR) } else { 0 };
                bits |= if random.below(3) == 0 { u64::from(trace_bit::STOP) } else { 0 };
                (register::TRACE_CONTROL, bits)
            }
            3 => (register::TRACE_INDEX, TraceIndex(index).with_memory(random.below(4) as u8).0),
            4 => {
                let (period, samples) = (random.below(40) as u32, random.below(60) as u16);
                // More than there is room for, now and then.
                let samples = if random.below(8) == 0 { 4095 } else { samples };
                let control = SampleControl(0).with_period(period).with_samples(samples);
                (register::SAMPLE_CONTROL, control.0)
            }
            5 => (register::SAMPLE_INDEX, index),
            _ => {
                let select = DebugSelect(0).with_flow(flow_of(random, node));
                (register::DEBUG_SELECT, select.with_lane(random.below(4) as u8).0)
            }
        };
        world.nodes[node].set(offset, value);
    }

    /// Words of payload become counts.
    fn replaces(&self) -> bool {
        self.modes.iter().any(|mode| mode & control_bit::CREDITS_IN_PAYLOAD != 0)
    }

    /// A card that is frozen, or waits for a credit that was lost or that the other one never sends, as it
    /// is frozen or hears only itself, takes nothing out of its queue, and a read would wait behind that.
    fn may_stop(&self) -> bool {
        let stops = control_bit::FREEZE | control_bit::LOOP_BACK;
        self.faults || self.resets || self.modes.iter().any(|mode| mode & stops != 0)
    }

    /// Long enough for a descriptor or a register.
    fn settle(&self, world: &mut World<Cable, Both>) {
        let pause = world.now + Duration::from_ns(1500);
        world.run_until(pause);
    }

    /// One that cannot be, or whose source is no memory.
    fn bad_descriptor(&mut self) -> Descriptor {
        let bad = self.random.below(4);
        let words = if bad == 3 { self.random.below(2) as u32 * 513 } else { 1 };
        Descriptor {
            source_lo: if bad == 0 { 0x1004 } else { 0x1000 },
            source_hi: (bad == 1).into(),
            destination: if bad == 2 { 0x8_0004 } else { 0x8_0000 },
            control: words | 1 << 24,
        }
    }

    /// One of the bindings, or more than there are, is another from now on; now and then one is taken back.
    fn bind(&mut self, world: &mut World<Cable, Both>, node: usize) {
        let Some(bindings) = &mut self.handles else { return };
        let random = &mut self.random;
        let number = random.below(6) as usize;
        let valid = random.below(8) != 0;
        let flow = flow_of(random, node);
        let page = MEMORY_BYTES as u32 / 2 + 4096 * random.below(0x7E) as u32;
        if let Some(bound) = bindings[node].get_mut(number) {
            *bound = (flow, page, valid);
        }
        let word = table::Bindings(u64::from(page)).with_flow(flow).with_valid(valid);
        world.nodes[node].set(table::BINDINGS + 8 * number as u32, word.0);
    }

    /// A descriptor whose handle is refused.
    fn bad_handle(&mut self, node: usize) -> Descriptor {
        let random = &mut self.random;
        let bindings = &self.handles.expect("there are handles")[node];
        let taken_back = bindings.iter().position(|(_, _, valid)| !valid);
        let number = random.below(5) as usize;
        let kind = random.below(6);
        // One that is taken back is refused on its old flow, too.
        let number = taken_back.filter(|_| kind > 2).unwrap_or(number);
        let (flow, number) = (bindings[number].0, number as u32);
        let (handle, words, flow) = match kind {
            3.. if taken_back.is_some() => (number << 12, 1, flow),
            0 => ((number << 12) + 8 * 508, 5, flow),
            1 => (number << 12, 1, 1 + flow % 100),
            // Numbers whose lower bits are those of one that is bound.
            _ => ((number + 8) << 12, 1, flow),
        };
        let control = words | u32::from(flow) << control::FLOW_SHIFT;
        Descriptor { source_lo: 0x1000, source_hi: 0, destination: handle, control }
    }

    /// A message that the peer's buffer may ever have room for: a longer one would hold back all that follow.
    fn write(&mut self, world: &mut World<Cable, Both>, node: usize, most: u64) {
        let most = most.min(self.longest);
        if let Some(bindings) = &self.handles {
            let random = &mut self.random;
            let number = random.below(5) as usize;
            let (flow, page, valid) = bindings[node][number];
            let words = 1 + random.below(most) as u16;
            let offset = 8 * random.below(513 - u64::from(words)) as u32;
            let from = 0x200 + 8 * random.below(0xF000);
            let flags = [0, control::NOTIFY, control::INTERRUPT][random.below(3) as usize];
            if valid {
                let descriptor = world.tell(node, from, flow, page + offset, words, flags);
                let destination = (number as u32) << 12 | offset;
                world.nodes[node].post(&[Descriptor { destination, ..descriptor }]);
            }
            return;
        }
        let random = &mut self.random;
        let words = 1 + random.below(most);
        let from = 0x200 + 8 * random.below(0xF000);
        let to = MEMORY_BYTES as u64 / 2 + 8 * random.below(0xFC00);
        let mut flags = 0;
        flags |= if random.below(2) == 0 { control::NOTIFY } else { 0 };
        flags |= if random.below(3) == 0 { control::INTERRUPT } else { 0 };
        let flow = flow_of(random, node);
        world.write(node, from, flow, to as u32, words as u16, flags);
    }
}

/// The flow of a message from a node.
fn flow_of(random: &mut Random, node: usize) -> u8 {
    match random.below(6) {
        0 => [77, 127][node],
        _ => 1 - node as u8,
    }
}

/// Counts over programs.
#[derive(Debug, Default)]
pub struct Played {
    /// Packets that came to memory.
    pub arrived: u64,
    /// Errors that cards found.
    pub errors: u64,
    pub resets: Tally,
}

/// Runs a program of so many acts.
pub fn play(design: NicDesign, params: Params, seed: u64, acts: u64) -> Played {
    let mut random = Random::new(seed);
    let estimate = if seed % 2 == 0 { Estimate::Fine } else { Estimate::Conservative };
    let params = Params { estimate, round_trip_words: random.below(30) as u16, ..params };
    let longest = u64::from(params.peer_words - params.round_trip_words - 3).min(512);
    let longest = longest.min(params.tx_words.into());
    let dma = control_bit::SEND | control_bit::RECEIVE;
    let modes = match seed % 4 {
        0 => [dma | control_bit::LOOP_BACK, dma],
        1 => [dma, dma | control_bit::FREEZE],
        _ => [dma; 2],
    };
    // Cards without bindings do not heed the bit.
    let handles = matches!(seed % 5, 2 | 4);
    let modes = modes.map(|mode| mode | if handles { control_bit::HANDLES } else { 0 });
    let handles = (handles && params.bindings > 0).then_some([[(0, 0, false); 5]; 2]);
    let bound = handles.is_some();
    let aids = seed % 4 != 0;
    let resets = seed % 3 == 1;
    let modes = match seed % 7 {
        3 => modes.map(|mode| mode | control_bit::CREDITS_IN_PAYLOAD),
        _ => modes,
    };
    // Card 1 may be frozen by an error, and be reset then.
    let (faults, reset_counts) = (seed % 3 == 0 || seed % 12 == 1, [0; 2]);
    let mut program =
        Program { random, params, longest, faults, aids, resets, reset_counts, modes, handles };
    let mut world = program.world(design);
    for node in [0, 1] {
        (0..10 * u32::from(bound)).for_each(|_| program.bind(&mut world, node));
    }
    for (node, mode) in world.nodes.iter_mut().zip(modes) {
        node.set(register::CONTROL, mode.into());
    }
    for act in 0..acts {
        if faults && act % 5 == 0 {
            let nth = world.now.0 / 12_800 + program.random.below(200);
            let lanes = params.lanes.max(2).into();
            let (to, lane) = (program.random.below(2), program.random.below(lanes));
            let fault = Fault { nth, bits: 1 << program.random.below(32) };
            world.fabric.inject(to as usize, lane as usize, fault);
        }
        if world.nodes[1].nic.model.is_frozen() && act % 7 == 0 {
            world.nodes[1].set(register::STATUS, 7);
        }
        program.act(&mut world);
    }
    let end = world.now + Duration::from_ns(20_000);
    world.run_until(end);
    for node in &mut world.nodes {
        node.nic.compare_memories();
    }
    let mut played = Played::default();
    for node in &world.nodes {
        let link = node.nic.model.link_counters();
        played.arrived += node.arrivals.len() as u64;
        played.errors += link.header_errors + link.payload_errors;
        played.errors += link.credit_errors + link.bond_errors;
        played.resets.add(&node.nic.resets.tally);
    }
    played
}
