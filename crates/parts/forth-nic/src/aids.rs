//! Debugging aids (marazakis2006 s2.8, s4.3): four tracing memories at the ends of both FIFOs, and a memory
//! of samples of throughput and back-pressure. All of them only look on.

use crate::packet::{Entry, Header};
use abi::forth::register::{
    DebugSelect, SampleControl, SampleIndex, TraceControl, TraceIndex, TraceTag,
};
use abi::forth::{trace_point, trace_tag, TRACE_DEPTH};

/// Samples of a memory.
const DEPTH: usize = TRACE_DEPTH as usize;
/// Tracing memories.
pub(crate) const POINTS: usize = 4;

/// Input of a tracing memory in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Data(u64),
    Header(Header),
    /// A word, or the end of a packet, behind which nothing of it comes.
    End(u64, bool),
}

impl From<Entry> for Seen {
    fn from(entry: Entry) -> Seen {
        match entry {
            Entry::Data(data) => Seen::Data(data),
            Entry::Header(header) => Seen::Header(header),
            Entry::End(good) => Seen::End(0, good),
        }
    }
}

/// A header in 64 bits.
pub(crate) fn packed(header: &Header) -> u64 {
    u64::from(header.destination)
        | u64::from(header.words) << 32
        | u64::from(header.flow) << 42
        | u64::from(header.source) << 49
        | u64::from(header.interrupt) << 57
}

/// A tracing memory: 72 bits a sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracer {
    samples: Vec<(u64, TraceTag)>,
    count: u64,
    /// Cycles since the last sample.
    gap: u64,
}

impl Tracer {
    fn clear(&mut self) {
        (self.count, self.gap) = (0, 0);
    }
    /// A cycle of its clock, while it is on.
    fn edge(&mut self, seen: Option<Seen>, stops: bool) {
        self.gap += 1;
        let Some(seen) = seen else { return };
        if stops && self.count >= DEPTH as u64 {
            return;
        }
        let (data, kind) = match seen {
            Seen::Data(data) => (data, trace_tag::DATA),
            Seen::Header(header) => (packed(&header), trace_tag::HEADER),
            Seen::End(data, true) => (data, trace_tag::END_GOOD),
            Seen::End(data, false) => (data, trace_tag::END_BAD),
        };
        let gap = self.gap.min(trace_tag::GAP_MAX.into()) as u8;
        let tag = TraceTag(0).with_kind(kind).with_gap(gap);
        // The memory is there from the first sample on.
        self.samples.resize(DEPTH, (0, TraceTag::default()));
        self.samples[self.count as usize % DEPTH] = (data, tag);
        (self.count, self.gap) = (self.count + 1, 0);
    }
    fn sample(&self, index: u16) -> (u64, TraceTag) {
        self.samples.get(usize::from(index) % DEPTH).copied().unwrap_or_default()
    }
}

/// Settings of tracing and sampling that cross from the bus's clock to the lanes': levels, and counts that
/// change with each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// TRACE_CONTROL without CLEAR.
    pub trace: TraceControl,
    /// Number of times that each memory has been cleared.
    pub clears: [u8; POINTS],
    /// SAMPLE_CONTROL, and how often it was written.
    pub sample: SampleControl,
    pub starts: u8,
    /// DEBUG_SELECT.
    pub select: DebugSelect,
}

impl Wanted {
    /// TRACE_CONTROL is written.
    pub fn write_trace(&mut self, value: u64) {
        self.trace = TraceControl(value & TraceControl::WRITABLE);
        if TraceControl(value).clear() {
            for (point, clears) in self.clears.iter_mut().enumerate() {
                *clears = clears.wrapping_add(self.trace.on() >> point & 1);
            }
        }
    }
    /// SAMPLE_CONTROL is written.
    pub fn write_sample(&mut self, value: u64) {
        self.sample = SampleControl(value & SampleControl::WRITABLE);
        self.starts = self.starts.wrapping_add(1);
    }
    pub fn flow(&self) -> u8 {
        self.select.flow()
    }
    pub fn lane(&self) -> usize {
        self.select.lane().into()
    }
}

/// A sample of what the lanes' half has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub sent: u64,
    pub received: u64,
    pub pressure: u64,
}

/// The sampling memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampler {
    samples: Vec<Sample>,
    /// As they were last seen.
    starts: u8,
    period: u32,
    wanted: usize,
    /// Cycles to the next sample.
    left: u32,
}

impl Sampler {
    /// True while there are samples to take: the lanes' clock must run.
    pub fn runs(&self) -> bool {
        self.samples.len() < self.wanted
    }
    pub fn edge(&mut self, wanted: &Wanted, sample: impl FnOnce() -> Sample) {
        if wanted.starts != self.starts {
            self.starts = wanted.starts;
            self.samples.clear();
            self.period = wanted.sample.period();
            self.wanted = usize::from(wanted.sample.samples()).min(DEPTH);
            self.left = 0;
            self.samples.reserve(self.wanted);
        }
        if !self.runs() {
            return;
        }
        if self.left == 0 {
            self.samples.push(sample());
            self.left = self.period.max(1);
        }
        self.left -= 1;
    }
    pub fn count(&self) -> u64 {
        self.samples.len() as u64
    }
    pub fn sample(&self, index: SampleIndex) -> Sample {
        self.samples.get(usize::from(index.sample())).copied().unwrap_or_default()
    }
}

/// Counts of a lane's transceiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transceiver {
    /// Overflows and underflows of its elastic buffer.
    pub buffer_errors: u64,
    /// Clock corrections.
    pub corrections: u64,
}

/// The memories of a card with the registers that show them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aids {
    tracers: [Tracer; POINTS],
    cleared: [u8; POINTS],
    pub sampler: Sampler,
    /// TRACE_INDEX and SAMPLE_INDEX.
    pub trace_index: TraceIndex,
    pub sample_index: SampleIndex,
    pub transceivers: [Transceiver; 4],
}

impl Aids {
    /// The state after a reset: the tracing memories stay, and what the transceivers tell is not the card's.
    pub fn after_reset(self) -> Aids {
        let Aids { tracers, transceivers, .. } = self;
        Aids { tracers, transceivers, ..Aids::default() }
    }
    /// An edge of the clock of two memories: what they are given.
    pub fn trace(&mut self, wanted: &Wanted, frozen: bool, seen: [(u32, Option<Seen>); 2]) {
        for (point, seen) in seen {
            let place = point as usize;
            if self.cleared[place] != wanted.clears[place] {
                self.cleared[place] = wanted.clears[place];
                self.tracers[place].clear();
            }
            if !frozen && wanted.trace.on() >> point & 1 == 1 {
                self.tracers[place].edge(seen, wanted.trace.stop());
            }
        }
    }
    /// Edges were left out in which nothing moved: of the bus's clock, or of the lanes'.
    pub fn pass(&mut self, lanes: bool, edges: u64) {
        let of_lanes = [trace_point::SEND_OUT, trace_point::RECEIVE_IN];
        let of_bus = [trace_point::SEND_IN, trace_point::RECEIVE_OUT];
        for point in if lanes { of_lanes } else { of_bus } {
            self.tracers[point as usize].gap += edges;
        }
    }
    fn selected(&self) -> &Tracer {
        &self.tracers[usize::from(self.trace_index.memory())]
    }
    pub fn trace_count(&self) -> u64 {
        self.selected().count
    }
    pub fn trace_sample(&self) -> (u64, TraceTag) {
        self.selected().sample(self.trace_index.sample())
    }
}
