//! Two flip-flops that bring a level into another clock, as `rtl/rdma/rdma_sync.sv`.

/// Their contents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sync<T> {
    first: T,
    second: T,
}

impl<T: Copy + PartialEq> Sync<T> {
    /// The level as this clock sees it.
    pub fn seen(&self) -> T {
        self.second
    }
    /// The edge of this clock.
    pub fn edge(&mut self, level: T) {
        (self.first, self.second) = (level, self.first);
    }
    /// Edges change nothing as long as the level stays.
    pub fn is_settled(&self, level: T) -> bool {
        self.first == level && self.second == level
    }
}
