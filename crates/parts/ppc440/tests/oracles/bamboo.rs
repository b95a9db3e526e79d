//! System instructions and exceptions: QEMU's bamboo board, a 440EP, big-endian, against our core.
//!
//! The program maps itself, sets the vectors and runs random cases (`privileged`). Each handler
//! appends its values to a log and goes on behind the instruction; log, blocks and the memory
//! that the pages show are compared at the end, and the whole TLB.
//!
//! Where QEMU 7.2 differs from the manual the handlers hide it or the cases avoid it:
//!
//! - an instruction TLB miss sets DEAR and ESR, a misaligned access does not set ESR;
//! - a program exception sets bits 0x60000 of SRR1, as on older processors, which are WE and CE;
//! - a handler begins with MSR[CE] and MSR[DE] off;
//! - `mtmsr` does not change MSR[ME];
//! - `tlbsx` ignores MMUCR[STS], and a failed one writes -1;
//! - TLB entries have no E, and a page whose address is not a multiple of its size never matches;
//! - a valid entry that gets another space, id or rights may go on as before;
//! - a page of 1 KB shows the 1 KB at the same place in 4 KB;
//! - an exception of `dcbi` is one of a load, and DEAR after one of `dcbz` is the line's address;
//! - no cache: no alignment exception for `dcbz` of an uncached page, none by `CCR0[FLSTA]`, and
//!   nothing is lost by `dccci` and `dcbi`;
//! - special registers keep bits that the 440 has not;
//! - the decrementer goes on below 0, and the fixed interval timer never ends; critical, machine
//!   check and debug events, the watchdog, and the value of the time base cannot be compared.

use crate::privileged::{
    self, Case, Generator, BANKS, BASE_MSR, BLOCK, FRAMES, FRAMES_LEN, INPUT_WORDS, RECOVERY,
};
use crate::random::value;
use crate::support::asm::*;
use crate::support::{core, need, run_to_fault, Flat, ALL};
use crate::system::{Guest, QEMU};
use ppc440::{spr, TLB_I};
use std::time::Duration;

const MEMORY: usize = 64;
/// Cells in low memory, which the handlers reach without a register.
const SAVED_30: i32 = 0x200;
const SAVED_31: i32 = 0x204;
const LOG_END: i32 = 0x220;
const FLAG: i32 = 0x240;
const CODE: u32 = 0x4_0000;
const LOG: u32 = 0x0200_0000;
const DATA: u32 = 0x0280_0000;
/// Address at which the program leaves the whole TLB.
const TLB: u32 = 0x0310_0000;
const END_OF_MEMORY: u32 = 0x0310_1000;
const RECORD: usize = 32;

struct Image {
    bytes: Vec<u8>,
    cases: Vec<Case>,
    end: u32,
}

impl Image {
    fn put(&mut self, at: u32, words: &[u32]) {
        for (index, word) in words.iter().enumerate() {
            let at = at as usize + 4 * index;
            self.bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
    }
    fn append(&mut self, words: &[u32]) {
        self.put(self.end, words);
        self.end += 4 * words.len() as u32;
        assert!(self.end < LOG, "too many cases");
    }
    fn executed(&self) -> usize {
        self.cases.iter().map(|case| case.executed.len()).sum()
    }
}

fn constant(register: u32, value: u32) -> [u32; 2] {
    [lis(register, value >> 16), ori(register, register, value & 0xffff)]
}

/// rlwinm: `register` without one bit.
fn without(register: u32, bit: u32) -> u32 {
    let bit = bit.leading_zeros();
    21 << 26 | register << 21 | register << 16 | ((bit + 1) % 32) << 6 | ((bit + 31) % 32) << 1
}

/// The handler of vector `number`: saves r30 and r31, appends a record, goes on.
fn handler(number: u32, identity: u32) -> Vec<u32> {
    let mut code = vec![stw(31, SAVED_31, 0), stw(30, SAVED_30, 0), lwz(31, LOG_END, 0)];
    // Values that QEMU does not give, or gives where the manual does not: see above.
    let hidden = match number {
        5 => vec![li(30, 0), mtspr(spr::ESR, 30)],
        14 => vec![li(30, 0), mtspr(spr::ESR, 30), mtspr(spr::DEAR, 30)],
        _ => vec![],
    };
    code.extend(hidden);
    if number == 6 {
        code.extend([mfspr(30, spr::SRR1), without(30, 0x4_0000), without(30, ppc440::MSR_CE)]);
        code.push(mtspr(spr::SRR1, 30));
    }
    code.extend([li(30, identity as i32), stw(30, 0, 31)]);
    for (index, number) in [spr::SRR0, spr::SRR1, spr::ESR, spr::DEAR].into_iter().enumerate() {
        code.extend([mfspr(30, number), stw(30, 4 + 4 * index as i32, 31)]);
    }
    code.extend([x(31, 30, 0, 0, 83), without(30, ppc440::MSR_CE), without(30, ppc440::MSR_DE)]);
    code.extend([stw(30, 20, 31), addi(31, 31, RECORD as i32), stw(31, LOG_END, 0)]);
    match number {
        // Nothing there, or a system call: on at the address that the program has left.
        3 | 8 | 14 => code.extend([
            mfspr(30, RECOVERY),
            mtspr(spr::SRR0, 30),
            li(30, BASE_MSR as i32),
            mtspr(spr::SRR1, 30),
        ]),
        // The decrementer: no second interrupt.
        10 => {
            code.extend([li(30, 0), mtspr(spr::TCR, 30), lis(30, 0x0c00), mtspr(spr::TSR, 30)]);
        }
        _ => code.extend([mfspr(30, spr::SRR0), addi(30, 30, 4), mtspr(spr::SRR0, 30)]),
    }
    code.extend([lwz(30, SAVED_30, 0), lwz(31, SAVED_31, 0), RFI]);
    assert!(code.len() <= 64, "a handler has 256 bytes");
    code
}

/// Writes the three words of a TLB entry.
fn entry(index: u32, words: [u32; 3]) -> Vec<u32> {
    let mut code = vec![li(28, index as i32)];
    for word in [2, 1, 0] {
        code.extend(constant(30, words[word]));
        code.push(x(31, 30, 28, word as u32, 978));
    }
    code
}

/// Maps memory, sets the vectors and clears everything else.
fn start(attributes: u32) -> Vec<u32> {
    let mut code = vec![li(0, 0), mtspr(spr::MMUCR, 0), mtspr(spr::PID, 0), li(3, 0x1000)];
    // Supervisors have all rights, users may execute; in address space 1 nobody may do more.
    code.extend(entry(0, [0x290, 0, attributes | 0x27]));
    code.extend(entry(1, [0x390, 0, attributes | 0x24]));
    for index in 2..64 {
        code.extend(entry(index, [0x10, 0, 0]));
    }
    code.push(ISYNC);
    code.extend([mtspr(spr::TCR, 0), lis(30, 0xfc00), mtspr(spr::TSR, 30)]);
    for number in 0..16 {
        code.extend([li(30, 0x100 * number), mtspr(spr::IVOR0 + number as u32, 30)]);
    }
    code.extend(constant(30, BANKS[0]));
    code.push(mtspr(spr::IVPR, 30));
    for number in [26, 27, 58, 59, 61, 62, 256, 570, 571, 947].into_iter().chain(272..280) {
        code.push(mtspr(number, 0));
    }
    code.extend(constant(30, LOG));
    code.push(stw(30, LOG_END, 0));
    // QEMU's mtmsr leaves ME.
    let here = CODE + 4 * code.len() as u32;
    code.extend(constant(30, here + 4 * 6));
    code.extend([mtspr(spr::SRR0, 30), li(30, BASE_MSR as i32), mtspr(spr::SRR1, 30), RFI]);
    code
}

/// Leaves the TLB in memory and writes everything back from the data cache.
fn finish(image: &mut Image) {
    image.append(&constant(31, TLB));
    for index in 0..64 {
        image.append(&[li(28, index)]);
        for word in 0..3 {
            image.append(&[x(31, 30, 28, word, 946), stw(30, 4 * word as i32, 31)]);
        }
        image.append(&[mfspr(30, spr::MMUCR), stw(30, 12, 31), addi(31, 31, 16)]);
    }
    for (from, to) in [(0, 0x400), (LOG, END_OF_MEMORY)] {
        image.append(&constant(4, from));
        image.append(&constant(5, (to - from) / 32));
        image.append(&[mtspr(9, 5), x(31, 0, 0, 4, 86), addi(4, 4, 32), bdnz(-8), MSYNC]);
    }
}

fn image(seed: u64, cases: usize, length: usize, inhibited: bool) -> Image {
    let bytes = vec![0; END_OF_MEMORY as usize];
    let mut image = Image { bytes, cases: Vec::new(), end: CODE };
    // Out of reset bamboo begins at 0.
    image.put(0, &[b(CODE as i32)]);
    for (bank, base) in BANKS.into_iter().enumerate() {
        for place in 0..3 {
            for number in 0..16 {
                let identity = number | place << 4 | (bank as u32) << 8;
                let code = handler(number, identity);
                image.put(base + 0x1000 * place + 0x100 * number, &code);
            }
        }
    }
    image.append(&start(if inhibited { TLB_I } else { 0 }));
    let mut generator = Generator::new(seed, inhibited);
    for index in 0..cases {
        let block = DATA + index as u32 * BLOCK;
        assert!(block + BLOCK <= FRAMES, "too many cases");
        let input: Vec<u32> = (0..INPUT_WORDS).map(|_| value(&mut generator.random)).collect();
        image.put(block, &input);
        let case = generator.case(image.end, block, length);
        image.append(&case.code);
        image.cases.push(case);
    }
    let frames: Vec<u32> =
        (0..FRAMES_LEN / 4).map(|_| generator.random.next_u64() as u32).collect();
    image.put(FRAMES, &frames);
    finish(&mut image);
    image
}

/// Memory that QEMU leaves, and true if it reached the end.
fn in_qemu(image: &mut Image, name: &str) -> (Vec<u8>, bool) {
    image.append(&[li(3, 1), stw(3, FLAG, 0), b(0)]);
    let mut guest = Guest::start(name, "bamboo", MEMORY, &image.bytes, &[]);
    let ended = guest.wait(FLAG as u64, Duration::from_secs(120)) != 0;
    (guest.read(0, END_OF_MEMORY as usize), ended)
}

fn in_core(image: &Image, inhibited: bool) -> Vec<u8> {
    let mut flat = Flat::new(0, image.bytes.len());
    flat.memory.write(0, &image.bytes).unwrap();
    let mut core = core(0);
    let attributes = if inhibited { TLB_I } else { 0 };
    core.set_tlb_entry(0, ppc440::TlbEntry::new(0, 0, 9, attributes | ALL));
    run_to_fault(&mut core, &mut flat, 60_000_000);
    let fault = core.fault().unwrap();
    assert_eq!(fault.pc, image.end, "the core stopped early: {fault}");
    flat.memory.bytes(0, END_OF_MEMORY as usize).unwrap()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn record(bytes: &[u8], at: usize) -> String {
    let [id, srr0, srr1, esr, dear, msr] = [0, 4, 8, 12, 16, 20].map(|o| word(bytes, at + o));
    format!("vector {id:#x} srr0 {srr0:#x} srr1 {srr1:#x} esr {esr:#x} dear {dear:#x} msr {msr:#x}")
}

impl Image {
    fn compare(&self, seed: u64, expected: &[u8], found: &[u8]) {
        // The first exception that differs says most.
        let records = LOG as usize..DATA as usize;
        for at in records.step_by(RECORD) {
            assert!(
                expected[at..at + RECORD] == found[at..at + RECORD],
                "seed {seed}: exception {} is\n{}, QEMU has\n{}\n{}",
                (at - LOG as usize) / RECORD,
                record(found, at),
                record(expected, at),
                self.listing(word(found, at + 4).min(word(expected, at + 4)))
            );
        }
        for at in (DATA as usize..expected.len()).step_by(4) {
            let (expected, found) = (word(expected, at), word(found, at));
            if expected == found {
                continue;
            }
            let at = at as u32;
            let (place, listing) = match at {
                DATA..FRAMES => {
                    let (case, offset) = ((at - DATA) / BLOCK, (at - DATA) % BLOCK);
                    let place = privileged::place(offset as usize);
                    (format!("case {case}: {place}"), self.code_of(case as usize))
                }
                FRAMES..TLB => (format!("memory at {at:#x}"), String::new()),
                _ => (format!("word {} of the TLB", (at - TLB) / 4), String::new()),
            };
            panic!("seed {seed}: {place} is {found:#x}, QEMU has {expected:#x}\n{listing}");
        }
    }
    /// The words of a case, for a failure message.
    fn code_of(&self, index: usize) -> String {
        let code = self.cases.get(index).map_or(&[][..], |case| &case.code);
        let lines = code.iter().map(|word| format!("  .long {word:#010x}\n"));
        format!("the case (objdump -D -b binary -m powerpc:440):\n{}", lines.collect::<String>())
    }
    /// The words before an address.
    fn listing(&self, at: u32) -> String {
        let from = at.saturating_sub(64);
        let words = (from..at + 8).step_by(4).filter(|at| (*at as usize) < self.bytes.len() - 4);
        words
            .map(|at| format!("  {at:#x} .long {:#010x}\n", word(&self.bytes, at as usize)))
            .collect()
    }
}

/// Returns the number of random instructions that both executed.
fn compare(seed: u64, cases: usize, length: usize, inhibited: bool) -> usize {
    let mut image = image(seed, cases, length, inhibited);
    let found = in_core(&image, inhibited);
    let (expected, ended) = in_qemu(&mut image, &format!("bamboo-{seed}"));
    image.compare(seed, &expected, &found);
    assert!(ended, "seed {seed}: {QEMU} has not come to the end");
    image.executed()
}

/// Seeds of the fast ring: cases, their length, whether all pages are inhibited.
const FAST: [(u64, usize, usize, bool); 2] = [(1, 4000, 60, false), (2, 2000, 60, true)];

/// The random instructions of the fast ring.
pub fn words() -> Vec<u32> {
    let images = FAST
        .iter()
        .map(|(seed, cases, length, inhibited)| image(*seed, *cases, *length, *inhibited));
    images.flat_map(|image| image.cases).flat_map(|case| case.executed).collect()
}

#[test]
fn privileged_programs_agree_with_bamboo() {
    need(QEMU, "qemu-system-ppc");
    let mut instructions = 0;
    for (seed, cases, length, inhibited) in FAST {
        instructions += compare(seed, cases, length, inhibited);
    }
    println!("{instructions} instructions agree");
    assert!(instructions > 100_000, "only {instructions} instructions compared");
}

/// `cargo test -p ppc440 --test oracles -- --ignored`.
#[test]
#[ignore = "soak: a minute or more"]
fn many_privileged_programs_agree_with_bamboo() {
    need(QEMU, "qemu-system-ppc");
    let mut instructions = 0;
    for seed in 100..140 {
        instructions += compare(seed, 4000, 70, seed % 3 == 2);
    }
    println!("{instructions} instructions agree");
    assert!(instructions > 4_000_000, "only {instructions} instructions compared");
}
