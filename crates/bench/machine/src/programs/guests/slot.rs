//! PCI slot of a guest's card, on the host's side.

use guest::{Location, Space};

/// Offset of the first base address register, and bytes of all six.
const BAR0: u64 = 0x10;
const BARS: usize = 6;
/// Bytes of a configuration space.
const CONFIG_BYTES: u64 = 256;

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
            Space::Config => self.config + place.offset % CONFIG_BYTES,
            Space::Region(bar) => {
                let base = self.bars.get(usize::from(bar)).map_or(0, |bar| bar & !0xF);
                // The bus has 32 lines for addresses.
                u64::from(base.wrapping_add(place.offset as u32))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset is the guest's word, which may be anything.
    #[test]
    fn places_are_addresses_of_32_bits() {
        let mut slot = Slot::new(0xE000_0000);
        let config = |offset| Location { space: Space::Config, offset };
        slot.stored(config(0x10), &0xF000_0004_u32.to_le_bytes());
        let at = |space, offset| slot.address(Location { space, offset });
        assert_eq!(at(Space::Region(0), 0x1234), 0xF000_1234);
        assert_eq!(at(Space::Region(0), u64::MAX), 0xEFFF_FFFF);
        assert_eq!(at(Space::Region(200), 16), 16);
        assert_eq!(at(Space::Config, u64::MAX), 0xE000_00FF);
    }
}
