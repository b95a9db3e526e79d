//! Parameters of a card.

use abi::offload as of;
use abi::offload::register::Options;
use des::{Clock, Duration};

/// Parameters of a card.
#[derive(Clone, Debug)]
pub struct Params {
    /// Number of its node.
    pub node: u32,
    /// The processor.
    pub processor: ppc440::Config,
    /// Time that everything takes to cross the bus, one way.
    pub bus_delay: Duration,
    /// Time for which 16 bytes occupy it; reads and writes have paths of their own.
    pub bus_beat: Duration,
    /// Access time of the memory, beside the bus.
    pub memory: Duration,
    /// Access time of the host's memory, beside the bus.
    pub host_memory: Duration,
    /// Bytes a second of a DMA engine.
    pub dma_rate: u64,
    /// Bytes a second of the wire, at each end. None: behind the card is a network with a pace of its own. It
    /// takes one message at a time, says when it has it ([`crate::Card::left`]), and hands over headers
    /// before the payloads are whole.
    pub wire_rate: Option<u64>,
    /// The matching units, if there are any.
    pub units: Option<Units>,
}

/// Parameters of the two units.
#[derive(Clone, Debug)]
pub struct Units {
    /// The unit for posted receives.
    pub posted: alpu::Config,
    /// The unit for unexpected messages.
    pub unexpected: alpu::Config,
    /// Their clock.
    pub clock: Clock,
    /// Entries of a list from which on its unit is used.
    pub threshold: u32,
}

impl Units {
    /// Value of the register OPTIONS for these units.
    pub(crate) fn options(&self) -> u32 {
        let options = Options(0).with_cells(self.posted.cells as u16);
        options.with_threshold(self.threshold as u8).0
    }
}

/// The firmware as the loader leaves it.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Contents of memory from TEXT_BASE on.
    pub text: Vec<u8>,
    /// Contents of memory from ROM_BASE on: the reset vector is its last word.
    pub rom: Vec<u8>,
}

/// Reason for which an image is none of the firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The text has so many bytes.
    #[error(
        "an image of {0} bytes does not fill or fit its region of {size} bytes",
        size = of::TEXT_SIZE
    )]
    Text(usize),
    /// The ROM has so many bytes.
    #[error("a ROM of {0} bytes does not fill its page of {size} bytes", size = of::ROM_SIZE)]
    Rom(usize),
}

impl Image {
    /// Checks the image.
    pub fn check(&self) -> Result<(), ImageError> {
        if self.text.len() > of::TEXT_SIZE as usize || self.text.is_empty() {
            return Err(ImageError::Text(self.text.len()));
        }
        if self.rom.len() != of::ROM_SIZE as usize {
            return Err(ImageError::Rom(self.rom.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_another_size_is_refused_with_a_sentence() {
        let image = |text, rom| Image { text: vec![0; text], rom: vec![0; rom] };
        let (text, rom) = (of::TEXT_SIZE as usize, of::ROM_SIZE as usize);
        assert_eq!(image(text, rom).check(), Ok(()));
        for (text, rom, sentence) in [
            (
                0,
                rom,
                format!("an image of 0 bytes does not fill or fit its region of {text} bytes"),
            ),
            (text, 8, format!("a ROM of 8 bytes does not fill its page of {rom} bytes")),
        ] {
            assert_eq!(image(text, rom).check().unwrap_err().to_string(), sentence);
        }
    }
}
