//! The RTL as a device of the harness: verilated for a configuration at its first use, and loaded as a
//! library.
//!
//! Libraries are kept in build/alpu under a name that depends on the sources and the parameters.

// Each test program uses its part of this.
#![allow(dead_code)]

use alpu::{Command, Config, Inputs, Outputs, QueueKind, Response};
use std::collections::hash_map::DefaultHasher;
use std::ffi::{c_void, CString};
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Mutex;

/// A cycle's inputs as the shim has them.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct RawIn {
    pub hdr_match: u64,
    pub hdr_mask: u64,
    pub cmd_match: u64,
    pub cmd_mask: u64,
    pub cmd_tag: u64,
    pub rst_n: u8,
    pub hdr_valid: u8,
    pub cmd_valid: u8,
    pub cmd_op: u8,
    pub rsp_ready: u8,
    unused: [u8; 3],
}

/// A cycle's outputs as the RTL's ports have them.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct RawOut {
    /// `rsp_payload_o`.
    pub rsp_payload: u64,
    /// `hdr_ready_o`.
    pub hdr_ready: u8,
    /// `cmd_ready_o`.
    pub cmd_ready: u8,
    /// `rsp_valid_o`.
    pub rsp_valid: u8,
    /// `rsp_kind_o`.
    pub rsp_kind: u8,
    unused: [u8; 4],
}

impl From<&Outputs> for RawOut {
    fn from(outputs: &Outputs) -> RawOut {
        let (rsp_kind, rsp_payload) = match outputs.result {
            None => (0, 0),
            Some(Response::StartAcknowledge { free }) => (0, u64::from(free)),
            Some(Response::MatchSuccess { tag }) => (1, tag),
            Some(Response::MatchFailure) => (2, 0),
        };
        RawOut {
            rsp_payload,
            hdr_ready: outputs.header_ready.into(),
            cmd_ready: outputs.command_ready.into(),
            rsp_valid: outputs.result.is_some().into(),
            rsp_kind,
            unused: [0; 4],
        }
    }
}

/// A verilated unit.
pub struct Rtl {
    unit: *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, *const RawIn, *mut RawOut, usize),
    delete: unsafe extern "C" fn(*mut c_void),
    config: Config,
    cycle: u64,
    inputs: Vec<RawIn>,
    outputs: Vec<RawOut>,
}

// SAFETY: a unit has a Verilator context of its own and no state outside of it; it is used by one thread at
// a time because `run` takes it mutably.
unsafe impl Send for Rtl {}

impl Rtl {
    /// The RTL with the parameters of `config`; it is built if necessary.
    pub fn new(config: &Config) -> Rtl {
        let path = library(config);
        let name = CString::new(path.as_os_str().as_bytes()).expect("a path has no zero byte");
        // SAFETY: the library was made by `library` from our shim; it has no constructors of ours.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{} cannot be loaded", path.display());
        let symbol = |name: &std::ffi::CStr| {
            // SAFETY: the handle is open and stays so.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?} is not in {}", path.display());
            found
        };
        // SAFETY: these are the types of the functions in shim.cpp.
        unsafe {
            let new: unsafe extern "C" fn() -> *mut c_void =
                std::mem::transmute(symbol(c"alpu_new"));
            Rtl {
                unit: new(),
                run: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, *const RawIn, *mut RawOut, usize),
                >(symbol(c"alpu_run")),
                delete: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(
                    symbol(c"alpu_delete"),
                ),
                config: *config,
                cycle: 0,
                inputs: Vec::new(),
                outputs: Vec::new(),
            }
        }
    }

    /// Runs a cycle for each of the inputs; the outputs of each.
    pub fn run(&mut self, inputs: &[Inputs]) -> &[RawOut] {
        self.inputs.clear();
        for cycle in inputs {
            self.cycle += 1;
            self.inputs.push(noisy(cycle, &self.config, self.cycle));
        }
        self.outputs.resize(inputs.len(), RawOut::default());
        // SAFETY: `unit` is alive until drop, and both arrays have as many elements as are said.
        unsafe {
            let (from, to) = (self.inputs.as_ptr(), self.outputs.as_mut_ptr());
            (self.run)(self.unit, from, to, inputs.len());
        }
        &self.outputs
    }
}

impl Drop for Rtl {
    fn drop(&mut self) {
        // SAFETY: `unit` came from `alpu_new` and is not used again.
        unsafe { (self.delete)(self.unit) }
    }
}

/// A cycle's inputs at the ports. Invalid values are noise, so that a unit which uses them is detected.
fn noisy(inputs: &Inputs, config: &Config, cycle: u64) -> RawIn {
    let noise = cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ cycle >> 3;
    let (bits, tags) = (config.match_bits(), config.tag_bits());
    let raw = RawIn {
        hdr_match: noise & bits,
        hdr_mask: noise >> 7 & bits,
        cmd_match: noise >> 5 & bits,
        cmd_mask: noise >> 2 & bits,
        cmd_tag: noise >> 9 & tags,
        cmd_op: (noise >> 11 & 3) as u8,
        ..RawIn::default()
    };
    over(raw, inputs, config)
}

/// A cycle's inputs at the ports. Invalid values are zero.
pub fn quiet(inputs: &Inputs, config: &Config) -> RawIn {
    over(RawIn::default(), inputs, config)
}

/// `raw` with the valid values of `inputs`.
fn over(mut raw: RawIn, inputs: &Inputs, config: &Config) -> RawIn {
    let (bits, tags) = (config.match_bits(), config.tag_bits());
    raw.rst_n = (!inputs.reset).into();
    raw.rsp_ready = inputs.result_ready.into();
    if let Some(header) = inputs.header {
        raw.hdr_valid = 1;
        (raw.hdr_match, raw.hdr_mask) = (header.bits & bits, header.mask & bits);
    }
    if let Some(command) = inputs.command {
        raw.cmd_valid = 1;
        raw.cmd_op = match command {
            Command::StartInsert => 0,
            Command::Insert(_) => 1,
            Command::StopInsert => 2,
            Command::Reset => 3,
        };
        if let Command::Insert(entry) = command {
            (raw.cmd_match, raw.cmd_mask) = (entry.bits & bits, entry.mask & bits);
            raw.cmd_tag = entry.tag & tags;
        }
    }
    raw
}

/// The repository.
pub fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(3).expect("the crate lies two folders below")
}

/// The library of a configuration.
fn library(config: &Config) -> PathBuf {
    // One build at a time: each is a compiler run or two, and the tests are threads of one process.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(|poison| poison.into_inner());

    let root = root();
    let rtl = root.join("rtl/alpu");
    let shim = root.join("crates/parts/alpu/tests/rtl/shim.cpp");
    let mut hash = DefaultHasher::new();
    config.hash(&mut hash);
    let mut sources: Vec<PathBuf> = fs::read_dir(&rtl)
        .expect("the repository has rtl/alpu")
        .map(|entry| entry.expect("rtl/alpu can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sv"))
        .chain([shim.clone()])
        .collect();
    sources.sort();
    for source in &sources {
        fs::read(source).expect("sources can be read").hash(&mut hash);
    }
    let folder = root.join("build/alpu");
    let library = folder.join(format!("alpu-{:016x}.so", hash.finish()));
    if !library.exists() {
        let work = folder.join(format!("{:016x}-{}", hash.finish(), std::process::id()));
        fs::create_dir_all(&work).expect("build/alpu can be made");
        verilate(config, &rtl, &shim, &work);
        // Renamed in one step: another process may be building the same.
        fs::rename(work.join("alpu.so"), &library).expect("verilator has made the library");
        let _ = fs::remove_dir_all(&work);
    }
    library
}

fn verilate(config: &Config, rtl: &Path, shim: &Path, work: &Path) {
    let numbers = [
        ("MATCH_WIDTH", config.match_width as usize),
        ("TAG_WIDTH", config.tag_width as usize),
        ("CELLS", config.cells),
        ("BLOCK", config.block),
        ("RESOLVE_CYCLES", config.resolve_cycles as usize),
        ("HDR_DEPTH", config.header_depth),
        ("CMD_DEPTH", config.command_depth),
        ("RSP_DEPTH", config.result_depth),
    ];
    let bits = [("UNEXPECTED", config.kind == QueueKind::Unexpected), ("OVERLAP", config.overlap)];
    let output = Process::new("verilator")
        .args(["--cc", "--build", "--exe", "-O3", "--assert", "--top-module", "alpu"])
        .args(["--prefix", "Valpu", "-CFLAGS", "-fPIC -fvisibility=hidden", "-LDFLAGS", "-shared"])
        .args(["-MAKEFLAGS", "OPT_FAST=-O2", "-o", "alpu.so", "-Mdir"])
        .arg(work)
        .args(numbers.map(|(name, value)| format!("-G{name}={value}")))
        .args(bits.map(|(name, value)| format!("-G{name}=1'b{}", u8::from(value))))
        .arg("-y")
        .arg(rtl)
        .args([&rtl.join("alpu_pkg.sv"), &rtl.join("alpu.sv"), shim])
        .output()
        .expect("verilator runs; scripts/bootstrap test installs it");
    assert!(
        output.status.success(),
        "verilator failed for {config:?}:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
