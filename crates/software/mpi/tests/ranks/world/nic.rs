//! A network interface that does what the host sees of one, and nothing in between: mailbox
//! commands take effect after a moment, messages arrive in order, payloads are read late and
//! deposited out of order.

use abi::seastar::*;
use des::{Duration, EventQueue, Random, Time};
use host::SharedMemory;
use std::collections::VecDeque;

/// Event in the world.
#[derive(Clone, Debug)]
pub enum Event {
    Host(usize, host::Event),
    Reply(usize, u32),
    Nic(usize, Act),
}

/// Action that a network interface takes by itself.
#[derive(Clone, Debug)]
pub enum Act {
    /// Looks into the mailbox.
    Commands,
    /// Reads what the oldest transmit command names, and sends it.
    Send,
    /// A message arrives.
    Arrive(Message),
    /// Puts a payload where the receive command said.
    Deposit { pending: u16, parts: Parts },
}

#[derive(Clone, Debug)]
pub struct Message {
    header: [u8; 64],
    payload: Vec<u8>,
}

/// Physical addresses and lengths.
type Parts = Vec<(u64, u32)>;

pub struct Nic {
    pub node: usize,
    sram: Vec<u8>,
    memory: SharedMemory,
    pendings: u64,
    events: u64,
    slot: u32,
    slots: u32,
    free: Vec<u16>,
    sending: VecDeque<(u16, u16, Parts)>,
    transmit_free_at: Time,
    /// Arrival time of the last message to each node.
    arrivals: Vec<Time>,
    /// Payloads that wait for their receive command.
    payloads: Vec<Vec<u8>>,
    pub random: Random,
    /// Longest time by which a payload may be late.
    pub lateness: Duration,
    /// Payloads arrive damaged.
    pub damage: bool,
}

const BOX: u32 = MAILBOX_BASE + GENERIC_PROCESS * MAILBOX_SIZE;

impl Nic {
    pub fn new(node: usize, nodes: usize, memory: SharedMemory, seed: u64) -> Nic {
        let mut nic = Nic {
            node,
            sram: vec![0; HOST_WINDOW_SIZE as usize],
            memory,
            pendings: 0,
            events: 0,
            slot: 0,
            slots: 1,
            free: Vec::new(),
            sending: VecDeque::new(),
            transmit_free_at: Time::ZERO,
            arrivals: vec![Time::ZERO; nodes],
            payloads: vec![Vec::new(); GENERIC_PENDINGS as usize],
            random: Random::new(seed ^ (node as u64) << 32),
            lateness: Duration::from_us(20),
            damage: false,
        };
        nic.set(READY_FLAG, READY_VALUE);
        nic
    }

    fn at(addr: u32) -> usize {
        (addr - HOST_WINDOW_BASE) as usize
    }
    pub fn word(&self, addr: u32) -> u32 {
        let at = Nic::at(addr);
        u32::from_le_bytes(self.sram[at..at + 4].try_into().unwrap())
    }
    fn set(&mut self, addr: u32, value: u32) {
        let at = Nic::at(addr);
        self.sram[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    fn soon(&mut self, most: Duration) -> Duration {
        Duration(1 + self.random.below(most.0))
    }

    pub fn write(&mut self, now: Time, addr: u32, data: &[u8], queue: &mut EventQueue<Event>) {
        let at = Nic::at(addr);
        self.sram[at..at + data.len()].copy_from_slice(data);
        if addr == BOX + mailbox::COMMAND_WRITE as u32 {
            let at = now + Duration::from_ns(100);
            queue.schedule(at, Event::Nic(self.node, Act::Commands));
        }
    }

    /// Does `act`; true if it interrupts the host.
    pub fn act(&mut self, now: Time, act: Act, queue: &mut EventQueue<Event>) -> bool {
        match act {
            Act::Commands => self.commands(now, queue),
            Act::Send => self.send(now, queue),
            Act::Arrive(message) => self.arrive(message),
            Act::Deposit { pending, parts } => self.deposit(pending, &parts),
        }
    }

    fn commands(&mut self, now: Time, queue: &mut EventQueue<Event>) -> bool {
        let (head, tail) =
            (BOX + mailbox::COMMAND_READ as u32, BOX + mailbox::COMMAND_WRITE as u32);
        while self.word(head) != self.word(tail) {
            let index = self.word(head);
            let at = Nic::at(BOX + index * COMMAND_SIZE);
            let command: [u8; 64] = self.sram[at..at + 64].try_into().unwrap();
            self.command(now, &command, queue);
            self.set(head, (index + 1) % COMMAND_COUNT);
        }
        false
    }

    fn command(&mut self, now: Time, bytes: &[u8; 64], queue: &mut EventQueue<Event>) {
        match bytes[0] {
            command_op::INIT_PROCESS => {
                let c = InitProcessCommand::parse(bytes).unwrap();
                self.pendings = u64::from(c.upper_pending_hi) << 32 | u64::from(c.upper_pending_lo);
                self.free = (c.pending_tx_limit..c.num_pendings).rev().collect();
                self.result(0);
            }
            command_op::INIT_EQCB => {
                let c = InitEqcbCommand::parse(bytes).unwrap();
                let map = self.word(HTB_MAP + c.base_local / WINDOW_SIZE * 4);
                assert_ne!(map & HTB_VALID, 0);
                self.events = u64::from(map & !HTB_VALID) * u64::from(WINDOW_SIZE)
                    + u64::from(c.base_local % WINDOW_SIZE);
                self.slots = c.count;
                self.result(1);
            }
            command_op::MARK_ALIVE => self.result(0),
            command_op::TX => {
                let c = TxCommand::parse(bytes).unwrap();
                let parts = self.parts(c.length, c.addr_hi, c.addr_lo, c.dma_count, c.dma_list);
                self.sending.push_back((c.pending, c.peer, parts));
                let bytes = Duration::from_ns(u64::from(c.length));
                let delay = self.soon(Duration::from_us(2)) + bytes;
                self.transmit_free_at = self.transmit_free_at.max(now) + delay;
                queue.schedule(self.transmit_free_at, Event::Nic(self.node, Act::Send));
            }
            command_op::RX => {
                let c = RxCommand::parse(bytes).unwrap();
                let parts = self.parts(c.length, c.addr_hi, c.addr_lo, c.dma_count, c.dma_list);
                let at = now + self.soon(self.lateness);
                let act = Act::Deposit { pending: c.pending, parts };
                queue.schedule(at, Event::Nic(self.node, act));
            }
            command_op::RELEASE => {
                self.free.insert(0, ReleaseCommand::parse(bytes).unwrap().pending);
            }
            op => panic!("unknown command {op}"),
        }
    }

    fn parts(&self, length: u32, hi: u32, lo: u32, count: u16, list: u32) -> Parts {
        if count == 0 {
            return vec![(u64::from(hi) << 32 | u64::from(lo), length)];
        }
        let at = |i: u16| Nic::at(list + u32::from(i) * 16);
        let commands = (0..count).map(|i| DmaCommand::parse(&self.sram[at(i)..]).unwrap());
        let place = |c: &DmaCommand| u64::from(c.addr_hi) << 32 | u64::from(c.addr_lo);
        commands.map(|c| (place(&c), c.length)).collect()
    }

    fn result(&mut self, value: u32) {
        let write = BOX + mailbox::RESULT_WRITE as u32;
        let index = self.word(write);
        self.set(BOX + mailbox::RESULTS as u32 + index * 4, value);
        self.set(write, (index + 1) % RESULT_COUNT);
    }

    fn header(&self, pending: u16) -> u64 {
        self.pendings + u64::from(pending) * UpperPending::SIZE as u64
    }

    fn send(&mut self, now: Time, queue: &mut EventQueue<Event>) -> bool {
        let (pending, peer, parts) = self.sending.pop_front().unwrap();
        let mut message = Message { header: [0; 64], payload: Vec::new() };
        let mut memory = self.memory.borrow_mut();
        memory.read_phys(self.header(pending), &mut message.header).unwrap();
        for (addr, length) in parts {
            let start = message.payload.len();
            message.payload.resize(start + length as usize, 0);
            memory.read_phys(addr, &mut message.payload[start..]).unwrap();
        }
        drop(memory);
        let wire = Duration::from_us(1) + self.soon(Duration::from_us(3));
        let last = &mut self.arrivals[usize::from(peer)];
        *last = (now + wire).max(*last + Duration(1));
        queue.schedule(*last, Event::Nic(usize::from(peer), Act::Arrive(message)));
        self.post(event_type::TX_COMPLETE, pending)
    }

    fn arrive(&mut self, message: Message) -> bool {
        let pending = self.free.pop().expect("receive pendings are left");
        let at = self.header(pending);
        self.memory.borrow_mut().write_phys(at, &message.header).unwrap();
        self.payloads[usize::from(pending)] = message.payload;
        let inline = PortalsHeader::parse(&message.header).unwrap().flags & header_flag::INLINE;
        let kind = if inline != 0 { event_type::RX_INLINE } else { event_type::RX_HEADER };
        self.post(kind, pending)
    }

    fn deposit(&mut self, pending: u16, parts: &[(u64, u32)]) -> bool {
        let payload = std::mem::take(&mut self.payloads[usize::from(pending)]);
        let mut rest = &payload[..];
        for &(addr, length) in parts {
            let (now, later) = rest.split_at(length as usize);
            self.memory.borrow_mut().write_phys(addr, now).unwrap();
            rest = later;
        }
        let kind = if self.damage { event_type::ERR_RX_CRC } else { event_type::RX_COMPLETE };
        self.post(kind, pending)
    }

    fn post(&mut self, kind: u16, pending: u16) -> bool {
        let word = u32::from(kind) << 16 | u32::from(pending);
        let at = self.events + u64::from(self.slot * 4);
        self.memory.borrow_mut().write_phys(at, &word.to_le_bytes()).unwrap();
        self.slot = (self.slot + 1) % self.slots;
        true
    }
}
