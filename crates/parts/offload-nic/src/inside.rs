//! The card except its processor: registers, ports, windows, and queues.

use crate::card::{Counters, Fault};
use crate::engine::{Destination, Mover, Order, Payload, Receiver, Send, Sender, Source};
use crate::point::{command_at, fetched, packet, Moves, Point};
use crate::unit::{command_of, Unit};
use crate::{Chip, Event, Image, Params, Ports, WireMessage};
use abi::offload as of;
use abi::offload::register::{self, Status, Taken};
use abi::offload::{packet_kind, unit_register};
use abi::MessageId;
use alpu::{Command, Entry, Request};
use bus::{BusError, Memory};
use des::{Duration, Time};
use std::collections::VecDeque;

const PROCESSES: usize = of::PROCESSES as usize;
pub(crate) const POSTED: usize = 0;
pub(crate) const UNEXPECTED: usize = 1;

/// Names of the units.
const UNITS: [&str; 2] = ["the unit for posted receives", "the unit for unexpected messages"];

/// All of a card but its processor.
pub(crate) struct Inside {
    pub params: Params,
    pub memory: Memory,
    pub rom: Memory,
    pub sender: Sender,
    pub receiver: Receiver,
    pub mover: Mover,
    pub units: Option<[Unit; 2]>,
    /// Commands that the host has given, and that firmware can see, of each process.
    given: [u32; PROCESSES],
    seen: [u32; PROCESSES],
    taken_commands: [u32; PROCESSES],
    windows: [u64; PROCESSES],
    /// Stores on their way to the host.
    pub stores: VecDeque<(u64, Vec<u8>)>,
    send_port: [u8; of::SendPort::SIZE],
    dma_port: [u8; of::DmaPort::SIZE],
    insert_ports: [[u8; of::InsertPort::SIZE]; 2],
    /// Data paths of the bus, for reads and writes.
    pub free: [Time; 2],
    pub ready: bool,
    /// Turns since anything came or the firmware did anything.
    pub idle: u64,
    /// Time at which the firmware last did anything that others can see.
    pub acted: Time,
    /// Time of its last turn, and the length of the first one in which it only polled.
    turn: Time,
    pub idle_turn: Duration,
    pub serial: u32,
    pub fault: Option<(Time, Fault)>,
    pub counters: Counters,
    /// Points that observers have not been told yet.
    pub points: Vec<(Time, Point)>,
    /// True until observers are told that the processor is done with what it has fetched last.
    searches: bool,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(lo: u32, hi: u32) -> u64 {
    u64::from(hi) << 32 | u64::from(lo)
}

impl Inside {
    /// Card with the firmware in place.
    pub fn new(params: Params, image: &Image, chips: Option<[Box<dyn Chip>; 2]>) -> Inside {
        let mut memory = Memory::new(of::MEMORY_BASE.into(), of::MEMORY_SIZE as usize);
        let mut rom = Memory::new(of::ROM_BASE.into(), of::ROM_SIZE as usize);
        memory.write(of::TEXT_BASE.into(), &image.text).expect("the image fits");
        rom.write(of::ROM_BASE.into(), &image.rom).expect("the ROM fits");
        let [posted, unexpected] = chips.map_or([None, None], |chips| chips.map(Some));
        let units = params.units.as_ref().map(|units| {
            [(units.posted, posted), (units.unexpected, unexpected)]
                .map(|(config, chip)| Unit::new(config, chip, units.clock))
        });
        Inside {
            params,
            memory,
            rom,
            sender: Sender::default(),
            receiver: Receiver::default(),
            mover: Mover::default(),
            units,
            given: [0; PROCESSES],
            seen: [0; PROCESSES],
            taken_commands: [0; PROCESSES],
            windows: [0; PROCESSES],
            stores: VecDeque::new(),
            send_port: [0; of::SendPort::SIZE],
            dma_port: [0; of::DmaPort::SIZE],
            insert_ports: [[0; of::InsertPort::SIZE]; 2],
            free: [Time::ZERO; 2],
            ready: false,
            idle: 0,
            acted: Time::ZERO,
            turn: Time::ZERO,
            idle_turn: Duration::ZERO,
            serial: 0,
            fault: None,
            counters: Counters::default(),
            points: Vec::new(),
            searches: false,
        }
    }

    pub fn fail(&mut self, at: Time, fault: Fault) {
        self.fault.get_or_insert((at, fault));
    }

    /// Records a point for the observers.
    #[inline]
    pub fn tell(&mut self, at: Time, point: Point) {
        self.points.push((at, point));
    }

    /// The processor fetches something from memory.
    #[inline(always)]
    pub fn fetches(&mut self, at: Time, addr: u64) {
        if let Some(point) = fetched(addr, &self.memory) {
            self.searches = true;
            self.tell(at, point);
        }
    }

    /// It stores something that others can see.
    #[inline]
    pub fn acts(&mut self, at: Time) {
        if std::mem::take(&mut self.searches) {
            self.tell(at, Point::Acts);
        }
    }

    /// The host stores `data` at `addr`.
    pub fn store(&mut self, now: Time, addr: u32, data: &[u8]) -> Result<(), BusError> {
        self.idle = 0;
        let ring = of::COMMAND_BASE
            ..of::COMMAND_BASE + of::PROCESSES * of::COMMAND_COUNT * of::COMMAND_SIZE;
        let doorbell = of::REGISTER_BASE + register::DOORBELL;
        if ring.contains(&addr) {
            return self.memory.write(addr.into(), data);
        }
        let process = (addr.wrapping_sub(doorbell) / 4) as usize;
        if addr >= doorbell && process < PROCESSES && data.len() >= 4 {
            let given = word(data, 0);
            let new = given.wrapping_sub(self.given[process]);
            self.counters.commands += u64::from(new);
            for number in 0..new.min(of::COMMAND_COUNT) {
                let slot = self.given[process].wrapping_add(number) % of::COMMAND_COUNT;
                let process = process as u32;
                let at = of::COMMAND_BASE + (process * of::COMMAND_COUNT + slot) * of::COMMAND_SIZE;
                if let Some(command) = command_at(at, &self.memory) {
                    self.tell(now, Point::Given { process, command });
                }
            }
            self.given[process] = given;
            self.settle(now);
            return Ok(());
        }
        let why = "the host has no business there";
        Err(BusError { addr: addr.into(), len: data.len(), write: true, why })
    }

    /// The word that the host loads from `addr`.
    pub fn load(&self, addr: u32) -> u32 {
        let taken = of::REGISTER_BASE + register::TAKEN_COMMANDS;
        let process = (addr.wrapping_sub(taken) / 4) as usize;
        self.taken_commands.get(process).copied().unwrap_or(0)
    }

    /// The oldest send begins to leave.
    pub fn depart<P: Ports>(&mut self, now: Time, ports: &mut P) -> Result<(), BusError> {
        let Send { header, phys, length, target, .. } = self.sender.depart(&self.params);
        let mut payload = vec![0; length as usize];
        let read = if length > 0 { ports.host_read(phys, &mut payload) } else { Ok(()) };
        self.counters.sent[0] += 1;
        self.counters.sent[1] += u64::from(length);
        self.tell(now, Point::Departs(packet(&header), target));
        ports.send(now, target, WireMessage { header, payload });
        read
    }

    /// The oldest descriptor of the DMA engine is done.
    pub fn moved<P: Ports>(&mut self, now: Time, ports: &mut P) -> Result<(), BusError> {
        let next = self.mover.pop();
        self.tell(now, Point::Moved);
        let bytes = match next.bytes {
            Source::Taken(Payload { bytes, .. }) => {
                self.counters.received[1] += bytes.len() as u64;
                bytes
            }
            Source::Memory(local, length) => self.memory.bytes(local.into(), length as usize)?,
        };
        match next.to {
            Destination::Host(phys) => ports.host_write(now, phys, &bytes),
            Destination::Memory(local) => self.memory.write(local.into(), &bytes),
            Destination::Nowhere => Ok(()),
        }
    }

    /// Admits what waits for a place, here or in a unit, if there is one by `now`.
    pub fn settle(&mut self, now: Time) {
        while let Some(header) = self.receiver.next() {
            let (kind, bits_lo) =
                (word(header, of::packet::KIND), word(header, of::packet::BITS_LO));
            let bits = long(bits_lo, word(header, of::packet::BITS_HI));
            let matched = [packet_kind::EAGER, packet_kind::REQUEST].contains(&(kind as u8));
            let first = kind >> 8 & 0xFF == 0;
            let mut delivered = 0;
            if let Some(units) = self.units.as_mut().filter(|_| matched && first)
                && units[POSTED].delivery
            {
                let serial = word(header, of::packet::SERIAL);
                let message = MessageId { source_nid: kind >> 16, serial };
                if !units[POSTED].deliver(now, Request { bits, mask: 0 }, Some(message)) {
                    break;
                }
                delivered = of::DELIVERED;
                self.tell(now, Point::Delivered(POSTED));
            }
            let (place, mut header) = self.receiver.place();
            let high = word(&header, of::packet::BITS_HI) | delivered;
            header[of::packet::BITS_HI..][..4].copy_from_slice(&high.to_le_bytes());
            self.memory.write(place.into(), &header).expect("the header FIFO is memory");
            self.tell(now, Point::Placed(packet(&header)));
        }
        for process in 0..PROCESSES {
            while self.seen[process] != self.given[process] {
                if process == 0 && !self.deliver_command(now) {
                    break;
                }
                self.seen[process] = self.seen[process].wrapping_add(1);
            }
        }
        self.watch(now);
    }

    /// Stops the card if a chip has done something impossible.
    fn watch(&mut self, now: Time) {
        if self.fault.is_some() {
            return;
        }
        let units = self.units.iter().flatten().zip(UNITS);
        let wrong = units.filter_map(|(unit, name)| Some((name, unit.wrong()?)));
        let Some((unit, (at, wrong))) = wrong.min_by_key(|(_, (at, _))| *at) else { return };
        let (cycle, what) = (wrong.cycle, wrong.what.clone());
        self.fail(now, Fault::Unit { unit, cycle, at, what });
    }

    /// Chips go up to `now`.
    pub fn catch_up(&mut self, now: Time) {
        for unit in self.units.iter_mut().flatten() {
            unit.catch_up(now);
        }
        self.watch(now);
    }

    /// A command of process 0 goes to the unit for unexpected messages, if it is a receive. False if that has
    /// no room.
    fn deliver_command(&mut self, now: Time) -> bool {
        let Some(units) = self.units.as_mut().filter(|units| units[UNEXPECTED].delivery) else {
            return true;
        };
        let at = of::COMMAND_BASE + self.seen[0] % of::COMMAND_COUNT * of::COMMAND_SIZE;
        let mut command = [0; of::COMMAND_SIZE as usize];
        self.memory.read(at.into(), &mut command).expect("the command FIFO is memory");
        if word(&command, of::command::OPERATION) != u32::from(of::operation::RECEIVE) {
            return true;
        }
        let field = |lo, hi| long(word(&command, lo), word(&command, hi));
        let bits = field(of::command::BITS_LO, of::command::BITS_HI);
        let mask = field(of::command::MASK_LO, of::command::MASK_HI);
        if !units[UNEXPECTED].deliver(now, Request { bits, mask }, None) {
            return false;
        }
        self.tell(now, Point::Delivered(UNEXPECTED));
        let high = word(&command, of::command::BITS_HI) | of::DELIVERED;
        let at = at + of::command::BITS_HI as u32;
        self.memory.write(at.into(), &high.to_le_bytes()).expect("it was read there");
        true
    }

    /// Value that the processor loads from a register.
    pub fn register(&self, offset: u32) -> u32 {
        match offset {
            register::STATUS => {
                let status = Status(0).with_headers(self.receiver.come as u8);
                status.with_sends(self.sender.done as u8).with_moves(self.mover.done as u8).0
            }
            register::TAILS => u32::from_le_bytes(self.seen.map(|seen| seen as u8)),
            register::NODE => self.params.node,
            register::OPTIONS => self.params.units.as_ref().map_or(0, |units| units.options()),
            _ => 0,
        }
    }

    /// The processor stores a word into a register.
    pub fn set_register(&mut self, now: Time, offset: u32, value: u32) {
        let of_process = |base: u32| (offset.wrapping_sub(base) / 4) as usize;
        match offset {
            register::HEARTBEAT => {
                if self.ready && self.idle == 1 && self.idle_turn == Duration::ZERO {
                    self.idle_turn = now.since(self.turn);
                }
                self.turn = now;
                self.idle += 1;
                self.counters.turns += 1;
            }
            register::TAKEN => {
                let new = Taken(value).count().wrapping_sub(self.receiver.taken as u8);
                self.receiver.taken = self.receiver.taken.wrapping_add(new.into());
                self.settle(now);
            }
            register::PANIC => self.fail(now, Fault::Panic(value)),
            register::READY => self.ready = value != 0,
            register::CONTEXT => {
                self.serial = value;
                self.searches = true;
                self.tell(now, Point::Context(value));
            }
            _ if of_process(register::WINDOW_LO) < PROCESSES => {
                let window = &mut self.windows[of_process(register::WINDOW_LO)];
                *window = *window >> 32 << 32 | u64::from(value);
            }
            _ if of_process(register::WINDOW_HI) < PROCESSES => {
                let window = &mut self.windows[of_process(register::WINDOW_HI)];
                *window = u64::from(value) << 32 | *window & 0xFFFF_FFFF;
            }
            _ if of_process(register::TAKEN_COMMANDS) < PROCESSES => {
                self.taken_commands[of_process(register::TAKEN_COMMANDS)] = value;
            }
            _ => self.fail(now, Fault::Part("a store to a register that does not exist")),
        }
    }

    /// The unit whose registers or port these are.
    fn unit(&mut self, which: usize) -> Option<&mut Unit> {
        self.units.as_mut().map(|units| &mut units[which])
    }

    /// The result at the head of a unit's FIFO at `now`; 0: there is none.
    pub fn result(&mut self, now: Time, which: usize) -> u32 {
        self.unit(which).map_or(0, |unit| unit.result(now))
    }

    /// Value loaded from a unit's register.
    pub fn unit_register(&mut self, now: Time, which: usize, offset: u32) -> u32 {
        self.settle(now);
        match (offset, self.unit(which)) {
            (unit_register::RESULT, Some(unit)) => {
                let result = unit.result(now);
                self.watch(now);
                result
            }
            _ => 0,
        }
    }

    /// The processor stores into a unit's register. Returns cycles of the unit that the bus waits.
    pub fn set_unit_register(&mut self, now: Time, which: usize, offset: u32, value: u32) -> u64 {
        self.settle(now);
        let Some(unit) = self.unit(which) else {
            self.fail(now, Fault::Part("a store to a matching unit that is not there"));
            return 0;
        };
        match offset {
            unit_register::POP => {
                let result = unit.result(now);
                unit.pop(now);
                self.searches = true;
                self.tell(now, Point::Answered(which, result));
            }
            unit_register::DELIVERY => unit.delivery = value != 0,
            unit_register::COMMAND => match command_of(value) {
                Some(command) => return self.command(now, which, command),
                None => self.fail(now, Fault::Part("no such command of a matching unit")),
            },
            _ => self.fail(now, Fault::Part("a store to a register that does not exist")),
        }
        self.settle(now);
        0
    }

    fn command(&mut self, now: Time, which: usize, command: Command) -> u64 {
        self.tell(now, Point::Commanded(which, command));
        let cycles = self.unit(which).map(|unit| unit.command(now, command));
        self.watch(now);
        match cycles {
            Some(Some(cycles)) => cycles,
            Some(None) => {
                let why = "a matching unit that takes no command: its results are not fetched";
                self.fail(now, Fault::Part(why));
                0
            }
            None => {
                self.fail(now, Fault::Part("a command for a matching unit that is not there"));
                0
            }
        }
    }

    /// The processor stores into a descriptor; its last word starts it. Returns cycles of a unit that the bus
    /// waits.
    pub fn set_port<P: Ports>(&mut self, now: Time, addr: u32, data: &[u8], ports: &mut P) -> u64 {
        let end = addr + data.len() as u32;
        let within = |base: u32, size: usize| (base..base + size as u32).contains(&addr);
        if within(of::SEND_PORT, of::SendPort::SIZE) {
            let at = (addr - of::SEND_PORT) as usize;
            self.send_port[at..at + data.len()].copy_from_slice(data);
            if end == of::SEND_PORT + of::send_port::TARGET as u32 + 4 {
                self.start_send(now, ports);
            }
        } else if within(of::DMA_PORT, of::DmaPort::SIZE) {
            let at = (addr - of::DMA_PORT) as usize;
            self.dma_port[at..at + data.len()].copy_from_slice(data);
            if end == of::DMA_PORT + of::DmaPort::SIZE as u32 {
                self.start_move(now, ports);
            }
        } else {
            let bases = [of::POSTED_PORT, of::UNEXPECTED_PORT];
            let found = bases.iter().position(|base| within(*base, of::InsertPort::SIZE));
            let Some(which) = found else {
                self.fail(now, Fault::Part("a store to a port that does not exist"));
                return 0;
            };
            let at = (addr - bases[which]) as usize;
            let port = &mut self.insert_ports[which];
            port[at..at + data.len()].copy_from_slice(data);
            if end == bases[which] + of::InsertPort::SIZE as u32 {
                let field = |lo, hi| long(word(port, lo), word(port, hi));
                let entry = Entry {
                    bits: field(of::insert_port::BITS_LO, of::insert_port::BITS_HI),
                    mask: field(of::insert_port::MASK_LO, of::insert_port::MASK_HI),
                    tag: word(port, of::insert_port::TAG).into(),
                };
                return self.command(now, which, Command::Insert(entry));
            }
        }
        0
    }

    fn start_send<P: Ports>(&mut self, now: Time, ports: &mut P) {
        let port = &self.send_port;
        let header = port[..of::PACKET_SIZE as usize].try_into().expect("a header's bytes");
        let phys = long(word(port, of::send_port::HOST_LO), word(port, of::send_port::HOST_HI));
        let length = word(port, of::send_port::LENGTH);
        let (target, asked) = (word(port, of::send_port::TARGET), now + self.params.bus_delay);
        let send = Send { header, phys, length, target, asked };
        self.tell(now, Point::Sends(packet(&send.header), send.target));
        match self.sender.take(send, &self.params) {
            Ok(span) => span.schedule(ports),
            Err(why) => self.fail(now, Fault::Part(why)),
        }
    }

    /// The last byte of the message that leaves has left.
    pub fn left<P: Ports>(&mut self, now: Time, ports: &mut P) {
        self.idle = 0;
        self.sender.left(now, &self.params).schedule(ports);
        self.tell(now, Point::Left);
    }

    fn start_move<P: Ports>(&mut self, now: Time, ports: &mut P) {
        let port = &self.dma_port;
        let order = Order {
            operation: word(port, of::dma_port::OPERATION),
            local: word(port, of::dma_port::LOCAL),
            phys: long(word(port, of::dma_port::HOST_LO), word(port, of::dma_port::HOST_HI)),
            length: word(port, of::dma_port::LENGTH),
        };
        let Order { operation, local, length, .. } = order;
        self.tell(now, Point::Moves(Moves { operation, local, length }));
        match self.mover.take(now, &order, &mut self.receiver, &self.params) {
            Ok(()) => self.mover.schedule(&self.params, ports),
            Err(why) => self.fail(now, Fault::Part(why)),
        }
    }

    /// The processor stores into a host window.
    pub fn set_window<P: Ports>(&mut self, now: Time, addr: u32, data: &[u8], ports: &mut P) {
        let offset = addr - of::WINDOW_BASE;
        let process = offset / of::WINDOW_SIZE;
        let window = self.windows[process as usize];
        let length = data.len().min(16);
        let mut bytes = [0; 16];
        bytes[..length].copy_from_slice(&data[..length]);
        let (offset, length) = (offset % of::WINDOW_SIZE, length as u8);
        self.tell(now, Point::Completes { process, offset, length, bytes });
        self.stores.push_back((window + u64::from(offset), data.to_vec()));
        self.counters.stores += 1;
        ports.schedule(now + self.params.bus_delay, Event::Stored);
    }
}
