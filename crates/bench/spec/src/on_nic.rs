//! Processes whose match lists are on the network interface: what the firmware does counts when it does it,
//! and is seen when the word that tells of it is in memory.

use crate::judge::Judge;

impl Judge {
    /// True if the match lists of a process are on the network interface.
    pub(crate) fn on_nic(&self, slot: usize) -> bool {
        self.slots.get(slot).and_then(Option::as_ref).is_some_and(|slot| slot.on_nic)
    }

    /// The firmware stores a word that tells a process of what was told last.
    pub fn stored(&mut self, at: u64, slot: usize) {
        self.judge(at, self.about(slot, None), |judge| {
            judge.process(slot)?.store_word();
            Ok(())
        })
    }

    /// It is in memory, and what it tells of must be there.
    pub fn landed(&mut self, at: u64, slot: usize) {
        self.judge(at, self.about(slot, None), |judge| {
            for (key, failed) in judge.process(slot)?.land_word() {
                judge.arrived(slot, key, failed)?;
            }
            Ok(())
        })
    }
}
