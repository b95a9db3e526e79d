//! The card as its host maps it: 16 MB.

use super::dma::CHAINS;
use super::Card;
use abi::myrinet::{self as my, board_control as control, isr};
use bus::BusError;
use des::Time;

/// The card takes all of its space for itself: where there is nothing, a read gives ones (assumed).
const NOTHING: u32 = u32::MAX;

impl Card {
    /// The host reads at `addr` of the card's space. The card has been advanced to `now`.
    pub fn host_read(&mut self, now: Time, addr: u32, buf: &mut [u8]) -> Result<(), BusError> {
        let len = buf.len();
        if let Some(bytes) = self.chip.sram.get(addr as usize..).and_then(|rest| rest.get(..len)) {
            buf.copy_from_slice(bytes);
            return Ok(());
        }
        let error = |why| BusError { addr: addr.into(), len, write: false, why };
        if len != 4 || addr % 4 != 0 {
            return Err(error("registers are words"));
        }
        let value = match addr {
            my::BOARD_POINTERS.. if (addr - my::BOARD_POINTERS) / 4 < CHAINS as u32 => {
                self.chip.dma.heads[((addr - my::BOARD_POINTERS) / 4) as usize]
            }
            my::BOARD_SPECIAL..my::BOARD_DOORBELLS => {
                self.chip.read_register(now, addr - my::BOARD_SPECIAL).unwrap_or(NOTHING)
            }
            _ if addr < my::SPACE_SIZE => NOTHING,
            _ => return Err(error("it is beyond the card's space")),
        };
        buf.copy_from_slice(&value.to_be_bytes());
        Ok(())
    }

    /// The host writes at `addr` of the card's space. The card has been advanced to `now`.
    pub fn host_write(&mut self, now: Time, addr: u32, data: &[u8]) -> Result<(), BusError> {
        let len = data.len();
        self.core.disturbed();
        let place = self.chip.sram.get_mut(addr as usize..).and_then(|rest| rest.get_mut(..len));
        if let Some(place) = place {
            place.copy_from_slice(data);
            self.core.memory_changed(addr, len);
            return Ok(());
        }
        let error = |why| BusError { addr: addr.into(), len, write: true, why };
        let word = <[u8; 4]>::try_from(data).ok().filter(|_| addr % 4 == 0);
        let value = word.map(u32::from_be_bytes).ok_or_else(|| error("registers are words"))?;
        match addr {
            my::BOARD_CONTROL => self.control(now, value),
            my::BOARD_POINTERS.. if (addr - my::BOARD_POINTERS) / 4 < CHAINS as u32 => {
                self.chip.dma.heads[((addr - my::BOARD_POINTERS) / 4) as usize] = value;
            }
            my::BOARD_SPECIAL..my::BOARD_DOORBELLS => {
                let offset = addr - my::BOARD_SPECIAL;
                if !self.chip.write_register(now, offset, value, false) {
                    return Err(error("there is no such register"));
                }
            }
            my::BOARD_DOORBELLS..my::SPACE_SIZE => self.ring(now, addr, value),
            _ => return Err(error("nothing answers there")),
        }
        Ok(())
    }

    fn control(&mut self, now: Time, value: u32) {
        if value & control::RESET_ON != 0 {
            self.running = false;
            self.chip.reset(now);
        }
        if value & control::RESET_OFF != 0 && !self.running {
            self.core.reset(now);
            self.running = true;
        }
        if value & control::INTERRUPT_ON != 0 {
            self.chip.interrupts_on = true;
        }
        if value & control::INTERRUPT_OFF != 0 {
            self.chip.interrupts_on = false;
        }
        let chains = [control::DMA_0, control::DMA_1].map(|bit| u32::from(value & bit != 0));
        self.chip.start_dma(now, chains[0] | chains[1] << 1);
        self.chip.line_due = self.chip.line_due.min(now);
    }

    /// A doorbell: address and data go to a queue in memory.
    fn ring(&mut self, now: Time, addr: u32, value: u32) {
        let entry = my::DOORBELL_QUEUE + 8 * (self.chip.doorbells % my::DOORBELL_ENTRIES);
        self.chip.doorbells = self.chip.doorbells.wrapping_add(1);
        self.chip.put_word(entry, addr - my::BOARD_DOORBELLS);
        self.chip.put_word(entry + 4, value);
        self.chip.raise(now, isr::DOORBELL);
        self.tell_core();
    }
}
