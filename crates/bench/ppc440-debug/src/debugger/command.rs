//! Parser of gdb's packets. All of a packet is checked here, so that nothing in it can surprise the code
//! behind.

use super::arch::Registers;
use super::framing::{digit, unescaped, PACKET_MAX};
use super::{Pace, Request, StopPoint, WatchKind};

/// Command of gdb.
#[derive(Debug)]
pub(super) enum Command {
    /// Asks for our features; gdb knows software or hardware breakpoints as reasons for a stop.
    Supported {
        software: bool,
        hardware: bool,
    },
    /// Packets are no longer acknowledged.
    Silence,
    /// Asks why the processor is halted.
    Why,
    /// It needs no node to answer this.
    Say(&'static str),
    /// Reads `count` bytes of the target description, from `first` on.
    Description {
        first: usize,
        count: usize,
    },
    /// The node answers.
    Ask(Request),
    /// The processor goes on, from this address if there is one.
    Go {
        at: Option<u32>,
        pace: Pace,
    },
    Detach,
    /// The run is to end, and gdb may want to hear that it does.
    Kill {
        answer: bool,
    },
}

/// Reason for which a packet is not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such packet; gdb does without.
    Unknown,
    /// There is, but not like this.
    Wrong(Error),
}

/// Errors as gdb gets them: its numbers are those of a system's `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Error {
    /// No such part of the target (`qXfer`).
    Annex = 0,
    /// More than a packet may have.
    TooLong = 7,
    /// There is nothing at this address, or no such register.
    Fault = 14,
    /// The processor runs.
    Busy = 16,
    /// An argument in the packet makes no sense.
    Argument = 22,
}

/// The only thread: the processor. gdb's first is 1.
const THREAD: u64 = 1;
/// Bytes of an instruction, which is what gdb calls a breakpoint's kind.
const INSTRUCTION: u32 = 4;
const WRONG: Refusal = Refusal::Wrong(Error::Argument);

type Parsed<T> = Result<T, Refusal>;

/// A number in hexadecimal digits, at least one, that fits.
fn number(digits: &[u8]) -> Parsed<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return Err(WRONG);
    }
    digits.iter().try_fold(0, |sum, &byte| Ok(sum << 4 | u64::from(digit(byte).ok_or(WRONG)?)))
}

/// An address, and how many bytes there are from there on to the end of all addresses.
fn address(digits: &[u8]) -> Parsed<(u32, u64)> {
    let addr = u32::try_from(number(digits)?).map_err(|_| Refusal::Wrong(Error::Fault))?;
    Ok((addr, (1 << 32) - u64::from(addr)))
}

fn instruction(digits: &[u8]) -> Parsed<u32> {
    let (addr, _) = address(digits)?;
    (addr % INSTRUCTION == 0).then_some(addr).ok_or(Refusal::Wrong(Error::Fault))
}

/// Bytes of two digits each.
fn bytes(digits: &[u8]) -> Parsed<Vec<u8>> {
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Ok(digit(high).ok_or(WRONG)? << 4 | digit(low).ok_or(WRONG)?),
        _ => Err(WRONG),
    };
    digits.chunks(2).map(byte).collect()
}

/// The parts of a packet before and after a mark that must be there.
fn split(body: &[u8], mark: u8) -> Parsed<(&[u8], &[u8])> {
    let at = body.iter().position(|byte| *byte == mark).ok_or(WRONG)?;
    Ok((&body[..at], &body[at + 1..]))
}

/// A thread's id, or one that means all or any: ours among them.
fn thread(id: &[u8]) -> Parsed<bool> {
    Ok(id == b"-1" || matches!(number(id)?, 0 | THREAD))
}

fn our_thread(id: &[u8]) -> Parsed<Command> {
    thread(id)?.then_some(Command::Say("OK")).ok_or(WRONG)
}

/// Parses a packet's body.
pub(super) fn parse(body: &[u8]) -> Parsed<Command> {
    let Some((&first, rest)) = body.split_first() else { return Err(Refusal::Unknown) };
    let alone = |command| if rest.is_empty() { Ok(command) } else { Err(WRONG) };
    match first {
        b'q' | b'Q' | b'v' => named(body),
        b'?' => alone(Command::Why),
        b'g' => alone(Command::Ask(Request::Registers)),
        b'G' => {
            let registers = Registers::from_bytes(&bytes(rest)?).ok_or(WRONG)?;
            Ok(Command::Ask(Request::SetRegisters(Box::new(registers))))
        }
        b'p' => Ok(Command::Ask(Request::Register(register(rest)?))),
        b'P' => {
            let (id, value) = split(rest, b'=')?;
            let word = bytes(value)?.try_into().map_err(|_| WRONG)?;
            Ok(Command::Ask(Request::SetRegister(register(id)?, u32::from_le_bytes(word))))
        }
        b'm' => {
            let (addr, len) = split(rest, b',')?;
            let ((addr, behind), len) = (address(addr)?, number(len)?);
            // An empty answer would say that memory cannot be read at all.
            let len = (len > 0).then_some(len.min(behind)).ok_or(WRONG)?;
            // An answer may have less than was requested.
            Ok(Command::Ask(Request::Read(addr, (PACKET_MAX / 2).min(len as usize))))
        }
        b'M' => write(rest, bytes),
        b'X' => write(rest, |data| unescaped(data).ok_or(WRONG)),
        b'Z' => Ok(Command::Ask(Request::StopPoint(mark(rest)?, true))),
        b'z' => Ok(Command::Ask(Request::StopPoint(mark(rest)?, false))),
        b'H' => match rest.split_first() {
            Some((b'g' | b'c', id)) => our_thread(id),
            _ => Err(WRONG),
        },
        b'T' if rest == b"0" || rest == b"-1" => Err(WRONG),
        b'T' => our_thread(rest),
        b'c' => go(rest, Pace::Continue),
        b's' => go(rest, Pace::Step),
        b'C' => go_with_signal(rest, Pace::Continue),
        b'S' => go_with_signal(rest, Pace::Step),
        b'D' => match rest.split_first() {
            None => Ok(Command::Detach),
            Some((b';', id)) => number(id).map(|_| Command::Detach),
            _ => Err(WRONG),
        },
        b'k' => alone(Command::Kill { answer: false }),
        _ => Err(Refusal::Unknown),
    }
}

fn register(id: &[u8]) -> Parsed<usize> {
    usize::try_from(number(id)?).map_err(|_| WRONG)
}

fn write(rest: &[u8], decode: impl Fn(&[u8]) -> Parsed<Vec<u8>>) -> Parsed<Command> {
    let (place, data) = split(rest, b':')?;
    let (addr, len) = split(place, b',')?;
    let ((addr, behind), len, data) = (address(addr)?, number(len)?, decode(data)?);
    match data.len() as u64 {
        count if count != len => Err(WRONG),
        count if count > behind => Err(Refusal::Wrong(Error::Fault)),
        // gdb finds out so whether there is such a packet.
        0 => Ok(Command::Say("OK")),
        _ => Ok(Command::Ask(Request::Write(addr, data))),
    }
}

/// A breakpoint or watchpoint. Conditions were not offered, and would not be kept to.
fn mark(rest: &[u8]) -> Parsed<StopPoint> {
    let kind = rest.split(|byte| *byte == b',').next().unwrap_or(rest);
    let watch = match kind {
        b"0" | b"1" => None,
        b"2" => Some(WatchKind::Write),
        b"3" => Some(WatchKind::Read),
        b"4" => Some(WatchKind::ReadWrite),
        _ => return Err(Refusal::Unknown),
    };
    let (_, place) = split(rest, b',')?;
    let (addr, size) = split(place, b',')?;
    let size = number(size)?;
    match watch {
        None if size != u64::from(INSTRUCTION) => Err(WRONG),
        None => Ok(StopPoint::Break { addr: instruction(addr)?, hardware: kind == b"1" }),
        Some(kind) => {
            let (addr, behind) = address(addr)?;
            let len = (1..=behind).contains(&size).then_some(size).ok_or(WRONG)?;
            // All that there is has one byte more than its number can say.
            Ok(StopPoint::Watch { addr, len: u32::try_from(len).unwrap_or(u32::MAX), kind })
        }
    }
}

fn go(at: &[u8], pace: Pace) -> Parsed<Command> {
    let at = if at.is_empty() { None } else { Some(instruction(at)?) };
    Ok(Command::Go { at, pace })
}

/// Parses a command to go on with a signal, which a bare processor cannot get.
fn go_with_signal(rest: &[u8], pace: Pace) -> Parsed<Command> {
    let mut parts = rest.splitn(2, |byte| *byte == b';');
    signal(parts.next().unwrap_or(rest))?;
    match parts.next() {
        None => go(b"", pace),
        Some(at) => Ok(Command::Go { at: Some(instruction(at)?), pace }),
    }
}

fn signal(digits: &[u8]) -> Parsed<()> {
    number(digits).and_then(|signal| if signal <= 0xff { Ok(()) } else { Err(WRONG) })
}

/// Packets with names.
fn named(body: &[u8]) -> Parsed<Command> {
    let end = body.iter().position(|byte| b":,;?".contains(byte)).unwrap_or(body.len());
    let (name, rest) = body.split_at(end);
    let alone = |command| if rest.is_empty() { Ok(command) } else { Err(WRONG) };
    match name {
        b"qSupported" => {
            let features = rest.get(1..).unwrap_or_default();
            let has = |name: &[u8]| features.split(|byte| *byte == b';').any(|one| one == name);
            Ok(Command::Supported { software: has(b"swbreak+"), hardware: has(b"hwbreak+") })
        }
        b"QStartNoAckMode" => alone(Command::Silence),
        b"qAttached" => Ok(Command::Say("1")),
        b"qC" => alone(Command::Say("QC1")),
        b"qfThreadInfo" => alone(Command::Say("m1")),
        b"qsThreadInfo" => alone(Command::Say("l")),
        b"qRcmd" => {
            let words = bytes(rest.strip_prefix(b",").ok_or(WRONG)?)?;
            Ok(Command::Ask(Request::Monitor(String::from_utf8_lossy(&words).into_owned())))
        }
        b"qXfer" => transfer(rest),
        b"vCont" if rest == b"?" => Ok(Command::Say("vCont;c;C;s;S;r")),
        b"vCont" => go_on(rest),
        b"vKill" => {
            number(rest.strip_prefix(b";").ok_or(WRONG)?)?;
            Ok(Command::Kill { answer: true })
        }
        _ => Err(Refusal::Unknown),
    }
}

/// `:features:read:target.xml:FIRST,COUNT`; nothing else can be read.
fn transfer(rest: &[u8]) -> Parsed<Command> {
    let rest = rest.strip_prefix(b":features:read:").ok_or(Refusal::Unknown)?;
    let (annex, place) = split(rest, b':').map_err(|_| Refusal::Wrong(Error::Annex))?;
    if annex != b"target.xml" {
        return Err(Refusal::Wrong(Error::Annex));
    }
    let (first, count) = split(place, b',')?;
    let size = |digits| number(digits).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    Ok(Command::Description { first: size(first)?, count: size(count)? })
}

/// Actions, each for a thread or for all that have none yet.
fn go_on(rest: &[u8]) -> Parsed<Command> {
    let actions = rest.strip_prefix(b";").ok_or(WRONG)?;
    let mut ours = None;
    for action in actions.split(|byte| *byte == b';') {
        let mut parts = action.splitn(2, |byte| *byte == b':');
        let (action, id) = (parts.next().unwrap_or(action), parts.next());
        let Some((&letter, what)) = action.split_first() else { return Err(WRONG) };
        let pace = match letter {
            b'c' if what.is_empty() => Pace::Continue,
            b's' if what.is_empty() => Pace::Step,
            b'C' => signal(what).map(|()| Pace::Continue)?,
            b'S' => signal(what).map(|()| Pace::Step)?,
            b'r' => {
                let (start, end) = split(what, b',')?;
                Pace::Range(address(start)?.0, address(end)?.0)
            }
            _ => return Err(WRONG),
        };
        if id.map_or(Ok(true), thread)? {
            ours = ours.or(Some(pace));
        }
    }
    ours.map(|pace| Command::Go { at: None, pace }).ok_or(WRONG)
}
