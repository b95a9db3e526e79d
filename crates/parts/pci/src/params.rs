//! Parameters of a bus.

/// Bytes of a word: what the devices count in, and what a 64-bit bus moves in a cycle.
pub const WORD: u64 = 8;

/// Bytes between the addresses at which a PCI-X transaction may be disconnected (ADBs).
pub const BLOCK: u64 = 128;

/// Rules of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Conventional PCI: reads are delayed (retried until the data are there), bursts end anywhere.
    Pci,
    /// PCI-X: an attribute phase, split reads, disconnects at 128-byte boundaries only.
    Pcix,
}

/// Cycles from the end of a read's request to its first data word, with the completion's own address,
/// attribute and response in them; linear between the two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Cycles for one word (marazakis2006 s2.6, the breakdown of Fig. 4a).
    pub word_cycles: u16,
    /// Cycles for 4 KB (marazakis2006 s2.6).
    pub page_cycles: u16,
}

impl Split {
    /// Cycles for a read of `words` of 64 bits.
    pub fn cycles(&self, words: u16) -> u64 {
        const PAGE_WORDS: u64 = 4096 / WORD;
        let (first, span) = (u64::from(self.word_cycles), self.page_cycles - self.word_cycles);
        first + u64::from(span) * u64::from(words.saturating_sub(1)) / (PAGE_WORDS - 1)
    }
}

/// A bus: width, clock, and the cycles that its phases take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Rules.
    pub protocol: Protocol,
    /// Bytes a data phase: 4 or 8.
    pub width: u8,
    /// Clock in hertz.
    pub hertz: u64,
    /// Idle cycles from a request to the address phase: the arbiter samples, then the master does. They
    /// follow the last transaction; the bridge, at which the idle bus is parked, waits for them between two
    /// of its own only.
    pub arbitration_cycles: u8,
    /// Cycles from attribute (address, in PCI) to data when a device is the target of the host.
    pub device_response_cycles: u8,
    /// The same for the bridge, and for a device that takes what it has read.
    pub bridge_response_cycles: u8,
    /// Latency of the bridge's memory.
    pub split: Split,
    /// Reads that the bridge has open at a time; more are retried.
    pub splits_max: u8,
    /// The bridge disconnects a completion where as many blocks of 128 bytes end. 0: nowhere.
    pub completion_blocks: u16,
    /// Data phases of a burst by or into the bridge; for PCI. 0: no limit.
    pub burst_words: u16,
    /// Data phases that wait in the bridge for the bus, posted by the host.
    pub host_queue: u16,
    /// 64-bit words that wait in the bridge for memory, posted by devices.
    pub posted_words: u16,
    /// A mistake in the device's PCI core, on request, and a number that says where it strikes.
    pub bug: Option<(Bug, u64)>,
}

/// Bug of a device's PCI core (marazakis2006 s3.2, s3.3, s3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// STOP# is not looked at: where the bridge ends a write, the core takes one word more for written.
    StopIgnored,
    /// The core goes on one word too far after the bridge has ended a read.
    WordsOmitted,
    /// The core takes the last word again after the bridge has ended a read.
    WordsDoubled,
    /// Above 66 MHz what the core reads is not stable when it is taken: of some words a bit is wrong.
    SetUp,
}

/// Clock up to which the inputs of a core with [`Bug::SetUp`] are stable in time.
const SET_UP_HZ: u64 = 66_700_000;

impl Params {
    /// The bit of a word of a read that is taken wrong in a cycle.
    pub(crate) fn unstable_bit(&self, cycle: u64) -> Option<u32> {
        let (_, salt) = self.bug.filter(|(bug, _)| *bug == Bug::SetUp)?;
        let chance = (cycle ^ salt << 20).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        // One word of some 60.
        (self.hertz > SET_UP_HZ && chance % 61 == 0).then_some((chance >> 8) as u32 % 64)
    }
    /// True if the core has this mistake.
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug.is_some_and(|(own, _)| own == bug)
    }
}

impl Params {
    /// PCI-X, 64 bit at 100 MHz (marazakis2006 s2): 7 cycles around a target's write and 2 idle ones
    /// between single writes, of which `device_response_cycles` is calibrated on marazakis2006's 90 ns for
    /// a descriptor (`pcix.target_overhead`). The depths of the bridge's queues are assumed.
    pub fn pcix_64_100() -> Params {
        Params {
            protocol: Protocol::Pcix,
            width: 8,
            hertz: 100_000_000,
            arbitration_cycles: 2,
            device_response_cycles: 4,
            bridge_response_cycles: 1,
            split: Split { word_cycles: 46, page_cycles: 57 },
            splits_max: 4,
            completion_blocks: 0,
            burst_words: 0,
            host_queue: 32,
            posted_words: 128,
            bug: None,
        }
    }

    /// PCI, 64 bit at 66 MHz (marazakis2006 s2, its first version). The memory's nanoseconds are those of
    /// PCI-X.
    pub fn pci_64_66() -> Params {
        Params {
            protocol: Protocol::Pci,
            hertz: 66_000_000,
            device_response_cycles: 1,
            split: Split { word_cycles: 30, page_cycles: 38 },
            burst_words: 64,
            ..Params::pcix_64_100()
        }
    }

    /// The extender card of marazakis2006 s3.2: the same card at 33 MHz.
    pub fn extender() -> Params {
        let split = Split { word_cycles: 15, page_cycles: 19 };
        Params { hertz: 33_000_000, split, ..Params::pci_64_66() }
    }

    /// PCI, 32 bit at 33 MHz. Bursts of 16 words are calibrated on vorakosit2001's slope: 10 ns a byte of
    /// programmed I/O are 1.33 cycles a word, and 5 cycles surround a burst.
    pub fn pci_32_33() -> Params {
        Params { width: 4, burst_words: 16, ..Params::extender() }
    }

    /// True if the bridge joins the host's writes to consecutive addresses into bursts.
    pub fn joins_writes(&self) -> bool {
        self.protocol == Protocol::Pci
    }
}
