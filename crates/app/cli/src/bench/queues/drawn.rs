//! Published statements about the curves, as places on the charts.

use super::{Curve, Figures};
use crate::report::published::{self, Overlaid};
use crate::report::svg::{n, Scale};
use maud::{html, Markup};

/// The chart on which a result is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Posted receives, with the variant of that number.
    Posted(usize),
    /// Unexpected messages.
    Unexpected,
}

/// Form of a statement on its chart. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// A time, or the least and the greatest.
    Time { length: f64, ns: [f64; 2] },
    /// A time an entry between two lengths, from a time on.
    Slope { lengths: [f64; 2], from: f64, each: f64 },
    /// A length, at the time that a curve has there.
    Length { length: f64, ns: f64 },
}

/// A published statement on a chart.
#[derive(Clone, Copy)]
pub struct Drawn<'a> {
    /// Its place in the table.
    index: usize,
    overlaid: &'a Overlaid,
    pub figure: Figure,
    form: Form,
}

/// The time of a curve at a length between two of its points, on a straight line.
fn between(curve: &Curve, length: f64) -> Option<f64> {
    let pair = curve.points.windows(2).find(|pair| pair[1].length as f64 >= length)?;
    let [(a, from), (b, to)] = [0, 1].map(|at| (pair[at].length as f64, pair[at].ns));
    Some(from + (to - from) * (length - a) / (b - a))
}

/// All statements that can be drawn on these curves.
pub fn drawn<'a>(figures: &Figures, all: &'a [Overlaid]) -> Vec<Drawn<'a>> {
    let places = all.iter().enumerate().filter_map(|(index, overlaid)| {
        let (figure, form) = place(figures, overlaid)?;
        Some(Drawn { index, overlaid, figure, form })
    });
    places.collect()
}

fn place(figures: &Figures, overlaid: &Overlaid) -> Option<(Figure, Form)> {
    let curve = |variant: usize, percent: u64| {
        let is = |curve: &&Curve| curve.variant == variant && curve.percent == Some(percent);
        figures.posted.iter().find(is)
    };
    let at = |percent, length| curve(0, percent)?.at(length);
    let [low, high] = overlaid.ends();
    let last = figures.variants.len().checked_sub(1)?;
    let unexpected = figures.unexpected.first()?;
    let named = |cells: &str| {
        figures.variants.iter().position(|variant| variant.name == format!("{cells} cells"))
    };
    // The measurement is the time more than with the message's own receive ahead of the others.
    let walked = |length: u64, ns: f64| {
        let time = at(0, length)? + ns;
        Some((Figure::Posted(0), Form::Time { length: length as f64, ns: [time; 2] }))
    };
    match overlaid.published.measurement.as_deref()? {
        "queues.entry" => {
            let form = Form::Slope { lengths: [20.0, 100.0], from: at(100, 20)?, each: low };
            Some((Figure::Posted(0), form))
        }
        "queues.entry-beyond" => walked(500, 500.0 * low),
        "queues.full-400" => walked(400, 1e3 * low),
        "queues.part-500" => walked(500, 1e3 * low),
        "queues.penalty" => {
            let form = Form::Time { length: 0.0, ns: [at(100, 0)? + low; 2] };
            Some((Figure::Posted(last), form))
        }
        "queues.break-even" => {
            let ns = between(curve(0, 100)?, low)?;
            Some((Figure::Posted(last), Form::Length { length: low, ns }))
        }
        "queues.unexpected-loss" => {
            let few: Vec<_> = unexpected.points.iter().filter(|own| own.length <= 10).collect();
            let mean = few.iter().map(|point| point.ns).sum::<f64>() / few.len().max(1) as f64;
            let ns = [mean + low, mean + high];
            Some((Figure::Unexpected, Form::Time { length: 5.0, ns }))
        }
        "queues.unexpected-gain" => {
            let ns = between(unexpected, low)?;
            Some((Figure::Unexpected, Form::Length { length: low, ns }))
        }
        flat => {
            let variant = named(flat.strip_prefix("queues.flat-")?)?;
            let ns = curve(variant, 100)?.points.first()?.ns;
            Some((Figure::Posted(variant), Form::Length { length: low, ns }))
        }
    }
}

impl Drawn<'_> {
    /// The greatest time of it.
    pub fn most(&self) -> f64 {
        match self.form {
            Form::Time { ns: [_, high], .. } => high,
            Form::Slope { lengths: [first, last], from, each } => from + (last - first) * each,
            Form::Length { ns, .. } => ns,
        }
    }

    /// Its mark; the vertical scale is in microseconds.
    pub fn mark(&self, x: &Scale, y: &Scale) -> Markup {
        let y = |ns: f64| y.at(ns / 1e3);
        let mark = |length: f64, ns: f64, value: f64| {
            published::mark(self.index, &self.overlaid.comparison, x.at(length), y(ns), value)
        };
        match self.form {
            Form::Time { length, ns: [low, high] } => {
                let at = n(x.at(length));
                html! {
                    @if low < high {
                        line class="range" x1=(at) x2=(at) y1=(n(y(low))) y2=(n(y(high))) {}
                    }
                    (mark(length, (low + high) / 2.0, (low + high) / 2.0))
                }
            }
            Form::Slope { lengths: [first, last], from, .. } => html! {
                line class="saving" x1=(n(x.at(first))) x2=(n(x.at(last))) y1=(n(y(from)))
                    y2=(n(y(self.most()))) {}
                (mark(last, self.most(), self.most()))
            },
            Form::Length { length, ns } => {
                let at = n(x.at(length));
                html! {
                    line class="saving" x1=(at) x2=(at) y1=(n(y(0.0))) y2=(n(y(ns))) {}
                    (mark(length, ns, length))
                }
            }
        }
    }
}
