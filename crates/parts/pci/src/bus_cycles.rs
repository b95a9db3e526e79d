//! The bus: arbiter, PCI cores of the devices, and one transaction at a time, a phase a cycle.

use crate::bridge::{Bridge, HostOp, HostRead, ReadValue};
use crate::config::ConfigSpace;
use crate::counters::Counters;
use crate::cycle::{parity, Agent, Command, Cycle, Ending, Phase};
use crate::device::{
    Completion, Device, DeviceIn, DeviceOut, Ended, Operation, Request, TargetRead, TargetWrite,
};
use crate::lanes;
use crate::memory::HostMemory;
use crate::params::{Bug, Params, Protocol, BLOCK, WORD};
use crate::transaction::{Kind, Step, Transaction};
use bus::Memory;

/// Slots of a bus.
const SLOTS: usize = 4;

/// Cycles of decoding after which there will be no answer.
const ABORT_CYCLES: u8 = 5;

/// A device's PCI core.
#[derive(Clone, Debug)]
struct Core {
    config: ConfigSpace,
    /// Conventional PCI: a read that the core requests until it has all data.
    delayed: Option<Request>,
    /// The last transaction requested the delayed read.
    asked: bool,
    /// The last word of a read, and whether its address has slipped at a disconnect (a bug, on request).
    last_word: u64,
    slipped: bool,
}

/// The devices' side of a cycle.
struct Ports {
    outs: [DeviceOut; SLOTS],
    ins: [DeviceIn; SLOTS],
}

/// A bus with its bridge and the PCI cores of its devices.
#[derive(Clone, Debug)]
pub struct Bus<M = Memory> {
    /// The host's side.
    pub bridge: Bridge<M>,
    params: Params,
    cores: Vec<Core>,
    now: u64,
    transaction: Option<Transaction>,
    /// Idle cycles since the last transaction, up to those of an arbitration.
    idle: u8,
    /// Agent that has been chosen, and idle cycles until it starts.
    granting: Option<(Agent, u8)>,
    /// Last master, for the round robin.
    last_master: Agent,
    /// The bridge's last transaction was a completion.
    completed: bool,
    /// A cycle in which a bit of AD is turned on its way.
    flip: Option<(u64, u8)>,
    counters: Counters,
}

impl<M: HostMemory> Bus<M> {
    /// A bus in front of `memory`, with a PCI core for each of `spaces`.
    pub fn new(params: Params, memory: M, spaces: Vec<ConfigSpace>) -> Bus<M> {
        assert!(spaces.len() <= SLOTS, "a bus has {SLOTS} slots");
        assert!(params.arbitration_cycles > 0 && params.device_response_cycles > 0);
        assert!(params.bridge_response_cycles > 0 && matches!(params.width, 4 | 8));
        let phases = WORD / u64::from(params.width);
        assert!(params.burst_words == 0 || u64::from(params.burst_words) >= phases, "a whole word");
        let core =
            |config| Core { config, delayed: None, asked: false, last_word: 0, slipped: false };
        Bus {
            bridge: Bridge::new(params, memory),
            params,
            cores: spaces.into_iter().map(core).collect(),
            now: 0,
            transaction: None,
            idle: 0,
            granting: None,
            last_master: Agent::Bridge,
            completed: false,
            flip: None,
            counters: Counters::default(),
        }
    }

    /// Number of the next cycle.
    pub fn now(&self) -> u64 {
        self.now
    }
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }
    /// Use of the bus so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// Configuration space of a slot's device.
    pub fn config(&self, slot: usize) -> &ConfigSpace {
        &self.cores[slot].config
    }
    /// Turns bit `bit` of AD in `cycle`, after its parity was made: a fault of the wires.
    pub fn flip(&mut self, cycle: u64, bit: u8) {
        self.flip = Some((cycle, bit));
    }
    /// True if no transaction is in progress or requested by the bridge.
    pub fn is_quiet(&self) -> bool {
        self.transaction.is_none() && self.bridge.is_quiet() && self.bridge.splits.is_empty()
    }
    /// True if cycles change nothing but their count until the host posts something or a device wants
    /// something: also no posted word is in the bridge, and the arbiter is at rest.
    pub fn is_at_rest(&self) -> bool {
        self.is_still() && self.idle >= self.params.arbitration_cycles
    }
    /// The same, but that the arbiter counts on: as at power on.
    fn is_still(&self) -> bool {
        self.is_quiet() && self.granting.is_none() && self.bridge.posted_words() == 0
    }
    /// Lets `cycles` pass in which nothing moves.
    pub fn pass(&mut self, cycles: u64) {
        assert!(self.is_still(), "cycles are skipped only where nothing moves");
        let idle = cycles.saturating_add(self.idle.into());
        self.idle = idle.min(self.params.arbitration_cycles.into()) as u8;
        self.now += cycles;
        self.counters.cycles += cycles;
        self.counters.idle_cycles += cycles;
    }

    /// A cycle: looks at what the devices drive, moves the transaction by a phase, clocks the devices.
    pub fn clock<D: Device>(&mut self, devices: &mut [D]) -> Cycle {
        assert_eq!(devices.len(), self.cores.len(), "a device for each core");
        let mut ports =
            Ports { outs: [DeviceOut::default(); SLOTS], ins: [DeviceIn::default(); SLOTS] };
        let mut interrupt = false;
        for (slot, device) in devices.iter().enumerate() {
            ports.outs[slot] = device.outputs();
            interrupt |= self.cores[slot].config.interrupt(ports.outs[slot].interrupt);
        }
        self.bridge.set_interrupt(interrupt);
        let cycle = match self.transaction.take() {
            Some(transaction) => self.step(transaction, &mut ports),
            None => self.idle(&mut ports),
        };
        for (device, inputs) in devices.iter_mut().zip(&ports.ins) {
            device.clock(inputs);
        }
        self.bridge.clock(self.now);
        self.count(&cycle);
        self.now += 1;
        cycle
    }

    fn count(&mut self, cycle: &Cycle) {
        let counters = &mut self.counters;
        counters.cycles += 1;
        match cycle.phase {
            Phase::Idle => counters.idle_cycles += 1,
            Phase::Data { .. } => counters.data_cycles += 1,
            Phase::Address { command, .. } if command != Command::DualAddress => {
                counters.transactions += 1;
            }
            Phase::End(Ending::Retry) => counters.retries += 1,
            Phase::End(Ending::Split) => counters.splits += 1,
            Phase::End(Ending::MasterAbort) => counters.aborts += 1,
            _ => {}
        }
    }

    /// A cycle without a transaction, unless one begins.
    fn idle(&mut self, ports: &mut Ports) -> Cycle {
        let arbitration = self.params.arbitration_cycles;
        let parked = self.granting.is_none() && self.idle >= arbitration;
        if self.granting.is_none() {
            match self.choose(ports, parked) {
                Some(Agent::Bridge) if parked => return self.begin(Agent::Bridge, ports),
                chosen => self.granting = chosen.map(|agent| (agent, arbitration)),
            }
        }
        match self.granting {
            Some((agent, 0)) => {
                self.granting = None;
                return self.begin(agent, ports);
            }
            Some((agent, left)) => self.granting = Some((agent, left - 1)),
            None => {}
        }
        self.idle = arbitration.min(self.idle + 1);
        self.cycle(Phase::Idle, 0, 0)
    }

    /// Next agent in the round robin that wants the bus.
    fn choose(&self, ports: &Ports, parked: bool) -> Option<Agent> {
        let agents = 1 + self.cores.len();
        let last = match self.last_master {
            Agent::Bridge => 0,
            Agent::Device(slot) => 1 + usize::from(slot),
        };
        (1..=agents).map(|step| (last + step) % agents).find_map(|agent| {
            if agent == 0 {
                return self.bridge_wants(parked).then_some(Agent::Bridge);
            }
            let slot = agent - 1;
            self.device_wants(slot, ports).is_some().then_some(Agent::Device(slot as u8))
        })
    }

    /// Cycles from a completion's address phase to its data.
    fn completion_lead(&self) -> u64 {
        2 + u64::from(self.params.bridge_response_cycles)
    }
    fn bridge_wants(&self, parked: bool) -> bool {
        let wait = if parked { 0 } else { u64::from(self.params.arbitration_cycles) };
        let lead = self.completion_lead() + wait;
        self.bridge.host_head().is_some() || self.due(lead)
    }
    /// True if a completion that begins now or after arbitration has its data in time.
    fn due(&self, lead: u64) -> bool {
        self.bridge.splits_reads() && self.bridge.completion_due(self.now, lead).is_some()
    }
    /// The device's next transfer.
    fn device_wants(&self, slot: usize, ports: &Ports) -> Option<Request> {
        let core = &self.cores[slot];
        let request = ports.outs[slot].request.filter(|_| core.config.is_master());
        match core.delayed {
            None => request,
            // A write of the same device gets its turn between two attempts at the read.
            Some(read) => request
                .filter(|request| request.operation == Operation::Write && core.asked)
                .or(Some(read)),
        }
    }

    /// The address phase of a new transaction.
    fn begin(&mut self, master: Agent, ports: &mut Ports) -> Cycle {
        let transaction = match master {
            Agent::Bridge => self.begin_bridge(),
            Agent::Device(slot) => self.begin_device(slot, ports),
        };
        self.last_master = master;
        self.idle = 0;
        self.step(transaction, ports)
    }

    fn begin_bridge(&mut self) -> Transaction {
        let lead = self.completion_lead();
        let completion = self.due(lead) && !(self.completed && self.bridge.host_head().is_some());
        self.completed = completion;
        if completion {
            let read = *self.bridge.completion_due(self.now, lead).expect("it is due");
            let requester = Agent::Device(read.slot);
            let bytes = read.bytes_left;
            return Transaction {
                target: Some(requester),
                requester,
                tag: read.tag,
                ..new_transaction(Agent::Bridge, Kind::Completion, read.addr, bytes)
            };
        }
        let head = *self.bridge.host_head().expect("the bridge has wanted the bus for something");
        let width = u16::from(self.params.width);
        let (kind, addr, bytes, target) = match head {
            HostOp::Write { addr, .. } => {
                let bytes = width * self.bridge.burst_phases();
                (Kind::HostWrite, addr, bytes, self.decode(addr))
            }
            HostOp::Read { read: HostRead::Memory { addr, enables }, token } => {
                let skip = if width == 4 && enables & 0x0F == 0 { 4 } else { 0 };
                // A 32-bit bus moves one half of a word, or both.
                let half = width == 4 && (enables & 0x0F == 0 || enables & 0xF0 == 0);
                let bytes = if half { 4 } else { WORD as u16 };
                let kind = Kind::HostRead { enables, token };
                (kind, addr + skip, bytes, self.decode(addr))
            }
            HostOp::Read { read: HostRead::Config { slot, offset }, token } => {
                (Kind::ConfigRead { offset, token }, u64::from(offset & !3), 4, self.slot(slot))
            }
            HostOp::ConfigWrite { slot, offset, value, enables } => {
                let kind = Kind::ConfigWrite { offset, value, enables };
                (kind, u64::from(offset), 4, self.slot(slot))
            }
        };
        Transaction { target, ..new_transaction(Agent::Bridge, kind, addr, bytes) }
    }

    fn begin_device(&mut self, slot: u8, ports: &Ports) -> Transaction {
        let request = self.device_wants(usize::from(slot), ports);
        let request = request.expect("a device keeps its request until it is answered");
        let core = &mut self.cores[usize::from(slot)];
        core.asked = core.delayed == Some(request);
        let Request { addr, bytes, .. } = request;
        debug_assert!((1..=4096).contains(&bytes), "a transfer has 1 to 4096 bytes");
        // Memory is read and written in words.
        let words = lanes::words(addr, bytes);
        let memory = &self.bridge.memory;
        let target = memory.contains(addr & !(WORD - 1), usize::from(words) * WORD as usize);
        let kind = match request.operation {
            Operation::Read => Kind::DeviceRead { tag: request.tag },
            Operation::Write => Kind::DeviceWrite,
        };
        Transaction {
            target: target.then_some(Agent::Bridge),
            tag: request.tag,
            ..new_transaction(Agent::Device(slot), kind, addr, bytes)
        }
    }

    fn slot(&self, slot: u8) -> Option<Agent> {
        (usize::from(slot) < self.cores.len()).then_some(Agent::Device(slot))
    }
    fn decode(&self, addr: u64) -> Option<Agent> {
        let found = self.cores.iter().position(|core| core.config.decode(addr).is_some());
        found.map(|slot| Agent::Device(slot as u8))
    }

    /// A cycle on AD; parity is made before wires can spoil it.
    fn cycle(&self, phase: Phase, ad: u64, cbe: u8) -> Cycle {
        let parity = parity(ad, cbe);
        let flipped = self.flip.filter(|(cycle, _)| *cycle == self.now);
        let ad = flipped.map_or(ad, |(_, bit)| ad ^ 1 << bit);
        Cycle { number: self.now, grant: self.granted(), phase, ad, cbe, parity }
    }
    /// Agent that may start: the arbiter's choice, or the bridge.
    fn granted(&self) -> Agent {
        self.granting.map_or(Agent::Bridge, |(agent, _)| agent)
    }

    /// Moves a transaction by a cycle.
    fn step(&mut self, mut t: Transaction, ports: &mut Ports) -> Cycle {
        let pcix = self.params.protocol == Protocol::Pcix;
        let cycle = match t.step {
            Step::DualAddress => {
                t.step = Step::Address;
                let phase = Phase::Address { master: t.master, command: Command::DualAddress };
                self.cycle(phase, t.addr & 0xFFFF_FFFF, Command::DualAddress.code())
            }
            Step::Address => {
                let decode = Step::Response(self.response_cycles(&t));
                t.step = if pcix { Step::Attribute } else { decode };
                let command = t.command();
                // Conventional PCI tells the first byte by its enables; the lowest bits request a burst.
                let addr = if pcix { t.addr } else { t.addr & !3 };
                self.cycle(Phase::Address { master: t.master, command }, addr, command.code())
            }
            Step::Attribute => {
                t.step = Step::Response(self.response_cycles(&t));
                let (requester, tag, bytes) = (t.requester, t.tag, t.bytes);
                let ad = u64::from(bytes) | u64::from(tag) << 24;
                self.cycle(Phase::Attribute { requester, tag, bytes }, ad, 0)
            }
            Step::Response(left) => self.respond(&mut t, left, ports),
            Step::End(ending) => {
                t.step = Step::TurnAround;
                self.cycle(Phase::End(ending), 0, 0)
            }
            Step::Data => self.data(&mut t, ports),
            Step::TurnAround => {
                self.ignore_stop(&t, ports);
                return self.cycle(Phase::TurnAround, 0, 0);
            }
        };
        self.transaction = Some(t);
        cycle
    }

    fn response_cycles(&self, t: &Transaction) -> u8 {
        match (t.target, t.kind) {
            (None, _) => ABORT_CYCLES,
            (Some(Agent::Bridge), _) | (_, Kind::Completion) => self.params.bridge_response_cycles,
            (Some(Agent::Device(_)), _) => self.params.device_response_cycles,
        }
    }

    /// Decoding; with its last cycle the target has chosen how it answers.
    fn respond(&mut self, t: &mut Transaction, left: u8, ports: &mut Ports) -> Cycle {
        if left > 1 {
            t.step = Step::Response(left - 1);
            return self.cycle(Phase::Response { target: None }, 0, 0);
        }
        let cycle = self.cycle(Phase::Response { target: t.target }, 0, 0);
        t.step = self.answer(t, ports);
        if let Step::End(Ending::MasterAbort) = t.step {
            self.abort(t, ports);
        }
        cycle
    }

    /// Next step after the decoding: data, or an end without data.
    fn answer(&mut self, t: &mut Transaction, ports: &mut Ports) -> Step {
        let Some(target) = t.target else { return Step::End(Ending::MasterAbort) };
        if let (Agent::Device(slot), Kind::HostRead { enables, .. }) = (target, t.kind) {
            let core = &self.cores[usize::from(slot)];
            let offset = core.config.decode(t.addr & !(WORD - 1));
            let read = offset.map(|offset| TargetRead { offset, enables });
            ports.ins[usize::from(slot)].read = read;
        }
        let retry = match (t.kind, t.master) {
            (Kind::HostWrite, _) => match target {
                Agent::Device(slot) => ports.outs[usize::from(slot)].busy,
                Agent::Bridge => false,
            },
            (Kind::DeviceWrite, _) => !self.bridge.takes_block(),
            (Kind::DeviceRead { tag }, Agent::Device(slot)) => {
                return self.answer_read(t, slot, tag, ports);
            }
            _ => false,
        };
        if retry {
            Step::End(Ending::Retry)
        } else {
            Step::Data
        }
    }

    fn answer_read(&mut self, t: &mut Transaction, slot: u8, tag: u8, ports: &mut Ports) -> Step {
        if self.params.protocol == Protocol::Pcix {
            // The response without data comes in the next cycle.
            if self.bridge.open_read(slot, tag, t.addr, t.bytes, self.now + 1) {
                ports.ins[usize::from(slot)].accepted = true;
                return Step::End(Ending::Split);
            }
            return Step::End(Ending::Retry);
        }
        let core = &mut self.cores[usize::from(slot)];
        if core.delayed.is_none() {
            if self.bridge.open_read(slot, tag, t.addr, t.bytes, self.now + 1) {
                ports.ins[usize::from(slot)].accepted = true;
                let (operation, addr, bytes) = (Operation::Read, t.addr, t.bytes);
                core.delayed = Some(Request { operation, addr, bytes, tag });
                core.asked = true;
            }
            return Step::End(Ending::Retry);
        }
        match self.bridge.delayed(slot, self.now + 1) {
            Some(place) => {
                t.place = place;
                Step::Data
            }
            None => Step::End(Ending::Retry),
        }
    }

    /// Ends a transaction whose address nobody has claimed: reads are all ones, writes are lost, and the
    /// master knows.
    fn abort(&mut self, t: &Transaction, ports: &mut Ports) {
        match (t.master, t.kind) {
            (Agent::Device(slot), _) => {
                let slot = usize::from(slot);
                ports.ins[slot].ended = Some(Ended { words: 0, aborted: true });
                self.cores[slot].config.master_abort();
            }
            (_, Kind::HostRead { token, .. } | Kind::ConfigRead { token, .. }) => {
                self.bridge.pop_host();
                self.bridge.push_answer(ReadValue { token, data: u64::MAX, aborted: true });
            }
            (_, Kind::HostWrite) => {
                self.bridge.pop_host();
                while let Some(HostOp::Write { joined: true, .. }) = self.bridge.host_head() {
                    self.bridge.pop_host();
                }
            }
            _ => {
                self.bridge.pop_host();
            }
        }
    }
}

#[path = "data_phases.rs"]
mod data_phases;

fn new_transaction(master: Agent, kind: Kind, addr: u64, bytes: u16) -> Transaction {
    let far = addr >> 32 != 0 && kind != Kind::Completion;
    Transaction {
        master,
        target: None,
        kind,
        addr,
        bytes,
        left: bytes,
        requester: master,
        tag: 0,
        step: if far { Step::DualAddress } else { Step::Address },
        phases: 0,
        words: 0,
        place: 0,
        half: None,
        ignores_stop: false,
    }
}
