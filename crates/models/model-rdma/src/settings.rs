//! Parameters of the model, and what its parts make of them.

use super::bugs::Bugs;
use super::rows::{Bus, Card, Console, Crossbar, Lanes, Library, Topology};
use super::storage::{Disks, UnfitDisks};
use des::{Clock, Duration};
use machine::parameters::hosts::Pins;
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

/// Parameters that do not fit together, or not to ranks, program or faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfit {
    #[error("{ranks} ranks need {nodes} nodes, but {ends} for {most} only")]
    Nodes { ranks: u32, nodes: u32, ends: &'static str, most: u32 },
    #[error("nic.bindings: programs that use verbs have physical addresses only; set it to 0")]
    BindingsOfVerbs,
    #[error(
        "nic.bindings: {has} are too few, as {nodes} nodes that send {bytes} bytes to one another \
         need {needs} each, one for a page of 4 KB (512 are the most); 0 does without handles"
    )]
    Bindings { has: u16, needs: u64, nodes: u32, bytes: u64 },
    #[error(
        "lanes.bonded=4 is for a link (lanes.topology); the crossbar has a lane each way to each \
         node"
    )]
    Bonded,
    #[error("--fault bug.* is planted in the models of card and crossbar; leave out --rtl")]
    BugsOfRtl,
    #[error("pcix.width is 4 B or 8 B")]
    BusWidth,
    #[error("pcix.split_page is less than pcix.split_word")]
    Split,
    #[error("{key}: a FIFO of {words} words is none; it takes a power of two")]
    Fifo { key: &'static str, words: u16 },
    #[error(
        "a message of 4 KB is taken to need {bytes} B of buffer (nic.rx_fifo, nic.estimate), and \
         would never be sent"
    )]
    Buffer { bytes: u32 },
    #[error(transparent)]
    Disks(#[from] UnfitDisks),
}

impl Settings {
    pub fn of(p: &Parameters, nodes: u32) -> Result<Settings, Unfit> {
        let (own, lanes_of) = (Card::of(p), Lanes::of(p));
        let words = |bytes: u32| (bytes / WORD) as u16;
        let crossed = lanes_of.topology == Topology::Crossbar;
        let four = lanes_of.bonded == 4;
        if four && crossed {
            return Err(Unfit::Bonded);
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
        settings.fits()?;
        Ok(settings)
    }

    /// Plants what was asked for.
    pub fn set_bugs(&mut self, bugs: Bugs, rtl: bool) -> Result<(), Unfit> {
        if rtl && !bugs.is_none() {
            return Err(Unfit::BugsOfRtl);
        }
        if let Some(crossbar) = &mut self.crossbar {
            crossbar.miscounts = bugs.miscounts();
        }
        self.bugs = bugs;
        Ok(())
    }

    fn fits(&self) -> Result<(), Unfit> {
        if !matches!(self.bus.width, 4 | 8) {
            return Err(Unfit::BusWidth);
        }
        if self.bus.split.page_cycles < self.bus.split.word_cycles {
            return Err(Unfit::Split);
        }
        power_of_two(Card::tx_fifo, self.nic.tx_words)?;
        if let Some(crossbar) = self.crossbar {
            power_of_two(Crossbar::point, crossbar.point_words)?;
        }
        let needed = self.nic.needed(abi::forth::WORDS_MAX as u16);
        if self.nic.peer_words.min(self.nic.rx_words) < needed {
            return Err(Unfit::Buffer { bytes: u32::from(needed) * WORD });
        }
        Ok(self.disks.fit()?)
    }

    /// The card of node `nid`.
    pub fn nic(&self, nid: u32) -> forth_nic::Params {
        forth_nic::Params { source: nid as u8, bug: self.bugs.nic(nid), ..self.nic }
    }
    /// The bus of node `nid`.
    pub fn bus(&self, nid: u32) -> pci::Params {
        pci::Params { bug: self.bugs.bus(nid), ..self.bus }
    }
    /// The process at the other end of the lanes of node `nid`: the crossbar, or the other node.
    pub fn peer(&self, nid: u32) -> u32 {
        if self.crossbar.is_some() {
            self.nodes
        } else {
            1 - nid
        }
    }
    /// A lane of the card of node `nid`.
    pub fn card_lane(&self, nid: u32, lane: u8) -> ChannelParams {
        self.bugs.lane(nid, lane, self.lane(nid, lane))
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

fn power_of_two(key: &'static str, words: u16) -> Result<(), Unfit> {
    if words.is_power_of_two() {
        Ok(())
    } else {
        Err(Unfit::Fifo { key, words })
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
    Costs { post, reclaim, doorbell, pin: Pins::of(p).pin_page, handles, notify }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_one_sentence() {
        for (unfit, sentence) in [
            (
                Unfit::Nodes { ranks: 9, nodes: 9, ends: "the crossbar has ports", most: 8 },
                "9 ranks need 9 nodes, but the crossbar has ports for 8 only",
            ),
            (
                Unfit::BindingsOfVerbs,
                "nic.bindings: programs that use verbs have physical addresses only; set it to 0",
            ),
            (
                Unfit::Bindings { has: 4, needs: 12, nodes: 2, bytes: 40960 },
                "nic.bindings: 4 are too few, as 2 nodes that send 40960 bytes to one another need \
                 12 each, one for a page of 4 KB (512 are the most); 0 does without handles",
            ),
            (
                Unfit::Bonded,
                "lanes.bonded=4 is for a link (lanes.topology); the crossbar has a lane each way \
                 to each node",
            ),
            (
                Unfit::BugsOfRtl,
                "--fault bug.* is planted in the models of card and crossbar; leave out --rtl",
            ),
            (Unfit::BusWidth, "pcix.width is 4 B or 8 B"),
            (Unfit::Split, "pcix.split_page is less than pcix.split_word"),
            (
                Unfit::Fifo { key: Card::tx_fifo, words: 12 },
                "nic.tx_fifo: a FIFO of 12 words is none; it takes a power of two",
            ),
            (
                Unfit::Buffer { bytes: 4128 },
                "a message of 4 KB is taken to need 4128 B of buffer (nic.rx_fifo, nic.estimate), \
                 and would never be sent",
            ),
            (
                UnfitDisks::Sectors.into(),
                "block.request, block.merge and block.read_ahead are whole sectors of 512 bytes",
            ),
            (
                UnfitDisks::PowerCut.into(),
                "disk.power_cut is of drives: memory keeps everything; set disk.kind=drives",
            ),
            (
                UnfitDisks::Tracks.into(),
                "a seek over more tracks takes longer (disk.seek_*), and inner tracks are shorter \
                 (disk.inner, disk.outer)",
            ),
        ] {
            assert_eq!(unfit.to_string(), sentence);
        }
    }
}
