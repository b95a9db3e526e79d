//! Lookahead of the chip: the least time until something that happens in it can show in the network. The
//! longer that is, the further apart in time nodes can be simulated.
//!
//! Nothing new leaves for the network before the transmit engine has read it from host memory (or, if the
//! firmware sends by itself, from local memory). Room in the receive engine does not matter if nobody waits
//! for it. The times here hold for the chip as it is: a packet that arrives, or an event, can only shorten
//! them, and is counted itself.

use crate::tx::UnderWay;
use crate::{Event, SeaStar};
use des::Duration;

/// Surroundings of the chip.
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
    pub fn earliest_output_of_access(&self, around: Around) -> Duration {
        self.earliest_output_of_command(around, self.fabric.params.tx_start)
    }
    /// The same from when the transmit engine may take a command.
    pub fn earliest_output_of_take(&self, around: Around) -> Duration {
        self.earliest_output_of_command(around, Duration::ZERO)
    }
    fn earliest_output_of_command(&self, around: Around, taken: Duration) -> Duration {
        if self.has_news_of_room(around) || !self.tx.is_between_messages() {
            return Duration::ZERO;
        }
        let params = &self.fabric.params;
        if params.recovers {
            // A packet of the control class is in its engine's FIFO.
            return taken + params.tx_packet;
        }
        if params.local_headers {
            return taken + params.sram_read + self.earliest_output_of_answer(around);
        }
        taken + around.link + params.host_memory_read + self.earliest_output_of_answer(around)
    }
    /// The same from when an answer of host memory leaves for the transmit engine.
    pub fn earliest_output_of_answer(&self, around: Around) -> Duration {
        match self.fabric.params.local_headers {
            true => self.fabric.params.tx_packet,
            false => around.link + self.fabric.params.tx_packet,
        }
    }
    /// Least time from `event` until the network can see something of it.
    pub fn earliest_output_of(&self, event: &Event, around: Around) -> Duration {
        match event {
            // All packets have left.
            Event::TxPort if self.tx.has_none_staged() => self.earliest_output_of_take(around),
            Event::TxData | Event::TxPort => Duration::ZERO,
            Event::TxAnswer => self.earliest_output_of_answer(around),
            Event::TxTake => self.earliest_output_of_take(around),
            Event::RxPacket | Event::RxDeposit | Event::CtlStore if around.waiting => {
                Duration::ZERO
            }
            Event::CtlTake => Duration::ZERO,
            // The processor sees it, and must act first.
            Event::TxDone | Event::RxPacket | Event::RxDeposit => {
                self.earliest_output_of_access(around)
            }
            Event::RxTake | Event::RxDone => self.earliest_output_of_access(around),
            Event::RxAnnounce { .. } | Event::RxOverflow { .. } => {
                self.earliest_output_of_access(around)
            }
            Event::CtlStore | Event::CtlNotify => self.earliest_output_of_access(around),
            // The host answers, if at all, over the same link.
            Event::HostWrite | Event::HostPayload => {
                around.link + self.earliest_output_of_access(around)
            }
        }
    }
    /// Work that the transmit engine has taken and not given to the network.
    pub fn under_way(&self) -> UnderWay {
        self.tx.under_way()
    }
    /// A command for the receive engine may make room for packets that wait.
    fn has_news_of_room(&self, around: Around) -> bool {
        around.waiting && self.packets_held() > 0
    }
}
