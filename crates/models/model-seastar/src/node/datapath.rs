//! Events that move packets on, and mostly nothing else: they have a queue of their own, in which events
//! are small.

use super::*;
use crate::node::ports::Arrivals;

/// Something that is due in the router or in an engine of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatapathEvent {
    /// The head of a packet reaches the router from a neighbour. The packet is kept elsewhere until then:
    /// events are small.
    Packet { link: u8, channel: u8, place: u32 },
    /// Room at the other end becomes known.
    Credit { link: u8, channel: u8, flits: u16 },
    /// The same as [`mesh::Event::Recovered`].
    Recovered { link: u8, channel: u8, flits: u16 },
    /// The same as [`mesh::Event::Grant`].
    Grant { output: u8 },
    /// The same as [`mesh::Event::Eject`].
    Eject,
    /// The same as [`mesh::Event::InjectionFree`].
    InjectionFree { control: bool },
    /// The same as [`seastar_nic::Event::TxAnswer`].
    TxAnswer,
    /// The same as [`seastar_nic::Event::TxData`].
    TxData,
    /// The same as [`seastar_nic::Event::TxPort`].
    TxPort,
    /// The same as [`seastar_nic::Event::RxPacket`].
    RxPacket,
    /// The same as [`seastar_nic::Event::RxDeposit`].
    RxDeposit,
    /// The same as [`seastar_nic::Event::HostPayload`].
    HostPayload,
}

/// They are moved within their queue.
const _: () = assert!(size_of::<DatapathEvent>() <= 8);

impl DatapathEvent {
    /// Move for an event of the NIC, if it is one of these.
    #[inline(always)]
    pub fn of_nic(event: seastar_nic::Event) -> Option<DatapathEvent> {
        match event {
            seastar_nic::Event::TxAnswer => Some(DatapathEvent::TxAnswer),
            seastar_nic::Event::TxData => Some(DatapathEvent::TxData),
            seastar_nic::Event::TxPort => Some(DatapathEvent::TxPort),
            seastar_nic::Event::RxPacket => Some(DatapathEvent::RxPacket),
            seastar_nic::Event::RxDeposit => Some(DatapathEvent::RxDeposit),
            seastar_nic::Event::HostPayload => Some(DatapathEvent::HostPayload),
            _ => None,
        }
    }
    /// Move for an event of the router.
    #[inline(always)]
    pub fn of_net(event: mesh::Event) -> DatapathEvent {
        match event {
            mesh::Event::Grant { output } => DatapathEvent::Grant { output },
            mesh::Event::Recovered { link, channel, flits } => {
                DatapathEvent::Recovered { link, channel, flits }
            }
            mesh::Event::Eject => DatapathEvent::Eject,
            mesh::Event::InjectionFree { control } => DatapathEvent::InjectionFree { control },
        }
    }
    /// The event of the NIC that it is.
    pub fn nic(self) -> Option<seastar_nic::Event> {
        match self {
            DatapathEvent::TxAnswer => Some(seastar_nic::Event::TxAnswer),
            DatapathEvent::TxData => Some(seastar_nic::Event::TxData),
            DatapathEvent::TxPort => Some(seastar_nic::Event::TxPort),
            DatapathEvent::RxPacket => Some(seastar_nic::Event::RxPacket),
            DatapathEvent::RxDeposit => Some(seastar_nic::Event::RxDeposit),
            DatapathEvent::HostPayload => Some(seastar_nic::Event::HostPayload),
            _ => None,
        }
    }
    /// True if it can come again and again, with packet after packet.
    pub fn repeats(&self) -> bool {
        !matches!(self, DatapathEvent::Recovered { .. })
    }
    /// A number for each kind, for the trace hash.
    #[inline(always)]
    fn kind(self, arrivals: &Arrivals) -> u64 {
        match self {
            DatapathEvent::Packet { place, .. } => {
                4 | u64::from(arrivals.packet(place).message) << 8
            }
            DatapathEvent::Credit { flits, .. } => 5 | u64::from(flits) << 8,
            DatapathEvent::Recovered { .. } | DatapathEvent::Grant { .. } => 3,
            DatapathEvent::Eject | DatapathEvent::InjectionFree { .. } => 3,
            _ => 1,
        }
    }
    /// True if the firmware may see something of it: so it must have been run up to this time before.
    #[inline(always)]
    pub fn is_visible(self, nic: &seastar_nic::SeaStar) -> bool {
        match self {
            DatapathEvent::TxData => nic.is_visible(&seastar_nic::Event::TxData),
            DatapathEvent::RxPacket => nic.is_visible(&seastar_nic::Event::RxPacket),
            _ => false,
        }
    }
}

impl Station {
    /// Handles an event, and reports it to the observers.
    #[inline(never)]
    pub(super) fn move_on(&mut self, now: Time, next: DatapathEvent, ports: &mut Ports<Station>) {
        let chipset = &mut self.chipset;
        let kind = next.kind(&chipset.arrivals);
        ports.trace(now, kind);
        chipset.stirs += 1;
        chipset.observers.replay_log(|| Step::Other);
        if let Some(judge) = ports.judge() {
            judge.set_now(now);
        }
        let visible = next.is_visible(&self.nic);
        if visible {
            debug_assert!(!self.core.is_waiting(), "the processor has come here before");
            chipset.firmware.stimulated();
        }
        self.steady.follow(now, kind, || !visible && next.repeats());
        let (nic, mut around) = self.chip(ports);
        carry_out(nic, &mut around, now, next);
        if !self.chipset.touched.is_empty() {
            self.tell_of_memory(ports);
        }
        self.watch_depths(now, ports);
    }
}

#[inline(always)]
fn carry_out(
    nic: &mut seastar_nic::SeaStar,
    ports: &mut NodePorts<'_>,
    now: Time,
    next: DatapathEvent,
) {
    match next {
        DatapathEvent::Packet { link, channel, place } => {
            ports.take_packet(now, link, channel, place);
        }
        DatapathEvent::Credit { link, channel, flits } => {
            let message = mesh::LinkMessage::Credit { link, channel, flits };
            ports.with_router(|router, ports| router.receive(now, message, ports));
        }
        DatapathEvent::Recovered { link, channel, flits } => {
            let event = mesh::Event::Recovered { link, channel, flits };
            ports.with_router(|router, ports| router.handle(now, event, ports));
        }
        DatapathEvent::Grant { output } => {
            let event = mesh::Event::Grant { output };
            ports.with_router(|router, ports| router.handle(now, event, ports));
        }
        DatapathEvent::Eject => {
            let packet = ports.chipset.router.ejected();
            ports.chipset.observers.tap(now, Side::Received, &packet);
            ports.ports.journal().watch(|watch| control::show(watch, now, false, &packet));
            let taken = nic.packet(now, packet, ports);
            taken.expect("the router sends what the NIC has told of room for");
        }
        DatapathEvent::InjectionFree { control: false } => nic.injection_free(now, ports),
        DatapathEvent::InjectionFree { control: true } => nic.control_injection_free(now, ports),
        DatapathEvent::TxAnswer => nic.handle(now, seastar_nic::Event::TxAnswer, ports),
        DatapathEvent::TxData => nic.handle(now, seastar_nic::Event::TxData, ports),
        DatapathEvent::TxPort => nic.handle(now, seastar_nic::Event::TxPort, ports),
        DatapathEvent::RxPacket => nic.handle(now, seastar_nic::Event::RxPacket, ports),
        DatapathEvent::RxDeposit => nic.handle(now, seastar_nic::Event::RxDeposit, ports),
        DatapathEvent::HostPayload => nic.handle(now, seastar_nic::Event::HostPayload, ports),
    }
}
