//! The page of `sunstar bench dp`.

use super::steps::{Packet, Step, Steps};
use super::{Cell, Column, Table};
use crate::args::DpOptions;
use crate::report::again::Again;
use crate::report::page;
use crate::report::stacks::{self, Kind, Piece};
use crate::report::svg::{self, Chart, Scale, Size};
use crate::report::units::{plain, size, time};
use maud::{html, Markup};
use std::path::Path;

const SIZE: Size = Size { width: 430.0, height: 300.0 };

/// Name of a curve, and the number of a cell that it shows.
type Shown = (&'static str, fn(&Cell) -> Option<f64>);

/// Curves of a column.
const CURVES: [Shown; 2] =
    [("simulated", |cell| cell.simulated), ("published", |cell| cell.published)];

/// Kinds of places where time goes, as breakdowns have them, and their names here.
const PLACES: [Kind; 5] = [
    Kind { look: "host", name: "hosts: processes, kernel, module" },
    Kind { look: "bus", name: "PCI" },
    Kind { look: "firmware", name: "control program" },
    Kind { look: "dma", name: "interfaces and DMA of the cards" },
    Kind { look: "network", name: "cables and switches" },
];

/// The page's text.
pub fn page(table: &Table, options: &DpOptions, file: &Path) -> String {
    let title = format!("Sunstar: Directed Point and others on machine {}", table.machine);
    let again = Again::by("bench dp").option("--machine", &options.machine);
    let again = again.each("--set", &options.overrides).page(file);
    let mut parts = vec![("One way", "times", times(&table.columns))];
    if !table.steps.is_empty() {
        parts.push(("Where the time went", "steps", steps(&table.steps)));
    }
    parts.push(again.part());
    let subtitle = "Two nodes, as table 1 of vorakosit2001 (docs/bibliography.md) has them";
    page::page(&title, subtitle, &parts)
}

fn times(columns: &[Column]) -> Markup {
    let cells = || columns.iter().flat_map(|column| &column.cells);
    let most =
        cells().flat_map(|cell| CURVES.map(|(_, of)| of(cell))).flatten().fold(0.0, f64::max);
    html! {
        section id="times" {
            h2 { "One way, over the length of a packet" }
            p {
                "Published times are read as one way \
                 (docs/decisions/0095-table-of-directed-point.md). \
                 All four have one scale. GM cannot be had: beside its column is a library of ours \
                 in its manner (docs/bypass.md)."
            }
            ul class="legend" {
                @for (look, (name, _)) in CURVES.iter().enumerate() {
                    li { (svg::swatch(look)) (name) }
                }
            }
            div class="multiples" {
                @for column in columns { figure { h3 { (column.title) } (chart(column, most)) } }
            }
            details {
                summary { "All numbers, and the commands that measure them" }
                (numbers(columns))
                ul class="commands" {
                    @for command in columns.iter().filter_map(|column| column.command.as_ref()) {
                        li { code { (command) } }
                    }
                }
            }
        }
    }
}

fn chart(column: &Column, most: f64) -> Markup {
    let largest = column.cells.iter().map(|cell| cell.bytes).max().unwrap_or(8);
    let ticks = svg::round_steps(most, 5);
    let x = Scale::log(1.0, largest.max(2) as f64, Chart::across(SIZE));
    let y = Scale::linear(*ticks.last().unwrap_or(&most), Chart::upwards(SIZE));
    let body = html! {
        @for (look, (name, of)) in CURVES.iter().enumerate() {
            @let told = column.cells.iter().filter_map(|cell| Some((cell.bytes, of(cell)?)));
            @let points: Vec<(u64, f64)> = told.collect();
            @let place = |(bytes, us): &(u64, f64)| (x.at(*bytes as f64), y.at(*us));
            (svg::line(look, &points.iter().map(place).collect::<Vec<_>>()))
            @for point in &points {
                @let (bytes, us) = *point;
                @let (at, height) = place(point);
                @let tip = format!("{}, {name}, {}: {us:.2} µs", column.title, size(bytes));
                (svg::marker(look, at, height, &tip, &[
                    ("series", format!("{}, {name}", column.title)),
                    ("bytes", bytes.to_string()), ("value", us.to_string()),
                ]))
            }
        }
    };
    let sizes = column.cells.iter().map(|cell| cell.bytes).step_by(2);
    let chart = Chart {
        size: SIZE,
        label: &format!("{}: one way over the length of a packet", column.title),
        x_title: "bytes (logarithmic)",
        y_title: "one way (µs)",
        x: sizes.map(|bytes| (x.at(bytes as f64), size(bytes))).collect(),
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    };
    chart.draw(&body)
}

fn numbers(columns: &[Column]) -> Markup {
    let shown = |number: Option<f64>| number.map_or("-".into(), |number| format!("{number:.2}"));
    html! {
        div class="scroll" {
            table id="numbers" {
                thead { tr {
                    th class="num" { "bytes" }
                    @for column in columns {
                        th class="num" { (column.title) ", published (µs)" }
                        th class="num" { "simulated (µs)" }
                    }
                } }
                tbody {
                    @for (row, first) in columns[0].cells.iter().enumerate() {
                        tr {
                            td class="num" { (first.bytes) }
                            @for cell in columns.iter().filter_map(|column| column.cells.get(row)) {
                                td class="num" { (shown(cell.published)) }
                                td class="num" { (shown(cell.simulated)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn steps(all: &[Steps]) -> Markup {
    html! {
        section id="steps" {
            h2 { "Where each microsecond of a packet went" }
            p {
                "The simulated packet with the median time, from the call that sends to the return \
                 of the one that reads. Bars have the length of their time; a step's name and time \
                 are shown where the pointer is, and docs/reference/breakdown.md explains them. \
                 Beside a bar stands the time of all steps at a place."
            }
            @for steps in all {
                h3 { (steps.title) }
                (bars(steps))
            }
        }
    }
}

fn bars(steps: &Steps) -> Markup {
    let longest = steps.packets.iter().map(|packet| packet.total_us).fold(0.0, f64::max);
    html! {
        div class="scroll" {
            table class="bars" {
                thead { tr {
                    th class="num" { "bytes" } th class="num" { "time" } th { "steps" }
                    (stacks::heads(&PLACES))
                } }
                tbody {
                    @for packet in &steps.packets {
                        @let pieces = pieces(packet);
                        tr data-us=(packet.total_us) {
                            td class="num" { (packet.bytes) }
                            td class="num" { (time(packet.total_us * 1e3)) }
                            td { (stacks::bar(&pieces, 100.0 * packet.total_us / longest)) }
                            (stacks::cells(&PLACES, &pieces))
                        }
                    }
                }
            }
        }
    }
}

fn pieces(packet: &Packet) -> Vec<Piece<'_>> {
    let steps = packet.steps.iter();
    steps.map(|Step { name, place, us }| Piece { look: place, name, ns: us * 1e3 }).collect()
}
