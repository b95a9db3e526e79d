//! How long the rest of a sweep takes.
//!
//! What a point takes is the mean of all that are done, times a factor for each of its values: how much
//! longer than the mean those took that had this value. A value that none had yet is like the one before it.

/// Wall time of points that are done, by value.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    seconds: f64,
    points: u32,
}

impl Sum {
    fn add(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.points += 1;
    }
    fn mean(self) -> Option<f64> {
        (self.points > 0).then(|| self.seconds / f64::from(self.points))
    }
}

/// What is known of the time that points take.
#[derive(Debug)]
pub struct Estimate {
    all: Sum,
    /// By axis and value.
    values: Vec<Vec<Sum>>,
}

impl Estimate {
    /// Of a sweep with so many values on each axis.
    pub fn new(lengths: &[usize]) -> Estimate {
        let values = lengths.iter().map(|values| vec![Sum::default(); *values]).collect();
        Estimate { all: Sum::default(), values }
    }

    /// Takes in a point that is done.
    pub fn add(&mut self, position: &[usize], seconds: f64) {
        self.all.add(seconds);
        for (values, at) in self.values.iter_mut().zip(position) {
            values[*at].add(seconds);
        }
    }

    /// Seconds that a point will take; `None` as long as nothing is done.
    pub fn of(&self, position: &[usize]) -> Option<f64> {
        let mean = self.all.mean().filter(|mean| *mean > 0.0)?;
        let factor = |(values, at): (&Vec<Sum>, &usize)| {
            let known = values[..=*at].iter().rev().find_map(|sum| sum.mean());
            known.map_or(1.0, |of_value| of_value / mean)
        };
        Some(mean * self.values.iter().zip(position).map(factor).product::<f64>())
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

    #[test]
    fn what_is_known_of_values_is_used_for_points_with_them() {
        let mut estimate = Estimate::new(&[2, 3]);
        assert_eq!(estimate.of(&[0, 0]), None);
        estimate.add(&[0, 0], 1.0);
        assert_eq!(estimate.of(&[1, 2]), Some(1.0));
        estimate.add(&[0, 1], 3.0);
        // The third value is like the second one, and the first axis has told nothing yet.
        assert_eq!(estimate.of(&[0, 2]), Some(3.0));
        estimate.add(&[0, 2], 8.0);
        let sum: f64 = (0..3).map(|at| estimate.of(&[1, at]).unwrap()).sum();
        assert!((sum - 12.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn spans_are_short() {
        let cases = [(0.2, "0 s"), (61.0, "1 min 01 s"), (7500.0, "2 h 05 min")];
        for (seconds, text) in cases {
            assert_eq!(span(seconds), text);
        }
    }
}
