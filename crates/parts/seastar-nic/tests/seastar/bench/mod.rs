//! A small test bench: SeaStars with a flat host memory each, joined by wires without routers, and
//! a driver that plays the firmware with loads and stores on the local bus.

use abi::packet::Packet;
use abi::seastar::*;
use abi::MessageId;
use bus::{BusError, HyperTransport};
use des::{Duration, EventQueue, Time};
use seastar_nic::{Event, Params, Ports, SeaStar, TracePoint};
use std::collections::VecDeque;

pub fn params() -> Params {
    Params {
        local_headers: true,
        recovers: false,
        plb_request: Duration::from_ns(10),
        plb_bytes_per_second: 6_400_000_000,
        sram_read: Duration::from_ns(15),
        sram_write: Duration::from_ns(5),
        register_read: Duration::from_ns(15),
        register_write: Duration::from_ns(5),
        window_access: Duration::from_ns(10),
        host_memory_read: Duration::from_ns(60),
        ht_dma_rate: HT_BYTES_PER_SECOND,
        ht_request_bytes: 8,
        ht_response_bytes: 4,
        ht_write_bytes: 8,
        ht_mask_bytes: 4,
        ht_interrupt_bytes: 8,
        tx_start: Duration::from_ns(40),
        tx_command: Duration::from_ns(8),
        tx_buffers: 8,
        tx_packet: Duration::from_ns(18),
        tx_complete: Duration::from_ns(10),
        rx_buffers: 64,
        rx_packet: Duration::from_ns(18),
        rx_notify: Duration::from_ns(10),
        rx_start: Duration::from_ns(20),
        rx_command: Duration::from_ns(8),
        in_flight: 1 << 16,
    }
}

pub const HT_BYTES_PER_SECOND: u64 = 3_200_000_000;
pub const HT_LATENCY: Duration = Duration::from_ns(100);
pub const WIRE: Duration = Duration::from_ns(60);
pub const FLIT: Duration = Duration::from_ns(3);
pub const HOST_BYTES: usize = 8 << 20;

/// Hook for packets on the wire: it may change a packet; false drops it.
pub type Tap = Box<dyn FnMut(&mut Packet) -> bool>;

/// Everything of a node but its NIC.
pub struct Surroundings {
    pub host: Vec<u8>,
    pub link: HyperTransport,
    pub interrupts: Vec<Time>,
    pub panics: Vec<(u8, u32)>,
    pub faults: Vec<BusError>,
    pub marks: Vec<(Time, MessageId, TracePoint)>,
    /// Host writes in order of their effect: time, address, bytes.
    pub writes: Vec<(Time, u64, usize)>,
    pub sent: Vec<(Time, Packet)>,
    port_free: Time,
    pub block_port: bool,
    /// Packets that the network keeps because the NIC has no room.
    pub kept: VecDeque<Packet>,
    /// Packets for which the NIC has room.
    pub room: u32,
    /// Number of those that it has been promised.
    on_the_way: u32,
    /// Most packets that waited at once.
    pub most_kept: usize,
}

#[derive(Clone, Copy)]
enum Due {
    Nic(Event),
    Packet(Packet),
    /// A packet that had to wait.
    Kept(Packet),
}

pub struct Bench {
    pub now: Time,
    queue: EventQueue<(usize, Due)>,
    pub nics: Vec<SeaStar>,
    pub nodes: Vec<Surroundings>,
    pub tap: Tap,
    pub flit: Duration,
    pub events: u64,
}

pub struct NodePorts<'a> {
    now: Time,
    node: usize,
    queue: &'a mut EventQueue<(usize, Due)>,
    around: &'a mut Surroundings,
    tap: &'a mut Tap,
    flit: Duration,
}

fn range(phys: u64, len: usize, write: bool) -> Result<std::ops::Range<usize>, BusError> {
    let error = BusError { addr: phys, len, write, why: "no host memory" };
    let start = usize::try_from(phys).map_err(|_| error)?;
    (start + len <= HOST_BYTES).then_some(start..start + len).ok_or(error)
}

impl Ports for NodePorts<'_> {
    fn schedule(&mut self, at: Time, event: Event) {
        assert!(at >= self.now, "{event:?} would be in the past");
        self.queue.schedule(at, (self.node, Due::Nic(event)));
    }
    fn host_read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        buf.copy_from_slice(&self.around.host[range(phys, buf.len(), false)?]);
        Ok(())
    }
    fn host_write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.around.host[range(phys, data.len(), true)?].copy_from_slice(data);
        self.around.writes.push((self.now, phys, data.len()));
        Ok(())
    }
    fn link(&mut self) -> &mut HyperTransport {
        &mut self.around.link
    }
    fn inject(&mut self, at: Time, mut packet: Packet) -> Time {
        assert_eq!(at, self.now);
        assert!(at >= self.around.port_free, "the port takes one packet at a time");
        self.around.sent.push((at, packet));
        let free = at + self.flit * u64::from(packet.flits());
        self.around.port_free = free;
        if (self.tap)(&mut packet) {
            self.queue.schedule(free + WIRE, (usize::from(packet.dest), Due::Packet(packet)));
        }
        if self.around.block_port {
            Time::NEVER
        } else {
            free
        }
    }
    fn room(&mut self, now: Time, packets: u32) {
        self.around.room += packets;
        for _ in 0..packets {
            if let Some(packet) = self.around.kept.pop_front() {
                self.around.on_the_way += 1;
                self.queue.schedule(now, (self.node, Due::Kept(packet)));
            }
        }
    }
    fn interrupt(&mut self, now: Time) {
        self.around.interrupts.push(now);
    }
    fn panic(&mut self, _now: Time, reason: u8, detail: u32) {
        self.around.panics.push((reason, detail));
    }
    fn fault(&mut self, _now: Time, error: BusError) {
        self.around.faults.push(error);
    }
    fn mark(&mut self, at: Time, message: MessageId, mark: TracePoint) {
        assert!(at >= self.now);
        self.around.marks.push((at, message, mark));
    }
}

impl Bench {
    pub fn new(nodes: usize) -> Bench {
        Bench::with(nodes, &params())
    }
    pub fn with(nodes: usize, params: &Params) -> Bench {
        Bench {
            now: Time::ZERO,
            queue: EventQueue::new(0),
            nics: (0..nodes).map(|nid| SeaStar::new(params, nid as u16)).collect(),
            nodes: (0..nodes)
                .map(|_| Surroundings {
                    host: vec![0; HOST_BYTES],
                    link: HyperTransport::new(HT_LATENCY, HT_BYTES_PER_SECOND),
                    interrupts: Vec::new(),
                    panics: Vec::new(),
                    faults: Vec::new(),
                    marks: Vec::new(),
                    writes: Vec::new(),
                    sent: Vec::new(),
                    port_free: Time::ZERO,
                    block_port: false,
                    kept: VecDeque::new(),
                    room: params.rx_buffers,
                    on_the_way: 0,
                    most_kept: 0,
                })
                .collect(),
            tap: Box::new(|_| true),
            flit: FLIT,
            events: 0,
        }
    }
    /// Calls a NIC with its ports.
    pub fn call<R>(
        &mut self,
        node: usize,
        f: impl FnOnce(&mut SeaStar, Time, &mut NodePorts<'_>) -> R,
    ) -> R {
        let mut ports = NodePorts {
            now: self.now,
            node,
            queue: &mut self.queue,
            around: &mut self.nodes[node],
            tap: &mut self.tap,
            flit: self.flit,
        };
        f(&mut self.nics[node], self.now, &mut ports)
    }
    /// Handles the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        let Some((at, (node, due))) = self.queue.pop_before(Time::NEVER) else { return false };
        assert!(at >= self.now);
        self.now = at;
        self.events += 1;
        match due {
            Due::Nic(event) => self.call(node, |nic, now, ports| nic.handle(now, event, ports)),
            Due::Packet(packet) => {
                let around = &mut self.nodes[node];
                // The room that is free now belongs to those that wait.
                if around.room == around.on_the_way || !around.kept.is_empty() {
                    around.kept.push_back(packet);
                    around.most_kept = around.most_kept.max(around.kept.len());
                } else {
                    self.deliver(node, packet);
                }
            }
            Due::Kept(packet) => {
                self.nodes[node].on_the_way -= 1;
                self.deliver(node, packet);
            }
        }
        true
    }
    fn deliver(&mut self, node: usize, packet: Packet) {
        self.nodes[node].room -= 1;
        let taken = self.call(node, |nic, now, ports| nic.packet(now, packet, ports));
        taken.expect("the NIC takes what it has told of room for");
    }
    /// A packet arrives at a node, without a sender, if there is room for it.
    pub fn arrive(&mut self, node: usize, packet: Packet) {
        let around = &self.nodes[node];
        if around.room > around.on_the_way && around.kept.is_empty() {
            self.deliver(node, packet);
        }
    }
    /// Handles all events; returns when nothing is left to happen.
    pub fn settle(&mut self) {
        while self.step() {}
    }
    /// Handles the events before `now + span`, and waits until then.
    pub fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        while self.queue.next_time() < until {
            self.step();
        }
        self.now = until;
    }

    pub fn read(&mut self, node: usize, addr: u32) -> u32 {
        let mut word = [0; 4];
        self.call(node, |nic, now, ports| nic.plb_read(now, addr.into(), &mut word, ports))
            .expect("tests read what exists");
        u32::from_le_bytes(word)
    }
    pub fn write(&mut self, node: usize, addr: u32, word: u32) {
        self.try_write(node, addr, &word.to_le_bytes()).expect("tests write what exists");
    }
    pub fn try_write(&mut self, node: usize, addr: u32, data: &[u8]) -> Result<Time, BusError> {
        self.call(node, |nic, now, ports| nic.plb_write(now, addr.into(), data, ports))
    }

    fn push(&mut self, node: usize, fifo: u32, head: u32, tail_at: u32, command: DmaCommand) {
        let tail = self.read(node, tail_at);
        let after = (tail + 1) % DMA_FIFO_DEPTH;
        while self.read(node, head) == after {
            assert!(self.step(), "the FIFO never gets room");
        }
        let mut bytes = [0; DmaCommand::SIZE];
        command.emit(&mut bytes);
        self.try_write(node, fifo + tail * DmaCommand::SIZE as u32, &bytes)
            .expect("the FIFO exists");
        self.write(node, tail_at, after);
    }
    /// Gives the transmit engine a command, waiting for room.
    pub fn tx(&mut self, node: usize, command: DmaCommand) {
        self.push(node, TX_FIFO, TX_HEAD, TX_TAIL, command);
    }
    /// Gives the receive engine a command, waiting for room.
    pub fn rx(&mut self, node: usize, command: DmaCommand) {
        self.push(node, RX_FIFO, RX_HEAD, RX_TAIL, command);
    }
    fn done(&mut self, node: usize, fifo: u32, head_at: u32, tail_at: u32) -> Option<u32> {
        let head = self.read(node, head_at);
        if head == self.read(node, tail_at) {
            return None;
        }
        let word = self.read(node, fifo + 4 * head);
        self.write(node, head_at, (head + 1) % DONE_FIFO_DEPTH);
        Some(word)
    }
    pub fn tx_done(&mut self, node: usize) -> Option<u32> {
        self.done(node, TX_DONE_FIFO, TX_DONE_HEAD, TX_DONE_TAIL)
    }
    pub fn rx_done(&mut self, node: usize) -> Option<u32> {
        self.done(node, RX_DONE_FIFO, RX_DONE_HEAD, RX_DONE_TAIL)
    }
    /// Runs until the receive engine notifies.
    pub fn await_rx(&mut self, node: usize) -> u32 {
        loop {
            if let Some(word) = self.rx_done(node) {
                return word;
            }
            assert!(self.step(), "nothing will ever be notified");
        }
    }
    /// Sends a message: a header at `header` in host memory, then the segments.
    pub fn send(&mut self, from: usize, to: usize, tag: u16, header: u64, segments: &[(u64, u32)]) {
        let last = if segments.is_empty() { dma_flag::LAST } else { 0 };
        let peer = to as u16;
        let command = command(dma_op::HEADER, last, header, PortalsHeader::SIZE as u32);
        self.tx(from, DmaCommand { peer, tag, ..command });
        for (i, &(addr, length)) in segments.iter().enumerate() {
            let last = if i + 1 == segments.len() { dma_flag::LAST } else { 0 };
            self.tx(from, DmaCommand { tag, ..command_of(dma_op::PAYLOAD, last, addr, length) });
        }
    }
    /// Puts a header into host memory.
    pub fn header(&mut self, node: usize, at: u64, serial: u32, length: u32) -> [u8; 64] {
        let header = PortalsHeader {
            op: portals_op::PUT,
            source_nid: node as u16,
            serial,
            length,
            match_bits: 0x0123_4567_89ab_cdef,
            ..PortalsHeader::default()
        };
        let mut bytes = [0; 64];
        header.emit(&mut bytes);
        self.nodes[node].host[at as usize..at as usize + 64].copy_from_slice(&bytes);
        bytes
    }
    /// The header that the receive engine put into a stream's slot.
    pub fn slot(&self, node: usize, stream: u32) -> Vec<u8> {
        let at = RX_HEADER_BASE + stream * RX_HEADER_SIZE;
        self.nics[node].sram().bytes(at.into(), 64).expect("slots lie in SRAM")
    }
}

pub fn command_of(op: u8, flags: u8, addr: u64, length: u32) -> DmaCommand {
    let addr_hi = (addr >> 32) as u16;
    DmaCommand { op, flags, addr_hi, addr_lo: addr as u32, length, ..DmaCommand::default() }
}
pub use command_of as command;

/// A receive command.
pub fn rx_command(op: u8, flags: u8, stream: u32, tag: u16, addr: u64, length: u32) -> DmaCommand {
    DmaCommand { peer: stream as u16, tag, ..command_of(op, flags, addr, length) }
}

/// Bytes that repeat nowhere soon.
pub fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut random = des::Random::new(seed);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
