//! Device registers: which address is which register, and what reading and writing it does.
//! Accesses of other widths than a word are the business of `bus::read_words` and
//! `bus::write_words`.

use crate::express::Express;
use crate::fabric::Fabric;
use crate::rx::Rx;
use crate::tx::Tx;
use crate::windows::Windows;
use crate::Ports;
use abi::seastar::device::{HtbMap, RegPanic};
use abi::seastar::{
    DmaCommand, DMA_FIFO_DEPTH, DONE_FIFO_DEPTH, HTB_MAP, REG_INTERRUPT, REG_NID, REG_PANIC,
    RX_CONTROL_HEAD, RX_DONE_FIFO, RX_DONE_HEAD, RX_DONE_TAIL, RX_FIFO, RX_HEAD, RX_TAIL,
    TX_CONTROL_FIFO, TX_CONTROL_HEAD, TX_CONTROL_TAIL, TX_DONE_FIFO, TX_DONE_HEAD, TX_DONE_TAIL,
    TX_FIFO, TX_HEAD, TX_TAIL, WINDOW_COUNT,
};
use bus::{Direction, Words};
use des::Time;

const COMMAND_BYTES: u32 = DMA_FIFO_DEPTH * DmaCommand::SIZE as u32;
const TX_FIFO_END: u32 = TX_FIFO + COMMAND_BYTES;
const TX_CONTROL_FIFO_END: u32 = TX_CONTROL_FIFO + COMMAND_BYTES;
const RX_FIFO_END: u32 = RX_FIFO + COMMAND_BYTES;
const TX_DONE_FIFO_END: u32 = TX_DONE_FIFO + 4 * DONE_FIFO_DEPTH;
const RX_DONE_FIFO_END: u32 = RX_DONE_FIFO + 4 * DONE_FIFO_DEPTH;
const HTB_MAP_END: u32 = HTB_MAP + 4 * WINDOW_COUNT;

const NOTHING: &str = "no device register answers";
const READ_ONLY: &str = "the device register is read only";

/// Registers of the chip itself.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) nid: u16,
    pub(crate) panic: u32,
    pub(crate) windows: Windows,
}

/// All registers, for one access. The effects of the access happen at `at`, when the device has it.
pub(crate) struct Registers<'a, P> {
    pub(crate) at: Time,
    pub(crate) control: &'a mut Control,
    pub(crate) tx: &'a mut Tx,
    pub(crate) rx: &'a mut Rx,
    pub(crate) express: &'a mut Express,
    pub(crate) fabric: &'a mut Fabric,
    pub(crate) ports: &'a mut P,
}

impl<P: Ports> Words for Registers<'_, P> {
    fn read_word(&mut self, addr: u64) -> Result<u32, &'static str> {
        // The local bus is decoded before; registers lie below 4 GB.
        let addr = addr as u32;
        let word = match addr {
            REG_NID => Some(u32::from(self.control.nid)),
            REG_INTERRUPT => Some(0),
            REG_PANIC => Some(self.control.panic),
            TX_HEAD => Some(self.tx.commands.head),
            TX_TAIL => Some(self.tx.commands.tail()),
            TX_DONE_HEAD => Some(self.tx.done.head()),
            TX_DONE_TAIL => Some(self.tx.done.tail()),
            RX_HEAD => Some(self.rx.commands.head),
            RX_TAIL => Some(self.rx.commands.tail()),
            RX_DONE_HEAD => Some(self.rx.done.head()),
            RX_DONE_TAIL => Some(self.rx.done.tail()),
            TX_DONE_FIFO..TX_DONE_FIFO_END => self.tx.done.word(addr - TX_DONE_FIFO),
            RX_DONE_FIFO..RX_DONE_FIFO_END => self.rx.done.word(addr - RX_DONE_FIFO),
            TX_FIFO..TX_FIFO_END | RX_FIFO..RX_FIFO_END => {
                self.entry(addr).map(|bytes| u32::from_le_bytes(*bytes))
            }
            HTB_MAP..HTB_MAP_END => self.window(addr).copied(),
            _ if !self.fabric.params.recovers => None,
            TX_CONTROL_HEAD => Some(self.express.commands.head),
            TX_CONTROL_TAIL => Some(self.express.commands.tail()),
            RX_CONTROL_HEAD => Some(self.express.head),
            _ => None,
        };
        word.ok_or(NOTHING)
    }
    fn write_word(&mut self, addr: u64, word: u32) -> Result<(), &'static str> {
        let addr = addr as u32;
        match addr {
            REG_INTERRUPT => self.interrupt(),
            REG_PANIC => {
                self.control.panic = word;
                let panic = RegPanic(word);
                self.ports.panic(self.at, panic.reason(), panic.detail());
            }
            TX_TAIL => {
                self.tx.commands.set_tail(word)?;
                self.tx.tail_moved(self.at, self.fabric, self.ports);
            }
            RX_TAIL => {
                self.rx.commands.set_tail(word)?;
                self.rx.tail_moved(self.at, self.fabric, self.ports);
            }
            TX_DONE_HEAD => self.tx.done.set_head(word)?,
            RX_DONE_HEAD => {
                self.rx.done.set_head(word)?;
                self.rx.done_taken(self.at, self.fabric, self.ports);
            }
            TX_FIFO..TX_FIFO_END | RX_FIFO..RX_FIFO_END => {
                *self.entry(addr).ok_or(NOTHING)? = word.to_le_bytes();
            }
            HTB_MAP..HTB_MAP_END => {
                *self.window(addr).ok_or(NOTHING)? = word & HtbMap::WRITABLE;
            }
            TX_CONTROL_TAIL if self.fabric.params.recovers => {
                self.express.commands.set_tail(word)?;
                self.express.tail_moved(self.at, self.fabric, self.ports);
            }
            RX_CONTROL_HEAD if self.fabric.params.recovers => {
                self.express.head_moved(self.at, word, self.fabric, self.ports)?;
            }
            TX_CONTROL_FIFO..TX_CONTROL_FIFO_END if self.fabric.params.recovers => {
                let entry = self.express.commands.word(addr - TX_CONTROL_FIFO);
                *entry.ok_or(NOTHING)? = word.to_le_bytes();
            }
            _ => return self.read_word(u64::from(addr)).and(Err(READ_ONLY)),
        }
        Ok(())
    }
}

impl<P: Ports> Registers<'_, P> {
    fn entry(&mut self, addr: u32) -> Option<&mut [u8; 4]> {
        if addr < RX_FIFO {
            self.tx.commands.word(addr - TX_FIFO)
        } else {
            self.rx.commands.word(addr - RX_FIFO)
        }
    }
    fn window(&mut self, addr: u32) -> Option<&mut u32> {
        self.control.windows.register((addr - HTB_MAP) as usize / 4)
    }
    /// The interrupt travels to the host behind what was posted before.
    fn interrupt(&mut self) {
        let bytes = self.fabric.params.ht_interrupt_bytes;
        let arrival = self.ports.link().send(self.at, Direction::ToHost, bytes);
        self.fabric.posted.interrupt(arrival, self.ports);
    }
}
