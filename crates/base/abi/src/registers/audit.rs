//! Audit of a device: its registers do what their table declares.

use super::{Access, Register, Reset};
use std::collections::BTreeMap;

/// Device behind its registers, at rest: between two accesses nothing comes to it from elsewhere.
pub trait Device {
    /// Value of the register at `offset`; `None` if the device refuses the access.
    fn read(&mut self, offset: u32) -> Option<u64>;
    /// Writes it; false if the device refuses that.
    fn write(&mut self, offset: u32, word: u64) -> bool;
    /// Value that a parameter of the machine gives to a register, or to number `index` of an array, by a
    /// reset.
    fn parameter(&self, register: &Register, index: u32) -> u64 {
        unreachable!("{}[{index}] has no parameter", register.name)
    }
    /// True if the device has what `condition` says, as registers do with one.
    fn has(&self, condition: &str) -> bool {
        unreachable!("{condition} is not asked of this device")
    }
    /// Word to be written instead of the random `word`, where some would set the device in motion; `None` if
    /// this register is not to be written.
    fn admit(&self, register: &Register, word: u64) -> Option<u64> {
        let _ = register;
        Some(word)
    }
}

/// Declaration that the device does not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

/// Most registers of an array that are looked at: its first and its last ones.
const OF_ARRAY: u32 = 8;

/// One register under audit.
#[derive(Clone, Debug)]
struct Place {
    register: Register,
    index: u32,
    /// Value that the next read has to give; none if it cannot be told.
    value: Option<u64>,
}

/// Audit of a device by a table. It remembers what each register has to give.
#[derive(Clone, Debug)]
pub struct Audit {
    places: Vec<Place>,
    /// For each register: bits that have been written as 1 and as 0, and those that a write has cleared and
    /// set.
    seen: BTreeMap<&'static str, [u64; 4]>,
}

impl Audit {
    /// Begins with the device as it is after a reset: every readable register gives its reset value.
    ///
    /// # Errors
    /// The first register that does not.
    pub fn after_reset(table: &[Register], device: &mut dyn Device) -> Result<Audit, Violation> {
        let mut audit = Audit::of(table, device);
        for place in &mut audit.places {
            place.value = match place.register.reset {
                Reset::Value(value) => Some(value),
                Reset::Parameter(_) => Some(device.parameter(&place.register, place.index)),
                Reset::Unknown => None,
            };
            place.check(device, "after a reset")?;
        }
        audit.look(device)?;
        Ok(audit)
    }

    fn of(table: &[Register], device: &dyn Device) -> Audit {
        let there = |register: &&Register| register.when.is_empty() || device.has(register.when);
        let places = table.iter().filter(there).flat_map(|register| {
            let all = 0..register.count;
            let kept = all.filter(|n| *n < OF_ARRAY || register.count - n <= OF_ARRAY);
            kept.map(|index| Place { register: *register, index, value: None })
        });
        Audit { places: places.collect(), seen: BTreeMap::new() }
    }

    /// Takes the values that the registers have: something has come to the device since, or it is another
    /// one.
    ///
    /// # Errors
    /// A register that can be read and refuses it, or bits of no field that are not 0.
    pub fn look(&mut self, device: &mut dyn Device) -> Result<(), Violation> {
        for place in &mut self.places {
            let readable = place.register.bits(Access::is_readable);
            if readable == 0 {
                continue;
            }
            let value = place.read(device)?;
            let known = place.register.bits(|_| true);
            if value & !known != 0 {
                return Err(place.violation(format!("has bits of no field: {value:#x}")));
            }
            place.value = Some(value & readable);
        }
        Ok(())
    }

    /// Writes registers at random, `count` times, and reads after each write what it has changed, and what it
    /// has not. `random` gives any numbers.
    ///
    /// # Errors
    /// The first register that gives another value than its table says.
    pub fn write_at_random(
        &mut self,
        device: &mut dyn Device,
        count: usize,
        random: &mut dyn FnMut() -> u64,
    ) -> Result<(), Violation> {
        for _ in 0..count {
            let number = random() as usize % self.places.len();
            let word = match random() % 4 {
                0 => u64::MAX,
                1 => 1 << (random() % 64),
                _ => random(),
            };
            self.write_place(device, number, word)?;
            // The register itself, and two others.
            for number in [number, random() as usize, random() as usize] {
                let number = number % self.places.len();
                self.places[number].check(device, "behind writes")?;
            }
        }
        self.places.iter().try_for_each(|place| place.check(device, "at the end"))
    }

    /// Writes the register `name`, or the first of that array, and reads it.
    ///
    /// # Errors
    /// It gives another value than its table says.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn write(
        &mut self,
        device: &mut dyn Device,
        name: &str,
        word: u64,
    ) -> Result<(), Violation> {
        let number = self.places.iter().position(|place| place.register.name == name);
        let number = number.unwrap_or_else(|| panic!("there is no register {name}"));
        self.write_place(device, number, word)?;
        self.places[number].check(device, "behind a write")
    }

    fn write_place(
        &mut self,
        device: &mut dyn Device,
        number: usize,
        word: u64,
    ) -> Result<(), Violation> {
        let place = &mut self.places[number];
        let register = place.register;
        let Some(word) = device.admit(&register, word) else { return Ok(()) };
        let taken = device.write(register.at(place.index), word);
        let writable = register.bits(|access| access != Access::ReadOnly);
        if !taken && writable != 0 {
            return Err(place.violation(format!("refuses a write of {word:#x}")));
        }
        let Some(old) = place.value.filter(|_| !register.volatile) else { return Ok(()) };
        let new = register.written(old, word);
        place.value = Some(new);
        let seen = self.seen.entry(register.name).or_default();
        for (bits, more) in seen.iter_mut().zip([word, !word, old & !new, new & !old]) {
            *bits |= more;
        }
        Ok(())
    }

    /// Fields whose access has not been seen at work: with a bit that can be written and was never set and
    /// cleared, one that a write clears and that was never set, one that can only be read and was never
    /// written.
    pub fn unseen(&self) -> Vec<String> {
        let mut unseen = Vec::new();
        let mut last = "";
        for register in self.places.iter().map(|place| place.register) {
            if std::mem::replace(&mut last, register.name) == register.name || register.volatile {
                continue;
            }
            let [ones, zeros, cleared, set] =
                self.seen.get(register.name).copied().unwrap_or([0; 4]);
            for field in register.fields {
                let seen = match field.access {
                    Access::WriteOnly => field.mask,
                    Access::ReadOnly => ones,
                    Access::ReadWrite => ones & zeros & cleared & set,
                    Access::OneClears | Access::WriteClears => cleared,
                    Access::OneSets => set,
                };
                if seen & field.mask != field.mask {
                    unseen.push(format!("{}.{}", register.name, field.name));
                }
            }
        }
        unseen
    }
}

impl Place {
    fn read(&self, device: &mut dyn Device) -> Result<u64, Violation> {
        let value = device.read(self.register.at(self.index));
        value.ok_or_else(|| self.violation("refuses a read".to_owned()))
    }

    fn check(&self, device: &mut dyn Device, when: &str) -> Result<(), Violation> {
        let Some(value) = self.value else { return Ok(()) };
        if self.register.volatile && when != "after a reset" {
            return Ok(());
        }
        let readable = self.register.bits(Access::is_readable);
        if readable == 0 {
            return Ok(());
        }
        // Bits that can only be written give anything.
        let unreadable = self.register.bits(|access| !access.is_readable()) & !readable;
        let read = self.read(device)? & !unreadable;
        let expected = value & readable;
        if read != expected {
            return Err(self.violation(format!("reads {read:#x} {when}, not {expected:#x}")));
        }
        Ok(())
    }

    fn violation(&self, what: String) -> Violation {
        let Register { name, count, .. } = self.register;
        let index = if count > 1 { format!("[{}]", self.index) } else { String::new() };
        Violation(format!("{name}{index} {what}"))
    }
}
