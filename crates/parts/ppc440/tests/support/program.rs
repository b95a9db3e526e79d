//! Cross-compiled C programs in a flat memory.
#![allow(dead_code)]

use crate::support::{core, map, need, Flat, COMPILER};
use object::{Object, ObjectSegment, ObjectSymbol};
use ppc440::{Core, TLB_E};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Address of the image, and of the end of the stack.
const TEXT: u32 = 0x1_0000;
const STACK: u32 = 0x20_0000;

/// A linked little-endian program.
pub struct Program {
    elf: Vec<u8>,
}

impl Program {
    /// Compiles tests/programs/start.S and `source` with further `flags`.
    pub fn compile(source: &str, flags: &[&str]) -> Program {
        need(COMPILER, "gcc-powerpc-linux-gnu");
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{source}-{}-{number}.elf", std::process::id());
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let status = Command::new(COMPILER)
            .args(["-mcpu=440", "-mlittle", "-msoft-float", "-ffreestanding", "-nostdlib"])
            .args(["-static", "-fno-pic", "-no-pie", "-fno-stack-protector", "-msdata=none"])
            .args(["-Wl,-melf32lppc", "-Wl,--build-id=none", "-Wl,-Ttext-segment=0x10000"])
            .args(["-Wl,--section-start=.start=0x10000", "-Wl,-z,noexecstack"])
            .args(flags)
            .arg("-o")
            .arg(&out)
            .args([programs.join("start.S"), programs.join(source)])
            .status()
            .unwrap();
        assert!(status.success(), "{COMPILER} failed on {source}");
        let elf = std::fs::read(&out).unwrap();
        std::fs::remove_file(out).unwrap();
        Program { elf }
    }
    /// A core at the program's start with the whole memory mapped little-endian, caches on.
    pub fn load(&self, argument: u32, attributes: u32) -> (Core, Flat) {
        let mut flat = Flat::new(0, 4 << 20);
        let file = object::File::parse(&*self.elf).unwrap();
        for segment in file.segments() {
            flat.memory.write(segment.address(), segment.data().unwrap()).unwrap();
        }
        let mut core = core(TEXT);
        map(&mut core, TLB_E | attributes);
        core.set_gpr(1, STACK - 64);
        core.set_gpr(3, argument);
        (core, flat)
    }
    /// Address of a symbol.
    pub fn symbol(&self, name: &str) -> u64 {
        let file = object::File::parse(&*self.elf).unwrap();
        let symbol = file.symbols().find(|s| s.name() == Ok(name));
        symbol.unwrap_or_else(|| panic!("no symbol {name}")).address()
    }
}
