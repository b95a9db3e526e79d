//! The way of a model's messages: the steps between the timestamps that the model's parts record, in words.

use super::{Cause, Layer, Part, Waypoint, WAYPOINTS};

/// Most legs of a way: of a rendezvous announcement, fetch and data.
pub(crate) const LEGS: usize = 3;

/// Most steps of all legs of a way, each of which is a slot.
pub(crate) const SLOTS: usize = LEGS * (WAYPOINTS - 1);

/// The way of messages. A model declares it, once.
#[derive(Debug)]
pub struct MessagePath {
    /// Legs of a way.
    pub legs: usize,
    /// True if the receiver commands the place of a payload. A message without a payload needs no command,
    /// and the timestamps of its stream are beside its way.
    pub commands: bool,
    /// Steps, in the order of their waypoints.
    pub steps: &'static [PathStep],
}

/// A step of a message's path.
#[derive(Debug)]
pub struct PathStep {
    /// The waypoint at its end.
    pub ends: Waypoint,
    /// Its name.
    pub name: &'static str,
    /// Part of the machine that works.
    pub place: Layer,
    /// The same, for the account.
    pub part: Part,
    /// Its cause.
    pub cause: Cause,
}

/// Step with its end, its name, the part of the machine that works, for people and for the account, and its
/// cause.
pub const fn step(
    ends: Waypoint,
    name: &'static str,
    place: Layer,
    part: Part,
    cause: Cause,
) -> PathStep {
    PathStep { ends, name, place, part, cause }
}

/// Way of messages of a model that reports none.
pub(crate) static NONE: MessagePath = MessagePath { legs: 1, commands: false, steps: &[] };

impl MessagePath {
    /// The step of a slot, and its leg.
    pub(crate) fn at(&self, slot: usize) -> (usize, &PathStep) {
        let steps = self.steps;
        (slot / steps.len(), &steps[slot % steps.len()])
    }

    /// Names of columns with the time of each step, by slot; those of the second and third leg begin with
    /// that.
    pub(crate) fn columns(&self) -> impl Iterator<Item = String> + '_ {
        ["", "leg2_", "leg3_"].into_iter().take(self.legs).flat_map(|leg| {
            self.steps.iter().map(move |step| {
                let mut column = String::from(leg);
                for word in step.name.split(|c: char| !c.is_ascii_alphanumeric()) {
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
        self.steps.iter().find(|known| known.name == name).map(|known| &known.cause)
    }
}
