//! Published results on a page: marks on its charts, and the table of them beside what is simulated.

use super::prose::{prose, unit};
use super::svg::{n, path};
use super::units::{share, short};
use crate::bench::published::{Comparison, Number, Published, MISS};
use machine::parameters::Parameters;
use maud::{html, Markup};
use std::collections::BTreeMap;

/// A published result, beside the simulated one.
pub struct Overlaid {
    /// Both numbers.
    pub comparison: Comparison,
    /// The published side in full.
    pub published: Published,
}

impl Overlaid {
    /// The least and the greatest published number.
    pub fn ends(&self) -> [f64; 2] {
        match self.comparison.published {
            Number::One(value) => [value; 2],
            Number::Range(ends) => ends,
        }
    }
}

/// The results that are measured, in the order of their files.
pub fn overlaid(
    published: Vec<Published>,
    measured: &BTreeMap<String, f64>,
    machine: &Parameters,
) -> Vec<Overlaid> {
    let both = published.into_iter().filter_map(|published| {
        let comparison = published.compare(measured, machine)?;
        Some(Overlaid { comparison, published })
    });
    both.filter(|both| both.comparison.simulated.is_some()).collect()
}

/// Sample of a mark, for a legend.
pub fn swatch() -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 30 12" aria-hidden="true" {
            path class="published" d="M15 0l6 6l-6 6l-6-6z" {}
        }
    }
}

/// The mark of the result that has this place in the table; `value` is its number on the axis.
pub fn mark(index: usize, comparison: &Comparison, x: f64, y: f64, value: f64) -> Markup {
    let simulated = comparison.simulated.map_or("part of the machine".into(), |number| {
        format!("simulated: {} {}", short(number), unit(&comparison.unit))
    });
    let tip = format!(
        "{}: {}: {} ({} {}); {}",
        index + 1,
        comparison.quantity,
        text(comparison),
        comparison.paper,
        comparison.place,
        simulated.trim_end(),
    );
    // Numbers of neighbours stand at two heights.
    let rise = if index % 2 == 0 { 5.0 } else { 17.0 };
    let points = [(x, y - 6.5), (x + 6.5, y), (x, y + 6.5), (x - 6.5, y)];
    html! {
        g class="result" data-published=(comparison.id) data-value=(value) {
            title { (tip) }
            path class="published" d={ "M" (path(&points)) "z" } {}
            text class="number" x=(n(x + 9.0)) y=(n(y - rise)) { (index + 1) }
        }
    }
}

fn text(comparison: &Comparison) -> String {
    comparison.published.text(unit(&comparison.unit))
}

/// Table of published results beside simulated ones.
pub fn table(published: &[Overlaid]) -> Markup {
    html! {
        h3 { "Published beside simulated" }
        div class="scroll" {
            table id="published" {
                thead { tr {
                    th { "#" } th { "result" } th class="num" { "published" }
                    th class="num" { "simulated" } th class="num" { "ratio" } th { "role" }
                    th { "where" } th { "conditions" }
                } }
                tbody { @for (index, overlaid) in published.iter().enumerate() {
                    (row(index, overlaid))
                } }
            }
        }
        p class="note" {
            "Calibrated: a parameter of this machine was fitted to it, so it must agree; \
             predicted: nothing was; input: it is a parameter of the machine. More than "
            (share(published.iter().map(|own| own.comparison.within).fold(MISS, f64::min), 1.0))
            " off is a miss. " code { "sunstar validate" }
            " holds everything that is published against the simulation."
        }
    }
}

fn row(index: usize, Overlaid { comparison, published }: &Overlaid) -> Markup {
    let ratio = comparison.ratio.map(|ratio| format!("{ratio:.2}"));
    let simulated = comparison.simulated.map(|number| {
        format!("{} {}", short(number), unit(&comparison.unit)).trim_end().to_owned()
    });
    html! {
        tr data-published=(comparison.id) data-simulated=[comparison.simulated] {
            td { (index + 1) }
            td { (comparison.quantity) }
            td class="num" { (text(comparison)) }
            td class="num" { (simulated.unwrap_or("-".into())) }
            td class="num" {
                (ratio.unwrap_or("-".into()))
                @if comparison.missed() { " " strong { "miss" } }
            }
            td { (comparison.role) }
            td { a href={ "#" (comparison.paper) } { (comparison.paper) } " " (comparison.place) }
            td class="prose" {
                (prose(&published.conditions))
                @let why = comparison.missed_because.as_ref();
                @if let Some(why) = why.filter(|_| comparison.missed()) {
                    " Missed because " (prose(why.trim()))
                }
            }
        }
    }
}
