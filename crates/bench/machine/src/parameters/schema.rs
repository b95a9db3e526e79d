//! Parameters of a machine: one row for each key.

use super::quantity::{Value, ValueKind};
use crate::models::{Model, Models};
use std::fmt;

/// One parameter of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Dotted key, as in `--set KEY=VALUE`: section and name.
    pub key: &'static str,
    /// Kind of its value.
    pub kind: ValueKind,
    /// Least and greatest value, as text; both empty for words.
    pub range: (&'static str, &'static str),
}

impl Row {
    fn section(&self) -> &'static str {
        self.key.split('.').next().unwrap_or_default()
    }
    /// Reads a value of this parameter. The error follows "`KEY` is `TEXT`:".
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = self.kind.parse(text)?;
        let number = value.number();
        if number.is_some_and(|n| n < self.bound(self.range.0) || n > self.bound(self.range.1)) {
            return Err(format!("allowed is {} to {}", self.range.0, self.range.1));
        }
        Ok(value)
    }
    fn bound(&self, text: &str) -> u64 {
        let value = self.kind.parse(text).expect("the schema's ranges are checked by a test");
        value.number().expect("only numbers have ranges")
    }
}

/// Values of the parameter: "a duration (a number with ps, ns, us or ms), 0 ns to 1 ms".
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match self.range {
            ("", "") => Ok(()),
            (least, most) => write!(f, ", {least} to {most}"),
        }
    }
}

/// Text of a key, a bound or a word.
pub type Text = &'static str;

/// A duration.
pub const fn time(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Duration, range: (least, most) }
}
/// A frequency.
pub const fn frequency(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Frequency, range: (least, most) }
}
/// A rate in bytes a second.
pub const fn rate(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Rate, range: (least, most) }
}
/// A size in bytes.
pub const fn bytes(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Bytes, range: (least, most) }
}
/// A number of cycles.
pub const fn cycles(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Cycles, range: (least, most) }
}
/// A count.
pub const fn count(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Count, range: (least, most) }
}
/// A count that is a power of two.
pub const fn power_of_two(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::PowerOfTwo, range: (least, most) }
}
/// The rows of a model: its own, and those of a part that others have, too. `N` is the sum of both.
pub const fn joined<const N: usize>(own: &[Row], part: &[Row]) -> [Row; N] {
    let mut all = [own[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < own.len() { own[at] } else { part[at - own.len()] };
        at += 1;
    }
    all
}
/// A switch, on or off.
pub const fn switch(key: Text) -> Row {
    Row { key, kind: ValueKind::Switch, range: ("", "") }
}
/// One of a few words.
pub const fn choice(key: Text, words: &'static [Text]) -> Row {
    Row { key, kind: ValueKind::Choice(words), range: ("", "") }
}

/// Parameters that every machine has, in the order in which they are printed; those of its model are behind
/// the others of their sections ([`Models::rows`]).
pub const COMMON: &[Row] = &[
    time("machine.launch", "0 ns", "100000 ms"),
    time("host.kernel_entry", "0 ns", "1 ms"),
    time("host.kernel_exit", "0 ns", "1 ms"),
    time("host.interrupt_entry", "0 ns", "1 ms"),
    time("host.interrupt_exit", "0 ns", "1 ms"),
    time("host.mmio_write", "0 ns", "1 ms"),
    time("host.copy_start", "0 ns", "1 ms"),
    rate("host.copy_rate", "1 MB/s", "1000 GB/s"),
    time("host.poll_period", "1 ps", "1 ms"),
    frequency("host.clock", "1 MHz", "1000 GHz"),
    count("host.cores", "1", "16"),
    count("host.ranks_per_node", "1", "16"),
    time("host.lock_take", "0 ns", "1 ms"),
    time("host.lock_pass", "0 ns", "1 ms"),
    choice("host.os", &["catamount", "linux"]),
    count("host.linux_nodes", "0", "65536"),
    choice("host.echo", &["off", "on", "all"]),
    choice("host.kernel_programs", &["off", "on"]),
    time("linux.kernel_entry", "0 ns", "1 ms"),
    time("linux.kernel_exit", "0 ns", "1 ms"),
    time("linux.interrupt_entry", "0 ns", "1 ms"),
    time("linux.interrupt_exit", "0 ns", "1 ms"),
    time("linux.ioctl", "0 ns", "1 ms"),
    time("linux.copy_in", "0 ns", "1 ms"),
    time("linux.copy_out", "0 ns", "1 ms"),
    time("linux.pin_page", "0 ns", "1 ms"),
    time("linux.translate_page", "0 ns", "1 ms"),
    power_of_two("linux.page_run", "1", "1024"),
    time("rank.clock_read", "1 ps", "1 ms"),
    time("admin.call", "1 ps", "1 ms"),
    time("admin.latency", "1 ps", "1000 ms"),
    rate("admin.rate", "1 KB/s", "1000 GB/s"),
    bytes("admin.buffer", "1 B", "1 GiB"),
    bytes("admin.segment", "1 B", "1 MiB"),
    time("mpi.call", "1 ps", "1 ms"),
    time("mpi.request", "0 ns", "1 ms"),
    time("mpi.unexpected_entry", "0 ns", "1 ms"),
    time("mpi.event", "0 ns", "1 ms"),
    time("mpi.reduce_element", "0 ns", "1 ms"),
    time("mpi.datatype_run", "0 ns", "1 ms"),
    bytes("mpi.eager_limit", "0 B", "1 MiB"),
    bytes("mpi.copy_limit", "0 B", "1 MiB"),
    count("mpi.copy_buffers", "1", "65536"),
    count("mpi.unexpected_blocks", "2", "1024"),
    bytes("mpi.unexpected_block_size", "2 MiB", "1 GiB"),
    count("mpi.unexpected_events", "0", "1048576"),
    count("mpi.unexpected_queue", "16", "1048576"),
    count("mpi.unexpected_growth", "16", "1048576"),
    count("mpi.send_credits", "0", "65536"),
    count("mpi.events", "64", "1048576"),
    bytes("mpi.alltoall_short", "0 B", "1 MiB"),
    bytes("mpi.allgather_short", "0 B", "1 GiB"),
    choice("mpi.barrier", &["dissemination", "tree", "nic"]),
    choice("mpi.bcast", &["binomial", "linear"]),
    choice("mpi.reduce", &["binomial", "linear"]),
    choice("mpi.allreduce", &["recursive_doubling", "reduce_bcast", "ring", "nic"]),
    choice("mpi.gather", &["binomial", "linear"]),
    choice("mpi.scatter", &["binomial", "linear"]),
    choice("mpi.allgather", &["by_size", "ring", "bruck", "linear"]),
    choice("mpi.alltoall", &["by_size", "bruck", "pairwise", "linear"]),
    choice("mpi.reduce_scatter", &["pairwise", "reduce"]),
    choice("mpi.scan", &["recursive_doubling", "linear"]),
    time("portals.api_call", "0 ns", "1 ms"),
    time("portals.api_check", "0 ns", "1 ms"),
    time("portals.object", "0 ns", "1 ms"),
    time("portals.translate", "0 ns", "1 ms"),
    time("portals.list_entry", "0 ns", "1 ms"),
    time("portals.event_post", "0 ns", "1 ms"),
    time("portals.queue_event", "0 ns", "1 ms"),
    time("portals.event_get", "0 ns", "1 ms"),
];

/// Least letters with which the beginning of a key, or a key without its section, identifies it.
const TELLING: usize = 4;

impl Models {
    /// The parameters of machines of a model, in the order in which they are printed.
    pub fn rows(&'static self, model: &'static Model) -> Vec<&'static Row> {
        let mut rows: Vec<&Row> = self.of_all().collect();
        for row in model.rows {
            let behind = rows.iter().rposition(|other| other.section() == row.section());
            rows.insert(behind.map_or(rows.len(), |behind| behind + 1), row);
        }
        rows
    }

    /// The row of `key`, of any model.
    pub fn row(&'static self, key: &str) -> Option<&'static Row> {
        self.all().find(|row| row.key == key)
    }

    /// The models that have the parameter `key`; none if all have, or none.
    pub fn owner(&self, key: &str) -> Option<&'static Model> {
        self.iter().find(|model| model.rows.iter().any(|row| row.key == key))
    }

    /// The rows of all models.
    pub fn all(&'static self) -> impl Iterator<Item = &'static Row> + Clone {
        self.of_all().chain(self.iter().flat_map(|model| model.rows))
    }

    /// The rows that every machine has.
    pub fn of_all(&'static self) -> impl Iterator<Item = &'static Row> + Clone {
        COMMON.iter().chain([self.choice()])
    }

    /// The existing key that a mistyped one was probably meant to be.
    pub fn nearest(&'static self, wrong: &str) -> Option<&'static str> {
        let mut keys = self.all().map(|row| row.key);
        let (distance, key) =
            keys.clone().map(|key| (strsim::levenshtein(wrong, key), key)).min()?;
        if distance <= (wrong.len() / 3).max(2) {
            return Some(key);
        }
        let parts = |key: &'static str| key.split_once('.').unwrap_or(("", key));
        if wrong.len() < TELLING || keys.clone().any(|key| parts(key).0 == wrong) {
            return None;
        }
        keys.find(|key| key.starts_with(wrong) || parts(key).1.starts_with(wrong))
    }

    /// "there is no parameter X; did you mean Y?"
    pub fn unknown(&'static self, key: &str) -> String {
        match self.nearest(key) {
            Some(nearest) => format!("there is no parameter {key}; did you mean {nearest}?"),
            None => format!("there is no parameter {key}; \"sunstar machines NAME\" lists all"),
        }
    }
}
