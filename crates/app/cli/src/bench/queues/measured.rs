//! Statements of brightwell2005 about its figures, as numbers taken from our curves.

use super::{Curve, Variant};
use std::collections::BTreeMap;

/// Names of measurements, descriptions, and units.
pub const TOLD: [(&str, &str, &str); 10] = [
    ("queues.entry", "a posted receive walked, from 20 to 100 of them", "ns"),
    ("queues.entry-beyond", "a posted receive walked, of all 500", "ns"),
    ("queues.full-400", "all of 400 walked", "us"),
    ("queues.part-500", "80 % of 500 walked", "us"),
    ("queues.penalty", "a unit more, at length 0", "ns"),
    ("queues.break-even", "a unit breaks even at", "receives"),
    ("queues.flat-128", "flat up to, with 128 cells", "receives"),
    ("queues.flat-256", "flat up to, with 256 cells", "receives"),
    ("queues.unexpected-loss", "a unit more, with at most 10 unexpected messages", "ns"),
    ("queues.unexpected-gain", "a unit gains from", "unexpected messages"),
];

/// Difference up to which times count as equal, in nanoseconds.
const FLAT: f64 = 50.0;
/// Number of unexpected messages that counts as few.
const FEW: u64 = 10;

/// All measurements that these curves give.
pub fn measurements(
    variants: &[Variant],
    posted: &[Curve],
    unexpected: &[Curve],
) -> BTreeMap<String, f64> {
    let curve = |variant: usize, percent: u64| {
        let is = |curve: &&Curve| curve.variant == variant && curve.percent == Some(percent);
        posted.iter().find(is)
    };
    let at = |variant, percent, length| curve(variant, percent)?.at(length);
    let mut named = BTreeMap::new();
    let mut name = |name: &str, value: Option<f64>| {
        named.extend(value.map(|value| (name.to_string(), value)));
    };
    // The time of walking a part of a queue: with the message's receive behind it, less that ahead of it.
    let walk = |percent, length| Some(at(0, percent, length)? - at(0, 0, length)?);
    let from_20_to_100 = || Some((walk(100, 100)? - walk(100, 20)?) / 80.0);
    name("queues.entry", from_20_to_100());
    name("queues.entry-beyond", walk(100, 500).map(|ns| ns / 500.0));
    name("queues.full-400", walk(100, 400).map(|ns| ns / 1e3));
    name("queues.part-500", walk(80, 500).map(|ns| ns / 1e3));
    let Some(last) = variants.len().checked_sub(1).filter(|last| *last > 0) else { return named };
    let more = |length| Some(at(last, 100, length)? - at(0, 100, length)?);
    name("queues.penalty", more(0));
    let whole = |variant| curve(variant, 100);
    name("queues.break-even", crossing(whole(0), whole(last)));
    for (number, variant) in variants.iter().enumerate().skip(1) {
        let cells = variant.name.split(' ').next().unwrap_or_default();
        name(&format!("queues.flat-{cells}"), whole(number).and_then(flat));
    }
    let of = |variant: usize| unexpected.iter().find(|curve| curve.variant == variant);
    name("queues.unexpected-loss", loss(of(0), of(last)));
    name("queues.unexpected-gain", crossing(of(0), of(last)));
    named
}

/// Length from which on a unit is never slower, by linear interpolation between two lengths.
fn crossing(without: Option<&Curve>, with: Option<&Curve>) -> Option<f64> {
    let (without, with) = (without?, with?);
    let pairs = without.points.iter().zip(&with.points);
    let gains: Vec<(f64, f64)> =
        pairs.map(|(off, on)| (off.length as f64, off.ns - on.ns)).collect();
    let Some(slower) = gains.iter().rposition(|(_, gain)| *gain < 0.0) else {
        return gains.first().map(|(length, _)| *length);
    };
    let [(a, before), (b, after)] = [gains[slower], *gains.get(slower + 1)?];
    Some(a + (b - a) * before / (before - after))
}

/// Last length up to which the time is that of the first.
fn flat(curve: &Curve) -> Option<f64> {
    let first = curve.points.first()?.ns;
    let same = curve.points.iter().take_while(|point| (point.ns - first).abs() <= FLAT);
    same.last().map(|point| point.length as f64)
}

/// Mean cost of a unit with few unexpected messages.
fn loss(without: Option<&Curve>, with: Option<&Curve>) -> Option<f64> {
    let pairs = without?.points.iter().zip(&with?.points);
    let few: Vec<f64> =
        pairs.filter(|(off, _)| off.length <= FEW).map(|(off, on)| on.ns - off.ns).collect();
    (!few.is_empty()).then(|| few.iter().sum::<f64>() / few.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::{Queued, PERCENTS};
    use super::*;
    use crate::bench::published::Published;
    use std::path::Path;
    use sunstar::root::Root;

    const LENGTHS: [u64; 15] = [0, 1, 2, 5, 10, 20, 50, 100, 127, 128, 200, 255, 256, 400, 500];

    fn curve(variant: usize, percent: Option<u64>, time: impl Fn(u64, u64) -> f64) -> Curve {
        let point = |&length: &u64| {
            let walked = length * percent.unwrap_or(100) / 100;
            Queued { length, walked, ns: time(length, walked) }
        };
        let points = LENGTHS.iter().map(point).collect();
        Curve { variant, percent, points, command: String::new() }
    }

    fn variants(names: &[&str]) -> Vec<Variant> {
        let variant = |name: &&str| Variant { name: name.to_string(), settings: Vec::new() };
        names.iter().map(variant).collect()
    }

    /// Made-up times: 15 ns for an entry, 64 ns if more than 300 are in the queue, and 80 ns for a unit of so
    /// many cells.
    fn time(cells: u64) -> impl Fn(u64, u64) -> f64 {
        move |length, walked| {
            let behind = if cells == 0 { walked } else { (walked + 1).saturating_sub(cells) };
            let each = if length > 300 { 64.0 } else { 15.0 };
            1000.0 + if cells > 0 { 80.0 } else { 0.0 } + behind as f64 * each
        }
    }

    #[test]
    fn what_the_paper_says_is_taken_from_the_curves() {
        let names = variants(&["no unit", "128 cells", "256 cells"]);
        let mut posted = Vec::new();
        let mut unexpected = Vec::new();
        for (variant, cells) in [0, 128, 256].into_iter().enumerate() {
            let all = PERCENTS.map(|percent| curve(variant, Some(percent), time(cells)));
            posted.extend(all);
            let slower = if cells > 0 { 30.0 } else { 0.0 };
            let late = |length: u64, _| 1000.0 + slower + length.saturating_sub(60) as f64 * 15.0;
            let never = move |_, _| 1030.0;
            unexpected.push(match cells {
                0 => curve(variant, None, late),
                _ => curve(variant, None, never),
            });
        }
        let measured = measurements(&names, &posted, &unexpected);
        let near = |name: &str, value: f64| {
            assert!((measured[name] - value).abs() < 1e-6, "{name}: {measured:?}");
        };
        near("queues.entry", 15.0);
        near("queues.entry-beyond", 64.0);
        near("queues.full-400", 25.6);
        near("queues.part-500", 25.6);
        near("queues.penalty", 80.0);
        near("queues.break-even", 5.0 + 5.0 * 5.0 / 75.0);
        near("queues.flat-128", 128.0);
        near("queues.flat-256", 256.0);
        near("queues.unexpected-loss", 30.0);
        near("queues.unexpected-gain", 50.0 + 50.0 * 30.0 / 600.0);
        assert_eq!(measured.len(), TOLD.len());
        // Without units only what is told of the list is left, and of short queues nothing.
        let one = measurements(&names[..1], &posted[..6], &unexpected[..1]);
        assert_eq!(one.len(), 4);
        posted.iter_mut().for_each(|curve| curve.points.truncate(4));
        assert!(measurements(&names[..1], &posted[..6], &[]).is_empty());
    }

    #[test]
    fn measurements_have_the_names_that_the_published_results_use() {
        let root = Root::at(Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap());
        let published = Published::of_paper(&root, "brightwell2005").unwrap();
        let used = published.iter().filter_map(|result| result.measurement.as_deref());
        let used: Vec<&str> = used.collect();
        assert_eq!(used, TOLD.map(|(name, ..)| name));
    }
}
