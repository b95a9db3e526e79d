//! Source of the monitor's lines: a thread of its own reads them, because whoever waits for one must be
//! able to give up.

use des::Stop;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Most bytes of a line: no command is as long.
const LINE_MAX: u64 = 1024;
/// Most pieces of so many bytes that are skipped to find the end of a line that is too long.
const PIECES_MAX: usize = 1024;
/// Lines that may be read before they are wanted.
const AHEAD: usize = 16;
/// Period at which a node that waits for a line checks whether the run is to end.
const PATIENCE: Duration = Duration::from_millis(50);

/// A source of lines.
#[derive(Debug)]
pub(super) enum Source {
    Stdin,
    File(File),
    /// A pipe with a name: who opens it waits for its writer.
    Pipe(PathBuf),
}

impl Source {
    /// Standard input, or a file or pipe.
    pub fn open(file: Option<&Path>) -> io::Result<Source> {
        let Some(file) = file else { return Ok(Source::Stdin) };
        let kind = file.metadata()?.file_type();
        if kind.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        if kind.is_fifo() {
            return Ok(Source::Pipe(file.to_owned()));
        }
        let opened = File::open(file)?;
        if kind.is_file() || opened.is_terminal() {
            return Ok(Source::File(opened));
        }
        Err(io::Error::other("it is a device; a file, a pipe or a terminal has lines"))
    }

    /// Somebody types what comes.
    pub fn is_typed(&self) -> bool {
        matches!(self, Source::Stdin) && io::stdin().is_terminal()
    }

    fn reader(self) -> io::Result<Box<dyn BufRead>> {
        Ok(match self {
            Source::Stdin => Box::new(io::stdin().lock()),
            Source::File(file) => Box::new(BufReader::new(file)),
            Source::Pipe(path) => Box::new(BufReader::new(File::open(path)?)),
        })
    }
}

/// The lines.
pub(super) struct Lines {
    lines: Receiver<String>,
}

impl Lines {
    /// Reads them from now on. The system may refuse a thread.
    pub fn of(source: Source) -> io::Result<Lines> {
        let (sender, lines) = sync_channel(AHEAD);
        thread::Builder::new().spawn(move || {
            let Ok(mut reader) = source.reader() else { return };
            while let Some(line) = line(&mut reader) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Lines { lines })
    }

    /// The next one; none behind the last, or if the run is to end.
    pub fn next(&self, stop: &Stop) -> Option<String> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Timeout) if !stop.requested() => {}
                Err(_) => return None,
            }
        }
    }

    /// True if there is one that nobody has wanted.
    pub fn has_more(&self) -> bool {
        self.lines.recv_timeout(PATIENCE).is_ok()
    }
}

/// Skips the rest of a line, piece by piece. None if it does not end.
fn skip_line(reader: &mut impl BufRead) -> Option<()> {
    let mut rest = Vec::new();
    for _ in 0..PIECES_MAX {
        rest.clear();
        let read = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut rest).ok()?;
        if read == 0 || rest.last() == Some(&b'\n') {
            return Some(());
        }
    }
    None
}

/// A line without its end; one that is too long is cut. None behind the last, or if it does not end.
fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 {
        return None;
    }
    if bytes.last() != Some(&b'\n') && read as u64 == LINE_MAX {
        skip_line(reader)?;
    }
    Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_and_long_ones_are_cut() {
        let long = "x".repeat(3000);
        let text = format!("one\r\n{long}\ntwo");
        let mut reader = text.as_bytes();
        assert_eq!(line(&mut reader).as_deref(), Some("one"));
        assert_eq!(line(&mut reader).map(|line| line.len()), Some(1024));
        assert_eq!(line(&mut reader).as_deref(), Some("two"));
        assert_eq!(line(&mut reader), None);
    }

    #[test]
    fn a_line_without_an_end_is_no_line() {
        assert_eq!(line(&mut BufReader::new(io::repeat(b'x'))), None);
        let why = Source::open(Some(Path::new("/dev/zero"))).unwrap_err().to_string();
        assert!(why.contains("it is a device"), "{why}");
    }
}
