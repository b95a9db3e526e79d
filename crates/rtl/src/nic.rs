//! The NIC.

use pci::{Device, DeviceIn, DeviceOut, Operation, Request};
use rdma::{Arrival, Estimate, Header, HostCounters, LinkCounters, Params};
use serial::{Symbol, Symbols};
use std::ffi::c_void;
use verilated::{Design, DesignPaths, Library, Unbuilt};

/// Inputs of the chip from the bus, as declared in shim/nic.cpp.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct BusIn {
    write_data: u64,
    completion_data: u64,
    write_offset: u16,
    read_offset: u16,
    write_enables: u8,
    write: bool,
    read: bool,
    accepted: bool,
    completion: bool,
    took: bool,
    ended: bool,
    aborted: bool,
    unused: [u8; 4],
}

/// Outputs of the chip.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct BusOut {
    addr: u64,
    write_word: u64,
    read_word: u64,
    arrived_header: u64,
    words: u16,
    tag: u8,
    request: u8,
    request_write: u8,
    write_on: u8,
    busy: u8,
    interrupt: u8,
    arrived: u8,
    arrived_good: u8,
    frozen: u8,
    bus_rests: u8,
    link_rests: u8,
    unused: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct LinkIn {
    bytes: [u32; 2],
    control: [u8; 2],
    unused: [u8; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct LinkOut {
    bytes: [u32; 2],
    control: [u8; 2],
    bus_rests: u8,
    link_rests: u8,
}

/// Counters that the shim tells: four of the bus's half, seven of the lanes'.
const TOTALS: usize = 11;

/// NICs of one shape, compiled and loaded.
#[derive(Clone, Copy, Debug)]
pub struct NicDesign {
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

    /// Builds the design from sources in another folder below the place's root.
    pub fn of(place: &DesignPaths, folder: &str, params: &Params) -> Result<NicDesign, Unbuilt> {
        let library = Library::build(
            place,
            &Design {
                top: "rdma_nic",
                traced: false,
                folders: &[folder],
                shim: "crates/rtl/shim/nic.cpp",
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
}

impl Nic {
    /// NIC after reset. `params` are those of its design.
    pub fn new(design: NicDesign, params: &Params) -> Nic {
        let slack = match params.estimate {
            Estimate::Fine => 0,
            Estimate::Conservative => params.round_trip_words,
        };
        let mut out = BusOut::default();
        // SAFETY: the design's functions may be called at any time; the unit lives until drop.
        let unit = unsafe {
            let unit = (design.new)(params.source, slack);
            (design.look)(unit, &mut out);
            unit
        };
        Nic { design, unit, out }
    }

    /// The edge of the lanes' clock, as [`rdma::Nic::link_clock`].
    pub fn link_clock(&mut self, symbols: Symbols) -> Symbols {
        let input = LinkIn {
            bytes: symbols.map(|symbol| symbol.bytes),
            control: symbols.map(|symbol| symbol.control),
            ..LinkIn::default()
        };
        let mut out = LinkOut::default();
        // SAFETY: the unit is alive, and both structures are those of shim/nic.cpp.
        unsafe { (self.design.link)(self.unit, &input, &mut out) }
        (self.out.bus_rests, self.out.link_rests) = (out.bus_rests, out.link_rests);
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
    /// The same as [`rdma::Nic::bus_rests`].
    pub fn bus_rests(&self) -> bool {
        self.out.bus_rests == 1
    }
    /// The same as [`rdma::Nic::lanes_rest`].
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
    }
}

impl Drop for Nic {
    fn drop(&mut self) {
        // SAFETY: the unit came from `nic_new` and is not used again.
        unsafe { (self.design.delete)(self.unit) }
    }
}
