//! Parameters of the model, and what its parts make of them.

use super::bugs::Bugs;
use super::rows::{Bus, Card, Console, Crossbar, Lanes, Library, Topology};
use super::storage::Disks;
use des::{Clock, Duration};
use machine::parameters::hosts::Linux;
use machine::parameters::Parameters;
use rank::Network;
use serial::{lane_bytes, ChannelParams};
use std::sync::Arc;

/// Most nodes: the ports of the crossbar.
pub(super) const NODES_MAX: u32 = crossbar::PORTS_MAX as u32;

/// Bytes of a word.
const WORD: u32 = 8;

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
    pub console: Console,
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
        let (own, lanes_of) = (Card::of(p), Lanes::of(p));
        let words = |bytes: u32| (bytes / WORD) as u16;
        let crossed = lanes_of.topology == Topology::Crossbar;
        let four = lanes_of.bonded == 4;
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
        let Crossbar { point, credit } = Crossbar::of(p);
        let crossbar = crossed.then(|| crossbar::Params {
            ports: nodes.max(2) as usize,
            point_words: words(point),
            card_words: words(own.rx_fifo),
            urgent_words: words(credit),
            miscounts: None,
        });
        let nic = forth_nic::Params {
            source: 0,
            queue_depth: own.queue,
            tx_words: words(own.tx_fifo),
            rx_words: words(own.rx_fifo),
            peer_words: crossbar.map_or(words(own.rx_fifo), |crossbar| crossbar.point_words),
            reads_max: own.reads,
            bindings: own.bindings,
            lanes,
            estimate: own.estimate,
            round_trip_words: words(own.round_trip),
            credit_words: words(own.credit),
            bug: None,
        };
        let settings = Settings {
            nodes,
            bus: bus(&Bus::of(p)),
            combining: Bus::of(p).combining,
            nic,
            lanes_hz: lanes_of.clock.hz() * if four { 2 } else { 1 },
            drift_ppm: lanes_of.drift,
            lane: ChannelParams {
                latency: lanes_of.delay,
                lanes,
                shift: 0,
                fill: lanes_of.fill,
                depth: lanes_of.depth,
                correction: true,
                bug: None,
            },
            crossbar,
            console: Console::of(p),
            costs: costs(p),
            disks: Disks::of(p),
            network: Arc::default(),
            second_look: Library::of(p).second_look,
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
                u32::from(needed) * WORD
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

fn bus(own: &Bus) -> pci::Params {
    pci::Params {
        protocol: own.protocol,
        width: own.width,
        hertz: own.clock.hz(),
        arbitration_cycles: own.arbitration,
        device_response_cycles: own.target_overhead,
        bridge_response_cycles: 1,
        split: pci::Split { word_cycles: own.split_word, page_cycles: own.split_page },
        splits_max: own.splits,
        completion_blocks: 0,
        burst_words: if own.protocol == pci::Protocol::Pci { 64 } else { 0 },
        host_queue: own.host_queue,
        posted_words: own.posted_words,
        bug: None,
    }
}

fn costs(p: &Parameters) -> Costs {
    let Library { post, reclaim, doorbell, handles, notify, .. } = Library::of(p);
    Costs { post, reclaim, doorbell, pin: Linux::of(p).pin_page, handles, notify }
}
