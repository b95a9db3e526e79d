//! Ports between the parts of a node: each part's calls on its `Ports`, answered with the others.

use super::datapath::DatapathEvent;
use super::kinds::{is_visible, Visible};
use super::observers::Observers;
use super::progress::Progress;
use super::{Station, Step};
use crate::message_path::{ANNOUNCED, COMPLETED, DEPOSITED, HEADER_COMMANDED, RECEIVE_COMMANDED};
use abi::packet::{flag, Packet};
use abi::seastar::{command_op, panic_reason, PortalsHeader, GENERIC_PENDINGS};
use abi::MessageId;
use bus::{BusError, HyperTransport};
use des::{EventQueue, Interval, Time};
use machine::device_memory::{self, DeviceMemory};
use machine::instruments::capture::Side;
use machine::instruments::message_trace::Waypoint;
use machine::instruments::timeline::Point;
use machine::judge::Adapter;
use machine::node::Ports;
use machine::remains::Failure;
use std::rc::Rc;

/// Packets that are on their way from a neighbour.
#[derive(Default)]
pub(crate) struct Arrivals {
    packets: Vec<Packet>,
    vacant: Vec<u32>,
}

impl Arrivals {
    /// A message is on its way.
    pub fn expect(&mut self, message: mesh::LinkMessage) -> DatapathEvent {
        match message {
            mesh::LinkMessage::Packet { link, channel, packet } => {
                DatapathEvent::Packet { link, channel, place: self.keep(packet) }
            }
            mesh::LinkMessage::Credit { link, channel, flits } => {
                DatapathEvent::Credit { link, channel, flits }
            }
        }
    }
    fn keep(&mut self, packet: Packet) -> u32 {
        if let Some(place) = self.vacant.pop() {
            self.packets[place as usize] = packet;
            return place;
        }
        self.packets.push(packet);
        self.packets.len() as u32 - 1
    }
    /// The packet there.
    #[inline(always)]
    pub fn packet(&self, place: u32) -> &Packet {
        &self.packets[place as usize]
    }
}

/// Message between nodes.
pub(crate) enum Message {
    /// A message through a link of the network.
    Link(mesh::LinkMessage),
    /// Payload that was skipped, for the node that is to receive it.
    Skipped(Box<seastar_nic::Skipped>),
}

/// Local memory that somebody but the embedded processor has used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Touched {
    Written {
        addr: u64,
        len: usize,
    },
    /// A read by the host, which reads a word at a time.
    Read {
        addr: u64,
        data: [u8; 4],
    },
}

/// Parts around the chip, which reaches them through its ports ([`NodePorts`]).
#[repr(C, align(64))]
pub(crate) struct Chipset {
    /// Events that only move packets: in one order with the events of the node's queue, which gives them
    /// their places.
    pub datapath: EventQueue<DatapathEvent>,
    pub firmware: Progress,
    /// Number of events so far that were not the host's.
    pub stirs: u64,
    /// Accesses of others to local memory that the processor has not been told yet.
    pub touched: Vec<Touched>,
    /// Observers of this node that the bench does not have.
    pub observers: Observers,
    pub arrivals: Arrivals,
    pub memory: host::SharedMemory,
    /// Bytes of HyperTransport packets beside their data: posted write, read request, read response.
    pub ht_overhead: [u64; 3],
    /// The same with its observers: for the DMA engines, and for stores that the firmware may make itself.
    pub dma: Box<dyn DeviceMemory>,
    pub stores: Box<dyn DeviceMemory>,
    pub link: HyperTransport,
    pub router: mesh::Router,
    /// Event rings of accelerated processes, on machines that have them.
    pub rings: Option<Rc<portals::seastar::Rings>>,
    /// Time of the event that is carried out.
    pub now: Time,
}

impl Chipset {
    /// The judge of the host's memory, where there is one; with rings the firmware itself stores small
    /// payloads, too: they are looked at when their message ends.
    pub fn judge_memory(&mut self, judge: Option<&Rc<Adapter>>) {
        self.dma = device_memory::judged(&self.memory, judge);
        self.stores = device_memory::judged(&self.memory, judge.filter(|_| self.rings.is_none()));
    }

    /// Time of the next event.
    #[inline(always)]
    pub fn next_time(&self, ports: &Ports<Station>) -> Time {
        ports.next_time().min(self.datapath.next_time())
    }

    /// Observer affected by the next event, if that is before `horizon`.
    pub fn next_is_visible(
        &self,
        nic: &seastar_nic::SeaStar,
        horizon: Time,
        ports: &Ports<Station>,
    ) -> Visible {
        if self.datapath.key() < ports.queue().key() {
            let next = self.datapath.peek().filter(|(at, _)| *at < horizon);
            let visible = next.is_some_and(|(_, next)| next.is_visible(nic));
            return if visible { Visible::Firmware } else { Visible::Nobody };
        }
        let next = ports.queue().peek().filter(|(at, _)| *at < horizon);
        next.map_or(Visible::Nobody, |(_, event)| is_visible(nic, event))
    }
}

/// Services of the node for its chip.
pub(crate) struct NodePorts<'a> {
    pub chipset: &'a mut Chipset,
    pub ports: &'a mut Ports<Station>,
}

impl NodePorts<'_> {
    /// Records what ends the run; the first on a node counts.
    fn fail(&mut self, at: Time, code: i32, sentence: String) {
        self.ports.end_with(Failure { at, sentence, code });
    }

    fn mark_injected(&mut self, at: Time, packet: &Packet) {
        if let Some(header) = PortalsHeader::parse(packet.data()) {
            self.ports.injected(at, &header);
        }
    }

    /// The observers of the time line hear of writes to the host's memory from now on.
    pub fn watch_memory(&mut self) {
        let (journal, chipset) = (self.ports.journal(), &mut *self.chipset);
        for memory in [&mut chipset.dma, &mut chipset.stores] {
            let bare = std::mem::replace(memory, Box::new(chipset.memory.clone()));
            *memory = device_memory::watched(bare, journal.clone());
        }
    }

    /// Does something of which the judge does not hear.
    pub fn unjudged<R>(&mut self, act: impl FnOnce(&mut NodePorts) -> R) -> R {
        let judge = self.ports.judge().cloned();
        self.chipset.judge_memory(None);
        if self.ports.is_watched() {
            self.watch_memory();
        }
        let done = act(self);
        self.chipset.judge_memory(judge.as_ref());
        if self.ports.is_watched() {
            self.watch_memory();
        }
        done
    }

    /// Something is due that moves packets on.
    #[inline(always)]
    fn schedule_datapath(&mut self, at: Time, next: DatapathEvent) {
        self.chipset.datapath.schedule_at(at, self.ports.place(), next);
    }

    /// The router, what it sees of the node, and packets that arrive at it.
    #[inline(always)]
    fn network(&mut self) -> (&mut mesh::Router, NetPorts<'_>, &mut Arrivals) {
        let Chipset { datapath, router, arrivals, .. } = &mut *self.chipset;
        (router, NetPorts { datapath, ports: self.ports }, arrivals)
    }

    #[inline(always)]
    pub fn with_router<R>(&mut self, f: impl FnOnce(&mut mesh::Router, &mut NetPorts) -> R) -> R {
        let (router, mut ports, _) = self.network();
        f(router, &mut ports)
    }

    /// A packet has come from a neighbour.
    #[inline(always)]
    pub fn take_packet(&mut self, now: Time, link: u8, channel: u8, place: u32) {
        let (router, mut ports, arrivals) = self.network();
        router.receive_packet(now, link, channel, arrivals.packet(place), &mut ports);
        arrivals.vacant.push(place);
    }
}

impl seastar_nic::Ports for NodePorts<'_> {
    #[inline(always)]
    fn schedule(&mut self, at: Time, event: seastar_nic::Event) {
        match DatapathEvent::of_nic(event) {
            Some(next) => self.schedule_datapath(at, next),
            None => self.ports.schedule(at, event),
        }
    }
    fn host_read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let read = self.chipset.dma.read(phys, buf);
        self.chipset.observers.replay_log(|| Step::HostRead { phys, data: buf.to_vec() });
        read
    }
    fn host_load(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let read = self.chipset.memory.borrow_mut().read_phys(phys, buf);
        self.chipset.observers.replay_log(|| Step::HostRead { phys, data: buf.to_vec() });
        match read {
            // A process has none any more where it had: as of a write, that is no fault of the firmware.
            Err(error) if self.chipset.memory.borrow().owner_of(phys).is_some() => {
                buf.fill(0xff);
                let BusError { addr, why, .. } = error;
                let nid = self.ports.nid();
                let sentence = format!("node {nid}: the NIC read from address {addr:#x}: {why}");
                self.fail(self.chipset.now, 1, sentence);
                Ok(())
            }
            read => read,
        }
    }
    fn host_peek(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.chipset.memory.borrow_mut().read_phys(phys, buf)
    }
    fn host_answers(&mut self, phys: u64) -> bool {
        self.chipset.memory.borrow_mut().read_phys(phys, &mut [0]).is_ok()
    }
    fn host_write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.chipset.observers.replay_log(|| Step::HostWrite { phys, data: data.to_vec() });
        let written = self.chipset.stores.write(phys, data);
        if let Some(rings) = &self.chipset.rings {
            rings.landed(self.chipset.now, phys, data.len());
            self.ports.journal().store_arrives(self.chipset.now, phys, data.len() as u64);
        }
        written
    }
    fn host_deposit(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.chipset.observers.replay_log(|| Step::HostWrite { phys, data: data.to_vec() });
        self.chipset.dma.write(phys, data)
    }
    fn link(&mut self) -> &mut HyperTransport {
        &mut self.chipset.link
    }
    fn inject(&mut self, at: Time, packet: Packet) -> Time {
        self.chipset.observers.replay_log(|| Step::Other);
        if packet.is_first() {
            self.mark_injected(at, &packet);
        }
        self.chipset.observers.tap(at, Side::Sent, &packet);
        self.ports.journal().watch(|watch| super::control::show(watch, at, true, &packet));
        let class = match packet.flags & flag::CONTROL {
            0 => mesh::Class::Data,
            _ => mesh::Class::Control,
        };
        self.with_router(|router, ports| router.inject(at, class, packet, ports))
    }
    fn room(&mut self, now: Time, packets: u32) {
        self.chipset.observers.replay_log(|| Step::Other);
        self.with_router(|router, ports| router.room(now, mesh::Class::Data, packets, ports));
    }
    fn control_room(&mut self, now: Time, packets: u32) {
        self.chipset.observers.replay_log(|| Step::Other);
        self.with_router(|router, ports| router.room(now, mesh::Class::Control, packets, ports));
    }
    fn interrupt(&mut self, now: Time) {
        match self.ports.interrupt(now) {
            Some(at) => self.ports.journal().interrupt_arrived(at),
            None => self.ports.journal().interrupt_lost(),
        }
    }
    fn panic(&mut self, now: Time, reason: u8, detail: u32) {
        self.chipset.firmware.halted = true;
        if reason == panic_reason::EXCEPTION {
            // The node reads the firmware's record of it.
            self.chipset.firmware.exception.get_or_insert((now, detail));
            return;
        }
        let sentence = format!(
            "node {}: the firmware stopped the node at {now}: {}",
            self.ports.nid(),
            panic_sentence(reason, detail)
        );
        self.fail(now, 1, sentence);
    }
    fn fault(&mut self, now: Time, error: BusError) {
        let sentence = format!("node {}: NIC fault at {now}: {error}", self.ports.nid());
        self.fail(now, 1, sentence);
    }
    fn sram_written(&mut self, addr: u64, len: usize) {
        self.chipset.touched.push(Touched::Written { addr, len });
    }
    fn sram_read(&mut self, addr: u64, data: &[u8]) {
        if let Ok(data) = data.try_into() {
            self.chipset.touched.push(Touched::Read { addr, data });
        }
    }
    fn mark(&mut self, at: Time, message: MessageId, mark: seastar_nic::TracePoint) {
        if let Some(point) = point_of(mark) {
            self.ports.journal().watch(|watch| watch.engine(at, message, point));
        }
        let waypoint = match mark {
            seastar_nic::TracePoint::HeaderFetched => HEADER_COMMANDED,
            seastar_nic::TracePoint::Arrived => Waypoint::ARRIVED,
            seastar_nic::TracePoint::Announced => ANNOUNCED,
            seastar_nic::TracePoint::Commanded => RECEIVE_COMMANDED,
            seastar_nic::TracePoint::Deposited => DEPOSITED,
            seastar_nic::TracePoint::Completed => COMPLETED,
            // The first is reported by the packet itself, which also knows its payload.
            seastar_nic::TracePoint::Injected | seastar_nic::TracePoint::Departed => return,
        };
        self.ports.journal().mark(at, message, waypoint);
        if self.chipset.observers.repeats && waypoint == Waypoint::ARRIVED {
            self.ports.journal().mark(at, message, Waypoint::REPEATED);
        }
    }
}

/// Reason for which the firmware stopped a node, in words.
fn panic_sentence(reason: u8, detail: u32) -> String {
    use panic_reason as reasons;
    match reason {
        reasons::NO_RX_PENDING => {
            format!(
                "no receive pending is free for a message from node {detail}: too many messages \
                 came here before the host took them. Let the program send fewer at a time (wait \
                 for an answer now and then, as MPI_Ssend and MPI_Barrier do) and receive them \
                 earlier, or leave more of the {GENERIC_PENDINGS} pendings to reception (--set \
                 portals.tx_pendings=N with a smaller N)"
            )
        }
        reasons::NO_SOURCE => {
            format!("all source structures are in use when node {detail} needs one")
        }
        reasons::CAM_OVERFLOW => format!(
            "more messages in flight than the receive engine can demultiplex; the last came from \
             node {detail}"
        ),
        reasons::BAD_COMMAND if detail == command_op::INIT_EQCB.into() => format!(
            "mailbox command {detail} cannot be obeyed: the event ring that the kernel gives it \
             could run over, or its slots are no power of two (--fault pool.event_slots)"
        ),
        reasons::BAD_COMMAND => format!("mailbox command {detail} cannot be obeyed"),
        reasons::NO_PROCESS => format!("firmware process {detail} was never initialised"),
        reasons::DMA_ERROR => {
            format!("a DMA engine reported an error (completion word {detail:#x})")
        }
        other => format!("unknown reason {other}, detail {detail:#x}"),
    }
}

/// Node as the router sees it.
pub(crate) struct NetPorts<'a> {
    datapath: &'a mut EventQueue<DatapathEvent>,
    ports: &'a mut Ports<Station>,
}

impl mesh::Ports for NetPorts<'_> {
    #[inline(always)]
    fn schedule(&mut self, at: Time, event: mesh::Event) {
        self.datapath.schedule_at(at, self.ports.place(), DatapathEvent::of_net(event));
    }
    fn send(&mut self, at: Time, neighbour: u32, message: mesh::LinkMessage) {
        self.ports.send(neighbour, at, Message::Link(message));
    }
    fn passed(&mut self, output: usize, interval: Interval, packet: &Packet) {
        self.ports.journal().watch(|watch| watch.passed(output, interval, packet));
    }
    fn unreachable(&mut self, now: Time, packet: &Packet) {
        let dest = packet.dest;
        self.ports.fail(now, format!("a packet at {now} names node {dest}, which does not exist"));
    }
}

/// Point at which a watch draws the mark.
fn point_of(mark: seastar_nic::TracePoint) -> Option<Point> {
    Some(match mark {
        seastar_nic::TracePoint::HeaderFetched => Point::HeaderFetched,
        seastar_nic::TracePoint::Injected => Point::Injected,
        seastar_nic::TracePoint::Departed => Point::Departed,
        seastar_nic::TracePoint::Arrived => Point::Arrived,
        seastar_nic::TracePoint::Announced => Point::Announced,
        seastar_nic::TracePoint::Commanded => Point::Commanded,
        seastar_nic::TracePoint::Completed => Point::Completed,
        // It may be later than the completion.
        seastar_nic::TracePoint::Deposited => return None,
    })
}
