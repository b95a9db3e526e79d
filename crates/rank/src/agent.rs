//! The agent of a rank: a fibre that does what the rank's process demands, on the host's simulated timeline.

use crate::process::{Demand, ExitStatus, Process};
use abi::mpi::Function;
use des::{Duration, Time};
use host::Cpu;
use mpi::Outcome;

/// A program that computes for this long without a call is named: real time, no part of the simulation.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// What the agent itself charges, from a machine file's `[rank.*]`; MPI charges its own calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Reading a clock, and falling asleep.
    pub clock_read: Duration,
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

impl Ending {
    /// The rank's exit status, as a shell counts: 128 + signal for one that was killed.
    pub fn code(&self) -> i32 {
        match self {
            Ending::Exited(ExitStatus { signal: Some(signal), .. }) => 128 + signal,
            Ending::Exited(status) => status.code.unwrap_or(1),
            Ending::Aborted(code) => *code,
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
                ExitStatus { initialized: true, .. } => {
                    format!("rank {rank} {status} without calling MPI_Finalize")
                }
                _ if code == 0 => return None,
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
    /// The program has computed for `time` of real time without any call.
    fn computes_for_long(&self, time: std::time::Duration) {
        let _ = time;
    }
}

/// Tells nobody.
impl Observer for () {}

/// Does what `process` demands until it ends, in a fibre of the rank's host; says how it ended. The process has
/// ended then, too. `call` does the MPI calls: usually `|function, args| mpi.call(function, args)`.
pub fn agent(
    cpu: &Cpu,
    mut call: impl FnMut(Function, &[u64]) -> Outcome,
    process: &mut Process,
    costs: &Costs,
    observer: &dyn Observer,
) -> Ending {
    loop {
        match next(process, observer) {
            Demand::Call { function, args, posted } => {
                observer.call_entered(cpu.now(), function);
                let outcome = call(function, &args[..function.arguments()]);
                observer.call_returned(cpu.now(), function);
                let ending = match outcome {
                    Outcome::Ok(code) => {
                        if !posted {
                            process.reply(code, cpu.now());
                        }
                        continue;
                    }
                    Outcome::Fatal(sentence) => Ending::Fatal(sentence),
                    Outcome::Abort(code) => Ending::Aborted(code),
                    Outcome::Unimplemented => Ending::Unimplemented(function),
                };
                if posted {
                    process.flush_and_kill();
                } else {
                    process.flush_in_call_and_kill();
                }
                return ending;
            }
            Demand::Clock => {
                cpu.spend(costs.clock_read);
                process.reply_with_time(cpu.now());
            }
            Demand::Sleep(time) => {
                cpu.spend(costs.clock_read + time);
                process.reply_with_time(cpu.now());
            }
            Demand::CallbackReturned { .. } => unreachable!("no callback was started"),
            Demand::Exited(status) => {
                return process.fault().map_or(Ending::Exited(status), Ending::Fatal);
            }
        }
    }
}

/// The next demand; a program that computes for long is named once per call.
fn next(process: &mut Process, observer: &dyn Observer) -> Demand {
    process.next_within(Some(PATIENCE)).unwrap_or_else(|| {
        observer.computes_for_long(PATIENCE);
        process.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: ExitStatus =
        ExitStatus { code: Some(0), signal: None, initialized: true, finalized: true };

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
        assert_eq!(exited(early).1, Some((2, "rank 3 exited with code 2 before MPI_Init".into())));
        let killed = ExitStatus { code: None, signal: Some(11), ..DONE };
        let (code, failure) = exited(killed);
        assert_eq!((code, failure.as_ref().map(|f| f.0)), (139, Some(139)));
        assert!(failure.unwrap().1.starts_with("rank 3 was killed by SIGSEGV"));
        let failure = Ending::Aborted(5).failure(1);
        assert_eq!(failure, Some((5, "rank 1 called MPI_Abort with code 5".into())));
        assert_eq!(Ending::Aborted(0).failure(1).map(|f| f.0), Some(0));
        let failure = Ending::Unimplemented(Function::WinCreate).failure(0);
        let sentence = "rank 0 called MPI_Win_create, which is not implemented";
        assert_eq!(failure, Some((1, sentence.into())));
    }
}
