//! The page of `sunstar bench suite`: a chart for each column of each study.

use super::{Outcome, Series, Suite};
use crate::args::SuiteOptions;
use crate::report::again::Again;
use crate::report::page;
use crate::report::prose::{prose, unit};
use crate::report::svg::{self, Chart, Scale, Size, Tick};
use crate::report::units::{plain, short};
use maud::{html, Markup};
use std::path::Path;

const SIZE: Size = Size { width: 760.0, height: 340.0 };

/// The page's text.
pub fn page(suite: &Suite, options: &SuiteOptions, file: &Path) -> String {
    let again = Again::by("bench suite").each("--machine", &options.machines);
    let again = again.each("--set", &options.overrides).each("--only", &options.only);
    let again = again.each("--original", &options.originals).option("--ranks", options.ranks);
    let again = again.option("--largest", options.largest).option("--flood", options.flood);
    let mut parts: Vec<_> =
        suite.studies.iter().map(|study| (study.title, study.name, section(study))).collect();
    parts.push(again.page(file).part());
    let subtitle = "Generic and accelerated Portals, as brightwell2007 compares them; SN: one \
                    process a node, VN: two";
    page::page("Sunstar: the suite", subtitle, &parts)
}

fn section(study: &Outcome) -> Markup {
    let columns = study.series.first().map_or(0, |series| series.table.columns.len());
    html! {
        section id=(study.name) {
            h2 { (study.title) }
            p { (prose(study.source)) @if let Some(part) = &study.part { ". " (part) } "." }
            @if columns > 0 {
                ul class="legend" {
                    @for (look, series) in study.series.iter().enumerate() {
                        li { (svg::swatch(look)) (series.mode.title) }
                    }
                }
                @for column in 1..columns { (figure(study, column)) }
                (numbers(study))
            }
            @for original in &study.originals {
                h3 { (original.title) }
                p { code { (original.command) } }
                pre { (original.output) }
            }
        }
    }
}

/// Name of a column with its unit: `latency_us` is `latency (µs)`.
fn title(column: &str) -> String {
    let parts = column.rsplit_once('_');
    parts.map_or(column.to_owned(), |(name, own)| format!("{name} ({})", unit(own)))
}

/// Unit of a column; of one without a unit, its name.
fn unit_of(column: &str) -> &str {
    column.rsplit_once('_').map_or(column, |(_, unit)| unit)
}

/// Points of a series: all columns are numbers.
fn points(series: &Series, column: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
    series.table.rows.iter().map(move |row| (row[0], row[column]))
}

/// The horizontal axis: its scale, and its marks. Sizes and numbers of ranks grow by factors.
fn across(study: &Outcome, column: usize) -> (Scale, Vec<Tick>) {
    let values = || study.series.iter().flat_map(|series| points(series, column)).map(|(x, _)| x);
    let most = values().fold(1.0, f64::max);
    let extent = Chart::across(SIZE);
    if !study.grows {
        let ticks = svg::round_steps(most, 6);
        let scale = Scale::linear(*ticks.last().unwrap_or(&most), extent);
        return (scale, ticks.iter().map(|tick| (scale.at(*tick), plain(*tick))).collect());
    }
    let scale = Scale::sizes(most as u64, extent);
    let mut all: Vec<u64> = values().map(|value| value as u64).collect();
    all.sort_unstable();
    all.dedup();
    let every = all.len().div_ceil(10);
    let tick = |value: &u64| (scale.at_size(*value), value.to_string());
    (scale, all.iter().step_by(every).map(tick).collect())
}

fn figure(study: &Outcome, column: usize) -> Markup {
    let (x, marks) = across(study, column);
    let at = |value: f64| if study.grows { x.at_size(value as u64) } else { x.at(value) };
    let columns = &study.series[0].table.columns;
    // Columns of one unit have one scale.
    let alike =
        (1..columns.len()).filter(|other| unit_of(&columns[*other]) == unit_of(&columns[column]));
    let values =
        alike.flat_map(|other| study.series.iter().flat_map(move |own| points(own, other)));
    let most = values.map(|(_, y)| y).fold(0.0, f64::max);
    let ticks = svg::round_steps(most * 1.04, 6);
    let y = Scale::linear(*ticks.last().unwrap_or(&most), Chart::upwards(SIZE));
    let (x_title, y_title) = (title(&columns[0]), title(&columns[column]));
    let body = html! {
        @for (look, series) in study.series.iter().enumerate() {
            @let path: Vec<(f64, f64)> =
                points(series, column).map(|(value, up)| (at(value), y.at(up.max(0.0)))).collect();
            (svg::line(look, &path))
            @for ((value, up), (left, top)) in points(series, column).zip(&path) {
                @let at = format!("{}, {} {x_title}", series.mode.title, plain(value));
                @let tip = format!("{at}: {} {y_title}", short(up));
                (svg::marker(look, *left, *top, &tip, &[
                    ("series", series.mode.title.clone()), ("bytes", plain(value)),
                    ("value", up.to_string()),
                ]))
            }
        }
    };
    let label = format!("{}: {y_title} over {x_title}", study.title);
    let chart = Chart {
        size: SIZE,
        label: &label,
        x_title: &if study.grows { format!("{x_title} (logarithmic)") } else { x_title.clone() },
        y_title: &y_title,
        x: marks,
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    };
    html! { figure { div class="scroll" { (chart.draw(&body)) } } }
}

/// All numbers of a study, a table for each series.
fn numbers(study: &Outcome) -> Markup {
    html! {
        details {
            summary { (study.title) ": all numbers, and the commands that measure them" }
            @for series in &study.series {
                h3 { (series.mode.title) }
                p {
                    code { (series.command) }
                    @if let Some(count) = series.interrupts { " (" (count) " interrupts)" }
                }
                div class="scroll" {
                    table {
                        thead { tr {
                            @for column in &series.table.columns {
                                th class="num" { (title(column)) }
                            }
                        } }
                        tbody {
                            @for row in &series.table.rows {
                                tr { @for value in row { td class="num" { (value) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}
