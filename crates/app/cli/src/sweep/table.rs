//! The table of a sweep: CSV (RFC 4180), a row for each point that is done, in the order of the sweep.

use super::axis::{Value, Variable};
use super::columns::{Column, Take};
use super::plan::Plan;
use super::record::{replace, Record};
use std::path::Path;
use sunstar::usage_error::UsageError;

/// Columns after those that the user chose.
const COLUMNS: [&str; 5] = ["simulated_ns", "exit", "sentence", "wall_seconds", "run"];

/// The columns of a sweep.
pub struct Columns {
    take: Vec<Take>,
    columns: Vec<Column>,
}

/// Value that a column asks for and that is not there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absent {
    /// This column's expression found nothing.
    Output(String),
    /// The report has no such key as this column's; keys of which one was probably meant.
    Key(String, Vec<String>),
}

impl Columns {
    /// Columns of a plan.
    pub fn of(plan: &Plan) -> Result<Columns, UsageError> {
        let values = plan.values(0);
        let take = plan.take.iter().map(|text| Take::parse(text, &values));
        let columns = plan.columns.iter().map(|text| Column::parse(text));
        let all = Columns {
            take: take.collect::<Result<_, _>>()?,
            columns: columns.collect::<Result<_, _>>()?,
        };
        let header = all.header(plan);
        let twice = header.iter().enumerate().find(|(at, name)| header[..*at].contains(name));
        match twice {
            Some((_, name)) => {
                Err(UsageError::sentence(format!("two columns are named {name}; rename one")))
            }
            None => Ok(all),
        }
    }

    fn header(&self, plan: &Plan) -> Vec<String> {
        let varied = plan.variables().map(Variable::heading);
        let chosen = self.take.iter().map(|take| take.name.clone());
        let chosen = chosen.chain(self.columns.iter().map(|column| column.name.clone()));
        varied.chain(chosen).chain(COLUMNS.map(String::from)).collect()
    }

    /// The row of a point, and the values that could not be found for it.
    pub fn row(
        &self,
        values: &[(&Variable, &Value)],
        id: &str,
        record: &Record,
    ) -> (Vec<String>, Vec<Absent>) {
        let mut absent = Vec::new();
        let mut row: Vec<String> = values.iter().map(|(_, value)| value.cell.clone()).collect();
        for take in &self.take {
            let found = take.find(&record.output, values);
            if found.is_none() {
                absent.push(Absent::Output(take.name.clone()));
            }
            row.push(found.unwrap_or_default());
        }
        for column in &self.columns {
            let found = match record.report.is_null() {
                true => Some(String::new()),
                false => column.find(&record.report),
            };
            if found.is_none() {
                let meant = column.nearest(&record.report);
                absent.push(Absent::Key(column.name.clone(), meant));
            }
            row.push(found.unwrap_or_default());
        }
        let simulated = &record.report["simulated_ns"];
        row.push(if simulated.is_null() { String::new() } else { simulated.to_string() });
        row.push(record.exit.to_string());
        row.push(record.sentence.clone());
        row.push(format!("{:.3}", record.wall_seconds));
        row.push(id.to_string());
        (row, absent)
    }

    /// Columns of the runs' JSON for which no successful run has a value, although the keys may be right: an
    /// item that is in none of the lists.
    pub fn empty<'a>(
        &'a self,
        plan: &Plan,
        rows: &'a [Option<Vec<String>>],
    ) -> impl Iterator<Item = &'a str> {
        let first = plan.variables().count() + self.take.len();
        let exit = first + self.columns.len() + 1;
        let well = move || rows.iter().flatten().filter(move |row| row[exit] == "0");
        let columns = (first..).zip(&self.columns).filter(move |_| well().next().is_some());
        let empty = columns.filter(move |(at, _)| well().all(|row| row[*at].is_empty()));
        empty.map(|(_, column)| column.name.as_str())
    }

    /// Writes the whole table.
    pub fn write(
        &self,
        plan: &Plan,
        rows: &[Option<Vec<String>>],
        file: &Path,
    ) -> Result<(), UsageError> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let header = self.header(plan);
        for row in std::iter::once(&header).chain(rows.iter().flatten()) {
            csv.write_record(row).expect("all rows have as many cells, and memory takes all");
        }
        let bytes = csv.into_inner().expect("memory takes all");
        replace(file, &bytes)
    }
}
