//! Events that move packets on, and mostly nothing else: they have a queue of their own, in which events
//! are small.

use super::*;
use crate::node::seam::Arrivals;

/// Something that is due in the router or in an engine of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// The head of a packet reaches the router from a neighbour. The packet is kept elsewhere until then:
    /// events are small.
    Packet { link: u8, channel: u8, place: u32 },
    /// Room at the other end becomes known.
    Credit { link: u8, channel: u8, flits: u16 },
    /// The same as [`net::Event::Recovered`].
    Recovered { link: u8, channel: u8, flits: u16 },
    /// The same as [`net::Event::Grant`].
    Grant { output: u8 },
    /// The same as [`net::Event::Eject`].
    Eject,
    /// The same as [`net::Event::InjectionFree`].
    InjectionFree { control: bool },
    /// The same as [`nic::Event::TxAnswer`].
    TxAnswer,
    /// The same as [`nic::Event::TxData`].
    TxData,
    /// The same as [`nic::Event::TxPort`].
    TxPort,
    /// The same as [`nic::Event::RxPacket`].
    RxPacket,
    /// The same as [`nic::Event::RxDeposit`].
    RxDeposit,
    /// The same as [`nic::Event::HostPayload`].
    HostPayload,
}

/// They are moved within their queue.
const _: () = assert!(size_of::<Move>() <= 8);

impl Move {
    /// Move for an event of the NIC, if it is one of these.
    #[inline(always)]
    pub fn of_nic(event: nic::Event) -> Option<Move> {
        match event {
            nic::Event::TxAnswer => Some(Move::TxAnswer),
            nic::Event::TxData => Some(Move::TxData),
            nic::Event::TxPort => Some(Move::TxPort),
            nic::Event::RxPacket => Some(Move::RxPacket),
            nic::Event::RxDeposit => Some(Move::RxDeposit),
            nic::Event::HostPayload => Some(Move::HostPayload),
            _ => None,
        }
    }
    /// Move for an event of the router.
    #[inline(always)]
    pub fn of_net(event: net::Event) -> Move {
        match event {
            net::Event::Grant { output } => Move::Grant { output },
            net::Event::Recovered { link, channel, flits } => {
                Move::Recovered { link, channel, flits }
            }
            net::Event::Eject => Move::Eject,
            net::Event::InjectionFree { control } => Move::InjectionFree { control },
        }
    }
    /// The event of the NIC that it is.
    pub fn nic(self) -> Option<nic::Event> {
        match self {
            Move::TxAnswer => Some(nic::Event::TxAnswer),
            Move::TxData => Some(nic::Event::TxData),
            Move::TxPort => Some(nic::Event::TxPort),
            Move::RxPacket => Some(nic::Event::RxPacket),
            Move::RxDeposit => Some(nic::Event::RxDeposit),
            Move::HostPayload => Some(nic::Event::HostPayload),
            _ => None,
        }
    }
    /// True if it can come again and again, with packet after packet.
    pub fn repeats(&self) -> bool {
        !matches!(self, Move::Recovered { .. })
    }
    /// A number for each kind, for the trace hash.
    #[inline(always)]
    fn kind(self, arrivals: &Arrivals) -> u64 {
        match self {
            Move::Packet { place, .. } => 4 | u64::from(arrivals.packet(place).message) << 8,
            Move::Credit { flits, .. } => 5 | u64::from(flits) << 8,
            Move::Recovered { .. } | Move::Grant { .. } => 3,
            Move::Eject | Move::InjectionFree { .. } => 3,
            _ => 1,
        }
    }
    /// True if the firmware may see something of it: so it must have been run up to this time before.
    #[inline(always)]
    pub fn is_visible(self, nic: &nic::SeaStar) -> bool {
        match self {
            Move::TxData => nic.is_visible(&nic::Event::TxData),
            Move::RxPacket => nic.is_visible(&nic::Event::RxPacket),
            _ => false,
        }
    }
}

impl Node {
    /// Handles an event, and reports it to the observers.
    #[inline(never)]
    pub(super) fn move_on(&mut self, now: Time, next: Move) {
        let kind = next.kind(&self.seam.arrivals);
        self.seam.hash.event(now, kind);
        self.seam.observers.tape(|| Step::Other);
        if let Some(judge) = &self.seam.observers.judge {
            judge.set_now(now);
        }
        let visible = next.is_visible(&self.nic);
        if visible {
            debug_assert!(!self.core.is_waiting(), "the processor has come here before");
            self.seam.firmware.stimulated();
        }
        self.stretches.follow(now, kind, || !visible && next.repeats());
        carry_out(&mut self.nic, &mut self.seam, now, next);
        if !self.seam.touched.is_empty() {
            self.tell_of_memory();
        }
        self.watch_depths(now);
        self.last = now;
        self.collect_verdict();
    }
}

#[inline(always)]
fn carry_out(nic: &mut nic::SeaStar, seam: &mut Seam, now: Time, next: Move) {
    match next {
        Move::Packet { link, channel, place } => {
            seam.take_packet(now, link, channel, place);
        }
        Move::Credit { link, channel, flits } => {
            let message = net::Message::Credit { link, channel, flits };
            seam.with_router(|router, seam| router.receive(now, message, seam));
        }
        Move::Recovered { link, channel, flits } => {
            let event = net::Event::Recovered { link, channel, flits };
            seam.with_router(|router, seam| router.handle(now, event, seam));
        }
        Move::Grant { output } => {
            let event = net::Event::Grant { output };
            seam.with_router(|router, seam| router.handle(now, event, seam));
        }
        Move::Eject => {
            let packet = seam.router.ejected();
            seam.observers.tap(now, Side::Received, &packet);
            seam.observers.journal.watch(|watch| watch.control(now, false, &packet));
            let taken = nic.packet(now, packet, seam);
            taken.expect("the router sends what the NIC has told of room for");
        }
        Move::InjectionFree { control: false } => nic.injection_free(now, seam),
        Move::InjectionFree { control: true } => nic.control_injection_free(now, seam),
        Move::TxAnswer => nic.handle(now, nic::Event::TxAnswer, seam),
        Move::TxData => nic.handle(now, nic::Event::TxData, seam),
        Move::TxPort => nic.handle(now, nic::Event::TxPort, seam),
        Move::RxPacket => nic.handle(now, nic::Event::RxPacket, seam),
        Move::RxDeposit => nic.handle(now, nic::Event::RxDeposit, seam),
        Move::HostPayload => nic.handle(now, nic::Event::HostPayload, seam),
    }
}
