//! gdb's thread: it waits for a connection, and keeps the protocol's state.

use super::remote::Remote;
use super::{Request, Why};
use gdbstub::conn::Connection;
use gdbstub::stub::state_machine::GdbStubStateMachine;
use gdbstub::stub::{DisconnectReason, GdbStub};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What reaches gdb's thread.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// gdb said this.
    Bytes(Vec<u8>),
    /// gdb has closed the connection.
    Closed,
    /// The processor stands still.
    Stopped(Why),
    /// The run is over, with this exit status.
    Ended(u8),
}

/// How often one who waits for a connection looks for one.
const PATIENCE: Duration = Duration::from_millis(10);

/// The thread, from the run's side.
pub(crate) struct Session {
    thread: JoinHandle<()>,
    events: Sender<Incoming>,
}

impl Session {
    /// Starts the thread. The listener is closed as soon as one has connected.
    pub(super) fn start(
        listener: Option<TcpListener>,
        remote: Remote,
        incoming: Receiver<Incoming>,
        events: Sender<Incoming>,
    ) -> Session {
        let own = events.clone();
        let thread = thread::spawn(move || {
            let Some(stream) = listener.and_then(|door| accept(&door, &incoming)) else { return };
            serve(remote, stream, Input { incoming, bytes: VecDeque::new() }, own);
        });
        Session { thread, events }
    }

    /// Tells gdb how the run has ended.
    pub fn end(self, code: i32) {
        let code = u8::try_from(code).unwrap_or(u8::MAX);
        self.events.send(Incoming::Ended(code)).ok();
        // What it would panic with is no business of the run.
        self.thread.join().ok();
    }
}

/// The first that connects; `None` if the run has ended before.
fn accept(door: &TcpListener, incoming: &Receiver<Incoming>) -> Option<TcpStream> {
    loop {
        match door.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).ok()?;
                stream.set_nodelay(true).ok()?;
                return Some(stream);
            }
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return None,
        }
        match incoming.recv_timeout(PATIENCE) {
            // It stands at its first instruction, as gdb expects of who answers.
            Ok(Incoming::Stopped(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// What comes next.
enum Next {
    Byte(u8),
    Stopped(Why),
    Ended(u8),
    Closed,
}

struct Input {
    incoming: Receiver<Incoming>,
    bytes: VecDeque<u8>,
}

impl Input {
    fn next(&mut self) -> Next {
        loop {
            if let Some(byte) = self.bytes.pop_front() {
                return Next::Byte(byte);
            }
            match self.incoming.recv() {
                Ok(Incoming::Bytes(bytes)) => self.bytes.extend(bytes),
                Ok(Incoming::Stopped(why)) => return Next::Stopped(why),
                Ok(Incoming::Ended(code)) => return Next::Ended(code),
                Ok(Incoming::Closed) | Err(_) => return Next::Closed,
            }
        }
    }
}

/// A packet that says OK.
const OK: &[u8] = b"$OK#9a";

/// How gdb has left.
enum Left {
    /// The node goes on alone.
    Detached,
    Killed,
    /// There is no node any more.
    Over,
}

/// Serves a connection to its end.
fn serve(mut remote: Remote, stream: TcpStream, mut input: Input, events: Sender<Incoming>) {
    let Ok(mut from) = stream.try_clone() else { return leave(&remote, Request::Detach) };
    let Ok(closing) = stream.try_clone() else { return leave(&remote, Request::Detach) };
    let reader = thread::spawn(move || {
        let mut bytes = [0; 4096];
        loop {
            let incoming = match from.read(&mut bytes) {
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => Incoming::Closed,
                Ok(count) => Incoming::Bytes(bytes[..count].into()),
            };
            let last = matches!(incoming, Incoming::Closed);
            if events.send(incoming).is_err() || last {
                return;
            }
        }
    });
    // A connection that breaks, or one that speaks something else, is one that has gone.
    match converse(&mut remote, Wire { stream, bytes: Vec::new() }, &mut input) {
        Ok(Left::Killed) => leave(&remote, Request::Kill),
        Ok(Left::Detached) | Err(()) => leave(&remote, Request::Detach),
        Ok(Left::Over) => {}
    }
    closing.shutdown(Shutdown::Both).ok();
    reader.join().ok();
}

/// Makes the node look, which may be running, and tells it.
fn leave(remote: &Remote, request: Request) {
    remote.requests.send(request).ok();
    remote.interrupt.store(true, Ordering::Relaxed);
}

fn converse(remote: &mut Remote, wire: Wire, input: &mut Input) -> Result<Left, ()> {
    let mut gdb = GdbStub::new(wire).run_state_machine(remote).map_err(drop)?;
    loop {
        gdb = match gdb {
            GdbStubStateMachine::Idle(inner) => match input.next() {
                Next::Byte(byte) => inner.incoming_data(remote, byte).map_err(drop)?,
                // It has stopped after gdb asked for it in another way.
                Next::Stopped(_) => inner.into(),
                Next::Closed => return Ok(Left::Detached),
                Next::Ended(_) => return Ok(Left::Over),
            },
            GdbStubStateMachine::Running(inner) => match input.next() {
                Next::Byte(byte) => inner.incoming_data(remote, byte).map_err(drop)?,
                Next::Stopped(why) => inner.report_stop(remote, why).map_err(drop)?,
                Next::Closed => return Ok(Left::Detached),
                Next::Ended(code) => {
                    inner.report_stop(remote, Why::Exited(code)).map_err(drop)?;
                    return Ok(Left::Over);
                }
            },
            GdbStubStateMachine::CtrlCInterrupt(inner) => {
                remote.interrupt.store(true, Ordering::Relaxed);
                // It says so itself when it has stopped.
                inner.interrupt_handled(remote, None::<Why>).map_err(drop)?
            }
            GdbStubStateMachine::Disconnected(mut inner) => {
                return Ok(match inner.get_reason() {
                    DisconnectReason::Kill => {
                        // gdb waits for an answer, which gdbstub leaves to others; it may be gone as well.
                        let wire = inner.borrow_conn();
                        wire.bytes.extend_from_slice(OK);
                        wire.flush().ok();
                        Left::Killed
                    }
                    DisconnectReason::Disconnect => Left::Detached,
                    DisconnectReason::TargetExited(_) | DisconnectReason::TargetTerminated(_) => {
                        Left::Over
                    }
                });
            }
        }
    }
}

/// The way to gdb, a packet at a time.
struct Wire {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Connection for Wire {
    type Error = io::Error;
    fn write(&mut self, byte: u8) -> io::Result<()> {
        self.bytes.push(byte);
        Ok(())
    }
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Write::write_all(&mut self.stream, &self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
