//! A point of a sweep by the values of its names: `FILE.csv:NAME=VALUE,...`.

use machine::input;
use models::MODELS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sunstar::usage_error::UsageError;

/// The end of a table's name, before what names a point.
const TABLE: &str = ".csv:";
/// Name of the column with the runs' files.
const RUN: &str = "run";
/// First of the columns that each table has, behind what was varied and chosen.
const RESULTS: &str = "simulated_ns";
/// Most values of a name that a sentence lists.
const LISTED: usize = 12;

/// Words that name no point, or not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum PointError {
    /// It is no list of values.
    #[error("\"{0}\" must read NAME=VALUE, as in {example}", example = "ranks=8,nic.alpu=128")]
    NoValue(String),
    /// The table is of something else.
    #[error("is not the table of a sweep")]
    NoTable,
    /// The sweep did not vary that.
    #[error("has no column {name}; it has {}", columns.join(", "))]
    NoColumn {
        /// The name.
        name: String,
        /// Those that there are.
        columns: Vec<String>,
    },
    /// No point has this value, beside those that are named before it.
    #[error("has no point with {name}={value}; there {} {}", is_or_are(values), listed(values))]
    NoPoint {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// Those that there are.
        values: Vec<String>,
    },
    /// Several points have these values.
    #[error("has {number} points of these values; say also {}", differ.join(", or "))]
    Several {
        /// Number of them.
        number: usize,
        /// Names in which they differ, with their values.
        differ: Vec<String>,
    },
}

fn is_or_are(values: &[String]) -> &'static str {
    if values.len() == 1 {
        "is"
    } else {
        "are"
    }
}

fn listed(values: &[String]) -> String {
    let shown = values.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match values.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The file of the run that `named` means: of a point of a sweep, or this very file.
pub fn file_of(named: &Path) -> Result<PathBuf, UsageError> {
    let text = named.to_string_lossy();
    let Some(at) = text.find(TABLE).filter(|_| !named.exists()) else {
        return Ok(named.to_owned());
    };
    let (table, values) = text.split_at(at + TABLE.len() - 1);
    let file = Path::new(table);
    let bytes = input::read(file, input::WRITTEN_MAX)
        .map_err(|why| UsageError::with_file("read", file, why))?;
    let run = run_of(&bytes, &values[1..])
        .map_err(|why| UsageError::sentence(format!("{table} {why}")))?;
    Ok(PathBuf::from(format!("{table}.runs/{run}.json")))
}

/// A table: a column for each name, a row for each point.
struct Table {
    /// Each varied name, with the unit of its cells.
    names: Vec<(String, String)>,
    /// Cells of the names, and the run's.
    rows: Vec<(Vec<String>, String)>,
}

impl Table {
    fn read(bytes: &[u8]) -> Option<Table> {
        let mut reader = csv::Reader::from_reader(bytes);
        let header = reader.headers().ok()?.clone();
        let run = header.iter().position(|name| name == RUN)?;
        let results = header.iter().position(|name| name == RESULTS)?;
        let name = |heading: &str| match heading.strip_suffix(')').and_then(|h| h.split_once(" ("))
        {
            Some((name, unit)) => (name.to_owned(), unit.to_owned()),
            None => (heading.to_owned(), String::new()),
        };
        let names = header.iter().take(results).map(name).collect();
        let row = |row: csv::StringRecord| {
            let cells = row.iter().take(results).map(String::from).collect();
            (cells, row[run].to_owned())
        };
        let rows = reader.records().map(|found| found.map(row)).collect::<Result<_, _>>().ok()?;
        Some(Table { names, rows })
    }

    /// True if a cell of a column is this value, however it is written.
    fn is(&self, column: usize, cell: &str, value: &str) -> bool {
        let (name, unit) = &self.names[column];
        if cell == value {
            return true;
        }
        let Some(row) = MODELS.row(name) else { return false };
        let own = row.kind.parse(&format!("{cell}{unit}"));
        let given = row.kind.parse(value).or_else(|_| row.kind.parse(&format!("{value}{unit}")));
        matches!((own, given), (Ok(own), Ok(given)) if own == given)
    }

    /// The values of a column in some rows, as one would write them.
    fn values<'a>(
        &self,
        column: usize,
        rows: impl Iterator<Item = &'a (Vec<String>, String)>,
    ) -> Vec<String> {
        let unit = &self.names[column].1;
        let mut seen = BTreeSet::new();
        let cells = rows.map(|(cells, _)| &cells[column]).filter(|cell| seen.insert(cell.as_str()));
        cells.map(|cell| format!("{cell}{unit}")).collect()
    }
}

/// The run of the only point of a table with these values.
fn run_of(bytes: &[u8], values: &str) -> Result<String, PointError> {
    let table = Table::read(bytes).ok_or(PointError::NoTable)?;
    let mut rows: Vec<&(Vec<String>, String)> = table.rows.iter().collect();
    for value in values.split(',').filter(|value| !value.is_empty()) {
        let no_value = || PointError::NoValue(value.to_owned());
        let (name, value) = value.split_once('=').ok_or_else(no_value)?;
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        let Some(column) = table.names.iter().position(|(own, _)| *own == name) else {
            let columns = table.names.iter().map(|(own, _)| own.clone()).collect();
            return Err(PointError::NoColumn { name, columns });
        };
        let with = |row: &&(Vec<String>, String)| table.is(column, &row.0[column], &value);
        let found: Vec<_> = rows.iter().copied().filter(with).collect();
        if found.is_empty() {
            let values = table.values(column, rows.into_iter());
            return Err(PointError::NoPoint { name, value, values });
        }
        rows = found;
    }
    match rows[..] {
        [(_, run)] => Ok(run.clone()),
        [] => Err(PointError::NoTable),
        _ => {
            let of = |column: usize| (column, table.values(column, rows.iter().copied()));
            let differ = (0..table.names.len()).map(of).filter(|(_, values)| values.len() > 1);
            let differ = differ
                .map(|(column, values)| format!("{} ({})", table.names[column].0, listed(&values)))
                .collect();
            Err(PointError::Several { number: rows.len(), differ })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "ranks,host.kernel_entry (ns),arg.size,simulated_ns,exit,sentence,wall_seconds,run\n\
        2,500,8,1,0,,0.1,a\n2,1000,8,2,0,,0.1,b\n4,500,8,3,0,\"x, y\",0.1,c\n4,1000,8,4,0,,0.1,d\n";

    fn run(values: &str) -> Result<String, PointError> {
        run_of(TEXT.as_bytes(), values)
    }

    #[test]
    fn values_name_one_point_however_they_are_written() {
        for (values, expected) in [
            ("ranks=2,host.kernel_entry=500ns", "a"),
            ("host.kernel_entry=1us, ranks=2", "b"),
            ("ranks=4,host.kernel_entry=500", "c"),
            ("ranks=4,arg.size=8,host.kernel_entry=0.001ms", "d"),
        ] {
            assert_eq!(run(values), Ok(expected.to_owned()), "{values}");
        }
    }

    #[test]
    fn what_names_no_point_or_several_is_told() {
        for (values, expected) in [
            ("ranks", "\"ranks\" must read NAME=VALUE, as in ranks=8,nic.alpu=128"),
            ("rank=2", "has no column rank; it has ranks, host.kernel_entry, arg.size"),
            ("ranks=3", "has no point with ranks=3; there are 2, 4"),
            ("arg.size=9", "has no point with arg.size=9; there is 8"),
            (
                "ranks=2,host.kernel_entry=2us",
                "has no point with host.kernel_entry=2us; there are 500ns, 1000ns",
            ),
            ("ranks=2", "has 2 points of these values; say also host.kernel_entry (500ns, 1000ns)"),
            (
                "",
                "has 4 points of these values; say also ranks (2, 4), or host.kernel_entry \
                 (500ns, 1000ns)",
            ),
        ] {
            assert_eq!(run(values).unwrap_err().to_string(), expected, "{values}");
        }
        let other = run_of(b"a,b\n1,2\n", "a=1").unwrap_err().to_string();
        assert_eq!(other, "is not the table of a sweep");
        let many: Vec<String> = (0..15).map(|n| n.to_string()).collect();
        assert_eq!(listed(&many), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more");
    }
}
