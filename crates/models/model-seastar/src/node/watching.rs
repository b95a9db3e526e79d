//! A node tells its watch (`machine::instruments::timeline`) the events between its parts.

use super::local_bus::LocalBus;
use super::*;
use crate::queues;
use abi::seastar::{
    mailbox, COMMAND_COUNT, GENERIC_PROCESS, MAILBOX_BASE, MAILBOX_COUNT, MAILBOX_SIZE,
    REG_INTERRUPT, RX_DONE_HEAD, SLOT_COUNT, TX_TAIL,
};
use abi::MessageId;
use bus::BusError;
use machine::instruments::timeline::Gauge;

impl Station {
    /// The program is launched, and its node watched.
    pub(super) fn begin_watch(&mut self, now: Time, ports: &mut Ports<Station>) {
        self.chip(ports).1.watch_memory();
        if let Some((ring, slot)) = self.driver.get().map(|driver| driver.events()) {
            ports.journal().watch(|watch| watch.set_ring(ring, slot));
        }
        let waiting = self.nic.depths().rx_done;
        ports.journal().watch(|watch| {
            watch.launch(now, &depths(&self.nic, &self.chipset, 0), waiting);
        });
    }

    /// An event has been carried out.
    #[inline(always)]
    pub(super) fn watch_depths(&mut self, now: Time, ports: &Ports<Station>) {
        if ports.is_watched() {
            self.tell_depths(now, ports);
        }
    }
    #[cold]
    fn tell_depths(&mut self, now: Time, ports: &Ports<Station>) {
        let slot = self.driver.get().map(|driver| driver.events()).map(|(_, slot)| slot);
        ports.journal().watch(|watch| {
            watch.set_slot(slot);
            let depths = depths(&self.nic, &self.chipset, watch.events());
            watch.depths(now, &depths);
        });
    }
}

/// Queues of a node: its own, and one for each output of its router.
type Depths = [(Gauge, u32); 8 + mesh::LINK_NAMES.len() + 1];

/// Depth of every queue; that of the event ring its watch knows.
fn depths(nic: &seastar_nic::SeaStar, chipset: &Chipset, events: u32) -> Depths {
    let word = |addr: u32| nic.sram().read_u32(addr.into()).expect("the mailboxes stand in SRAM");
    let commands = (0..MAILBOX_COUNT).map(|number| {
        let base = MAILBOX_BASE + number * MAILBOX_SIZE;
        let count = if number > GENERIC_PROCESS { SLOT_COUNT } else { COMMAND_COUNT };
        let [tail, head] = [mailbox::COMMAND_WRITE, mailbox::COMMAND_READ]
            .map(|offset| word(base + offset as u32) % count);
        (tail + count - head) % count
    });
    let fifos = nic.depths();
    let mut depths = [(Gauge::Output(0), 0); _];
    depths[..8].copy_from_slice(&[
        (queues::MAILBOX, commands.sum()),
        (queues::EVENTS, events),
        (queues::TRANSMIT_COMMANDS, fifos.tx_commands),
        (queues::TRANSMIT_COMPLETIONS, fifos.tx_done),
        (queues::RECEIVE_COMMANDS, fifos.rx_commands),
        (queues::NOTIFICATIONS, fifos.rx_done),
        (queues::PACKETS, fifos.rx_packets),
        (queues::STREAMS, fifos.rx_streams),
    ]);
    let waiting = chipset.router.waiting().into_iter().zip(0..);
    for (depth, (waiting, output)) in depths[8..].iter_mut().zip(waiting) {
        *depth = (Gauge::Output(output), waiting as u32);
    }
    depths
}

impl LocalBus<'_> {
    /// Reports a write of the processor to `addr` to the watch.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_watched(
        &mut self,
        at: Time,
        addr: u64,
        data: &[u8],
    ) -> Result<Time, BusError> {
        let LocalBus { nic, around, .. } = self;
        let (tail, notified) = (nic.tx_tail(), nic.depths().rx_done);
        let written = nic.plb_write(at, addr, data, around);
        let journal = around.ports.journal();
        const TAIL: u64 = TX_TAIL as u64;
        const HEAD: u64 = RX_DONE_HEAD as u64;
        const INTERRUPT: u64 = REG_INTERRUPT as u64;
        match addr {
            TAIL => {
                for phys in nic.tx_headers(tail) {
                    let mut header = [0; abi::seastar::PortalsHeader::SIZE];
                    let read = around.chipset.memory.borrow_mut().read_phys(phys, &mut header);
                    let id = read.ok().and_then(|()| MessageId::of_header(&header));
                    journal.watch(|watch| watch.commands(at, id));
                }
            }
            HEAD => {
                let taken = notified.saturating_sub(nic.depths().rx_done);
                journal.watch(|watch| watch.takes_notifications(at, taken));
            }
            INTERRUPT => journal.watch(|watch| watch.interrupts(at)),
            _ => {}
        }
        journal.watch(|watch| {
            let depths = depths(nic, around.chipset, watch.events());
            watch.depths(at, &depths);
        });
        written
    }
}
