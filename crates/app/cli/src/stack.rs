//! The stack of the first thread, whose size is a limit of the system's.

use sunstar::usage_error::UsageError;

/// Bytes of a stack that are enough for each command.
const ENOUGH: usize = 8 << 20;

/// Does something on a stack that is large enough: this thread's, or that of a thread of its own. A stack
/// that ends in the middle of something would be the end without a word.
pub fn with_enough<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, UsageError> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills our own structure.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    if !known || limit.rlim_cur >= ENOUGH as u64 {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(ENOUGH).spawn_scoped(scope, work);
        let thread = thread.map_err(|why| {
            let kib = limit.rlim_cur >> 10;
            UsageError::sentence(format!(
                "the system allows a stack of {kib} KiB (ulimit -s), and no thread with a larger \
                 one: {why}"
            ))
        })?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done() {
        assert_eq!(with_enough(|| 7).unwrap(), 7);
    }
}
