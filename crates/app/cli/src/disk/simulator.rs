//! The run that has the disk: requests go to its standard input, and answers come from its standard output
//! (`block::Ask`, `block::Answer`).

use super::poll::{self, Watched};
use super::DiskOptions;
use crate::child;
use block::{Answer, Ask, Operation, ANSWER_BYTES};
use des::Stop;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sunstar::usage_error::UsageError;

/// Picoseconds.
pub type Time = u64;
/// Requests that the run has at most: as many as the block layer may have under way.
pub const REQUESTS_MAX: usize = 16;
/// Real time between two looks whether a signal has come.
pub const LOOK: Duration = Duration::from_millis(50);
/// Real time that the run has to end by itself, and then after a signal.
const PATIENCE: Duration = Duration::from_secs(5);

/// End of the service that no client has asked for.
#[derive(Debug)]
pub enum Broken {
    /// A signal has asked for it.
    Stopped,
    /// The run has ended.
    Ended,
    /// A sentence.
    Usage(UsageError),
    /// The file of `--record` cannot be written.
    Record(io::Error),
}

impl From<UsageError> for Broken {
    fn from(why: UsageError) -> Broken {
        Broken::Usage(why)
    }
}

/// An answer to a request.
#[derive(Debug)]
pub struct Ended {
    /// Its number.
    pub number: u32,
    /// The data of a read; an error if the disk has failed.
    pub result: Result<Vec<u8>, nbd::Error>,
}

/// The file of `--record`.
struct Record {
    path: PathBuf,
    file: BufWriter<File>,
}

/// The run.
pub struct Simulator {
    child: Child,
    asks: Option<BufWriter<ChildStdin>>,
    answers: ChildStdout,
    record: Option<Record>,
    /// Requests that it has, each with the bytes that it reads, and when it was asked for.
    under_way: BTreeMap<u32, (usize, Time)>,
    last: u32,
    /// It was told to go on, and has not answered yet; since when.
    waits: Option<Time>,
    /// Its own time.
    pub now: Time,
    /// Requests that have ended, and the time in which there were some.
    pub requests: u64,
    pub busy: Time,
    stop: Arc<Stop>,
}

impl Simulator {
    /// Starts the run.
    pub fn start(options: &DiskOptions, stop: Arc<Stop>) -> Result<Simulator, UsageError> {
        let record = options.record.as_deref().map(|path| {
            let made = File::create(path).map_err(|why| UsageError::with_file("write", path, why));
            made.map(|file| Record { path: path.to_owned(), file: BufWriter::new(file) })
        });
        let record = record.transpose()?;
        let workload = if options.tails { "builtin:disk-tails" } else { "builtin:disk" };
        let mut command = child::command();
        command.args(["run", "-q", "--machine", &options.machine, "-n", "2", workload]);
        command.arg(options.size.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A terminal's signals come to this process, which ends the run when its clients are told.
        command.process_group(0);
        let mut child =
            command.spawn().map_err(|why| UsageError::sentence(format!("cannot run it: {why}")))?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (asks, answers) = streams.expect("both are pipes");
        Ok(Simulator {
            child,
            asks: Some(BufWriter::new(asks)),
            answers,
            record,
            under_way: BTreeMap::new(),
            last: 0,
            waits: None,
            now: 0,
            requests: 0,
            busy: 0,
            stop,
        })
    }

    /// Requests that it has.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }
    /// True if it was told to go on, and has not answered yet.
    pub fn is_waited_for(&self) -> bool {
        self.waits.is_some()
    }
    /// True if a signal has asked for the end.
    pub fn is_stopped(&self) -> bool {
        self.stop.requested()
    }
    /// The stream of answers.
    pub fn answers(&self) -> &impl AsFd {
        &self.answers
    }

    /// Sends a request, and records it unless it is for nothing.
    fn send(&mut self, ask: &Ask, data: &[u8]) -> Result<(), Broken> {
        if let Some(record) = &mut self.record {
            let file = &mut record.file;
            let written = file.write_all(&ask.emit()).and_then(|()| file.write_all(data));
            // What was answered is recorded, whatever happens to this process.
            let flushes = ask.operation == Operation::Wait;
            let written = written.and_then(|()| if flushes { file.flush() } else { Ok(()) });
            written.map_err(Broken::Record)?;
        }
        let asks = self.asks.as_mut().ok_or(Broken::Ended)?;
        let sent = asks.write_all(&ask.emit()).and_then(|()| asks.write_all(data));
        sent.map_err(|_| Broken::Ended)
    }

    /// A request begins; its number.
    pub fn begin(&mut self, ask: Ask, data: &[u8]) -> Result<u32, Broken> {
        self.last = self.last.checked_add(1).unwrap_or(1);
        let ask = Ask { number: self.last, ..ask };
        self.send(&ask, data)?;
        let reads = ask.operation == Operation::Read;
        self.under_way.insert(self.last, (if reads { ask.length as usize } else { 0 }, self.now));
        Ok(self.last)
    }

    /// Its requests go on until the next has ended, or for so long at most.
    pub fn go_on(&mut self, most: Time) -> Result<(), Broken> {
        self.send(&Ask::new(Operation::Wait, 0, most), &[])?;
        self.waits = Some(self.now);
        let asks = self.asks.as_mut().ok_or(Broken::Ended)?;
        asks.flush().map_err(|_| Broken::Ended)
    }

    /// The answer to that; none if only time has passed.
    pub fn answer(&mut self) -> Result<Option<Ended>, Broken> {
        // It comes in one piece.
        while !poll::wait(&mut [Watched::read(&self.answers)], LOOK) {
            if self.stop.requested() {
                return Err(Broken::Stopped);
            }
        }
        let mut bytes = [0; ANSWER_BYTES];
        self.answers.read_exact(&mut bytes).map_err(|_| Broken::Ended)?;
        let Answer { failed, took, number } = Answer::parse(&bytes).ok_or(Broken::Ended)?;
        let (start, idle) = (self.waits.take(), self.under_way.is_empty());
        if number == 0 {
            let passed = start.map_or(0, |start| start + took).max(self.now) - self.now;
            self.passes(passed, idle);
            return Ok(None);
        }
        let (reads, since) = self.under_way.remove(&number).ok_or(Broken::Ended)?;
        self.passes((since + took).max(self.now) - self.now, false);
        self.requests += 1;
        if failed {
            return Ok(Some(Ended { number, result: Err(nbd::Error::Io) }));
        }
        let mut data = vec![0; reads];
        self.answers.read_exact(&mut data).map_err(|_| Broken::Ended)?;
        Ok(Some(Ended { number, result: Ok(data) }))
    }

    fn passes(&mut self, time: Time, idle: bool) {
        self.now += time;
        self.busy += if idle { 0 } else { time };
    }

    /// Waits until the run is ready for requests: none of them is on its way.
    pub fn get_ready(&mut self) -> Result<(), Broken> {
        let record = self.record.take();
        let ready = self.go_on(0).and_then(|()| self.answer());
        self.record = record;
        ready.map(drop)
    }

    /// Ends the run; its exit status, none if it was killed.
    pub fn end(&mut self) -> Result<Option<u8>, UsageError> {
        drop(self.asks.take());
        let mut rest = [0; 1 << 16];
        for signal in [0, libc::SIGTERM, libc::SIGKILL] {
            if signal != 0 {
                poll::signal(&self.child, signal);
            }
            let begun = Instant::now();
            while begun.elapsed() < PATIENCE || signal == libc::SIGKILL {
                // It may have answers that nobody wants.
                if poll::wait(&mut [Watched::read(&self.answers)], LOOK)
                    && self.answers.read(&mut rest).is_ok_and(|count| count == 0)
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let ended = self.child.try_wait();
                if let Some(status) =
                    ended.map_err(|why| UsageError::sentence(format!("the run: {why}")))?
                {
                    let own = signal != 0 && status.signal().is_some();
                    return Ok(status.code().map(|code| code as u8).or(own.then_some(0)));
                }
            }
        }
        Ok(None)
    }

    /// Writes the rest of the record; the error is a sentence.
    pub fn end_record(&mut self) -> Result<(), UsageError> {
        let Some(Record { path, mut file }) = self.record.take() else { return Ok(()) };
        file.flush().map_err(|why| not_recorded(&path, &why))
    }

    /// A sentence about a record that cannot be written.
    pub fn not_recorded(&mut self, why: &io::Error) -> UsageError {
        let record = self.record.take();
        let path = record.map_or_else(PathBuf::new, |record| {
            let Record { path, file } = record;
            drop(file.into_parts());
            path
        });
        not_recorded(&path, why)
    }
}

fn not_recorded(path: &Path, why: &io::Error) -> UsageError {
    UsageError::with_file("write", path, why)
}
