//! The card's driver, as vorakosit2001 has it: packets to be sent are copied into the card by the
//! processor, and the control program is told; one that has come interrupts, and the driver starts the DMA
//! that brings it.

use super::image::Image;
use super::nic::IDS;
use super::trail::{Trail, RECEIVE};
use abi::myrinet::{
    self as my, board_control, command, command_area, dma_block, isr, packet_type, register, status,
};
use des::{Duration, Time};
use host::{Cpu, Waker};
use machine::instruments::message_trace::Waypoint;
use pci::node::{CONFIG, REGION};
use pci::register as config;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Most bytes of a packet behind its header.
pub(super) const PAYLOAD_MAX: u64 = (my::REGION_SEND_SIZE - my::PacketHeader::SIZE as u32) as u64;

/// A card that has not answered for so long never will.
const PATIENCE: Duration = Duration::from_us(1_000_000);

/// Bits of the card's command register: memory, bus master, parity.
const COMMAND: u16 = 1 << 1 | 1 << 2 | 1 << 6;

/// A packet that has come.
pub(super) struct Packet {
    pub source: u16,
    pub bytes: Vec<u8>,
    /// Its name; none of one that nobody has announced.
    message: Option<abi::MessageId>,
    /// Nobody waited for it.
    kept: bool,
}

/// A node's driver.
pub(super) struct Driver {
    pub nid: u16,
    image: Arc<Image>,
    /// By target.
    routes: Vec<Vec<u8>>,
    /// Time that it computes for each packet.
    work: Duration,
    /// Between two looks at the card, or at memory.
    poll: Duration,
    /// Address of the buffer for packets that arrive.
    buffer: Cell<u64>,
    arrived: RefCell<VecDeque<Packet>>,
    /// Waker of the process that waits for one.
    waiting: RefCell<Option<Waker>>,
    trail: Rc<Trail>,
}

impl Driver {
    pub fn new(
        nid: u16,
        image: Arc<Image>,
        routes: Vec<Vec<u8>>,
        work: Duration,
        poll: Duration,
        trail: Rc<Trail>,
    ) -> Driver {
        Driver {
            nid,
            image,
            routes,
            work,
            poll,
            buffer: Cell::default(),
            arrived: RefCell::default(),
            waiting: RefCell::default(),
            trail,
        }
    }

    /// Looks for the card in its slot, and maps it.
    fn find(&self, cpu: &Cpu) {
        let id = cpu.mmio_read(CONFIG + u32::from(config::ID));
        let (vendor, device, _) = IDS;
        if id != u32::from(device) << 16 | u32::from(vendor) {
            cpu.fault(format_args!("there is no Myrinet card in the slot: {id:#010x}"));
        }
        // Of all ones, those stay that are above the region's size.
        let bar = CONFIG + u32::from(config::BAR0);
        cpu.mmio_write(bar, &u32::MAX.to_le_bytes());
        let size = !cpu.mmio_read(bar) + 1;
        if size != my::SPACE_SIZE {
            cpu.fault(format_args!("the card's space is of {size:#x} bytes"));
        }
        cpu.mmio_write(bar, &REGION.to_le_bytes());
        cpu.mmio_write(CONFIG + u32::from(config::COMMAND), &COMMAND.to_le_bytes());
    }

    /// Finds the card, loads the control program and the routes, and lets the processor go.
    pub fn load(&self, cpu: &Cpu) {
        self.find(cpu);
        let size = u64::from(my::REGION_RECEIVE_SIZE);
        self.buffer.set(cpu.memory().borrow_mut().alloc_kernel(size, 64));
        set(cpu, my::BOARD_CONTROL, board_control::RESET_ON | board_control::INTERRUPT_OFF);
        cpu.mmio_write(REGION, &self.image.flat);
        for (to, route) in (0..).zip(&self.routes) {
            let mut bytes = [0; my::ROUTE_SIZE as usize];
            bytes[..route.len()].copy_from_slice(route);
            cpu.mmio_write(REGION + my::REGION_ROUTES_BASE + my::ROUTE_SIZE * to, &bytes);
        }
        set(cpu, my::BOARD_SPECIAL + register::EIMR, isr::HOST);
        set(cpu, my::BOARD_CONTROL, board_control::RESET_OFF | board_control::INTERRUPT_ON);
        self.until(cpu, "the control program does not start", || {
            area(cpu, command_area::READY) == my::READY
        });
    }

    /// Looks again and again until something is so.
    fn until(&self, cpu: &Cpu, otherwise: &str, done: impl Fn() -> bool) {
        let end = cpu.now() + PATIENCE;
        while !done() {
            if cpu.now() > end {
                cpu.fault(otherwise);
            }
            cpu.spend(self.poll);
        }
    }

    /// Sends a packet, and waits until the card has read it.
    pub fn send(&self, cpu: &Cpu, target: u16, bytes: &[u8]) {
        let message = self.trail.sends(cpu.now(), target, bytes.len());
        let header = my::PacketHeader {
            kind: packet_type::DP,
            target,
            source: self.nid,
            target_point: 0,
            source_point: 0,
            unused: 0,
            length: bytes.len() as u32,
        };
        let mut packet = vec![0; my::PacketHeader::SIZE];
        header.emit(&mut packet);
        packet.extend_from_slice(bytes);
        cpu.kernel(|| {
            self.trail.mark(cpu.now(), message, Waypoint::KERNEL_ENTERED);
            cpu.spend(self.work);
            cpu.mmio_write(REGION + my::REGION_SEND_BASE, &packet);
            set(cpu, at_area(command_area::LENGTH), packet.len() as u32);
            set(cpu, at_area(command_area::COMMAND), command::SEND);
            self.trail.commanded(cpu.now(), message);
        });
        // Interrupts are let in meanwhile: the way may be taken by a packet that wants this node.
        self.until(cpu, "a packet is not sent", || {
            area(cpu, command_area::COMMAND) == command::NONE
        });
        let status = area(cpu, command_area::STATUS);
        if status != status::DONE {
            cpu.fault(format_args!("the card answers {status} to a packet for node {target}"));
        }
        self.trail.calls.awaited_interface(cpu.now());
        self.trail.calls.returns(cpu.now());
    }

    /// The next packet, whoever sends it.
    pub fn receive(&self, cpu: &Cpu) -> Packet {
        self.trail.calls.enters(cpu.now(), RECEIVE);
        *self.waiting.borrow_mut() = Some(cpu.waker());
        loop {
            let packet = self.arrived.borrow_mut().pop_front();
            if let Some(packet) = packet {
                *self.waiting.borrow_mut() = None;
                self.take(cpu, &packet);
                return packet;
            }
            cpu.wait(self.poll);
        }
    }

    /// The process takes a packet, and its call returns.
    fn take(&self, cpu: &Cpu, packet: &Packet) {
        let calls = &self.trail.calls;
        if packet.kept {
            self.trail.claims(cpu.now());
        }
        if let Some(message) = packet.message {
            calls.takes(cpu.now(), message, Waypoint::COMPLETION_DRAINED);
        }
        cpu.spend(cpu.copy_cost(packet.bytes.len() as u64));
        calls.returns(cpu.now());
        if let Some(message) = packet.message {
            calls.ends(cpu.now(), message);
        }
    }

    /// Takes the packet that is there, if there is one.
    pub fn interrupt(&self, cpu: &Cpu) {
        let entered = cpu.now();
        set(cpu, my::BOARD_SPECIAL + register::ISR, isr::HOST);
        if area(cpu, command_area::WAITING) == 0 {
            return;
        }
        let message = self.trail.held();
        let mark = |at, waypoint| {
            if let Some(message) = message {
                self.trail.mark(at, message, waypoint);
            }
        };
        mark(entered, Waypoint::HANDLER_ENTERED);
        cpu.spend(self.work);
        let length = get(cpu, at_block(dma_block::LENGTH)) as usize;
        mark(cpu.now(), Waypoint::EVENT_DRAINED);
        let buffer = self.buffer.get();
        set(cpu, at_block(dma_block::HOST_HI), (buffer >> 32) as u32);
        set(cpu, at_block(dma_block::HOST_LO), buffer as u32);
        set(cpu, my::BOARD_CONTROL, board_control::DMA_1);
        mark(cpu.now(), Waypoint::RECEIVE_WRITTEN);
        self.until(cpu, "a packet does not come into memory", || {
            area(cpu, command_area::WAITING) == 0
        });
        mark(cpu.now(), Waypoint::COMPLETION_DRAINED);
        let mut bytes = vec![0; length];
        if let Err(why) = cpu.memory().borrow_mut().read_phys(buffer, &mut bytes) {
            cpu.fault(why);
        }
        let Some(header) = my::PacketHeader::parse(&bytes) else {
            cpu.fault(format_args!("a packet of {length} bytes came, shorter than a header"));
        };
        bytes.drain(..my::PacketHeader::SIZE);
        if header.target != self.nid || header.length as usize != bytes.len() {
            let (target, says) = (header.target, header.length);
            let has = bytes.len();
            cpu.fault(format_args!(
                "a packet for node {target} came that has {has} bytes and says {says}"
            ));
        }
        // Who waits takes the first.
        let kept = !self.is_waited_for() || !self.arrived.borrow().is_empty();
        if kept {
            self.trail.keeps(cpu.now());
        }
        let packet = Packet { source: header.source, bytes, message, kept };
        self.arrived.borrow_mut().push_back(packet);
        if let Some(waker) = &*self.waiting.borrow() {
            waker.wake();
        }
    }

    /// True if somebody waits for a packet.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.borrow().is_some()
    }
}

fn at_area(field: usize) -> u32 {
    my::REGION_COMMAND_BASE + field as u32
}

fn at_block(field: usize) -> u32 {
    my::DMA_RECEIVE_CHAIN + field as u32
}

fn area(cpu: &Cpu, field: usize) -> u32 {
    get(cpu, at_area(field))
}

/// The card's words are big endian, the host is not.
fn get(cpu: &Cpu, addr: u32) -> u32 {
    u32::from_be(cpu.mmio_read(REGION + addr))
}

fn set(cpu: &Cpu, addr: u32, value: u32) {
    cpu.mmio_write(REGION + addr, &value.to_be_bytes());
}

/// Waits until the program may start.
pub(super) fn until_launch(cpu: &Cpu, launch: Time) {
    if cpu.now() < launch {
        cpu.spend(launch.since(cpu.now()));
    }
}
