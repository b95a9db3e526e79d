//! The registers of the PowerPC 440 in gdb's protocol. The firmware's data are little-endian, and so are
//! registers here.

use ppc440::{spr, Core};
use std::fmt::Write;
use std::sync::OnceLock;

/// General registers.
const GENERAL: usize = 32;
/// Registers after them, in gdb's order.
const REST: [(&str, &str); 6] = [
    ("pc", "code_ptr"),
    ("msr", "uint32"),
    ("cr", "uint32"),
    ("lr", "code_ptr"),
    ("ctr", "uint32"),
    ("xer", "uint32"),
];
/// Registers that are read together.
const TOGETHER: usize = GENERAL + REST.len();
/// The program counter.
pub(super) const PC: usize = GENERAL;

/// Special registers, each read by itself: name, number, and how many there are of that name.
const SPECIAL: [(&str, u32, u32); 26] = [
    ("srr0", spr::SRR0, 1),
    ("srr1", spr::SRR1, 1),
    ("csrr0", spr::CSRR0, 1),
    ("csrr1", spr::CSRR1, 1),
    ("mcsrr0", spr::MCSRR0, 1),
    ("mcsrr1", spr::MCSRR1, 1),
    ("mcsr", spr::MCSR, 1),
    ("esr", spr::ESR, 1),
    ("dear", spr::DEAR, 1),
    ("ivpr", spr::IVPR, 1),
    ("ivor", spr::IVOR0, 16),
    ("sprg", spr::SPRG0, 8),
    ("usprg0", spr::USPRG0, 1),
    ("pid", spr::PID, 1),
    ("mmucr", spr::MMUCR, 1),
    ("ccr0", spr::CCR0, 1),
    ("ccr1", spr::CCR1, 1),
    ("dec", spr::DEC, 1),
    ("tbl", spr::TBL_READ, 1),
    ("tbu", spr::TBU_READ, 1),
    ("tcr", spr::TCR, 1),
    ("tsr", spr::TSR, 1),
    ("dbsr", spr::DBSR, 1),
    ("dbcr0", spr::DBCR0, 1),
    ("pir", spr::PIR, 1),
    ("pvr", spr::PVR, 1),
];

/// Names and numbers of the special registers.
fn specials() -> impl Iterator<Item = (String, u32)> {
    SPECIAL.iter().flat_map(|&(name, first, count)| {
        (0..count).map(move |index| match count {
            1 => (name.into(), first),
            _ => (format!("{name}{index}"), first + index),
        })
    })
}

/// Registers that are read together, as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers(pub [u32; TOGETHER]);

impl Default for Registers {
    fn default() -> Registers {
        Registers([0; TOGETHER])
    }
}

impl Registers {
    /// Registers of a core.
    pub fn of(core: &Core) -> Registers {
        let mut registers = Registers::default();
        for (number, word) in registers.0.iter_mut().enumerate() {
            *word = read(core, number).expect("each of them exists");
        }
        registers
    }

    /// Encodes them as in a packet.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Decodes a packet: all of them, and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Registers> {
        let mut registers = Registers::default();
        if bytes.len() != 4 * TOGETHER {
            return None;
        }
        for (word, bytes) in registers.0.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(registers)
    }
}

/// The target description that gdb requests.
pub(super) fn description() -> &'static str {
    static XML: OnceLock<String> = OnceLock::new();
    XML.get_or_init(described)
}

fn described() -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">\
         <architecture>powerpc:common</architecture><feature name=\"org.gnu.gdb.power.core\">",
    );
    let general = (0..GENERAL).map(|n| (format!("r{n}"), "uint32"));
    let rest = REST.iter().map(|&(name, kind)| (name.into(), kind));
    let mut register = |name: String, kind: &str, group: &str| {
        write!(xml, "<reg name=\"{name}\" bitsize=\"32\" type=\"{kind}\"{group}/>")
            .expect("a string can grow");
    };
    general.chain(rest).for_each(|(name, kind)| register(name, kind, ""));
    let mut special = String::new();
    for (name, _) in specials() {
        write!(special, "<reg name=\"{name}\" bitsize=\"32\" type=\"uint32\" group=\"system\"/>")
            .expect("a string can grow");
    }
    xml + "</feature><feature name=\"org.sunstar.ppc440.special\">"
        + &special
        + "</feature></target>"
}

/// The special register of a number.
fn special(number: usize) -> Option<u32> {
    match number {
        35 => Some(spr::LR),
        36 => Some(spr::CTR),
        37 => Some(spr::XER),
        _ => specials().nth(number.checked_sub(TOGETHER)?).map(|(_, spr)| spr),
    }
}

/// A register's value.
pub(super) fn read(core: &Core, number: usize) -> Option<u32> {
    match number {
        0..GENERAL => Some(core.gpr(number)),
        32 => Some(core.pc()),
        33 => Some(core.msr()),
        34 => Some(core.cr()),
        _ => core.spr(special(number)?),
    }
}

/// Sets a register. `None` if it cannot be.
pub(super) fn write(core: &mut Core, number: usize, value: u32) -> Option<()> {
    match number {
        0..GENERAL => core.set_gpr(number, value),
        // gdb writes it back when nothing has changed; only another one makes the core forget a fault.
        32 if core.pc() == value & !3 => {}
        32 => core.resume_at(value),
        33 => core.set_msr(value),
        34 => core.set_cr(value),
        _ => return core.set_spr(special(number)?, value),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core in reset.
    fn core() -> Core {
        let timing = ppc440::Timing {
            simple: 1,
            load: 3,
            update: 1,
            compare: 1,
            record_half: 1,
            record_long: 1,
            multiply: 4,
            multiply_half: 4,
            divide: 33,
            divide_busy: 33,
            move_to_branch: 1,
            move_from_special: 1,
            move_to_cr: 1,
            taken: 1,
            taken_btac: 0,
            mispredict: 4,
            synchronise: 4,
            bht_entries: 1024,
            btac_entries: 8,
            line_fills: 3,
            load_slots: 4,
            write_slots: 4,
            gather: 8,
        };
        let (clock, code) = (des::Clock::from_hz(500_000_000), ppc440::Code::new(&timing));
        Core::new(&ppc440::Config { clock, timing, coherence_faults: true, code })
    }

    #[test]
    fn each_register_of_the_description_can_be_read() {
        let core = core();
        let names = description().matches("<reg ").count();
        assert_eq!(names, TOGETHER + 16 + 8 + 24);
        for number in 0..names {
            assert!(read(&core, number).is_some(), "{number}");
        }
        assert_eq!(read(&core, names), None);
        assert_eq!(read(&core, GENERAL), Some(0xffff_fffc));
    }

    #[test]
    fn registers_are_all_in_a_packet_or_refused() {
        let registers = Registers::of(&core());
        let bytes = registers.bytes();
        assert_eq!(Registers::from_bytes(&bytes), Some(registers));
        assert_eq!(Registers::from_bytes(&bytes[1..]), None);
        assert_eq!(Registers::from_bytes(&[bytes, vec![0; 4]].concat()), None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut core = core();
        let lr = 35;
        for number in [0, 31, 32, 34, lr, 36, TOGETHER] {
            write(&mut core, number, 0x1234_5678).unwrap();
            assert_eq!(read(&core, number), Some(0x1234_5678), "{number}");
        }
        assert_eq!(core.spr(spr::LR), Some(0x1234_5678));
        let pvr = (0..).find(|&n| special(n) == Some(spr::PVR)).unwrap();
        assert_eq!(write(&mut core, pvr, 1), None);
    }
}
