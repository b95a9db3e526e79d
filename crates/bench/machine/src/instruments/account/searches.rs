//! Searches of the queues of a rank's library.

use super::Clerk;

impl Clerk {
    /// Counts a search of kept messages.
    pub fn searched(&mut self, entries: u64, ps: u64) {
        self.told.searches += 1;
        self.told.searched += entries;
        self.told.searched_most = self.told.searched_most.max(entries);
        self.told.searching_ps += ps;
    }
    /// Adds the kernel's or the firmware's time for searching the match list for a message to this rank.
    pub fn walked(&mut self, ps: u64) {
        self.told.walking_ps += ps;
    }

    /// Counts a search of this rank's posted receives for a message to it.
    pub fn walks(&mut self, entries: u32) {
        self.told.walks += 1;
        self.told.walked += u64::from(entries);
        self.told.walked_most = self.told.walked_most.max(entries);
    }
    /// Counts a result of a matching unit for it.
    pub fn unit_answered(&mut self, ps: u64) {
        self.told.unit_results += 1;
        self.told.unit_ps += ps;
    }
    /// Counts a search of an unknown list.
    pub fn walks_untold(&mut self) {
        self.told.walks_untold += 1;
    }
}
