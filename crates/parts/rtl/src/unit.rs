//! A matching unit (`rtl/alpu`, or another with its ports).

use crate::verilated::{Design, DesignPaths, Library, Unbuilt};
use alpu::{Command, Config, Inputs, Outputs, QueueKind, Response};
use std::ffi::{c_void, CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A cycle's inputs, as shim/unit.cpp has them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct In {
    header_bits: u64,
    header_mask: u64,
    command_bits: u64,
    command_mask: u64,
    command_tag: u64,
    header_valid: u8,
    command_valid: u8,
    command: u8,
    result_ready: u8,
    reset: u8,
    unused: [u8; 3],
}

/// Outputs of a unit in a cycle.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// `rsp_payload_o`.
    pub payload: u64,
    /// `hdr_ready_o`.
    pub header_ready: u8,
    /// `cmd_ready_o`.
    pub command_ready: u8,
    /// `rsp_valid_o`.
    pub result: u8,
    /// `rsp_kind_o`.
    pub kind: u8,
    combinational: u8,
    failed: u8,
    dead: u8,
    unused: u8,
}

impl From<&Outputs> for Pins {
    fn from(outputs: &Outputs) -> Pins {
        let (kind, payload) = match outputs.result {
            None => (0, 0),
            Some(Response::StartAcknowledge { free }) => (0, u64::from(free)),
            Some(Response::MatchSuccess { tag }) => (1, tag),
            Some(Response::MatchFailure) => (2, 0),
        };
        Pins {
            payload,
            header_ready: outputs.header_ready.into(),
            command_ready: outputs.command_ready.into(),
            result: outputs.result.is_some().into(),
            kind,
            ..Pins::default()
        }
    }
}

impl Pins {
    /// Names and values of the ports.
    pub fn ports(&self) -> [(&'static str, u64); 5] {
        [
            ("hdr_ready_o", self.header_ready.into()),
            ("cmd_ready_o", self.command_ready.into()),
            ("rsp_valid_o", self.result.into()),
            ("rsp_kind_o", self.kind.into()),
            ("rsp_payload_o", self.payload),
        ]
    }
}

/// Entry points that write waveforms.
#[derive(Clone, Copy, Debug)]
struct Waves {
    open: unsafe extern "C" fn(*mut c_void, *const i8) -> u8,
    show: unsafe extern "C" fn(*mut c_void, *const In, *const Pins, u64, u64),
    end: unsafe extern "C" fn(*mut c_void),
}

/// Units of one shape, compiled and loaded.
#[derive(Clone, Copy, Debug)]
pub struct UnitDesign {
    config: Config,
    new: unsafe extern "C" fn() -> *mut c_void,
    delete: unsafe extern "C" fn(*mut c_void),
    look: unsafe extern "C" fn(*const c_void, *mut Pins),
    clock: unsafe extern "C" fn(*mut c_void, *const In, *mut Pins),
    idle: unsafe extern "C" fn(*mut c_void, *const In, u64, *mut Pins) -> u8,
    waves: Option<Waves>,
}

impl UnitDesign {
    /// Builds a design from the sources in `folder`, `rtl/alpu` if none. `traced`: its units can write
    /// waveforms.
    pub fn build(
        place: &DesignPaths,
        folder: Option<&Path>,
        config: &Config,
        traced: bool,
    ) -> Result<UnitDesign, Unbuilt> {
        let folder = folder.map_or("rtl/alpu".into(), Path::to_string_lossy);
        let library = Library::build(
            place,
            &Design {
                top: "unit_socket",
                folders: &[&folder, "rtl/shim"],
                shim: "rtl/shim/unit.cpp",
                parameters: &[
                    ("MATCH_WIDTH", config.match_width.into()),
                    ("TAG_WIDTH", config.tag_width.into()),
                    ("CELLS", config.cells as u64),
                    ("BLOCK", config.block as u64),
                    ("UNEXPECTED", (config.kind == QueueKind::Unexpected).into()),
                    ("RESOLVE_CYCLES", config.resolve_cycles.into()),
                    ("OVERLAP", config.overlap.into()),
                    ("HDR_DEPTH", config.header_depth as u64),
                    ("CMD_DEPTH", config.command_depth as u64),
                    ("RSP_DEPTH", config.result_depth as u64),
                ],
                traced,
            },
        )?;
        // SAFETY: these are the types of the functions in shim/unit.cpp; the library is never unloaded.
        Ok(unsafe {
            UnitDesign {
                config: *config,
                new: library.function(c"unit_new"),
                delete: library.function(c"unit_delete"),
                look: library.function(c"unit_look"),
                clock: library.function(c"unit_clock"),
                idle: library.function(c"unit_idle"),
                waves: traced.then(|| Waves {
                    open: library.function(c"unit_wave"),
                    show: library.function(c"unit_show"),
                    end: library.function(c"unit_end"),
                }),
            }
        })
    }

    /// Its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// A unit.
#[derive(Debug)]
pub struct Unit {
    design: UnitDesign,
    unit: *mut c_void,
    pins: Pins,
    rests: bool,
    /// Handshakes so far.
    handshakes: u64,
}

impl Unit {
    /// Unit after reset.
    pub fn new(design: UnitDesign) -> Unit {
        let mut pins = Pins::default();
        // SAFETY: the design's functions may be called at any time; the unit lives until drop.
        let unit = unsafe {
            let unit = (design.new)();
            (design.look)(unit, &mut pins);
            unit
        };
        Unit { design, unit, pins, rests: false, handshakes: 0 }
    }

    /// Outputs in this cycle.
    pub fn pins(&self) -> Pins {
        Pins { combinational: 0, failed: 0, dead: 0, ..self.pins }
    }

    /// The same as the model has it. No result if its kind is none.
    pub fn outputs(&self) -> Outputs {
        let Pins { payload, kind, .. } = self.pins;
        let result = match kind {
            0 => Some(Response::StartAcknowledge { free: payload as u32 }),
            1 => Some(Response::MatchSuccess { tag: payload }),
            2 => Some(Response::MatchFailure),
            _ => None,
        };
        Outputs {
            header_ready: self.pins.header_ready == 1,
            command_ready: self.pins.command_ready == 1,
            result: result.filter(|_| self.pins.result == 1),
        }
    }

    /// A rule of the ports that it has broken, whatever it is for.
    pub fn breach(&self) -> Option<&'static str> {
        let Pins { combinational, failed, dead, result, kind, .. } = self.pins;
        if dead == 1 {
            return Some("C++ code of it has died, of an exception or a signal");
        }
        if failed == 1 {
            return Some("an assertion of it has failed, or it has called $finish");
        }
        if combinational == 1 {
            return Some("an output has followed an input within a cycle");
        }
        (result == 1 && kind > 2).then_some("rsp_kind_o is 3, which is no result")
    }

    /// One cycle.
    pub fn clock(&mut self, inputs: &Inputs) {
        let input = self.input(inputs);
        // SAFETY: the unit is alive, and both structures are those of shim/unit.cpp.
        unsafe { (self.design.clock)(self.unit, &input, &mut self.pins) }
        self.handshakes += 1;
        self.rests = false;
    }

    /// Passes cycles in which nobody pushes or pops.
    pub fn advance(&mut self, cycles: u64) {
        if self.rests || cycles == 0 {
            return;
        }
        let input = self.input(&Inputs::default());
        // SAFETY: as above.
        let rests = unsafe { (self.design.idle)(self.unit, &input, cycles, &mut self.pins) };
        self.rests = rests == 1;
    }

    /// True if an edge has changed nothing since the last push or pop.
    pub fn is_at_rest(&self) -> bool {
        self.rests
    }

    /// A cycle's inputs at the ports. Inputs that are not valid are noise, so that a unit which looks at them
    /// is found out; they stay the same from handshake to handshake, so that a unit can come to rest.
    fn input(&self, inputs: &Inputs) -> In {
        let config = &self.design.config;
        let (bits, tags) = (config.match_bits(), config.tag_bits());
        let noise = (self.handshakes + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut input = In {
            header_bits: noise & bits,
            header_mask: noise >> 7 & bits,
            command_bits: noise >> 5 & bits,
            command_mask: noise >> 2 & bits,
            command_tag: noise >> 9 & tags,
            command: (noise >> 11 & 3) as u8,
            result_ready: inputs.result_ready.into(),
            reset: inputs.reset.into(),
            ..In::default()
        };
        if let Some(header) = inputs.header {
            input.header_valid = 1;
            (input.header_bits, input.header_mask) = (header.bits & bits, header.mask & bits);
        }
        if let Some(command) = inputs.command {
            input.command_valid = 1;
            input.command = match command {
                Command::StartInsert => 0,
                Command::Insert(_) => 1,
                Command::StopInsert => 2,
                Command::Reset => 3,
            };
            if let Command::Insert(entry) = command {
                (input.command_bits, input.command_mask) = (entry.bits & bits, entry.mask & bits);
                input.command_tag = entry.tag & tags;
            }
        }
        input
    }

    /// Begins to write a waveform. False if the file cannot be opened.
    ///
    /// # Panics
    /// If its design cannot.
    pub fn open_wave(&mut self, file: &Path) -> bool {
        let waves = self.design.waves.expect("a design that is traced");
        let Ok(name) = CString::new(file.as_os_str().as_bytes()) else { return false };
        let name: &CStr = &name;
        // SAFETY: the unit is alive; the name is until the call is over.
        unsafe { (waves.open)(self.unit, name.as_ptr().cast()) == 1 }
    }

    /// Writes a cycle whose inputs these are, before it is gone through: `begins` and `half` in picoseconds.
    pub fn show(&mut self, inputs: &Inputs, model: &Outputs, begins: u64, half: u64) {
        let waves = self.design.waves.expect("a waveform has been opened");
        let (input, model) = (self.input(inputs), Pins::from(model));
        // SAFETY: the unit is alive, and the structures are those of shim/unit.cpp.
        unsafe { (waves.show)(self.unit, &input, &model, begins, half) }
    }

    /// Ends the waveform.
    pub fn close_wave(&mut self) {
        let waves = self.design.waves.expect("a waveform has been opened");
        // SAFETY: the unit is alive.
        unsafe { (waves.end)(self.unit) }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: the unit came from `new` and is not used again.
        unsafe { (self.design.delete)(self.unit) }
    }
}
