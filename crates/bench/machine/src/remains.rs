//! Results of a process at the end of a run.

use crate::firmware::profile::Profile;
use crate::instruments::journal::Told;
use crate::report::NodeReport;
use des::Time;

/// Results of a node, or of another process, at the end of the run.
pub struct Remains<L> {
    /// Failure on this node that ended the run.
    pub failure: Option<Failure>,
    /// Exit status and sentence of a rank's process that had ended when its memory was wanted.
    pub missed: Option<(i32, String)>,
    /// Unfinished messages and accounts of the ranks, from its journal.
    pub journal: Told,
    /// Hash of its events.
    pub hash: u64,
    /// Report, if it is a node.
    pub report: Option<NodeReport>,
    /// Reasons why something has not come to its end, a sentence each.
    pub waiting: Vec<String>,
    /// Ends of the ranks: rank, time, exit status.
    pub endings: Vec<(u32, Time, i32)>,
    /// Time of the last event.
    pub end: Time,
    /// Numbers of comparisons that the judge made, if there was one.
    pub judged: Option<spec::Tally>,
    /// Firmware cycles by function, if a recorder counted them.
    pub profile: Option<Profile>,
    /// Results that only this model has.
    pub left: L,
}

impl<L> Remains<L> {
    /// Results of a process that is no node.
    pub fn of_switch(end: Time, hash: u64, left: L) -> Remains<L> {
        Remains {
            failure: None,
            missed: None,
            journal: Told::default(),
            hash,
            report: None,
            waiting: Vec::new(),
            endings: Vec::new(),
            end,
            judged: None,
            profile: None,
            left,
        }
    }

    /// Replaces the results that only this model has.
    pub fn with<M>(self, left: M) -> Remains<M> {
        let Remains { failure, missed, journal, hash, report, .. } = self;
        let Remains { waiting, endings, end, judged, profile, .. } = self;
        Remains {
            failure,
            missed,
            journal,
            hash,
            report,
            waiting,
            endings,
            end,
            judged,
            profile,
            left,
        }
    }
}

/// Failure that ends the run; of several, the earliest is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Time of the failure.
    pub at: Time,
    /// Cause, as one sentence that names the node.
    pub sentence: String,
    /// Exit status that it asks for.
    pub code: i32,
}
