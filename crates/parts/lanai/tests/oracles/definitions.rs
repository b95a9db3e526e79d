//! The description of the instruction set, written down a second time, straight from the bits of the word:
//! every row on random operands, with all registers, flags, memory and where it goes on compared.

use crate::support::{core, Flat};
use des::{Clock, Random};
use lanai::Stop;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Address of the instruction; all else is `nop`, except the data.
const AT: u32 = 0x4000;
const DATA: u32 = 0x8000;
const DATA_LEN: u32 = 0x1000;
const END: u32 = 0x1_0000;

#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    r: [u32; 32],
    /// Zero, negative, overflow, carry.
    flags: [bool; 4],
    memory: Vec<u8>,
}

/// Target of a jump, and the number of slots before it.
type Jump = Option<(u32, u32)>;

fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1_u64 << (high - low + 1)) - 1) as u32
}

fn signed(value: u32, width: u32) -> u32 {
    if value >> (width - 1) & 1 == 1 {
        value.wrapping_sub(1 << (width - 1)).wrapping_sub(1 << (width - 1))
    } else {
        value
    }
}

impl State {
    #[allow(clippy::nonminimal_bool)] // As they are written in the description.
    fn condition(&self, dddi: u32) -> bool {
        let [z, n, v, c] = self.flags;
        [
            true,
            false,
            c && !z,
            !c || z,
            !c,
            c,
            !z,
            z,
            !v,
            v,
            !n,
            n,
            (n && v) || (!n && !v),
            (n && !v) || (!n && v),
            (n && v && !z) || (!n && !v && !z),
            z || (n && !v) || (!n && v),
        ][dddi as usize]
    }

    /// The operation's result and flags; `arithmetic` of a shift.
    fn operation(&self, aaa: u32, a: u32, b: u32, arithmetic: bool) -> (u32, [bool; 4]) {
        let carry = i64::from(self.flags[3]);
        let (ua, ub, sa, sb) =
            (i64::from(a), i64::from(b), i64::from(a as i32), i64::from(b as i32));
        let (exact, unsigned) = match aaa {
            0 => (sa + sb, ua + ub),
            1 => (sa + sb + carry, ua + ub + carry),
            2 => (sa - sb, ua - ub),
            3 => (sa - sb - 1 + carry, ua - ub - 1 + carry),
            _ => (0, 0),
        };
        let mut c = match aaa {
            0 | 1 => unsigned > i64::from(u32::MAX),
            // A subtraction carries if it does not borrow.
            2 | 3 => unsigned >= 0,
            _ => false,
        };
        let x = match aaa {
            0..=3 => exact as u32,
            4 => a & b,
            5 => a | b,
            6 => a ^ b,
            _ => {
                let amount = b as i32;
                c = (1..32).contains(&amount) && a >> (32 - amount) & 1 == 1;
                match amount {
                    0.. => (u64::from(a) << amount.min(40)) as u32,
                    _ if arithmetic => {
                        (i64::from(a as i32) >> amount.unsigned_abs().min(40)) as u32
                    }
                    _ => (u64::from(a) >> amount.unsigned_abs().min(40)) as u32,
                }
            }
        };
        let v = aaa < 4 && exact != i64::from(exact as i32);
        (x, [x == 0, x >> 31 == 1, v, c])
    }

    fn write(&mut self, register: u32, value: u32) {
        if register > 1 {
            self.r[register as usize] = value;
        }
    }

    /// A result that may go to the program counter.
    fn result(&mut self, register: u32, value: u32, slots: u32) -> Jump {
        if register == 2 {
            return Some((value, slots));
        }
        self.write(register, value);
        None
    }

    /// A load or store of `len` bytes; an error if the address is none.
    fn access(
        &mut self,
        store: bool,
        rd: u32,
        addr: u32,
        len: u32,
        extends_sign: bool,
        moved: Option<(u32, u32)>,
    ) -> Result<Jump, ()> {
        if addr % len != 0 || addr > END - len {
            return Err(());
        }
        let place = addr as usize..(addr + len) as usize;
        if store {
            let value = self.r[rd as usize].to_be_bytes();
            self.memory[place].copy_from_slice(&value[4 - len as usize..]);
            if let Some((register, value)) = moved {
                return Ok(self.result(register, value, 1));
            }
            return Ok(None);
        }
        let mut value = self.memory[place].iter().fold(0, |v, byte| v * 256 + u32::from(*byte));
        if extends_sign && len < 4 {
            value = signed(value, 8 * len);
        }
        let jump = moved.and_then(|(register, value)| self.result(register, value, 1));
        let second = self.result(rd, value, 2);
        // Both at once are not defined.
        if jump.is_some() && second.is_some() {
            return Err(());
        }
        Ok(jump.or(second))
    }

    /// Base and offset, with P and Q.
    fn based(
        &mut self,
        store: bool,
        word: u32,
        (p, q): (u32, u32),
        sum: u32,
        len: u32,
        extends_sign: bool,
    ) -> Result<Jump, ()> {
        let (rd, rs1) = (bits(word, 27, 23), bits(word, 22, 18));
        let addr = if p == 1 { sum } else { self.r[rs1 as usize] };
        let moved = (q == 1).then_some((rs1, sum));
        self.access(store, rd, addr, len, extends_sign, moved)
    }

    fn execute(&mut self, word: u32) -> Result<Jump, ()> {
        let (rd, rs1, rs2) = (bits(word, 27, 23), bits(word, 22, 18), bits(word, 15, 11));
        self.r[2] = AT;
        let a = self.r[rs1 as usize];
        let b = self.r[rs2 as usize];
        let imm16 = bits(word, 15, 0);
        let (f, h) = (bits(word, 17, 17) == 1, bits(word, 16, 16));
        match bits(word, 31, 28) {
            0..=7 if word == 1 || (2..=6).contains(&word) => Ok(None),
            aaa @ 0..=7 => {
                let imm = match (aaa, h) {
                    (7, _) => signed(imm16, 16),
                    (4, 0) => 0xffff_0000 + imm16,
                    (4, _) => imm16 * 0x1_0000 + 0xffff,
                    (_, 0) => imm16,
                    _ => imm16 * 0x1_0000,
                };
                let (x, flags) = self.operation(aaa, a, imm, h == 1);
                self.flags = if f { flags } else { self.flags };
                Ok(self.result(rd, x, 1))
            }
            0b1100 => {
                let dddi = bits(word, 2, 0) * 2 + h;
                let (bbb, jjjjj) = (bits(word, 10, 8), bits(word, 7, 3));
                let holds = self.condition(dddi);
                if bbb == 7 && jjjjj == 0 {
                    return Ok(self.result(rd, if holds { a } else { b }, 1));
                }
                if !holds {
                    return Ok(None);
                }
                let (x, flags) = self.operation(bbb, a, b, jjjjj == 0b11000);
                self.flags = if f { flags } else { self.flags };
                Ok(self.result(rd, x, 1))
            }
            0b1101 => {
                let count = |from_top: bool| {
                    let order = (0..32).map(|i| if from_top { 31 - i } else { i });
                    order.take_while(|i| a >> i & 1 == 0).count() as u32
                };
                let x = match bits(word, 2, 0) {
                    1 => (0..32).map(|i| a >> i & 1).sum(),
                    2 => count(true),
                    _ => count(false),
                };
                Ok(self.result(rd, x, 1))
            }
            op @ (0b1000 | 0b1001) => {
                let pq = (bits(word, 17, 17), bits(word, 16, 16));
                let sum = a.wrapping_add(signed(imm16, 16));
                self.based(op == 9, word, pq, sum, 4, false)
            }
            op @ (0b1010 | 0b1011) => {
                let pq = (bits(word, 17, 17), bits(word, 16, 16));
                let arithmetic = bits(word, 7, 3) == 0b11000;
                let sum = self.operation(bits(word, 10, 8), a, b, arithmetic).0;
                let len = [2, 4, 1][bits(word, 2, 1) as usize];
                self.based(op == 11, word, pq, sum, len, bits(word, 0, 0) == 0)
            }
            0b1110 => self.branch_or_set(word),
            _ => self.special(word),
        }
    }

    fn branch_or_set(&mut self, word: u32) -> Result<Jump, ()> {
        let dddi = bits(word, 27, 25) * 2 + bits(word, 0, 0);
        let holds = self.condition(dddi);
        if bits(word, 1, 1) == 0 {
            return Ok(holds.then_some((bits(word, 24, 0) & !3, 1)));
        }
        if bits(word, 24, 24) == 1 {
            let target = AT.wrapping_add(signed(bits(word, 15, 0) & !3, 16));
            return Ok(holds.then_some((target, 1)));
        }
        Ok(self.result(bits(word, 22, 18), holds.into(), 1))
    }

    fn special(&mut self, word: u32) -> Result<Jump, ()> {
        let (rd, rs1) = (bits(word, 27, 23), bits(word, 22, 18));
        let a = self.r[rs1 as usize];
        let imm21 = rs1 * 0x1_0000 + bits(word, 15, 0);
        match bits(word, 17, 16) {
            0 => self.access(false, rd, imm21 & !3, 4, false, None),
            1 => self.access(true, rd, imm21 & !3, 4, false, None),
            2 => Ok(self.result(rd, imm21, 2)),
            _ => {
                let pq = (bits(word, 11, 11), bits(word, 10, 10));
                let len = if bits(word, 14, 14) == 1 { 1 } else { 2 };
                let sum = a.wrapping_add(signed(bits(word, 9, 0), 10));
                let (store, zero) = (bits(word, 13, 13) == 1, bits(word, 12, 12) == 1);
                self.based(store, word, pq, sum, len, !zero)
            }
        }
    }
}

/// Values that reach the corners: of numbers, of shifts, of addresses.
fn value(random: &mut Random) -> u32 {
    match random.below(6) {
        0 => [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff][random.below(5) as usize],
        1 => (random.below(80) as u32).wrapping_sub(40),
        2 | 3 => (DATA + random.below(DATA_LEN.into()) as u32) & !(random.below(2) as u32 * 3),
        _ => random.next_u64() as u32,
    }
}

fn random_state(random: &mut Random) -> State {
    let mut memory: Vec<u8> = [0, 0, 0, 1].repeat(END as usize / 4);
    for byte in &mut memory[DATA as usize..(DATA + DATA_LEN) as usize] {
        *byte = random.next_u64() as u8;
    }
    let mut r = [0; 32];
    r.iter_mut().for_each(|r| *r = value(random));
    (r[0], r[1]) = (0, u32::MAX);
    State { r, flags: [0; 4].map(|_: u8| random.below(2) == 1), memory }
}

/// A word of the row; immediates are often small, and addresses often where the data are.
fn word(row: &lanai::Description, random: &mut Random) -> u32 {
    let open = match row.format {
        "RM" | "RI" | "SPLS" if random.below(2) == 0 => 0x0fff_003c,
        "SLS" if random.below(4) > 0 => 0x0f80_0ffc,
        "BR" if random.below(4) > 0 => 0x0e00_3ffd,
        _ => u32::MAX,
    };
    let address = if row.format == "SLS" { DATA } else { 0 };
    row.value | !row.mask & (random.next_u64() as u32 & open | address & !row.mask)
}

/// Compares one instruction; false if it has no defined effect on these operands.
fn compare(word: u32, state: State, seed: u64) -> bool {
    let mut flat = Flat::new();
    flat.sram = state.memory.clone();
    flat.put(AT, &[word]);
    let mut core = core();
    (3..32).for_each(|n| core.set_register(n, state.r[n]));
    core.set_flags(state.flags.iter().rev().fold(0, |flags, set| flags * 2 + u32::from(*set)));
    core.set_register(2, AT);
    let mut expected = state;
    expected.memory = flat.sram.clone();
    let told = expected.execute(word);
    // The instruction, and two more that do nothing.
    let clock = Clock::from_hz(66_000_000);
    let mut stop = Stop::Reached;
    while stop == Stop::Reached && core.counters().instructions < 3 {
        stop = core.run(&mut flat, clock.edge(core.cycle() + 1));
        if flat.result.is_some() {
            // It stored where results go, which stops it.
            return false;
        }
    }
    let text = format!("seed {seed}: {word:#010x} {:?}", lanai::disassemble(word));
    let (target, slots) = match told {
        Ok(jump) => jump.unwrap_or((AT + 12, 3)),
        Err(()) => {
            assert_eq!(stop, Stop::Fault, "{text}");
            return false;
        }
    };
    if target % 4 != 0 || target > END - 8 || (DATA - 8..DATA + DATA_LEN).contains(&target) {
        return false;
    }
    // The following instructions must still do nothing, in the slots and at the target.
    let nothing = |addr: u32| expected.memory[addr as usize..][..8] == [0, 0, 0, 1, 0, 0, 0, 1];
    if !nothing(AT + 4) || !nothing(target) {
        return false;
    }
    assert_eq!(core.fault(), None, "{text}");
    let after = target + if slots == 3 { 0 } else { 4 * (2 - slots) };
    assert_eq!(core.pc(), after, "{text}: it goes on elsewhere");
    expected.r[2] = after;
    let flags = [0, 1, 2, 3].map(|bit| core.flags() >> bit & 1 == 1);
    assert_eq!((core.registers(), flags), (expected.r, expected.flags), "{text}");
    assert!(flat.sram == expected.memory, "{text}: memory differs");
    true
}

pub type Counts = BTreeMap<(&'static str, &'static str), u64>;

fn compare_all(first: u64, rounds: u64) -> Counts {
    let mut counts = Counts::new();
    for (number, row) in lanai::rows().enumerate() {
        if row.source == lanai::Source::Vendor {
            continue;
        }
        for round in 0..rounds {
            let seed = first + number as u64 * 100_000 + round;
            let mut random = Random::new(seed);
            let word = word(&row, &mut random);
            let Some(found) = lanai::describe(word) else {
                continue;
            };
            if compare(word, random_state(&mut random), seed) {
                *counts.entry((found.name, found.format)).or_default() += 1;
            }
        }
    }
    counts
}

/// Number of comparisons of each row in the fast ring.
pub fn counts() -> &'static Counts {
    static COUNTS: OnceLock<Counts> = OnceLock::new();
    COUNTS.get_or_init(|| compare_all(1, 200))
}

#[test]
fn every_row_does_what_its_description_says() {
    let counts = counts();
    for row in lanai::rows().filter(|row| row.source != lanai::Source::Vendor) {
        let count = counts.get(&(row.name, row.format)).copied().unwrap_or(0);
        assert!(count >= 20, "{} ({}): {count}", row.name, row.format);
    }
}

#[test]
#[ignore = "a million instructions take minutes"]
fn every_row_does_what_its_description_says_often() {
    compare_all(1 << 40, 10_000);
}
