//! `sunstar disk`: serves the remote disk of a machine with RDMA NICs to clients of NBD, live. Each request
//! goes through the simulated cards; simulated time stands still while no client wants anything.

use crate::child;
use crate::usage_error::UsageError;
use block::{Answer, Ask, Operation, ANSWER_BYTES, PIECE, SECTOR};
use machine::console;
use nbd::{Command, Error, Export, Request, Session, Step};
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Options of `sunstar disk`.
#[derive(clap::Args, Clone, Debug)]
pub struct DiskOptions {
    /// Machine, of those with RDMA NICs
    #[arg(short, long, value_name = "NAME|FILE", default_value = "forth")]
    pub machine: String,
    /// Bytes of the disk, in whole sectors of 512 bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub size: u64,
    /// UNIX socket to listen on
    #[arg(long, value_name = "PATH")]
    pub socket: PathBuf,
    /// Run a shell's command with the disk's URI in $uri, and end with it
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
    /// Write every request to FILE, as `sunstar run builtin:disk < FILE` takes it again
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Give the command of --run clocks that tell simulated time, which moves while all of its threads wait;
    /// it must be one program that starts no others
    #[arg(long, requires = "run")]
    pub clocked: bool,
    /// Tell heads and tails of queues by writes of their own, in place of pending flags in messages
    #[arg(long)]
    pub tails: bool,
}

#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(target_arch = "x86_64")]
mod client;
#[cfg(target_arch = "x86_64")]
mod clocked;
#[cfg(target_arch = "x86_64")]
mod tracee;

/// Elsewhere nobody has made it yet.
#[cfg(not(target_arch = "x86_64"))]
mod clocked {
    use super::*;
    pub fn run(
        _: &str,
        _: &Path,
        _: (UnixListener, Export),
        _: &Mutex<Disk>,
    ) -> Result<u8, UsageError> {
        Err(UsageError("--clocked works on x86-64 only; leave it out".into()))
    }
}

/// Bytes of a request at most.
const MOST: u32 = 4 << 20;

/// The run that has the disk.
struct Disk {
    child: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    record: Option<File>,
    requests: u64,
    took: u64,
}

impl Disk {
    fn start(options: &DiskOptions) -> Result<Disk, UsageError> {
        let workload = if options.tails { "builtin:disk-tails" } else { "builtin:disk" };
        let mut command = child::command();
        command.args(["run", "-q", "--machine", &options.machine, "-n", "2", workload]);
        command.arg(options.size.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|why| UsageError(format!("cannot run it: {why}")))?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (asks, answers) = streams.expect("both are pipes");
        let record = options.record.as_deref().map(|file| {
            File::create(file).map_err(|why| UsageError::with_file("write", file, why))
        });
        Ok(Disk {
            child,
            asks: Some(asks),
            answers: BufReader::new(answers),
            record: record.transpose()?,
            requests: 0,
            took: 0,
        })
    }

    /// Carries out a request; the data of a read.
    fn carry_out(&mut self, ask: &Ask, data: &[u8]) -> std::io::Result<Result<Vec<u8>, Error>> {
        if let Some(record) = &mut self.record {
            record.write_all(&ask.emit())?;
            record.write_all(data)?;
        }
        let ended = || std::io::Error::other("the run has ended");
        let asks = self.asks.as_mut().ok_or_else(ended)?;
        asks.write_all(&ask.emit())?;
        asks.write_all(data)?;
        asks.flush()?;
        let mut bytes = [0; ANSWER_BYTES];
        self.answers.read_exact(&mut bytes)?;
        let answer = Answer::parse(&bytes).ok_or_else(ended)?;
        self.requests += 1;
        self.took += answer.took;
        if answer.failed {
            return Ok(Err(Error::Io));
        }
        let reads = ask.operation == Operation::Read;
        let mut back = vec![0; if reads { ask.length as usize } else { 0 }];
        self.answers.read_exact(&mut back)?;
        Ok(Ok(back))
    }

    /// Simulated time passes between requests: so many picoseconds.
    fn pass(&mut self, time: u64) -> std::io::Result<()> {
        if time > 0 {
            let ask = Ask { operation: Operation::Pass, offset: 0, length: time };
            let (requests, took) = (self.requests, self.took);
            let passed = self.carry_out(&ask, &[])?;
            (self.requests, self.took) = (requests, took);
            passed.map_err(|_| std::io::Error::other("time does not pass"))?;
        }
        Ok(())
    }

    /// Ends the run; its exit status.
    fn end(&mut self) -> Result<u8, UsageError> {
        drop(self.asks.take());
        let status = self.child.wait().map_err(|why| UsageError(format!("the run: {why}")))?;
        Ok(status.code().unwrap_or(1) as u8)
    }
}

/// Serves until the command of `--run` has ended, or for ever.
pub fn disk(options: &DiskOptions) -> Result<u8, UsageError> {
    if options.size == 0 || options.size % SECTOR != 0 {
        return Err(UsageError(format!("--size is whole sectors of {SECTOR} bytes, at least one")));
    }
    let disk = Arc::new(Mutex::new(Disk::start(options)?));
    let socket = &options.socket;
    let listener = UnixListener::bind(socket)
        .map_err(|why| UsageError::with_file("listen on", socket, why))?;
    let export = Export { size: options.size, block: SECTOR as u32, most: MOST };
    let ended = match &options.run {
        Some(command) if options.clocked => {
            clocked::run(command, socket, (listener, export), &disk)
        }
        command => {
            let served = {
                let disk = disk.clone();
                std::thread::spawn(move || accept(&listener, export, &disk))
            };
            match command {
                Some(command) => run(command, socket),
                None => {
                    console::say(&format!("serving {}", uri(socket)));
                    Ok(u8::from(served.join().is_err()))
                }
            }
        }
    };
    // Nobody else has made it.
    let _ = std::fs::remove_file(socket);
    let code = ended?;
    let mut disk = lock(&disk);
    let ended = disk.end()?;
    let (requests, us) = (disk.requests, disk.took as f64 / 1e6);
    console::say(&format!("{requests} requests took {us:.1} us of simulated time"));
    Ok(if code == 0 { ended } else { code })
}

fn uri(socket: &Path) -> String {
    format!("nbd+unix:///?socket={}", socket.display())
}

fn run(command: &str, socket: &Path) -> Result<u8, UsageError> {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", command]).env("uri", uri(socket)).env("unixsocket", socket);
    let status = shell.status().map_err(|why| UsageError(format!("cannot run sh: {why}")))?;
    Ok(status.code().unwrap_or(1) as u8)
}

fn lock(disk: &Mutex<Disk>) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &UnixListener, export: Export, disk: &Arc<Mutex<Disk>>) {
    for client in listener.incoming().flatten() {
        let disk = disk.clone();
        std::thread::spawn(move || {
            if let Err(why) = serve(client, export, &disk) {
                console::say(&format!("a client's connection: {why}"));
            }
        });
    }
}

/// Serves a client until it leaves.
fn serve(mut client: UnixStream, export: Export, disk: &Mutex<Disk>) -> std::io::Result<()> {
    let mut out = Vec::new();
    let mut session = Session::new(export, &mut out);
    let mut bytes = vec![0; 1 << 16];
    loop {
        let step = session.step(&mut out);
        if let Step::Request(request) = step {
            let result = carry_out(&request, disk)?;
            session.answer(&request, result.as_deref().map_err(|error| *error), &mut out);
            continue;
        }
        client.write_all(&out)?;
        out.clear();
        if step == Step::Closed {
            return Ok(());
        }
        match client.read(&mut bytes)? {
            0 => return Ok(()),
            count => session.receive(&bytes[..count]),
        }
    }
}

fn carry_out(request: &Request, disk: &Mutex<Disk>) -> std::io::Result<Result<Vec<u8>, Error>> {
    let operation = match request.command {
        Command::Read => Operation::Read,
        Command::Write { .. } => Operation::Write,
        Command::Flush | Command::Disconnect => Operation::Flush,
        // What was trimmed reads as zeroes.
        Command::Trim | Command::WriteZeroes => Operation::Zero,
    };
    let ask = |offset, length| Ask { operation, offset, length };
    let mut disk = lock(disk);
    if operation == Operation::Zero {
        // A command's sectors are a number of its own: no data go with them.
        let (mut at, end) = (request.offset, request.offset + u64::from(request.length));
        while at < end {
            let length = (end - at).min(1024 * PIECE);
            if let Err(error) = disk.carry_out(&ask(at, length), &[])? {
                return Ok(Err(error));
            }
            at += length;
        }
        return Ok(Ok(Vec::new()));
    }
    disk.carry_out(&ask(request.offset, request.length.into()), &request.data)
}
