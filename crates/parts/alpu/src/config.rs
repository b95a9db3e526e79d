//! The parameters of a unit, the same as those of the RTL's top module.

use crate::QueueKind;

/// Parameters of a unit. `Config::new` gives those of the prototypes, and the RTL's own defaults for the
/// rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Queue that the unit holds.
    pub kind: QueueKind,
    /// Bits that are matched, 1 to 64, with a mask bit for each.
    pub match_width: u32,
    /// Bits of the processor's own word, 1 to 64.
    pub tag_width: u32,
    /// Entries that the unit holds; a multiple of `block`.
    pub cells: usize,
    /// Cells in a block; a power of two, 2 to 64.
    pub block: usize,
    /// Cycles of the pipeline's fourth stage, priority between blocks: 1 or 2.
    pub resolve_cycles: u32,
    /// True if the first stage of a match overlaps the last one of the match before.
    pub overlap: bool,
    /// Entries of the header FIFO; a power of two, at least 2.
    pub header_depth: usize,
    /// Entries of the command FIFO; a power of two, at least 2.
    pub command_depth: usize,
    /// Entries of the result FIFO; a power of two, at least 2.
    pub result_depth: usize,
}

/// The rule that the parameters break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Of [`Config::match_width`].
    #[error("the match width must be 1 to 64 bits")]
    MatchWidth,
    /// Of [`Config::tag_width`].
    #[error("the tag width must be 1 to 64 bits")]
    TagWidth,
    /// Of [`Config::block`].
    #[error("a block must have 2, 4, 8, 16, 32 or 64 cells")]
    Block,
    /// Of [`Config::cells`].
    #[error("the cells must be a multiple of those in a block")]
    Cells,
    /// Of [`Config::resolve_cycles`].
    #[error("stage 4 must take 1 or 2 cycles")]
    ResolveCycles,
    /// Of the three FIFOs.
    #[error("the depth of a FIFO must be a power of two, at least 2")]
    Depth,
}

impl Config {
    /// A unit of `cells` cells in blocks of `block` with the widths of the prototypes in tables IV and V of
    /// brightwell2005, their cycles in stage 4, and FIFOs of 16.
    pub fn new(kind: QueueKind, cells: usize, block: usize) -> Config {
        Config {
            kind,
            match_width: 42,
            tag_width: 16,
            cells,
            block,
            resolve_cycles: if cells / block > 8 { 2 } else { 1 },
            overlap: false,
            header_depth: 16,
            command_depth: 16,
            result_depth: 16,
        }
    }

    /// Checks the parameters.
    pub fn check(&self) -> Result<(), ConfigError> {
        let depth = |depth: usize| depth >= 2 && depth.is_power_of_two();
        let rules = [
            ((1..=64).contains(&self.match_width), ConfigError::MatchWidth),
            ((1..=64).contains(&self.tag_width), ConfigError::TagWidth),
            ((2..=64).contains(&self.block) && self.block.is_power_of_two(), ConfigError::Block),
            (self.cells > 0 && self.cells % self.block.max(1) == 0, ConfigError::Cells),
            ((1..=2).contains(&self.resolve_cycles), ConfigError::ResolveCycles),
            (
                depth(self.header_depth) && depth(self.command_depth) && depth(self.result_depth),
                ConfigError::Depth,
            ),
        ];
        match rules.into_iter().find(|(kept, _)| !kept) {
            Some((_, broken)) => Err(broken),
            None => Ok(()),
        }
    }

    /// The bits of a request that are compared.
    pub fn match_bits(&self) -> u64 {
        ones(self.match_width)
    }

    /// The bits of a tag that are stored.
    pub fn tag_bits(&self) -> u64 {
        ones(self.tag_width)
    }

    /// Cycles from the start of a match to the earliest start of the next.
    pub fn match_cycles(&self) -> u64 {
        5 + u64::from(self.resolve_cycles) - u64::from(self.overlap)
    }
}

fn ones(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_broken_rule_is_a_sentence() {
        let good = Config::new(QueueKind::Posted, 128, 16);
        assert_eq!(good.check(), Ok(()));
        let cases = [
            (Config { match_width: 65, ..good }, "the match width must be 1 to 64 bits"),
            (Config { tag_width: 0, ..good }, "the tag width must be 1 to 64 bits"),
            (Config { block: 12, ..good }, "a block must have 2, 4, 8, 16, 32 or 64 cells"),
            (Config { cells: 100, ..good }, "the cells must be a multiple of those in a block"),
            (Config { resolve_cycles: 3, ..good }, "stage 4 must take 1 or 2 cycles"),
            (
                Config { result_depth: 1, ..good },
                "the depth of a FIFO must be a power of two, at least 2",
            ),
        ];
        for (config, sentence) in cases {
            assert_eq!(config.check().unwrap_err().to_string(), sentence);
        }
    }
}
