//! Ranks in a grid.

use crate::constant::PROC_NULL;

/// A grid: the last dimension varies fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cartesian {
    /// Ranks in each dimension, and whether it is a ring.
    pub dimensions: Vec<(u32, bool)>,
}

impl Cartesian {
    /// Ranks in all; None if they are more than a number holds.
    pub fn size(&self) -> Option<u64> {
        let mut lengths = self.dimensions.iter().map(|&(length, _)| u64::from(length));
        lengths.try_fold(1u64, |size, length| size.checked_mul(length))
    }
    /// Coordinates of a rank.
    pub fn coordinates(&self, rank: u32) -> Vec<i32> {
        let mut left = rank;
        let mut coordinates: Vec<i32> = (self.dimensions.iter().rev())
            .map(|&(length, _)| {
                let here = left % length;
                left /= length;
                here as i32
            })
            .collect();
        coordinates.reverse();
        coordinates
    }
    /// Rank at these coordinates; `None` outside of the grid.
    pub fn rank(&self, coordinates: &[i32]) -> Option<u32> {
        let mut rank = 0;
        for (&(length, ring), &at) in self.dimensions.iter().zip(coordinates) {
            let place = if ring { at.rem_euclid(length as i32) } else { at };
            let place = u32::try_from(place).ok().filter(|&place| place < length)?;
            rank = rank * length + place;
        }
        Some(rank)
    }
    /// The rank `distance` away from `rank`, or MPI_PROC_NULL.
    pub fn neighbour(&self, rank: u32, dimension: usize, distance: i32) -> i32 {
        let mut coordinates = self.coordinates(rank);
        let moved = coordinates[dimension].checked_add(distance);
        coordinates[dimension] = moved.unwrap_or(-1);
        self.rank(&coordinates).map_or(PROC_NULL, |rank| rank as i32)
    }
}

/// Splits `nodes` into factors for the dimensions that are free, as equal as they can be, the
/// larger first; None if that is impossible.
pub fn balance(nodes: u32, free: usize) -> Option<Vec<u32>> {
    match (nodes, free) {
        (1, 0) => return Some(Vec::new()),
        (_, 0) => return None,
        _ => {}
    }
    // No more factors are larger than 1: so many dimensions are searched, and the rest is 1.
    let searched = free.min(nodes.ilog2() as usize + 1);
    let mut search = Search { divisors: divisors(nodes), chosen: Vec::new(), best: None };
    search.go_on(nodes, searched, nodes);
    search.best.map(|(_, mut best)| {
        best.resize(free, 1);
        best
    })
}

/// All divisors, rising.
fn divisors(of: u32) -> Vec<u32> {
    let small = (1..=of.isqrt()).filter(|divisor| of % divisor == 0);
    let mut all: Vec<u32> = small.flat_map(|divisor| [divisor, of / divisor]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Tries all factors that do not rise, except those that cannot be better than the best so far: a number
/// below 2^31 may have a million products of factors.
struct Search {
    divisors: Vec<u32>,
    chosen: Vec<u32>,
    /// Best factors so far: difference of the largest and the smallest factor, and the largest; and all
    /// factors.
    best: Option<((u32, u32), Vec<u32>)>,
}

impl Search {
    /// Splits `nodes` into `free` more factors up to `limit`.
    fn go_on(&mut self, nodes: u32, free: usize, limit: u32) {
        let first = self.chosen.first().copied();
        if free == 1 {
            if nodes > limit {
                return;
            }
            let first = first.unwrap_or(nodes);
            let spread = (first - nodes, first);
            if self.best.as_ref().is_none_or(|(best, _)| spread < *best) {
                let factors = self.chosen.iter().copied().chain([nodes]).collect();
                self.best = Some((spread, factors));
            }
            return;
        }
        for index in 0..self.divisors.len() {
            let factor = self.divisors[index];
            if factor > limit {
                break;
            }
            // The others are not larger, and the smallest of them is not larger than their mean.
            let is_enough = u64::from(factor).checked_pow(free as u32);
            if nodes % factor != 0 || is_enough.is_some_and(|most| most < nodes.into()) {
                continue;
            }
            let (rest, first) = (nodes / factor, first.unwrap_or(factor));
            let exceeds_mean = |low: u32| {
                u64::from(low).checked_pow(free as u32 - 1).is_none_or(|p| p > rest.into())
            };
            let is_worse = self.best.as_ref().is_some_and(|&((spread, largest), _)| {
                // The smallest factor would have to be at least this.
                let least = first.saturating_sub(spread);
                exceeds_mean(least) || least > 0 && first > largest && exceeds_mean(least + 1)
            });
            if is_worse {
                continue;
            }
            self.chosen.push(factor);
            self.go_on(rest, free - 1, factor);
            self.chosen.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_square_as_they_can_be() {
        for (nodes, free, wanted) in [
            (6, 2, vec![3, 2]),
            (12, 2, vec![4, 3]),
            (7, 2, vec![7, 1]),
            (8, 3, vec![2, 2, 2]),
            (24, 3, vec![4, 3, 2]),
            (1, 2, vec![1, 1]),
            (1024, 3, vec![16, 8, 8]),
        ] {
            assert_eq!(balance(nodes, free), Some(wanted), "{nodes} in {free}");
        }
        assert_eq!(balance(2, 0), None);
        // It has 1536 divisors and some 10^6 products of ten factors.
        let many = balance(2_095_133_040, 10).expect("possible");
        assert_eq!(many.iter().product::<u32>(), 2_095_133_040);
        let many = balance(12, 20_000).expect("possible");
        assert_eq!((&many[..4], many.len()), (&[3, 2, 2, 1][..], 20_000));
        assert_eq!(Cartesian { dimensions: vec![(1 << 16, false); 4] }.size(), None);
    }

    /// All products of factors that do not rise, in their order.
    fn products(of: u32, free: usize, limit: u32) -> Vec<Vec<u32>> {
        if free == 0 {
            return if of == 1 { vec![Vec::new()] } else { Vec::new() };
        }
        let factors = (1..=limit.min(of)).filter(|factor| of % factor == 0);
        let with = |factor: u32| {
            let rest = products(of / factor, free - 1, factor);
            rest.into_iter().map(move |rest| [vec![factor], rest].concat())
        };
        factors.flat_map(with).collect()
    }

    #[test]
    fn what_is_not_tried_is_not_better() {
        for (nodes, free) in (1..700).flat_map(|nodes| (1..5).map(move |free| (nodes, free))) {
            let all = products(nodes, free, nodes);
            let spread = |factors: &Vec<u32>| (factors[0] - factors[free - 1], factors[0]);
            let best = all.iter().min_by_key(|factors| spread(factors));
            assert_eq!(balance(nodes, free).as_ref(), best, "{nodes} in {free}");
        }
    }

    #[test]
    fn rings_close_and_edges_end() {
        let grid = Cartesian { dimensions: vec![(3, true), (2, false)] };
        for rank in 0..6 {
            assert_eq!(grid.rank(&grid.coordinates(rank)), Some(rank));
        }
        assert_eq!(grid.coordinates(3), [1, 1]);
        assert_eq!(grid.neighbour(0, 0, -1), 4);
        assert_eq!(grid.neighbour(0, 1, -1), PROC_NULL);
        assert_eq!(grid.neighbour(0, 1, 1), 1);
    }
}
