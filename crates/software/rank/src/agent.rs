//! The agent of a rank: a fibre that does what the rank's process demands, on the host's simulated timeline.

mod again;
mod fabric;
mod observer;

pub use observer::{Observer, Outside};

use crate::bridge::{self, Bridge};
use crate::demand::Demand;
use crate::ending::Ending;
use crate::endless::rest;
use crate::fabric::{Costs as FabricCosts, FabricCall};
use crate::launch::Launcher;
use crate::lease::{Lease, Looks};
use crate::process::Process;
use crate::sockets::{self, SocketCall, Sockets};
use crate::verbs::{self, Verbs};
use abi::mpi::{Function, ARGUMENTS_MAX};
use des::{Duration, Time};
use host::Cpu;
use mpi::{Callback, Outcome, Program, Ran, Returned};
use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

/// A program that computes for this long without a call is named: real time, no part of the simulation.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Limit of simulated time, in days: 64 bits of picoseconds are little more.
const DAYS_MAX: u64 = 213;
const TIME_MAX: Time = Time(DAYS_MAX * 86_400 * 1_000_000_000_000);

/// A program that may use verbs, or that has another implementation's MPI, and does nothing but look at a
/// clock: after so many looks each lets as much time pass as a part of all of them have taken, so that a wait
/// of 200 ms (perftest), or a calibration of 40 ms (UCX), is not millions of calls. At most so much; with
/// another MPI, where each process calibrates, it is more if that is a small part of all. Assumed: no
/// program's result is a look at a clock.
const SPIN_LOOKS: u32 = 64;
const SPIN_PART: u64 = 16;
const SPIN_MAX: Duration = Duration(10_000_000);
const SPIN_LATER_PART: u64 = 256;

/// Longest lease: what the library has done by itself is done again before anything else.
const LEASE_MAX: Duration = Duration(1_000_000_000);

/// Looks at event queues in vain, one after the other, after which the next one lets time pass, up to
/// `host.poll_most`. A program that looks, and does something else if there is nothing, is left alone.
const VAIN_LOOKS: u32 = 4;

/// Costs that the agent itself charges, from a machine file's `[rank.*]`; MPI charges its own calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Reading a clock, and falling asleep.
    pub clock_read: Duration,
    /// Nothing, but how fast the processor's time-stamp counter counts: hertz.
    pub frequency: u64,
    /// Sockets.
    pub sockets: sockets::Costs,
    /// Libfabric's calls.
    pub fabric: FabricCosts,
}

/// Programs in which looks at a clock, one after the other, take ever longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spins {
    Never,
    WithVerbs,
    WithOtherMpi,
}

/// Runs a rank's process: for its agent, and for the functions of the program that MPI calls back.
pub struct Runner {
    cpu: Cpu,
    process: RefCell<Process>,
    costs: Costs,
    /// Its way to Portals, if it has one.
    bridge: Option<Rc<Bridge>>,
    /// Its way to a card with verbs, if it has one.
    verbs: Option<Rc<dyn Verbs>>,
    /// Consecutive looks at a clock: time of the first, and their number.
    spin: Cell<(Time, u32)>,
    /// The calls made last, if they only look whether something has come.
    looks: Cell<Looks>,
    /// True if the program's computation takes simulated time: the simulator must then see each look at the
    /// clock.
    measures: bool,
    /// Looks at a clock take ever longer.
    spins: Spins,
    /// The launcher that the program asks.
    launcher: Launcher,
    /// The call of libfabric that the program is in.
    above: Cell<Option<FabricCall>>,
    /// Looks that have waited in vain, one after the other: time of the first, and their number.
    waited: Cell<(Time, u32)>,
    /// End of the rank, if it ended in a function that MPI had called back.
    ended_early: RefCell<Option<Ending>>,
}

/// State of what happens on the node beside the program.
#[derive(Clone, Copy)]
struct Surroundings {
    /// Time before which nothing else happens.
    undisturbed_until: Time,
    /// Number of what has happened, if it is known.
    stirs: Option<u64>,
}

/// Outcome of a demand.
enum Step {
    /// It is done.
    Done,
    /// A function of the program has returned.
    Returned(Returned),
    /// The program has left such a function in another way.
    Left,
    /// The rank has ended.
    Ended(Ending),
}

impl Runner {
    /// Runs `process` in the fibre of `cpu`.
    pub fn new(process: Process, cpu: Cpu, costs: Costs) -> Rc<Runner> {
        Runner::with_ways(process, cpu, costs, None, None)
    }

    /// The same for a program that may use verbs.
    pub fn with_verbs(
        process: Process,
        cpu: Cpu,
        costs: Costs,
        verbs: Rc<dyn Verbs>,
    ) -> Rc<Runner> {
        Runner::with_ways(process, cpu, costs, None, Some(verbs))
    }

    /// The same for a program that may use Portals.
    pub fn with_portals(
        process: Process,
        cpu: Cpu,
        costs: Costs,
        bridge: Option<Rc<Bridge>>,
    ) -> Rc<Runner> {
        Runner::with_ways(process, cpu, costs, bridge, None)
    }

    fn with_ways(
        process: Process,
        cpu: Cpu,
        costs: Costs,
        bridge: Option<Rc<Bridge>>,
        verbs: Option<Rc<dyn Verbs>>,
    ) -> Rc<Runner> {
        let measures = process.measures();
        let launcher = process.surroundings().launcher;
        let spins = match process.surroundings().mpi.is_foreign() {
            true => Spins::WithOtherMpi,
            false if verbs.is_some() => Spins::WithVerbs,
            false => Spins::Never,
        };
        let waits = bridge.is_some() && cpu.costs().poll_most > Duration::ZERO;
        process.set_looks_max(if waits { VAIN_LOOKS } else { 0 });
        let (process, ended_early) = (RefCell::new(process), RefCell::default());
        Rc::new(Runner {
            cpu,
            process,
            costs,
            bridge,
            verbs,
            spin: Cell::default(),
            looks: Cell::default(),
            measures,
            spins,
            launcher,
            above: Cell::default(),
            waited: Cell::default(),
            ended_early,
        })
    }

    /// The next demand; a program that computes for long is named once per call.
    fn next(&self, observer: &dyn Observer) -> Demand {
        let mut process = self.process.borrow_mut();
        process.next_within(Some(PATIENCE)).unwrap_or_else(|| {
            observer.computes_for_long(PATIENCE);
            process.next()
        })
    }

    /// The process, before it gets an answer: as long as nothing else can happen on the node its library
    /// answers by itself.
    fn process(&self) -> RefMut<'_, Process> {
        let mut process = self.process.borrow_mut();
        let until = self.cpu.undisturbed_until().min(self.cpu.now() + LEASE_MAX);
        let looks = self.looks.get();
        let (repeat_cost, empties) = (looks.repeat_cost(), looks.empties().len() as u32);
        // The library is not told the cost of a look at a clock if that grows.
        let alone = !self.measures && self.verbs.is_none();
        let lease = Lease { until, repeat_cost, empties };
        process.lease(if alone { lease } else { Lease::default() });
        process
    }

    /// Does the next thing that the process demands.
    fn step(
        &self,
        call: &mut dyn FnMut(Function, &[u64]) -> Outcome,
        observer: &dyn Observer,
    ) -> Step {
        let demand = self.next(observer);
        if !matches!(demand, Demand::Clock) {
            self.spin.set((Time::ZERO, 0));
        }
        if !matches!(demand, Demand::Exited(_) | Demand::Did(_))
            && let Some(status) = self.process.borrow_mut().tell(self.cpu.now())
        {
            return Step::Ended(Ending::Exited(status));
        }
        if let Some(ending) = self.quit(&demand) {
            return Step::Ended(ending);
        }
        self.leave_fabric(&demand, observer);
        self.end_wait(&demand);
        match demand {
            Demand::Call { function, args, posted } => {
                if function == Function::Finalize {
                    self.process.borrow_mut().retire(self.cpu.now());
                }
                let (outcome, _) = self.carry_out(function, &args, call, observer);
                return self.answer(function, posted, outcome);
            }
            Demand::Portals { function, args } => {
                let Some(bridge) = &self.bridge else {
                    self.process.borrow_mut().flush_in_call_and_kill();
                    let rank = self.process.borrow().rank();
                    return Step::Ended(Ending::Fatal(bridge::missing(rank, function)));
                };
                let queue = bridge::queue_of(function, &args);
                let waits = bridge::waits(function, &args);
                self.prepare(bridge, waits, observer);
                let call = || bridge.call(function, &args);
                let (code, _) = self.carry_out_portals(function, queue, call, observer);
                self.note_wait(waits, code);
                self.process().reply(code, self.cpu.now());
            }
            Demand::Fabric(note) => self.note_fabric(note, observer),
            Demand::Verbs { call, args } => {
                self.looks.set(Looks::default());
                let answer = match &self.verbs {
                    Some(verbs) => verbs.call(call, &args),
                    None => verbs::without_card(),
                };
                self.process().reply_verbs(&answer, self.cpu.now());
            }
            Demand::Clock => {
                let began = self.surroundings();
                let cost = self.look_at_clock();
                self.cpu.spend(cost);
                observer.outside(Outside::Clock, cost);
                if !self.is_undisturbed_since(began) {
                    self.looks.set(self.looks.get().disturbed());
                }
                self.process().reply_with_time(self.cpu.now());
            }
            Demand::Did(deeds) => return self.do_again(&deeds, call, observer),
            Demand::Sleep(time) => {
                self.looks.set(Looks::default());
                if let Err(ending) = self.pass(self.costs.clock_read + time) {
                    self.process.borrow_mut().flush_in_call_and_kill();
                    return Step::Ended(ending);
                }
                observer.outside(Outside::Sleep, self.costs.clock_read + time);
                self.process().reply_with_time(self.cpu.now());
            }
            Demand::Socket(call) => {
                self.looks.set(Looks::default());
                let began = self.cpu.now();
                let step = self.socket(&call);
                observer.outside(Outside::Socket, self.cpu.now().since(began));
                return step;
            }
            Demand::Computed(time) => {
                self.looks.set(Looks::default());
                if let Err(ending) = self.pass(time) {
                    self.process.borrow_mut().flush_and_kill();
                    return Step::Ended(ending);
                }
            }
            Demand::CallbackReturned { result, arguments } => {
                return Step::Returned(Returned { result, arguments });
            }
            Demand::CallbackLeft => return Step::Left,
            Demand::Nothing => {
                observer.computes_for_ever();
                rest(&self.cpu);
            }
            Demand::Exited(status) => {
                let fault = self.process.borrow().fault();
                return Step::Ended(Ending::of(status, fault));
            }
        }
        Step::Done
    }

    /// End of a rank that has asked its launcher to abort the run: by the launcher, or by itself before that.
    fn quit(&self, demand: &Demand) -> Option<Ending> {
        if self.launcher == Launcher::Own {
            return None;
        }
        let mut process = self.process.borrow_mut();
        let (surroundings, rank, now) = (process.surroundings(), process.rank(), self.cpu.now());
        let network = surroundings.network.at(now);
        let code = match demand {
            Demand::Did(_) => return None,
            Demand::Exited(_) => return network.last_wish(rank).map(Ending::AbortAsked),
            Demand::Call { posted, .. } => network.abort_of(rank, now).map(|code| (code, *posted)),
            Demand::Computed(_) => network.abort_of(rank, now).map(|code| (code, true)),
            _ => network.abort_of(rank, now).map(|code| (code, false)),
        };
        drop(network);
        let (code, posted) = code?;
        match posted {
            true => process.flush_and_kill(),
            false => process.flush_in_call_and_kill(),
        }
        Some(Ending::AbortAsked(code))
    }

    fn surroundings(&self) -> Surroundings {
        let (undisturbed_until, stirs) = (self.cpu.undisturbed_until(), self.cpu.stirs());
        Surroundings { undisturbed_until, stirs }
    }

    /// True if nothing else has happened on the node since then: a call that found nothing has missed
    /// nothing.
    fn is_undisturbed_since(&self, then: Surroundings) -> bool {
        self.cpu.now() < then.undisturbed_until
            || (then.stirs.is_some() && then.stirs == self.cpu.stirs())
    }

    /// Cost of a look at a clock.
    fn look_at_clock(&self) -> Duration {
        let (now, cost) = (self.cpu.now(), self.costs.clock_read);
        let (since, looks) = match self.spin.get() {
            (_, 0) => (now, 0),
            spin => spin,
        };
        self.spin.set((since, looks.saturating_add(1)));
        let spent = now.since(since).0;
        let part = Duration(spent / SPIN_PART).min(SPIN_MAX);
        match self.spins {
            _ if looks < SPIN_LOOKS => cost,
            Spins::Never => cost,
            Spins::WithVerbs => cost.max(part),
            Spins::WithOtherMpi => cost.max(part).max(Duration(spent / SPIN_LATER_PART)),
        }
    }

    /// Does what a call wants; how long that took.
    fn carry_out(
        &self,
        function: Function,
        words: &[u64; ARGUMENTS_MAX],
        call: &mut dyn FnMut(Function, &[u64]) -> Outcome,
        observer: &dyn Observer,
    ) -> (Outcome, Duration) {
        let (began, before) = (self.cpu.now(), self.surroundings());
        observer.call_entered(began, function);
        let outcome = call(function, &words[..function.arguments()]);
        observer.call_returned(self.cpu.now(), function);
        let took = self.cpu.now().since(began);
        let alone = self.is_undisturbed_since(before);
        self.looks.set(self.looks.get().after(function, &(function, *words), took, alone));
        (outcome, took)
    }

    /// A call of a socket.
    fn socket(&self, call: &SocketCall) -> Step {
        let (surroundings, rank, node, memory) = {
            let process = self.process.borrow();
            (process.surroundings(), process.rank(), process.node(), process.memory())
        };
        let network = &surroundings.network;
        let sockets = Sockets { cpu: &self.cpu, network, memory, rank, node };
        match sockets.carry_out(call) {
            Ok(told) => {
                self.process().reply_socket(&told, self.cpu.now());
                Step::Done
            }
            Err(error) => {
                self.process.borrow_mut().flush_in_call_and_kill();
                Step::Ended(Ending::Fatal(error.to_string()))
            }
        }
    }

    /// The program sleeps or computes. The error says that there is not so much time.
    fn pass(&self, time: Duration) -> Result<(), Ending> {
        if time > TIME_MAX.since(self.cpu.now()) {
            let rank = self.process.borrow().rank();
            return Err(Ending::Fatal(format!(
                "rank {rank}: simulated time ends after {DAYS_MAX} days, and the program sleeps or \
                 computes for longer"
            )));
        }
        self.cpu.spend(time);
        Ok(())
    }

    /// Gives the program the result of its call, or ends it.
    fn answer(&self, function: Function, posted: bool, outcome: Outcome) -> Step {
        let mut process = self.process();
        let ending = match outcome {
            Outcome::Ok(code) => {
                if !posted {
                    process.reply(code, self.cpu.now());
                }
                return Step::Done;
            }
            Outcome::Fatal(sentence) => match process.end_if_missed() {
                Some(status) => Ending::of(status, process.fault()),
                None => Ending::Fatal(sentence),
            },
            Outcome::Abort(code) => Ending::Aborted(code),
            Outcome::Unimplemented => Ending::Unimplemented(function),
            // Nobody waits for it.
            Outcome::Left => return Step::Done,
            Outcome::Ended => {
                let early = self.ended_early.borrow_mut().take();
                return Step::Ended(early.expect("the program ended in a callback"));
            }
        };
        if posted {
            process.flush_and_kill();
        } else {
            process.flush_in_call_and_kill();
        }
        Step::Ended(ending)
    }
}

impl Program for Runner {
    fn run(&self, mpi: &mut mpi::Process, callback: &Callback) -> Ran {
        self.process().start_callback(callback, self.cpu.now());
        loop {
            match self.step(&mut |function, args| mpi.call(function, args), &()) {
                Step::Done => {}
                Step::Returned(returned) => return Ran::Returned(returned),
                Step::Left => return Ran::Left,
                Step::Ended(ending) => {
                    *self.ended_early.borrow_mut() = Some(ending);
                    return Ran::Ended;
                }
            }
        }
    }
}

/// Does what the process demands until it ends, in the fibre of the rank's host; says how it ended.
/// The process has ended then, too. `call` does the MPI calls: usually `|function, args|
/// mpi.call(function, args)`.
pub fn agent(
    mut call: impl FnMut(Function, &[u64]) -> Outcome,
    runner: &Runner,
    observer: &dyn Observer,
) -> Ending {
    loop {
        match runner.step(&mut call, observer) {
            Step::Done => {}
            Step::Returned(_) | Step::Left => {
                unreachable!("a process has only such as were started")
            }
            Step::Ended(ending) => {
                if let Some(bridge) = &runner.bridge {
                    bridge.close();
                }
                if let Some(verbs) = &runner.verbs {
                    verbs.close();
                }
                let mut process = runner.process.borrow_mut();
                let now = runner.cpu.now();
                process.retire(now);
                process.surroundings().network.lock().end_rank(process.rank(), now);
                return process.excuse(ending);
            }
        }
    }
}
