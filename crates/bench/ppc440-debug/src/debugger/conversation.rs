//! The protocol's state while gdb is connected. Each packet has an answer: the requested data, an error, or
//! nothing in it if there is no such packet.

use super::arch;
use super::command::{parse, Command, Error, Refusal};
use super::framing::{escaped, packet, Frame, Framing, PACKET_MAX};
use super::{Pace, Reply, Request, WatchKind, Why};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::Arc;

/// The node, from gdb's side.
pub(crate) struct Remote {
    pub requests: Sender<Request>,
    pub replies: Receiver<Reply>,
    pub interrupt: Arc<AtomicBool>,
}

/// The end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// The node goes on alone.
    Detached,
    Killed,
    /// There is no node any more.
    Over,
}

/// A conversation with one gdb. It begins while the processor is halted.
pub(super) struct Conversation<'a> {
    remote: &'a Remote,
    framing: Framing,
    /// Reason for which the processor is halted; `None` while it runs.
    stands: Option<Why>,
    /// Packets are acknowledged.
    acknowledges: bool,
    /// gdb knows the reasons `swbreak` and `hwbreak`.
    software: bool,
    hardware: bool,
    /// gdb wanted to stop a processor that is halted: it stops as soon as it goes on.
    interrupted: bool,
    /// The last packet that was said.
    last: Vec<u8>,
    out: Vec<u8>,
}

impl<'a> Conversation<'a> {
    /// Conversation with a node whose processor is halted.
    pub fn new(remote: &'a Remote, why: Why) -> Conversation<'a> {
        Conversation {
            remote,
            framing: Framing::new(),
            stands: Some(why),
            acknowledges: true,
            software: false,
            hardware: false,
            interrupted: false,
            last: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Reason for which the processor is halted; `None` while it runs.
    pub fn stands(&self) -> Option<Why> {
        self.stands
    }

    /// Takes the bytes to be sent.
    pub fn take_out(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// gdb has said a byte.
    pub fn hear(&mut self, byte: u8) -> Option<Left> {
        match self.framing.push(byte)? {
            Frame::Again => self.out.extend_from_slice(&self.last),
            Frame::Interrupt if self.stands.is_some() => self.interrupted = true,
            Frame::Interrupt => self.remote.interrupt.store(true, Ordering::Relaxed),
            Frame::Corrupt if self.acknowledges => self.out.push(b'-'),
            // Nobody would send it again; it is not acted upon.
            Frame::Corrupt => self.refuse(Refusal::Wrong(Error::Argument)),
            Frame::TooLong => {
                self.acknowledge();
                self.refuse(Refusal::Wrong(Error::TooLong));
            }
            Frame::Packet(body) => {
                self.acknowledge();
                return match parse(&body) {
                    Ok(command) => self.obey(command),
                    Err(refusal) => {
                        self.refuse(refusal);
                        None
                    }
                };
            }
        }
        None
    }

    /// The processor has stopped.
    pub fn stopped(&mut self, why: Why) {
        self.stands = Some(why);
        self.say(self.reason(why).as_bytes());
    }

    /// The run is over: its exit status.
    pub fn ended(&mut self, code: u8) {
        // Else gdb does not wait for anything.
        if self.stands.is_none() {
            self.say(format!("W{code:02x}").as_bytes());
        }
    }

    fn obey(&mut self, command: Command) -> Option<Left> {
        let Some(why) = self.stands else { return self.obey_running(command) };
        match command {
            Command::Supported { software, hardware } => {
                (self.software, self.hardware) = (software, hardware);
                let words =
                    "vContSupported+;QStartNoAckMode+;qXfer:features:read+;swbreak+;hwbreak+";
                self.say(format!("PacketSize={PACKET_MAX:x};{words}").as_bytes());
            }
            Command::Silence => {
                self.say(b"OK");
                self.acknowledges = false;
            }
            Command::Why => self.say(self.reason(why).as_bytes()),
            Command::Say(words) => self.say(words.as_bytes()),
            Command::Description { first, count } => self.describe(first, count),
            Command::Ask(request) => return self.ask(request),
            Command::Go { at, pace } => return self.go(at, pace),
            Command::Detach => {
                self.say(b"OK");
                return Some(Left::Detached);
            }
            Command::Kill { answer } => {
                if answer {
                    self.say(b"OK");
                }
                return Some(Left::Killed);
            }
        }
        None
    }

    /// While the processor runs: gdb itself waits then, and others may at least go.
    fn obey_running(&mut self, command: Command) -> Option<Left> {
        match command {
            Command::Detach => {
                self.say(b"OK");
                Some(Left::Detached)
            }
            Command::Kill { answer } => {
                if answer {
                    self.say(b"OK");
                }
                Some(Left::Killed)
            }
            _ => {
                self.refuse(Refusal::Wrong(Error::Busy));
                None
            }
        }
    }

    /// Part of the target description.
    fn describe(&mut self, first: usize, count: usize) {
        let all = arch::description().as_bytes();
        let Some(rest) = all.get(first..) else {
            return self.refuse(Refusal::Wrong(Error::Argument));
        };
        // Escaped it has two bytes for each at most.
        let part = &rest[..rest.len().min(count).min(PACKET_MAX / 2 - 1)];
        let more = if part.len() < rest.len() { b"m" } else { b"l" };
        self.say(&[more, &escaped(part)[..]].concat());
    }

    fn ask(&mut self, request: Request) -> Option<Left> {
        let Some(reply) = self.reply(request) else { return Some(Left::Over) };
        match reply {
            Reply::Registers(registers) => self.say(hex(&registers.bytes()).as_bytes()),
            Reply::Word(word) => self.say(hex(&word.to_le_bytes()).as_bytes()),
            Reply::Bytes(bytes) if bytes.is_empty() => self.refuse(Refusal::Wrong(Error::Fault)),
            Reply::Bytes(bytes) => self.say(hex(&bytes).as_bytes()),
            Reply::Text(text) => self.tell(text.as_bytes()),
            Reply::Done => self.say(b"OK"),
            Reply::Refused => self.refuse(Refusal::Wrong(Error::Fault)),
        }
        None
    }

    /// A text for the user: the answer itself, behind as many packets of output as it needs.
    fn tell(&mut self, text: &[u8]) {
        let mut parts = text.chunks(PACKET_MAX / 2 - 1).peekable();
        while let Some(part) = parts.next() {
            let output = if parts.peek().is_some() { "O" } else { "" };
            self.say(format!("{output}{}", hex(part)).as_bytes());
        }
        if text.is_empty() {
            self.say(b"OK");
        }
    }

    /// The node's answer; `None` if the run is over.
    fn reply(&self, request: Request) -> Option<Reply> {
        self.remote.requests.send(request).ok()?;
        self.remote.replies.recv().ok()
    }

    fn go(&mut self, at: Option<u32>, pace: Pace) -> Option<Left> {
        if let Some(pc) = at
            && let Reply::Refused = self.reply(Request::SetRegister(arch::PC, pc))?
        {
            self.refuse(Refusal::Wrong(Error::Fault));
            return None;
        }
        let interrupted = std::mem::take(&mut self.interrupted);
        self.remote.interrupt.store(interrupted, Ordering::Relaxed);
        self.stands = None;
        self.remote.requests.send(Request::Go(pace)).is_err().then_some(Left::Over)
    }

    fn reason(&self, why: Why) -> String {
        let thread = "thread:01;";
        match why {
            Why::Signal(signal) => format!("T{:02x}{thread}", signal as u8),
            Why::SwBreak if self.software => format!("T05{thread}swbreak:;"),
            Why::HwBreak if self.hardware => format!("T05{thread}hwbreak:;"),
            Why::SwBreak | Why::HwBreak | Why::DoneStep => format!("T05{thread}"),
            Why::Watch { kind, addr } => {
                let kind = match kind {
                    WatchKind::Write => "watch",
                    WatchKind::Read => "rwatch",
                    WatchKind::ReadWrite => "awatch",
                };
                format!("T05{thread}{kind}:{addr:08x};")
            }
        }
    }

    fn acknowledge(&mut self) {
        if self.acknowledges {
            self.out.push(b'+');
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::Unknown => self.say(b""),
            Refusal::Wrong(error) => self.say(format!("E{:02x}", error as u8).as_bytes()),
        }
    }

    fn say(&mut self, body: &[u8]) {
        self.last = packet(body);
        self.out.extend_from_slice(&self.last);
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(digits, "{byte:02x}").expect("a string can grow");
    }
    digits
}
