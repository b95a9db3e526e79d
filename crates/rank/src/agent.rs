//! The agent of a rank: a fibre that does what the rank's process demands, on the host's simulated timeline.

use crate::bridge::{self, Bridge};
use crate::endless::rest;
use crate::exit::ExitStatus;
use crate::lease::{Deeds, Lease, Looks};
use crate::process::{Demand, Process};
use crate::sockets::{self, SocketCall, Sockets};
use abi::mpi::{Function, ARGUMENTS_MAX};
use des::{Duration, Time};
use host::Cpu;
use mpi::{Callback, Outcome, Program, Ran, Returned};
use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

/// A program that computes for this long without a call is named: real time, no part of the simulation.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Where simulated time ends: 64 bits of picoseconds are little more.
const DAYS_MAX: u64 = 213;
const TIME_MAX: Time = Time(DAYS_MAX * 86_400 * 1_000_000_000_000);

/// Longest lease: what the library has done by itself is done again before anything else.
const LEASE_MAX: Duration = Duration(1_000_000_000);

/// With this the system's loader ends a program, and a shell that does not find one.
const NOT_LOADED: i32 = 127;

/// What the agent itself charges, from a machine file's `[rank.*]`; MPI charges its own calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Reading a clock, and falling asleep.
    pub clock_read: Duration,
    /// Nothing, but how fast the processor's time-stamp counter counts: hertz.
    pub frequency: u64,
    /// Sockets.
    pub sockets: sockets::Costs,
}

/// How a rank ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its process ended by itself.
    Exited(ExitStatus),
    /// It called `MPI_Abort` with this code.
    Aborted(i32),
    /// It did something wrong and did not handle errors; the sentence begins with its rank.
    Fatal(String),
    /// It called a function that does not exist yet.
    Unimplemented(Function),
}

/// Exit status of a run that a program has aborted with `code`, of which a shell sees the low byte. What is
/// no success does not become one by that.
fn abort_status(code: i32) -> i32 {
    match code & 0xFF {
        0 if code != 0 => 1,
        low => low,
    }
}

impl Ending {
    /// Of a process that its library may have ended for a fault.
    pub(crate) fn of(status: ExitStatus, fault: Option<String>) -> Ending {
        fault.map_or(Ending::Exited(status), Ending::Fatal)
    }

    /// The rank's exit status, as a shell counts: 128 + signal for one that was killed.
    pub fn code(&self) -> i32 {
        match self {
            Ending::Exited(ExitStatus { signal: Some(signal), .. }) => 128 + signal,
            Ending::Exited(status) => status.code.unwrap_or(1),
            Ending::Aborted(code) => abort_status(*code),
            Ending::Fatal(_) | Ending::Unimplemented(_) => 1,
        }
    }

    /// Exit status and sentence, if this end of `rank` is the end of the run. A program that has finished, or
    /// never used MPI, may exit with any code: the others go on.
    pub fn failure(&self, rank: u32) -> Option<(i32, String)> {
        let code = self.code();
        let sentence = match self {
            Ending::Exited(status) => match *status {
                ExitStatus { signal: Some(_), .. } => format!("rank {rank} {status}"),
                ExitStatus { finalized: true, .. } => return None,
                // Portals has no end that a program must declare.
                ExitStatus { initialized: false, portals: true, .. } if code == 0 => return None,
                ExitStatus { initialized: false, portals: true, .. } => {
                    format!("rank {rank} {status}")
                }
                ExitStatus { initialized: true, .. } => {
                    format!("rank {rank} {status} without calling MPI_Finalize")
                }
                _ if code == 0 => return None,
                ExitStatus { code: Some(NOT_LOADED), .. } => format!(
                    "rank {rank} {status} before MPI_Init, as a program does that cannot be \
                     loaded; what the system's loader says about it stands above"
                ),
                _ => format!("rank {rank} {status} before MPI_Init"),
            },
            Ending::Aborted(code) => format!("rank {rank} called MPI_Abort with code {code}"),
            Ending::Fatal(sentence) => sentence.clone(),
            Ending::Unimplemented(function) => {
                format!("rank {rank} called {}, which is not implemented", function.name())
            }
        };
        // To exit without MPI_Finalize is a failure whatever the program returns.
        let abort = matches!(self, Ending::Aborted(_));
        Some((if code == 0 && !abort { 1 } else { code }, sentence))
    }
}

/// Is told what the agent does; takes no simulated time.
pub trait Observer {
    /// The program's call has reached the library.
    fn call_entered(&self, at: Time, function: Function) {
        let _ = (at, function);
    }
    /// The call returns to the program.
    fn call_returned(&self, at: Time, function: Function) {
        let _ = (at, function);
    }
    /// A Portals call of the program has reached its bridge.
    fn portals_entered(&self, at: Time, function: abi::portals::Function) {
        let _ = (at, function);
    }
    /// It returns to the program.
    fn portals_returned(&self, at: Time, function: abi::portals::Function) {
        let _ = (at, function);
    }
    /// The program has computed for `time` of real time without any call.
    fn computes_for_long(&self, time: std::time::Duration) {
        let _ = time;
    }
    /// The program makes no call any more: it is in a loop that nothing ends.
    fn computes_for_ever(&self) {}
}

/// Tells nobody.
impl Observer for () {}

/// Runs a rank's process: for its agent, and for the functions of the program that MPI calls back.
pub struct Runner {
    cpu: Cpu,
    process: RefCell<Process>,
    costs: Costs,
    /// Its way to Portals, if it has one.
    bridge: Option<Rc<Bridge>>,
    /// The calls made last, if they only look whether something has come.
    looks: Cell<Looks>,
    /// What the program computes takes time: the simulator must see each look at the clock.
    measures: bool,
    /// How the rank ended, if it did so in a function that MPI had called back.
    ended_early: RefCell<Option<Ending>>,
}

/// What a demand leads to.
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
        Runner::with_portals(process, cpu, costs, None)
    }

    /// The same for a program that may use Portals.
    pub fn with_portals(
        process: Process,
        cpu: Cpu,
        costs: Costs,
        bridge: Option<Rc<Bridge>>,
    ) -> Rc<Runner> {
        let measures = process.measures();
        let (process, ended_early) = (RefCell::new(process), RefCell::default());
        Rc::new(Runner {
            cpu,
            process,
            costs,
            bridge,
            looks: Cell::default(),
            measures,
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
        let repeat_cost = self.looks.get().repeat_cost();
        process.lease(if self.measures { Lease::default() } else { Lease { until, repeat_cost } });
        process
    }

    /// Does the next thing that the process demands.
    fn step(
        &self,
        call: &mut dyn FnMut(Function, &[u64]) -> Outcome,
        observer: &dyn Observer,
    ) -> Step {
        let demand = self.next(observer);
        if !matches!(demand, Demand::Exited(_) | Demand::Did(_)) {
            if let Some(status) = self.process.borrow_mut().tell(self.cpu.now()) {
                return Step::Ended(Ending::Exited(status));
            }
        }
        match demand {
            Demand::Call { function, args, posted } => {
                if function == Function::Finalize {
                    self.process.borrow_mut().retire(self.cpu.now());
                }
                let (outcome, _) = self.carry_out(function, &args, call, observer);
                return self.answer(function, posted, outcome);
            }
            Demand::Portals { function, args } => {
                self.looks.set(Looks::default());
                let Some(bridge) = &self.bridge else {
                    self.process.borrow_mut().flush_in_call_and_kill();
                    let rank = self.process.borrow().rank();
                    return Step::Ended(Ending::Fatal(bridge::missing(rank, function)));
                };
                observer.portals_entered(self.cpu.now(), function);
                let code = bridge.call(function, &args);
                observer.portals_returned(self.cpu.now(), function);
                self.process().reply(code, self.cpu.now());
            }
            Demand::Clock => {
                let undisturbed = self.cpu.undisturbed_until();
                self.cpu.spend(self.costs.clock_read);
                if self.cpu.now() >= undisturbed {
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
                self.process().reply_with_time(self.cpu.now());
            }
            Demand::Socket(call) => {
                self.looks.set(Looks::default());
                return self.socket(&call);
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

    /// Does what a call wants; how long that took.
    fn carry_out(
        &self,
        function: Function,
        args: &[u64; ARGUMENTS_MAX],
        call: &mut dyn FnMut(Function, &[u64]) -> Outcome,
        observer: &dyn Observer,
    ) -> (Outcome, Duration) {
        let (began, undisturbed) = (self.cpu.now(), self.cpu.undisturbed_until());
        observer.call_entered(began, function);
        let outcome = call(function, &args[..function.arguments()]);
        observer.call_returned(self.cpu.now(), function);
        let took = self.cpu.now().since(began);
        let alone = self.cpu.now() < undisturbed;
        self.looks.set(self.looks.get().after(function, &(function, *args), took, alone));
        (outcome, took)
    }

    /// Does what the library has done by itself, each at its time.
    fn do_again(
        &self,
        deeds: &Deeds,
        call: &mut dyn FnMut(Function, &[u64]) -> Outcome,
        observer: &dyn Observer,
    ) -> Step {
        let (cost, end) = (self.looks.get().repeat_cost(), self.cpu.undisturbed_until());
        let time = deeds.time(self.costs.clock_read, cost);
        let mut right = time.is_some_and(|time| self.cpu.now() + time < end);
        let repeated = self.looks.get().call();
        self.process.borrow().repeat(repeated.map(|(_, args)| args[0].max(1)));
        for (calls, count) in deeds.rows() {
            for _ in 0..if right { count } else { 0 } {
                match repeated.filter(|_| calls) {
                    Some((function, args)) => {
                        let (outcome, took) = self.carry_out(function, &args, call, observer);
                        right &= matches!(outcome, Outcome::Ok(abi::mpi::SUCCESS)) && took == cost;
                    }
                    None => self.cpu.spend(self.costs.clock_read),
                }
            }
        }
        self.process.borrow().repeat(None);
        if !right {
            let mut process = self.process.borrow_mut();
            let Demand::Exited(status) = process.end_corrupt() else {
                unreachable!("it has ended")
            };
            return Step::Ended(Ending::of(status, process.fault()));
        }
        Step::Done
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
            Err(sentence) => {
                self.process.borrow_mut().flush_in_call_and_kill();
                Step::Ended(Ending::Fatal(sentence))
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

    /// Tells the program what became of its call, or ends it.
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
                let mut process = runner.process.borrow_mut();
                let now = runner.cpu.now();
                process.retire(now);
                process.surroundings().network.lock().end_rank(process.rank(), now);
                return process.excuse(ending);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: ExitStatus = ExitStatus {
        code: Some(0),
        signal: None,
        initialized: true,
        finalized: true,
        portals: false,
    };

    fn exited(status: ExitStatus) -> (i32, Option<(i32, String)>) {
        let ending = Ending::Exited(status);
        (ending.code(), ending.failure(3))
    }

    #[test]
    fn finished_ranks_may_return_any_code() {
        assert_eq!(exited(DONE), (0, None));
        assert_eq!(exited(ExitStatus { code: Some(9), ..DONE }), (9, None));
        let stranger = ExitStatus { initialized: false, finalized: false, ..DONE };
        assert_eq!(exited(stranger), (0, None));
    }

    #[test]
    fn every_other_end_is_a_failure_with_a_sentence() {
        let open = ExitStatus { finalized: false, ..DONE };
        let sentence = "rank 3 exited with code 0 without calling MPI_Finalize";
        assert_eq!(exited(open), (0, Some((1, sentence.into()))));
        let early = ExitStatus { code: Some(2), initialized: false, ..open };
        let portals = ExitStatus { portals: true, ..early };
        assert_eq!(exited(portals).1, Some((2, "rank 3 exited with code 2".into())));
        assert_eq!(exited(ExitStatus { code: Some(0), ..portals }), (0, None));
        assert_eq!(exited(early).1, Some((2, "rank 3 exited with code 2 before MPI_Init".into())));
        let killed = ExitStatus { code: None, signal: Some(11), ..DONE };
        let (code, failure) = exited(killed);
        assert_eq!((code, failure.as_ref().map(|f| f.0)), (139, Some(139)));
        assert!(failure.unwrap().1.starts_with("rank 3 was killed by SIGSEGV"));
        let failure = Ending::Aborted(5).failure(1);
        assert_eq!(failure, Some((5, "rank 1 called MPI_Abort with code 5".into())));
        for (code, status) in [(0, 0), (44, 44), (300, 44), (-1, 255), (256, 1), (-512, 1)] {
            assert_eq!(Ending::Aborted(code).failure(1).map(|f| f.0), Some(status), "{code}");
        }
        let failure = Ending::Unimplemented(Function::WinCreate).failure(0);
        let sentence = "rank 0 called MPI_Win_create, which is not implemented";
        assert_eq!(failure, Some((1, sentence.into())));
    }
}
