//! Queues of a model's nodes, in words.

/// A queue of a node whose depth its model reports ([`super::Gauge::Own`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Name in a trace.
    pub name: &'static str,
    /// Name on a page.
    pub title: &'static str,
    /// Word for it in a page's anchors; its number, if it is empty.
    pub id: &'static str,
    /// Things that are in it.
    pub unit: &'static str,
    /// Place among the tracks of the network interface; behind all others, if it is `None`.
    pub order: Option<u8>,
    /// Entries for which it has room.
    pub room: Room,
}

/// Room of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Not told.
    Untold,
    /// For so many entries.
    Entries(u64),
    /// For as many as a parameter says.
    Parameter(&'static str),
}

impl Queue {
    /// A queue with one name, of entries.
    pub const fn named(name: &'static str) -> Queue {
        let (title, unit) = (name, "entries");
        Queue { name, title, id: "", unit, order: None, room: Room::Untold }
    }
}
