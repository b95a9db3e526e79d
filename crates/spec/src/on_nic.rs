//! Processes whose match lists are on the network interface: what the firmware does counts when it does it,
//! and is seen when the word that tells of it is in memory.

use crate::judge::Judge;

impl Judge {
    /// True if the match lists of a process are on the network interface.
    pub(crate) fn on_nic(&self, seat: usize) -> bool {
        self.seats.get(seat).and_then(Option::as_ref).is_some_and(|seat| seat.on_nic)
    }

    /// The firmware stores a word that tells a process of what was told last.
    pub fn stored(&mut self, at: u64, seat: usize) {
        self.judge(at, self.about(seat, None), |judge| {
            judge.process(seat)?.store_word();
            Ok(())
        })
    }

    /// It is in memory, and what it tells of must be there.
    pub fn landed(&mut self, at: u64, seat: usize) {
        self.judge(at, self.about(seat, None), |judge| {
            for (key, failed) in judge.process(seat)?.land_word() {
                judge.arrived(seat, key, failed)?;
            }
            Ok(())
        })
    }
}
