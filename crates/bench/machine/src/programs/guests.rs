//! Real Linux guests as the hosts of nodes: each runs a program in a kernel of its own, and drives the node's
//! card as a PCI device.
//!
//! ```text
//!  guest::Guest ─ Act::Load, Store ─► life: the host's fibre ─ Cpu::mmio_read, mmio_write ─► the card's bus
//!               ◄─ answer, run(time) ──  sleeps, stalls        ◄─ interrupt, time
//!  its memory   ◄──────────────────────────── host::Memory ◄──────────────────────────────────── DMA
//! ```
//!
//! While the guest executes, the fibre blocks the thread that simulates the node: a guest executes in no
//! simulated time, so nothing can happen on its node meanwhile. It never runs ahead: its next act becomes an
//! event.

use super::Executable;
use crate::bench::Bench;
use crate::console;
use crate::instruments::journal::Journal;
use crate::node::Software;
use crate::parameters::hosts::{Clocks, GuestNode, Host as HostCosts, Linux};
use crate::parameters::Parameters;
use crate::system::Os;
use bus::BusError;
use des::{Duration, Time};
pub use guest::{Act, Costs, Input, Location, Setup, Space, Typist, MESSAGES};
use guest::{Ending, Guest, GuestMemory, Interrupt, Kernel, Task};
use host::{read_each, write_each, AddressSpace, Host};
use life::{Driven, Life};
use line::Line;
pub use line::Pin;
use observed::Observed;
pub use observed::{GuestObserver, Reason, Turn};
use output_error::OutputError;
pub use slot::Slot;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

mod life;
mod line;
mod observed;
mod output_error;
mod slot;
#[cfg(test)]
mod tests;

/// Programs in guests: each has the ranks behind those of the ones before it.
#[derive(Clone, Debug)]
pub struct Guests {
    /// Kernel that they boot.
    pub kernel: Kernel,
    /// Programs that they run; a path without a slash is looked for in the guest.
    pub executables: Vec<Executable>,
    /// Standard input of one rank; that of others is empty.
    pub input: Option<(u32, Input)>,
}

impl Guests {
    /// Number of a rank's program.
    fn part_of(&self, rank: u32) -> usize {
        let mut ranks = 0;
        let own = |executable: &Executable| {
            ranks += executable.ranks;
            rank < ranks
        };
        self.executables.iter().position(own).expect("each rank has a program")
    }
    /// Program of a rank.
    fn executable(&self, rank: u32) -> &Executable {
        &self.executables[self.part_of(rank)]
    }
    /// Standard input of a rank.
    fn input(&self, rank: u32) -> Input {
        let own = self.input.as_ref().filter(|(of, _)| *of == rank);
        own.map_or(Input::Nothing, |(_, input)| input.clone())
    }
}

/// Costs of the guest's kernel: the system's primitives, as of hosts with our own kernel.
pub fn costs(p: &Parameters) -> Costs {
    let ns = |time: Duration| u32::try_from(time.0.div_ceil(1000)).unwrap_or(u32::MAX);
    let (host, linux, own) = (HostCosts::of(p), Linux::of(p), GuestNode::of(p));
    Costs {
        syscall: ns(linux.kernel_entry + linux.kernel_exit),
        interrupt: ns(linux.interrupt_entry + linux.interrupt_exit),
        context_switch: ns(own.context_switch),
        packet: ns(own.packet),
        copied_kb: ns(Duration::of_transfer(1024, host.copy_rate)),
        clock: ns(Clocks::of(p).clock_read),
    }
}

/// Variables for a rank's program, which is given `own`, and none of the command's. If there is an MPI
/// library for guests, it is found before others, and learns from PMI's names which rank it is.
fn variables(
    bench: &Bench<'_>,
    guests: &Guests,
    rank: u32,
    own: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let own = own.to_vec();
    let Some(mpi) = bench.options.parameters.model().guest_mpi else { return own };
    let (paths, mut all): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|(name, _)| name == SEARCHED);
    let mut path = PathBuf::from(guest::LIBRARIES).join(mpi).into_os_string();
    for (_, given) in paths {
        path.push(":");
        path.push(given);
    }
    all.push((SEARCHED.into(), path));
    let part = guests.part_of(rank) as u32;
    for (name, number) in [("PMI_RANK", rank), ("PMI_SIZE", bench.nodes), ("PMI_APPNUM", part)] {
        all.push((name.into(), number.to_string().into()));
    }
    all
}

/// Name of the variable with the folders in which libraries are looked for first.
const SEARCHED: &str = "LD_LIBRARY_PATH";

/// A node's only rank: a guest.
pub struct GuestRank {
    rank: u32,
    kernel: Kernel,
    task: Task,
    slot: Slot,
    pin: Option<Pin>,
    observer: Option<Rc<dyn GuestObserver>>,
    /// Its program. A server is switched off when the others have ended.
    executable: Executable,
    kept: KeptByRank,
    state: Rc<State>,
}

/// Files that guests have left ([`Setup`]), by rank.
#[derive(Clone, Debug, Default)]
pub struct KeptByRank(Arc<Mutex<BTreeMap<u32, guest::Kept>>>);

impl KeptByRank {
    fn put(&self, rank: u32, kept: guest::Kept) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(rank, kept);
    }
    /// Files that a guest has left at its end.
    pub fn of(&self, rank: u32) -> guest::Kept {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&rank).cloned().unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    ready: Cell<bool>,
    ending: RefCell<Option<(Time, Ending)>>,
}

impl GuestRank {
    /// Node `nid` of a bench with these guests; its card is at `slot`.
    pub fn new(bench: &Bench<'_>, guests: &Guests, nid: u32, slot: Slot) -> GuestRank {
        let p = &bench.options.parameters;
        let executable = guests.executable(nid).clone();
        let around = &executable.surroundings;
        let mut arguments = vec![OsString::from(&executable.path)];
        arguments.extend(executable.args.iter().cloned());
        let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let task = Task {
            number: nid,
            guests: bench.nodes,
            memory_mb: (GuestNode::of(p).memory >> 20) as u32,
            seed: bench.options.seed ^ u64::from(nid) << 32,
            costs: costs(p),
            date: around.date.saturating_mul(1_000_000_000),
            begins: bench.common.launch.0.div_ceil(1000),
            device: true,
            arguments,
            variables: variables(bench, guests, nid, &around.env),
            folder: around.folder.clone().unwrap_or_else(here),
            libraries: p.model().guest_mpi.map(|_| bench.options.places.library.clone()),
            input: guests.input(nid),
            setup: Setup::default(),
        };
        let (kernel, state) = (guests.kernel.clone(), Rc::default());
        let kept = KeptByRank::default();
        let (rank, pin, observer) = (nid, None, None);
        GuestRank { rank, kernel, task, slot, pin, observer, executable, kept, state }
    }

    /// The same, with something to be done before its program begins; `kept` gets what is kept of it.
    pub fn prepared(mut self, setup: Setup, kept: &KeptByRank) -> GuestRank {
        self.task.setup = setup;
        self.kept = kept.clone();
        self
    }

    /// The same, with a card that has this interrupt pin.
    pub fn with_pin(mut self, pin: Pin) -> GuestRank {
        self.pin = Some(pin);
        self
    }

    /// The same, with an observer.
    pub fn observed_by(mut self, observer: Rc<dyn GuestObserver>) -> GuestRank {
        self.observer = Some(observer);
        self
    }

    /// The host of such a node. Its interrupts cost nothing, because the guest's own kernel charges for them.
    pub fn host(bench: &Bench<'_>) -> Host {
        let own = bench.common.systems.costs(Os::Linux);
        let nothing = Duration::ZERO;
        let costs = host::Costs { interrupt_entry: nothing, interrupt_exit: nothing, ..own };
        Host::new(&costs)
    }

    /// Sets the rank of a node in its journal.
    pub fn employ(journal: &Journal, nid: u32) {
        journal.employ(nid..nid + 1);
    }
}

impl Software for GuestRank {
    fn boot(&self, host: &mut Host, _launch: Time) {
        let state = self.state.clone();
        let guest = match Guest::start(&self.kernel, &self.task) {
            Ok(guest) => guest,
            Err(why) => {
                let why = format!("cannot begin: {why}");
                *state.ending.borrow_mut() = Some((Time::ZERO, Ending::Lost(why)));
                return;
            }
        };
        host.memory().borrow_mut().set_guest(Box::new(Physical(guest.memory().clone())));
        let line = Rc::new(Line::of(self.pin.clone()));
        let raised = line.clone();
        host.set_interrupt_handler(Rc::new(move |_| raised.rise()));
        let (slot, executable) = (self.slot.clone(), self.executable.clone());
        let (rank, kept) = (self.rank, self.kept.clone());
        let memory = guest.memory().clone();
        let guest = Observed { guest, observer: self.observer.clone() };
        host.spawn("guest", move |cpu| {
            line.set_waker(cpu.waker());
            let waker = cpu.waker();
            memory.set_watcher(move || waker.notice());
            let mut life = Life::new(&cpu, guest, slot, &line, &state.ready);
            life.serve(&executable.surroundings);
            let ending = life.run();
            kept.put(rank, life.kept());
            *state.ending.borrow_mut() = Some((cpu.now(), ending));
        });
    }
    fn late(&self) -> Option<String> {
        // One that has ended says why by itself.
        (!self.state.ready.get() && !self.all_ended()).then(|| "the guest was".into())
    }
    fn ranks(&self) -> Vec<u32> {
        vec![self.rank]
    }
    fn all_ended(&self) -> bool {
        self.state.ending.borrow().is_some()
    }
    fn endings(&self) -> Vec<(u32, Time, i32)> {
        let ending = self.state.ending.borrow();
        ending.iter().map(|(at, ending)| (self.rank, *at, code(ending))).collect()
    }
    fn failure(&self) -> Option<(i32, String)> {
        let ending = self.state.ending.borrow();
        let (_, ending) = ending.as_ref()?;
        let rank = self.rank;
        match ending {
            Ending::Exited(0) => None,
            Ending::Exited(code) => Some((*code, format!("rank {rank} exited with code {code}"))),
            Ending::Killed(signal) => {
                Some((128 + signal, format!("rank {rank} was killed by signal {signal}")))
            }
            Ending::Lost(why) => Some((1, format!("the guest of rank {rank} {why}"))),
        }
    }
    fn waiting(&self) -> Vec<String> {
        let what = || format!("the guest of rank {} sleeps, and nothing wakes it", self.rank);
        (!self.all_ended()).then(what).into_iter().collect()
    }
}

fn code(ending: &Ending) -> i32 {
    match ending {
        Ending::Exited(code) => *code,
        Ending::Killed(signal) => 128 + signal,
        Ending::Lost(_) => 1,
    }
}

/// A guest's memory, by physical addresses.
struct Physical(GuestMemory);

impl AddressSpace for Physical {
    fn read(&self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.0.read(phys, buf)
    }
    fn write(&self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.0.write(phys, data)
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        read_each(pieces, buf, |phys, piece| self.0.read(phys, piece))
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        write_each(pieces, data, |phys, piece| self.0.write(phys, piece))
    }
}

impl Driven for Guest {
    fn boot(&mut self) -> Act {
        Guest::boot(self)
    }
    fn run(&mut self, now: u64) -> Act {
        Guest::run(self, now)
    }
    fn answer(&mut self, now: u64, bytes: &[u8]) -> Act {
        Guest::answer(self, now, bytes)
    }
    /// Delivers an interrupt: the messages that its card has stored, or the line if there are none.
    fn interrupt(&mut self, now: u64) -> Act {
        let mut act = None;
        while !matches!(act, Some(Act::End(_))) {
            let Some(data) = self.memory().take_message() else { break };
            act = Some(Guest::interrupt(self, now, Interrupt::Message(data)));
        }
        act.unwrap_or_else(|| Guest::interrupt(self, now, Interrupt::Line))
    }
    fn serves(&self) -> bool {
        Guest::serves(self)
    }
    fn watch(&self, word: Option<u64>) -> bool {
        self.memory().watch(word)
    }
    fn is_ready(&self) -> bool {
        Guest::is_ready(self)
    }
    fn kept(&self) -> guest::Kept {
        Guest::kept(self)
    }
    fn pass_on(&mut self) -> Result<(), OutputError> {
        let [out, err] = self.take_output().map_err(OutputError::Lost)?;
        console::pass_on_bytes(&err);
        Ok(console::print_bytes(&out)?)
    }
}
