//! gdb's thread: it waits for connections, and serves one after another until the run is over.

use super::conversation::{Conversation, Left, Remote};
use super::{Request, Why};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Message to gdb's thread.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// The client of this number said this.
    Bytes(u64, Vec<u8>),
    /// The client of this number has closed the connection.
    Closed(u64),
    /// The processor is halted.
    Stopped(Why),
    /// The run is over, with this exit status.
    Ended(u8),
}

/// Messages that may wait for the thread: a client that says more has to wait.
pub(super) const BACKLOG: usize = 64;

/// Period at which it looks for new connections.
const PATIENCE: Duration = Duration::from_millis(10);
/// A client that has not taken an answer for so long has gone.
const DEAF: Duration = Duration::from_secs(10);

/// The thread, from the run's side.
pub(crate) struct Session {
    thread: JoinHandle<()>,
    events: SyncSender<Incoming>,
}

impl Session {
    /// Starts the thread, which the system may refuse.
    pub(super) fn start(
        listener: Option<TcpListener>,
        remote: Remote,
        incoming: Receiver<Incoming>,
        events: SyncSender<Incoming>,
    ) -> io::Result<Session> {
        let own = events.clone();
        let thread = thread::Builder::new().spawn(move || {
            let Some(listener) = listener else { return };
            Desk {
                listener,
                remote,
                incoming,
                events: own,
                stands: None,
                second: None,
                clients: 0,
            }
            .run();
        });
        Ok(Session { thread: thread?, events })
    }

    /// Tells gdb how the run has ended.
    pub fn end(self, code: i32) {
        let code = u8::try_from(code).unwrap_or(u8::MAX);
        self.events.send(Incoming::Ended(code)).ok();
        // A panic of the thread does not concern the run.
        self.thread.join().ok();
    }
}

/// Server of the clients.
struct Desk {
    listener: TcpListener,
    remote: Remote,
    incoming: Receiver<Incoming>,
    events: SyncSender<Incoming>,
    /// Reason for which the processor is halted and has not been told to go on; `None` while it runs.
    stands: Option<Why>,
    /// Client that has connected while another one is served.
    second: Option<TcpStream>,
    /// Clients so far.
    clients: u64,
}

impl Desk {
    fn run(mut self) {
        while let Some(stream) = self.client() {
            let left = match self.halt() {
                Some(why) => self.serve(stream, why),
                None => Left::Over,
            };
            let last = match left {
                Left::Detached => Request::Detach,
                Left::Killed => Request::Kill,
                Left::Over => return,
            };
            // Only if it is halted does the node hear of it.
            if self.halt().is_none() {
                return;
            }
            self.stands = None;
            self.remote.interrupt.store(false, Ordering::Relaxed);
            let over = self.remote.requests.send(last).is_err();
            if over || left == Left::Killed {
                return;
            }
        }
    }

    /// The next that connects; `None` if the run has ended before.
    fn client(&mut self) -> Option<TcpStream> {
        loop {
            if let Some(stream) = self.second.take().or_else(|| self.accept()) {
                return Some(stream);
            }
            match self.incoming.recv_timeout(PATIENCE) {
                // At its first instruction, as gdb expects of who answers.
                Ok(Incoming::Stopped(why)) => self.stands = Some(why),
                Ok(Incoming::Ended(_)) | Err(RecvTimeoutError::Disconnected) => return None,
                // From a client that has left.
                Ok(Incoming::Bytes(..) | Incoming::Closed(_)) => {}
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// New connection, if there is one.
    fn accept(&self) -> Option<TcpStream> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_write_timeout(Some(DEAF)).ok()?;
        Some(stream)
    }

    /// Halts the processor, if it runs; returns the reason. `None` if the run is over.
    fn halt(&mut self) -> Option<Why> {
        if self.stands.is_none() {
            self.remote.interrupt.store(true, Ordering::Relaxed);
        }
        while self.stands.is_none() {
            match self.incoming.recv() {
                Ok(Incoming::Stopped(why)) => self.stands = Some(why),
                Ok(Incoming::Bytes(..) | Incoming::Closed(_)) => {}
                Ok(Incoming::Ended(_)) | Err(_) => return None,
            }
        }
        self.stands
    }

    /// Serves a connection to its end. One that breaks is one that has left.
    fn serve(&mut self, mut stream: TcpStream, why: Why) -> Left {
        self.clients += 1;
        if read_in_a_thread(&stream, self.clients, self.events.clone()).is_none() {
            return Left::Detached;
        }
        let mut conversation = Conversation::new(&self.remote, why);
        let left = loop {
            let left = match self.incoming.recv_timeout(PATIENCE) {
                Ok(Incoming::Bytes(of, bytes)) if of == self.clients => {
                    bytes.into_iter().find_map(|byte| conversation.hear(byte))
                }
                Ok(Incoming::Closed(of)) if of == self.clients => Some(Left::Detached),
                Ok(Incoming::Bytes(..) | Incoming::Closed(_)) => None,
                Ok(Incoming::Stopped(why)) => {
                    conversation.stopped(why);
                    None
                }
                Ok(Incoming::Ended(code)) => {
                    conversation.ended(code);
                    Some(Left::Over)
                }
                Err(RecvTimeoutError::Timeout) => {
                    // A client that came while this one was about to leave has been waiting since the last
                    // time.
                    self.second = self.second.take().map_or_else(|| self.accept(), |_| None);
                    None
                }
                Err(RecvTimeoutError::Disconnected) => Some(Left::Over),
            };
            let sent = stream.write_all(&conversation.take_out());
            match (left, sent) {
                (Some(left), _) => break left,
                (None, Err(_)) => break Left::Detached,
                (None, Ok(())) => {}
            }
        };
        self.stands = conversation.stands();
        stream.shutdown(Shutdown::Both).ok();
        left
    }
}

/// Reads what a client says, until it says no more.
fn read_in_a_thread(stream: &TcpStream, number: u64, events: SyncSender<Incoming>) -> Option<()> {
    let mut from = stream.try_clone().ok()?;
    let reader = move || {
        let mut bytes = [0; 4096];
        loop {
            let incoming = match from.read(&mut bytes) {
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => Incoming::Closed(number),
                Ok(count) => Incoming::Bytes(number, bytes[..count].into()),
            };
            let last = matches!(incoming, Incoming::Closed(_));
            if events.send(incoming).is_err() || last {
                return;
            }
        }
    };
    thread::Builder::new().spawn(reader).ok().map(drop)
}
