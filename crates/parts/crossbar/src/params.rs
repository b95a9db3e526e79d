//! Parameters of a crossbar.

/// Most ports (marazakis2006 s2.3).
pub const PORTS_MAX: usize = 8;

/// A crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// Ports, 2 to 8. A packet's flow is the number of its output.
    pub ports: usize,
    /// Words of a crosspoint's buffer, a power of two (assumed: a packet of 4 KB fits, with the next one
    /// behind it). It is also the size of a flow's buffer for each card.
    pub point_words: u16,
    /// Words of the buffer of the card behind each output.
    pub card_words: u16,
    /// Words after which a credit goes before the words of packets (assumed).
    pub urgent_words: u16,
    /// A port in whose row crosspoints miscount (a bug, on request): of a packet's last word that leaves as
    /// another comes in, in the same cycle or the next, no credit tells.
    pub miscounts: Option<usize>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            ports: PORTS_MAX,
            point_words: 1024,
            card_words: 640,
            urgent_words: 64,
            miscounts: None,
        }
    }
}

impl Params {
    /// Bits of the counters of a buffer of `words`, as cards and crossbar have them: log2, and two.
    pub fn counter_bits(words: u16) -> u32 {
        u32::from(words).next_power_of_two().trailing_zeros() + 2
    }
    pub(crate) fn check(&self) {
        assert!((2..=PORTS_MAX).contains(&self.ports), "a crossbar has 2 to {PORTS_MAX} ports");
        assert!(self.point_words.is_power_of_two(), "a crosspoint's buffer is a power of two");
    }
}
