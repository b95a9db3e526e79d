//! `sunstar disk`: serves the remote disk of a machine with RDMA NICs to clients of NBD, live. Each request
//! goes through the simulated cards; simulated time stands still while no client wants anything.

use crate::interrupt::{self, Reins};
use crate::run::unless_written;
use block::SECTOR;
use clients::{Clients, CLIENTS_MAX};
use machine::console;
use nbd::Export;
use poll::Watched;
use simulator::{Broken, Simulator, Time, LOOK};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use sunstar::usage_error::UsageError;

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
    /// Run a shell command with the disk's URI in $uri, and end with it
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
    /// Record every request to FILE, for `sunstar run builtin:disk < FILE`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Let the clocks of the command of --run tell simulated time
    ///
    /// Simulated time moves while all of its threads wait; it must be one program that starts no others.
    #[arg(long, requires = "run")]
    pub clocked: bool,
    /// Send heads and tails of queues as writes of their own
    ///
    /// In place of pending flags in messages.
    #[arg(long)]
    pub tails: bool,
}

#[cfg(target_arch = "x86_64")]
mod calls;
mod clients;
#[cfg(target_arch = "x86_64")]
mod clocked;
mod poll;
mod simulator;
#[cfg(target_arch = "x86_64")]
mod thread;
#[cfg(target_arch = "x86_64")]
mod tracee;

/// Elsewhere nobody has made it yet.
#[cfg(not(target_arch = "x86_64"))]
mod clocked {
    use super::*;
    pub fn run(_: &str, _: &Path, _: &mut Service) -> Result<u8, Broken> {
        Err(UsageError::sentence("--clocked works on x86-64 only; leave it out").into())
    }
}

/// Bytes of a request at most.
const MOST: u32 = 4 << 20;
/// Real time that the command of `--run` has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// The disk with those that want something of it.
struct Service {
    listener: UnixListener,
    clients: Clients,
    simulator: Simulator,
}

/// The socket, which is removed in the end: nobody else has made it.
struct Socket<'a>(&'a Path);

impl Drop for Socket<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

/// Serves until the command of `--run` has ended, until a signal comes, or for ever.
pub fn disk(options: &DiskOptions) -> Result<u8, UsageError> {
    if options.size == 0 || options.size % SECTOR != 0 {
        return Err(UsageError::sentence(format!(
            "--size is whole sectors of {SECTOR} bytes, at least one"
        )));
    }
    let reins = Reins::default();
    reins.begun.store(true, Ordering::Relaxed);
    interrupt::watch_signals(reins.clone())?;
    let refused = |why| UsageError::with_file("listen on", &options.socket, why);
    let listener = UnixListener::bind(&options.socket).map_err(refused)?;
    let socket = Socket(&options.socket);
    listener.set_nonblocking(true).map_err(refused)?;
    let simulator = Simulator::start(options, reins.stop)?;
    let export = Export { size: options.size, block: SECTOR as u32, most: MOST };
    let mut service = Service { listener, clients: Clients::new(export), simulator };
    let mut command = None;
    let ready = service.simulator.get_ready();
    let (is_ready, ended) = match ready {
        Ok(()) => (true, service.serve(options, &mut command)),
        Err(why) => (false, Err(why)),
    };
    drop(socket);
    service.end(ended, is_ready, command)
}

impl Service {
    /// Serves; the status of the command.
    fn serve(&mut self, options: &DiskOptions, running: &mut Option<Child>) -> Result<u8, Broken> {
        let socket = &options.socket;
        match &options.run {
            Some(command) if options.clocked => clocked::run(command, socket, self),
            Some(command) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]).env("uri", uri(socket)).env("unixsocket", socket);
                let cannot = |why| UsageError::sentence(format!("cannot run sh: {why}"));
                *running = Some(shell.spawn().map_err(cannot)?);
                self.live(running)
            }
            None => {
                console::say(&format!("serving {}", uri(socket)));
                self.live(running)
            }
        }
    }

    /// Serves clients in the order in which they ask, until the command ends, if there is one.
    fn live(&mut self, command: &mut Option<Child>) -> Result<u8, Broken> {
        loop {
            if self.simulator.is_stopped() {
                return Err(Broken::Stopped);
            }
            if let Some(running) = command {
                let ended =
                    running.try_wait().map_err(|why| UsageError::sentence(format!("sh: {why}")))?;
                if let Some(status) = ended {
                    *command = None;
                    return Ok(code(status));
                }
            }
            self.exchange();
            // It reads requests only when it has answered, and an answer is longer than a pipe.
            if !self.simulator.is_waited_for() {
                self.clients.begin(&mut self.simulator)?;
                if self.simulator.under_way() > 0 {
                    self.simulator.go_on(Time::MAX)?;
                }
            }
            let mut watched = vec![
                Watched::read(self.simulator.answers()),
                Watched::of(&self.listener, self.clients.count() < CLIENTS_MAX, false),
            ];
            let streams = self.clients.streams();
            watched.extend(streams.map(|(stream, read, write)| Watched::of(stream, read, write)));
            if !poll::wait(&mut watched, LOOK) {
                continue;
            }
            self.clients.gone(watched[2..].iter().map(Watched::is_gone));
            if watched[0].has_come() {
                if !self.simulator.is_waited_for() {
                    return Err(Broken::Ended);
                }
                let ended = self.simulator.answer()?;
                ended.into_iter().for_each(|ended| self.clients.answer(ended));
            }
        }
    }

    /// Takes what clients have sent, and new clients; true if something has moved.
    fn exchange(&mut self) -> bool {
        while self.clients.count() < CLIENTS_MAX {
            // One that has left, or for which the system has no room, is no client.
            let Ok((stream, _)) = self.listener.accept() else { break };
            let _ = self.clients.add(stream);
        }
        self.clients.exchange()
    }

    /// Ends the run, and the command if it has not ended; the status.
    fn end(
        mut self,
        ended: Result<u8, Broken>,
        is_ready: bool,
        command: Option<Child>,
    ) -> Result<u8, UsageError> {
        command.iter().for_each(|command| poll::signal(command, libc::SIGTERM));
        drop(self.clients);
        let own = self.simulator.end()?;
        command.into_iter().for_each(end_command);
        let tells = is_ready || matches!(ended, Err(Broken::Stopped));
        let status = match ended {
            Ok(0) => own.unwrap_or(1),
            Ok(status) => status,
            Err(Broken::Stopped) => interrupt::exit_status().unwrap_or(1) as u8,
            Err(Broken::Ended) => {
                // A run that refuses says why.
                let refused = own.is_some_and(|status| status != 0) && !is_ready;
                if !refused {
                    console::say("the simulator has ended, and the disk ends with it");
                }
                own.filter(|status| *status != 0).unwrap_or(1)
            }
            Err(Broken::Usage(why)) => return Err(why),
            Err(Broken::Record(why)) => {
                let why = self.simulator.not_recorded(&why);
                unless_written(0, Err(why))
            }
        };
        let status = unless_written(status, self.simulator.end_record());
        if tells {
            let (requests, us) = (self.simulator.requests, self.simulator.busy as f64 / 1e6);
            console::say(&format!("{requests} requests took {us:.1} us of simulated time"));
        }
        Ok(status)
    }
}

/// Ends a command that was asked to end, and what it has started.
fn end_command(mut command: Child) {
    let begun = Instant::now();
    while matches!(command.try_wait(), Ok(None)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    rank::end_orphans();
}

/// Exit status of the command, as a shell tells it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.unwrap_or(1) as u8
}

/// The disk's URI: what has a meaning in one is encoded.
fn uri(socket: &Path) -> String {
    let mut uri = String::from("nbd+unix:///?socket=");
    for byte in socket.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_no_byte_with_a_meaning_of_its_own() {
        let path = Path::new("/tmp/a b/ü&x=%?#~");
        assert_eq!(uri(path), "nbd+unix:///?socket=/tmp/a%20b/%C3%BC%26x%3D%25%3F%23~");
    }
}
