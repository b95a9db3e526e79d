//! A small world for tests: hosts with the real kernel and the real MPI, joined by network
//! interfaces that only pretend; or with MPI alone, over a transport that needs none of that. Rank programs
//! are closures. The judge of MPI's rules checks every run.

#[path = "../../../../../bench/machine/src/programs/marshal.rs"]
mod marshal;
mod nic;
pub mod office;

use abi::mpi::Function;
use des::{Duration, EventQueue, Time};
use host::{AddressSpace, Costs, Cpu, Host, Ports, SpaceId};
use marshal::Marshal;
use mpi::{
    Algorithms, Local, Mpi, Outcome, Params, Portals, PortalsParams, Process, Settings, Waiting,
    World,
};
use nic::{Event, Nic};
use office::{Clerk, Mutant, Office};
use portals::{seastar, Config, Kernel, Limits, Ni, ProcessId, Unobserved};
use spec::mpi::Ledger;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

const PID: u32 = 7;
/// Programs start when every rank's library is there.
const START: Time = Time(5_000_000_000);
/// Address and size of the programs' memory.
pub const BASE: u64 = 0x40_0000;
pub const MEMORY: u64 = 4 << 20;
/// Bytes at its end that cannot be written.
pub const READ_ONLY: u64 = 4096;

struct Plain(RefCell<Vec<u8>>);

impl Plain {
    fn range(&self, addr: u64, len: usize, write: bool) -> Result<Range<usize>, bus::BusError> {
        if len == 0 {
            return Ok(0..0);
        }
        let error = bus::BusError { addr, len, write, why: "not mapped" };
        let start = addr.checked_sub(BASE).ok_or(error)? as usize;
        let room = if write { MEMORY - READ_ONLY } else { MEMORY };
        let end = start.checked_add(len).filter(|&end| end as u64 <= room);
        end.map(|end| start..end).ok_or(error)
    }
}

impl AddressSpace for Plain {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), bus::BusError> {
        let range = self.range(va, buf.len(), false)?;
        buf.copy_from_slice(&self.0.borrow()[range]);
        Ok(())
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), bus::BusError> {
        let range = self.range(va, data.len(), true)?;
        self.0.borrow_mut()[range].copy_from_slice(data);
        Ok(())
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), bus::BusError> {
        host::read_each(pieces, buf, |va, piece| self.read(va, piece))
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), bus::BusError> {
        host::write_each(pieces, data, |va, piece| self.write(va, piece))
    }
}

/// A rank, as its program sees it.
pub struct Rank {
    pub mpi: Mpi,
    pub rank: i32,
    pub size: i32,
    space: SpaceId,
    next: u64,
    next_request: u64,
}

impl Rank {
    /// Memory of the program.
    pub fn alloc(&mut self, bytes: usize) -> u64 {
        let va = self.next;
        self.next += (bytes as u64).next_multiple_of(64) + 64;
        assert!(self.next <= BASE + MEMORY - READ_ONLY);
        va
    }
    pub fn put(&mut self, va: u64, bytes: &[u8]) {
        let memory = self.process().cpu().memory().clone();
        memory.borrow_mut().write(self.space, va, bytes).unwrap();
    }
    pub fn get(&mut self, va: u64, bytes: usize) -> Vec<u8> {
        let memory = self.process().cpu().memory().clone();
        let mut data = vec![0; bytes];
        memory.borrow_mut().read(self.space, va, &mut data).unwrap();
        data
    }
    pub fn put_ints(&mut self, va: u64, ints: &[i32]) {
        let bytes: Vec<u8> = ints.iter().flat_map(|i| i.to_le_bytes()).collect();
        self.put(va, &bytes);
    }
    pub fn get_ints(&mut self, va: u64, count: usize) -> Vec<i32> {
        let bytes = self.get(va, 4 * count);
        bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect()
    }
    pub fn get_word(&mut self, va: u64) -> u64 {
        u64::from_le_bytes(self.get(va, 8).try_into().unwrap())
    }
    /// A variable with a handle in it.
    pub fn word(&mut self, value: u64) -> u64 {
        let va = self.alloc(8);
        self.put(va, &value.to_le_bytes());
        va
    }
    /// A buffer with `bytes` in it.
    pub fn buffer(&mut self, bytes: &[u8]) -> u64 {
        let va = self.alloc(bytes.len());
        self.put(va, bytes);
        va
    }
    /// A handle as the program's library makes it.
    pub fn new_request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request
    }
    pub fn process(&mut self) -> &mut Process {
        self.mpi.process()
    }
    pub fn now(&mut self) -> Time {
        self.process().now()
    }
    /// Computes until `time`.
    pub fn until(&mut self, time: Time) {
        let cpu = self.process().cpu().clone();
        cpu.spend(time.since(cpu.now()));
    }
    pub fn call(&mut self, function: Function, args: &[u64]) -> Outcome {
        self.mpi.call(function, args)
    }
    /// A call that must succeed.
    pub fn ok(&mut self, function: Function, args: &[u64]) {
        let outcome = self.mpi.call(function, args);
        assert_eq!(outcome, Outcome::Ok(0), "{}", function.name());
    }
}

/// Outcome of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Finished,
    /// It waits for ever, for this.
    Waits(String),
    Fault(String),
}

struct Out<'a> {
    nic: &'a mut Nic,
    queue: &'a mut EventQueue<Event>,
}

impl Ports for Out<'_> {
    fn schedule(&mut self, at: Time, event: host::Event) {
        self.queue.schedule(at, Event::Host(self.nic.node, event));
    }
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]) {
        self.nic.write(now, addr.try_into().unwrap(), data, self.queue);
    }
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize) {
        assert_eq!(len, 4, "a word");
        let at = now + Duration::from_ns(200);
        self.queue
            .schedule(at, Event::Reply(self.nic.node, self.nic.word(addr.try_into().unwrap())));
    }
}

/// Parameters with small limits, so that tests reach them.
pub fn settings() -> Settings {
    let ns = Duration::from_ns;
    let params = Params {
        call: ns(50),
        request: ns(40),
        event: ns(20),
        reduce_element: ns(2),
        datatype_run: ns(5),
        alltoall_short: 128,
        allgather_short: 1024,
    };
    Settings { params, algorithms: Algorithms::default() }
}

/// The same of what is done over Portals.
pub fn over_portals() -> PortalsParams {
    PortalsParams {
        unexpected_entry: Duration::from_ns(15),
        eager_limit: 4096,
        copy_limit: 256,
        copy_buffers: 4,
        unexpected_blocks: 3,
        unexpected_block_size: 16 << 10,
        unexpected_events: 0,
        unexpected_queue: 1024,
        unexpected_growth: 64,
        send_credits: 0,
        events: 64,
    }
}

fn config() -> Config {
    let ns = Duration::from_ns;
    let costs = portals::Costs {
        api_call: ns(20),
        api_check: ns(30),
        object: ns(40),
        translate: ns(50),
        list_entry: ns(15),
        event_post: ns(30),
        queue_event: ns(40),
        event_get: ns(20),
    };
    let system = portals::System::CATAMOUNT;
    Config { nodes: 1 << 16, costs, system, limits: Limits::default() }
}

fn driver() -> seastar::Config {
    let ns = Duration::from_ns;
    seastar::Config {
        costs: seastar::Costs {
            header_build: ns(60),
            header_read: ns(60),
            slot_read: ns(20),
            dispatch: ns(30),
            command_build: ns(30),
            peer: ns(70),
        },
        shadow_fifos: true,
        inline_messages: true,
        tx_pendings: 64,
        list_commands: 0,
        pools: seastar::Pools::FULL,
        recovers: false,
        accelerated: 0,
        accelerated_tx_pendings: 128,
        collectives: false,
        empty_interrupts: u64::MAX,
        boot_timeout: Duration::from_us(100),
    }
}

fn host_costs() -> Costs {
    let ns = Duration::from_ns;
    Costs {
        kernel_entry: ns(100),
        kernel_exit: ns(100),
        interrupt_entry: ns(1000),
        interrupt_exit: ns(300),
        mmio_write: ns(10),
        copy_start: ns(30),
        copy_rate: 1_500_000_000,
        poll_period: ns(10),
        poll_most: Duration::ZERO,
        lock_take: ns(10),
        lock_pass: ns(60),
    }
}

type Shared<T> = Rc<RefCell<T>>;

/// Makes the library of a rank, and the kernel that it needs if it needs one.
type Make = dyn Fn(&Cpu, SpaceId, u32, &Shared<Option<Rc<Kernel>>>) -> Mpi;

struct Node {
    host: Host,
    nic: Nic,
    waiting: Shared<Option<Waiting>>,
    finished: Rc<Cell<bool>>,
}

/// Configuration of a world.
#[derive(Clone)]
pub struct Setting {
    pub ranks: usize,
    pub seed: u64,
    pub settings: Settings,
    pub over_portals: PortalsParams,
    /// Longest time by which a payload may be late.
    pub lateness: Duration,
    /// Payloads arrive damaged.
    pub damage: bool,
    /// Carrier of the messages.
    pub carrier: Carrier,
    /// Defect of the office.
    pub mutant: Option<Mutant>,
}

/// A transport to test on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Portals, its kernel, its driver, and a network interface that pretends.
    Portals,
    /// An [`Office`].
    Office,
}

impl Carrier {
    pub const ALL: [Carrier; 2] = [Carrier::Portals, Carrier::Office];
}

impl Setting {
    pub fn new(ranks: usize) -> Setting {
        let (lateness, carrier) = (Duration::from_us(20), Carrier::Portals);
        let (settings, damage, mutant) = (settings(), false, None);
        let over_portals = over_portals();
        Setting { ranks, seed: 1, settings, over_portals, lateness, damage, carrier, mutant }
    }

    /// The same with each transport.
    pub fn each(ranks: usize) -> [Setting; 2] {
        Carrier::ALL.map(|carrier| Setting { carrier, ..Setting::new(ranks) })
    }

    /// Makes the library of a rank, in its fibre.
    fn make(&self, office: Rc<Office>, rules: Arc<Ledger>) -> Rc<Make> {
        let (settings, size, carrier) = (self.settings.clone(), self.ranks as u32, self.carrier);
        let over_portals = self.over_portals;
        Rc::new(move |cpu, space, rank, kernel| {
            let world = World { rank, size, program: 0 };
            let (core, settings, rules) = (cpu.clone(), settings.clone(), rules.clone());
            let judge = |local: &mut Local| {
                let cpu = local.cpu().clone();
                local.set_witness(Rc::new(Marshal::new(rank, rules, false, cpu, space)));
            };
            if carrier == Carrier::Office {
                let office = office.clone();
                return Mpi::new(core, space, world, settings, |local| {
                    judge(local);
                    Box::new(Clerk::new(local, office))
                });
            }
            let nal = Rc::new(seastar::Driver::new(cpu.memory(), &driver()));
            let booted = Kernel::boot(cpu, rank as u16, &config(), Rc::new(Unobserved), nal);
            *kernel.borrow_mut() = Some(booted.clone());
            let ni = Ni::init(cpu, &booted, PID, space).unwrap();
            let map: Arc<[ProcessId]> = (0..size).map(|nid| ProcessId { nid, pid: PID }).collect();
            Mpi::new(core, space, world, settings, |local| {
                judge(local);
                Box::new(Portals::open(local, ni, map, over_portals))
            })
        })
    }

    fn node(&self, index: usize, make: &Rc<Make>, program: Rc<dyn Fn(&mut Rank)>) -> Node {
        let mut host = Host::new(&host_costs());
        let plain = Plain(RefCell::new(vec![0; MEMORY as usize]));
        let space = host.memory().borrow_mut().add_space(Box::new(plain));
        let nic = Nic::new(index, self.ranks, host.memory().clone(), self.seed);
        let kernel: Shared<Option<Rc<Kernel>>> = Rc::default();
        let (waiting, finished) = (Shared::default(), Rc::new(Cell::new(false)));
        let at_interrupt = kernel.clone();
        host.set_interrupt_handler(Rc::new(move |cpu| {
            let kernel = at_interrupt.borrow().clone().expect("booted before the first interrupt");
            kernel.interrupt(cpu);
        }));
        let (make, size) = (make.clone(), self.ranks as i32);
        let (says, done): (Shared<Option<Waiting>>, _) = (Rc::clone(&waiting), finished.clone());
        host.spawn(&format!("rank {index}"), move |cpu| {
            let mpi = make(&cpu, space, index as u32, &kernel);
            *says.borrow_mut() = Some(mpi.waiting());
            cpu.spend(START.since(cpu.now()));
            let (rank, next, next_request) = (index as i32, BASE, 0x10000);
            program(&mut Rank { mpi, rank, size, space, next, next_request });
            done.set(true);
        });
        Node { host, nic, waiting, finished }
    }

    /// Runs `program` on every rank until nothing happens any more; MPI's rules hold.
    pub fn run(&self, program: impl Fn(&mut Rank) + 'static) -> Vec<End> {
        let (ends, broken) = self.judge(program);
        assert_eq!(broken, None, "seed {}", self.seed);
        ends
    }

    /// The same, with the first rule that was broken.
    pub fn judge(&self, program: impl Fn(&mut Rank) + 'static) -> (Vec<End>, Option<String>) {
        let office = Office::new(self.ranks, self.seed, self.lateness, self.mutant);
        let rules = Arc::new(Ledger::new(self.ranks as u32));
        let ends = self.run_over(&self.make(office, rules.clone()), program);
        let said = |end: &End| match end {
            End::Fault(what) if what.starts_with("the judge of MPI: ") => Some(what.clone()),
            _ => None,
        };
        let first = ends.iter().find_map(said);
        let waits = |rank: u32| matches!(ends[rank as usize], End::Waits(_));
        let faulty = ends.iter().any(|end| matches!(end, End::Fault(_)));
        let last =
            || rules.conclude(u64::MAX, |rank| !faulty && waits(rank)).first()?.to_string().into();
        let broken = first.or_else(last);
        (ends, broken)
    }

    fn run_over(&self, make: &Rc<Make>, program: impl Fn(&mut Rank) + 'static) -> Vec<End> {
        let program: Rc<dyn Fn(&mut Rank)> = Rc::new(program);
        let mut queue = EventQueue::new(0);
        let node = |index| self.node(index, make, program.clone());
        let mut nodes: Vec<Node> = (0..self.ranks).map(node).collect();
        for node in &mut nodes {
            node.nic.lateness = self.lateness;
            node.nic.damage = self.damage;
            node.host.start(Time::ZERO, &mut Out { nic: &mut node.nic, queue: &mut queue });
        }
        while let Some((now, event)) = queue.pop_before(Time::NEVER) {
            let index = match &event {
                Event::Host(index, _) | Event::Reply(index, _) | Event::Nic(index, _) => *index,
            };
            let Node { host, nic, .. } = &mut nodes[index];
            match event {
                Event::Host(_, event) => {
                    host.handle(now, event, &mut Out { nic, queue: &mut queue });
                }
                Event::Reply(_, value) => {
                    host.mmio_reply(now, &value.to_le_bytes(), &mut Out { nic, queue: &mut queue });
                }
                Event::Nic(_, act) => {
                    if nic.act(now, act, &mut queue) {
                        host.interrupt(now, &mut Out { nic, queue: &mut queue });
                    }
                }
            }
        }
        nodes.iter().map(Node::end).collect()
    }

    /// Runs `program`, which must finish on every rank.
    pub fn finish(&self, program: impl Fn(&mut Rank) + 'static) {
        let ends = self.run(program);
        for (rank, end) in ends.iter().enumerate() {
            assert_eq!(*end, End::Finished, "rank {rank} (seed {})", self.seed);
        }
    }
}

/// Outcome of the one rank whose library `make` makes.
pub fn end_of_one(
    make: impl Fn(Cpu, SpaceId, Settings) -> Mpi + 'static,
    program: impl Fn(&mut Rank) + 'static,
) -> End {
    let make: Rc<Make> = Rc::new(move |cpu, space, _, _| make(cpu.clone(), space, settings()));
    Setting::new(1).run_over(&make, program).remove(0)
}

/// Runs `program`, which must finish on every rank, over each transport.
pub fn on_each(ranks: usize, program: impl Fn(&mut Rank) + Copy + 'static) {
    Setting::each(ranks).iter().for_each(|setting| setting.finish(program));
}

impl Node {
    fn end(&self) -> End {
        if let Some(fault) = self.host.fault() {
            return End::Fault(fault.what);
        }
        if self.finished.get() {
            return End::Finished;
        }
        let waiting = self.waiting.borrow();
        let text = waiting.as_ref().and_then(|wait| Some(wait.borrow().as_ref()?.to_string()));
        End::Waits(text.unwrap_or_default())
    }
}

/// Bytes that tell their place and their message.
pub fn pattern(message: u64, bytes: usize) -> Vec<u8> {
    let mut random = des::Random::new(message);
    (0..bytes).map(|_| random.next_u64() as u8).collect()
}
