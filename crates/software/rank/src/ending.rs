//! End of a rank, and the exit code that a shell gets.

use crate::exit::ExitStatus;
use abi::mpi::Function;

/// Exit code of a program that the system's loader ends, and of a shell that does not find one.
const NOT_LOADED: i32 = 127;

/// Kind of a rank's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its process ended by itself.
    Exited(ExitStatus),
    /// It called `MPI_Abort` with this code.
    Aborted(i32),
    /// It has asked its launcher to abort the run with this code.
    AbortAsked(i32),
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
    /// End of a process that its library may have ended for a fault.
    pub(crate) fn of(status: ExitStatus, fault: Option<String>) -> Ending {
        fault.map_or(Ending::Exited(status), Ending::Fatal)
    }

    /// The rank's exit status, as a shell counts: 128 + signal for one that was killed.
    pub fn code(&self) -> i32 {
        match self {
            Ending::Exited(ExitStatus { signal: Some(signal), .. }) => 128 + signal,
            Ending::Exited(status) => status.code.unwrap_or(1),
            Ending::Aborted(code) | Ending::AbortAsked(code) => abort_status(*code),
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
            Ending::AbortAsked(code) => {
                format!("rank {rank} asked its launcher to abort the run with code {code}")
            }
            Ending::Fatal(sentence) => sentence.clone(),
            Ending::Unimplemented(function) => {
                let name = function.name();
                format!(
                    "rank {rank} called {name}, which is not implemented; MPICH has it: `sunstar \
                     run --mpi mpich` (docs/foreign-mpi.md)"
                )
            }
        };
        // To exit without MPI_Finalize is a failure whatever the program returns.
        let abort = matches!(self, Ending::Aborted(_) | Ending::AbortAsked(_));
        Some((if code == 0 && !abort { 1 } else { code }, sentence))
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
        let failure = Ending::AbortAsked(0).failure(1);
        let sentence = "rank 1 asked its launcher to abort the run with code 0";
        assert_eq!(failure, Some((0, sentence.into())));
        let failure = Ending::Unimplemented(Function::WinCreate).failure(0);
        let sentence = "rank 0 called MPI_Win_create, which is not implemented; MPICH has it: \
                        `sunstar run --mpi mpich` (docs/foreign-mpi.md)";
        assert_eq!(failure, Some((1, sentence.into())));
    }
}
