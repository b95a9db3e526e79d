//! Parameters of a NIC.

use abi::forth::PACKET_OVERHEAD;

/// The sender's idea of the space that a packet needs at the other end (marazakis2006 s4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// The packet, and all that could come while a credit travels: a round trip's words.
    Conservative,
    /// The packet.
    Fine,
}

/// A NIC: depths of its FIFOs, clock and flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Number that packets tell as their source.
    pub source: u8,
    /// Descriptors in the request queue (assumed). The host is retried while less than a write-combining
    /// buffer's fit.
    pub queue_depth: u8,
    /// Words of the sending FIFO, a power of two (assumed: two messages, so that one is read while one is
    /// sent).
    pub tx_words: u16,
    /// Words of the receiving FIFO that flow control counts with (`nic.rx_fifo`: calibrated on the 10 to 15
    /// % that the finer estimate brings, marazakis2006 s4.3). The memory has the next power of two.
    pub rx_words: u16,
    /// Words of the buffer at the other end of the lanes, another card's or the crossbar's: what a flow's
    /// limit can be.
    pub peer_words: u16,
    /// Reads of host memory under way at a time: two follow from marazakis2006 Fig. 4b.
    pub reads_max: u8,
    /// Pages that handles can be bound to; 0: destinations of descriptors are physical addresses
    /// (marazakis2006 s2.2).
    pub bindings: u16,
    /// Lanes: two bonded or four (marazakis2006 s2.1), or one to the crossbar (s2.3). Four take a word at
    /// each edge of twice the clock, two bytes a lane.
    pub lanes: u8,
    /// Space that a packet is taken to need.
    pub estimate: Estimate,
    /// Words that can be sent in a round trip of credits, for the conservative estimate (assumed: what the
    /// lanes' latency comes to).
    pub round_trip_words: u16,
    /// Words after which a credit goes before the words of packets; it goes at once when there are none
    /// (assumed).
    pub credit_words: u16,
    /// A mistake in the card, on request, and a number that says where it strikes.
    pub bug: Option<(Bug, u64)>,
}

/// A mistake in the card, of those that marazakis2006 tells of (s3.3 to s3.5, s4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A read of a register while a read of memory is open leaves the multiplexer of the DMA engine on the
    /// register: the next word that comes is taken from there.
    CompletionMixed,
    /// An empty synchronisation FIFO gives its last item again.
    EmptyFifo,
    /// A flow's first credit is twice the buffer at the other end.
    FirstCredit,
    /// Counters of flow control are compared as if they never wrapped.
    NoWrapBits,
    /// Of some packets the header's CRC is wrong.
    HeaderCrc,
    /// Another module flips bits of some credits, which their parity shows.
    CreditFlip,
    /// The same, with the parity made behind it.
    CreditFlipUnseen,
    /// The receiver is taken to have freed a whole buffer while a packet travels.
    RoundTripShort,
    /// Enabling and disabling interrupts does not clear the line.
    LineStays,
}

impl Params {
    /// True if the card has this mistake.
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug.is_some_and(|(own, _)| own == bug)
    }
    /// The number that says where a mistake strikes.
    pub(crate) fn salt(&self) -> u64 {
        self.bug.map_or(0, |(_, salt)| salt)
    }
}

impl Default for Params {
    fn default() -> Params {
        Params {
            source: 0,
            queue_depth: 16,
            tx_words: 1024,
            rx_words: 640,
            peer_words: 640,
            reads_max: 2,
            bindings: 0,
            lanes: 2,
            estimate: Estimate::Fine,
            round_trip_words: 96,
            credit_words: 64,
            bug: None,
        }
    }
}

/// Clock of the lanes: 78.125 MHz (marazakis2006 s2.1).
pub const LINK_HZ: u64 = 78_125_000;

impl Params {
    /// Bits of the counters of a buffer of `words`: log2 of it, and two against wrapping (marazakis2006
    /// s3.5).
    pub fn counter_bits(words: u16) -> u32 {
        u32::from(words).next_power_of_two().trailing_zeros() + 2
    }
    /// Words that a packet of `words` of payload is taken to need.
    pub fn needed(&self, words: u16) -> u16 {
        let packet = words + PACKET_OVERHEAD as u16;
        match self.estimate {
            Estimate::Fine => packet,
            Estimate::Conservative => packet + self.round_trip_words,
        }
    }
}
