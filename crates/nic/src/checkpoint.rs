//! What a checkpoint holds of the chip: memory, registers, FIFOs, and when the buses are free. The
//! engines are those of the chip that it is read into, so a chip is kept only as long as no message
//! has gone through it and nothing is on its way. A boot needs no more.

use crate::counters::Counters;
use crate::rx::Rx;
use crate::tx::Tx;
use crate::SeaStar;
use des::{Checkpoint, Checkpointed};

des::checkpointed!(Counters {
    tx_messages,
    tx_packets,
    tx_bytes,
    tx_errors,
    rx_messages,
    rx_packets,
    rx_bytes,
    rx_deposited_bytes,
    rx_discarded_bytes,
    rx_completed,
    rx_crc_errors,
    cam_overflows,
    rx_stalls,
    rx_dropped_packets,
    cam_in_use,
    cam_in_use_max,
    rx_queue_max,
    rx_held_max,
    tx_blocked,
    rx_buffered_bytes_max,
    sram_accesses,
    register_accesses,
    window_reads,
    window_writes,
    mmio_reads,
    mmio_writes,
    interrupts,
});

impl SeaStar {
    /// The engines are as they were built, but for what FIFOs hold, and nothing is on its way.
    fn is_at_rest(&self) -> bool {
        let (tx, rx) = (&self.tx, &self.rx);
        let (commands, done) = (tx.commands.clone(), tx.done.clone());
        let built_tx = Tx { commands, done, ..Tx::new(tx.nid) };
        let (commands, done) = (rx.commands.clone(), rx.done.clone());
        let built_rx = Rx { commands, done, ..Rx::new() };
        self.fabric.posted.is_empty()
            && format!("{tx:?}") == format!("{built_tx:?}")
            && format!("{rx:?}") == format!("{built_rx:?}")
    }
}

impl Checkpointed for SeaStar {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        if !checkpoint.reads() && !self.is_at_rest() {
            return checkpoint.refuse();
        }
        let SeaStar { fabric, control, tx, rx } = self;
        fabric.sram.pass(checkpoint);
        fabric.plb.pass(checkpoint);
        fabric.posted.pass(checkpoint);
        fabric.counters.pass(checkpoint);
        control.panic.pass(checkpoint);
        control.windows.pass(checkpoint);
        for commands in [&mut tx.commands, &mut rx.commands] {
            commands.pass(checkpoint);
        }
        for done in [&mut tx.done, &mut rx.done] {
            done.pass(checkpoint);
        }
    }
}
