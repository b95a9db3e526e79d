//! The crossbar with its lanes.

use crate::verilated::{Design, DesignPaths, Library, Unbuilt};
use crossbar::{Counters, Params, PORTS_MAX};
use serial::Symbol;
use std::ffi::c_void;

/// The symbols of an edge, as shim/switch.cpp has them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Symbols {
    bytes: [u32; PORTS_MAX],
    control: [u8; PORTS_MAX],
}

/// Counters of a crosspoint.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    words: u64,
    packets: u64,
    occupancy: u64,
}

/// Crossbars of one shape, compiled and loaded.
#[derive(Clone, Copy, Debug)]
pub struct SwitchDesign {
    params: Params,
    new: unsafe extern "C" fn() -> *mut c_void,
    delete: unsafe extern "C" fn(*mut c_void),
    clock: unsafe extern "C" fn(*mut c_void, *const Symbols, *mut Symbols) -> bool,
    errors: unsafe extern "C" fn(*const c_void, *mut u64),
    counts: unsafe extern "C" fn(*mut c_void, u8, u8, *mut Counts),
}

impl SwitchDesign {
    /// Builds the design for `params`.
    pub fn build(place: &DesignPaths, params: &Params) -> Result<SwitchDesign, Unbuilt> {
        let library = Library::build(
            place,
            &Design {
                top: "crossbar_switch",
                traced: false,
                folders: &["rtl/crossbar", "rtl/rdma"],
                shim: "rtl/shim/switch.cpp",
                parameters: &[
                    ("PORTS", params.ports as u64),
                    ("DEPTH", params.point_words.into()),
                    ("LIMIT", params.card_words.into()),
                    ("URGENT", params.urgent_words.into()),
                ],
            },
        )?;
        // SAFETY: these are the types of the functions in shim/switch.cpp; the library is never unloaded.
        Ok(unsafe {
            SwitchDesign {
                params: *params,
                new: library.function(c"switch_new"),
                delete: library.function(c"switch_delete"),
                clock: library.function(c"switch_clock"),
                errors: library.function(c"switch_errors"),
                counts: library.function(c"switch_counts"),
            }
        })
    }
}

/// A crossbar.
#[derive(Debug)]
pub struct Switch {
    design: SwitchDesign,
    unit: *mut c_void,
    rests: bool,
}

impl Switch {
    /// Switch after reset.
    pub fn new(design: SwitchDesign) -> Switch {
        // SAFETY: the design's functions may be called at any time; the unit lives until drop.
        let unit = unsafe { (design.new)() };
        Switch { design, unit, rests: true }
    }

    /// The edge of its clock, as [`crossbar::Switch::clock`].
    pub fn clock(&mut self, symbols: &[Symbol]) -> [Symbol; PORTS_MAX] {
        let (mut input, mut out) = (Symbols::default(), Symbols::default());
        for (port, symbol) in symbols.iter().enumerate() {
            (input.bytes[port], input.control[port]) = (symbol.bytes, symbol.control);
        }
        // SAFETY: the unit is alive, and the structure is that of shim/switch.cpp.
        self.rests = unsafe { (self.design.clock)(self.unit, &input, &mut out) };
        std::array::from_fn(|port| Symbol { bytes: out.bytes[port], control: out.control[port] })
    }

    /// The same as [`crossbar::Switch::rests`].
    pub fn rests(&self) -> bool {
        self.rests
    }

    fn errors(&self) -> [u64; 4] {
        let mut errors = [0; 4];
        // SAFETY: the unit is alive, and the shim writes four.
        unsafe { (self.design.errors)(self.unit, errors.as_mut_ptr()) }
        errors
    }
    /// Halves of words that did not belong together, at all ports.
    pub fn bond_errors(&self) -> u64 {
        self.errors()[3]
    }
    /// Counters of the switch.
    pub fn counters(&self) -> Counters {
        let ports = self.design.params.ports;
        let [header_errors, credit_errors, overflows, _] = self.errors();
        let mut counters =
            Counters { header_errors, credit_errors, overflows, ..Counters::default() };
        for place in 0..ports * ports {
            let (input, output) = ((place / ports) as u8, (place % ports) as u8);
            let mut counts = Counts::default();
            // SAFETY: the unit is alive, it has these ports, and the structure is that of shim/switch.cpp.
            unsafe { (self.design.counts)(self.unit, input, output, &mut counts) }
            counters.words.push(counts.words);
            counters.packets.push(counts.packets);
            counters.occupancy.push(counts.occupancy as usize);
        }
        counters
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // SAFETY: the unit came from `switch_new` and is not used again.
        unsafe { (self.design.delete)(self.unit) }
    }
}
