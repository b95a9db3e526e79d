//! The receive engine.
//!
//! Trace vocabulary (events): RxPacket: the oldest packet has been demultiplexed; RxAnnounce: a new
//! message becomes visible; RxOverflow: so does a message without a stream; RxTake takes a command;
//! RxDeposit: the way to the host is free; RxDone: a completion becomes visible.
//!
//! ```text
//!   packets -> CAM -> first: header slot in SRAM -> notification FIFO
//!                  -> other: stream's buffer --(its commands)--> posted writes -> completion
//!   command FIFO -> stream's commands
//! ```
//! Streams complete independently of one another. Those that wait for the way to the host take
//! turns, a packet's worth each.
//!
//! The engine has room for [`Params::rx_buffers`](crate::Params::rx_buffers) packets, whosever they
//! are; the others stay in the network. Payload without commands can so hold up the headers behind
//! it, but not for ever: what brings a message its commands (firmware, interrupt, matching) waits
//! for nothing that is behind it.

use crate::fabric::{command_fault, host_address, Fabric};
use crate::fifo::{CommandFifo, DoneFifo};
use crate::stream::{Cam, Command, Found};
use crate::{Event, Ports, TracePoint};
use abi::packet::{flag, Packet, PAYLOAD_BYTES};
use abi::seastar::{
    dma_flag, dma_op, done, PortalsHeader, CAM_ENTRIES, CONTROL_SLOTS, RX_DONE_FIFO, RX_FIFO,
    RX_HEADER_BASE, RX_HEADER_SIZE,
};
use abi::MessageId;
use bus::Direction;
use des::Time;
use std::collections::VecDeque;

/// Payload is written to host memory, outside of simulated time, in pieces of at least this many
/// bytes if it can.
pub(crate) const GATHER: usize = 1024;

/// Room in the notification FIFO for what does not wait: completions, and packets of the control class.
const KEPT_FOR_OTHERS: u32 = 2 * CAM_ENTRIES + CONTROL_SLOTS + 2;

/// Contents of the routing flit of a message's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    source: u16,
    number: u16,
    resumed: bool,
}

impl Routing {
    fn of(packet: &Packet) -> Routing {
        let resumed = packet.flags & flag::RESUMED != 0;
        Routing { source: packet.source, number: packet.message, resumed }
    }
    fn resumed(self) -> u32 {
        if self.resumed {
            done::RESUMED
        } else {
            0
        }
    }
    /// Its bits in the notification of a new message.
    fn told(self) -> u32 {
        let [low, high] = self.number.to_le_bytes();
        u32::from(low) << 8 | u32::from(high) << 23 | self.resumed()
    }
}

/// The engine.
#[derive(Clone, Debug)]
pub(crate) struct Rx {
    pub(crate) commands: CommandFifo,
    pub(crate) done: DoneFifo,
    pub(crate) cam: Cam,
    pub(crate) queue: VecDeque<Packet>,
    /// The oldest packet begins a message and waits for a stream to be freed.
    pub(crate) stalled: bool,
    /// Streams whose message has come whole: they end without another packet.
    pub(crate) whole: usize,
    pub(crate) buffered: u64,
    /// Packets in the queue and in the streams' buffers.
    pub(crate) held: u32,
    pub(crate) taking: bool,
    pub(crate) waiting: VecDeque<u16>,
    pub(crate) deposit_free: Time,
    pub(crate) deposit_event: bool,
    pub(crate) completing: VecDeque<(u32, MessageId)>,
    /// Time at which the newest notification of a message becomes visible: notifications keep their order.
    pub(crate) announced: Time,
}

impl Rx {
    pub(crate) fn new() -> Rx {
        Rx {
            commands: CommandFifo::new(RX_FIFO),
            done: DoneFifo::new(),
            cam: Cam::new(),
            queue: VecDeque::new(),
            stalled: false,
            whole: 0,
            buffered: 0,
            held: 0,
            taking: false,
            waiting: VecDeque::new(),
            deposit_free: Time::ZERO,
            deposit_event: false,
            completing: VecDeque::new(),
            announced: Time::ZERO,
        }
    }
    /// Packets that the engine holds.
    pub(crate) fn held(&self) -> u32 {
        self.held
    }
    /// A packet comes from the network. The error is the packet itself, if there is no room for it.
    pub(crate) fn packet(
        &mut self,
        now: Time,
        packet: Packet,
        fabric: &mut Fabric,
        ports: &mut impl Ports,
    ) -> Result<(), Packet> {
        if self.held == fabric.params.rx_buffers {
            return Err(packet);
        }
        self.held += 1;
        fabric.counters.rx_packets += 1;
        fabric.counters.rx_bytes += u64::from(packet.size);
        if packet.is_first() {
            ports.mark(now, packet.id, TracePoint::Arrived);
        }
        if self.queue.is_empty() {
            ports.schedule(now + fabric.params.rx_packet, Event::RxPacket);
        }
        self.queue.push_back(packet);
        let waiting = &mut fabric.counters.rx_queue_max;
        *waiting = (*waiting).max(self.queue.len() as u64);
        let held = &mut fabric.counters.rx_held_max;
        *held = (*held).max(self.held.into());
        Ok(())
    }
    /// The engine is done with packets.
    fn let_go(&mut self, now: Time, packets: u32, ports: &mut impl Ports) {
        if packets > 0 {
            self.held -= packets;
            ports.room(now, packets);
        }
    }
    /// True if the oldest packet begins a message: its header goes to local memory.
    pub(crate) fn begins_message(&self) -> bool {
        self.queue.front().is_some_and(Packet::is_first)
    }
    /// The oldest packet has been demultiplexed.
    pub(crate) fn demultiplexed(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        if self.must_wait(fabric) {
            self.stalled = true;
            fabric.counters.rx_stalls += 1;
            return;
        }
        let packet = self.queue.pop_front().expect("an event a packet");
        if !self.queue.is_empty() {
            ports.schedule(now + fabric.params.rx_packet, Event::RxPacket);
        }
        if packet.is_first() {
            self.let_go(now, 1, ports);
            self.first(now, &packet, fabric, ports);
        } else {
            self.payload(now, &packet, fabric, ports);
        }
    }
    /// A message that finds every stream in use waits, and all packets behind it, if a stream will be freed
    /// without them: one whose message has come whole. If every stream still misses packets, they may be
    /// behind this one, and waiting could last for ever: that is the CAM overflow. Where the firmware
    /// recovers, nothing waits for a stream: the message is dropped, and comes again.
    fn must_wait(&self, fabric: &Fabric) -> bool {
        if !self.queue.front().is_some_and(Packet::is_first) {
            return false;
        }
        let told = fabric.params.recovers && self.done.room() < KEPT_FOR_OTHERS;
        told || !fabric.params.recovers && self.cam.is_full() && self.whole > 0
    }
    /// The firmware has taken notifications.
    pub(crate) fn done_taken(&mut self, now: Time, fabric: &Fabric, ports: &mut impl Ports) {
        if fabric.params.recovers && !self.must_wait(fabric) && std::mem::take(&mut self.stalled) {
            ports.schedule(now + fabric.params.rx_packet, Event::RxPacket);
        }
    }
    fn first(&mut self, now: Time, packet: &Packet, fabric: &mut Fabric, ports: &mut impl Ports) {
        if packet.data().len() < PortalsHeader::SIZE {
            // A first packet without a whole header: no engine of ours sends that.
            fabric.counters.rx_dropped_packets += 1;
            return;
        }
        let Some(index) = self.cam.allocate(packet) else {
            fabric.counters.cam_overflows += 1;
            fabric.counters.rx_dropped_packets += 1;
            let at = now + fabric.params.rx_notify;
            let at = if fabric.params.recovers { at.max(self.announced) } else { at };
            ports.schedule(at, Event::RxOverflow { routing: Routing::of(packet) });
            return;
        };
        let counters = &mut fabric.counters;
        counters.rx_messages += 1;
        counters.cam_in_use = self.cam.in_use() as u64;
        counters.cam_in_use_max = counters.cam_in_use_max.max(counters.cam_in_use);
        let slot = RX_HEADER_BASE + u32::from(index) * RX_HEADER_SIZE;
        fabric.sram.write(u64::from(slot), packet.data()).expect("the header slots lie in SRAM");
        ports.sram_written(u64::from(slot), packet.data().len());
        let stored = fabric.plb.write(now, packet.data().len(), fabric.params.sram_write);
        self.cam.stream(index).crc.update(packet.data());
        if packet.is_last() {
            self.arrived(now, index, packet, fabric, ports);
        }
        let error = self.cam.stream(index).error;
        let event = Event::RxAnnounce { stream: index, error, routing: Routing::of(packet) };
        self.announced = stored + fabric.params.rx_notify;
        ports.schedule(self.announced, event);
    }
    fn payload(&mut self, now: Time, packet: &Packet, fabric: &mut Fabric, ports: &mut impl Ports) {
        let Found::Stream(index) = self.cam.find(packet) else {
            fabric.counters.rx_dropped_packets += 1;
            return self.let_go(now, 1, ports);
        };
        let stream = self.cam.stream(index);
        stream.held += 1;
        stream.take(packet);
        self.buffered += u64::from(packet.size);
        let most = &mut fabric.counters.rx_buffered_bytes_max;
        *most = (*most).max(self.buffered);
        if packet.is_last() {
            self.arrived(now, index, packet, fabric, ports);
        } else {
            self.serve(now, index, fabric, ports);
        }
    }
    /// A stream's last packet has come.
    fn arrived(
        &mut self,
        now: Time,
        index: u16,
        packet: &Packet,
        fabric: &mut Fabric,
        ports: &mut impl Ports,
    ) {
        let stream = self.cam.stream(index);
        stream.arrived = true;
        self.whole += 1;
        stream.buffer.sum(&mut stream.crc);
        if stream.crc.finish() != packet.crc {
            stream.error = true;
            fabric.counters.rx_crc_errors += 1;
        }
        self.serve(now, index, fabric, ports);
    }
    /// A new message becomes visible to the firmware.
    pub(crate) fn announce(
        &mut self,
        now: Time,
        stream: u16,
        error: bool,
        routing: Routing,
        fabric: &Fabric,
        ports: &mut impl Ports,
    ) {
        let id = self.cam.stream(stream).id;
        let mut word = done::NEW_MESSAGE | u32::from(stream) | if error { done::ERROR } else { 0 };
        if fabric.params.recovers {
            word |= routing.told();
            if error {
                self.notify(now, done::SOURCE | u32::from(routing.source), ports);
            }
        }
        self.notify(now, word, ports);
        ports.mark(now, id, TracePoint::Announced);
    }
    /// A message without a stream becomes visible to the firmware.
    pub(crate) fn overflow(
        &mut self,
        now: Time,
        routing: Routing,
        fabric: &Fabric,
        ports: &mut impl Ports,
    ) {
        self.notify(now, done::CAM_OVERFLOW | u32::from(routing.source), ports);
        if fabric.params.recovers {
            let word = done::OVERFLOW_ROUTING | u32::from(routing.number) | routing.resumed();
            self.notify(now, word, ports);
        }
    }
    /// The oldest completion becomes visible to the firmware.
    pub(crate) fn complete(&mut self, now: Time, ports: &mut impl Ports) {
        let (word, id) = self.completing.pop_front().expect("an event a completion");
        self.notify(now, word, ports);
        ports.mark(now, id, TracePoint::Completed);
    }
    pub(crate) fn notify(&mut self, now: Time, word: u32, ports: &mut impl Ports) {
        if !self.done.push(word) {
            let place = u64::from(RX_DONE_FIFO);
            ports.fault(now, command_fault(place, "the receive notification FIFO is full"));
        }
    }

    /// The firmware has moved the tail; the engine sees it at `now`.
    pub(crate) fn tail_moved(&mut self, now: Time, fabric: &Fabric, ports: &mut impl Ports) {
        if !self.taking && self.commands.head != self.commands.tail() {
            self.taking = true;
            ports.schedule(now + fabric.params.rx_start, Event::RxTake);
        }
    }
    /// The engine takes a command over into its stream.
    pub(crate) fn take(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        self.taking = false;
        let head = self.commands.head;
        if head == self.commands.tail() {
            return; // the firmware has moved the tail back
        }
        self.commands.head = CommandFifo::after(head);
        if self.commands.head != self.commands.tail() {
            self.taking = true;
            ports.schedule(now + fabric.params.rx_command, Event::RxTake);
        }
        match self.accept(head) {
            Ok(None) => {}
            Ok(Some((index, first))) => {
                if first {
                    ports.mark(now, self.cam.stream(index).id, TracePoint::Commanded);
                }
                self.serve(now, index, fabric, ports);
            }
            Err(why) => ports.fault(now, command_fault(self.commands.address(head), why)),
        }
    }
    /// Gives the command at `entry` to its stream; returns the stream, and whether it is its first
    /// command.
    fn accept(&mut self, entry: u32) -> Result<Option<(u16, bool)>, &'static str> {
        let command = self.commands.command(entry);
        let discard = match command.op {
            dma_op::NOP => return Ok(None),
            dma_op::PAYLOAD => false,
            dma_op::DISCARD => true,
            _ => return Err("unknown operation of a receive command"),
        };
        let addr = match discard {
            true => Some(0),
            false => host_address(command.addr_hi, command.addr_lo),
        };
        let addr = addr.ok_or("host address of more than 40 bits")?;
        let stream = self.cam.get_mut(command.peer);
        let stream = stream.ok_or("receive command for a stream that is not in flight")?;
        if stream.closed {
            return Err("receive command behind the last of its message");
        }
        let last = command.flags & dma_flag::LAST != 0;
        stream.closed = last;
        let first = !std::mem::replace(&mut stream.commanded, true);
        stream.commands.push_back(Command {
            discard,
            last,
            tag: command.tag,
            addr,
            left: command.length,
            place: self.commands.address(entry),
        });
        Ok(Some((command.peer, first)))
    }
    /// The way to the host is free: the stream that has waited longest goes on.
    pub(crate) fn deposit(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        self.deposit_event = false;
        if let Some(index) = self.waiting.pop_front() {
            self.cam.stream(index).waiting = false;
            self.serve(now, index, fabric, ports);
        }
        self.arm(ports);
    }
    fn arm(&mut self, ports: &mut impl Ports) {
        if !self.waiting.is_empty() && !self.deposit_event {
            self.deposit_event = true;
            ports.schedule(self.deposit_free, Event::RxDeposit);
        }
    }

    /// Does what a stream's commands and payload allow now.
    fn serve(&mut self, now: Time, index: u16, fabric: &mut Fabric, ports: &mut impl Ports) {
        self.carry_out(now, index, fabric, ports);
        let gone = self.cam.stream(index).packets_done();
        self.let_go(now, gone, ports);
    }
    fn carry_out(&mut self, now: Time, index: u16, fabric: &mut Fabric, ports: &mut impl Ports) {
        loop {
            let stream = self.cam.stream(index);
            let Some(command) = stream.commands.front_mut() else { return };
            if command.left > 0 && stream.buffer.is_empty() {
                if !stream.arrived {
                    return;
                }
                if !stream.error {
                    let why = "receive commands ask for more bytes than the message has";
                    ports.fault(now, command_fault(command.place, why));
                }
                // With a wrong CRC it is the message that is short: packets were lost.
                command.left = 0;
                stream.error = true;
            }
            if command.left == 0 {
                if !command.last {
                    stream.commands.pop_front();
                    continue;
                }
                // Bytes behind the end of the last command have no destination, and are removed.
                stream.excess |= !stream.buffer.is_empty();
                self.buffered -= stream.buffer.len() as u64;
                stream.buffer.clear();
                if stream.arrived {
                    self.finish(now, index, fabric, ports);
                }
                return;
            }
            let count = stream.buffer.len().min(command.left as usize);
            if command.discard {
                command.left -= count as u32;
                stream.buffer.leave(count);
                self.buffered -= count as u64;
                fabric.counters.rx_discarded_bytes += count as u64;
            } else if now < self.deposit_free || self.deposit_event {
                if !stream.waiting {
                    stream.waiting = true;
                    self.waiting.push_back(index);
                }
                return self.arm(ports);
            } else {
                self.deposit_packet(now, index, count.min(PAYLOAD_BYTES), fabric, ports);
            }
        }
    }
    /// Sends `count` bytes of a stream to where its oldest command wants them.
    fn deposit_packet(
        &mut self,
        now: Time,
        index: u16,
        count: usize,
        fabric: &mut Fabric,
        ports: &mut impl Ports,
    ) {
        let stream = self.cam.stream(index);
        let command = stream.commands.front_mut().expect("a deposit has a command");
        let addr = command.addr;
        command.addr += count as u64;
        command.left -= count as u32;
        let contiguous = stream.gather_addr + stream.gather.len() as u64 == addr;
        if !stream.gather.is_empty() && (!contiguous || stream.gather.len() >= GATHER) {
            let (addr, data) = (stream.gather_addr, &mut stream.gather);
            fabric.posted.deposit(now.max(stream.written), index, addr, data, ports);
        }
        if stream.gather.is_empty() {
            stream.gather_addr = addr;
        }
        stream.gather.extend_from_slice(&stream.buffer.all()[..count]);
        stream.buffer.leave(count);
        stream.written = fabric.send_write(now, addr, count as u64, ports);
        let data = now + fabric.params.dma_time(count as u64);
        self.deposit_free = ports.link().free_at(Direction::ToHost).max(data);
        self.buffered -= count as u64;
        fabric.counters.rx_deposited_bytes += count as u64;
    }
    /// The last command of a stream is done and its last packet has come.
    fn finish(&mut self, now: Time, index: u16, fabric: &mut Fabric, ports: &mut impl Ports) {
        let stream = self.cam.stream(index);
        let command = stream.commands.pop_front().expect("the last command");
        // With a wrong CRC it is the message that is long: packets came twice.
        if stream.excess && !stream.error {
            let why = "receive commands end before the message does";
            ports.fault(now, command_fault(command.place, why));
            stream.error = true;
        }
        if !stream.gather.is_empty() {
            let (addr, data) = (stream.gather_addr, &mut stream.gather);
            fabric.posted.deposit(now.max(stream.written), index, addr, data, ports);
        }
        let error = if stream.error { done::ERROR } else { 0 };
        let word = done::COMPLETE | u32::from(command.tag) | error;
        self.completing.push_back((word, stream.id));
        ports.mark(now.max(stream.written), stream.id, TracePoint::Deposited);
        ports.schedule(now + fabric.params.rx_notify, Event::RxDone);
        self.cam.release(index);
        self.whole -= 1;
        if std::mem::take(&mut self.stalled) {
            ports.schedule(now + fabric.params.rx_packet, Event::RxPacket);
        }
        fabric.counters.rx_completed += 1;
        fabric.counters.cam_in_use = self.cam.in_use() as u64;
    }
}
