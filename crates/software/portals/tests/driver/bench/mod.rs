//! Two hosts and, between them, network interfaces that play the firmware's part of `abi/seastar` without its
//! processor: they take commands from the mailbox, move messages, and post events and interrupts.

mod firmware;
// The machine's judge hears of more.
#[allow(dead_code)]
#[path = "../../../../../bench/machine/src/judge/mod.rs"]
mod judge;
mod program;
mod space;

pub use firmware::{Behaviour, Fate};
pub use program::*;
use space::Space;
pub use space::{CONSTANT, FLEETING, HOLE};

use des::{Duration, EventQueue, Time};
use firmware::{Firmware, Message};
use host::{Cpu, Host};
use judge::Adapter;
use portals::seastar::{self, Config, Driver};
use portals::{Counters, Kernel, Limits, Ni, Observer, ProcessId, Told, TracePoint};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

const HT_LATENCY: Duration = Duration::from_ns(100);

/// Event in the bench.
#[derive(Clone)]
pub enum Happening {
    Host(host::Event),
    Store {
        addr: u32,
        bytes: [u8; 8],
        len: usize,
    },
    Load {
        addr: u32,
    },
    LoadReply(u32),
    Interrupt,
    /// The firmware takes its next command.
    Firmware,
    /// A message arrives.
    Arrival(Message),
    /// The firmware has deposited a payload.
    Deposited(u16),
    /// A message has left.
    Sent(u16),
    /// A packet of the control class comes: an event for the kernel.
    Control(u32),
}

pub type Queue = EventQueue<(usize, Happening)>;

struct Ports<'a> {
    node: usize,
    queue: &'a mut Queue,
}

impl host::Ports for Ports<'_> {
    fn schedule(&mut self, at: Time, event: host::Event) {
        self.queue.schedule(at, (self.node, Happening::Host(event)));
    }
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]) {
        let mut bytes = [0; 8];
        bytes[..data.len()].copy_from_slice(data);
        let addr = u32::try_from(addr).unwrap();
        let store = Happening::Store { addr, bytes, len: data.len() };
        self.queue.schedule(now + HT_LATENCY, (self.node, store));
    }
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize) {
        assert_eq!(len, 4, "a word");
        let addr = u32::try_from(addr).unwrap();
        self.queue.schedule(now + HT_LATENCY, (self.node, Happening::Load { addr }));
    }
}

/// Everything that was observed of one run.
#[derive(Default)]
pub struct Journal(pub RefCell<Vec<(Time, abi::MessageId, TracePoint)>>);

impl Observer for Journal {
    fn mark(&self, _core: usize, at: Time, id: abi::MessageId, mark: TracePoint) {
        self.0.borrow_mut().push((at, id, mark));
    }
}

/// Lets a judge listen to what one node tells, beside an observer.
struct Judged {
    observer: Rc<dyn Observer>,
    judge: Rc<Adapter>,
}

impl Observer for Judged {
    fn mark(&self, core: usize, at: Time, id: abi::MessageId, mark: TracePoint) {
        self.observer.mark(core, at, id, mark);
    }
    fn listens(&self) -> bool {
        true
    }
    fn told(&self, at: Time, told: &Told) {
        self.judge.told(at, told);
    }
}

struct Node {
    host: Host,
    firmware: Firmware,
    kernel: Rc<OnceCell<Rc<Kernel>>>,
    driver: Rc<OnceCell<Rc<Driver>>>,
    judge: Rc<Adapter>,
}

/// The bench.
pub struct Bench {
    nodes: Vec<Node>,
    queue: Queue,
    now: Time,
    ledger: Arc<spec::Ledger>,
}

/// Processor and interface of a test's process.
pub struct Process {
    pub cpu: Cpu,
    pub ni: Ni,
}

impl Process {
    pub fn read(&self, va: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut memory = self.cpu.memory().borrow_mut();
        memory.read(self.ni.space(), va, &mut bytes).unwrap();
        bytes
    }
    pub fn write(&self, va: u64, bytes: &[u8]) {
        self.cpu.memory().borrow_mut().write(self.ni.space(), va, bytes).unwrap();
    }
}

impl Bench {
    /// Boots two nodes.
    pub fn new(config: Config, behaviour: Behaviour) -> Bench {
        Bench::observed(config, behaviour, Rc::new(portals::Unobserved))
    }

    pub fn observed(config: Config, behaviour: Behaviour, observer: Rc<dyn Observer>) -> Bench {
        let ledger = Arc::new(
            spec::Ledger::new(2, !behaviour.fates.is_empty()).with_repeats(config.recovers),
        );
        let few = config.pools.list_commands < seastar::Pools::FULL.list_commands;
        let node = |nid: usize| {
            let mut host = Host::new(&HOST_COSTS);
            let memory = host.memory().clone();
            let judge = Adapter::new(nid as u32, ledger.clone(), memory, false, few);
            let judge = Rc::new(judge);
            let kernel: Rc<OnceCell<Rc<Kernel>>> = Rc::default();
            let handler = kernel.clone();
            host.set_interrupt_handler(Rc::new(move |cpu| {
                if let Some(kernel) = handler.get() {
                    kernel.interrupt(cpu);
                }
            }));
            let (booted, driver) = (kernel.clone(), Rc::new(OnceCell::new()));
            let made = driver.clone();
            let observer = Rc::new(Judged { observer: observer.clone(), judge: judge.clone() });
            host.spawn("boot", move |cpu| {
                let driver = Rc::new(Driver::new(cpu.memory(), &config));
                assert!(made.set(driver.clone()).is_ok());
                let kernel = Kernel::boot(&cpu, nid as u16, &LIBRARY, observer, driver);
                assert!(booted.set(kernel).is_ok());
            });
            let firmware = Firmware::new(nid as u16, behaviour.clone());
            Node { host, firmware, kernel, driver, judge }
        };
        let nodes = vec![node(0), node(1)];
        let mut bench = Bench { nodes, queue: Queue::new(0), now: Time::ZERO, ledger };
        bench.run();
        for node in &bench.nodes {
            assert!(node.kernel.get().is_some(), "boot failed: {:?}", node.host.fault());
        }
        bench
    }

    /// Starts a process.
    pub fn process(&mut self, node: usize, pid: u32, body: impl FnOnce(Process) + 'static) {
        let Node { host, kernel, .. } = &mut self.nodes[node];
        let kernel = kernel.get().unwrap().clone();
        let id = host.memory().borrow_mut().add_space(Box::new(Space::default()));
        host.spawn(&format!("process {pid}"), move |cpu| {
            let ni = Ni::init(&cpu, &kernel, pid, id).unwrap();
            body(Process { cpu, ni });
        });
    }

    /// Sentences of the judges about what they did not agree with, the first one first.
    pub fn verdicts(&self) -> Vec<String> {
        let verdicts = self.nodes.iter().filter_map(|node| node.judge.verdict());
        let unsettled = self.ledger.unsettled(self.now.0);
        let mut all: Vec<_> = verdicts.chain(unsettled).collect();
        all.sort_by_key(|verdict| verdict.at);
        all.iter().map(ToString::to_string).collect()
    }
    /// Number of comparisons that the judges made.
    #[cfg(debug_assertions)] // As `mutants`, which asks.
    pub fn judged(&self) -> spec::Tally {
        let mut all = spec::Tally::default();
        self.nodes.iter().for_each(|node| all += node.judge.tally());
        all
    }

    /// Runs until nothing happens any more, and expects every process to have ended, with the judges'
    /// agreement.
    pub fn finish(&mut self) {
        self.run();
        assert_eq!(self.verdicts(), [""; 0]);
        for node in &self.nodes {
            assert_eq!(node.host.fault(), None);
            assert!(node.firmware.idle(), "pendings were lost");
            for (name, state) in node.host.fibres() {
                assert_eq!(state, host::FibreState::Done, "{name} is stuck");
            }
        }
    }

    pub fn fault(&self, node: usize) -> Option<host::Fault> {
        self.nodes[node].host.fault()
    }
    pub fn counters(&self, node: usize) -> Counters {
        self.nodes[node].kernel.get().unwrap().counters()
    }
    pub fn overflow_counts(&self, node: usize) -> seastar::OverflowCounts {
        self.nodes[node].driver.get().unwrap().overflow_counts().unwrap()
    }
    pub fn now(&self) -> Time {
        self.now
    }
    /// Posts an event that no firmware would.
    pub fn rogue_event(&mut self, node: usize, word: u32) {
        let Node { host, firmware, .. } = &mut self.nodes[node];
        firmware.post(&mut host.memory().borrow_mut(), word);
        self.queue.schedule(self.now, (node, Happening::Interrupt));
    }

    pub fn run(&mut self) {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let mut ports = Ports { node: index, queue: &mut self.queue };
            node.host.attend(self.now, &mut ports);
        }
        while let Some((at, (index, happening))) = self.queue.pop_before(Time::NEVER) {
            assert!(at >= self.now);
            self.now = at;
            self.happen(index, happening);
        }
    }

    fn happen(&mut self, index: usize, happening: Happening) {
        let now = self.now;
        let Node { host, firmware, .. } = &mut self.nodes[index];
        let mut ports = Ports { node: index, queue: &mut self.queue };
        match happening {
            Happening::Host(event) => host.handle(now, event, &mut ports),
            Happening::Interrupt => host.interrupt(now, &mut ports),
            Happening::LoadReply(value) => host.mmio_reply(now, &value.to_le_bytes(), &mut ports),
            Happening::Load { addr } => {
                let reply = Happening::LoadReply(firmware.load(addr));
                self.queue.schedule(now + HT_LATENCY, (index, reply));
            }
            Happening::Store { addr, bytes, len } => {
                firmware.store(now, addr, &bytes[..len], &mut self.queue);
            }
            Happening::Firmware => {
                firmware.step(now, &mut host.memory().borrow_mut(), &mut self.queue);
            }
            Happening::Arrival(message) => {
                firmware.arrive(now, message, &mut host.memory().borrow_mut(), &mut self.queue);
            }
            Happening::Deposited(pending) => {
                firmware.deposited(now, pending, &mut host.memory().borrow_mut(), &mut self.queue);
            }
            Happening::Control(word) => {
                firmware.tell(now, word, &mut host.memory().borrow_mut(), &mut self.queue);
            }
            Happening::Sent(pending) => {
                firmware.sent(now, pending, &mut host.memory().borrow_mut(), &mut self.queue);
            }
        }
    }
}

pub const fn id(nid: u32, pid: u32) -> ProcessId {
    ProcessId { nid, pid }
}

pub const HOST_COSTS: host::Costs = host::Costs {
    kernel_entry: Duration::from_ns(100),
    kernel_exit: Duration::from_ns(100),
    interrupt_entry: Duration::from_ns(1000),
    interrupt_exit: Duration::from_ns(300),
    mmio_write: Duration::from_ns(10),
    copy_start: Duration::from_ns(30),
    copy_rate: 1_500_000_000,
    poll_period: Duration::from_ns(10),
    poll_most: Duration::ZERO,
    lock_take: Duration::from_ns(10),
    lock_pass: Duration::from_ns(60),
};

/// The kernel's Portals.
const LIBRARY: portals::Config = portals::Config {
    nodes: 2,
    costs: portals::Costs {
        api_call: Duration::from_ns(20),
        api_check: Duration::from_ns(30),
        object: Duration::from_ns(40),
        translate: Duration::from_ns(20),
        list_entry: Duration::from_ns(15),
        event_post: Duration::from_ns(50),
        queue_event: Duration::from_ns(40),
        event_get: Duration::from_ns(20),
    },
    system: portals::System::CATAMOUNT,
    limits: Limits::DEFAULT,
};

/// Its driver.
pub fn config() -> Config {
    let ns = Duration::from_ns;
    Config {
        costs: seastar::Costs {
            header_build: ns(30),
            header_read: ns(60),
            slot_read: ns(30),
            dispatch: ns(20),
            command_build: ns(10),
            peer: ns(70),
        },
        shadow_fifos: true,
        inline_messages: true,
        tx_pendings: 600,
        list_commands: 0,
        pools: seastar::Pools::FULL,
        recovers: false,
        accelerated: 0,
        accelerated_tx_pendings: 128,
        collectives: false,
        empty_interrupts: u64::MAX,
        boot_timeout: Duration::from_us(1000),
    }
}
