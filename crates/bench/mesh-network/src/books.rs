//! Books of a network at the end of a run.

use des::Ending;
use machine::bench::Ended;

/// Results that only a node with a port leaves: what is in the network still, and what has been.
#[derive(Debug)]
pub struct Left {
    /// Books of its router.
    pub(crate) ledger: mesh::Ledger,
    /// Messages that have not left or not come whole.
    pub(crate) unfinished: usize,
}

/// Checks at the end of a run that no packet, byte or credit was lost or made.
///
/// # Panics
/// If one was: that is a bug of the simulator.
pub fn balance(ended: &Ended<Option<Left>>) {
    let left = ended.remains.iter().filter_map(|node| node.left.as_ref());
    let ledgers: Vec<_> = left.clone().map(|left| left.ledger.clone()).collect();
    // A run that ends by itself leaves nothing between nodes.
    let settled = matches!(ended.ending, Ending::Done | Ending::Deadlock);
    if let Err(what) = mesh::check(&ledgers, settled) {
        panic!("the network's books do not balance: {what}");
    }
    let unfinished: usize = left.map(|left| left.unfinished).sum();
    assert!(!settled || unfinished == 0, "{unfinished} messages are left in the network");
}
