//! The Network Block Device protocol (NetworkBlockDevice/nbd, doc/proto.md), as a server speaks it: newstyle
//! negotiation, structured replies, block sizes. Bytes in, requests and bytes out: no socket is known here.

#![forbid(unsafe_code)]

mod extents;
mod wire;

pub use extents::{Extent, ExtentKind, Extents};
use wire::{info, magic, option, reply, request, Cursor};
pub use wire::{Command, Error};

/// Sizes and limits of the disk that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Bytes, a multiple of `block`.
    pub size: u64,
    /// Bytes of which offsets and lengths are multiples.
    pub block: u32,
    /// Bytes of a request's data at most.
    pub most: u32,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's number for it.
    pub handle: u64,
    /// Its command.
    pub command: Command,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// The data of a write.
    pub data: Vec<u8>,
}

/// Next item of the received bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// More must be received.
    More,
    /// A request to be answered by [`Session::answer`].
    Request(Request),
    /// The client has left, or speaks something else: the connection ends.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The client's flags are awaited.
    Flags,
    Options,
    Transmission,
    Closed,
}

/// A connection of a client.
#[derive(Clone, Debug)]
pub struct Session {
    export: Export,
    state: State,
    received: Vec<u8>,
    structured: bool,
    /// The client may ask which parts are holes.
    contexts: bool,
    no_zeroes: bool,
}

/// Bytes of an option's data at most: what is longer is no option.
const OPTION_MAX: u32 = 8192;
/// The context of holes, and its number in a session.
const CONTEXT: &[u8] = b"base:allocation";
const CONTEXT_ID: u32 = 1;
/// Flags of the handshake: fixed newstyle, and without zeroes behind EXPORT_NAME's answer.
const HANDSHAKE: u16 = 3;
/// Abilities of the export: flags, flush, FUA, trim, write zeroes, no fragments, many connections.
const FLAGS: u16 = 1 | 4 | 8 | 32 | 64 | 128 | 256;

impl Session {
    /// A new connection; what is sent first is put into `out`.
    pub fn new(export: Export, out: &mut Vec<u8>) -> Session {
        out.extend(magic::SERVER.to_be_bytes());
        out.extend(magic::OPTION.to_be_bytes());
        out.extend(HANDSHAKE.to_be_bytes());
        let (received, state) = (Vec::new(), State::Flags);
        let (structured, contexts, no_zeroes) = (false, false, false);
        Session { export, state, received, structured, contexts, no_zeroes }
    }

    /// Bytes that are kept here, as a part of a request only.
    pub fn kept(&self) -> usize {
        self.received.len()
    }

    /// Bytes have come.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// Goes on as far as it can without an answer.
    pub fn step(&mut self, out: &mut Vec<u8>) -> Step {
        loop {
            let taken = match self.state {
                State::Flags => self.flags(),
                State::Options => self.option(out),
                State::Transmission => match self.request(out) {
                    Some((taken, Some(request))) => {
                        self.received.drain(..taken);
                        return Step::Request(request);
                    }
                    found => found.map(|(taken, _)| taken),
                },
                State::Closed => return Step::Closed,
            };
            let Some(taken) = taken else { return Step::More };
            self.received.drain(..taken);
        }
    }

    // ---- negotiation: each gives the bytes that it has used, or none if more are needed ------------------

    fn flags(&mut self) -> Option<usize> {
        let flags = Cursor(&self.received).u32()?;
        self.no_zeroes = flags & 2 != 0;
        let known = flags & 1 == 1 && flags & !3 == 0;
        self.state = if known { State::Options } else { State::Closed };
        Some(4)
    }

    fn option(&mut self, out: &mut Vec<u8>) -> Option<usize> {
        let mut cursor = Cursor(&self.received);
        let (mark, number, length) = (cursor.u64()?, cursor.u32()?, cursor.u32()?);
        if mark != magic::OPTION || length > OPTION_MAX {
            self.state = State::Closed;
            return Some(0);
        }
        let data = cursor.bytes(length as usize)?.to_vec();
        match number {
            option::EXPORT_NAME => {
                out.extend(self.export.size.to_be_bytes());
                out.extend(FLAGS.to_be_bytes());
                out.extend(std::iter::repeat_n(0, if self.no_zeroes { 0 } else { 124 }));
                self.state = State::Transmission;
            }
            option::ABORT => {
                said(out, number, reply::ACK, &[]);
                self.state = State::Closed;
            }
            option::LIST if data.is_empty() => {
                said(out, number, reply::SERVER, &0_u32.to_be_bytes());
                said(out, number, reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                said(out, number, reply::ACK, &[]);
            }
            option::LIST | option::STRUCTURED_REPLY => said(out, number, reply::INVALID, &[]),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                self.context(number, &data, out);
            }
            option::INFO | option::GO => self.tell(number, &data, out),
            _ => said(out, number, reply::UNSUPPORTED, &[]),
        }
        Some(16 + length as usize)
    }

    /// Answers INFO and GO: all names mean the one export.
    fn tell(&mut self, number: u32, data: &[u8], out: &mut Vec<u8>) {
        let mut cursor = Cursor(data);
        let wanted = cursor.u32().and_then(|length| {
            cursor.bytes(length as usize)?;
            let count = cursor.u16()?;
            (cursor.0.len() == 2 * usize::from(count)).then_some(())
        });
        if wanted.is_none() {
            return said(out, number, reply::INVALID, &[]);
        }
        let mut told = info::EXPORT.to_be_bytes().to_vec();
        told.extend(self.export.size.to_be_bytes());
        told.extend(FLAGS.to_be_bytes());
        said(out, number, reply::INFO, &told);
        let mut sizes = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [self.export.block, 4096.max(self.export.block), self.export.most] {
            sizes.extend(size.to_be_bytes());
        }
        said(out, number, reply::INFO, &sizes);
        said(out, number, reply::ACK, &[]);
        if number == option::GO {
            self.state = State::Transmission;
        }
    }

    /// Answers LIST_META_CONTEXT and SET_META_CONTEXT: there is one context, which tells of holes.
    fn context(&mut self, number: u32, data: &[u8], out: &mut Vec<u8>) {
        let sets = number == option::SET_META_CONTEXT;
        self.contexts &= !sets;
        let Some(queries) = queries(data).filter(|_| self.structured) else {
            return said(out, number, reply::INVALID, &[]);
        };
        let named = |query: &&[u8]| *query == CONTEXT || !sets && *query == b"base:";
        if queries.iter().any(named) || !sets && queries.is_empty() {
            self.contexts |= sets;
            said(out, number, reply::META_CONTEXT, &[&CONTEXT_ID.to_be_bytes(), CONTEXT].concat());
        }
        said(out, number, reply::ACK, &[]);
    }

    // ---- transmission ------------------------------------------------------------------------------------

    /// The bytes that were used, and a request if it is one that is to be carried out; others are answered.
    fn request(&mut self, out: &mut Vec<u8>) -> Option<(usize, Option<Request>)> {
        let mut cursor = Cursor(&self.received);
        let (mark, flags, number) = (cursor.u32()?, cursor.u16()?, cursor.u16()?);
        let (handle, offset, length) = (cursor.u64()?, cursor.u64()?, cursor.u32()?);
        let carries = number == request::WRITE;
        // What is too long cannot be waited for.
        if mark != magic::REQUEST || carries && length > self.export.most {
            self.state = State::Closed;
            return Some((0, None));
        }
        let data = cursor.bytes(if carries { length as usize } else { 0 })?.to_vec();
        let taken = 28 + data.len();
        let found = Command::of(number, flags);
        let request = |command| Request { handle, command, offset, length, data };
        match found {
            Some(Command::Disconnect) => {
                self.state = State::Closed;
                Some((taken, None))
            }
            Some(command) => {
                let request = request(command);
                match self.refused(&request) {
                    None => Some((taken, Some(request))),
                    Some(error) => {
                        self.answer(&request, Err(error), out);
                        Some((taken, None))
                    }
                }
            }
            None => {
                let request = request(Command::Read);
                self.answer(&request, Err(Error::Invalid), out);
                Some((taken, None))
            }
        }
    }

    fn refused(&self, request: &Request) -> Option<Error> {
        let Export { size, block, most } = self.export;
        if request.command == Command::Flush {
            return (request.offset != 0 || request.length != 0).then_some(Error::Invalid);
        }
        let (length, block) = (u64::from(request.length), u64::from(block));
        let aligned = request.offset % block == 0 && length % block == 0 && length > 0;
        let inside = request.offset <= size && length <= size - request.offset;
        let writes = !matches!(request.command, Command::Read | Command::BlockStatus { .. });
        match (aligned, inside) {
            (false, _) => Some(Error::Invalid),
            (_, false) if writes => Some(Error::NoSpace),
            (_, false) => Some(Error::Invalid),
            _ if matches!(request.command, Command::BlockStatus { .. }) && !self.contexts => {
                Some(Error::Invalid)
            }
            _ if request.command == Command::Read && request.length > most => Some(Error::Overflow),
            _ => None,
        }
    }

    /// The answer to a question for holes: parts of its range, in order from its first byte on.
    pub fn answer_status(&self, request: &Request, parts: &[Extent], out: &mut Vec<u8>) {
        out.extend(magic::STRUCTURED_REPLY.to_be_bytes());
        out.extend(1_u16.to_be_bytes());
        out.extend(wire::chunk::BLOCK_STATUS.to_be_bytes());
        out.extend(request.handle.to_be_bytes());
        out.extend((4 + 8 * parts.len() as u32).to_be_bytes());
        out.extend(CONTEXT_ID.to_be_bytes());
        for part in parts {
            out.extend(part.length.to_be_bytes());
            out.extend(part.kind.flags().to_be_bytes());
        }
    }

    /// The answer to a request: the data of a read, or nothing.
    pub fn answer(&self, request: &Request, result: Result<&[u8], Error>, out: &mut Vec<u8>) {
        // Only reads need structure; all may have it.
        if !self.structured {
            out.extend(magic::SIMPLE_REPLY.to_be_bytes());
            out.extend(result.err().map_or(0, Error::number).to_be_bytes());
            out.extend(request.handle.to_be_bytes());
            out.extend(result.unwrap_or_default());
            return;
        }
        let mut chunk = |kind: u16, parts: &[&[u8]]| {
            let length: usize = parts.iter().map(|part| part.len()).sum();
            out.extend(magic::STRUCTURED_REPLY.to_be_bytes());
            out.extend(1_u16.to_be_bytes());
            out.extend(kind.to_be_bytes());
            out.extend(request.handle.to_be_bytes());
            out.extend((length as u32).to_be_bytes());
            parts.iter().for_each(|part| out.extend_from_slice(part));
        };
        match result {
            Ok([]) => chunk(wire::chunk::NONE, &[]),
            Ok(data) => chunk(wire::chunk::OFFSET_DATA, &[&request.offset.to_be_bytes(), data]),
            Err(error) => {
                chunk(wire::chunk::ERROR, &[&error.number().to_be_bytes(), &0_u16.to_be_bytes()]);
            }
        }
    }
}

/// Queries of an option about contexts: the export's name, a number of queries, and these.
fn queries(data: &[u8]) -> Option<Vec<&[u8]>> {
    let mut cursor = Cursor(data);
    let name = cursor.u32()?;
    cursor.bytes(name as usize)?;
    let count = cursor.u32()?;
    let mut query = || {
        let length = cursor.u32()?;
        cursor.bytes(length as usize)
    };
    let queries: Option<Vec<&[u8]>> = (0..count).map(|_| query()).collect();
    queries.filter(|_| cursor.0.is_empty())
}

/// A reply to an option.
fn said(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(magic::OPTION_REPLY.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

#[cfg(test)]
mod tests;
