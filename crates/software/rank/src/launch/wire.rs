//! Lines of the protocol: `cmd=NAME KEY=VALUE ...`.

use std::fmt::{Display, Write};

/// Longest line, beyond which it is refused. Clients write up to 1024 bytes beside a key and a value.
pub(crate) const LINE_MAX: usize = 8192;

/// A line as it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// It has more bytes than [`LINE_MAX`].
    Long,
    /// It is not printable.
    Binary,
}

/// Lines of which parts have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    part: Vec<u8>,
    /// The line is too long already: the rest of it is not kept.
    long: bool,
}

impl Inbox {
    /// Adds bytes; the lines that are whole by that.
    pub fn take(&mut self, data: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            self.long |= self.part.len() + text.len() > LINE_MAX;
            match self.long {
                true => self.part.clear(),
                false => self.part.extend_from_slice(text),
            }
            if ends {
                let part = std::mem::take(&mut self.part);
                lines.push(line(part, std::mem::take(&mut self.long)));
            }
        }
        lines
    }
}

fn line(bytes: Vec<u8>, long: bool) -> Line {
    let plain = |text: &String| !text.chars().any(|c| c.is_control() && c != '\r');
    match String::from_utf8(bytes) {
        _ if long => Line::Long,
        Ok(text) if plain(&text) => Line::Text(text.trim_end_matches('\r').to_owned()),
        _ => Line::Binary,
    }
}

/// A line's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command<'a> {
    /// Word of the first key, which is `cmd`.
    pub name: &'a str,
    words: Vec<Word<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word<'a> {
    key: &'a str,
    value: &'a str,
}

/// The key whose value is all that is left of the line, blanks included.
const LAST: &str = "value";

impl<'a> Command<'a> {
    /// `None` if a word is no `KEY=VALUE`, or the first is not the command.
    pub fn parse(line: &'a str) -> Option<Command<'a>> {
        let mut words = Vec::new();
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let (key, behind) = rest.split_once('=')?;
            if key.is_empty() || key.contains(' ') {
                return None;
            }
            let (value, next) = match key {
                LAST => (behind, ""),
                _ => behind.split_once(' ').unwrap_or((behind, "")),
            };
            words.push(Word { key, value });
            rest = next.trim_start();
        }
        let first = words.first().filter(|word| word.key == "cmd" && !word.value.is_empty())?;
        Some(Command { name: first.value, words })
    }

    pub fn text(&self, key: &str) -> Option<&'a str> {
        Some(self.words.iter().find(|word| word.key == key)?.value)
    }

    pub fn number<N: std::str::FromStr>(&self, key: &str) -> Option<N> {
        self.text(key)?.parse().ok()
    }
}

/// The code with which a line wants to end the run, if it does.
pub(crate) fn abort_code(line: &Line) -> Option<i32> {
    let Line::Text(text) = line else { return None };
    let command = Command::parse(text).filter(|command| command.name == "abort")?;
    // A code that is none is a failure, too.
    Some(command.number("exitcode").unwrap_or(1))
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer(String);

impl Answer {
    /// One without a code.
    pub fn plain(name: &str) -> Answer {
        Answer(format!("cmd={name}"))
    }

    pub fn done(name: &str) -> Answer {
        Answer::plain(name).with("rc", 0)
    }

    /// The message is one word.
    pub fn refused(name: &str, why: &str) -> Answer {
        Answer::plain(name).with("rc", -1).with("msg", why)
    }

    pub fn with(mut self, key: &str, value: impl Display) -> Answer {
        write!(self.0, " {key}={value}").expect("memory is written");
        self
    }

    pub fn line(mut self) -> Vec<u8> {
        self.0.push('\n');
        self.0.into_bytes()
    }
}
