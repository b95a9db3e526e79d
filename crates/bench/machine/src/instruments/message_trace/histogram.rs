//! Histogram of times, whose buckets grow with the time, in memory for those between the least and the
//! greatest: each step of each class of messages has one, and most times of a step are alike. A bucket keeps
//! its greatest time, so that a percentile is a time that some message took, and never one too low.

use std::fmt;

/// Buckets between a power of two and the next.
const PARTS_BITS: u32 = 4;
const PARTS: usize = 1 << PARTS_BITS;
/// Times of this many bits and more share the last bucket: 1.1 hours of picoseconds.
const BITS: u32 = 52;
const BUCKETS: usize = (BITS - PARTS_BITS + 1) as usize * PARTS;

/// Count, sum, extremes and histogram of times in picoseconds. They can be added up in any order.
#[derive(Clone)]
pub(crate) struct Spread {
    pub count: u64,
    pub sum: u128,
    pub least: u64,
    pub most: u64,
    /// Number of the first bucket in `buckets`, which end with the last that was used.
    first: usize,
    buckets: Vec<Bucket>,
}

/// Times that are about as long.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    count: u64,
    most: u64,
}

impl Bucket {
    fn add(&mut self, other: Bucket) {
        self.count += other.count;
        self.most = self.most.max(other.most);
    }
}

impl Default for Spread {
    fn default() -> Spread {
        let (first, buckets) = Default::default();
        Spread { count: 0, sum: 0, least: u64::MAX, most: 0, first, buckets }
    }
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}..={}, sum {}", self.count, self.least, self.most, self.sum)
    }
}

/// The bucket of a time.
fn bucket(ps: u64) -> usize {
    let bits = u64::BITS - ps.leading_zeros();
    let shift = bits.saturating_sub(PARTS_BITS + 1);
    // Up to 2 * PARTS each time has a bucket of its own.
    let index = (shift as usize) * PARTS + (ps >> shift) as usize;
    index.min(BUCKETS - 1)
}

/// The least time of a bucket.
#[cfg(test)]
fn floor(bucket: usize) -> u64 {
    match bucket.checked_sub(2 * PARTS) {
        None => bucket as u64,
        Some(above) => {
            let shift = above / PARTS + 1;
            ((PARTS + above % PARTS) as u64) << shift
        }
    }
}

impl Spread {
    pub fn add(&mut self, ps: u64) {
        self.count += 1;
        self.sum += u128::from(ps);
        self.least = self.least.min(ps);
        self.most = self.most.max(ps);
        self.bucket_mut(bucket(ps)).add(Bucket { count: 1, most: ps });
    }

    pub fn merge(&mut self, other: &Spread) {
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        for (at, theirs) in (other.first..).zip(&other.buckets) {
            if theirs.count > 0 {
                self.bucket_mut(at).add(*theirs);
            }
        }
    }

    /// A bucket, for which there is room from now on.
    fn bucket_mut(&mut self, at: usize) -> &mut Bucket {
        if !(self.first..self.first + self.buckets.len()).contains(&at) {
            self.make_room(at);
        }
        &mut self.buckets[at - self.first]
    }

    #[cold]
    fn make_room(&mut self, at: usize) {
        if self.buckets.is_empty() {
            self.first = at;
        }
        let before = self.first.saturating_sub(at);
        self.buckets.splice(0..0, std::iter::repeat_n(Bucket::default(), before));
        self.first -= before;
        let end = self.buckets.len().max(at - self.first + 1);
        self.buckets.resize(end, Bucket::default());
    }

    /// Time that so many percent of the times do not exceed; 0 if there is none. It is one of the times, and
    /// in the bucket of the least such time: at most one part in [`PARTS`] above it.
    pub fn percentile(&self, percent: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1) as u64;
        let mut seen = 0;
        for bucket in &self.buckets {
            seen += bucket.count;
            if seen >= wanted {
                return bucket.most;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Random;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        let mut last = 0;
        for ps in (0..200_000).chain((18..60).flat_map(|bits| [1 << bits, (1 << bits) + 12_345])) {
            let at = bucket(ps);
            assert!(at >= last && at < BUCKETS, "{ps}");
            last = at;
            if at < BUCKETS - 1 {
                let (from, to) = (floor(at), floor(at + 1));
                assert!((from..to).contains(&ps), "{ps} in {from}..{to}");
                assert!((to - from) as f64 <= (ps as f64 / PARTS as f64).max(1.0), "{ps}");
            }
        }
    }

    #[test]
    fn sums_are_exact_in_any_order() {
        let times = |half: u64| (0..5000).map(move |i| 1_000 + 3 * (2 * i + half));
        let (mut a, mut b, mut all) = (Spread::default(), Spread::default(), Spread::default());
        times(0).for_each(|ps| a.add(ps));
        times(1).for_each(|ps| b.add(ps));
        times(0).chain(times(1)).for_each(|ps| all.add(ps));
        b.merge(&a);
        assert_eq!((b.count, b.sum, b.least, b.most), (all.count, all.sum, all.least, all.most));
        assert_eq!((all.least, all.most), (1_000, 1_000 + 3 * 9_999));
        for percent in 1..=100 {
            assert_eq!(b.percentile(percent), all.percentile(percent));
        }
        assert_eq!(Spread::default().percentile(50), 0);
    }

    /// Times as runs have them: a few values, a narrow band, a long tail, anything.
    fn sample(random: &mut Random) -> Vec<u64> {
        let longest = if random.below(4) == 0 { 3_000 } else { 120 };
        let number = 1 + random.below(longest);
        let (shape, bits) = (random.below(4), 1 + random.below(44));
        let base = 1 + random.below(1 << bits);
        let width = match shape {
            0 => 3,
            1 => base / 8 + 1,
            _ => base,
        };
        let mut one = |_| {
            let doublings = random.below(7);
            match shape {
                2 => base << random.below(1 + doublings),
                _ => base + random.below(width),
            }
        };
        (0..number).map(&mut one).collect()
    }

    /// The law of a percentile: at least so many percent are not above it, it is a time of the sample, in the
    /// bucket of the exact one, and it is exact where all of a bucket are alike. It is so however the sample
    /// is divided among those that count.
    #[test]
    fn percentiles_are_never_too_low_and_a_bucket_too_high_at_most() {
        let mut random = Random::new(68);
        for _ in 0..500 {
            let mut times = sample(&mut random);
            let (mut spread, mut other) = (Spread::default(), Spread::default());
            for ps in &times {
                if random.below(3) == 0 { &mut other } else { &mut spread }.add(*ps);
            }
            spread.merge(&other);
            times.sort_unstable();
            for percent in [1, 10, 50, 90, 99, 100] {
                let wanted = (times.len() * percent).div_ceil(100);
                let (exact, told) = (times[wanted - 1], spread.percentile(percent as u64));
                let below = times.iter().filter(|ps| **ps <= told).count();
                assert!(below >= wanted, "{percent}: {told} of {times:?}");
                assert_eq!(bucket(told), bucket(exact), "{percent}: {told}, {exact}");
                assert!(times.binary_search(&told).is_ok(), "{percent}: {told} of {times:?}");
                if times.iter().all(|ps| *ps == exact || bucket(*ps) != bucket(exact)) {
                    assert_eq!(told, exact);
                }
            }
        }
    }

    /// A class of messages has some thirty histograms.
    #[test]
    fn times_that_are_alike_take_little_memory() {
        let mut spread = Spread::default();
        (0..100_000).for_each(|i| spread.add(2_000_000 + i % 1_000_000));
        assert!(spread.buckets.len() <= PARTS, "{}", spread.buckets.len());
        spread.add(u64::MAX);
        spread.add(0);
        assert_eq!((spread.first, spread.buckets.len()), (0, BUCKETS));
        assert_eq!((spread.least, spread.percentile(0)), (0, 0));
    }
}
