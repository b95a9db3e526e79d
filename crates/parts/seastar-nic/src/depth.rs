//! Depths of the FIFOs, for observers: nothing here changes anything.

use crate::fifo::{CommandFifo, DoneFifo};
use crate::SeaStar;
use abi::seastar::{dma_op, DMA_FIFO_DEPTH, DONE_FIFO_DEPTH};

/// Entries in the FIFOs and buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    /// Commands that the transmit engine has not finished.
    pub tx_commands: u32,
    /// Completions that the firmware has not taken.
    pub tx_done: u32,
    /// Commands that the receive engine has not taken.
    pub rx_commands: u32,
    /// Notifications and completions that the firmware has not taken.
    pub rx_done: u32,
    /// Packets that the receive engine holds.
    pub rx_packets: u32,
    /// Streams in use.
    pub rx_streams: u32,
}

fn commands(fifo: &CommandFifo) -> u32 {
    (fifo.tail() + DMA_FIFO_DEPTH - fifo.head) % DMA_FIFO_DEPTH
}

fn done(fifo: &DoneFifo) -> u32 {
    (fifo.tail() + DONE_FIFO_DEPTH - fifo.head()) % DONE_FIFO_DEPTH
}

impl SeaStar {
    /// Current depths of the FIFOs.
    pub fn depths(&self) -> Depths {
        Depths {
            tx_commands: commands(&self.tx.commands),
            tx_done: done(&self.tx.done),
            rx_commands: commands(&self.rx.commands),
            rx_done: done(&self.rx.done),
            rx_packets: self.rx.held(),
            rx_streams: self.rx.cam.in_use() as u32,
        }
    }
    /// Slot of the firmware's next transmit command.
    pub fn tx_tail(&self) -> u32 {
        self.tx.commands.tail()
    }
    /// Host addresses of the headers that the transmit commands from index `from` up to the tail
    /// begin messages with.
    pub fn tx_headers(&self, from: u32) -> impl Iterator<Item = u64> + '_ {
        let fifo = &self.tx.commands;
        let end = fifo.tail();
        let next = move |index: &u32| Some(CommandFifo::after(*index));
        let indices = std::iter::successors(Some(from), next).take_while(move |i| *i != end);
        let commands = indices.map(|index| fifo.command(index));
        let headers = commands.filter(|command| command.op == dma_op::HEADER);
        headers.map(|command| u64::from(command.addr_hi) << 32 | u64::from(command.addr_lo))
    }
}
