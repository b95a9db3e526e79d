//! Counters of a card and its bus.

use super::Station;
use machine::firmware::work::Work;

/// Counters of what crossed a card's cable.
pub(in super::super) const RX_BYTES: &str = "rx.bytes";
pub(in super::super) const TX_BYTES: &str = "tx.bytes";
/// Counter of those that a cut one has lost.
pub(in super::super) const LOST_BYTES: &str = "myrinet.bytes_lost";

impl Station {
    /// Work of the processor since power-on.
    pub(super) fn work(&self) -> Work {
        let (card, core) = (self.card.counters(), self.card.core());
        let (instructions, cycles, idle) =
            (core.counters().instructions, core.cycle(), core.idle());
        Work {
            messages: card.packets_sent + card.packets_received,
            instructions,
            cycles,
            busy_instructions: instructions.saturating_sub(idle.instructions) as f64,
            busy_cycles: cycles.saturating_sub(idle.cycles) as f64,
            ..Work::default()
        }
    }

    /// The same since an instant. A processor that has been reset since then counts its instructions anew.
    pub(super) fn work_since(&self, then: Work) -> Work {
        let now = self.work();
        Work {
            messages: now.messages - then.messages,
            instructions: now.instructions.saturating_sub(then.instructions),
            cycles: now.cycles.saturating_sub(then.cycles),
            busy_instructions: (now.busy_instructions - then.busy_instructions).max(0.0),
            busy_cycles: (now.busy_cycles - then.busy_cycles).max(0.0),
            ..Work::default()
        }
    }

    /// All counters of the node's card and bus, by name.
    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        let (card, core) = (self.card.counters(), self.card.core().counters());
        let bus = self.bus.counters();
        vec![
            ("lanai.cycles", self.card.core().cycle()),
            ("lanai.instructions", core.instructions),
            ("lanai.load_waits", core.load_waits),
            ("lanai.memory_waits", core.memory_waits),
            ("myrinet.blocks", card.blocks),
            ("myrinet.bytes_moved", card.bytes_moved),
            ("myrinet.damaged", self.cable.as_ref().map_or(0, |cable| cable.damaged)),
            (LOST_BYTES, self.lost),
            ("myrinet.held", self.card.held()),
            ("nic.interrupts", card.interrupts),
            ("myrinet.lost", self.cable.as_ref().map_or(0, |cable| cable.lost)),
            ("myrinet.silences", card.silences),
            ("myrinet.wrong_crc8", card.wrong_crc8),
            ("myrinet.wrong_crc32", card.wrong_crc32),
            ("pci.cycles", bus.cycles),
            ("pci.data_cycles", bus.data_cycles),
            ("pci.disconnects", bus.disconnects),
            ("pci.parity_errors", bus.parity_errors),
            ("pci.retries", bus.retries),
            ("pci.stores_waiting_max", self.bus.accesses_max() as u64),
            ("pci.transactions", bus.transactions),
            (RX_BYTES, card.bytes_received),
            ("rx.packets", card.packets_received),
            (TX_BYTES, card.bytes_sent),
            ("tx.packets", card.packets_sent),
        ]
    }
}
