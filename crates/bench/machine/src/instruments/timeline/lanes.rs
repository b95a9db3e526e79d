//! Messages that are in an engine at the same time, each on a lane of its own.

use abi::MessageId;

/// Most lanes: more than an engine has messages at a time. A message whose packets were lost never goes, but
/// it keeps one of the engine's streams for ever: an engine must have fewer of them.
pub const LANES: usize = 512;

/// Lanes of one engine; each message has the lowest one that is free when it comes.
#[derive(Default)]
pub(super) struct Lanes(Vec<Option<MessageId>>);

impl Lanes {
    /// Gives a message that comes a lane, if one is free.
    pub fn enter(&mut self, id: MessageId) -> Option<u16> {
        let free = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        if free == LANES {
            return None;
        }
        if free == self.0.len() {
            self.0.push(None);
        }
        self.0[free] = Some(id);
        Some(free as u16)
    }
    /// Lane of a message; `None` if the message came before the observation began.
    pub fn find(&self, id: MessageId) -> Option<u16> {
        self.0.iter().position(|lane| *lane == Some(id)).map(|lane| lane as u16)
    }
    /// Frees the lane of a message that goes; the lane.
    pub fn leave(&mut self, id: MessageId) -> Option<u16> {
        let lane = self.find(id)?;
        self.0[usize::from(lane)] = None;
        Some(lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_lowest_free_lane() {
        let mut lanes = Lanes::default();
        let [a, b, c] = [1, 2, 3].map(|serial| MessageId { source_nid: 0, serial });
        assert_eq!([a, b].map(|id| lanes.enter(id)), [Some(0), Some(1)]);
        assert_eq!(lanes.leave(a), Some(0));
        assert_eq!(lanes.find(a), None);
        assert_eq!((lanes.enter(c), lanes.find(b), lanes.leave(b)), (Some(0), Some(1), Some(1)));
    }
}
