//! Types as loops beside types as lists of everything that is in them.

use super::constructor::{Block, Share};
use super::recipe::{Ingredient, Ingredients, Recipe};
use super::{predefined, Run, Type};
use proptest::prelude::*;
use std::rc::Rc;

fn named(name: &str) -> Type {
    predefined().into_iter().find(|t| t.1.name == name).expect("a predefined type").1
}

/// A type with all its predefined items one by one.
#[derive(Clone, Debug)]
struct Listed {
    /// Offset and bytes of each.
    items: Vec<(i64, u64)>,
    lower_bound: i64,
    extent: i64,
    resized: bool,
    alignment: i64,
    elements: u64,
}

impl Listed {
    fn leaf(name: &str) -> Listed {
        let (items, extent, alignment) = match name {
            "MPI_CHAR" => (vec![(0, 1)], 1, 1),
            "MPI_INT" => (vec![(0, 4)], 4, 4),
            "MPI_SHORT_INT" => (vec![(0, 2), (4, 4)], 8, 4),
            _ => unreachable!("no leaf"),
        };
        Listed { items, lower_bound: 0, extent, resized: false, alignment, elements: 1 }
    }

    /// Every single item at its place.
    fn of(places: &[(i64, &Listed)]) -> Listed {
        let places = || places.iter().filter(|(_, of)| of.elements > 0 || of.resized);
        let resized = places().any(|(_, of)| of.resized);
        let bounding = || places().filter(|(_, of)| of.resized == resized);
        let lower = bounding().map(|(at, of)| at + of.lower_bound).min().unwrap_or(0);
        let upper = bounding().map(|(at, of)| at + of.lower_bound + of.extent).max().unwrap_or(0);
        let shifted = |&(at, of): &(i64, &Listed)| {
            of.items.iter().map(move |&(offset, bytes)| (at + offset, bytes)).collect::<Vec<_>>()
        };
        Listed {
            items: places().flat_map(shifted).collect(),
            lower_bound: lower,
            extent: upper - lower,
            resized,
            alignment: places().map(|(_, of)| of.alignment).max().unwrap_or(1),
            elements: places().map(|(_, of)| of.elements).sum(),
        }
    }

    fn block(&self, offset: i64, count: u64) -> Vec<(i64, &Listed)> {
        (0..count as i64).map(|i| (offset + i * self.extent, self)).collect()
    }

    fn vector(&self, count: u64, block: u64, stride: i64) -> Listed {
        let places = (0..count as i64).flat_map(|i| self.block(i * stride, block));
        Listed::of(&places.collect::<Vec<_>>())
    }

    fn structure(blocks: &[(i64, u64, &Listed)]) -> Listed {
        let places = blocks.iter().flat_map(|&(offset, count, of)| of.block(offset, count));
        let mut new = Listed::of(&places.collect::<Vec<_>>());
        if !new.resized {
            new.extent = (new.extent + new.alignment - 1) / new.alignment * new.alignment;
        }
        new
    }

    fn with_bounds(&self, lower_bound: i64, extent: i64) -> Listed {
        Listed { lower_bound, extent, resized: true, ..self.clone() }
    }

    /// A process's part of an array in one dimension: item by item, with its owner.
    fn spread(&self, whole: u64, block: u64, processes: u64, at: u64) -> Listed {
        let mine = (0..whole).filter(|item| item / block % processes == at);
        let places: Vec<_> = mine.map(|item| (item as i64 * self.extent, self)).collect();
        Listed::of(&places).with_bounds(0, self.extent * whole as i64)
    }

    /// Runs of so many items that hold the first bytes.
    fn runs(&self, count: u64, bytes: u64) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut left = bytes;
        for item in 0..count as i64 {
            let first = runs.len();
            for &(offset, length) in &self.items {
                let (offset, length) = (item * self.extent + offset, length.min(left));
                left -= length;
                match runs[first..].last_mut() {
                    _ if length == 0 => {}
                    Some(last) if last.offset + last.length as i64 == offset => {
                        last.length += length;
                    }
                    _ => runs.push(Run { offset, length }),
                }
            }
        }
        runs
    }
}

/// One more type, out of those before: `usize` chooses one.
#[derive(Clone, Debug)]
enum Step {
    Vector(usize, u64, u64, i64),
    Structure(Vec<(usize, i64, u64)>),
    Resized(usize, i64, i64),
    Subarray(usize, [u64; 2], [u64; 2], [u64; 2]),
    Spread(usize, u64, u64, u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let chosen = || any::<usize>();
    let block = (chosen(), -24..40i64, 0..4u64);
    prop_oneof![
        (chosen(), 0..5u64, 0..4u64, -20..30i64).prop_map(|(t, n, b, s)| Step::Vector(t, n, b, s)),
        prop::collection::vec(block, 0..5).prop_map(Step::Structure),
        (chosen(), -8..8i64, -8..40i64).prop_map(|(t, lb, extent)| Step::Resized(t, lb, extent)),
        (chosen(), [1..4u64, 1..4], [0..2u64, 0..2], [0..2u64, 0..2])
            .prop_map(|(t, part, start, after)| Step::Subarray(t, part, start, after)),
        (chosen(), 1..12u64, 1..5u64, 1..4u64, 0..3u64)
            .prop_map(|(t, whole, block, n, at)| Step::Spread(t, whole, block, n, at % n)),
    ]
}

/// The share of a process, as one would count it.
fn share(whole: u64, block: u64, processes: u64, at: u64) -> Share {
    let (first, step) = (at * block, block * processes);
    let mut share = Share { first, block, step, ..Share::default() };
    for begin in (first..whole).step_by(step as usize) {
        match whole - begin {
            rest if rest < block => share.rest = (begin, rest),
            _ => share.blocks += 1,
        }
    }
    share
}

fn make(step: &Step, all: &[(Type, Listed)]) -> (Type, Listed) {
    let of = |chosen: &usize| &all[chosen % all.len()];
    match step {
        Step::Vector(chosen, count, block, stride) => {
            let (new, old) = of(chosen);
            let new = new.vector(*count, *block, *stride).expect("small");
            (new, old.vector(*count, *block, *stride))
        }
        Step::Structure(blocks) => {
            let new: Vec<_> =
                blocks.iter().map(|(t, at, n)| Block::new(*at, *n, &of(t).0)).collect();
            let old: Vec<_> = blocks.iter().map(|(t, at, n)| (*at, *n, &of(t).1)).collect();
            (Type::structure(&new).expect("small"), Listed::structure(&old))
        }
        Step::Resized(chosen, lower, extent) => {
            let (new, old) = of(chosen);
            (new.with_bounds(*lower, *extent), old.with_bounds(*lower, *extent))
        }
        Step::Subarray(chosen, part, start, after) => {
            let (new, old) = of(chosen);
            let whole = [0, 1].map(|d| start[d] + part[d] + after[d]);
            let (row, all) =
                (old.extent * whole[1] as i64, old.extent * (whole[0] * whole[1]) as i64);
            let rows = (start[0]..start[0] + part[0]).map(|y| y as i64 * row);
            let first = start[1] as i64 * old.extent;
            let places: Vec<_> = rows.flat_map(|y| old.block(y + first, part[1])).collect();
            let listed = Listed::of(&places).with_bounds(0, all);
            (new.subarray(&whole, part, start).expect("small"), listed)
        }
        Step::Spread(chosen, whole, block, processes, at) => {
            let (new, old) = of(chosen);
            let dimension = (*whole, share(*whole, *block, *processes, *at));
            let new = new.distributed(&[dimension]).expect("small");
            (new, old.spread(*whole, *block, *processes, *at))
        }
    }
}

/// Everything that can be asked.
fn compare(new: &Type, old: &Listed, count: u64, part: u64) -> Result<(), TestCaseError> {
    let size = old.items.iter().map(|item| item.1).sum::<u64>();
    prop_assert_eq!((new.size, new.elements), (size, old.elements));
    prop_assert_eq!((new.lower_bound, new.extent), (old.lower_bound, old.extent));
    prop_assert_eq!((new.resized, new.alignment as i64), (old.resized, old.alignment));
    prop_assert_eq!(new.layout.first(), old.items.first().map(|item| item.0));
    let all = count * size;
    for bytes in [all, all * part / 1000] {
        prop_assert_eq!(new.runs_of(count, bytes).collect::<Vec<_>>(), old.runs(count, bytes));
    }
    let runs = old.runs(1, size);
    let low = runs.iter().map(|run| run.offset).min().unwrap_or(0);
    let high = runs.iter().map(|run| run.offset + run.length as i64).max().unwrap_or(0);
    prop_assert_eq!(new.span(1), (low, high));
    let gapless = count <= 1 || old.extent == size as i64;
    let contiguous = runs.is_empty() || gapless && runs.len() == 1 && runs[0].offset == 0;
    prop_assert_eq!(new.is_contiguous(count), contiguous);
    // The second item is begun.
    let sizes: Vec<u64> = old.items.iter().chain(&old.items).map(|item| item.1).collect();
    let mut bytes = 0;
    for (atoms, &next) in sizes.iter().enumerate().take(sizes.len().min(300)) {
        prop_assert_eq!(new.bytes_of(atoms as u64), Some(bytes));
        prop_assert_eq!(new.elements_in(bytes), Some(atoms as u64));
        for cut in 1..next {
            prop_assert_eq!(new.elements_in(bytes + cut), None);
        }
        bytes += next;
    }
    Ok(())
}

proptest! {
    #[test]
    fn loops_hold_what_lists_hold(
        steps in prop::collection::vec(step(), 1..7),
        count in 0..4u64,
        part in 0..1000u64,
    ) {
        let mut all: Vec<(Type, Listed)> = ["MPI_CHAR", "MPI_INT", "MPI_SHORT_INT"]
            .map(|name| (named(name), Listed::leaf(name)))
            .into();
        for step in &steps {
            let (new, old) = make(step, &all);
            if old.items.len() > 2000 {
                break;
            }
            compare(&new, &old, count, part)?;
            all.push((new, old));
        }
    }
}

const MANY: u64 = 1 << 60;

/// Pieces that are kept, and the first runs.
fn glance(t: &Type) -> (usize, Vec<(i64, u64)>) {
    let runs = t.runs_of(3, u64::MAX).take(3).map(|run| (run.offset, run.length));
    (t.layout.pieces(), runs.collect())
}

#[test]
fn repetition_costs_nothing() {
    let (char, int) = (named("MPI_CHAR"), named("MPI_INT"));
    let two = char.clone();
    let t = char.with_bounds(0, 0).contiguous(MANY).expect("legal");
    assert_eq!((t.size, t.extent), (MANY, 0));
    assert_eq!(glance(&t), (2, vec![(0, 1); 3]));

    let t = char.vector(MANY, 1, 2).expect("legal");
    assert_eq!(
        (t.size, t.extent, t.span(1)),
        (MANY, 2 * MANY as i64 - 1, (0, 2 * MANY as i64 - 1))
    );
    assert_eq!(glance(&t), (2, vec![(0, 1), (2, 1), (4, 1)]));
    assert_eq!((t.elements_in(MANY - 7), t.bytes_of(MANY + 3)), (Some(MANY - 7), Some(MANY + 3)));

    let mut cube = char;
    for stride in [2, 1 << 22, 1 << 43] {
        cube = cube.vector(1 << 20, 1, stride).expect("legal");
    }
    assert_eq!(cube.size, MANY);
    assert_eq!(glance(&cube), (4, vec![(0, 1), (2, 1), (4, 1)]));

    let members = [Block::new(0, 2, &two), Block::new(8, 1, &int)];
    let t = Type::structure(&members).expect("legal").contiguous(1 << 58).expect("legal");
    assert_eq!((t.size, t.elements), (6 << 58, 3 << 58));
    assert_eq!(glance(&t), (3, vec![(0, 2), (8, 6), (20, 6)]));
    assert_eq!(
        (t.elements_in((6 << 50) + 2), t.elements_in((6 << 50) + 3)),
        (Some((3 << 50) + 2), None)
    );

    let (whole, part, start) = ([1 << 20; 3], [1 << 19; 3], [1 << 18; 3]);
    let t = named("MPI_CHAR").subarray(&whole, &part, &start).expect("legal");
    let first = (1 << 58) + (1 << 38) + (1 << 18);
    assert_eq!((t.size, t.extent), (1 << 57, 1 << 60));
    assert_eq!(
        glance(&t),
        (3, vec![(first, 1 << 19), (first + (1 << 20), 1 << 19), (first + (2 << 20), 1 << 19)])
    );

    let blocks = Share { first: 1, block: 1, blocks: MANY / 2, step: 2, rest: (0, 0) };
    let t = named("MPI_CHAR").distributed(&[(MANY, blocks)]).expect("legal");
    assert_eq!((t.size, t.extent), (MANY / 2, MANY as i64));
    assert_eq!(glance(&t), (2, vec![(1, 1), (3, 1), (5, 1)]));
}

#[test]
fn what_spans_more_than_there_is_is_refused() {
    let double = named("MPI_DOUBLE");
    let none = double.with_bounds(0, 0);
    assert!(double.contiguous(MANY).is_err());
    assert!(none.contiguous(MANY).is_err(), "MPI_Type_size_c could not tell its size");
    assert!(double.contiguous(u64::MAX / 2).is_err());
    assert!(double.vector(3, 1, i64::MAX).is_err());
    assert!(double.vector(1 << 40, 1, -(1 << 40)).is_err());
    assert!(double.indexed(&[(i64::MAX - 3, 1)]).is_err());
    assert!(double.with_bounds(i64::MAX, i64::MAX).contiguous(2).is_err());
    assert!(double.vector(0, MANY, i64::MAX).is_ok());
}

#[test]
fn types_may_nest_as_deep_as_they_like() {
    let char = named("MPI_CHAR");
    let mut t = named("MPI_INT");
    for depth in 0..200_000 {
        let members = [Block::new(0, 1, &t), Block::new(2 * depth + 5, 1, &char)];
        let types = Ingredients(vec![Ingredient::Derived(Rc::new(t.clone()))]);
        let recipe = Some(Rc::new(Recipe { types, ..Recipe::new(0) }));
        let made = Type::build("a structure type", &members).expect("legal");
        t = Type { recipe, ..made };
    }
    assert_eq!(t.runs_of(1, t.size).count(), 200_001);
    assert_eq!(t.elements_in(t.size - 1), Some(200_000));
    drop(t);
}
