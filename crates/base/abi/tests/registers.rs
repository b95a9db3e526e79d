//! The audit of registers: a device that keeps its table passes, and one with any other table does not.

use abi::registers::{lies, Access, Audit, Device, Field, Register, Reset, Violation};

const fn register(name: &'static str, offset: u32, fields: &'static [Field]) -> Register {
    Register {
        name,
        offset,
        count: 1,
        stride: 4,
        reset: Reset::Value(0),
        volatile: false,
        when: "",
        fields,
    }
}

/// A register of each access, and an array.
const TABLE: &[Register] = &[
    Register {
        reset: Reset::Value(0x21),
        ..register(
            "MIXED",
            0,
            &[
                Field { name: "ID", mask: 0xF, access: Access::ReadOnly },
                Field { name: "MODE", mask: 0xF0, access: Access::ReadWrite },
                Field { name: "GO", mask: 0x100, access: Access::WriteOnly },
            ],
        )
    },
    Register {
        reset: Reset::Value(0x70),
        ..register(
            "EVENTS",
            4,
            &[
                Field { name: "ERRORS", mask: 0x30, access: Access::OneClears },
                Field { name: "LINE", mask: 0x40, access: Access::WriteClears },
                Field { name: "SIGNAL", mask: 1, access: Access::OneSets },
            ],
        )
    },
    Register {
        count: 40,
        reset: Reset::Parameter("its number"),
        ..register(
            "ARRAY",
            0x100,
            &[Field { name: "ARRAY", mask: 0xFFFF, access: Access::ReadWrite }],
        )
    },
    Register {
        volatile: true,
        reset: Reset::Unknown,
        ..register(
            "CLOCK",
            8,
            &[Field { name: "CLOCK", mask: 0xFFFF_FFFF, access: Access::ReadWrite }],
        )
    },
    Register {
        when: "if there is a port",
        ..register("PORT", 12, &[Field { name: "DATA", mask: 0xFF, access: Access::WriteOnly }])
    },
];

/// A device of this table, in code of its own.
struct Toy {
    mode: u64,
    events: u64,
    array: [u64; 40],
    clock: u64,
}

impl Toy {
    fn new() -> Toy {
        Toy { mode: 2, events: 0x70, array: [7; 40], clock: 5 }
    }
}

impl Device for Toy {
    fn read(&mut self, offset: u32) -> Option<u64> {
        self.clock += 1;
        match offset {
            0 => Some(1 | self.mode << 4),
            4 => Some(self.events),
            8 => Some(self.clock),
            0x100..0x1A0 => Some(self.array[(offset as usize - 0x100) / 4]),
            _ => None,
        }
    }
    fn write(&mut self, offset: u32, word: u64) -> bool {
        match offset {
            0 => self.mode = word >> 4 & 0xF,
            4 => self.events = self.events & 0x30 & !word | (self.events | word) & 1,
            8 => self.clock = word & 0xFFFF_FFFF,
            0x100..0x1A0 => self.array[(offset as usize - 0x100) / 4] = word & 0xFFFF,
            _ => return false,
        }
        true
    }
    fn parameter(&self, _: &Register, _: u32) -> u64 {
        7
    }
    fn has(&self, _: &str) -> bool {
        false
    }
}

/// Numbers of a linear congruence.
fn numbers() -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.rotate_left(31)
    }
}

fn audit(table: &[Register], toy: &mut dyn Device) -> Result<Vec<String>, Violation> {
    let mut audit = Audit::after_reset(table, toy)?;
    audit.write(toy, "EVENTS", 0x10)?;
    audit.write_at_random(toy, 2000, &mut numbers())?;
    Ok(audit.unseen())
}

#[test]
fn a_device_that_keeps_its_table_passes() {
    assert_eq!(audit(TABLE, &mut Toy::new()), Ok(vec![]));
}

#[test]
fn every_other_table_is_a_lie() {
    let lies = lies(TABLE);
    assert!(lies.len() > 20, "{}", lies.len());
    for (lie, table) in lies {
        assert_ne!(audit(&table, &mut Toy::new()), Ok(vec![]), "{lie}");
    }
}

#[test]
fn violations_are_sentences() {
    let table = |change: fn(&mut Register)| {
        let mut table = TABLE.to_vec();
        table.iter_mut().for_each(change);
        audit(&table, &mut Toy::new()).unwrap_err().to_string()
    };
    let reset = table(|register| register.reset = Reset::Value(0x21));
    assert_eq!(reset, "EVENTS reads 0x70 after a reset, not 0x21");
    let longer = table(|register| register.count += u32::from(register.name == "ARRAY"));
    assert_eq!(longer, "ARRAY[40] refuses a read");
    let fewer = table(|register| register.fields = &register.fields[..1]);
    assert_eq!(fewer, "MIXED reads 0x21 after a reset, not 0x1");
}
