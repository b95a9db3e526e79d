//! Data flow through a recorded iteration of a polling loop (`iteration` says why it is needed).

use super::Record;
use crate::core::loops::View;
use crate::decode::{Op, OE, RC};
use crate::instructions::Kind;
use crate::storage::arrays::LINE;
use crate::storage::tlb::page;
use crate::timing::predictor::State;
use crate::timing::{reg, Pipe};
use bus::Access;

/// Form of an instruction's memory access.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub write: bool,
    pub len: u8,
    pub indexed: bool,
}

/// The loads and stores that an iteration can have.
pub(crate) fn memory_access(kind: Kind) -> Option<Form> {
    let (write, len, indexed) = match kind {
        Kind::Lbz => (false, 1, false),
        Kind::Lbzx => (false, 1, true),
        Kind::Lhz | Kind::Lha => (false, 2, false),
        Kind::Lhzx | Kind::Lhax => (false, 2, true),
        Kind::Lwz => (false, 4, false),
        Kind::Lwzx => (false, 4, true),
        Kind::Stb => (true, 1, false),
        Kind::Stbx => (true, 1, true),
        Kind::Sth => (true, 2, false),
        Kind::Sthx => (true, 2, true),
        Kind::Stw => (true, 4, false),
        Kind::Stwx => (true, 4, true),
        _ => return None,
    };
    Some(Form { write, len, indexed })
}

pub(crate) fn is_branch(kind: Kind) -> bool {
    matches!(kind, Kind::B | Kind::Bc | Kind::Bclr | Kind::Bcctr)
}

/// Instructions whose results depend on the registers that they name, and on nothing else.
fn is_plain(kind: Kind) -> bool {
    use Kind::*;
    matches!(
        kind,
        Addi | Addis
            | Add
            | Subf
            | Neg
            | Mullw
            | Cmpi
            | Cmpli
            | Cmp
            | Cmpl
            | Andi
            | Andis
            | Ori
            | Oris
            | Xori
            | Xoris
            | And
            | Andc
            | Nand
            | Nor
            | Or
            | Orc
            | Xor
            | Eqv
            | Extsb
            | Extsh
            | Cntlzw
            | Rlwimi
            | Rlwinm
            | Rlwnm
            | Slw
            | Srw
            | Crand
            | Crandc
            | Creqv
            | Crnand
            | Crnor
            | Cror
            | Crorc
            | Crxor
            | Mcrf
    )
}

/// Destination of a load or store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// The data cache, at this offset of its array.
    Cached { offset: usize, little: bool },
    /// The bus; `gathers`: if stores there are gathered.
    Uncached { real: u64, little: bool, gathers: bool },
}

/// An instruction of an iteration, and the state around it before it was executed.
#[derive(Clone)]
pub(crate) struct Step {
    pub pc: u32,
    pub op: Op,
    /// Prediction of a branch.
    pub predicted: Option<State>,
    /// Access of a load or store: effective address, the register named RT, destination, and the word in
    /// the cache.
    pub addr: u32,
    pub value: u32,
    pub place: Option<Location>,
    pub before: [u8; 4],
}

impl Step {
    pub fn new(pc: u32, op: Op, predicted: Option<State>) -> Step {
        Step { pc, op, predicted, addr: 0, value: 0, place: None, before: [0; 4] }
    }
}

/// Symbolic value: either unchanged, or the first value of an item plus a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    Same,
    Of(usize, u32),
}

/// Something that holds another value after an iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Register(u8),
    /// A word of the data cache: offset in its array, byte order.
    Word(usize, bool),
}

/// A word of the data cache that an iteration uses.
pub(crate) struct Word {
    pub offset: usize,
    little: bool,
    pub before: [u8; 4],
    value: Value,
}

/// Everything that the analysis keeps book of.
pub(crate) struct Analysis {
    registers: [Value; 33],
    pub items: Vec<(Item, Value)>,
    pub words: Vec<Word>,
    pub accesses: Vec<(Access, bool, Value)>,
    /// Registers whose readiness it depends on, and those that it writes (see `timing::reg`), a bit
    /// each.
    pub awaited: u64,
    pub written: u64,
}

impl Analysis {
    /// Begins with the differences at the end of the iteration.
    pub fn new(core: &View<'_>, record: &Record) -> Analysis {
        let mut all = Analysis {
            registers: [Value::Same; 33],
            items: Vec::new(),
            words: Vec::new(),
            accesses: Vec::new(),
            awaited: 1 << reg::DIVIDER,
            written: 0,
        };
        for register in 0..32u8 {
            if record.start.registers.gpr(register) != core.registers().get(register) {
                all.registers[usize::from(register)] = all.item(Item::Register(register));
            }
        }
        for step in &record.steps {
            let Some(Location::Cached { offset, little }) = step.place else { continue };
            let offset = offset & !3;
            if all.words.iter().any(|word| word.offset == offset) {
                continue;
            }
            let before = step.before;
            let value = if before == core.data_cache().word(offset) {
                Value::Same
            } else {
                all.item(Item::Word(offset, little))
            };
            all.words.push(Word { offset, little, before, value });
        }
        all
    }

    fn item(&mut self, item: Item) -> Value {
        self.items.push((item, Value::Same));
        Value::Of(self.items.len() - 1, 0)
    }

    /// Follows an instruction. `None` if an iteration cannot have it.
    pub fn step(&mut self, step: &Step) -> Option<()> {
        let op = &step.op;
        if op.pipe == Pipe::Alone {
            return None;
        }
        let bits = |registers: &[u8]| registers.iter().fold(0, |bits, r| bits | 1 << (r & 63));
        self.awaited |= bits(&op.source) & !self.written;
        self.written |= bits(&op.result);
        if let Some(form) = memory_access(op.kind) {
            let index = if form.indexed { self.of(op.rb) } else { Value::Same };
            if self.of(op.ra) != Value::Same || index != Value::Same {
                return None;
            }
            return self.access(step, form);
        }
        let changing = op.source.iter().any(|&register| self.of(register) != Value::Same);
        if !is_plain(op.kind) && !is_branch(op.kind) && op.kind != Kind::Mbar {
            return None;
        }
        if !changing {
            for &register in &op.result {
                self.set(register, Value::Same);
            }
            return Some(());
        }
        if op.flags & (RC | OE) != 0 {
            return None;
        }
        match (op.kind, self.of(op.ra)) {
            (Kind::Addi, Value::Of(item, plus)) => {
                self.set(op.rt, Value::Of(item, plus.wrapping_add(op.imm)));
            }
            (Kind::Or, _) if op.rt == op.rb => self.set(op.ra, self.of(op.rt)),
            _ => return None,
        }
        Some(())
    }

    fn of(&self, register: u8) -> Value {
        self.registers.get(usize::from(register)).copied().unwrap_or(Value::Same)
    }

    fn set(&mut self, register: u8, value: Value) {
        if register < 32 {
            self.registers[usize::from(register)] = value;
        }
    }

    fn access(&mut self, step: &Step, form: Form) -> Option<()> {
        let op = &step.op;
        let stored = if form.write { self.of(op.rt) } else { Value::Same };
        match step.place? {
            Location::Uncached { real, little, .. } => {
                let data = if little {
                    step.value.to_le_bytes()
                } else {
                    step.value.rotate_left(32 - 8 * u32::from(form.len)).to_be_bytes()
                };
                let access = Access { addr: real, len: form.len, write: form.write, data };
                if stored != Value::Same && form.len != 4 {
                    return None;
                }
                self.accesses.push((access, little, stored));
                if !form.write {
                    self.set(op.rt, Value::Same);
                }
            }
            Location::Cached { offset, little } => {
                let word = self.words.iter_mut().find(|word| word.offset == offset & !3)?;
                let whole = form.len == 4 && word.little == little;
                if form.write {
                    if !whole && (stored, word.value) != (Value::Same, Value::Same) {
                        return None;
                    }
                    word.value = stored;
                } else {
                    let value = word.value;
                    if !whole && value != Value::Same {
                        return None;
                    }
                    self.set(op.rt, value);
                }
            }
        }
        Some(())
    }

    /// Final values of the items. `None` if something else has changed, or an item is neither a count nor
    /// derived from one.
    pub fn finish(&mut self) -> Option<()> {
        let mut ends = vec![Value::Same; self.items.len()];
        let registers = (0..32u8).map(|r| (Item::Register(r), self.of(r)));
        let words =
            self.words.iter().map(|word| (Item::Word(word.offset, word.little), word.value));
        for (place, value) in registers.chain(words) {
            match self.items.iter().position(|(item, _)| *item == place) {
                Some(index) => ends[index] = value,
                None if value == Value::Same => {}
                None => return None,
            }
        }
        // An item that ends with a constant has not settled yet. Every chain of items must end with
        // one that counts by itself.
        let ends_in_count = |first: usize| {
            let mut item = first;
            for _ in 0..=ends.len() {
                match ends[item] {
                    Value::Of(same, _) if same == item => return true,
                    Value::Of(other, _) => item = other,
                    Value::Same => return false,
                }
            }
            false
        };
        if !(0..ends.len()).all(ends_in_count) {
            return None;
        }
        for (item, end) in self.items.iter_mut().zip(ends) {
            item.1 = end;
        }
        Some(())
    }
}

impl View<'_> {
    /// Destination of a load or store of that form, on the simple paths; `None` on any other path.
    pub fn place_of(&self, addr: u32, form: Form) -> Option<Location> {
        let mapped = self.tlb().mapped(addr)?;
        let need = if form.write { page::WRITE } else { page::READ };
        if mapped.flags() & need == 0 || !is_single(addr, form.len.into()) {
            return None;
        }
        let little = mapped.flags() & page::LITTLE != 0;
        if mapped.flags() & page::INHIBITED != 0 {
            let real = self.tlb().real(mapped, addr);
            let gathers = self.gathers(mapped.flags());
            return Some(Location::Uncached { real, little, gathers });
        }
        if form.write && mapped.flags() & page::THROUGH != 0 {
            return None;
        }
        let index = self.data_cache().hinted(self.tlb().line(mapped, addr))?;
        Some(Location::Cached { offset: index * LINE + addr as usize % 32, little })
    }
}

/// The access is naturally aligned.
fn is_single(addr: u32, len: usize) -> bool {
    addr as usize & (len - 1) == 0
}
