//! When a node can send a packet, or give back credits, at the earliest: what the length of the
//! windows is made of. A message that comes to the router goes on at once; what the host or the
//! firmware does needs HyperTransport and the NIC's engines before it shows in the network. A time
//! that is told too late here cannot stay unnoticed: what comes to a node before its horizon ends the
//! simulator (an assertion of `des`, where messages are given out).

use super::*;

/// Longer than any run.
const NEVER: Duration = Duration(u64::MAX);

impl Node {
    /// When the processor may next do something that others can see: an idle firmware catches up
    /// when something is due, and until then it cannot reach anybody. Where it is debugged it may be made to
    /// at any time.
    pub(super) fn processor_acts(&self) -> Time {
        if self.seam.firmware_idles() && self.debugger.is_none() {
            Time::NEVER
        } else {
            self.acts.max(self.horizon)
        }
    }

    /// The earliest time at which the node may send anything to another one.
    pub(super) fn earliest_packet(&self) -> Time {
        let link = self.seam.link.latency();
        let waiting = !self.seam.router.is_empty();
        let around = nic::Around { link, waiting };
        let access = self.nic.reach_of_access(around);
        let move_distance = |next: &Move| match next {
            // Credits for nobody, and a packet that only the NIC takes note of.
            Move::Credit { .. } if !waiting => NEVER,
            Move::Eject if !waiting => access,
            other => other.nic().map_or(Duration::ZERO, |event| self.nic.reach_of(&event, around)),
        };
        let distance = |event: &Event| match event {
            Event::Nic(event) => self.nic.reach_of(event, around),
            Event::MmioWrite { .. } | Event::MmioRead { .. } => access,
            Event::Host(_) | Event::MmioReply { .. } | Event::Interrupt => link + access,
            Event::PollReady | Event::Observe | Event::Launch => link + access,
        };
        let mut earliest = self.processor_acts() + access;
        for (at, _, next) in self.seam.moves.iter() {
            if at >= earliest {
                break;
            }
            earliest = earliest.min(at + move_distance(next));
        }
        for (at, _, event) in self.seam.queue.iter() {
            if at >= earliest {
                break;
            }
            earliest = earliest.min(at + distance(event));
        }
        earliest
    }
}
