//! The page of `sunstar bench suite`: a chart for each column of each study.

use super::{named, Outcome, Series, Suite};
use crate::args::SuiteOptions;
use crate::report::page::{self, again_by};
use crate::report::svg::{self, Chart, Scale, Size, Tick};
use crate::report::units::{plain, quoted, short};
use maud::{html, Markup};

const SIZE: Size = Size { width: 760.0, height: 340.0 };

/// The page's text.
pub fn page(suite: &Suite, options: &SuiteOptions) -> String {
    let machines = options.machines.iter().map(|name| format!(" --machine {}", quoted(name)));
    let settings = suite.overrides.iter().map(|set| format!(" --set {}", quoted(set)));
    let only = options.only.iter().map(|name| format!(" --only {name}"));
    let originals = options.originals.iter().map(|given| format!(" --original {}", quoted(given)));
    let words: String = machines.chain(settings).chain(only).chain(originals).collect();
    let (ranks, largest, flood) = (options.ranks, options.largest, options.flood);
    let again =
        format!("sunstar bench suite{words} --ranks {ranks} --largest {largest} --flood {flood}");
    let mut parts: Vec<_> =
        suite.studies.iter().map(|study| (study.title, study.name, section(study))).collect();
    parts.push(again_by(&again));
    let subtitle = "Generic and accelerated Portals, as brightwell2007 compares them; SN: one \
                    process a node, VN: two";
    page::page("Sunstar: the suite", subtitle, &parts)
}

fn section(study: &Outcome) -> Markup {
    let columns = study.series.first().map_or(0, |series| series.table.columns.len());
    html! {
        section id=(study.name) {
            h2 { (study.title) }
            p { (study.source) @if let Some(part) = &study.part { ". " (part) } "." }
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
    let values = study.series.iter().flat_map(|series| points(series, column));
    let most = values.map(|(_, y)| y).fold(0.0, f64::max);
    let ticks = svg::round_steps(most * 1.04, 6);
    let y = Scale::linear(*ticks.last().unwrap_or(&most), Chart::upwards(SIZE));
    let columns = &study.series[0].table.columns;
    let (x_title, y_title) = (named(&columns[0]), named(&columns[column]));
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
            summary { "All numbers, and the commands that measure them" }
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
                                th class="num" { (named(column)) }
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
