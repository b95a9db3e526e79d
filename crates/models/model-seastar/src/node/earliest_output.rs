//! Earliest time at which a node can send a packet or return credits: it determines the length of the
//! windows. A message that reaches the router goes on at once, and its next destination is announced if it
//! is known; actions of the host or the firmware need HyperTransport and the NIC's engines before they show
//! in the network. A time that is too late here cannot stay unnoticed: a message that reaches a node before
//! its horizon ends the simulator (an assertion of `des`, where messages are given out).

use super::*;
use abi::packet::Packet;
use abi::seastar::PortalsHeader;
use seastar_nic::UnderWay;

impl Station {
    /// Earliest time of the processor's next action that others can see: an idle firmware catches up when
    /// something is due, and until then it cannot reach anybody. If it is debugged, or gdb may return, gdb
    /// may make it act at any time.
    pub(super) fn processor_acts(&self) -> Time {
        if self.chipset.firmware.idles() && !self.gdb.may_be_taken() {
            Time::NEVER
        } else {
            self.acts.max(self.horizon)
        }
    }

    /// The earliest time at which the node may send anything to another one, except in consequence of packets
    /// whose routes it can announce: those that are on their way to it, or that the transmit engine is
    /// about to send. Only if no packet is in the router, and the transmit engine has no more under way
    /// than a header: else it sends soon anyway.
    pub(super) fn foresee(&self, told: &mut Vec<Announced>, ports: &Ports<Station>) -> Lookahead {
        let chipset = &self.chipset;
        let link = chipset.link.latency();
        let waiting = !chipset.router.is_clear();
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
            Event::Store { .. } | Event::StoreLine { .. } | Event::Load { .. } => access,
            // Only the host's software takes note of it.
            _ => link + access,
        };
        for (at, _, event) in ports.queue().iter() {
            if at >= earliest_output {
                break;
            }
            earliest_output = earliest_output.min(at + distance(event));
        }
        for (at, _, next) in chipset.datapath.iter() {
            if at >= earliest_output {
                break;
            }
            let sends = match (*next, lone) {
                (DatapathEvent::Packet { .. } | DatapathEvent::Credit { .. }, _) => {
                    let so_far = Lookahead { earliest_output, reaction_time };
                    self.foresee_arrival(at, ports.nid(), *next, so_far, told)
                }
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
        nid: u32,
        next: DatapathEvent,
        Lookahead { earliest_output, reaction_time }: Lookahead,
        told: &mut Vec<Announced>,
    ) -> Time {
        match next {
            // Credits that no packet waits for.
            DatapathEvent::Credit { .. } if self.chipset.router.is_clear() => Time::NEVER,
            // If that gains more than a hop.
            DatapathEvent::Packet { link, place, .. }
                if reaction_time > Duration::ZERO
                    && at + self.chipset.router.lookahead() < earliest_output =>
            {
                let packet = self.chipset.arrivals.packet(place);
                // Others of the same message come soon.
                if !packet.is_first() || !packet.is_last() {
                    return at;
                }
                self.chipset.router.announce(at, link, packet, told);
                let here = u32::from(packet.dest) == nid;
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
        self.chipset.router.announce_injected(at, &packet, told);
    }
}
