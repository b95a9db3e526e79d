//! Support for the tests of this crate: a flat memory behind a bus, a core on it, and a small assembler.
#![allow(dead_code)]

use bus::{Access, Bus, BusError, Memory};
use des::{Clock, Duration, Time};
use ppc440::{Config, Core, Probe, Stop, Timing, TlbEntry};

/// Timing of machine `redstorm`.
pub const TIMING: Timing = Timing::POWERPC_440;

/// Memory with fixed latencies, and a horizon that a test can set.
pub struct Flat {
    pub memory: Memory,
    pub read_latency: Duration,
    pub write_latency: Duration,
    /// Time for which a read keeps the next one from being answered.
    pub read_busy: Duration,
    read_free: Time,
    pub horizon: Time,
    /// Transactions: time, address, length, write.
    pub log: Vec<(Time, u64, usize, bool)>,
    pub logging: bool,
}

impl Flat {
    pub fn new(base: u64, len: usize) -> Flat {
        Flat {
            memory: Memory::new(base, len),
            read_latency: Duration::from_ns(40),
            write_latency: Duration::from_ns(20),
            read_busy: Duration::ZERO,
            read_free: Time::ZERO,
            horizon: Time::NEVER,
            log: Vec::new(),
            logging: false,
        }
    }
    pub fn words_be(&mut self, addr: u64, words: &[u32]) {
        for (index, word) in words.iter().enumerate() {
            self.memory.write(addr + 4 * index as u64, &word.to_be_bytes()).unwrap();
        }
    }
    pub fn words_le(&mut self, addr: u64, words: &[u32]) {
        for (index, word) in words.iter().enumerate() {
            self.memory.write(addr + 4 * index as u64, &word.to_le_bytes()).unwrap();
        }
    }
    pub fn word_be(&self, addr: u64) -> u32 {
        u32::from_be_bytes(self.memory.bytes(addr, 4).unwrap().try_into().unwrap())
    }
}

/// Bytes of a quadword, or a line.
fn is_transaction(addr: u64, len: usize) -> bool {
    let beat = (1..=16).contains(&len) && addr as usize % 16 + len <= 16;
    beat || len == 32 && addr % 32 == 0
}

impl Bus for Flat {
    fn horizon(&self) -> Time {
        self.horizon
    }
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        assert!(now < self.horizon, "a read at {now} at or after the horizon");
        assert!(is_transaction(addr, buf.len()), "no read has {} bytes at {addr:#x}", buf.len());
        if self.logging {
            self.log.push((now, addr, buf.len(), false));
        }
        self.memory.read(addr, buf)?;
        let there = (now + self.read_latency).max(self.read_free);
        self.read_free = there + self.read_busy;
        Ok(there)
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        assert!(now < self.horizon, "a write at {now} at or after the horizon");
        assert!(is_transaction(addr, data.len()), "no write has {} bytes at {addr:#x}", data.len());
        if self.logging {
            self.log.push((now, addr, data.len(), true));
        }
        self.memory.write(addr, data)?;
        Ok(now + self.write_latency)
    }
}

pub const CLOCK: Clock = Clock::from_hz(500_000_000);

/// Page attributes of the tests: everything permitted.
pub const ALL: u32 = 0x3f;

/// A core as it is built.
fn built(code: &ppc440::Code) -> Core {
    Core::new(&Config { clock: CLOCK, timing: TIMING, coherence_faults: true, code: code.clone() })
}

/// Another core in the state of this one, as nodes get it that share a boot: it learns loops by itself.
pub fn twin(core: &Core) -> Core {
    let mut twin = core.clone();
    twin.forget_loops();
    twin
}

/// A core out of reset that will begin at `pc`, without any page.
pub fn core(pc: u32) -> Core {
    core_with(&ppc440::Code::new(&TIMING), pc)
}

/// The same, sharing what was decoded.
pub fn core_with(code: &ppc440::Code, pc: u32) -> Core {
    let mut core = built(code);
    core.release_reset(Time::ZERO);
    core.set_pc(pc);
    core
}

/// Maps the first 256 MB one to one.
pub fn map(core: &mut Core, attributes: u32) {
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 9, attributes | ALL));
}

/// The processor on a bus of any kind: each kind as a type of its own would compile the processor once more
/// (docs/decisions/0029-test-profile.md).
pub trait OnAnyBus {
    fn run_on(&mut self, bus: &mut dyn Bus, until: Time) -> Stop;
    fn run_observed_on(&mut self, bus: &mut dyn Bus, until: Time, probe: &mut impl Probe) -> Stop;
}

impl OnAnyBus for Core {
    fn run_on(&mut self, bus: &mut dyn Bus, until: Time) -> Stop {
        self.run(&mut AnyBus(bus), until)
    }
    fn run_observed_on(&mut self, bus: &mut dyn Bus, until: Time, probe: &mut impl Probe) -> Stop {
        self.run_observed(&mut AnyBus(bus), until, probe)
    }
}

struct AnyBus<'a>(&'a mut dyn Bus);

impl Bus for AnyBus<'_> {
    fn horizon(&self) -> Time {
        self.0.horizon()
    }
    fn passes(&self) -> bool {
        self.0.passes()
    }
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        self.0.read(now, addr, buf)
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        self.0.write(now, addr, data)
    }
    fn free(&self) -> Option<[Time; 2]> {
        self.0.free()
    }
    fn peek(&mut self, addr: u64, buf: &mut [u8]) -> bool {
        self.0.peek(addr, buf)
    }
    fn repeatable(&self, addr: u64) -> bool {
        self.0.repeatable(addr)
    }
    fn repeat(&mut self, iterations: u64, accesses: &[Access], free: [Time; 2]) {
        self.0.repeat(iterations, accesses, free);
    }
}

/// Runs until a fault, at most `us` microseconds.
pub fn run_to_fault(core: &mut Core, bus: &mut Flat, us: u64) {
    let stop = core.run_on(bus, Time::ZERO + Duration::from_us(us));
    assert_eq!(stop, Stop::Fault, "the program has not ended; pc {:#x}", core.pc());
}

/// The cross compiler; a clear message if it is missing.
pub const COMPILER: &str = "powerpc-linux-gnu-gcc";

pub fn need(tool: &str, package: &str) {
    let found = std::process::Command::new(tool).arg("--version").output();
    let usable = found.is_ok_and(|output| output.status.success());
    assert!(usable, "this test needs {tool}: install the Debian package {package}");
}

/// A small assembler: instruction words by form.
pub mod asm {
    pub fn d(op: u32, rt: u32, ra: u32, imm: i32) -> u32 {
        op << 26 | rt << 21 | ra << 16 | imm as u32 & 0xffff
    }
    pub fn x(op: u32, rt: u32, ra: u32, rb: u32, xo: u32) -> u32 {
        op << 26 | rt << 21 | ra << 16 | rb << 11 | xo << 1
    }
    pub fn li(rt: u32, imm: i32) -> u32 {
        d(14, rt, 0, imm)
    }
    pub fn lis(rt: u32, imm: u32) -> u32 {
        d(15, rt, 0, imm as i32)
    }
    pub fn ori(ra: u32, rs: u32, imm: u32) -> u32 {
        d(24, rs, ra, imm as i32)
    }
    pub fn addi(rt: u32, ra: u32, imm: i32) -> u32 {
        d(14, rt, ra, imm)
    }
    pub fn add(rt: u32, ra: u32, rb: u32) -> u32 {
        x(31, rt, ra, rb, 266)
    }
    pub fn lwz(rt: u32, imm: i32, ra: u32) -> u32 {
        d(32, rt, ra, imm)
    }
    pub fn stw(rs: u32, imm: i32, ra: u32) -> u32 {
        d(36, rs, ra, imm)
    }
    pub fn mtspr(number: u32, rs: u32) -> u32 {
        31 << 26 | rs << 21 | (number & 31) << 16 | (number >> 5) << 11 | 467 << 1
    }
    pub fn mfspr(rt: u32, number: u32) -> u32 {
        31 << 26 | rt << 21 | (number & 31) << 16 | (number >> 5) << 11 | 339 << 1
    }
    pub fn b(by: i32) -> u32 {
        18 << 26 | by as u32 & 0x03ff_fffc
    }
    pub fn bdnz(by: i32) -> u32 {
        d(16, 16, 0, by & !3)
    }
    pub fn cmpwi(field: u32, ra: u32, imm: i32) -> u32 {
        d(11, field << 2, ra, imm)
    }
    pub fn bc(bo: u32, bi: u32, by: i32) -> u32 {
        d(16, bo, bi, by & !3)
    }
    pub const NOP: u32 = 24 << 26;
    pub const ISYNC: u32 = 19 << 26 | 150 << 1;
    pub const MSYNC: u32 = 31 << 26 | 598 << 1;
    pub const MBAR: u32 = 31 << 26 | 854 << 1;
    pub const SC: u32 = 17 << 26 | 2;
    pub const RFI: u32 = 19 << 26 | 50 << 1;
    /// An illegal word: ends a test program.
    pub const END: u32 = 0;
}

/// Instruction words of assembler source (big-endian numbers, whatever order they are stored in later).
pub fn assemble(source: &str) -> Vec<u32> {
    use object::{Object, ObjectSection};
    need(COMPILER, "gcc-powerpc-linux-gnu");
    let folder = std::env::temp_dir();
    let id = std::thread::current().id();
    let name = format!("sunstar-ppc440-{}-{id:?}", std::process::id());
    let (text, file) = (folder.join(format!("{name}.s")), folder.join(format!("{name}.o")));
    std::fs::write(&text, source).unwrap();
    let mut command = std::process::Command::new(COMPILER);
    command.args(["-mcpu=440", "-c", "-o"]).arg(&file).arg(&text);
    assert!(command.status().unwrap().success(), "the test's source does not assemble");
    let bytes = std::fs::read(&file).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let section = object.section_by_name(".text").unwrap();
    let words = section.data().unwrap().chunks_exact(4);
    let words = words.map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    for temporary in [text, file] {
        let _ = std::fs::remove_file(temporary);
    }
    words
}
