//! Standard input of the command, for a guest's program.

use machine::programs::guests::{Input, Typist};
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;
use std::time::Duration;
use sunstar::usage_error::UsageError;

/// The key that leaves a guest: Ctrl-].
const LEAVE: u8 = 0x1D;

/// Standard input for a guest's program: a terminal, which is then raw until the second value goes; or all
/// that comes until its end.
pub fn input() -> Result<(Input, Option<Raw>), UsageError> {
    if !io::stdin().is_terminal() {
        return Ok((all()?, None));
    }
    let why = |why| UsageError::sentence(format!("the terminal: {why}"));
    let (rows, columns) = size();
    let raw = Raw::set().map_err(why)?;
    Ok((Input::Terminal { rows, columns, typist: Arc::new(Keyboard) }, Some(raw)))
}

/// Standard input for the first rank of a run: a file's. A pipe is not waited for, since most programs do not
/// read it.
pub fn of_run() -> Result<Option<(u32, Input)>, UsageError> {
    // SAFETY: all zero is a valid value of this structure, which the call fills.
    let is_file = unsafe {
        let mut facts: libc::stat = std::mem::zeroed();
        let known = libc::fstat(io::stdin().as_raw_fd(), &mut facts) == 0;
        known && facts.st_mode & libc::S_IFMT == libc::S_IFREG
    };
    is_file.then(|| Ok((0, all()?))).transpose()
}

fn all() -> Result<Input, UsageError> {
    let mut bytes = Vec::new();
    let read = io::stdin().read_to_end(&mut bytes);
    read.map_err(|why| UsageError::sentence(format!("standard input cannot be read: {why}")))?;
    Ok(Input::All(bytes.into()))
}

/// Rows and columns of the terminal.
fn size() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(io::stdin());
    size.map_or((24, 80), |(columns, rows)| (rows.0, columns.0))
}

/// The terminal, raw: each key comes at once, and has no meaning here. It is as before when this goes.
pub struct Raw;

/// State of the terminal before it was raw; null if it is not.
static BEFORE: AtomicPtr<libc::termios> = AtomicPtr::new(std::ptr::null_mut());

/// Makes the terminal what it was before it was raw, if it is. A handler of signals may call this.
pub fn restore() {
    let before = BEFORE.load(Ordering::Acquire);
    if !before.is_null() {
        // SAFETY: the value is one that the terminal had, and is never freed.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, before) };
    }
}

impl Raw {
    fn set() -> io::Result<Raw> {
        let input = io::stdin().as_raw_fd();
        // SAFETY: all zero is a valid value, which the first call fills; the others take it.
        unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(input, &mut before) < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut raw = before;
            libc::cfmakeraw(&mut raw);
            BEFORE.store(Box::leak(Box::new(before)), Ordering::Release);
            if libc::tcsetattr(input, libc::TCSADRAIN, &raw) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Raw)
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
        BEFORE.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// The person at the terminal.
#[derive(Debug)]
struct Keyboard;

impl Typist for Keyboard {
    fn typed(&self, wait: Duration) -> Option<Vec<u8>> {
        let input = io::stdin().as_raw_fd();
        let mut polled = libc::pollfd { fd: input, events: libc::POLLIN, revents: 0 };
        let ms = wait.as_millis().min(1000) as i32;
        let mut bytes = vec![0; 4096];
        // SAFETY: both calls get memory that lives until they return, and its size.
        let read = unsafe {
            if libc::poll(&mut polled, 1, ms) <= 0 {
                return Some(Vec::new());
            }
            libc::read(input, bytes.as_mut_ptr().cast(), bytes.len())
        };
        bytes.truncate(usize::try_from(read).unwrap_or(0));
        (!bytes.is_empty() && !bytes.contains(&LEAVE)).then_some(bytes)
    }
}
