//! Bugs of cards and driver on request, as the parts know them.

use super::settings::Settings;
use abi::forth::REGION_SIZE;
use forth_nic::Bug;
use machine::faults::{hidden, Faults};
use serial::{ChannelParams, LaneBug};

/// The bugs of all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Bugs {
    all: Vec<(u32, &'static str)>,
    salt: u64,
}

/// Symbols by which a lane with `bug.skew` is late, and what its elastic buffer must hold for that.
const SKEW: usize = 10;

impl Bugs {
    /// Those that were asked for.
    pub fn of(faults: &Faults, nodes: u32) -> Bugs {
        let bugs = |nid| {
            hidden::bugs(crate::faults::KINDS).filter(move |bug| faults.since(bug, nid).is_some())
        };
        let on = |nid| bugs(nid).map(move |bug| (nid, bug.name));
        Bugs { all: (0..nodes).flat_map(on).collect(), salt: faults.seed }
    }
    pub fn is_none(&self) -> bool {
        self.all.is_empty()
    }
    fn has(&self, nid: u32, name: &str) -> bool {
        self.all.iter().any(|(node, own)| *node == nid && *own == name)
    }
    /// The first node that has it.
    fn whose(&self, name: &str) -> Option<u32> {
        self.all.iter().find(|(_, own)| *own == name).map(|(node, _)| *node)
    }
    fn first<B: Copy>(&self, nid: u32, table: &[(&str, B)]) -> Option<(B, u64)> {
        let found = table.iter().find(|(name, _)| self.has(nid, name));
        found.map(|(_, bug)| (*bug, self.salt))
    }

    /// Of the chip.
    pub fn nic(&self, nid: u32) -> Option<(Bug, u64)> {
        self.first(
            nid,
            &[
                ("bug.completion", Bug::CompletionMixed),
                ("bug.empty_fifo", Bug::EmptyFifo),
                ("bug.first_credit", Bug::FirstCredit),
                ("bug.wrap", Bug::NoWrapBits),
                ("bug.header_crc", Bug::HeaderCrc),
                ("bug.credit", Bug::CreditFlip),
                ("bug.credit_flip", Bug::CreditFlipUnseen),
                ("bug.round_trip", Bug::RoundTripShort),
                ("bug.line", Bug::LineStays),
            ],
        )
    }
    /// Of its PCI core.
    pub fn bus(&self, nid: u32) -> Option<(pci::Bug, u64)> {
        self.first(
            nid,
            &[
                ("bug.stop", pci::Bug::StopIgnored),
                ("bug.omit", pci::Bug::WordsOmitted),
                ("bug.double", pci::Bug::WordsDoubled),
                ("bug.setup", pci::Bug::SetUp),
            ],
        )
    }
    /// Bytes that its configuration space tells.
    pub fn region(&self, nid: u32) -> u32 {
        REGION_SIZE >> u32::from(self.has(nid, "bug.bar"))
    }
    /// Of a lane of its receiver.
    pub fn lane(&self, nid: u32, lane: u8, params: ChannelParams) -> ChannelParams {
        let lanes = params.lanes;
        let struck = u64::from(lane) == self.salt % u64::from(lanes);
        let bug = |bug| Some((bug, self.salt));
        if self.has(nid, "bug.skew") && lanes > 1 && struck {
            let fill = params.fill + SKEW;
            return ChannelParams { fill, depth: params.depth + fill, ..params };
        }
        if self.has(nid, "bug.drift") {
            return ChannelParams { correction: false, ..params };
        }
        if self.has(nid, "bug.attributes") && struck {
            return ChannelParams { bug: bug(LaneBug::CorrectsData), ..params };
        }
        if self.has(nid, "bug.empty_fifo") && lanes > 1 && struck {
            return ChannelParams { bug: bug(LaneBug::Slips), ..params };
        }
        params
    }
    /// The deepest elastic buffer that a lane can have.
    pub fn depth_max(&self, params: &ChannelParams) -> usize {
        let late = self.whose("bug.skew").is_some();
        params.depth + if late { params.fill + SKEW } else { 0 }
    }
    /// True if its handler looks at doorbells again.
    pub fn second_look(&self, nid: u32, settings: &Settings) -> bool {
        settings.second_look && !self.has(nid, "bug.second_look")
    }
    /// The port of the crossbar whose crosspoints miscount.
    pub fn miscounts(&self) -> Option<usize> {
        self.whose("bug.crosspoint").map(|node| node as usize)
    }
}
