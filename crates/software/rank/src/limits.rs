//! Limits of the system on a simulator that has a descriptor for each of many ranks and stacks for each of
//! many nodes.

use std::io;
use std::sync::OnceLock;

/// The limit of open files as it was before it was raised: the programs' own.
static BEFORE: OnceLock<libc::rlimit> = OnceLock::new();

/// Descriptors that are open beside those of the ranks: streams, files of the program's own making.
const OTHERS: u64 = 64;

/// Ranks or nodes that are more than the system allows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum LimitError {
    /// Ranks need too many open files.
    #[error(
        "{ranks} ranks need {needed} open files, and the system allows {allowed} (ulimit -Hn); a \
         built-in workload needs none"
    )]
    Files { ranks: u32, needed: u64, allowed: u64 },
    /// Nodes need too many mappings.
    #[error(
        "{nodes} nodes need {needed} mappings of memory for their stacks, and the system allows a \
         process {allowed}: let root call sysctl vm.max_map_count={needed}"
    )]
    Mappings { nodes: u32, needed: u64, allowed: u64 },
}

/// Makes room for the descriptors of `ranks` processes, if the system allows it.
pub fn allow_ranks(ranks: u32) -> Result<(), LimitError> {
    let needed = u64::from(ranks) + OTHERS;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills our own structure.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Ok(()); // Whatever the limit is, opening a file will tell.
    }
    if limit.rlim_cur >= needed {
        return Ok(());
    }
    let wanted = libc::rlimit { rlim_cur: needed, rlim_max: limit.rlim_max.max(needed) };
    BEFORE.get_or_init(|| limit);
    // SAFETY: reads our own structure. Beyond the hard limit it takes a privilege, so it may fail.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) } == 0 {
        return Ok(());
    }
    Err(LimitError::Files { ranks, needed, allowed: limit.rlim_max })
}

/// Mappings beside those that are requested: code, heap, threads.
const OTHER_MAPPINGS: u64 = 1024;

/// Finds out whether the system allows the simulator `mappings` of memory for `nodes` nodes.
pub fn allow_mappings(nodes: u32, mappings: u64) -> Result<(), LimitError> {
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    // Whatever the limit is, mapping will tell.
    let allowed = allowed.and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX);
    within(nodes, mappings + OTHER_MAPPINGS, allowed)
}

fn within(nodes: u32, needed: u64, allowed: u64) -> Result<(), LimitError> {
    if needed <= allowed {
        return Ok(());
    }
    Err(LimitError::Mappings { nodes, needed, allowed })
}

/// The limit of open files that programs shall have, if it is not the simulator's.
pub(crate) fn of_programs() -> Option<libc::rlimit> {
    BEFORE.get().copied()
}

/// Advice about a process that the system refuses.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            "; the system allows no more processes (ulimit -u, or pids.max of the control group)"
        }
        Some(libc::ENOMEM) => "; there is not enough memory for that many ranks",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_mappings_are_told_with_what_to_do() {
        assert_eq!(within(9, 65_530, 65_530), Ok(()));
        let error = within(16_384, 66_560, 65_530).unwrap_err();
        assert_eq!(
            error.to_string(),
            "16384 nodes need 66560 mappings of memory for their stacks, and the system allows a \
             process 65530: let root call sysctl vm.max_map_count=66560"
        );
        let error = LimitError::Files { ranks: 2000, needed: 2064, allowed: 1024 };
        assert_eq!(
            error.to_string(),
            "2000 ranks need 2064 open files, and the system allows 1024 (ulimit -Hn); a built-in \
             workload needs none"
        );
    }
}
