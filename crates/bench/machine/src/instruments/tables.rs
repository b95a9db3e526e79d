//! `--messages` and `--calls`: a row for each message that came to its end, and for each call, as Parquet
//! (docs/reference/tables.md).
//!
//! Each node puts its rows on a spool (`super::spool`); when the run is over they are written in the order of
//! the nodes, and so are the same for any number of threads. Memory holds a piece a node, then a row group.

mod parquet;

use super::account::Meetings;
use super::message_trace::{Flight, MessagePath};
use super::spool::{Spool, Stream, Writer};
use super::write_error::WriteError;
use des::Time;
use parquet::Type;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Tables to be written.
#[derive(Debug)]
pub struct Tables {
    messages: Option<Table>,
    calls: Option<Table>,
    /// The steps of messages.
    message_path: &'static MessagePath,
    /// Description of the run.
    about: String,
}

/// A table, with the rows of nodes that are over.
#[derive(Debug)]
struct Table {
    file: PathBuf,
    spool: Spool,
    streams: Mutex<BTreeMap<u32, Stream>>,
}

/// Columns of messages but for their steps; the words come first.
const MESSAGE_WORDS: [&str; 4] = ["kind", "protocol", "sent_in", "received_in"];
const MESSAGE_NUMBERS: [(&str, Type); 8] = [
    ("source_node", Type::Number),
    ("serial", Type::Number),
    ("from_rank", Type::Maybe),
    ("to_rank", Type::Maybe),
    ("bytes", Type::Number),
    ("start_ps", Type::Number),
    ("total_ps", Type::Number),
    ("entries_walked", Type::Number),
];

/// Columns of calls.
const CALL_WORDS: [&str; 1] = ["call"];
const CALL_NUMBERS: [(&str, Type); 15] = [
    ("rank", Type::Number),
    ("start_ps", Type::Number),
    ("total_ps", Type::Number),
    ("library_ps", Type::Number),
    ("kernel_ps", Type::Number),
    ("nic_ps", Type::Number),
    ("network_ps", Type::Number),
    ("late_sender_ps", Type::Number),
    ("late_receiver_ps", Type::Number),
    ("imbalance_ps", Type::Number),
    ("waited_for_rank", Type::Maybe),
    ("messages", Type::Number),
    ("bytes", Type::Number),
    ("communicator", Type::Maybe),
    ("collective", Type::Maybe),
];
/// Columns of a collective operation that are known once all ranks have come.
const CALL_LAST: [(&str, Type); 2] = [("last_rank", Type::Maybe), ("last_start_ps", Type::Maybe)];

/// A call that has returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRow {
    pub call: &'static str,
    pub numbers: [Option<i64>; CALL_NUMBERS.len()],
}

/// Takes the rows of one node's messages, or of one rank's calls.
#[derive(Debug)]
pub(crate) struct Rows(Writer);

/// Columns that each row has on the spool, steps apart.
#[derive(Clone, Copy)]
struct Spooled {
    words: usize,
    numbers: usize,
}

/// Value in place of an absent number.
const NONE: i64 = i64::MIN;

impl Tables {
    /// Prepares for writing these files, of messages that take this way; `about` describes the run.
    pub fn to(
        messages: Option<&Path>,
        calls: Option<&Path>,
        message_path: &'static MessagePath,
        about: String,
    ) -> Result<Tables, WriteError> {
        let table = |file: &Path| {
            let (file, spool) = (file.to_owned(), Spool::beside(file)?);
            Ok::<_, WriteError>(Table { file, spool, streams: Mutex::default() })
        };
        let (messages, calls) = (messages.map(table).transpose()?, calls.map(table).transpose()?);
        Ok(Tables { messages, calls, message_path, about })
    }

    /// Rows for a node's messages, if they are wanted.
    pub(crate) fn message_rows(&self) -> Option<Rows> {
        self.messages.as_ref().map(|table| Rows(table.spool.writer()))
    }
    /// True if rows of calls are wanted.
    pub(crate) fn has_calls(&self) -> bool {
        self.calls.is_some()
    }
    /// Rows for a rank's calls, if they are wanted.
    pub(crate) fn call_rows(&self) -> Option<Rows> {
        self.calls.as_ref().map(|table| Rows(table.spool.writer()))
    }
    /// Ends the rows of a node's messages.
    pub(crate) fn end_messages(&self, nid: u32, rows: Option<Rows>) {
        end(&self.messages, nid, rows);
    }
    /// Ends the rows of a rank's calls.
    pub(crate) fn end_calls(&self, rank: u32, rows: Option<Rows>) {
        end(&self.calls, rank, rows);
    }

    /// Writes the files, after the end of all nodes.
    pub(crate) fn finish(&self, meetings: &Meetings, launch: Time) -> Vec<Result<(), WriteError>> {
        let nothing = |_: &[i64]| Vec::new();
        let messages = self.messages.iter().map(|table| {
            let columns = message_columns(self.message_path);
            let spooled = Spooled { words: MESSAGE_WORDS.len(), numbers: MESSAGE_NUMBERS.len() };
            table.write(&columns, spooled, &nothing, &self.about)
        });
        // When a rank returned from an operation, others may not have come yet.
        let last = |numbers: &[i64]| {
            let [.., communicator, number] = numbers else { return Vec::new() };
            let last = meetings.last_of((*communicator as u64, *number as u64));
            let came = |(at, _): (Time, u32)| at.since(launch).0 as i64;
            vec![last.map(|(_, rank)| rank.into()), last.map(came)]
        };
        let calls = self.calls.iter().map(|table| {
            let spooled = Spooled { words: CALL_WORDS.len(), numbers: CALL_NUMBERS.len() };
            table.write(&call_columns(), spooled, &last, &self.about)
        });
        messages.chain(calls).collect()
    }
}

fn end(table: &Option<Table>, number: u32, rows: Option<Rows>) {
    if let (Some(table), Some(rows)) = (table, rows) {
        let stream = rows.0.finish();
        // A node that only boots for others has the number of one that runs.
        if !stream.is_empty() {
            let mut streams = table.streams.lock().unwrap_or_else(PoisonError::into_inner);
            streams.insert(number, stream);
        }
    }
}

/// Columns of `--messages`, in their order: words, numbers, steps.
fn message_columns(message_path: &MessagePath) -> Vec<(String, Type)> {
    let words = MESSAGE_WORDS.map(|name| (name.to_owned(), Type::Word));
    let numbers = MESSAGE_NUMBERS.map(|(name, holds)| (name.to_owned(), holds));
    let steps = message_path.columns().map(|name| (name, Type::Maybe));
    words.into_iter().chain(numbers).chain(steps).collect()
}

/// Columns of `--calls`.
fn call_columns() -> Vec<(String, Type)> {
    let words = CALL_WORDS.map(|name| (name.to_owned(), Type::Word));
    let numbers = CALL_NUMBERS.map(|(name, holds)| (name.to_owned(), holds));
    let last = CALL_LAST.map(|(name, holds)| (name.to_owned(), holds));
    words.into_iter().chain(numbers).chain(last).collect()
}

impl Rows {
    fn row(&mut self, words: &[&str], numbers: &[Option<i64>], steps: &[(u8, i64)]) {
        let piece = &mut self.0.piece;
        let begins = piece.len();
        piece.extend([0; 2]);
        for word in words {
            // Names of functions and kinds are short.
            piece.push(word.len() as u8);
            piece.extend(word.as_bytes());
        }
        piece.extend(numbers.iter().flat_map(|number| number.unwrap_or(NONE).to_le_bytes()));
        for (slot, ps) in steps {
            piece.push(*slot);
            piece.extend(ps.to_le_bytes());
        }
        let length = (piece.len() - begins - 2) as u16;
        piece[begins..begins + 2].copy_from_slice(&length.to_le_bytes());
        self.0.wrote();
    }

    /// A message has come to its end.
    pub fn message(&mut self, flight: &Flight, launch: Time) {
        let number = |rank: Option<u32>| rank.map(i64::from);
        let mut steps = Vec::with_capacity(flight.message_path.steps.len());
        let total = flight.steps(|slot, time| steps.push((slot as u8, time.0 as i64)));
        let numbers = [
            Some(i64::from(flight.first.source_nid)),
            Some(i64::from(flight.first.serial)),
            number(flight.from),
            number(flight.to),
            Some(flight.bytes as i64),
            Some(flight.start().since(launch).0 as i64),
            Some(total.0 as i64),
            Some(flight.entries.into()),
        ];
        let words =
            [flight.kind.name(), flight.protocol.name(), flight.sent_in, flight.received_in];
        self.row(&words, &numbers, &steps);
    }

    /// A call has returned.
    pub fn call(&mut self, row: &CallRow) {
        self.row(&[row.call], &row.numbers, &[]);
    }
}

impl Table {
    /// Writes the rows; `late` gives the last columns of a row, if they are known only now.
    fn write(
        &self,
        columns: &[(String, Type)],
        spooled: Spooled,
        late: &dyn Fn(&[i64]) -> Vec<Option<i64>>,
        about: &str,
    ) -> Result<(), WriteError> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.spool.read(|spool| {
            let out = BufWriter::new(File::create(&self.file)?);
            let mut writer = parquet::Writer::new(out, columns)?;
            let mut piece = Vec::new();
            for mut stream in std::mem::take(&mut *streams).into_values() {
                loop {
                    stream.next(spool, &mut piece)?;
                    if piece.is_empty() {
                        break;
                    }
                    let mut rows = &piece[..];
                    while !rows.is_empty() {
                        let (length, rest) = rows.split_at(2);
                        let length = u16::from_le_bytes([length[0], length[1]]).into();
                        let (row, rest) = rest.split_at(length);
                        decode(row, &mut writer, columns.len(), spooled, late)?;
                        rows = rest;
                    }
                }
            }
            writer.finish(&[("sunstar.run", about)])
        });
        written.map_err(|why| WriteError::of(&self.file, why))
    }
}

/// Reads a row from the spool into the columns.
fn decode<W: io::Write>(
    mut row: &[u8],
    writer: &mut parquet::Writer<W>,
    columns: usize,
    Spooled { words, numbers }: Spooled,
    late: &dyn Fn(&[i64]) -> Vec<Option<i64>>,
) -> io::Result<()> {
    for column in 0..words {
        let (length, rest) = row.split_at(1);
        let (word, rest) = rest.split_at(length[0].into());
        writer.word(column, std::str::from_utf8(word).expect("it was written from a string"));
        row = rest;
    }
    let take = |row: &mut &[u8]| {
        let (number, rest) = row.split_at(8);
        *row = rest;
        i64::from_le_bytes(number.try_into().expect("eight bytes"))
    };
    let own: Vec<i64> = (0..numbers).map(|_| take(&mut row)).collect();
    let mut column = words;
    let own_late = late(&own);
    let there = own.into_iter().map(|number| Some(number).filter(|number| *number != NONE));
    for number in there.chain(own_late) {
        writer.number(column, number);
        column += 1;
    }
    // Steps are those that the message passed, in order.
    while let Some((slot, rest)) = row.split_first() {
        row = rest;
        let step = words + numbers + usize::from(*slot);
        (column..step).for_each(|missing| writer.number(missing, None));
        writer.number(step, Some(take(&mut row)));
        column = step + 1;
    }
    (column..columns).for_each(|missing| writer.number(missing, None));
    writer.row()
}
