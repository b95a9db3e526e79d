//! A node's adapter on its host's bus. The bus is a link with a time each way; accesses keep their order.

use bus::BusError;
use des::{Duration, Time};
use ethernet::{Adapter, AdapterParams, Address, Board, Frame, REGION};
use machine::node::{Nic, Ports};
use pci::{Function, Identity};
use std::collections::VecDeque;

/// Address of the adapter's configuration space for the processor; its region lies above.
pub(super) const CONFIG: u64 = 0xE000_0000;
/// Bytes of a configuration space.
const CONFIG_SIZE: u64 = 0x100;

/// Realtek's RTL8139 as its configuration space names it (the public list of PCI's IDs): an Ethernet
/// controller.
const IDENTITY: Identity =
    Identity { vendor: 0x10EC, device: 0x8139, class: 0x02_0000, revision: 0x10 };
/// The base address of its registers; the first is that of a region in I/O space, which nobody needs.
const BAR: usize = 1;

/// Connections of an adapter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joints {
    pub adapter: AdapterParams,
    /// Time from the processor to the adapter.
    pub store: Duration,
    /// Time from the processor to the adapter and back.
    pub load: Duration,
    /// Time from the adapter's line to the processor.
    pub interrupt: Duration,
}

/// An access of the processor on its way.
enum Access {
    Store { addr: u64, len: u8, data: [u8; 8] },
    Load { addr: u64 },
}

/// An adapter with its link to the host.
pub(super) struct Station {
    /// The switch's number among the run's processes.
    switch: u32,
    joints: Joints,
    function: Function,
    adapter: Adapter,
    accesses: VecDeque<Access>,
    /// Time at which the last of them arrives.
    last: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The oldest access has reached the adapter.
    Access,
    /// Its oldest frame has left.
    Sent,
    /// The oldest frame that has come is in memory.
    Moved,
}

/// The adapter of node `nid` has this address: one of those that everybody may give (bit 1 of the first
/// byte).
fn address(nid: u32) -> Address {
    let [a, b, c, d] = nid.to_be_bytes();
    [0x02, 0x53, a, b, c, d]
}

/// Node as the adapter sees it.
struct Base<'a> {
    switch: u32,
    delay: Duration,
    interrupt: Duration,
    master: bool,
    function: &'a mut Function,
    ports: &'a mut Ports<Station>,
}

impl Board for Base<'_> {
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let (len, why) = (buf.len(), "the adapter may not access memory");
        if !self.master {
            return Err(BusError { addr, len, write: false, why });
        }
        self.ports.read(addr, buf)
    }
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        let (len, why) = (data.len(), "the adapter may not access memory");
        if !self.master {
            return Err(BusError { addr, len, write: true, why });
        }
        self.ports.write(addr, data)
    }
    fn interrupt(&mut self, at: Time) {
        if self.function.pin(true) {
            self.ports.interrupt(at + self.interrupt);
        }
    }
    fn send(&mut self, end: Time, frame: Frame) {
        self.ports.send(self.switch, end + self.delay, frame);
    }
    fn sent_at(&mut self, at: Time) {
        self.ports.schedule(at, Event::Sent);
    }
    fn moved_at(&mut self, at: Time) {
        self.ports.schedule(at, Event::Moved);
    }
}

impl Station {
    pub fn new(nid: u32, switch: u32, joints: Joints) -> Station {
        Station {
            switch,
            joints,
            function: Function::new(IDENTITY).with_region(BAR, REGION),
            adapter: Adapter::new(joints.adapter, address(nid)),
            accesses: VecDeque::new(),
            last: Time::ZERO,
        }
    }

    /// The adapter, and the board for it.
    fn parts<'a>(&'a mut self, ports: &'a mut Ports<Station>) -> (&'a mut Adapter, Base<'a>) {
        let Station { switch, joints, function, adapter, .. } = self;
        let master = function.is_master();
        let (delay, interrupt) = (joints.adapter.wire.delay, joints.interrupt);
        (adapter, Base { switch: *switch, delay, interrupt, master, function, ports })
    }

    /// An access leaves the processor; it comes behind those before it.
    fn comes(&mut self, now: Time, takes: Duration, access: Access, ports: &mut Ports<Station>) {
        self.last = self.last.max(now + takes);
        self.accesses.push_back(access);
        ports.schedule(self.last, Event::Access);
    }

    fn access(&mut self, now: Time, ports: &mut Ports<Station>) -> Result<(), BusError> {
        match self.accesses.pop_front().expect("an access is on its way") {
            Access::Store { addr, len, data } => {
                let data = &data[..usize::from(len)];
                if let Some(offset) = offset_in_config(addr) {
                    self.function.store(offset, data);
                } else if let Some(offset) = self.function.decode(BAR, addr) {
                    let (adapter, mut base) = self.parts(ports);
                    adapter.store(now, offset as u8, data, &mut base)?;
                }
            }
            Access::Load { addr } => {
                let word = match (offset_in_config(addr), self.function.decode(BAR, addr)) {
                    (Some(offset), _) => self.function.load(offset),
                    (_, Some(offset)) => self.adapter.load(offset as u8),
                    // Nobody answers.
                    _ => u32::MAX,
                };
                let back = Duration(self.joints.load.0 - self.joints.load.0 / 2);
                ports.answer(now + back, &word.to_le_bytes());
            }
        }
        Ok(())
    }
}

fn offset_in_config(addr: u64) -> Option<u8> {
    let offset = addr.checked_sub(CONFIG).filter(|offset| *offset < CONFIG_SIZE)?;
    Some(offset as u8)
}

impl Nic for Station {
    type Event = Event;
    type Message = Frame;
    type Left = ();

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Station>) {
        let done = match event {
            Event::Access => self.access(now, ports),
            Event::Sent => {
                let (adapter, mut base) = self.parts(ports);
                adapter.sent(now, &mut base);
                Ok(())
            }
            Event::Moved => {
                let (adapter, mut base) = self.parts(ports);
                adapter.moved(now, &mut base)
            }
        };
        if let Err(why) = done {
            ports.fail(now, format_args!("the adapter's DMA: {why}"));
        }
    }

    fn receive(&mut self, now: Time, frame: Frame, ports: &mut Ports<Station>) {
        let (adapter, mut base) = self.parts(ports);
        adapter.arrive(now, frame, &mut base);
    }

    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Station>) {
        let mut bytes = [0; 8];
        bytes[..data.len()].copy_from_slice(data);
        let access = Access::Store { addr, len: data.len() as u8, data: bytes };
        self.comes(now, self.joints.store, access, ports);
    }

    fn load(&mut self, now: Time, addr: u64, _len: usize, ports: &mut Ports<Station>) {
        self.comes(now, Duration(self.joints.load.0 / 2), Access::Load { addr }, ports);
    }

    fn word(event: &Event) -> u64 {
        *event as u64
    }

    /// A store that comes now may send a frame, which is on the wire for a while.
    fn earliest_output(&self, at: Time, _event: &Event) -> Time {
        at
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = self.adapter.counters();
        vec![
            ("nic.interrupts", c.interrupts),
            ("rx.bytes", c.received_bytes),
            ("rx.frames", c.received),
            ("rx.missed", c.missed),
            ("rx.others", c.others),
            ("tx.bytes", c.sent_bytes),
            ("tx.frames", c.sent),
        ]
    }
}
