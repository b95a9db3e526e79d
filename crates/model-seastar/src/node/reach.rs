//! When a node can send a packet, or give back credits, at the earliest: what the length of the
//! windows is made of. A message that comes to the router goes on at once, and whom it reaches then is
//! foretold where that is known; what the host or the firmware does needs HyperTransport and the NIC's
//! engines before it shows in the network. A time that is told too late here cannot stay unnoticed: what
//! comes to a node before its horizon ends the simulator (an assertion of `des`, where messages are given
//! out).

use super::*;
use abi::packet::Packet;
use abi::seastar::PortalsHeader;
use nic::UnderWay;

impl Node {
    /// When the processor may next do something that others can see: an idle firmware catches up
    /// when something is due, and until then it cannot reach anybody. Where it is debugged, or gdb may come
    /// back, it may be made to at any time.
    pub(super) fn processor_acts(&self) -> Time {
        if self.seam.firmware.idles() && !self.seat.may_be_taken() {
            Time::NEVER
        } else {
            self.acts.max(self.horizon)
        }
    }

    /// The earliest time at which the node may send anything to another one, but for what comes of packets
    /// that it can foretell: where those go that are on their way to it, or that the transmit engine is
    /// about to send. Only where nothing stands in the router, and the transmit engine has no more under way
    /// than a header: else it sends soon anyway.
    pub(super) fn foresee(&self, told: &mut Vec<Foretold>) -> Outlook {
        let link = self.seam.link.latency();
        let waiting = !self.seam.router.is_clear();
        let around = nic::Around { link, waiting };
        let access = self.nic.reach_of_access(around);
        let (slack, lone) = match self.nic.under_way() {
            _ if waiting => (Duration::ZERO, None),
            UnderWay::Nothing => (access, None),
            UnderWay::Header { dest } => (access, Some(dest)),
            UnderWay::Packets => (Duration::ZERO, None),
        };
        let mut reach = self.processor_acts() + access;
        let distance = |event: &Event| match event {
            Event::Nic(event) => self.nic.reach_of(event, around),
            Event::MmioWrite { .. } | Event::MmioRead { .. } => access,
            Event::Host(_) | Event::MmioReply { .. } | Event::Interrupt => link + access,
            Event::PollReady | Event::Observe | Event::Launch => link + access,
        };
        for (at, _, event) in self.seam.queue.iter() {
            if at >= reach {
                break;
            }
            reach = reach.min(at + distance(event));
        }
        for (at, _, next) in self.seam.moves.iter() {
            if at >= reach {
                break;
            }
            let sends = match (*next, lone) {
                (Move::Packet { .. } | Move::Credit { .. }, _) => {
                    self.foresee_arrival(at, *next, Outlook { reach, slack }, told)
                }
                // Only the NIC takes note of it.
                (Move::Eject, _) if !waiting => at + access,
                (Move::Grant { output }, _) if !waiting && usize::from(output) == net::PORT => {
                    at + access
                }
                (Move::TxAnswer, Some(dest)) => {
                    self.foretell_lone(at + self.nic.reach_of_answer(around), dest, told);
                    at + self.nic.reach_of_take(around)
                }
                (Move::TxData, Some(dest)) => {
                    self.foretell_lone(at, dest, told);
                    at + self.nic.reach_of_take(around)
                }
                (other, _) => {
                    let distance = |event| self.nic.reach_of(&event, around);
                    at + other.nic().map_or(Duration::ZERO, distance)
                }
            };
            reach = reach.min(sends);
        }
        Outlook { reach, slack }
    }

    /// The earliest time at which the node may send anything for what comes from a neighbour at `at`, but
    /// for what is foretold of it.
    #[inline(always)]
    fn foresee_arrival(
        &self,
        at: Time,
        next: Move,
        Outlook { reach, slack }: Outlook,
        told: &mut Vec<Foretold>,
    ) -> Time {
        match next {
            // Credits for nobody.
            Move::Credit { .. } if self.seam.router.is_clear() => Time::NEVER,
            // Where that gains more than a hop.
            Move::Packet { link, place, .. }
                if slack > Duration::ZERO && at + self.seam.router.lookahead() < reach =>
            {
                let packet = self.seam.arrivals.packet(place);
                // Others of the same message come soon.
                if !packet.is_first() || !packet.is_last() {
                    return at;
                }
                self.seam.router.foretell(at, link, packet, told);
                let here = u32::from(packet.dest) == self.seam.nid;
                if here {
                    at + slack
                } else {
                    Time::NEVER
                }
            }
            _ => at,
        }
    }

    /// The transmit engine sends a header at `at`, and nothing else.
    fn foretell_lone(&self, at: Time, dest: u16, told: &mut Vec<Foretold>) {
        let packet = Packet { dest, size: PortalsHeader::SIZE as u8, ..Packet::default() };
        self.seam.router.foretell_injected(at, &packet, told);
    }
}
