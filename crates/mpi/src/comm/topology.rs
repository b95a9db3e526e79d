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
    /// Where a rank stands.
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
    /// Who stands there; None outside of the grid.
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
    let mut best: Option<Vec<u32>> = None;
    let mut chosen = Vec::with_capacity(searched);
    search(nodes, searched, nodes, &mut chosen, &mut best);
    best.map(|mut best| {
        best.resize(free, 1);
        best
    })
}

/// Tries all factors that do not rise.
fn search(nodes: u32, free: usize, limit: u32, chosen: &mut Vec<u32>, best: &mut Option<Vec<u32>>) {
    if free == 1 {
        if nodes > limit {
            return;
        }
        chosen.push(nodes);
        let spread = |factors: &[u32]| (factors[0] - factors[factors.len() - 1], factors[0]);
        if best.as_ref().is_none_or(|best| spread(chosen) < spread(best)) {
            *best = Some(chosen.clone());
        }
        chosen.pop();
        return;
    }
    let mut divisor = 1;
    let mut divisors = Vec::new();
    while u64::from(divisor) * u64::from(divisor) <= u64::from(nodes) {
        if nodes % divisor == 0 {
            divisors.push(divisor);
            divisors.push(nodes / divisor);
        }
        divisor += 1;
    }
    divisors.sort_unstable();
    divisors.dedup();
    for factor in divisors.into_iter().filter(|&factor| factor <= limit) {
        chosen.push(factor);
        search(nodes / factor, free - 1, factor, chosen, best);
        chosen.pop();
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
        let many = balance(12, 20_000).expect("possible");
        assert_eq!((&many[..4], many.len()), (&[3, 2, 2, 1][..], 20_000));
        assert_eq!(Cartesian { dimensions: vec![(1 << 16, false); 4] }.size(), None);
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
