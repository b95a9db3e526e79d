//! Output of ranks: to the simulator's output, there with their numbers, or to files.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Placeholder of the rank in the name of a file.
const RANK: &str = "%r";
/// Milliseconds between looks whether new ranks print, or the run is over.
const LOOK_MS: i32 = 20;

/// Destination of the output of a program's ranks.
#[derive(Clone, Debug, Default)]
pub enum Output {
    /// The simulator's output.
    #[default]
    Shared,
    /// The same, each line behind its rank.
    Labelled(Arc<Labels>),
    /// A file for each rank, in whose name `%r` is replaced by the rank; if it does not occur, the rank
    /// follows.
    Files(PathBuf),
}

/// Standard output and standard error of a rank, as far as it does not share the simulator's.
#[derive(Default)]
pub(crate) struct Streams([Option<OwnedFd>; 2]);

impl Streams {
    pub fn descriptors(&self) -> [Option<RawFd>; 2] {
        [0, 1].map(|stream| self.0[stream].as_ref().map(AsRawFd::as_raw_fd))
    }
}

impl Output {
    /// True if all ranks print to the same.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Output::Shared)
    }

    /// Opens what a rank prints to.
    pub(crate) fn of(&self, rank: u32) -> io::Result<Streams> {
        match self {
            Output::Shared => Ok(Streams::default()),
            Output::Labelled(labels) => labels.streams(rank),
            Output::Files(name) => {
                let file: OwnedFd = File::create(file_of(name, rank))?.into();
                Ok(Streams([Some(file.try_clone()?), Some(file)]))
            }
        }
    }
}

/// The file of a rank.
fn file_of(name: &Path, rank: u32) -> PathBuf {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = name.as_os_str().as_bytes();
    let Some(at) = bytes.windows(RANK.len()).position(|part| part == RANK.as_bytes()) else {
        let mut name = name.as_os_str().to_os_string();
        name.push(format!(".{rank}"));
        return name.into();
    };
    let rest = &bytes[at + RANK.len()..];
    OsString::from_vec([&bytes[..at], rank.to_string().as_bytes(), rest].concat()).into()
}

/// Prints whole lines: the first is true if they go to standard error.
pub type Print = Box<dyn Fn(bool, &[u8]) + Send>;

/// Puts its rank before each line that a rank prints. One thread reads what all of them print.
pub struct Labels {
    ranks: Mutex<Option<Sender<Source>>>,
    reader: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Labels")
    }
}

/// A pipe from a rank.
struct Source {
    rank: u32,
    error: bool,
    pipe: File,
    /// A line of which the end has not come.
    begun: Vec<u8>,
}

impl Labels {
    /// Lines are printed by `print`.
    pub fn new(print: Print) -> io::Result<Arc<Labels>> {
        let (sender, receiver) = channel();
        let reader = std::thread::Builder::new()
            .name("rank-output".into())
            .spawn(move || read_all(&receiver, &print))?;
        Ok(Arc::new(Labels { ranks: Some(sender).into(), reader: Some(reader).into() }))
    }

    /// Prints the rest of the output of ranks that have ended. Output of processes that they have left
    /// behind is lost.
    pub fn finish(&self) {
        drop(self.ranks.lock().unwrap_or_else(PoisonError::into_inner).take());
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reader) = reader {
            reader.join().expect("who reads lines does not panic");
        }
    }

    fn streams(&self, rank: u32) -> io::Result<Streams> {
        let mut writers = [None, None];
        for (writer, error) in writers.iter_mut().zip([false, true]) {
            let (reading, writing) = pipe()?;
            *writer = Some(writing);
            let source = Source { rank, error, pipe: reading.into(), begun: Vec::new() };
            let ranks = self.ranks.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody prints after the end.
            let sent = ranks.as_ref().map(|ranks| ranks.send(source));
            debug_assert!(matches!(sent, Some(Ok(()))));
        }
        Ok(Streams(writers))
    }
}

/// Both ends of a pipe; reading does not wait.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: fills two numbers of our own.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened for us.
    let ends = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
    // SAFETY: sets a flag of our own descriptor.
    unsafe { libc::fcntl(ends.0.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    Ok(ends)
}

fn read_all(ranks: &Receiver<Source>, print: &Print) {
    let mut sources = BTreeMap::new();
    let (mut over, mut number) = (false, 0);
    loop {
        loop {
            match ranks.try_recv() {
                Ok(source) => {
                    sources.insert(number, source);
                    number += 1;
                }
                Err(why) => {
                    over |= why == std::sync::mpsc::TryRecvError::Disconnected;
                    break;
                }
            }
        }
        let patience = if over { 0 } else { LOOK_MS };
        if !wait(&sources, patience) && over {
            break;
        }
        sources.retain(|_, source| source.read(print));
    }
    for source in sources.values_mut() {
        source.end(print);
    }
}

/// True if any of them has something.
fn wait(sources: &BTreeMap<u64, Source>, milliseconds: i32) -> bool {
    let watch = |source: &Source| libc::pollfd {
        fd: source.pipe.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched: Vec<_> = sources.values().map(watch).collect();
    // SAFETY: as many structures of our own as said, which outlive the call.
    unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, milliseconds) > 0 }
}

impl Source {
    /// Prints what has come; false at its end.
    fn read(&mut self, print: &Print) -> bool {
        let mut bytes = [0; 1 << 14];
        match self.pipe.read(&mut bytes) {
            Ok(0) => {
                self.end(print);
                false
            }
            Ok(count) => {
                self.take(&bytes[..count], print);
                true
            }
            Err(why) => {
                matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            }
        }
    }

    fn take(&mut self, bytes: &[u8], print: &Print) {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend(piece);
            if piece.ends_with(b"\n") {
                lines.extend(format!("[{}] ", self.rank).into_bytes());
                lines.append(&mut self.begun);
            }
        }
        if !lines.is_empty() {
            print(self.error, &lines);
        }
    }

    /// Prints a last line that has no end.
    fn end(&mut self, print: &Print) {
        if !self.begun.is_empty() {
            self.take(b"\n", print);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_are_named_by_rank() {
        let of = |name: &str, rank| file_of(Path::new(name), rank).to_str().unwrap().to_owned();
        assert_eq!(of("out/r%r.txt", 12), "out/r12.txt");
        assert_eq!(of("out", 3), "out.3");
    }

    #[test]
    fn every_line_has_its_rank() {
        let printed = Arc::new(Mutex::new((String::new(), String::new())));
        let own = printed.clone();
        let print = move |error: bool, lines: &[u8]| {
            let mut printed = own.lock().unwrap();
            let text = std::str::from_utf8(lines).unwrap();
            if error { &mut printed.1 } else { &mut printed.0 }.push_str(text);
        };
        let labels = Labels::new(Box::new(print)).unwrap();
        let [out, error] = labels.streams(7).unwrap().0.map(|stream| File::from(stream.unwrap()));
        (&out).write_all(b"one\ntw").unwrap();
        (&error).write_all(b"wrong\n").unwrap();
        (&out).write_all(b"o\n\nlast").unwrap();
        drop((out, error));
        labels.finish();
        let printed = printed.lock().unwrap();
        assert_eq!(printed.0, "[7] one\n[7] two\n[7] \n[7] last\n");
        assert_eq!(printed.1, "[7] wrong\n");
    }
}
