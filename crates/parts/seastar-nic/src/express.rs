//! The control class: packets of sixteen bytes that come through when messages are stuck. Firmware speaks to
//! firmware with them.
//!
//! Trace vocabulary (events): CtlTake takes a command; CtlStore: the oldest packet goes to its place in SRAM;
//! CtlNotify: it becomes visible.
//!
//! ```text
//!   command FIFO -> port                                   (an entry is the packet)
//!   packets -> slots in SRAM -> notification FIFO
//! ```
//! The port to the network is the transmit engine's too, a packet at a time. Packets for which no slot is
//! free wait in the chip, and those behind them in the network, in channels of their own.

use crate::fabric::Fabric;
use crate::fifo::CommandFifo;
use crate::rx::Rx;
use crate::tx::Tx;
use crate::{Event, Ports};
use abi::packet::{flag, Packet};
use abi::seastar::{done, ControlPacket, CONTROL_SLOTS, CONTROL_SLOT_BASE, TX_CONTROL_FIFO};
use des::Time;
use std::collections::VecDeque;

const BYTES: usize = ControlPacket::SIZE;

/// Both ways of the control class.
#[derive(Clone, Debug)]
pub(crate) struct Express {
    pub(crate) commands: CommandFifo,
    taking: bool,
    /// The network takes no packet of the class.
    blocked: bool,
    /// Packets that have come and have no slot.
    waiting: VecDeque<Packet>,
    storing: bool,
    /// The oldest slot in use (the firmware moves it), and the next to fill.
    pub(crate) head: u32,
    pub(crate) tail: u32,
    /// Slots that are filled and not visible yet.
    told: VecDeque<u32>,
}

impl Express {
    pub(crate) fn new() -> Express {
        Express {
            commands: CommandFifo::new(TX_CONTROL_FIFO),
            taking: false,
            blocked: false,
            waiting: VecDeque::new(),
            storing: false,
            head: 0,
            tail: 0,
            told: VecDeque::new(),
        }
    }
    /// Nothing of the class is under way in this chip.
    pub(crate) fn is_idle(&self) -> bool {
        self.commands.head == self.commands.tail()
            && self.waiting.is_empty()
            && self.told.is_empty()
    }
    /// Packets that have come and have no slot.
    pub(crate) fn held(&self) -> u32 {
        self.waiting.len() as u32
    }
    /// The firmware has moved the tail; the chip sees it at `now`.
    pub(crate) fn tail_moved(&mut self, now: Time, fabric: &Fabric, ports: &mut impl Ports) {
        if !self.taking && !self.blocked && self.commands.head != self.commands.tail() {
            self.taking = true;
            ports.schedule(now + fabric.params.tx_start + fabric.params.tx_packet, Event::CtlTake);
        }
    }
    /// The oldest command's packet leaves, if the port is free.
    pub(crate) fn take(
        &mut self,
        now: Time,
        tx: &mut Tx,
        fabric: &mut Fabric,
        ports: &mut impl Ports,
    ) {
        self.taking = false;
        if self.commands.head == self.commands.tail() {
            return; // the firmware has moved the tail back
        }
        if let Some(free) = tx.port_busy(now) {
            self.taking = true;
            return ports.schedule(free, Event::CtlTake);
        }
        let mut packet = Packet { source: tx.nid, flags: flag::CONTROL, ..Packet::default() };
        let entry = self.commands.bytes(self.commands.head);
        packet.payload[..BYTES].copy_from_slice(entry);
        packet.size = BYTES as u8;
        packet.dest = ControlPacket::parse(entry).expect("the FIFO holds whole entries").peer;
        self.commands.head = CommandFifo::after(self.commands.head);
        fabric.counters.control_sent += 1;
        match ports.inject(now, packet) {
            Time::NEVER => self.blocked = true,
            free => {
                tx.port_taken(free);
                if self.commands.head != self.commands.tail() {
                    self.taking = true;
                    ports.schedule(free, Event::CtlTake);
                }
            }
        }
    }
    /// The network takes packets of the class again.
    pub(crate) fn unblock(&mut self, now: Time, fabric: &Fabric, ports: &mut impl Ports) {
        assert!(self.blocked, "the class was blocked");
        self.blocked = false;
        self.tail_moved(now, fabric, ports);
    }
    /// A packet comes from the network.
    pub(crate) fn packet(
        &mut self,
        now: Time,
        packet: Packet,
        fabric: &mut Fabric,
        ports: &mut impl Ports,
    ) {
        fabric.counters.control_received += 1;
        self.waiting.push_back(packet);
        self.store_next(now, fabric, ports);
    }
    /// The firmware has taken the packets in the slots before `head`.
    pub(crate) fn head_moved(
        &mut self,
        now: Time,
        head: u32,
        fabric: &Fabric,
        ports: &mut impl Ports,
    ) -> Result<(), &'static str> {
        if head >= CONTROL_SLOTS {
            return Err("index beyond the control slots");
        }
        self.head = head;
        self.store_next(now, fabric, ports);
        Ok(())
    }
    fn store_next(&mut self, now: Time, fabric: &Fabric, ports: &mut impl Ports) {
        let room = (self.tail + 1) % CONTROL_SLOTS != self.head;
        if room && !self.storing && !self.waiting.is_empty() {
            self.storing = true;
            ports.schedule(now + fabric.params.rx_packet, Event::CtlStore);
        }
    }
    /// The oldest packet goes to its slot.
    pub(crate) fn store(&mut self, now: Time, fabric: &mut Fabric, ports: &mut impl Ports) {
        self.storing = false;
        let packet = self.waiting.pop_front().expect("an event a packet");
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&packet.payload[..BYTES]);
        let sent = ControlPacket::parse(&bytes).expect("its size");
        ControlPacket { peer: packet.source, ..sent }.emit(&mut bytes);
        let place = u64::from(CONTROL_SLOT_BASE) + u64::from(self.tail) * BYTES as u64;
        fabric.sram.write(place, &bytes).expect("the slots lie in SRAM");
        ports.sram_written(place, BYTES);
        let stored = fabric.plb.write(now, BYTES, fabric.params.sram_write);
        self.told.push_back(self.tail);
        self.tail = (self.tail + 1) % CONTROL_SLOTS;
        ports.schedule(stored + fabric.params.rx_notify, Event::CtlNotify);
        ports.control_room(now, 1);
        self.store_next(now, fabric, ports);
    }
    /// The oldest slot becomes visible.
    pub(crate) fn notify(&mut self, now: Time, rx: &mut Rx, ports: &mut impl Ports) {
        let slot = self.told.pop_front().expect("an event a slot");
        rx.notify(now, done::CONTROL | slot, ports);
    }
}
