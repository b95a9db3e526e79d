//! The software of a node: its kernel, and the ranks of the program.

use crate::echo;
use crate::journal::Journal;
use crate::journey::Waypoint;
use crate::judge::Bailiff;
use crate::placement::Placement;
use crate::timeline::Track;
use abi::mpi::Function;
use abi::MessageId;
use bus::BusError;
use des::Time;
use host::{Cpu, Host};
use portals::{EventKind, Kernel, Ni, PendingsMax, ProcessId};
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// What every rank runs.
#[derive(Clone, Debug)]
pub enum Program {
    /// A process of its own.
    Executable {
        /// An executable of the MPI 5.0 ABI.
        path: PathBuf,
        /// Its arguments.
        args: Vec<OsString>,
    },
    /// A function of this program.
    Builtin(rank::Builtin),
}

/// What the software of every node is made of.
#[derive(Clone, Debug)]
pub(crate) struct Software {
    pub portals: portals::Config,
    pub mpi: mpi::Params,
    pub agent: rank::Costs,
    /// A user of Portals in the kernel sends back what it gets.
    pub echo: bool,
    pub program: Program,
    pub library: PathBuf,
    pub compute: rank::Compute,
    pub placement: Placement,
    /// The Portals process of each rank's MPI library.
    pub map: Arc<[ProcessId]>,
    /// The Portals process of each rank's program, if it opens one.
    pub programs: Arc<[ProcessId]>,
}

/// The kernel and the ranks of one node.
pub(crate) struct Ranks {
    nid: u16,
    software: Rc<Software>,
    /// Set once it has booted.
    kernel: Rc<OnceCell<Rc<Kernel>>>,
    /// What is not ready yet: the kernel and each rank; none before the kernel begins to boot.
    booting: Rc<Cell<Option<usize>>>,
    observers: Rc<Observers>,
    /// A rank for each core, as far as there are ranks.
    seats: Vec<Rc<Seat>>,
}

/// A rank, as its fibre and the node see it.
#[derive(Default)]
struct Seat {
    rank: u32,
    core: u32,
    ending: RefCell<Option<(Time, rank::Ending)>>,
    waiting: RefCell<Option<mpi::Waiting>>,
    unsent: RefCell<mpi::Unsent>,
    memory: Late,
}

impl Ranks {
    /// The software of node `nid`, on which its ranks run, if there are so many.
    pub fn new(
        nid: u16,
        software: Rc<Software>,
        journal: Rc<Journal>,
        judge: Option<Rc<Bailiff>>,
    ) -> Ranks {
        let placement = software.placement;
        let first = placement.per_node * u32::from(nid);
        let observer = |core| Observer::new(core, first + core, journal.clone());
        let cores = (0..placement.per_node).map(observer).collect();
        let observers = Rc::new(Observers { cores, judge });
        let seat = |rank| Rc::new(Seat { rank, core: placement.core(rank), ..Seat::default() });
        let seats = placement.on(nid.into()).map(seat).collect();
        let (booting, kernel) = Default::default();
        Ranks { nid, software, kernel, booting, observers, seats }
    }

    /// Starts the kernel and then the ranks, each on its core: their libraries are ready before `launch`,
    /// when the program itself starts.
    pub fn boot(&self, host: &mut Host, launch: Time) {
        let kernel = self.kernel.clone();
        let for_interrupts = kernel.clone();
        host.set_interrupt_handler(Rc::new(move |cpu| {
            if let Some(kernel) = for_interrupts.get() {
                kernel.interrupt(cpu);
            }
        }));
        let (nid, software) = (self.nid, self.software.clone());
        let (observers, seats) = (self.observers.clone(), self.seats.clone());
        let booting = self.booting.clone();
        booting.set(Some(1 + seats.len()));
        let ready = move || booting.set(booting.get().map(|left| left - 1));
        host.spawn("kernel boot", move |cpu| {
            let started = Kernel::boot(&cpu, nid, &software.portals, observers.clone());
            assert!(kernel.set(started.clone()).is_ok(), "a kernel boots once");
            if software.echo {
                let kernel = started.clone();
                cpu.spawn("echo", move |cpu| echo::serve(&cpu, &kernel));
            }
            ready();
            for seat in seats {
                let (kernel, software) = (started.clone(), software.clone());
                let (observers, ready) = (observers.clone(), ready.clone());
                let core = seat.core as usize;
                cpu.spawn_on(core, &format!("rank {}", seat.rank), move |cpu| {
                    let (kernel, software, observer) =
                        (&kernel, &*software, &observers.cores[core]);
                    let life = Life { cpu: &cpu, kernel, software, observer, seat: &seat };
                    let ending = life.run(|| {
                        ready();
                        cpu.spend(launch.since(cpu.now()));
                    });
                    *seat.ending.borrow_mut() = Some((cpu.now(), ending));
                });
            }
        });
    }

    /// Most pendings that were in use at a time.
    pub fn pendings_max(&self) -> PendingsMax {
        self.kernel.get().map_or_else(PendingsMax::default, |kernel| kernel.pendings_max())
    }

    /// True if the firmware has posted events that the kernel has not taken.
    pub fn has_events(&self) -> bool {
        self.kernel.get().is_some_and(|kernel| kernel.has_events())
    }

    /// The event ring of the kernel, and the slot that it takes next.
    pub fn events(&self) -> Option<(std::ops::Range<u64>, u32)> {
        self.kernel.get().map(|kernel| kernel.events())
    }

    /// True once the program can be launched.
    pub fn booted(&self) -> bool {
        self.booting.get() == Some(0)
    }

    /// What of a host whose firmware is ready is not.
    pub fn late(&self) -> Option<String> {
        let left = self.booting.get()?;
        match (left > self.seats.len(), left) {
            (true, _) => Some("the kernel was".into()),
            (false, 1) => Some("a rank's libraries were".into()),
            (false, _) => Some(format!("the libraries of {left} ranks were")),
        }
    }

    /// True once no rank of this node runs any more.
    pub fn all_ended(&self) -> bool {
        self.seats.iter().all(|seat| seat.ending.borrow().is_some())
    }

    /// The ranks of this node, in the order of its cores.
    pub fn numbers(&self) -> Vec<u32> {
        self.seats.iter().map(|seat| seat.rank).collect()
    }

    /// Exit status and sentence of the first rank that ended in a way that ends the run.
    pub fn failure(&self) -> Option<(i32, String)> {
        let failure = |seat: &Rc<Seat>| {
            let ending = seat.ending.borrow();
            let (at, ending) = ending.as_ref()?;
            Some((*at, ending.failure(seat.rank)?))
        };
        let failures = self.seats.iter().filter_map(failure);
        failures.min_by_key(|(at, _)| *at).map(|(_, failure)| failure)
    }

    /// The same of the first rank whose process had ended when its memory was wanted.
    pub fn missed(&self) -> Option<(i32, String)> {
        let missed = |seat: &Rc<Seat>| {
            let (rank, ending) = seat.memory.0.get()?.ending()?;
            ending.failure(rank)
        };
        self.seats.iter().find_map(missed)
    }

    /// How the ranks ended: rank, when, exit status.
    pub fn endings(&self) -> Vec<(u32, Time, i32)> {
        let seats = self.seats.iter();
        seats
            .filter_map(|seat| {
                let ending = seat.ending.borrow();
                ending.as_ref().map(|(at, ending)| (seat.rank, *at, ending.code()))
            })
            .collect()
    }

    /// What the ranks that have not ended wait for.
    pub fn waiting(&self) -> Vec<String> {
        let seats = self.seats.iter().filter(|seat| seat.ending.borrow().is_none());
        seats
            .map(|seat| {
                let waiting = seat.waiting.borrow();
                let what =
                    waiting.as_ref().and_then(|wait| Some(wait.borrow().as_ref()?.to_string()));
                let what = what.unwrap_or_else(|| "its first MPI call".into());
                format!("rank {} waits in {what}", seat.rank)
            })
            .collect()
    }
    /// Messages that others may wait for in vain, because their sends failed.
    pub fn unsent(&self) -> impl Iterator<Item = String> + '_ {
        self.seats.iter().filter_map(|seat| {
            let unsent = seat.unsent.borrow();
            let (number, last) = &*unsent.borrow();
            (*number > 0).then(|| format!("rank {} {last}", seat.rank))
        })
    }
}

/// The memory of a process that starts later: until then only library buffers are in its space.
#[derive(Clone, Default)]
struct Late(Rc<OnceCell<rank::ProcessMemory>>);

impl Late {
    fn get(&self, addr: u64, len: usize, write: bool) -> Result<&rank::ProcessMemory, BusError> {
        let why = "the program has not started";
        self.0.get().ok_or(BusError { addr, len, write, why })
    }
}

impl host::AddressSpace for Late {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.get(va, buf.len(), false)?.read(va, buf)
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        self.get(va, data.len(), true)?.write(va, data)
    }
}

/// A rank's life, in its fibre.
struct Life<'a> {
    cpu: &'a Cpu,
    kernel: &'a Rc<Kernel>,
    software: &'a Software,
    observer: &'a Observer,
    seat: &'a Seat,
}

/// Prints what a workload tells. A reader that has gone away (`| head`) is no failure of ours.
fn print(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {why}"))
        }
        _ => Ok(()),
    }
}

impl Life<'_> {
    /// Its libraries start, `until_launch` passes, its program runs.
    fn run(&self, until_launch: impl FnOnce()) -> rank::Ending {
        let (cpu, software, rank) = (self.cpu, self.software, self.seat.rank);
        let memory = self.seat.memory.clone();
        let space = cpu.memory().borrow_mut().add_space(Box::new(memory));
        let pid = Placement::library_pid(self.seat.core);
        let ni = match Ni::init(cpu, self.kernel, pid, space) {
            Ok(ni) => ni,
            Err(error) => cpu.fault(format!("PtlNIInit: {error}")),
        };
        let world = mpi::World { rank, size: software.placement.ranks, map: software.map.clone() };
        let mut mpi = mpi::Mpi::new(ni, cpu.clone(), world, software.mpi.clone());
        *self.seat.waiting.borrow_mut() = Some(mpi.waiting());
        *self.seat.unsent.borrow_mut() = mpi.process().unsent();
        until_launch();
        let ended = match &software.program {
            Program::Builtin(builtin) => {
                let result = builtin
                    .run(mpi.process(), &Calls(self.observer))
                    .map_err(|error| error.to_string());
                result.and_then(|text| {
                    print(&text)?;
                    Ok(rank::Ending::Exited(rank::ExitStatus::FINISHED))
                })
            }
            Program::Executable { path, args } => self.process(&mut mpi, path, args),
        };
        ended.unwrap_or_else(|why| rank::Ending::Fatal(format!("rank {rank}: {why}")))
    }

    /// The program as a process. The error says why there is none.
    fn process(
        &self,
        mpi: &mut mpi::Mpi,
        program: &Path,
        args: &[OsString],
    ) -> Result<rank::Ending, String> {
        let (software, rank) = (self.software, self.seat.rank);
        let process = rank::Process::spawn(&rank::SpawnOptions {
            program: program.to_owned(),
            args: args.to_owned(),
            rank,
            size: software.placement.ranks,
            library_dir: software.library.clone(),
            stdin: if rank == 0 { rank::Stdin::Inherit } else { rank::Stdin::Null },
            compute: software.compute,
            follow: true,
            ..rank::SpawnOptions::default()
        });
        let process = process.map_err(|error| error.to_string())?;
        self.seat.memory.0.set(process.memory()).expect("a rank has one process");
        let party = rank::Party { rank, map: software.programs.clone() };
        let (waiting, space) = (mpi.waiting(), mpi.process().space());
        let bridge =
            rank::Bridge::new(self.cpu.clone(), self.kernel.clone(), space, party, waiting);
        let (core, costs) = (self.cpu.clone(), software.agent);
        let runner = rank::Runner::with_portals(process, core, costs, Some(bridge));
        mpi.process().set_program(runner.clone());
        let call = |function, args: &[u64]| mpi.call(function, args);
        Ok(rank::agent(call, &runner, self.observer))
    }
}

/// The observers of a node's ranks, one a core, and the node's judge.
struct Observers {
    cores: Vec<Observer>,
    judge: Option<Rc<Bailiff>>,
}

impl portals::Observer for Observers {
    fn mark(&self, core: usize, at: Time, id: MessageId, mark: portals::Mark) {
        self.cores[core].mark(at, id, mark);
    }
    fn listens(&self) -> bool {
        self.judge.is_some()
    }
    fn told(&self, at: Time, told: &portals::Told) {
        if let Some(judge) = &self.judge {
            judge.told(at, told);
        }
    }
}

/// Turns what the libraries tell of one rank into marks of the journey.
struct Observer {
    core: u32,
    rank: u32,
    journal: Rc<Journal>,
    /// When the program's current call reached the MPI library, if that call is one that sends or receives
    /// a message of its own; a message of a collective starts when the library sends it.
    call_entered: Cell<Option<Time>>,
    /// The message whose event the MPI library took last, within the current call.
    returned: Cell<Option<MessageId>>,
    /// When the interrupt was raised that led to what is drained next, and when its handler began.
    interrupt: Cell<(Time, Time)>,
}

impl Observer {
    fn new(core: u32, rank: u32, journal: Rc<Journal>) -> Observer {
        Observer {
            core,
            rank,
            journal,
            call_entered: Cell::default(),
            returned: Cell::default(),
            interrupt: Cell::default(),
        }
    }
}

/// True for calls that send one message, or whose return means that one has come.
fn is_point_to_point(function: Function) -> bool {
    matches!(
        function,
        Function::Send
            | Function::Ssend
            | Function::Rsend
            | Function::Bsend
            | Function::Isend
            | Function::Issend
            | Function::Irsend
            | Function::Recv
            | Function::Wait
    )
}

impl rank::Observer for Observer {
    fn call_entered(&self, at: Time, function: Function) {
        Calls(self).call_entered(at, function);
        self.call_entered.set(is_point_to_point(function).then_some(at));
        self.returned.set(None);
    }
    fn call_returned(&self, at: Time, function: Function) {
        Calls(self).call_returned(at, function);
        if let Some(message) = self.returned.take() {
            self.journal.mark(at, message, Waypoint::CallReturned, None);
        }
    }
    fn portals_entered(&self, at: Time, function: abi::portals::Function) {
        self.begins(at, function.name());
        // The message's way begins with PtlPut itself.
        self.call_entered.set(None);
        self.returned.set(None);
    }
    fn portals_returned(&self, at: Time, _function: abi::portals::Function) {
        self.ends(at);
    }
    fn computes_for_long(&self, time: std::time::Duration) {
        let rank = self.rank;
        eprintln!("sunstar: rank {rank} has computed for {} s without an MPI call", time.as_secs());
    }
}

/// Tells whoever watches of a rank's calls, and nothing else.
struct Calls<'a>(&'a Observer);

impl rank::Observer for Calls<'_> {
    fn call_entered(&self, at: Time, function: Function) {
        self.0.begins(at, function.name());
    }
    fn call_returned(&self, at: Time, _function: Function) {
        self.0.ends(at);
    }
}

impl Observer {
    fn begins(&self, at: Time, function: &str) {
        self.journal.watch(|watch| watch.begin(at, Track::Rank(self.rank), function, None));
    }
    fn ends(&self, at: Time) {
        self.journal.watch(|watch| watch.end(at, Track::Rank(self.rank)));
    }
    fn mark(&self, at: Time, id: MessageId, mark: portals::Mark) {
        let journal = &self.journal;
        journal.watch(|watch| watch.passes(at, (self.core, self.rank), id, mark));
        let pass = |at, waypoint| journal.mark(at, id, waypoint, None);
        match mark {
            portals::Mark::CallEntered => {
                pass(self.call_entered.get().unwrap_or(at), Waypoint::CallEntered);
                pass(at, Waypoint::PutEntered);
            }
            portals::Mark::KernelEntered => pass(at, Waypoint::KernelEntered),
            portals::Mark::CommandWritten => {
                pass(at, Waypoint::CommandWritten);
                pass(journal.last_write_arrives.get(), Waypoint::CommandArrived);
            }
            portals::Mark::InterruptRaised => self.interrupt.set((at, at)),
            portals::Mark::HandlerEntered => self.interrupt.set((self.interrupt.get().0, at)),
            portals::Mark::HeaderDrained => {
                let (raised, entered) = self.interrupt.get();
                if let Some(written) = journal.written_for(raised) {
                    pass(written, Waypoint::InterruptWritten);
                }
                pass(raised, Waypoint::InterruptArrived);
                pass(entered, Waypoint::HandlerEntered);
                pass(at, Waypoint::EventDrained);
            }
            portals::Mark::ReceiveWritten => {
                pass(at, Waypoint::ReceiveWritten);
                pass(journal.last_write_arrives.get(), Waypoint::ReceiveArrived);
            }
            portals::Mark::ReceivedDrained => {
                let (raised, entered) = self.interrupt.get();
                if let Some(written) = journal.written_for(raised) {
                    pass(written, Waypoint::CompletionWritten);
                }
                pass(raised, Waypoint::CompletionArrived);
                pass(entered, Waypoint::CompletionEntered);
                pass(at, Waypoint::CompletionDrained);
            }
            portals::Mark::EventPosted(EventKind::PutEnd | EventKind::ReplyEnd) => {
                pass(at, Waypoint::EventPosted);
            }
            portals::Mark::EventReturned(EventKind::PutEnd | EventKind::ReplyEnd) => {
                pass(at, Waypoint::EventReturned);
                if self.call_entered.get().is_some() {
                    self.returned.set(Some(id));
                } else {
                    pass(at, Waypoint::CallReturned);
                }
            }
            _ => {}
        }
    }
}
