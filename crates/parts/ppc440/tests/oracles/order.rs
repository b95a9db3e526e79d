//! Byte order of pages, which no QEMU has, as a property from the PPC440x5 manual: an access to a
//! little-endian page does what the same access does to a big-endian page in which the bytes of
//! each element of the operand are in the opposite order. An element is the operand itself, a word
//! of a multiple, a byte of a string. So what the other oracles say of big-endian pages holds for
//! little-endian ones, for every load and store, at every alignment.

use crate::random::value;
use crate::single::{Single, FREE};
use crate::support::asm::*;
use crate::support::ALL;
use des::Random;
use ppc440::{mnemonic, TlbEntry, TLB_E, TLB_I, TLB_W};

/// Addressing form of the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Displacement and register.
    Displaced,
    /// Two registers, or RA = 0 and one.
    Indexed,
    /// Two registers, of which RA is updated.
    Updated,
    /// A register; the number of bytes is in the instruction.
    Immediate,
}
use Form::*;

/// Primary opcode, extended opcode, form, bytes of an element; 0 bytes are a whole cache line.
const ALL_FORMS: [(u32, u32, Form, u32); 47] = [
    (34, 0, Displaced, 1),
    (35, 0, Displaced, 1),
    (40, 0, Displaced, 2),
    (41, 0, Displaced, 2),
    (42, 0, Displaced, 2),
    (43, 0, Displaced, 2),
    (32, 0, Displaced, 4),
    (33, 0, Displaced, 4),
    (38, 0, Displaced, 1),
    (39, 0, Displaced, 1),
    (44, 0, Displaced, 2),
    (45, 0, Displaced, 2),
    (36, 0, Displaced, 4),
    (37, 0, Displaced, 4),
    (46, 0, Displaced, 4),
    (47, 0, Displaced, 4),
    (31, 87, Indexed, 1),
    (31, 279, Indexed, 2),
    (31, 343, Indexed, 2),
    (31, 23, Indexed, 4),
    (31, 790, Indexed, 2),
    (31, 534, Indexed, 4),
    (31, 20, Indexed, 4),
    (31, 215, Indexed, 1),
    (31, 407, Indexed, 2),
    (31, 151, Indexed, 4),
    (31, 918, Indexed, 2),
    (31, 662, Indexed, 4),
    (31, 150, Indexed, 4),
    (31, 1014, Indexed, 0),
    (31, 533, Indexed, 1),
    (31, 661, Indexed, 1),
    (31, 119, Updated, 1),
    (31, 311, Updated, 2),
    (31, 375, Updated, 2),
    (31, 55, Updated, 4),
    (31, 247, Updated, 1),
    (31, 439, Updated, 2),
    (31, 183, Updated, 4),
    (31, 597, Immediate, 1),
    (31, 725, Immediate, 1),
    // Cache operations that change nothing which a program sees.
    (31, 86, Indexed, 1),
    (31, 54, Indexed, 1),
    (31, 278, Indexed, 1),
    (31, 246, Indexed, 1),
    (31, 758, Indexed, 1),
    (31, 982, Indexed, 1),
];

/// The two views, of 1 MB each; areas of 512 bytes, one an access.
const BIG: u32 = 0x2000_0000;
const LITTLE: u32 = 0x3000_0000;
const AREA: usize = 512;
const VIEW: usize = 1 << 20;
/// An operand begins here in its area, or up to 63 bytes later.
const OPERAND: u32 = 128;

/// An access: the words, with the operand's place in the area, its elements, and the registers.
struct Access {
    words: Vec<u32>,
    offset: u32,
    element: u32,
    elements: u32,
    gpr: [u32; 32],
    /// The register that holds the address, minus the area's.
    base: usize,
    xer: u32,
}

const ADDRESS: u32 = 3;
const INDEX: u32 = 4;

impl Access {
    fn new(random: &mut Random, form: (u32, u32, Form, u32), cacheable: bool) -> Option<Access> {
        let (op, extended, form, bytes) = form;
        let line = extended == 1014 && op == 31;
        if line && !cacheable {
            return None; // an alignment exception
        }
        let mut below = |bound: u32| random.below(bound.into()) as u32;
        let rt = 5 + below(27);
        let reserving = op == 31 && [20, 150].contains(&extended);
        let offset = OPERAND + (below(64) & if reserving { !3 } else { !0 });
        let multiple = op == 46 || op == 47;
        let string = op == 31 && [533, 661, 597, 725].contains(&extended);
        // A string that begins at r5 to r31 goes round to r2 at most, so that it spares addresses.
        let longest = 4 * (32 - rt + 3);
        let elements = match (multiple, string) {
            (true, _) => 32 - rt,
            (_, true) if form == Immediate => 1 + below(longest.min(32)),
            (_, true) => below(longest + 1),
            _ => 1,
        };
        let mut gpr: [u32; 32] = std::array::from_fn(|_| value(random));
        let displacement = value(random) as i16 as i32;
        let zero = form == Indexed && random.below(2) == 0;
        let word = match form {
            Displaced => d(op, rt, ADDRESS, displacement),
            Indexed if zero => x(op, rt, 0, INDEX, extended),
            Immediate => x(op, rt, ADDRESS, elements & 31, extended),
            _ => x(op, rt, ADDRESS, INDEX, extended),
        };
        let other = match form {
            Displaced => displacement as u32,
            Immediate => 0,
            _ if zero => 0,
            _ => gpr[INDEX as usize],
        };
        let base = if zero { INDEX } else { ADDRESS } as usize;
        gpr[base] = offset.wrapping_sub(other);
        // stwcx. with its reservation.
        let record = u32::from(op == 31 && extended == 150);
        let mut words = vec![word | record];
        if record != 0 {
            words.insert(0, x(31, 0, if zero { 0 } else { ADDRESS }, INDEX, 20));
        }
        let element = if line { 1 } else { bytes };
        Some(Access { words, offset, element, elements, gpr, base, xer: elements.min(127) })
    }
    /// The area with the bytes of each element of the operand turned round.
    fn turned(&self, area: &[u8]) -> Vec<u8> {
        let mut area = area.to_vec();
        let (from, len) = (self.offset as usize, (self.element * self.elements) as usize);
        for element in area[from..from + len].chunks_exact_mut(self.element as usize) {
            element.reverse();
        }
        area
    }
    /// Executes it in one of the views; general registers, the address taken off, CR and XER.
    fn run(&self, single: &mut Single, area: u32) -> ([u32; 32], u32, u32) {
        let mut gpr = self.gpr;
        gpr[self.base] = gpr[self.base].wrapping_add(area);
        single.set(&gpr, 0x1234_5678, self.xer);
        single.run(&self.words);
        let mut gpr = single.gpr();
        gpr[self.base] = gpr[self.base].wrapping_sub(area);
        (gpr, single.core.cr(), single.xer())
    }
}

/// Accesses of the fast ring: rounds over all forms, for each kind of page.
const ROUNDS: usize = 14;
const KINDS: [u32; 3] = [0, TLB_W, TLB_I];

/// The accesses of one seed; no more than fit into a view.
fn accesses(seed: u64, kind: u32) -> Vec<Access> {
    let mut random = Random::new(seed);
    let forms = ALL_FORMS.iter().cycle().take(3 * ROUNDS * ALL_FORMS.len());
    let accesses = forms.filter_map(|form| Access::new(&mut random, *form, kind == 0));
    accesses.collect()
}

/// The words of the fast ring, each executed in both views.
pub fn words() -> Vec<u32> {
    let all = KINDS.iter().flat_map(|kind| accesses(1, *kind));
    all.flat_map(|access| [access.words.clone(), access.words].concat()).collect()
}

fn check(seed: u64, kind: u32) {
    let mut random = Random::new(seed + 1);
    let accesses = accesses(seed, kind);
    assert!(accesses.len() * AREA <= VIEW);
    let mut single = Single::new(2 * VIEW);
    let (big, little) = (FREE, FREE + VIEW as u64);
    single.core.set_tlb_entry(1, TlbEntry::new(BIG, big, 5, kind | ALL));
    single.core.set_tlb_entry(2, TlbEntry::new(LITTLE, little, 5, kind | TLB_E | ALL));
    for (index, access) in accesses.iter().enumerate() {
        let at = (index * AREA) as u64;
        let area: Vec<u8> = (0..AREA).map(|_| random.next_u64() as u8).collect();
        single.flat.memory.write(big + at, &area).unwrap();
        single.flat.memory.write(little + at, &access.turned(&area)).unwrap();
    }
    for (index, access) in accesses.iter().enumerate() {
        let at = (index * AREA) as u32;
        let expected = access.run(&mut single, BIG + at);
        let found = access.run(&mut single, LITTLE + at);
        assert_eq!(found, expected, "seed {seed}: {:x?} at {}", access.words, access.offset);
    }
    flush(&mut single);
    for (index, access) in accesses.iter().enumerate() {
        let at = (index * AREA) as u64;
        let expected = single.flat.memory.bytes(big + at, AREA).unwrap();
        let found = single.flat.memory.bytes(little + at, AREA).unwrap();
        let context = format!("seed {seed}: {:x?} at {}", access.words, access.offset);
        assert_eq!(access.turned(&found), expected, "{context}");
    }
}

/// Writes both views back from the data cache.
fn flush(single: &mut Single) {
    for view in [BIG, LITTLE] {
        single.core.set_gpr(4, view);
        single.core.set_spr(ppc440::spr::CTR, VIEW as u32 / 32).unwrap();
        single.run(&[x(31, 0, 0, 4, 86), addi(4, 4, 32), bdnz(-8)]);
    }
}

#[test]
fn every_access_turns_its_elements_round_in_a_little_endian_page() {
    for kind in KINDS {
        check(1, kind);
    }
}

/// No load or store of the core's table is missing here.
#[test]
fn all_loads_and_stores_are_here() {
    let here: Vec<&str> = ALL_FORMS
        .iter()
        .map(|(op, extended, _, _)| op << 26 | extended << 1 | u32::from(*extended == 150))
        .map(|word| mnemonic(word).unwrap())
        .collect();
    let prefixes = ["lb", "lh", "lm", "ls", "lw", "st", "dcbz"];
    for name in crate::coverage::mnemonics() {
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            assert!(here.contains(&name), "{name}");
        }
    }
}

/// `cargo test -p ppc440 --test oracles -- --ignored`.
#[test]
#[ignore = "soak: a minute or more"]
fn every_access_turns_its_elements_round_many_times() {
    for seed in 100..400 {
        check(seed, KINDS[seed as usize % 3]);
    }
}
