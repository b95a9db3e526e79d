//! A network as faults need it: which nodes and links there are.

use std::fmt;

/// Network whose links may fail. Its text is its description: "mesh of 4x2x1".
pub trait Network: fmt::Display {
    /// Nodes on it.
    fn nodes(&self) -> u32;
    /// Tells whether a link joins two nodes.
    fn joins(&self, a: u32, b: u32) -> bool;
}

/// Network without links, with this number of nodes.
pub(super) struct Apart(pub u32);

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("network without links")
    }
}

impl Network for Apart {
    fn nodes(&self) -> u32 {
        self.0
    }
    fn joins(&self, _: u32, _: u32) -> bool {
        false
    }
}
