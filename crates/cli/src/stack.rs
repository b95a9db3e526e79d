//! The stack of the first thread, whose size is a limit of the system's.

use crate::usage_error::UsageError;

/// Bytes that the command's own work takes at most.
const NEEDED: u64 = 256 << 10;

/// Checks now that there is room: a stack that ends in the middle of something is the end without a word.
pub fn check() -> Result<(), UsageError> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills our own structure.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    match known && limit.rlim_cur < NEEDED {
        true => Err(UsageError(format!(
            "the system allows a stack of {} KiB, and sunstar needs {} (ulimit -s)",
            limit.rlim_cur >> 10,
            NEEDED >> 10
        ))),
        false => Ok(()),
    }
}
