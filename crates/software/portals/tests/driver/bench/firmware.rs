//! Model of the firmware as the host sees it.

use super::{Happening, Queue};
use abi::seastar::*;
use abi::MessageId;
use des::{Duration, Random, Time};
use host::Memory;
use std::collections::BTreeMap;

const LINK: Duration = Duration::from_ns(200);

/// Fault of a message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The payload (or the header, if there is none) is damaged.
    Damaged,
    /// The transmit engine reports an error and nothing is sent.
    Refused,
}

/// Behaviour of the firmware.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Takes messages with inline payload in one event.
    pub inline: bool,
    /// Time for a command.
    pub command: Duration,
    /// Deposits take up to this much longer, at random, so that they end out of order.
    pub jitter: Duration,
    /// Faults of a node's messages, by serial number.
    pub fates: BTreeMap<(u16, u32), Fate>,
    /// Streams for messages with payload. If they, or pendings, run out, the kernel is told (`Config::recovers`).
    pub streams: usize,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            inline: true,
            command: Duration::from_ns(300),
            jitter: Duration::ZERO,
            fates: BTreeMap::new(),
            streams: usize::MAX,
        }
    }
}

/// A message on the wire.
#[derive(Clone)]
pub struct Message {
    header: PortalsHeader,
    payload: Vec<u8>,
    damaged: bool,
    number: u16,
}

/// A message that waits for its receive command, or is being deposited.
struct Announced {
    message: Message,
    command: Option<RxCommand>,
}

pub struct Firmware {
    nid: u16,
    behaviour: Behaviour,
    window: Vec<u8>,
    busy: bool,
    alive: bool,
    upper: u64,
    ring: u64,
    slots: u32,
    next_slot: u32,
    free: Vec<u16>,
    pool: usize,
    announced: BTreeMap<u16, Announced>,
    outgoing: BTreeMap<u16, Option<Message>>,
    /// Time at which the transmit engine has sent everything: messages leave in order.
    sends_until: Time,
    random: Random,
    /// Events about control and refusals that the kernel has not said to have taken, and CONTROL commands.
    told: u16,
    controls: u32,
}

const MAILBOX: u32 = MAILBOX_BASE + GENERIC_PROCESS * MAILBOX_SIZE;

impl Firmware {
    pub fn new(nid: u16, behaviour: Behaviour) -> Firmware {
        let mut firmware = Firmware {
            nid,
            behaviour,
            window: vec![0; HOST_WINDOW_SIZE as usize],
            busy: false,
            alive: false,
            upper: 0,
            ring: 0,
            slots: 0,
            next_slot: 0,
            free: Vec::new(),
            pool: 0,
            announced: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            sends_until: Time::ZERO,
            random: Random::new(u64::from(nid)),
            told: 0,
            controls: 0,
        };
        firmware.set(READY_FLAG, READY_VALUE);
        firmware
    }

    /// Nothing is under way and every receive pending has been given back.
    pub fn idle(&self) -> bool {
        self.outgoing.is_empty() && self.announced.is_empty() && self.free.len() == self.pool
    }

    fn bytes(&self, addr: u32, len: usize) -> &[u8] {
        let at = (addr - HOST_WINDOW_BASE) as usize;
        &self.window[at..at + len]
    }
    pub fn load(&self, addr: u32) -> u32 {
        u32::from_le_bytes(self.bytes(addr, 4).try_into().unwrap())
    }
    fn set(&mut self, addr: u32, value: u32) {
        let at = (addr - HOST_WINDOW_BASE) as usize;
        self.window[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub fn store(&mut self, now: Time, addr: u32, data: &[u8], queue: &mut Queue) {
        let at = (addr - HOST_WINDOW_BASE) as usize;
        self.window[at..at + data.len()].copy_from_slice(data);
        if addr == MAILBOX + mailbox::COMMAND_WRITE as u32 && !self.busy {
            self.busy = true;
            queue.schedule(
                now + self.behaviour.command,
                (usize::from(self.nid), Happening::Firmware),
            );
        }
    }

    /// Physical address behind a local one.
    fn host_address(&self, local: u32) -> u64 {
        let entry = self.load(HTB_MAP + local / WINDOW_SIZE * 4);
        assert_ne!(entry & HTB_VALID, 0, "window {} is not mapped", local / WINDOW_SIZE);
        u64::from(entry & !HTB_VALID) * u64::from(WINDOW_SIZE) + u64::from(local % WINDOW_SIZE)
    }

    fn node(&self) -> usize {
        usize::from(self.nid)
    }

    /// Takes one command.
    pub fn step(&mut self, now: Time, memory: &mut Memory, queue: &mut Queue) {
        let head = self.load(MAILBOX + mailbox::COMMAND_READ as u32);
        let command = self.bytes(MAILBOX + head * COMMAND_SIZE, COMMAND_SIZE as usize).to_vec();
        self.obey(now, &command, memory, queue);
        let head = (head + 1) % COMMAND_COUNT;
        self.set(MAILBOX + mailbox::COMMAND_READ as u32, head);
        self.busy = head != self.load(MAILBOX + mailbox::COMMAND_WRITE as u32);
        if self.busy {
            queue.schedule(now + self.behaviour.command, (self.node(), Happening::Firmware));
        }
    }

    fn obey(&mut self, now: Time, command: &[u8], memory: &mut Memory, queue: &mut Queue) {
        match command[0] {
            command_op::INIT_PROCESS => {
                let init = InitProcessCommand::parse(command).unwrap();
                let base =
                    u64::from(init.upper_pending_hi) << 32 | u64::from(init.upper_pending_lo);
                assert_eq!(base, self.host_address(init.upper_pending_local));
                assert_eq!(base % 128, 0);
                assert!(u32::from(init.num_pendings) <= GENERIC_PENDINGS);
                self.upper = base;
                self.free = (init.pending_tx_limit..init.num_pendings).rev().collect();
                self.pool = self.free.len();
                self.result(0);
            }
            command_op::INIT_EQCB => {
                let init = InitEqcbCommand::parse(command).unwrap();
                assert!(init.count >= 1024 && init.count.is_power_of_two());
                (self.ring, self.slots) = (self.host_address(init.base_local), init.count);
                self.result(1);
            }
            command_op::MARK_ALIVE => {
                self.alive = true;
                self.result(0);
            }
            command_op::TX => self.transmit(now, TxCommand::parse(command).unwrap(), memory, queue),
            command_op::RX => self.deposit(now, RxCommand::parse(command).unwrap(), queue),
            command_op::RELEASE => {
                let pending = ReleaseCommand::parse(command).unwrap().pending;
                assert!(!self.free.contains(&pending) && !self.announced.contains_key(&pending));
                self.free.push(pending);
            }
            command_op::CONTROL => {
                let control = ControlCommand::parse(command).unwrap();
                let kind = u32::from(control.control) << 29;
                let number = u32::from(control.number) << host_event::NUMBER_SHIFT;
                let word = kind | number | u32::from(self.nid);
                let peer = usize::from(control.peer);
                queue.schedule(now + LINK, (peer, Happening::Control(word)));
                self.controls += 1;
                if self.controls % (CONTROL_WINDOW / 2) == 0 {
                    self.tell(now, host_event::ROOM, memory, queue);
                }
            }
            command_op::SEEN => {
                let seen = SeenCommand::parse(command).unwrap().count;
                self.told = self.told.checked_sub(seen).expect("they were posted");
            }
            op => panic!("command {op}"),
        }
    }

    fn result(&mut self, value: u32) {
        let write = self.load(MAILBOX + mailbox::RESULT_WRITE as u32);
        self.set(MAILBOX + mailbox::RESULTS as u32 + write * 4, value);
        self.set(MAILBOX + mailbox::RESULT_WRITE as u32, (write + 1) % RESULT_COUNT);
    }

    fn regions(
        &self,
        addr_hi: u32,
        addr_lo: u32,
        length: u32,
        count: u16,
        list: u32,
    ) -> Vec<(u64, u32)> {
        if count == 0 {
            return vec![(u64::from(addr_hi) << 32 | u64::from(addr_lo), length)];
        }
        let entry = |index: u32| {
            let bytes = self.bytes(list + index * DmaCommand::SIZE as u32, DmaCommand::SIZE);
            let command = DmaCommand::parse(bytes).unwrap();
            assert_eq!(command.op, dma_op::PAYLOAD);
            (u64::from(command.addr_hi) << 32 | u64::from(command.addr_lo), command.length)
        };
        let regions: Vec<_> = (0..u32::from(count)).map(entry).collect();
        assert_eq!(regions.iter().map(|region| region.1).sum::<u32>(), length);
        regions
    }

    fn transmit(&mut self, now: Time, tx: TxCommand, memory: &mut Memory, queue: &mut Queue) {
        let mut bytes = [0; PortalsHeader::SIZE];
        memory.read_phys(self.upper + u64::from(tx.pending) * 128, &mut bytes).unwrap();
        let header = PortalsHeader::parse(&bytes).unwrap();
        assert_eq!((header.source_nid, header.target_nid), (self.nid, tx.peer));
        let mut payload = Vec::new();
        let regions = self.regions(tx.addr_hi, tx.addr_lo, tx.length, tx.dma_count, tx.dma_list);
        for (phys, length) in regions {
            let start = payload.len();
            payload.resize(start + length as usize, 0);
            memory.read_phys(phys, &mut payload[start..]).unwrap();
        }
        let fate = self.behaviour.fates.get(&(self.nid, header.serial)).copied();
        let damaged = fate == Some(Fate::Damaged);
        let message = Message { header, payload, damaged, number: tx.number };
        let message = (fate != Some(Fate::Refused)).then_some(message);
        let begins = self.sends_until.max(now);
        self.sends_until = begins + LINK + Duration(u64::from(tx.length) * 900);
        assert!(self.outgoing.insert(tx.pending, message).is_none(), "pending used twice");
        queue.schedule(self.sends_until, (self.node(), Happening::Sent(tx.pending)));
    }

    pub fn sent(&mut self, now: Time, pending: u16, memory: &mut Memory, queue: &mut Queue) {
        let message = self.outgoing.remove(&pending).unwrap();
        let kind = if message.is_some() { event_type::TX_COMPLETE } else { event_type::ERR_TX };
        if let Some(message) = message {
            let peer = usize::from(message.header.target_nid);
            queue.schedule(now + LINK, (peer, Happening::Arrival(message)));
        }
        self.event(now, kind, pending, memory, queue);
    }

    pub fn arrive(&mut self, now: Time, message: Message, memory: &mut Memory, queue: &mut Queue) {
        assert!(self.alive);
        let payload = !message.payload.is_empty();
        let way = u32::from(message.number & 0x7fff) << host_event::NUMBER_SHIFT
            | u32::from(message.header.source_nid);
        if payload && self.announced.len() >= self.behaviour.streams {
            return self.tell(now, host_event::NO_STREAM | way, memory, queue);
        }
        let Some(pending) = self.free.pop() else {
            return self.tell(now, host_event::NO_PENDING | way, memory, queue);
        };
        let routing = u32::from(message.number) | u32::from(message.header.source_nid) << 16;
        let beside = self.upper + u64::from(pending) * 128 + upper_pending::DATA as u64;
        memory.write_phys(beside, &routing.to_le_bytes()).unwrap();
        let mut bytes = [0; PortalsHeader::SIZE];
        message.header.emit(&mut bytes);
        memory.write_phys(self.upper + u64::from(pending) * 128, &bytes).unwrap();
        assert_eq!(MessageId::of_header(&bytes).unwrap().wire_nid(), message.header.source_nid);
        let inline = message.header.flags & header_flag::INLINE != 0;
        if message.damaged && message.payload.is_empty() {
            return self.event(now, event_type::ERR_RX_HDR_CRC, pending, memory, queue);
        }
        if inline && self.behaviour.inline {
            return self.event(now, event_type::RX_INLINE, pending, memory, queue);
        }
        self.announced.insert(pending, Announced { message, command: None });
        self.event(now, event_type::RX_HEADER, pending, memory, queue);
    }

    fn deposit(&mut self, now: Time, rx: RxCommand, queue: &mut Queue) {
        let announced = self.announced.get_mut(&rx.pending).expect("announced");
        assert!(announced.command.replace(rx).is_none(), "one receive command a message");
        assert!(rx.length as usize <= announced.message.payload.len());
        let more = if self.behaviour.jitter == Duration::ZERO {
            0
        } else {
            self.random.below(self.behaviour.jitter.0)
        };
        let time = LINK + Duration(u64::from(rx.length) * 900 + more);
        queue.schedule(now + time, (self.node(), Happening::Deposited(rx.pending)));
    }

    pub fn deposited(&mut self, now: Time, pending: u16, memory: &mut Memory, queue: &mut Queue) {
        let Announced { message, command } = self.announced.remove(&pending).unwrap();
        let rx = command.unwrap();
        let mut payload = &message.payload[..];
        let regions = self.regions(rx.addr_hi, rx.addr_lo, rx.length, rx.dma_count, rx.dma_list);
        for (phys, length) in regions {
            let (part, rest) = payload.split_at(length as usize);
            memory.write_phys(phys, part).unwrap();
            payload = rest;
        }
        let kind = if message.damaged { event_type::ERR_RX_CRC } else { event_type::RX_COMPLETE };
        self.event(now, kind, pending, memory, queue);
    }

    fn event(
        &mut self,
        now: Time,
        kind: u16,
        pending: u16,
        memory: &mut Memory,
        queue: &mut Queue,
    ) {
        self.post(memory, u32::from(kind) << 16 | u32::from(pending));
        queue.schedule(now + LINK, (self.node(), Happening::Interrupt));
    }

    /// An event that is of no pending.
    pub fn tell(&mut self, now: Time, word: u32, memory: &mut Memory, queue: &mut Queue) {
        self.told += 1;
        self.post(memory, word);
        queue.schedule(now + LINK, (self.node(), Happening::Interrupt));
    }

    pub fn post(&mut self, memory: &mut Memory, word: u32) {
        let at = self.ring + u64::from(self.next_slot) * 4;
        let mut old = [0; 4];
        memory.read_phys(at, &mut old).unwrap();
        assert_eq!(old, [0; 4], "the event ring overflows");
        memory.write_phys(at, &word.to_le_bytes()).unwrap();
        self.next_slot = (self.next_slot + 1) % self.slots;
    }
}
