//! The NIC.

use crate::recorder::{Capture, Captured, RecordError, Recorder};
use crate::trigger::Sign;
use crate::verilated::{Design, DesignPaths, Library, Unbuilt};
use forth_nic::{Arrival, Estimate, Header, HostCounters, LinkCounters, Params, Transceiver};
use pci::{Device, DeviceIn, DeviceOut, Operation, Request};
use serial::{Symbol, Symbols};
use std::ffi::c_void;

/// Inputs of the chip from the bus, as declared in shim/nic.cpp.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusIn {
    pub write_data: u64,
    pub completion_data: u64,
    pub transceivers: u64,
    pub write_offset: u16,
    pub read_offset: u16,
    pub write_enables: u8,
    pub write: bool,
    pub read: bool,
    pub accepted: bool,
    pub completion: bool,
    pub took: bool,
    pub ended: bool,
    pub aborted: bool,
    /// Edges left out before this one, 63 for more.
    pub passed: u8,
    unused: [u8; 3],
}

/// Outputs of the chip.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusOut {
    pub addr: u64,
    pub write_word: u64,
    pub read_word: u64,
    pub arrived_header: u64,
    pub words: u16,
    pub tag: u8,
    pub request: u8,
    pub request_write: u8,
    pub write_on: u8,
    pub busy: u8,
    pub interrupt: u8,
    pub arrived: u8,
    pub arrived_good: u8,
    pub frozen: u8,
    pub bus_rests: u8,
    pub link_rests: u8,
    pub link_held: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkIn {
    pub bytes: [u32; 2],
    pub control: [u8; 2],
    pub passed: u8,
    unused: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkOut {
    pub bytes: [u32; 2],
    pub control: [u8; 2],
    pub bus_rests: u8,
    pub link_rests: u8,
    pub link_held: u8,
    unused: [u8; 3],
}

/// Edges left out that the ports tell at most: what a sample of a tracing memory does.
const PASSED_MAX: u64 = 63;

/// Counters that the shim tells: four of the bus's half, seven of the lanes'.
const TOTALS: usize = 11;

/// Entry points that write waveforms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waves {
    pub open: unsafe extern "C" fn(*mut c_void, *const i8) -> u8,
    pub set_bus: unsafe extern "C" fn(*mut c_void, *const BusIn),
    pub set_link: unsafe extern "C" fn(*mut c_void, *const LinkIn),
    pub level: unsafe extern "C" fn(*mut c_void, u8, u8),
    pub dump: unsafe extern "C" fn(*mut c_void, u64),
    pub end: unsafe extern "C" fn(*mut c_void),
}

/// NICs of one shape, compiled and loaded.
#[derive(Clone, Copy, Debug)]
pub struct NicDesign {
    waves: Option<Waves>,
    new: unsafe extern "C" fn(u8, u16) -> *mut c_void,
    delete: unsafe extern "C" fn(*mut c_void),
    look: unsafe extern "C" fn(*const c_void, *mut BusOut),
    bus: unsafe extern "C" fn(*mut c_void, *const BusIn, *mut BusOut),
    link: unsafe extern "C" fn(*mut c_void, *const LinkIn, *mut LinkOut),
    totals: unsafe extern "C" fn(*const c_void, *mut u64),
    outstanding: unsafe extern "C" fn(*mut c_void, u8) -> u16,
}

impl NicDesign {
    /// Builds the design for `params`, whose source and estimate each NIC has for itself.
    pub fn build(place: &DesignPaths, params: &Params) -> Result<NicDesign, Unbuilt> {
        NicDesign::of(place, "rtl/rdma", params)
    }

    /// The same with tracing, for recorders.
    pub fn traced(place: &DesignPaths, params: &Params) -> Result<NicDesign, Unbuilt> {
        NicDesign::compiled(place, "rtl/rdma", params, true)
    }

    /// Builds the design from sources in another folder below the place's root.
    pub fn of(place: &DesignPaths, folder: &str, params: &Params) -> Result<NicDesign, Unbuilt> {
        NicDesign::compiled(place, folder, params, false)
    }

    fn compiled(
        place: &DesignPaths,
        folder: &str,
        params: &Params,
        traced: bool,
    ) -> Result<NicDesign, Unbuilt> {
        let library = Library::build(
            place,
            &Design {
                top: "rdma_nic",
                traced,
                folders: &[folder],
                shim: "rtl/shim/nic.cpp",
                parameters: &[
                    ("QUEUE", params.queue_depth.into()),
                    ("TX_WORDS", params.tx_words.into()),
                    ("RX_WORDS", params.rx_words.into()),
                    ("PEER_WORDS", params.peer_words.into()),
                    ("READS", params.reads_max.into()),
                    ("BINDINGS", params.bindings.into()),
                    ("LANES", params.lanes.into()),
                    ("URGENT", params.credit_words.into()),
                ],
            },
        )?;
        // SAFETY: these are the types of the functions in shim/nic.cpp; the library is never unloaded.
        Ok(unsafe {
            NicDesign {
                waves: traced.then(|| Waves {
                    open: library.function(c"nic_wave"),
                    set_bus: library.function(c"nic_set_bus"),
                    set_link: library.function(c"nic_set_link"),
                    level: library.function(c"nic_level"),
                    dump: library.function(c"nic_dump"),
                    end: library.function(c"nic_wave_end"),
                }),
                new: library.function(c"nic_new"),
                delete: library.function(c"nic_delete"),
                look: library.function(c"nic_look"),
                bus: library.function(c"nic_bus"),
                link: library.function(c"nic_link"),
                totals: library.function(c"nic_totals"),
                outstanding: library.function(c"nic_outstanding"),
            }
        })
    }
}

/// A NIC.
#[derive(Debug)]
pub struct Nic {
    design: NicDesign,
    unit: *mut c_void,
    out: BusOut,
    /// Status of the lanes' transceivers, as the port has it.
    transceivers: u64,
    /// Edges of the bus's clock and of the lanes' that were left out since the last one.
    passed: [u8; 2],
    recorder: Option<Box<Recorder>>,
}

/// Slack of the estimate, as the strap has it.
fn slack(params: &Params) -> u16 {
    match params.estimate {
        Estimate::Fine => 0,
        Estimate::Conservative => params.round_trip_words,
    }
}

impl Nic {
    /// NIC after reset. `params` are those of its design.
    pub fn new(design: NicDesign, params: &Params) -> Nic {
        let mut out = BusOut::default();
        // SAFETY: the design's functions may be called at any time; the unit lives until drop.
        let unit = unsafe {
            let unit = (design.new)(params.source, slack(params));
            (design.look)(unit, &mut out);
            unit
        };
        Nic { design, unit, out, transceivers: 0, passed: [0; 2], recorder: None }
    }

    /// The same as [`forth_nic::Nic::set_transceiver`].
    pub fn set_transceiver(&mut self, lane: usize, status: Transceiver) {
        let byte = |count: u64| count.min(255);
        let word = byte(status.corrections) << 8 | byte(status.buffer_errors);
        let shift = 16 * lane;
        self.transceivers = self.transceivers & !(0xFFFF << shift) | word << shift;
    }
    /// The same as [`forth_nic::Nic::pass`].
    pub fn pass(&mut self, lanes: bool, edges: u64) {
        let passed = &mut self.passed[usize::from(lanes)];
        *passed = edges.saturating_add((*passed).into()).min(PASSED_MAX) as u8;
    }
    /// Edges left out, for the next one.
    fn passed(&mut self, lanes: bool) -> u8 {
        std::mem::take(&mut self.passed[usize::from(lanes)])
    }

    /// Records what it does around a trigger, from its reset on. `traced` is its design with tracing.
    ///
    /// # Panics
    /// If `traced` is none.
    pub fn record(&mut self, traced: NicDesign, params: &Params, capture: Capture) {
        let waves = traced.waves.expect("a design with tracing");
        // SAFETY: the design's functions may be called at any time; the recorder deletes the unit.
        let unit = unsafe { (traced.new)(params.source, slack(params)) };
        let recorder = Recorder::new(capture, waves, unit, traced.delete, self.out);
        self.recorder = Some(Box::new(recorder));
    }
    /// Edges from now on are at `time`, in picoseconds, for the recorder.
    pub fn set_time(&mut self, time: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.set_time(time);
        }
    }
    /// Something has been at `time` that the ports do not show.
    pub fn sign(&mut self, sign: Sign, time: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.sign(sign, time);
        }
    }
    /// The run is over: what has been recorded, if the trigger has come.
    pub fn recorded(&mut self) -> Result<Option<Captured>, RecordError> {
        self.recorder.take().map_or(Ok(None), |recorder| recorder.finish())
    }
    /// Counts that triggers look at, if the recorder's does.
    fn looked_at(&self) -> Option<[u64; 6]> {
        let recorder = self.recorder.as_ref()?;
        let totals = (recorder.counts() && !recorder.is_over()).then(|| self.totals())?;
        totals[5..].first_chunk().copied()
    }

    /// The edge of the lanes' clock, as [`forth_nic::Nic::link_clock`].
    pub fn link_clock(&mut self, symbols: Symbols) -> Symbols {
        let input = LinkIn {
            bytes: symbols.map(|symbol| symbol.bytes),
            control: symbols.map(|symbol| symbol.control),
            passed: self.passed(true),
            ..LinkIn::default()
        };
        let mut out = LinkOut::default();
        // SAFETY: the unit is alive, and both structures are those of shim/nic.cpp.
        unsafe { (self.design.link)(self.unit, &input, &mut out) }
        (self.out.bus_rests, self.out.link_rests) = (out.bus_rests, out.link_rests);
        self.out.link_held = out.link_held;
        let counts = self.looked_at();
        if let Some(recorder) = self.recorder.as_mut().filter(|recorder| !recorder.is_over()) {
            recorder.link(input, out, counts);
        }
        let symbol = |lane: usize| Symbol { bytes: out.bytes[lane], control: out.control[lane] };
        [symbol(0), symbol(1)]
    }

    /// The packet whose last word went to memory with the last edge of the bus.
    pub fn arrival(&self) -> Option<Arrival> {
        let bits = self.out.arrived_header;
        (self.out.arrived == 1).then_some(Arrival {
            header: Header {
                destination: bits as u32,
                words: (bits >> 32) as u16 & 0x3FF,
                flow: (bits >> 42) as u8 & 0x7F,
                source: (bits >> 49) as u8,
                interrupt: bits >> 57 & 1 == 1,
            },
            good: self.out.arrived_good == 1,
        })
    }

    fn totals(&self) -> [u64; TOTALS] {
        let mut totals = [0; TOTALS];
        // SAFETY: the unit is alive, and the shim writes so many.
        unsafe { (self.design.totals)(self.unit, totals.as_mut_ptr()) }
        totals
    }
    /// Counters of the bus's half.
    pub fn host_counters(&self) -> HostCounters {
        let [sent_messages, received_messages, received_words, interrupts, ..] = self.totals();
        HostCounters { sent_messages, received_messages, received_words, interrupts }
    }
    /// Counters of the lanes' half.
    pub fn link_counters(&self) -> LinkCounters {
        let totals = self.totals();
        LinkCounters {
            sent_words: totals[4],
            back_pressure: totals[5],
            header_errors: totals[6],
            payload_errors: totals[7],
            credit_errors: totals[8],
            bond_errors: totals[9],
            overflows: totals[10],
        }
    }
    /// Words of a flow that are sent and not known to have left the receiver's buffer.
    pub fn outstanding(&self, flow: u8) -> u16 {
        // SAFETY: the unit is alive.
        unsafe { (self.design.outstanding)(self.unit, flow) }
    }
    /// True if an error has stopped it.
    pub fn is_frozen(&self) -> bool {
        self.out.frozen == 1
    }
    /// The same as [`forth_nic::Nic::lanes_are_held`].
    pub fn lanes_are_held(&self) -> bool {
        self.out.link_held == 1
    }
    /// The same as [`forth_nic::Nic::bus_rests`].
    pub fn bus_rests(&self) -> bool {
        self.out.bus_rests == 1
    }
    /// The same as [`forth_nic::Nic::lanes_rest`].
    pub fn lanes_rest(&self) -> bool {
        self.out.link_rests == 1
    }
}

impl Device for Nic {
    fn outputs(&self) -> DeviceOut {
        let out = &self.out;
        let write = out.request_write == 1;
        DeviceOut {
            request: (out.request == 1).then_some(Request {
                operation: if write { Operation::Write } else { Operation::Read },
                addr: out.addr,
                bytes: out.words * pci::WORD as u16,
                tag: if write { 0 } else { out.tag },
            }),
            write_word: out.write_word,
            write_on: out.write_on == 1,
            read_word: out.read_word,
            busy: out.busy == 1,
            interrupt: out.interrupt == 1,
        }
    }

    fn clock(&mut self, inputs: &DeviceIn) {
        let mut input = BusIn {
            accepted: inputs.accepted,
            took: inputs.took_word,
            ended: inputs.ended.is_some(),
            aborted: inputs.ended.is_some_and(|ended| ended.aborted),
            transceivers: self.transceivers,
            passed: self.passed(false),
            ..BusIn::default()
        };
        if let Some(write) = inputs.write {
            input.write = true;
            (input.write_offset, input.write_data) = (write.offset as u16, write.data);
            input.write_enables = write.enables;
        }
        if let Some(read) = inputs.read {
            (input.read, input.read_offset) = (true, read.offset as u16);
        }
        if let Some(completion) = inputs.completion {
            (input.completion, input.completion_data) = (true, completion.data);
        }
        // SAFETY: the unit is alive, and both structures are those of shim/nic.cpp.
        unsafe { (self.design.bus)(self.unit, &input, &mut self.out) }
        let counts = self.looked_at();
        if let Some(recorder) = self.recorder.as_mut().filter(|recorder| !recorder.is_over()) {
            recorder.bus(input, self.out, counts);
        }
    }
}

impl Drop for Nic {
    fn drop(&mut self) {
        // SAFETY: the unit came from `nic_new` and is not used again.
        unsafe { (self.design.delete)(self.unit) }
    }
}
