//! PCI slot of a guest's card, on the host's side.

use guest::{Location, Space};

/// Offset of the first base address register, and bytes of all six.
const BAR0: u64 = 0x10;
const BARS: usize = 6;

/// A slot of the host's bus, as the host's bridge sees it: accesses go to configuration space or to the
/// addresses at which the guest's kernel has put the card's regions.
#[derive(Clone, Debug)]
pub struct Slot {
    config: u64,
    bars: [u32; BARS],
}

impl Slot {
    /// Slot whose configuration space is at `config` for the processor.
    pub fn new(config: u64) -> Slot {
        Slot { config, bars: [0; BARS] }
    }

    /// Address of a place, as the processor sees it.
    pub(super) fn address(&self, place: Location) -> u64 {
        match place.space {
            Space::Config => self.config + place.offset,
            Space::Region(bar) => {
                let base = self.bars.get(usize::from(bar)).map_or(0, |bar| bar & !0xF);
                u64::from(base) + place.offset
            }
        }
    }

    /// Notes a store of the guest's kernel: it keeps base addresses.
    pub(super) fn stored(&mut self, place: Location, data: &[u8]) {
        let at = place.offset.wrapping_sub(BAR0);
        let bar = self.bars.get_mut((at / 4) as usize);
        if let (Space::Config, Ok(value), Some(bar)) = (place.space, data.try_into(), bar) {
            *bar = u32::from_le_bytes(value);
        }
    }
}
