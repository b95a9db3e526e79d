//! Detectors: what is wrong with an RDMA NIC, by what its debugging aids say alone (marazakis2006 s3, s4).
//!
//! Their input is text: what the utility of each stage of bring-up has read through the target interface, a
//! line each, `RANK KEY VALUE`, of runs that have labels. They know nothing of machines, models and faults;
//! the names that they give are those under which bugs are told of.

mod said;
mod stages;

pub use said::Said;
pub use stages::{stage, Run, Stage, STAGES};

/// A bug that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Node of the card.
    pub node: u32,
    /// Its name.
    pub bug: &'static str,
    /// Evidence: the reports of the aids that show it.
    pub why: String,
}
