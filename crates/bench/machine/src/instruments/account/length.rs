//! Lengths of the queues of a rank's library.

use des::Time;

/// The length of a queue over time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Length {
    pub now: u64,
    pub most: u64,
    pub since: Time,
    /// Integral over time, in entries times picoseconds.
    pub sum: u64,
}

impl Length {
    /// Changes the length; returns the new one.
    pub fn change(&mut self, at: Time, by: i64) -> u32 {
        let at = at.max(self.since);
        self.sum = self.sum.saturating_add(self.now.saturating_mul(at.since(self.since).0));
        self.since = at;
        self.now = self.now.saturating_add_signed(by);
        self.most = self.most.max(self.now);
        u32::try_from(self.now).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_add_up_over_time() {
        let mut length = Length { since: Time(100), ..Length::default() };
        assert_eq!(length.change(Time(150), 2), 2);
        assert_eq!(length.change(Time(250), 1), 3);
        // What is told late counts from when it is told.
        assert_eq!(length.change(Time(240), -3), 0);
        assert_eq!(length.change(Time(900), -1), 0);
        assert_eq!((length.most, length.sum), (3, 200));
    }
}
