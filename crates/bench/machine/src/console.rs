//! Standard output and standard error as they are, unbuffered. A stream that cannot be written (a full disk,
//! a closed stream) does not end the run: the error is reported, or ignored.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};

/// Standard output that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// It is closed.
    #[error("cannot write to standard output: it is closed")]
    Closed,
    /// It fails, as on a full disk.
    #[error("cannot write to standard output: {0}")]
    Failed(io::Error),
}

/// Prints text. A reader that has gone away (`| head`) is no error.
pub fn print(text: &str) -> Result<(), PrintError> {
    print_to(io::stdout().as_fd(), text)
}

/// The same for what need not be text.
pub fn print_bytes(bytes: &[u8]) -> Result<(), PrintError> {
    print_bytes_to(io::stdout().as_fd(), bytes)
}

/// Prints to a stream that is or was standard output.
pub fn print_to(out: BorrowedFd, text: &str) -> Result<(), PrintError> {
    print_bytes_to(out, text.as_bytes())
}

fn print_bytes_to(out: BorrowedFd, bytes: &[u8]) -> Result<(), PrintError> {
    match write(out, bytes) {
        Err(why) if why.raw_os_error() == Some(libc::EBADF) => Err(PrintError::Closed),
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(PrintError::Failed(why)),
        _ => Ok(()),
    }
}

/// Says a sentence on standard error, after the command's name.
pub fn say(sentence: &str) {
    pass_on(&format!("sunstar: {sentence}\n"));
}

/// The same for whoever waits at a terminal: why nothing is printed for a while.
pub fn say_on_terminal(sentence: &str) {
    if io::stderr().is_terminal() {
        say(sentence);
    }
}

/// Writes text of other programs to standard error unchanged. A failure cannot be reported, and is ignored.
pub fn pass_on(text: &str) {
    pass_on_bytes(text.as_bytes());
}

/// The same for what need not be text.
pub fn pass_on_bytes(bytes: &[u8]) {
    write(io::stderr().as_fd(), bytes).ok();
}

/// Writes all bytes, without the standard library's own streams, which ignore that a stream is closed.
fn write(to: BorrowedFd, mut bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the descriptor is borrowed as long as this lasts, and stays open behind it.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(to.as_raw_fd()) });
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            // Others have made a stream that they share with us one that does not wait.
            Err(why) if why.kind() == ErrorKind::WouldBlock => wait_for_room(to),
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

fn wait_for_room(to: BorrowedFd) {
    let mut stream = libc::pollfd { fd: to.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one structure of our own, which outlives the call. If it fails, the next write tells.
    unsafe { libc::poll(&raw mut stream, 1, -1) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_cannot_be_written_is_told() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let told = |out: &File| print_to(out.as_fd(), "x").unwrap_err().to_string();
        assert_eq!(
            told(&full),
            "cannot write to standard output: No space left on device (os error 28)"
        );
        let closed = File::open("/dev/null").unwrap();
        assert_eq!(told(&closed), "cannot write to standard output: it is closed");
        let (ours, others) = UnixStream::pair().unwrap();
        drop(others);
        print_to(ours.as_fd(), "x").expect("the reader has gone away");
    }

    #[test]
    fn a_stream_that_does_not_wait_is_waited_for() {
        let (ours, mut others) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let text = "0123456789".repeat(100_000);
        let writer = {
            let text = text.clone();
            std::thread::spawn(move || print_to(ours.as_fd(), &text))
        };
        let mut read = String::new();
        others.read_to_string(&mut read).unwrap();
        writer.join().unwrap().unwrap();
        assert!(read == text, "{} bytes of {}", read.len(), text.len());
    }
}
