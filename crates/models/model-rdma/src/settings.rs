//! Parameters of the model, and what its parts make of them.

use super::bugs::Bugs;
use super::storage::Disks;
use des::{Clock, Duration};
use forth_nic::Estimate;
use machine::parameters::schema::{bytes, choice, count, cycles, frequency, rate, switch, time};
use machine::parameters::{Parameters, Row};
use rank::Network;
use serial::{lane_bytes, ChannelParams};
use std::sync::Arc;

/// Parameters of machines of this model.
pub(crate) const ROWS: &[Row] = &[
    choice("pcix.protocol", &["pcix", "pci"]),
    frequency("pcix.clock", "1 MHz", "1 GHz"),
    bytes("pcix.width", "4 B", "8 B"),
    cycles("pcix.arbitration", "1 cycles", "64 cycles"),
    cycles("pcix.target_overhead", "1 cycles", "64 cycles"),
    cycles("pcix.split_word", "4 cycles", "1000 cycles"),
    cycles("pcix.split_page", "4 cycles", "1000 cycles"),
    count("pcix.splits", "1", "16"),
    count("pcix.host_queue", "16", "1024"),
    count("pcix.posted_words", "16", "1024"),
    switch("pcix.combining"),
    count("nic.queue", "8", "128"),
    bytes("nic.tx_fifo", "4096 B", "65536 B"),
    bytes("nic.rx_fifo", "4120 B", "65536 B"),
    count("nic.reads", "1", "8"),
    count("nic.bindings", "0", "512"),
    choice("nic.estimate", &["fine", "conservative"]),
    bytes("nic.round_trip", "0 B", "8192 B"),
    bytes("nic.credit", "8 B", "4096 B"),
    frequency("lanes.clock", "1 MHz", "1 GHz"),
    count("lanes.drift", "0", "100"),
    time("lanes.delay", "50 ns", "1 ms"),
    count("lanes.fill", "2", "8"),
    count("lanes.depth", "10", "64"),
    choice("lanes.topology", &["link", "crossbar"]),
    choice("lanes.bonded", &["2", "4"]),
    switch("nic.rtl"),
    switch("switch.rtl"),
    bytes("crossbar.point", "8192 B", "65536 B"),
    bytes("crossbar.credit", "8 B", "4096 B"),
    frequency("console.clock", "1 MHz", "1 GHz"),
    count("console.baud", "300", "100000000"),
    time("rdma.post", "0 ns", "1 ms"),
    time("rdma.reclaim", "0 ns", "1 ms"),
    time("rdma.doorbell", "0 ns", "1 ms"),
    count("rdma.handles", "8", "256"),
    count("rdma.notify", "1", "64"),
    switch("rdma.second_look"),
    choice("block.protocol", &["flags", "tails"]),
    bytes("block.request", "512 B", "32768 B"),
    bytes("block.merge", "512 B", "32768 B"),
    bytes("block.read_ahead", "0 B", "4194304 B"),
    time("block.timeout", "1 us", "1000 ms"),
    time("block.resend", "1 ms", "1000 ms"),
    count("block.retries", "1", "100"),
    switch("block.stop"),
    switch("block.sums"),
    rate("block.sum_rate", "1 MB/s", "100 GB/s"),
    time("block.submit", "0 ns", "1000 ms"),
    time("block.complete", "0 ns", "1000 ms"),
    time("block.serve", "0 ns", "1000 ms"),
    choice("disk.kind", &["memory", "drives"]),
    bytes("disk.capacity", "1048576 B", "1000000000000 B"),
    count("disk.heads", "1", "16"),
    count("disk.outer", "64", "10000"),
    count("disk.inner", "64", "10000"),
    count("disk.rpm", "1000", "100000"),
    time("disk.seek_track", "0 ns", "1000 ms"),
    time("disk.seek_average", "0 ns", "1000 ms"),
    time("disk.seek_full", "0 ns", "1000 ms"),
    time("disk.write_settle", "0 ns", "1000 ms"),
    time("disk.switch", "0 ns", "1000 ms"),
    time("disk.overhead", "0 ns", "1000 ms"),
    rate("disk.interface", "1 MB/s", "10 GB/s"),
    bytes("disk.cache", "1048576 B", "1073741824 B"),
    count("disk.segments", "1", "64"),
    time("disk.power_cut", "0 ns", "1000000 ms"),
];

/// Most nodes: the ports of the crossbar.
pub(super) const NODES_MAX: u32 = crossbar::PORTS_MAX as u32;

/// Bytes of a word.
const WORD: u16 = 8;

/// A machine, without its hosts.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub nodes: u32,
    pub bus: pci::Params,
    pub combining: bool,
    /// Those of node 0.
    nic: forth_nic::Params,
    /// Edges a second: four lanes take two bytes at each edge of twice the clock.
    pub lanes_hz: u64,
    drift_ppm: u64,
    lane: ChannelParams,
    /// There is a crossbar, a lane each way to each node; otherwise a link of bonded lanes between two nodes.
    pub crossbar: Option<crossbar::Params>,
    /// Clock of the processor that watches it, and bits a second of its serial line.
    pub console: (Clock, u64),
    pub costs: Costs,
    /// Block layers and disks of the workloads `disk`.
    pub disks: Disks,
    /// Network over which initiator and target of the disk associate.
    pub network: Arc<Network>,
    /// The handler looks at the doorbells again, once it has enabled the interrupt.
    pub second_look: bool,
    /// Bugs of cards and driver, on request.
    pub bugs: Bugs,
}

/// Costs and limits of the host library and the kernel module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// A descriptor made.
    pub post: Duration,
    /// A look at the word of notifications, with the handles that it frees.
    pub reclaim: Duration,
    /// The kernel's look at one sender's doorbell.
    pub doorbell: Duration,
    /// A page pinned.
    pub pin: Duration,
    /// Transfers under way at most.
    pub handles: u64,
    /// Every so many descriptors one asks for a notification.
    pub notify: u64,
}

impl Settings {
    /// The error is a sentence about the parameters.
    pub fn of(p: &Parameters, nodes: u32) -> Result<Settings, String> {
        let words = |key: &str| p.number::<u16>(key) / WORD;
        let crossed = p.choice("lanes.topology") == "crossbar";
        let four = p.choice("lanes.bonded") == "4";
        if four && crossed {
            return Err("lanes.bonded=4 is for a link (lanes.topology); \
                        the crossbar has a lane each way to each node"
                .into());
        }
        let lanes = match (crossed, four) {
            (true, _) => 1,
            (_, true) => 4,
            _ => 2,
        };
        let credit_words = words("crossbar.credit");
        let crossbar = crossed.then(|| crossbar::Params {
            ports: nodes.max(2) as usize,
            point_words: words("crossbar.point"),
            card_words: words("nic.rx_fifo"),
            urgent_words: credit_words,
            miscounts: None,
        });
        let nic = forth_nic::Params {
            source: 0,
            queue_depth: p.number("nic.queue"),
            tx_words: words("nic.tx_fifo"),
            rx_words: words("nic.rx_fifo"),
            peer_words: crossbar.map_or(words("nic.rx_fifo"), |crossbar| crossbar.point_words),
            reads_max: p.number("nic.reads"),
            bindings: p.number("nic.bindings"),
            lanes,
            estimate: match p.choice("nic.estimate") {
                "conservative" => Estimate::Conservative,
                _ => Estimate::Fine,
            },
            round_trip_words: words("nic.round_trip"),
            credit_words: words("nic.credit"),
            bug: None,
        };
        let settings = Settings {
            nodes,
            bus: bus(p),
            combining: p.switch("pcix.combining"),
            nic,
            lanes_hz: p.clock("lanes.clock").hz() * if four { 2 } else { 1 },
            drift_ppm: p.number("lanes.drift"),
            lane: ChannelParams {
                latency: p.duration("lanes.delay"),
                lanes,
                shift: 0,
                fill: p.number("lanes.fill"),
                depth: p.number("lanes.depth"),
                correction: true,
                bug: None,
            },
            crossbar,
            console: (p.clock("console.clock"), p.number("console.baud")),
            costs: costs(p),
            disks: Disks::of(p),
            network: Arc::default(),
            second_look: p.switch("rdma.second_look"),
            bugs: Bugs::default(),
        };
        settings.usage_error().map_or(Ok(settings), Err)
    }

    /// Plants what was asked for. The error is a sentence.
    pub fn set_bugs(&mut self, bugs: Bugs, rtl: bool) -> Result<(), String> {
        if rtl && !bugs.is_none() {
            let why =
                "--fault bug.* is planted in the models of card and crossbar; leave out --rtl";
            return Err(why.into());
        }
        if let Some(crossbar) = &mut self.crossbar {
            crossbar.miscounts = bugs.miscounts();
        }
        self.bugs = bugs;
        Ok(())
    }

    fn usage_error(&self) -> Option<String> {
        let power = |key: &str, words: u16| {
            let why = format!("{key}: a FIFO of {words} words is none; it takes a power of two");
            (!words.is_power_of_two()).then_some(why)
        };
        let width = !matches!(self.bus.width, 4 | 8);
        let width = width.then(|| "pcix.width is 4 B or 8 B".to_string());
        let split = self.bus.split.page_cycles < self.bus.split.word_cycles;
        let split = split.then(|| "pcix.split_page is less than pcix.split_word".to_string());
        let needed = self.nic.needed(abi::forth::WORDS_MAX as u16);
        let small = self.nic.peer_words.min(self.nic.rx_words) < needed;
        let small = small.then(|| {
            format!(
                "a message of 4 KB is taken to need {} B of buffer (nic.rx_fifo, nic.estimate), \
                     and would never be sent",
                needed * WORD
            )
        });
        let point =
            self.crossbar.and_then(|crossbar| power("crossbar.point", crossbar.point_words));
        let fifo = power("nic.tx_fifo", self.nic.tx_words);
        width.or(split).or(fifo).or(point).or(small).or(self.disks.usage_error())
    }

    /// The card of node `nid`.
    pub fn nic(&self, nid: u32) -> forth_nic::Params {
        forth_nic::Params { source: nid as u8, bug: self.bugs.nic(nid), ..self.nic }
    }
    /// The bus of node `nid`.
    pub fn bus(&self, nid: u32) -> pci::Params {
        pci::Params { bug: self.bugs.bus(nid), ..self.bus }
    }
    /// A lane of the card of node `nid`.
    pub fn card_lane(&self, nid: u32, lane: u8) -> ChannelParams {
        self.bugs.lane(nid, (lane, self.nic.lanes), self.lane(nid, lane))
    }
    /// Pages that handles can be bound to; 0: destinations are physical addresses.
    pub fn bindings(&self) -> u16 {
        self.nic.bindings
    }
    /// Words of buffer that a flow has at the other end of the lanes.
    pub fn flow_words(&self) -> u16 {
        self.nic.peer_words
    }
    /// Clock of the lanes of node `nid`: neighbours' crystals differ by twice the drift.
    pub fn lanes_clock(&self, nid: u32) -> Clock {
        let drift = self.lanes_hz / 1_000_000 * self.drift_ppm;
        Clock::from_hz(if nid % 2 == 0 { self.lanes_hz + drift } else { self.lanes_hz - drift })
    }
    /// Lane `lane` of a receiver, whose number says where it locks on.
    pub fn lane(&self, receiver: u32, lane: u8) -> ChannelParams {
        let bytes = u32::from(lane_bytes(self.nic.lanes));
        ChannelParams { shift: ((receiver + u32::from(lane)) % bytes) as u8, ..self.lane }
    }
    /// From a transmitter to the elastic buffer behind it.
    pub fn latency(&self) -> Duration {
        self.lane.latency
    }
    /// Idle symbols after which a transmitter need not tell of more: no elastic buffer holds as many.
    pub fn idle_run(&self) -> u32 {
        self.bugs.depth_max(&self.lane) as u32 + 1
    }
}

fn bus(p: &Parameters) -> pci::Params {
    pci::Params {
        protocol: match p.choice("pcix.protocol") {
            "pci" => pci::Protocol::Pci,
            _ => pci::Protocol::Pcix,
        },
        width: p.number("pcix.width"),
        hertz: p.clock("pcix.clock").hz(),
        arbitration_cycles: p.number("pcix.arbitration"),
        device_response_cycles: p.number("pcix.target_overhead"),
        bridge_response_cycles: 1,
        split: pci::Split {
            word_cycles: p.number("pcix.split_word"),
            page_cycles: p.number("pcix.split_page"),
        },
        splits_max: p.number("pcix.splits"),
        completion_blocks: 0,
        burst_words: if p.choice("pcix.protocol") == "pci" { 64 } else { 0 },
        host_queue: p.number("pcix.host_queue"),
        posted_words: p.number("pcix.posted_words"),
        bug: None,
    }
}

fn costs(p: &Parameters) -> Costs {
    Costs {
        post: p.duration("rdma.post"),
        reclaim: p.duration("rdma.reclaim"),
        doorbell: p.duration("rdma.doorbell"),
        pin: p.duration("linux.pin_page"),
        handles: p.number("rdma.handles"),
        notify: p.number("rdma.notify"),
    }
}
