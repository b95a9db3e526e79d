//! The NIC: two halves in two clocks, and what crosses between them.

use crate::aids::{Aids, Transceiver, Wanted};
use crate::fifo::Fifo;
use crate::host_side::{HostCounters, HostSide};
use crate::link_side::{LinkCounters, LinkSide};
use crate::packet::{Entry, Header};
use crate::params::Params;
use crate::sync::Sync;
use pci::{Device, DeviceIn, DeviceOut, TargetRead};
use serial::{LinkTx, Symbols, Word};

/// Messages, limits and freed words that can cross at a time (assumed).
const SMALL_FIFO: usize = 8;

/// Signals that cross between the clocks.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    /// Words of messages, and the messages whose words are all there.
    pub tx_data: Fifo<u64>,
    pub tx_messages: Fifo<Header>,
    /// Packets that arrive.
    pub rx: Fifo<Entry>,
    /// Words that have left `rx`, by flow.
    pub freed: Fifo<(u8, u16)>,
    /// Limits of flows, at start-up.
    pub limits: Fifo<(u8, u16)>,
    /// Levels from the bus's half to the lanes', and the levels as that sees them.
    pub levels: Levels,
    pub levels_seen: Sync<Levels>,
    /// The lanes' half has found an error that freezes the card; it stays until it is frozen.
    pub stop: bool,
    pub stop_seen: Sync<bool>,
    /// The counters of the lanes' half as the bus's sees them; each crosses in Gray code.
    pub counters_seen: Sync<LinkCounters>,
}

/// Bits that change rarely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Levels {
    pub loop_back: bool,
    pub freeze: bool,
    pub frozen: bool,
    /// Packets carry the counts of flow control in their payload.
    pub credits_in_payload: bool,
    pub aids: Wanted,
}

/// The end of a reset of the lanes' half, as `rtl/rdma/rdma_reset.sv`: the flip-flop that clears it falls
/// with the next edge of the bus, and the half goes on two of its own edges later.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    clears: bool,
    /// Edges of the lanes' clock that it still lasts.
    edges: u8,
}

impl Held {
    const BEGINS: Held = Held { clears: true, edges: 2 };
    fn lasts(&self) -> bool {
        self.edges > 0
    }
    fn bus_edge(&mut self) {
        self.clears = false;
    }
    fn lanes_edge(&mut self) {
        self.edges -= u8::from(!self.clears && self.lasts());
    }
}

/// A packet that has been written to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Header of the packet.
    pub header: Header,
    /// False if its payload's CRC was wrong: then no interrupt comes of it.
    pub good: bool,
}

/// The NIC.
#[derive(Clone, Debug)]
pub struct Nic {
    host: HostSide,
    link: LinkSide,
    crossing: Crossing,
    params: Params,
    aids: Aids,
    held: Held,
}

impl Nic {
    /// A NIC after reset.
    pub fn new(params: Params) -> Nic {
        let rx_depth = usize::from(params.rx_words).next_power_of_two();
        Nic {
            host: HostSide::new(params),
            link: LinkSide::new(params),
            crossing: Crossing {
                tx_data: Fifo::new(usize::from(params.tx_words)),
                tx_messages: Fifo::new(SMALL_FIFO),
                rx: Fifo::new(rx_depth),
                freed: Fifo::new(SMALL_FIFO),
                limits: Fifo::new(SMALL_FIFO),
                levels: Levels::default(),
                levels_seen: Sync::default(),
                stop: false,
                stop_seen: Sync::default(),
                counters_seen: Sync::default(),
            },
            params,
            aids: Aids::default(),
            held: Held::default(),
        }
    }

    /// A reset, by which a host that is started again begins: everything but the tracing memories. What
    /// is on the lanes is lost. Reads that are open are the bus's: their words come, and tags go on.
    fn reset(&mut self) {
        let aids = std::mem::take(&mut self.aids).after_reset();
        let host = self.host.after_reset();
        *self = Nic { host, aids, held: Held::BEGINS, ..Nic::new(self.params) };
    }

    /// Sets the counts of the transceiver of lane `lane`.
    pub fn set_transceiver(&mut self, lane: usize, status: Transceiver) {
        self.aids.transceivers[lane] = status;
    }
    /// Edges of the bus's clock, or of the lanes', were left out, in which nothing moved.
    pub fn pass(&mut self, lanes: bool, edges: u64) {
        self.aids.pass(lanes, edges);
    }

    /// The edge of the lanes' clock: what the transceivers give in, what they are given out.
    pub fn link_clock(&mut self, symbols: Symbols) -> Symbols {
        if self.held.lasts() {
            self.held.lanes_edge();
            return LinkTx::new(self.params.lanes).clock(Word::Idle);
        }
        if !self.link.is_ready() {
            self.link.busy_edges(&mut self.crossing);
        }
        let sent = self.link.clock(symbols, &mut self.crossing, &mut self.aids);
        self.crossing.levels_seen.edge(self.crossing.levels);
        sent
    }

    /// The word that came over the lanes with their last edge, halves paired: what an observer sees.
    pub fn word(&self) -> Option<Word> {
        self.link.word()
    }
    /// The packet whose last word went to memory with the last edge of the bus.
    pub fn arrival(&self) -> Option<Arrival> {
        self.host.arrival()
    }
    /// Counters of the bus's half.
    pub fn host_counters(&self) -> &HostCounters {
        self.host.counters()
    }
    /// Counters of the lanes' half.
    pub fn link_counters(&self) -> LinkCounters {
        self.link.counters()
    }
    /// Words of a flow that are sent and not known to have left the receiver's buffer.
    pub fn outstanding(&self, flow: u8) -> u16 {
        self.link.outstanding(flow)
    }
    /// True if a wrong CRC, or a transfer to memory that does not exist, has stopped it.
    pub fn is_frozen(&self) -> bool {
        self.crossing.levels.frozen
    }
    /// True if a reset clears the lanes' half, whatever comes over them.
    pub fn lanes_are_held(&self) -> bool {
        self.held.lasts()
    }
    /// True if edges of the bus change nothing in it until the host, the bus or the lanes give it something.
    pub fn bus_rests(&self) -> bool {
        let c = &self.crossing;
        let out = c.tx_data.is_settled_at_writer() && c.tx_messages.is_settled_at_writer();
        let told = c.freed.is_settled_at_writer() && c.limits.is_settled_at_writer();
        let stop = c.stop_seen.is_settled(c.stop);
        out && told
            && stop
            && !self.held.clears
            && c.rx.is_settled_at_reader()
            && self.host.is_quiet()
    }
    /// True if edges of the lanes' clock change nothing in it until the other half, or a symbol that is not
    /// idle, gives it something.
    pub fn lanes_rest(&self) -> bool {
        let c = &self.crossing;
        let out = c.tx_data.is_settled_at_reader() && c.tx_messages.is_settled_at_reader();
        let told = c.freed.is_settled_at_reader() && c.limits.is_settled_at_reader();
        let levels = c.levels_seen.is_settled(c.levels);
        let link = self.link.is_quiet() && self.link.is_empty() && !self.aids.sampler.runs();
        out && told && levels && c.rx.is_settled_at_writer() && link && !self.held.lasts()
    }
    /// True if it has nothing to do until somebody gives it something.
    pub fn is_quiet(&self) -> bool {
        let crossing = &self.crossing;
        let empty = crossing.tx_messages.is_empty() && crossing.rx.is_empty();
        empty && crossing.freed.is_empty() && self.host.is_quiet() && self.link.is_quiet()
    }
}

impl Device for Nic {
    fn outputs(&self) -> DeviceOut {
        self.host.outputs(&self.crossing)
    }
    fn clock(&mut self, inputs: &DeviceIn) {
        if let Some(TargetRead { offset, .. }) = inputs.read {
            let crossing = &self.crossing;
            self.host.read(offset, crossing, &self.link, &self.aids);
        }
        self.held.bus_edge();
        self.host.clock(inputs, &mut self.crossing, &mut self.aids);
        self.crossing.stop_seen.edge(self.crossing.stop);
        self.crossing.counters_seen.edge(self.link.counters());
        if self.host.wants_reset() {
            self.reset();
        }
    }
}
