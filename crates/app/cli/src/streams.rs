//! Standard output: reserved for one output, or silenced.

use crate::run;
use machine::console;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use sunstar::usage_error::UsageError;

/// Runs before the standard library opens /dev/null for closed streams, which then lose all output without an
/// error.
// SAFETY: the system calls a function of no arguments for each entry of this section, before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = keep_closed_streams;

/// A closed stream keeps its number, so that no file gets it, and cannot be written, neither by the simulator
/// nor by the ranks. Standard input is at its end.
extern "C" fn keep_closed_streams() {
    for stream in 0..=2 {
        // SAFETY: system calls that touch no memory but a constant. The least number that is free is the
        // stream's, as those before it are open.
        unsafe {
            if libc::fcntl(stream, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
            }
        }
    }
}

/// Destination of an output that an option of a run asks for, such as its JSON.
pub enum Output {
    /// It was not asked for.
    Nowhere,
    /// To a file.
    File(PathBuf),
    /// Standard output as it was: nothing else goes there any more.
    Stdout(File),
}

impl Output {
    /// Destination that `option` names. If that is standard output, everything printed from now on, also by
    /// the ranks, goes to standard error, so that the reader of standard output gets nothing else.
    pub fn of(option: &str, named: Option<&Path>) -> Result<Output, UsageError> {
        match named {
            None => Ok(Output::Nowhere),
            Some(file) if file.as_os_str() == "-" => {
                let kept = redirect_stdout(io::stderr().as_fd());
                let kept = kept
                    .map_err(|why| UsageError::sentence(format!("cannot use {option} -: {why}")))?;
                Ok(Output::Stdout(kept.into()))
            }
            Some(file) => Ok(Output::File(file.to_owned())),
        }
    }

    /// Writes it, if it was asked for.
    pub fn write(
        &self,
        text: impl FnOnce() -> Result<String, UsageError>,
    ) -> Result<(), UsageError> {
        match self {
            Output::Nowhere => Ok(()),
            Output::File(file) => run::write(file, &text()?),
            Output::Stdout(stdout) => Ok(console::print_to(stdout.as_fd(), &text()?)?),
        }
    }
}

/// Guard that silences standard output, also that of the ranks, until dropped.
pub struct Silence(Option<OwnedFd>);

impl Silence {
    /// Silences standard output, if /dev/null can be opened.
    pub fn begin() -> Silence {
        let nowhere = OpenOptions::new().write(true).open("/dev/null");
        Silence(nowhere.and_then(|nowhere| redirect_stdout(nowhere.as_fd())).ok())
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        if let Some(saved) = &self.0 {
            // It was one a moment ago, so it can be one again.
            redirect_stdout(saved.as_fd()).ok();
        }
    }
}

/// Redirects standard output, also that of processes started later; returns the old one.
fn redirect_stdout(to: BorrowedFd) -> io::Result<OwnedFd> {
    let stdout = io::stdout();
    let was = stdout.as_fd().try_clone_to_owned()?;
    // SAFETY: both descriptors are open, and Rust's standard output keeps its number.
    match unsafe { libc::dup2(to.as_raw_fd(), stdout.as_raw_fd()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(was),
    }
}
