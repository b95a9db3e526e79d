//! A board of memory only, and programs for it.
#![allow(dead_code)]

use bus::BusError;
use des::{Clock, Time};
use lanai::{Board, Config, Core, Fault, Stop};
use lanai_link::{Image, Input, Map, Region};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const MEMORY: usize = 2 << 20;
/// A store here is a program's result, and stops it.
pub const RESULT: u32 = 0xffff_fff0;

/// Memory, and the register of the result.
pub struct Flat {
    pub sram: Vec<u8>,
    pub result: Option<u32>,
    pub taken: u32,
    horizon: Time,
}

impl Flat {
    pub fn new() -> Flat {
        Flat { sram: vec![0; MEMORY], result: None, taken: 0, horizon: Time::NEVER }
    }
    pub fn put(&mut self, addr: u32, words: &[u32]) {
        let bytes = words.iter().flat_map(|word| word.to_be_bytes());
        self.sram[addr as usize..].iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    }
}

impl Board for Flat {
    fn horizon(&self) -> Time {
        self.horizon
    }
    fn sram(&mut self) -> &mut [u8] {
        &mut self.sram
    }
    fn taken(&self) -> u32 {
        self.taken
    }
    fn read(&mut self, _: Time, addr: u32, len: usize) -> Result<u32, BusError> {
        Err(BusError { addr: addr.into(), len, write: false, why: "no device answers" })
    }
    fn write(&mut self, now: Time, addr: u32, len: usize, value: u32) -> Result<(), BusError> {
        if addr != RESULT {
            return Err(BusError { addr: addr.into(), len, write: true, why: "no device answers" });
        }
        self.result = Some(value);
        self.horizon = now;
        Ok(())
    }
}

pub fn core() -> Core {
    Core::new(Config { clock: Clock::from_hz(66_000_000), guard: 0..0 })
}

/// A program comes to no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoResult {
    #[error("{0}")]
    Fault(Fault),
    #[error("no result")]
    Endless,
}

/// Runs until the result is there; `cycles` at most.
pub fn run(core: &mut Core, flat: &mut Flat, cycles: u64) -> Result<u32, NoResult> {
    let until = Clock::from_hz(66_000_000).edge(core.cycle() + cycles);
    match core.run(flat, until) {
        Stop::Fault => Err(NoResult::Fault(core.fault().unwrap())),
        Stop::Reached | Stop::Halted => flat.result.ok_or(NoResult::Endless),
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Compiles or assembles for the LANai.
pub fn compile(source: &Path, folder: &Path, options: &[&str]) -> Input {
    try_compile(source, folder, options).expect("clang ends")
}

/// Processor time that a compiler may take: those that end take a second, and some of csmith's programs are
/// compiled for ever.
pub const COMPILER: &str = "--cpu=8";

/// The same; none if clang does not end within the time that a compiler may take.
pub fn try_compile(source: &Path, folder: &Path, options: &[&str]) -> Option<Input> {
    let name = format!("{}.o", source.file_stem().unwrap().to_string_lossy());
    let out = folder.join(&name);
    let run = Command::new("prlimit")
        .args([COMPILER, "clang-14"])
        .args(["--target=lanai", "-ffreestanding", "-fno-builtin", "-fno-strict-aliasing", "-w"])
        .args(options)
        .args(["-c", "-o"])
        .args([&out, source])
        .output()
        .expect("clang-14 runs (scripts/bootstrap test)");
    // A signal has ended it.
    run.status.code()?;
    let complaint = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}: {complaint}", source.display());
    Some(Input { name, bytes: std::fs::read(out).unwrap() })
}

/// Start-up code and what clang calls, from the control program.
pub fn runtime(folder: &Path) -> Vec<Input> {
    let port = root().join("firmware/lanai/port/lanai");
    ["crt.s", "runtime.c", "memory.c"]
        .iter()
        .map(|name| compile(&port.join(name), folder, &["-O2"]))
        .collect()
}

/// Links objects of which the first is start-up code.
pub fn link(inputs: &[Input]) -> Image {
    let region = Region { name: "memory".to_owned(), base: 0, size: MEMORY as u32 };
    let map = Map::new(vec![region], 64 << 10).unwrap();
    lanai_link::link(inputs, &map).unwrap_or_else(|usage_errors| {
        panic!("{}", usage_errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

/// Loads an image.
pub fn load(image: &Image) -> Flat {
    let mut flat = Flat::new();
    flat.sram[..image.flat.len()].copy_from_slice(&image.flat);
    flat
}
