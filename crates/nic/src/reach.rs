//! How soon what happens in the chip can show in the network. The longer that takes, the further
//! apart in time nodes can be simulated.
//!
//! Nothing new leaves for the network before the transmit engine has read it from host memory, and
//! that the receive engine has room is no news where nobody waits for it. What is told here holds for
//! the chip as it is: a packet that comes, or an event, can only shorten it, and is counted itself.

use crate::{Event, SeaStar};
use des::Duration;

/// What is around the chip.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Least time of a way over HyperTransport.
    pub link: Duration,
    /// Packets wait in the router of this node, and could go on if the receive engine had room.
    pub waiting: bool,
}

impl SeaStar {
    /// Least time from an access of the processor, or the arrival of one of the host's, until the
    /// network can see something of it.
    pub fn reach_of_access(&self, around: Around) -> Duration {
        if self.has_news_of_room(around) || !self.tx.is_between_messages() {
            return Duration::ZERO;
        }
        around.link + self.fabric.params.host_memory_read + around.link
    }
    /// Least time from `event` until the network can see something of it.
    pub fn reach_of(&self, event: &Event, around: Around) -> Duration {
        match event {
            Event::TxData | Event::TxPort => Duration::ZERO,
            Event::TxAnswer => around.link,
            Event::RxPacket | Event::RxDeposit if around.waiting => Duration::ZERO,
            // What the processor sees of it must make it do something.
            Event::TxTake | Event::TxDone | Event::RxPacket | Event::RxDeposit => {
                self.reach_of_access(around)
            }
            Event::RxTake | Event::RxDone => self.reach_of_access(around),
            Event::RxAnnounce { .. } | Event::RxOverflow { .. } => self.reach_of_access(around),
            // The host answers, if at all, over the same link.
            Event::HostWrite | Event::HostPayload => around.link + self.reach_of_access(around),
        }
    }
    /// A command for the receive engine may make room for somebody who waits.
    fn has_news_of_room(&self, around: Around) -> bool {
        around.waiting && self.rx.held() > 0
    }
}
