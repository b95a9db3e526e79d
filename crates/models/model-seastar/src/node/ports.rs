//! Ports between the parts of a node: each part's calls on its `Ports`, answered with the others.

mod of_host;

use super::datapath::DatapathEvent;
use super::observers::Observers;
use super::progress::Progress;
use super::{is_visible, Step, Visible};
use crate::message_path::{ANNOUNCED, COMPLETED, DEPOSITED, HEADER_COMMANDED, RECEIVE_COMMANDED};
use abi::packet::{flag, Packet};
use abi::seastar::{command_op, panic_reason, PortalsHeader, GENERIC_PENDINGS};
use abi::MessageId;
use bus::{BusError, HyperTransport};
use des::{EventQueue, Outbox, Time, TraceHash};
use machine::device_memory::{self, DeviceMemory};
use machine::faults::InterruptLine;
use machine::instruments::capture::Side;
use machine::instruments::journal::Journal;
use machine::instruments::message_trace::{Flight, Waypoint};
use machine::instruments::timeline::Point;
use machine::judge::Adapter;
use machine::remains::Failure;
use std::rc::Rc;

/// Events of a node, except [`DatapathEvent`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Nic(seastar_nic::Event),
    Host(host::Event),
    /// A posted write of the host reaches the NIC.
    MmioWrite {
        addr: u32,
        len: u8,
        data: [u8; 8],
    },
    /// A read of the host reaches the NIC.
    MmioRead {
        addr: u32,
    },
    /// Its answer reaches the host.
    MmioReply {
        value: u32,
    },
    /// An interrupt message has reached the host.
    Interrupt,
    /// The RAS system looks whether the firmware is ready.
    PollReady,
    /// The report's look at the firmware while it idles, shortly before the launch.
    Observe,
    /// The launcher starts the program.
    Launch,
}

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
pub(crate) enum Crossing {
    /// A message through a link of the network.
    Link(mesh::LinkMessage),
    /// Payload that was skipped, for the node that is to receive it.
    Skipped(Box<seastar_nic::Skipped>),
    /// Record of a message of the program, for the node to which it goes: no part of the machine.
    Flight(Box<Flight>),
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

/// The parts of a node that the others reach through their ports.
#[repr(C, align(64))]
pub(crate) struct NodePorts {
    pub queue: EventQueue<Event>,
    /// Events that only move packets: in one order with the events of the other queue, which gives them
    /// their places.
    pub datapath: EventQueue<DatapathEvent>,
    /// While the node advances: where the window ends.
    pub horizon: Time,
    pub hash: TraceHash,
    pub firmware: Progress,
    pub nid: u32,
    pub arrivals: Arrivals,
    pub failure: Option<Failure>,
    /// Number of events so far that were not the host's.
    pub stirs: u64,
    /// Accesses of others to local memory that the processor has not been told yet.
    pub touched: Vec<Touched>,
    /// Observers of this node.
    pub observers: Observers,
    /// While the node advances: where what it sends goes.
    pub outbox: Outbox<Crossing>,
    pub memory: host::SharedMemory,
    /// Bytes of HyperTransport packets beside their data: posted write, read request, read response.
    pub ht_overhead: [u64; 3],
    /// The same with its observers: for the DMA engines, and for stores that the firmware may make itself.
    pub dma: Box<dyn DeviceMemory>,
    pub stores: Box<dyn DeviceMemory>,
    /// The interrupt line to the host.
    pub line: Box<dyn InterruptLine>,
    pub link: HyperTransport,
    pub router: mesh::Router,
    /// Event rings of accelerated processes, on machines that have them.
    pub rings: Option<Rc<portals::seastar::Rings>>,
    /// Time of the event that is carried out.
    pub now: Time,
}

impl NodePorts {
    /// Records what ends the run; the first on a node counts.
    pub fn fail(&mut self, at: Time, code: i32, sentence: String) {
        self.failure.get_or_insert(Failure { at, sentence, code });
    }

    fn mark_injected(&mut self, at: Time, packet: &Packet) {
        let Some(header) = PortalsHeader::parse(packet.data()) else { return };
        let Some(flight) = self.observers.journal.injected(at, &header) else { return };
        if u32::from(packet.dest) == self.nid {
            return self.observers.journal.comes(flight);
        }
        self.outbox.send(packet.dest.into(), Time::NEVER, Crossing::Flight(flight));
    }

    /// The judge of the host's memory, where there is one; with rings the firmware itself stores small
    /// payloads, too: they are looked at when their message ends.
    pub fn judge_memory(&mut self, judge: Option<&Rc<Adapter>>) {
        self.dma = device_memory::judged(&self.memory, judge);
        self.stores = device_memory::judged(&self.memory, judge.filter(|_| self.rings.is_none()));
    }

    /// The observers of the time line hear of writes to the host's memory from now on.
    pub fn watch_memory(&mut self) {
        let journal = &self.observers.journal;
        for memory in [&mut self.dma, &mut self.stores] {
            let bare = std::mem::replace(memory, Box::new(self.memory.clone()));
            *memory = device_memory::watched(bare, journal.clone());
        }
    }

    /// Does something of which the judge does not hear.
    pub fn unjudged<R>(&mut self, act: impl FnOnce(&mut NodePorts) -> R) -> R {
        let judge = self.observers.judge.take();
        self.judge_memory(None);
        if self.observers.watched {
            self.watch_memory();
        }
        let done = act(self);
        self.judge_memory(judge.as_ref());
        if self.observers.watched {
            self.watch_memory();
        }
        self.observers.judge = judge;
        done
    }

    /// Time of the next event.
    #[inline(always)]
    pub fn next_time(&self) -> Time {
        self.queue.next_time().min(self.datapath.next_time())
    }

    /// Observer affected by the next event, if that is before `horizon`.
    pub fn next_is_visible(&self, nic: &seastar_nic::SeaStar, horizon: Time) -> Visible {
        if self.datapath.key() < self.queue.key() {
            let next = self.datapath.peek().filter(|(at, _)| *at < horizon);
            let visible = next.is_some_and(|(_, next)| next.is_visible(nic));
            return if visible { Visible::Firmware } else { Visible::Nobody };
        }
        let next = self.queue.peek().filter(|(at, _)| *at < horizon);
        next.map_or(Visible::Nobody, |(_, event)| is_visible(nic, event))
    }

    /// Something is due that moves packets on.
    #[inline(always)]
    fn schedule_datapath(&mut self, at: Time, next: DatapathEvent) {
        let place = self.queue.place();
        self.datapath.schedule_at(at, place, next);
    }

    /// The router, what it sees of the node, and packets that arrive at it.
    #[inline(always)]
    fn network(&mut self) -> (&mut mesh::Router, NetPorts<'_>, &mut Arrivals) {
        let ports = NetPorts {
            nid: self.nid,
            queue: &mut self.queue,
            datapath: &mut self.datapath,
            outbox: &mut self.outbox,
            failure: &mut self.failure,
            journal: &self.observers.journal,
        };
        (&mut self.router, ports, &mut self.arrivals)
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

impl seastar_nic::Ports for NodePorts {
    #[inline(always)]
    fn schedule(&mut self, at: Time, event: seastar_nic::Event) {
        match DatapathEvent::of_nic(event) {
            Some(next) => self.schedule_datapath(at, next),
            None => self.queue.schedule(at, Event::Nic(event)),
        }
    }
    fn host_read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let read = self.dma.read(phys, buf);
        self.observers.replay_log(|| Step::HostRead { phys, data: buf.to_vec() });
        read
    }
    fn host_load(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let read = self.memory.borrow_mut().read_phys(phys, buf);
        self.observers.replay_log(|| Step::HostRead { phys, data: buf.to_vec() });
        match read {
            // A process has none any more where it had: as of a write, that is no fault of the firmware.
            Err(error) if self.memory.borrow().owner_of(phys).is_some() => {
                buf.fill(0xff);
                let BusError { addr, why, .. } = error;
                let nid = self.nid;
                let sentence = format!("node {nid}: the NIC read from address {addr:#x}: {why}");
                self.fail(self.now, 1, sentence);
                Ok(())
            }
            read => read,
        }
    }
    fn host_peek(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.memory.borrow_mut().read_phys(phys, buf)
    }
    fn host_answers(&mut self, phys: u64) -> bool {
        self.memory.borrow_mut().read_phys(phys, &mut [0]).is_ok()
    }
    fn host_write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.observers.replay_log(|| Step::HostWrite { phys, data: data.to_vec() });
        let written = self.stores.write(phys, data);
        if let Some(rings) = &self.rings {
            rings.landed(self.now, phys);
        }
        written
    }
    fn host_deposit(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.observers.replay_log(|| Step::HostWrite { phys, data: data.to_vec() });
        self.dma.write(phys, data)
    }
    fn link(&mut self) -> &mut HyperTransport {
        &mut self.link
    }
    fn inject(&mut self, at: Time, packet: Packet) -> Time {
        self.observers.replay_log(|| Step::Other);
        if packet.is_first() {
            self.mark_injected(at, &packet);
        }
        self.observers.tap(at, Side::Sent, &packet);
        self.observers.journal.watch(|watch| super::control::show(watch, at, true, &packet));
        let class = match packet.flags & flag::CONTROL {
            0 => mesh::Class::Data,
            _ => mesh::Class::Control,
        };
        self.with_router(|router, ports| router.inject(at, class, packet, ports))
    }
    fn room(&mut self, now: Time, packets: u32) {
        self.observers.replay_log(|| Step::Other);
        self.with_router(|router, ports| router.room(now, mesh::Class::Data, packets, ports));
    }
    fn control_room(&mut self, now: Time, packets: u32) {
        self.observers.replay_log(|| Step::Other);
        self.with_router(|router, ports| router.room(now, mesh::Class::Control, packets, ports));
    }
    fn interrupt(&mut self, now: Time) {
        let Some(at) = self.line.raise(now) else {
            return self.observers.journal.interrupt_lost();
        };
        self.observers.journal.interrupt_arrived(at);
        self.queue.schedule(at, Event::Interrupt);
    }
    fn panic(&mut self, now: Time, reason: u8, detail: u32) {
        self.firmware.halted = true;
        if reason == panic_reason::EXCEPTION {
            // The node reads the firmware's record of it.
            self.firmware.exception.get_or_insert((now, detail));
            return;
        }
        let sentence = format!(
            "node {}: the firmware stopped the node at {now}: {}",
            self.nid,
            panic_sentence(reason, detail)
        );
        self.fail(now, 1, sentence);
    }
    fn fault(&mut self, now: Time, error: BusError) {
        let sentence = format!("node {}: NIC fault at {now}: {error}", self.nid);
        self.fail(now, 1, sentence);
    }
    fn sram_written(&mut self, addr: u64, len: usize) {
        self.touched.push(Touched::Written { addr, len });
    }
    fn sram_read(&mut self, addr: u64, data: &[u8]) {
        if let Ok(data) = data.try_into() {
            self.touched.push(Touched::Read { addr, data });
        }
    }
    fn mark(&mut self, at: Time, message: MessageId, mark: seastar_nic::TracePoint) {
        if let Some(point) = point_of(mark) {
            self.observers.journal.watch(|watch| watch.engine(at, message, point));
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
        self.observers.journal.mark(at, message, waypoint);
        if self.observers.repeats && waypoint == Waypoint::ARRIVED {
            self.observers.journal.mark(at, message, Waypoint::REPEATED);
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
    nid: u32,
    queue: &'a mut EventQueue<Event>,
    datapath: &'a mut EventQueue<DatapathEvent>,
    outbox: &'a mut Outbox<Crossing>,
    failure: &'a mut Option<Failure>,
    journal: &'a Journal,
}

impl mesh::Ports for NetPorts<'_> {
    #[inline(always)]
    fn schedule(&mut self, at: Time, event: mesh::Event) {
        let place = self.queue.place();
        self.datapath.schedule_at(at, place, DatapathEvent::of_net(event));
    }
    fn send(&mut self, at: Time, neighbour: u32, message: mesh::LinkMessage) {
        self.outbox.send(neighbour, at, Crossing::Link(message));
    }
    fn passed(&mut self, output: usize, span: (Time, Time), packet: &Packet) {
        self.journal.watch(|watch| watch.passed(output, span, packet));
    }
    fn unreachable(&mut self, now: Time, packet: &Packet) {
        let sentence = format!(
            "node {}: a packet at {now} names node {}, which does not exist",
            self.nid, packet.dest
        );
        self.failure.get_or_insert(Failure { at: now, sentence, code: 1 });
    }
}

/// Events are copied into the queue, within it and out of it.
const _: () = assert!(size_of::<Event>() <= 24);

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

/// An address on the local bus, which has 32 bits. Behind them there is nothing, as at the last one.
fn local(addr: u64) -> u32 {
    u32::try_from(addr).unwrap_or(u32::MAX)
}
