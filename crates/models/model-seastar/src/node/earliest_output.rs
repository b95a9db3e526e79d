//! Earliest time at which a node can send a packet or return credits: it determines the length of the
//! windows. A message that reaches the router goes on at once, and its next destination is announced if it
//! is known; actions of the host or the firmware need HyperTransport and the NIC's engines before they show
//! in the network. A time that is too late here cannot stay unnoticed: a message that reaches a node before
//! its horizon ends the simulator (an assertion of `des`, where messages are given out).

use super::*;
use abi::packet::Packet;
use abi::seastar::PortalsHeader;
use seastar_nic::UnderWay;

impl Node {
    /// Earliest time of the processor's next action that others can see: an idle firmware catches up when
    /// something is due, and until then it cannot reach anybody. If it is debugged, or gdb may return, gdb
    /// may make it act at any time.
    pub(super) fn processor_acts(&self) -> Time {
        if self.ports.firmware.idles() && !self.gdb.may_be_taken() {
            Time::NEVER
        } else {
            self.acts.max(self.horizon)
        }
    }

    /// The earliest time at which the node may send anything to another one, except in consequence of packets
    /// whose routes it can announce: those that are on their way to it, or that the transmit engine is
    /// about to send. Only if no packet is in the router, and the transmit engine has no more under way
    /// than a header: else it sends soon anyway.
    pub(super) fn foresee(&self, told: &mut Vec<Announced>) -> Lookahead {
        let link = self.ports.link.latency();
        let waiting = !self.ports.router.is_clear();
        let around = seastar_nic::Around { link, waiting };
        let access = self.nic.earliest_output_of_access(around);
        let (reaction_time, lone) = match self.nic.under_way() {
            _ if waiting => (Duration::ZERO, None),
            UnderWay::Nothing => (access, None),
            UnderWay::Header { dest } => (access, Some(dest)),
            UnderWay::Packets => (Duration::ZERO, None),
        };
        let mut earliest_output = self.processor_acts() + access;
        let distance = |event: &Event| match event {
            Event::Nic(event) => self.nic.earliest_output_of(event, around),
            Event::MmioWrite { .. } | Event::MmioRead { .. } => access,
            Event::Host(_) | Event::MmioReply { .. } | Event::Interrupt => link + access,
            Event::PollReady | Event::Observe | Event::Launch => link + access,
        };
        for (at, _, event) in self.ports.queue.iter() {
            if at >= earliest_output {
                break;
            }
            earliest_output = earliest_output.min(at + distance(event));
        }
        for (at, _, next) in self.ports.datapath.iter() {
            if at >= earliest_output {
                break;
            }
            let sends = match (*next, lone) {
                (DatapathEvent::Packet { .. } | DatapathEvent::Credit { .. }, _) => self
                    .foresee_arrival(at, *next, Lookahead { earliest_output, reaction_time }, told),
                // Only the NIC takes note of it.
                (DatapathEvent::Eject, _) if !waiting => at + access,
                (DatapathEvent::Grant { output }, _)
                    if !waiting && usize::from(output) == mesh::PORT =>
                {
                    at + access
                }
                (DatapathEvent::TxAnswer, Some(dest)) => {
                    self.announce_lone(at + self.nic.earliest_output_of_answer(around), dest, told);
                    at + self.nic.earliest_output_of_take(around)
                }
                (DatapathEvent::TxData, Some(dest)) => {
                    self.announce_lone(at, dest, told);
                    at + self.nic.earliest_output_of_take(around)
                }
                (other, _) => {
                    let distance = |event| self.nic.earliest_output_of(&event, around);
                    at + other.nic().map_or(Duration::ZERO, distance)
                }
            };
            earliest_output = earliest_output.min(sends);
        }
        Lookahead { earliest_output, reaction_time }
    }

    /// The earliest time at which the node may send anything in consequence of a message from a neighbour
    /// at `at`, except for what is announced of it.
    #[inline(always)]
    fn foresee_arrival(
        &self,
        at: Time,
        next: DatapathEvent,
        Lookahead { earliest_output, reaction_time }: Lookahead,
        told: &mut Vec<Announced>,
    ) -> Time {
        match next {
            // Credits that no packet waits for.
            DatapathEvent::Credit { .. } if self.ports.router.is_clear() => Time::NEVER,
            // If that gains more than a hop.
            DatapathEvent::Packet { link, place, .. }
                if reaction_time > Duration::ZERO
                    && at + self.ports.router.lookahead() < earliest_output =>
            {
                let packet = self.ports.arrivals.packet(place);
                // Others of the same message come soon.
                if !packet.is_first() || !packet.is_last() {
                    return at;
                }
                self.ports.router.announce(at, link, packet, told);
                let here = u32::from(packet.dest) == self.ports.nid;
                if here {
                    at + reaction_time
                } else {
                    Time::NEVER
                }
            }
            _ => at,
        }
    }

    /// The transmit engine sends a header at `at`, and nothing else.
    fn announce_lone(&self, at: Time, dest: u16, told: &mut Vec<Announced>) {
        let packet = Packet { dest, size: PortalsHeader::SIZE as u8, ..Packet::default() };
        self.ports.router.announce_injected(at, &packet, told);
    }
}
