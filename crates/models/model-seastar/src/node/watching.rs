//! A node tells its watch (`machine::instruments::timeline`) the events between its parts.

use super::local_bus::LocalBus;
use super::*;
use crate::queues;
use abi::seastar::{
    mailbox, COMMAND_COUNT, MAILBOX_BASE, MAILBOX_COUNT, MAILBOX_SIZE, REG_INTERRUPT, RX_DONE_HEAD,
    TX_TAIL,
};
use abi::MessageId;
use bus::BusError;
use machine::instruments::journal::Cores;
use machine::instruments::timeline::{About, Gauge, Picture, Sink, Watch};
use std::rc::Rc;

impl Node {
    /// Description of the node.
    pub fn about(&self) -> About {
        About {
            nid: self.ports.nid,
            ranks: self.ranks.numbers(),
            cores: self.host.cores() as u32,
            neighbours: self.ports.router.neighbours(),
            links: mesh::LINK_NAMES,
            queues: queues::QUEUES,
        }
    }

    /// Lets the node be watched from the launch on. It needs a recorder, which draws what the firmware does.
    pub fn set_watch(&mut self, sinks: Vec<Box<dyn Sink>>, clock: des::Clock) {
        let journal = &self.ports.observers.journal;
        journal.set_watch(Watch::new(sinks, self.host.cores() as u32));
        let picture = Picture::new(journal.clone(), clock);
        let recorder = self.recorder.as_deref_mut().expect("a node that is watched has a recorder");
        recorder.set_picture(picture);
    }

    /// The program is launched.
    pub(super) fn begin_watch(&mut self, now: Time) {
        self.ports.observers.watched = self.ports.observers.journal.begin_watch();
        if !self.ports.observers.watched {
            return;
        }
        self.ports.watch_memory();
        if let Some((ring, slot)) = self.driver.get().map(|driver| driver.events()) {
            self.ports.observers.journal.watch(|watch| watch.set_ring(ring, slot));
        }
        let waiting = self.nic.depths().rx_done;
        self.ports.observers.journal.watch(|watch| {
            watch.launch(now, &depths(&self.nic, &self.ports, 0), waiting);
        });
        self.host.set_observer(now, &Rc::new(Cores(self.ports.observers.journal.clone())));
    }

    /// An event has been carried out.
    #[inline(always)]
    pub(super) fn watch_depths(&mut self, now: Time) {
        if self.ports.observers.watched {
            self.tell_depths(now);
        }
    }
    #[cold]
    fn tell_depths(&mut self, now: Time) {
        let slot = self.driver.get().map(|driver| driver.events()).map(|(_, slot)| slot);
        self.ports.observers.journal.watch(|watch| {
            watch.set_slot(slot);
            let depths = depths(&self.nic, &self.ports, watch.events());
            watch.depths(now, &depths);
        });
    }
}

/// Queues of a node: its own, and one for each output of its router.
type Depths = [(Gauge, u32); 8 + mesh::LINK_NAMES.len() + 1];

/// Depth of every queue; that of the event ring its watch knows.
fn depths(nic: &seastar_nic::SeaStar, ports: &super::ports::NodePorts, events: u32) -> Depths {
    let word = |addr: u32| nic.sram().read_u32(addr.into()).expect("the mailboxes stand in SRAM");
    let commands = (0..MAILBOX_COUNT).map(|number| {
        let base = MAILBOX_BASE + number * MAILBOX_SIZE;
        let [tail, head] = [mailbox::COMMAND_WRITE, mailbox::COMMAND_READ]
            .map(|offset| word(base + offset as u32) % COMMAND_COUNT);
        (tail + COMMAND_COUNT - head) % COMMAND_COUNT
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
    let waiting = ports.router.waiting().into_iter().zip(0..);
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
        let (nic, ports) = (&mut *self.nic, &mut *self.ports);
        let (tail, notified) = (nic.tx_tail(), nic.depths().rx_done);
        let written = nic.plb_write(at, addr, data, ports);
        const TAIL: u64 = TX_TAIL as u64;
        const HEAD: u64 = RX_DONE_HEAD as u64;
        const INTERRUPT: u64 = REG_INTERRUPT as u64;
        match addr {
            TAIL => {
                for phys in nic.tx_headers(tail) {
                    let mut header = [0; abi::seastar::PortalsHeader::SIZE];
                    let read = ports.memory.borrow_mut().read_phys(phys, &mut header);
                    let id = read.ok().and_then(|()| MessageId::of_header(&header));
                    ports.observers.journal.watch(|watch| watch.commands(at, id));
                }
            }
            HEAD => {
                let taken = notified.saturating_sub(nic.depths().rx_done);
                ports.observers.journal.watch(|watch| watch.takes_notifications(at, taken));
            }
            INTERRUPT => ports.observers.journal.watch(|watch| watch.interrupts(at)),
            _ => {}
        }
        ports.observers.journal.watch(|watch| {
            let depths = depths(nic, ports, watch.events());
            watch.depths(at, &depths);
        });
        written
    }
}
