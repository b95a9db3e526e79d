//! Searches of the queues of a rank's library.

use super::Clerk;

impl Clerk {
    /// Kept messages were looked at.
    pub fn searched(&mut self, entries: u64, ps: u64) {
        self.told.searches += 1;
        self.told.searched += entries;
        self.told.searched_most = self.told.searched_most.max(entries);
        self.told.searching_ps += ps;
    }
    /// The kernel has looked at entries of the match list for a message to this rank.
    pub fn walked(&mut self, ps: u64) {
        self.told.walking_ps += ps;
    }

    /// For a message to this rank so many of its posted receives were looked at.
    pub fn walks(&mut self, entries: u32) {
        self.told.walks += 1;
        self.told.walked += u64::from(entries);
        self.told.walked_most = self.told.walked_most.max(entries);
    }
    /// A matching unit has answered for it.
    pub fn unit_answered(&mut self, ps: u64) {
        self.told.unit_results += 1;
        self.told.unit_ps += ps;
    }
    /// A list was searched for something that nobody knows.
    pub fn walks_untold(&mut self) {
        self.told.walks_untold += 1;
    }
}
