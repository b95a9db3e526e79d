//! Drawing: scales, ticks and axes of a chart, as inline SVG that takes its colours from the page's style.

use maud::{html, Markup};

/// Width and height of a drawing.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

/// Positions on a drawing between which an axis lies.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub start: f64,
    pub end: f64,
}

/// Scale from numbers to positions on the drawing.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    from: f64,
    to: f64,
    extent: Extent,
    log: bool,
}

impl Scale {
    /// Linear scale from 0 to a number.
    pub fn linear(to: f64, extent: Extent) -> Scale {
        Scale { from: 0.0, to, extent, log: false }
    }
    /// Logarithmic scale; both ends are positive.
    pub fn log(from: f64, to: f64, extent: Extent) -> Scale {
        Scale { from: from.log2(), to: to.log2(), extent, log: true }
    }
    /// Scale of sizes of messages: logarithmic, with no bytes as far before one byte as one is before two.
    pub fn sizes(largest: u64, extent: Extent) -> Scale {
        Scale::log(NO_BYTES, largest.max(2) as f64, extent)
    }
    /// Position of a number.
    pub fn at(&self, number: f64) -> f64 {
        let number = if self.log { number.max(f64::MIN_POSITIVE).log2() } else { number };
        let span = if self.to == self.from { 1.0 } else { self.to - self.from };
        let Extent { start, end } = self.extent;
        start + (end - start) * (number - self.from) / span
    }
    /// Position of a size, on a scale of sizes.
    pub fn at_size(&self, bytes: u64) -> f64 {
        self.at(if bytes == 0 { NO_BYTES } else { bytes as f64 })
    }
}

/// Position of messages of no bytes, as a number of bytes, on an axis of sizes that begins at one byte and
/// cannot show zero.
const NO_BYTES: f64 = 0.5;

/// A mark on an axis: its position and its text.
pub type Tick = (f64, String);

/// Numbers from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten.
pub fn round_steps(most: f64, wanted: usize) -> Vec<f64> {
    let most = if most > 0.0 { most } else { 1.0 };
    let rough = most / wanted.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power);
    let count = (most / step - 1e-9).ceil().max(1.0) as usize;
    (0..=count).map(|number| number as f64 * step).collect()
}

/// 1, 2 and 5 times powers of ten, from just below `least` to just above `most`, which are positive.
pub fn ratios(least: f64, most: f64) -> Vec<f64> {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10_f64.powi(power)));
    let all: Vec<f64> = all.collect();
    let start = all.iter().rposition(|tick| *tick <= least).unwrap_or(0);
    let end = all.iter().position(|tick| *tick >= most).unwrap_or(all.len() - 1);
    all[start..=end.max(start + 1).min(all.len() - 1)].to_vec()
}

/// Sizes up to `largest` for the marks of an axis: no bytes, and powers of two.
pub fn sizes(largest: u64, every: usize) -> Vec<u64> {
    let powers = (0..u64::BITS - 1).map(|power| 1 << power).take_while(|size| *size <= largest);
    std::iter::once(0).chain(powers.step_by(every)).collect()
}

/// A coordinate with as many digits as are visible.
pub fn n(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Space around the plotted area.
pub const LEFT: f64 = 64.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// A chart: its frame, its axes, and what is drawn between them.
pub struct Chart<'a> {
    /// Size of the whole drawing.
    pub size: Size,
    /// Description of the chart, for readers who cannot see it.
    pub label: &'a str,
    /// Title under the horizontal axis.
    pub x_title: &'a str,
    /// Title beside the vertical axis.
    pub y_title: &'a str,
    /// Marks of the horizontal axis.
    pub x: Vec<Tick>,
    /// Marks of the vertical axis, each with a line across.
    pub y: Vec<Tick>,
}

impl Chart<'_> {
    /// Left and right end of the plotted area.
    pub fn across(size: Size) -> Extent {
        Extent { start: LEFT, end: size.width - RIGHT }
    }
    /// Lower and upper end of the plotted area.
    pub fn upwards(size: Size) -> Extent {
        Extent { start: size.height - BOTTOM, end: TOP }
    }

    /// The drawing, with `body` between its axes.
    pub fn draw(&self, body: &Markup) -> Markup {
        let Size { width, height } = self.size;
        let Extent { start: left, end: right } = Chart::across(self.size);
        let Extent { start: low, end: high } = Chart::upwards(self.size);
        let view = format!("0 0 {} {}", n(width), n(height));
        let turned = format!("rotate(-90 14 {})", n((low + high) / 2.0));
        html! {
            svg class="chart" viewBox=(view) role="img" aria-label=(self.label) {
                @for (y, text) in &self.y {
                    line class="grid" x1=(n(left)) x2=(n(right)) y1=(n(*y)) y2=(n(*y)) {}
                    text class="tick" x=(n(left - 8.0)) y=(n(y + 4.0)) text-anchor="end" { (text) }
                }
                @for (x, text) in &self.x {
                    line class="axis" x1=(n(*x)) x2=(n(*x)) y1=(n(low)) y2=(n(low + 4.0)) {}
                    text class="tick" x=(n(*x)) y=(n(low + 18.0)) text-anchor="middle" { (text) }
                }
                line class="axis" x1=(n(left)) x2=(n(right)) y1=(n(low)) y2=(n(low)) {}
                text class="title" x=(n((left + right) / 2.0)) y=(n(height - 6.0))
                    text-anchor="middle" { (self.x_title) }
                text class="title" x="14" y=(n((low + high) / 2.0)) text-anchor="middle"
                    transform=(turned) { (self.y_title) }
                (body)
            }
        }
    }
}

/// Number of different looks of series; more series repeat them.
pub const LOOKS: usize = 6;

/// The mark of a point in the look of its series: colours are not the only difference.
pub fn marker(look: usize, x: f64, y: f64, tip: &str, data: &[(&str, String)]) -> Markup {
    let look = look % LOOKS;
    let path = match look {
        0 => format!("M{} {}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0", n(x), n(y)),
        1 => format!("M{} {}h7v7h-7z", n(x - 3.5), n(y - 3.5)),
        2 => format!("M{} {}l4.5 8h-9z", n(x), n(y - 5.0)),
        3 => format!("M{} {}l4.5-8h-9z", n(x), n(y + 5.0)),
        4 => format!("M{} {}l4.5 4.5l-4.5 4.5l-4.5-4.5z", n(x), n(y - 4.5)),
        _ => format!("M{} {}h3v3h3v3h-3v3h-3v-3h-3v-3h3z", n(x - 1.5), n(y - 4.5)),
    };
    let class = format!("mark s{look}");
    let get = |name: &str| data.iter().find(|(key, _)| *key == name).map(|(_, value)| value);
    html! {
        path class=(class) d=(path) data-series=[get("series")] data-bytes=[get("bytes")]
            data-value=[get("value")] { title { (tip) } }
    }
}

/// A line through points in the look of its series.
pub fn line(look: usize, points: &[(f64, f64)]) -> Markup {
    let class = format!("line s{}", look % LOOKS);
    html! { polyline class=(class) points=(path(points)) {} }
}

/// Coordinates of points, one after the other.
pub fn path(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", n(*x), n(*y))).collect::<Vec<_>>().join(" ")
}

/// Sample of a series' look, for a legend.
pub fn swatch(look: usize) -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 30 12" aria-hidden="true" {
            (line(look, &[(1.0, 6.0), (29.0, 6.0)]))
            (marker(look, 15.0, 6.0, "", &[]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_their_ends_where_they_should_be() {
        let linear = Scale::linear(10.0, Extent { start: 100.0, end: 0.0 });
        assert_eq!([0.0, 5.0, 10.0].map(|number| linear.at(number)), [100.0, 50.0, 0.0]);
        let sizes = Scale::sizes(8, Extent { start: 0.0, end: 40.0 });
        let places = [0, 1, 2, 4, 8].map(|bytes| sizes.at_size(bytes));
        assert_eq!(places, [0.0, 10.0, 20.0, 30.0, 40.0]);
    }

    #[test]
    fn ticks_are_round_and_cover_what_is_drawn() {
        assert_eq!(round_steps(23.4, 5), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(
            round_steps(1.1, 6),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0, 1.2000000000000002]
        );
        assert_eq!(round_steps(0.0, 4).len(), 3);
        assert_eq!(ratios(4.9, 19.0), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(ratios(5.0, 5.0), [5.0, 10.0]);
        assert_eq!(super::sizes(1024, 2), [0, 1, 4, 16, 64, 256, 1024]);
        assert_eq!((n(3.0), n(2.25), n(-0.04)), ("3".into(), "2.2".into(), "-0".into()));
    }
}
