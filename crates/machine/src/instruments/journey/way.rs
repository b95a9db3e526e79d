//! The way of a model's messages: the stretches between the instants that the model's rooms leave, in words.

use super::{Cause, Part, Place, Waypoint, WAYPOINTS};

/// Legs of a way at most: of a rendezvous announcement, fetch and data.
pub(crate) const LEGS: usize = 3;

/// Stretches of all legs that a way can have; one of them is a slot.
pub(crate) const SLOTS: usize = LEGS * (WAYPOINTS - 1);

/// The way of messages. A model declares it, once.
#[derive(Debug)]
pub struct Way {
    /// Legs of a way.
    pub legs: usize,
    /// The receiver commands where a payload goes: what comes without needs none, and what is told of its
    /// stream lies beside its way.
    pub commands: bool,
    /// In the order of their waypoints.
    pub stretches: &'static [Stretch],
}

/// A stretch of a way.
#[derive(Debug)]
pub struct Stretch {
    /// The waypoint at its end.
    pub ends: Waypoint,
    /// Its name.
    pub name: &'static str,
    /// Where it is spent.
    pub place: Place,
    /// Who is at work, for the account.
    pub part: Part,
    /// Its cause.
    pub cause: Cause,
}

/// A stretch with its end, what it is, and why.
pub const fn stretch(
    ends: Waypoint,
    (name, place, part): (&'static str, Place, Part),
    cause: Cause,
) -> Stretch {
    Stretch { ends, name, place, part, cause }
}

/// The way of messages of a model that tells of none.
pub(crate) static NONE: Way = Way { legs: 1, commands: false, stretches: &[] };

impl Way {
    /// The stretch of a slot, and its leg.
    pub(crate) fn at(&self, slot: usize) -> (usize, &Stretch) {
        let stretches = self.stretches;
        (slot / stretches.len(), &stretches[slot % stretches.len()])
    }

    /// Names of columns with the time of each step, by slot; those of the second and third leg begin with
    /// that.
    pub(crate) fn columns(&self) -> impl Iterator<Item = String> + '_ {
        ["", "leg2_", "leg3_"].into_iter().take(self.legs).flat_map(|leg| {
            self.stretches.iter().map(move |stretch| {
                let mut column = String::from(leg);
                for word in stretch.name.split(|c: char| !c.is_ascii_alphanumeric()) {
                    if !word.is_empty() {
                        column += &word.to_lowercase();
                        column.push('_');
                    }
                }
                column + "ps"
            })
        })
    }

    /// The cause of a step's time; of one that is no step nothing is known. A leg before it (`fetch: `) is
    /// not looked at.
    pub fn cause_of(&self, step: &str) -> Option<&'static Cause> {
        let name = ["fetch: ", "data: ", "reply: "].iter().find_map(|leg| step.strip_prefix(leg));
        let name = name.unwrap_or(step);
        self.stretches.iter().find(|known| known.name == name).map(|known| &known.cause)
    }
}
