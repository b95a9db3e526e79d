//! The card's pins at the bus.

use abi::forth::QUEUE_SIZE;
use pci::{Device, DeviceIn, DeviceOut, Operation};

/// Actions of the bus on a card in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Descriptors that it got.
    pub descriptors: u32,
    /// The read that it wanted is taken.
    pub accepted: bool,
    /// All words of its oldest read are there.
    pub read: bool,
    /// A word of a packet went to memory.
    pub wrote: bool,
}

/// The card's pins at the bus, which are looked at.
pub(crate) struct Pins<'a, D> {
    pub card: &'a mut D,
    /// Address at which the card writes its notifications, which are no packets.
    pub notify: u64,
    seen: Seen,
}

impl<D: Device> Pins<'_, D> {
    pub fn of(card: &mut D, notify: u64) -> Pins<'_, D> {
        Pins { card, notify, seen: Seen::default() }
    }
    /// Actions of the edge that they have seen, if there were any.
    pub fn seen(self) -> Option<Seen> {
        let Seen { descriptors, accepted, read, wrote } = self.seen;
        (descriptors > 0 || accepted || read || wrote).then_some(self.seen)
    }
}

impl<D: Device> Device for Pins<'_, D> {
    fn outputs(&self) -> DeviceOut {
        self.card.outputs()
    }
    fn clock(&mut self, inputs: &DeviceIn) {
        let seen = &mut self.seen;
        if let Some(write) = inputs.write.filter(|write| write.offset < QUEUE_SIZE) {
            // The write of a descriptor's last word posts it.
            let last = write.offset % 16 == 8 && write.enables >> 4 == 0xF;
            seen.descriptors += u32::from(last);
        }
        seen.accepted |= inputs.accepted;
        seen.read |= inputs.completion.is_some_and(|completion| completion.last);
        if inputs.took_word {
            let request = self.card.outputs().request;
            let packet =
                |to: pci::Request| to.operation == Operation::Write && to.addr != self.notify;
            seen.wrote |= request.is_some_and(packet);
        }
        self.card.clock(inputs);
    }
}
