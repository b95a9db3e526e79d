//! Estimate of the time that the rest of a sweep takes.
//!
//! The time of a point is modelled as a product: a time that all share, and a factor for each of its values.
//! The factors are fitted to the finished points, which have only some of the values: so the cost of one axis
//! is not attributed to another. A value without finished points has the factor of the one before.

/// Number of points to which the factors are fitted: the last ones.
const POINTS_MAX: usize = 2000;
/// Iterations of the fit: in each, every axis is fitted to the rest of the others.
const TURNS: usize = 20;

/// Model of the time that points take.
#[derive(Debug)]
pub struct Estimate {
    /// Positions, and logarithms of seconds.
    points: Vec<(Vec<usize>, f64)>,
    /// Logarithm of the time that all share.
    common: f64,
    /// Logarithms of factors, by axis and value.
    factors: Vec<Vec<Option<f64>>>,
    fitted: bool,
}

impl Estimate {
    /// Estimate of a sweep with so many values on each axis.
    pub fn new(lengths: &[usize]) -> Estimate {
        let factors = lengths.iter().map(|values| vec![None; *values]).collect();
        Estimate { points: Vec::new(), common: 0.0, factors, fitted: true }
    }

    /// Adds a finished point.
    pub fn add(&mut self, position: Vec<usize>, seconds: f64) {
        if self.points.len() >= 2 * POINTS_MAX {
            self.points.drain(..POINTS_MAX);
        }
        self.points.push((position, seconds.max(1e-3).ln()));
        self.fitted = false;
    }

    /// Seconds that points will take; `None` as long as nothing is done.
    pub fn of(&mut self, positions: impl Iterator<Item = Vec<usize>>) -> Option<f64> {
        if !self.fitted {
            self.fit();
        }
        (!self.points.is_empty()).then(|| positions.map(|position| self.one(&position)).sum())
    }

    fn one(&self, position: &[usize]) -> f64 {
        let known = |(factors, at): (&Vec<Option<f64>>, &usize)| {
            factors[..=*at].iter().rev().find_map(|factor| *factor).unwrap_or(0.0)
        };
        let factors: f64 = self.factors.iter().zip(position).map(known).sum();
        (self.common + factors).exp()
    }

    /// Fits the factors, one axis after the other, to the rest of the others.
    fn fit(&mut self) {
        self.fitted = true;
        let points = &self.points[self.points.len().saturating_sub(POINTS_MAX)..];
        self.common = points.iter().map(|(_, ln)| ln).sum::<f64>() / points.len() as f64;
        for factors in &mut self.factors {
            factors.fill(None);
        }
        for _ in 0..TURNS {
            for axis in 0..self.factors.len() {
                let mut sums = vec![(0.0, 0_u32); self.factors[axis].len()];
                for (position, ln) in points {
                    let of = |other: usize| self.factors[other][position[other]].unwrap_or(0.0);
                    let others = (0..position.len()).filter(|other| *other != axis).map(of);
                    let (sum, count) = &mut sums[position[axis]];
                    *sum += ln - self.common - others.sum::<f64>();
                    *count += 1;
                }
                let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
                self.factors[axis] = sums.into_iter().map(mean).collect();
            }
        }
    }
}

/// `2 h 05 min`, `3 min 20 s`, `9 s`.
pub fn span(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes} min {rest:02} s"),
        _ => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(estimate: &mut Estimate, position: [usize; 2], seconds: f64) {
        let said = estimate.of([position.to_vec()].into_iter()).unwrap();
        assert!((said / seconds - 1.0).abs() < 0.02, "{position:?}: {said}, not {seconds}");
    }

    #[test]
    fn what_is_known_of_values_is_used_for_points_with_them() {
        let mut estimate = Estimate::new(&[2, 3]);
        assert_eq!(estimate.of([vec![0, 0]].into_iter()), None);
        estimate.add(vec![0, 0], 1.0);
        near(&mut estimate, [1, 2], 1.0);
        estimate.add(vec![0, 1], 3.0);
        // The third value is like the second one, and the first axis has told nothing yet.
        near(&mut estimate, [0, 2], 3.0);
        estimate.add(vec![0, 2], 8.0);
        let all = (0..3).map(|at| vec![1, at]);
        assert!((estimate.of(all).unwrap() - 12.0).abs() < 0.1);
    }

    #[test]
    fn an_axis_is_not_blamed_for_what_another_one_costs() {
        let mut estimate = Estimate::new(&[4, 2]);
        estimate.add(vec![0, 0], 1.0);
        estimate.add(vec![0, 1], 10.0);
        // Of the second value only the quick point is done yet.
        estimate.add(vec![1, 0], 1.0);
        near(&mut estimate, [1, 1], 10.0);
        near(&mut estimate, [3, 0], 1.0);
        near(&mut estimate, [3, 1], 10.0);
    }

    #[test]
    fn spans_are_short() {
        let cases = [(0.2, "0 s"), (61.0, "1 min 01 s"), (7500.0, "2 h 05 min")];
        for (seconds, text) in cases {
            assert_eq!(span(seconds), text);
        }
    }
}
