//! The transmit engine.
//!
//! Trace vocabulary (events): TxTake takes a command; TxAnswer: the oldest read's data leave host
//! memory; TxData: they have passed the packetiser; TxPort: the port to the network is free;
//! TxDone: a completion becomes visible.
//!
//! ```text
//!   command FIFO -> take -> reads of host lines (asked) -> answers on the link (coming)
//!                -> packetiser, CRC -> staged packets -> port -> completion FIFO
//! ```
//! All stages work at once: while packets leave, lines of the same and of later commands are read.
//! A message's header is its first packet; the payload of all its commands is one string of bytes,
//! cut into full packets.

use crate::crc::Crc;
use crate::fabric::{command_fault, host_address, Fabric, LINE};
use crate::fifo::{CommandFifo, DoneFifo};
use crate::{Event, Ports, TracePoint};
use abi::packet::{flag, Packet, PAYLOAD_BYTES};
use abi::seastar::{dma_flag, dma_op, done, PortalsHeader, TX_FIFO};
use abi::MessageId;
use bus::{BusError, Direction};
use des::Time;
use std::collections::VecDeque;

/// Host memory is read ahead, outside of simulated time, in pieces of at most this many bytes.
pub(crate) const READ_AHEAD: u32 = 1024;

/// A command that the engine has taken and not finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) header: bool,
    pub(crate) last: bool,
    pub(crate) tag: u16,
    pub(crate) peer: u16,
    pub(crate) id: MessageId,
    /// Number of a header's message, if the firmware recovers, and whether it is sent again.
    pub(crate) number: u16,
    pub(crate) resumed: bool,
    /// Some of its bytes could not be read.
    pub(crate) error: bool,
}

/// Part of the newest command that is not yet requested from the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) addr: u64,
    pub(crate) left: u32,
    /// Bytes of it read ahead and not requested.
    pub(crate) ahead: u32,
}

/// A read under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// It comes from local memory, not over the link.
    pub(crate) local: bool,
    pub(crate) bytes: u8,
    /// Commands that end with it: its own and empty ones that follow.
    pub(crate) ends: u8,
}

/// A packet that waits for the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staged {
    pub(crate) packet: Packet,
    pub(crate) completion: Option<u32>,
}

/// Work that the engine has taken and not given to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderWay {
    /// Nothing: the next packet is a header that it must fetch.
    Nothing,
    /// A message of a header alone.
    Header {
        /// Destination node.
        dest: u16,
    },
    /// More than that.
    Packets,
}

/// The engine. The fields that its node reads in each turn come first (`reach`).
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Tx {
    pub(crate) in_message: bool,
    pub(crate) taking: bool,
    pub(crate) port_event: bool,
    pub(crate) port_blocked: bool,
    pub(crate) poisoned: bool,
    pub(crate) nid: u16,
    pub(crate) message: u16,
    pub(crate) next: u32,
    pub(crate) region: Option<Region>,
    pub(crate) taken: VecDeque<Taken>,
    pub(crate) asked: VecDeque<Piece>,
    pub(crate) coming: VecDeque<Piece>,
    pub(crate) staged: VecDeque<Staged>,
    pub(crate) take_at: Time,
    pub(crate) packetiser_free: Time,
    pub(crate) port_free: Time,
    /// Time from which the next read's data leave their memory: in the order of the requests, at the rate of
    /// DMA.
    pub(crate) next_data: Time,
    pub(crate) commands: CommandFifo,
    pub(crate) done: DoneFifo,
    /// Lines requested, and payload bytes put into packets, since power-on.
    pub(crate) lines: u64,
    pub(crate) absorbed: u64,
    /// Value of `absorbed` when the message's payload began.
    pub(crate) payload_start: u64,
    /// Bytes read from host memory, and how many of them are in packets.
    pub(crate) bytes: Vec<u8>,
    pub(crate) used: usize,
    /// Number of them that the CRC has taken in, or need not: it takes many at once.
    pub(crate) summed: usize,
    pub(crate) packet: Packet,
    pub(crate) crc: Crc,
    pub(crate) leaving: Option<(u32, MessageId)>,
    pub(crate) completing: VecDeque<(u32, MessageId)>,
}

impl Tx {
    pub(crate) fn new(nid: u16) -> Tx {
        Tx {
            commands: CommandFifo::new(TX_FIFO),
            done: DoneFifo::new(),
            nid,
            next: 0,
            take_at: Time::ZERO,
            taking: false,
            in_message: false,
            taken: VecDeque::new(),
            region: None,
            lines: 0,
            absorbed: 0,
            payload_start: 0,
            bytes: Vec::new(),
            used: 0,
            summed: 0,
            asked: VecDeque::new(),
            coming: VecDeque::new(),
            packetiser_free: Time::ZERO,
            next_data: Time::ZERO,
            packet: Packet::default(),
            crc: Crc::default(),
            message: 0,
            poisoned: false,
            staged: VecDeque::new(),
            port_free: Time::ZERO,
            port_event: false,
            port_blocked: false,
            leaving: None,
            completing: VecDeque::new(),
        }
    }
    /// The engine of another node.
    pub(crate) fn set_nid(&mut self, nid: u16) {
        self.nid = nid;
    }
    /// True if the command that is taken next begins a message, with its header in host memory.
    pub(crate) fn is_between_messages(&self) -> bool {
        !self.in_message
    }
    /// Work in progress.
    pub(crate) fn under_way(&self) -> UnderWay {
        let staged = !self.staged.is_empty() || self.port_blocked;
        if self.in_message || self.region.is_some() || staged {
            return UnderWay::Packets;
        }
        match (self.asked.len() + self.coming.len(), self.taken.len(), self.taken.front()) {
            (0, 0, _) => UnderWay::Nothing,
            (1, 1, Some(command)) if command.header && command.last => {
                UnderWay::Header { dest: command.peer }
            }
            _ => UnderWay::Packets,
        }
    }
    /// No packet waits for the port.
    pub(crate) fn has_none_staged(&self) -> bool {
        self.staged.is_empty()
    }
    /// The firmware has moved the tail; the engine sees it at `now`.
    pub(crate) fn tail_moved(&mut self, now: Time, fabric: &Fabric, ports: &mut impl Ports) {
        if !self.taking && self.region.is_none() && self.next != self.commands.tail() {
            self.taking = true;
            self.take_at = self.take_at.max(now + fabric.params.tx_start);
            ports.schedule(self.take_at, Event::TxTake);
        }
    }
    /// The engine is ready to take a command.
    pub(crate) fn take(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        self.taking = false;
        self.fetch(now, fabric, ports);
        self.pump(now, fabric, ports);
    }
    /// The oldest read's data leave host memory.
    pub(crate) fn answer(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        let piece = self.asked.pop_front().expect("an answer a request");
        let bytes = fabric.params.ht_response_bytes + u64::from(piece.bytes);
        let arrival = match piece.local {
            true => now,
            false => ports.link().send(now, Direction::ToNic, bytes),
        };
        self.packetiser_free = arrival.max(self.packetiser_free) + fabric.params.tx_packet;
        ports.schedule(self.packetiser_free, Event::TxData);
        self.coming.push_back(piece);
    }
    /// The oldest answer has passed the packetiser.
    pub(crate) fn data(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        let piece = self.coming.pop_front().expect("data that an answer announced");
        self.absorb(usize::from(piece.bytes), piece.ends > 0, fabric.params.recovers);
        for _ in 0..piece.ends {
            self.end_command();
        }
        self.pump(now, fabric, ports);
        self.fetch(now, fabric, ports);
    }
    /// True if a command ends with the oldest data: the head register moves.
    pub(crate) fn ends_command(&self) -> bool {
        self.coming.front().is_some_and(|piece| piece.ends > 0)
    }
    /// The port to the network is free.
    pub(crate) fn port(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        self.port_event = false;
        self.pump(now, fabric, ports);
        self.fetch(now, fabric, ports);
    }
    /// Time at which the port to the network is free, if a packet is on it at `now`.
    pub(crate) fn port_busy(&self, now: Time) -> Option<Time> {
        (self.port_free > now).then_some(self.port_free)
    }
    pub(crate) fn port_taken(&mut self, until: Time) {
        self.port_free = until;
    }
    /// The network has lifted its back-pressure.
    pub(crate) fn unblock(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        assert!(self.port_blocked, "the port was blocked");
        self.port_blocked = false;
        self.port_free = self.port_free.max(now);
        self.pump(now, fabric, ports);
        self.fetch(now, fabric, ports);
    }
    /// The oldest completion becomes visible.
    pub(crate) fn complete(&mut self, now: Time, ports: &mut impl Ports) {
        let (word, id) = self.completing.pop_front().expect("an event a completion");
        if !self.done.push(word) {
            let place = u64::from(abi::seastar::TX_DONE_FIFO);
            ports.fault(now, command_fault(place, "the transmit completion FIFO is full"));
        }
        ports.mark(now, id, TracePoint::Departed);
    }

    /// Line buffers in use.
    fn buffers(&self) -> usize {
        self.asked.len() + self.coming.len() + self.staged.len()
    }
    /// Asks for as many lines as there are buffers, taking commands on the way.
    fn fetch(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        while self.buffers() < fabric.params.tx_buffers {
            if let Some(region) = self.region {
                self.ask(now, region, fabric, ports);
            } else if self.next == self.commands.tail() || self.taking {
                return;
            } else if now < self.take_at {
                self.taking = true;
                ports.schedule(self.take_at, Event::TxTake);
                return;
            } else {
                self.take_at = now + fabric.params.tx_command;
                self.take_command(now, fabric, ports);
            }
        }
    }
    fn take_command(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        let place = self.commands.address(self.next);
        let command = self.commands.command(self.next);
        self.next = CommandFifo::after(self.next);
        let local = command.op == dma_op::LOCAL_HEADER;
        let header = command.op == dma_op::HEADER || local;
        let wrong = match command.op {
            dma_op::NOP => None,
            dma_op::HEADER | dma_op::LOCAL_HEADER if self.in_message => {
                Some("header command inside of a message")
            }
            dma_op::HEADER | dma_op::LOCAL_HEADER if command.addr_lo % 4 != 0 => {
                Some("header at an unaligned address")
            }
            dma_op::LOCAL_HEADER if !fabric.params.local_headers => {
                Some("unknown operation of a transmit command")
            }
            dma_op::LOCAL_HEADER => None,
            dma_op::PAYLOAD if !self.in_message => Some("payload command outside of a message"),
            dma_op::HEADER | dma_op::PAYLOAD => None,
            _ => Some("unknown operation of a transmit command"),
        };
        let addr = host_address(command.addr_hi, command.addr_lo);
        let wrong = wrong.or(addr.is_none().then_some("host address of more than 40 bits"));
        if let Some(why) = wrong {
            ports.fault(now, command_fault(place, why));
        }
        if wrong.is_some() || command.op == dma_op::NOP {
            self.taken.push_back(Taken {
                header: false,
                last: false,
                tag: 0,
                peer: 0,
                id: MessageId::default(),
                number: 0,
                resumed: false,
                error: false,
            });
            return self.end_with_newest();
        }
        let last = command.flags & dma_flag::LAST != 0;
        self.in_message = !last;
        let mut taken = Taken {
            header,
            last,
            tag: command.tag,
            peer: command.peer,
            id: MessageId::default(),
            number: command.length as u16,
            resumed: command.flags & dma_flag::RESUMED != 0,
            error: false,
        };
        let left = if header { PortalsHeader::SIZE as u32 } else { command.length };
        let region = Region { addr: addr.unwrap_or_default(), left, ahead: 0 };
        if local {
            return self.take_local(now, taken, command.addr_lo.into(), fabric, ports);
        }
        if header {
            taken.error = self.read_ahead(region.addr, left, fabric, ports).is_err();
            let header = &self.bytes[self.bytes.len() - PortalsHeader::SIZE..];
            taken.id = MessageId::of_header(header).expect("64 bytes were read");
            ports.mark(now, taken.id, TracePoint::HeaderFetched);
        }
        self.taken.push_back(taken);
        if left == 0 {
            return self.end_with_newest();
        }
        self.region = Some(Region { ahead: if header { left } else { 0 }, ..region });
    }
    /// An empty command ends with the newest request; with nothing under way it ends now.
    fn end_with_newest(&mut self) {
        match self.coming.back_mut().filter(|_| self.asked.is_empty()).or(self.asked.back_mut()) {
            Some(piece) => piece.ends += 1,
            None => self.end_command(),
        }
    }
    /// Asks for the next line of the newest command.
    fn ask(&mut self, now: Time, mut region: Region, fabric: &Fabric, ports: &mut impl Ports) {
        self.lines += 1;
        let line = (LINE - region.addr % LINE) as u32;
        let bytes = line.min(region.left);
        while region.ahead < bytes {
            let more = (region.left - region.ahead).min(READ_AHEAD);
            let next = region.addr + u64::from(region.ahead);
            if self.read_ahead(next, more, fabric, ports).is_err() {
                self.taken.back_mut().expect("the region's command is taken").error = true;
            }
            region.ahead += more;
        }
        region.addr += u64::from(bytes);
        region.left -= bytes;
        region.ahead -= bytes;
        let ends = u8::from(region.left == 0);
        self.region = (region.left > 0).then_some(region);
        let leaves = fabric.request(now, ports).max(self.next_data);
        self.next_data = leaves + fabric.params.dma_time(bytes.into());
        ports.schedule(leaves, Event::TxAnswer);
        self.asked.push_back(Piece { local: false, bytes: bytes as u8, ends });
    }
    /// Appends host memory to the bytes read ahead; zeros if nothing answers. Those that may be in
    /// flight stay known.
    fn read_ahead(
        &mut self,
        addr: u64,
        len: u32,
        fabric: &Fabric,
        ports: &mut impl Ports,
    ) -> Result<(), BusError> {
        let known = fabric.params.in_flight as usize;
        if self.used >= 4 * (known + READ_AHEAD as usize) {
            self.sum();
            self.bytes.drain(..self.used - known);
            self.used = known;
            self.summed = known;
        }
        let start = self.bytes.len();
        self.bytes.resize(start + len as usize, 0);
        let result = ports.host_read(addr, &mut self.bytes[start..]);
        if result.is_err() {
            self.bytes[start..].fill(0);
        }
        result
    }
    /// Takes the next `len` bytes into packets. A packet that is full at the end of a command waits
    /// until it is known whether the message ends with it.
    fn absorb(&mut self, mut len: usize, ends: bool, recovers: bool) {
        let newest = *self.taken.front().expect("bytes belong to a command");
        if newest.header && self.packet.size == 0 {
            self.begin_message(&newest, recovers);
        }
        self.absorbed += len as u64;
        while len > 0 {
            let size = usize::from(self.packet.size);
            let count = len.min(PAYLOAD_BYTES - size);
            let bytes = &self.bytes[self.used..self.used + count];
            self.packet.payload[size..size + count].copy_from_slice(bytes);
            self.used += count;
            self.packet.size += count as u8;
            len -= count;
            if self.packet.size as usize == PAYLOAD_BYTES && (len > 0 || !ends) {
                self.seal(0, None);
            }
        }
    }
    /// Adds the bytes in packets to the CRC.
    pub(crate) fn sum(&mut self) {
        self.crc.update(&self.bytes[self.summed..self.used]);
        self.summed = self.used;
    }
    fn begin_message(&mut self, header: &Taken, recovers: bool) {
        self.summed = self.used;
        self.message = if recovers { header.number } else { self.message.wrapping_add(1) };
        self.poisoned = false;
        self.packet.dest = header.peer;
        self.packet.source = self.nid;
        self.packet.message = self.message;
        self.packet.id = header.id;
    }
    /// The oldest command has given all its bytes.
    fn end_command(&mut self) {
        let command = self.taken.pop_front().expect("a command ends once");
        if command.header {
            self.payload_start = self.absorbed;
        }
        self.commands.head = CommandFifo::after(self.commands.head);
        self.poisoned |= command.error;
        let resumed = if command.resumed { flag::RESUMED } else { 0 };
        let first = if command.header { flag::FIRST | resumed } else { 0 };
        if command.last {
            // A message that could not be read whole leaves with a wrong CRC, so that nobody takes
            // it for good.
            self.sum();
            let error = if self.poisoned { done::ERROR } else { 0 };
            self.packet.crc = self.crc.finish() ^ if self.poisoned { u32::MAX } else { 0 };
            let word = done::COMPLETE | u32::from(command.tag) | error;
            self.seal(first | flag::LAST, Some(word));
        } else if usize::from(self.packet.size) == PAYLOAD_BYTES {
            self.seal(first, None);
        }
    }
    fn seal(&mut self, flags: u8, completion: Option<u32>) {
        self.packet.flags = flags;
        self.staged.push_back(Staged { packet: self.packet, completion });
        self.packet.size = 0;
        self.packet.crc = 0;
    }
    /// Gives packets to the network as long as it takes them.
    fn pump(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        while !self.port_blocked && now >= self.port_free {
            if let Some(completion) = self.leaving.take() {
                self.completing.push_back(completion);
                ports.schedule(now + fabric.params.tx_complete, Event::TxDone);
            }
            let Some(staged) = self.staged.pop_front() else { return };
            if staged.packet.is_first() {
                ports.mark(now, staged.packet.id, TracePoint::Injected);
            }
            fabric.counters.tx_packets += 1;
            fabric.counters.tx_bytes += u64::from(staged.packet.size);
            if let Some(word) = staged.completion {
                fabric.counters.tx_messages += 1;
                fabric.counters.tx_errors += u64::from(word & done::ERROR != 0);
                self.leaving = Some((word, staged.packet.id));
            }
            match ports.inject(now, staged.packet) {
                Time::NEVER => {
                    self.port_blocked = true;
                    fabric.counters.tx_blocked += 1;
                }
                free => self.port_free = free,
            }
        }
        let wanted = !self.staged.is_empty() || self.leaving.is_some();
        if wanted && !self.port_blocked && !self.port_event {
            self.port_event = true;
            ports.schedule(self.port_free, Event::TxPort);
        }
    }
}
