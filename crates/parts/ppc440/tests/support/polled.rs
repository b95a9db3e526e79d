//! A polling loop, and a bus on which it can be fast-forwarded.

use crate::support::{self, Flat, OnAnyBus, ALL};
use bus::{Access, Bus, BusError};
use des::{Duration, Time};
use ppc440::{Core, Stop, TlbEntry, TLB_E, TLB_I};

/// A flat memory whose data path for reads and that for writes are busy for a while with each
/// transaction, and that can repeat transactions.
#[derive(Clone)]
pub struct Polled {
    pub memory: bus::Memory,
    pub horizon: Time,
    pub free: [Time; 2],
    pub transactions: u64,
    pub repeated: u64,
    /// True if what is due at the horizon does not concern the processor.
    pub passes: bool,
}

const ACCESS: Duration = Duration::from_ns(25);
pub const BUSY: Duration = Duration::from_ns(5);
/// Only the heartbeat may be written over and over.
pub const HEARTBEAT: u64 = 0x8010;
pub const MAILBOX: u64 = 0x8020;

impl Bus for Polled {
    fn horizon(&self) -> Time {
        self.horizon
    }
    fn passes(&self) -> bool {
        self.passes
    }
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        assert!(now < self.horizon);
        self.memory.read(addr, buf)?;
        self.transactions += 1;
        let first = (now + ACCESS).max(self.free[0]) + BUSY;
        self.free[0] = first;
        Ok(first)
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        assert!(now < self.horizon);
        self.memory.write(addr, data)?;
        self.transactions += 1;
        self.free[1] = now.max(self.free[1]) + BUSY;
        Ok(self.free[1] + ACCESS)
    }
    fn free(&self) -> Option<[Time; 2]> {
        Some(self.free)
    }
    fn peek(&mut self, addr: u64, buf: &mut [u8]) -> bool {
        self.memory.read(addr, buf).is_ok()
    }
    fn repeatable(&self, addr: u64) -> bool {
        addr == HEARTBEAT
    }
    fn repeat(&mut self, iterations: u64, accesses: &[Access], free: [Time; 2]) {
        self.free = free;
        self.transactions += iterations * accesses.len() as u64;
        self.repeated += iterations;
        for access in accesses.iter().filter(|access| access.write) {
            self.memory.write(access.addr, access.bytes()).unwrap();
        }
    }
}

/// A polling loop as the firmware's: heartbeat in the cache and outside of it, polled words, a call
/// when one of them has changed, which takes a while, answers, and goes on with other values.
pub const LOOP: &str = "
        lis 20,0
        ori 21,20,0x8000
        ori 20,20,0x4000
        li 23,0
        li 24,0
        li 30,0
        .balign 32
        nop
        nop
        nop
turn:   lwz 9,16(20)
        addi 9,9,1
        stw 9,16(21)
        stw 9,16(20)
        lwz 3,0x20(21)
        lwz 14,0x24(21)
        lbz 4,64(20)
        cmpw 23,3
        beq 1f
        bl take
1:      cmpwi 4,0
        bne 2f
        mr 5,9
        stw 5,20(20)
        cmpw 24,14
        beq turn
2:      mr 24,14
        b turn
take:   mr 23,3
        li 6,7
        mtctr 6
3:      addi 30,30,3
        mullw 31,30,6
        stw 31,24(20)
        bdnz 3b
        stw 31,0x40(21)
        blr
";

pub fn start(idle_loop: bool, attributes: u32) -> (Core, Polled) {
    start_loop(LOOP, idle_loop, attributes)
}

pub fn start_loop(source: &str, idle_loop: bool, attributes: u32) -> (Core, Polled) {
    let words = support::assemble(source);
    let mut flat = Flat::new(0, 0x10000);
    if attributes & TLB_E != 0 {
        flat.words_le(0, &words);
    } else {
        flat.words_be(0, &words);
    }
    let memory = flat.memory;
    let mut core = support::core(0);
    core.set_tlb_entry(0, TlbEntry::new(0, 0, 2, attributes | ALL));
    core.set_tlb_entry(1, TlbEntry::new(0x4000, 0x4000, 2, attributes | ALL));
    core.set_tlb_entry(2, TlbEntry::new(0x8000, 0x8000, 2, attributes | TLB_I | ALL));
    core.set_idle_fast_forward(idle_loop);
    let bus = Polled {
        memory,
        horizon: Time::ZERO,
        free: [Time::ZERO; 2],
        transactions: 0,
        repeated: 0,
        passes: false,
    };
    (core, bus)
}

/// Both are at `at`; something outside may have happened.
pub fn advance(core: &mut Core, bus: &mut Polled, at: Time) {
    bus.horizon = at;
    assert_eq!(core.run_on(bus, at), Stop::Until);
}
