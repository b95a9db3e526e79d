//! The way of a model's messages: the steps between the timestamps that the model's parts record, in words.

use super::{Cause, Part, Place, Waypoint, WAYPOINTS};

/// Most legs of a way: of a rendezvous announcement, fetch and data.
pub(crate) const LEGS: usize = 3;

/// Most steps of all legs of a way, each of which is a slot.
pub(crate) const SLOTS: usize = LEGS * (WAYPOINTS - 1);

/// The way of messages. A model declares it, once.
#[derive(Debug)]
pub struct Way {
    /// Legs of a way.
    pub legs: usize,
    /// True if the receiver commands the place of a payload. A message without a payload needs no command,
    /// and the timestamps of its stream are beside its way.
    pub commands: bool,
    /// Steps, in the order of their waypoints.
    pub stretches: &'static [Stretch],
}

/// A stretch of a way.
#[derive(Debug)]
pub struct Stretch {
    /// The waypoint at its end.
    pub ends: Waypoint,
    /// Its name.
    pub name: &'static str,
    /// Part of the machine that works.
    pub place: Place,
    /// The same, for the account.
    pub part: Part,
    /// Its cause.
    pub cause: Cause,
}

/// Step with its end, its name, and its cause.
pub const fn stretch(
    ends: Waypoint,
    (name, place, part): (&'static str, Place, Part),
    cause: Cause,
) -> Stretch {
    Stretch { ends, name, place, part, cause }
}

/// Way of messages of a model that reports none.
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

    /// The cause of a step's time; `None` if there is no such step. A leg before it (`fetch: `) is ignored.
    pub fn cause_of(&self, step: &str) -> Option<&'static Cause> {
        let name = ["fetch: ", "data: ", "reply: "].iter().find_map(|leg| step.strip_prefix(leg));
        let name = name.unwrap_or(step);
        self.stretches.iter().find(|known| known.name == name).map(|known| &known.cause)
    }
}
