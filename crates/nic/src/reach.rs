//! How soon what happens in the chip can show in the network. The longer that takes, the further
//! apart in time nodes can be simulated.
//!
//! Nothing leaves for the network before the transmit engine has read it from host memory; and as
//! long as the receive engine holds no packet it has no room to tell of. What is told here holds for
//! the chip as it is: a packet that comes, or an event, can only shorten it, and is counted itself.

use crate::{Event, SeaStar};
use des::Duration;

impl SeaStar {
    /// Least time from an access of the processor, or the arrival of one of the host's, until the
    /// network can see something of it. `link` is the least time of a way over HyperTransport.
    pub fn reach_of_access(&self, link: Duration) -> Duration {
        let params = &self.fabric.params;
        if self.rx.held() > 0 {
            params.rx_start.min(params.tx_start)
        } else if self.tx.is_quiet() {
            params.tx_start + self.read_of_header(link)
        } else {
            Duration::ZERO
        }
    }
    /// Least time from `event` until the network can see something of it.
    pub fn reach_of(&self, event: &Event, link: Duration) -> Duration {
        match event {
            Event::TxData | Event::TxPort | Event::RxPacket | Event::RxDeposit => Duration::ZERO,
            Event::TxTake if self.tx.is_quiet() => self.read_of_header(link),
            Event::TxTake => Duration::ZERO,
            Event::TxAnswer => link,
            Event::RxTake if self.rx.held() > 0 => Duration::ZERO,
            // What the processor sees of it must make it do something.
            Event::RxTake | Event::TxDone | Event::RxDone => self.reach_of_access(link),
            Event::RxAnnounce { .. } | Event::RxOverflow { .. } => self.reach_of_access(link),
            // The host answers, if at all, over the same link.
            Event::HostWrite => link + self.reach_of_access(link),
        }
    }
    fn read_of_header(&self, link: Duration) -> Duration {
        link + self.fabric.params.host_memory_read + link
    }
}
