//! Reports of the monitor on a card whose processor is halted. Looking changes nothing.

use super::mistake::Mistake;
use super::place;
use ::myrinet::Card;
use abi::myrinet::{register, SPECIAL_BASE};
use des::Time;
use lanai::REGISTERS;
use machine::firmware::symbols::{Frame, Symbols};
use std::fmt::Write;

/// A card whose processor stands.
pub(super) struct Look<'a> {
    pub card: &'a Card,
    pub symbols: &'a Symbols,
}

const SP: usize = 4;
const FP: usize = 5;

/// Most functions that a stack is followed through.
const DEPTH: usize = 32;

/// First instruction of clang's functions: it pushes the caller's frame pointer.
const PROLOGUE: &str = "st %fp, [--%sp]";

/// The special registers, by their names in the vendor's header.
const SPECIAL: [(&str, u32); 14] = [
    ("ISR", register::ISR),
    ("EIMR", register::EIMR),
    ("IT0", register::IT0),
    ("IT1", register::IT1),
    ("IT2", register::IT2),
    ("RTC", register::RTC),
    ("RMW", register::RMW),
    ("RMP", register::RMP),
    ("RML", register::RML),
    ("SMP", register::SMP),
    ("SMH", register::SMH),
    ("SML", register::SML),
    ("MYRINET", register::MYRINET),
    ("LED", register::LED),
];

impl Look<'_> {
    /// Time at which it is halted.
    pub fn now(&self) -> Time {
        self.card.core().now()
    }

    fn word(&self, addr: u32) -> Option<u32> {
        let bytes = self.card.sram().get(addr as usize..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes))
    }

    /// Place at which it is halted: time, place, and the instruction that it executes next. A line.
    pub fn place(&self) -> String {
        let pc = self.card.core().pc();
        let us = self.now().0 as f64 * 1e-6;
        format!("{us:.3} us  {}\n", place::instruction(pc, self.word(pc), self.symbols))
    }

    /// Registers, four a line, and the flags.
    pub fn registers(&self) -> String {
        let values = self.card.core().registers();
        let mut text = String::new();
        for (number, (name, value)) in REGISTERS.iter().zip(values).enumerate() {
            let end = if number % 4 == 3 { "\n" } else { "   " };
            // Writing into a string cannot fail.
            write!(text, "{name:<5} {value:#010x}{end}").ok();
        }
        let flags = self.card.core().flags();
        let set = ["zero", "negative", "overflow", "carry"].into_iter().enumerate();
        let set: Vec<&str> =
            set.filter(|(bit, _)| flags >> bit & 1 != 0).map(|(_, name)| name).collect();
        let set = if set.is_empty() { "none".into() } else { set.join(" ") };
        text + "flags " + &set + "\n"
    }

    /// The special registers, four a line.
    pub fn card(&self) -> String {
        let mut text = String::new();
        for (number, (name, offset)) in SPECIAL.into_iter().enumerate() {
            let value = self.card.register(self.now(), offset).unwrap_or_default();
            let end = if number % 4 == 3 || number + 1 == SPECIAL.len() { "\n" } else { "   " };
            write!(text, "{name:<7} {value:#010x}{end}").ok();
        }
        text
    }

    /// Bytes of memory, sixteen a line, as words and as text.
    pub fn memory(&self, from: u32, count: u32) -> Result<String, Mistake> {
        let sram = self.card.sram();
        let Some(rest) = sram.get(from as usize..).filter(|rest| !rest.is_empty()) else {
            let (end, special) = (sram.len(), from >= SPECIAL_BASE);
            return Err(Mistake::NoMemory { from, end, special });
        };
        let bytes = &rest[..rest.len().min(count as usize)];
        let mut text = String::new();
        for (line, addr) in bytes.chunks(16).zip((from..).step_by(16)) {
            let mut words = String::new();
            for word in line.chunks(4) {
                word.iter().for_each(|byte| _ = write!(words, "{byte:02x}"));
                words.push(' ');
            }
            let shown = |byte: &u8| match byte {
                b' '..=b'~' => char::from(*byte),
                _ => '.',
            };
            let shown: String = line.iter().map(shown).collect();
            writeln!(text, "{addr:#08x}  {words:<36} {shown}").ok();
        }
        Ok(text)
    }

    /// Instructions, one a line.
    pub fn instructions(&self, from: u32, count: u32) -> String {
        let pcs = (from & !3..).step_by(4).take(count as usize);
        let here = self.card.core().pc();
        let line = |pc| {
            let mark = if pc == here { "=>" } else { "  " };
            format!("{mark} {}\n", place::instruction(pc, self.word(pc), self.symbols))
        };
        pcs.map(line).collect()
    }

    /// Counters of the processor.
    pub fn counters(&self) -> String {
        let (core, counters) = (self.card.core(), self.card.core().counters());
        format!(
            "{} instructions since reset; {} cycles of waiting for loads, {} for memory; cycle {} \
             since power on\n",
            counters.instructions,
            counters.load_waits,
            counters.memory_waits,
            core.cycle()
        )
    }

    /// The functions that are open, the innermost first, those that were inlined as well.
    pub fn stack(&self) -> String {
        let lines = self.symbols.lines();
        let mut text = String::new();
        let mut number = 0;
        for (place, call) in self.frames() {
            let mut tell = |function: &str, at: String| {
                writeln!(text, "#{number} {function}{at}").ok();
                number += 1;
            };
            let frames = lines.frames(call);
            let line = |frame: &Frame| match frame.line {
                0 => String::new(),
                line => format!(" ({}:{line})", frame.file),
            };
            for frame in &frames[..frames.len().saturating_sub(1)] {
                tell(&frame.function, line(frame) + ", inlined in");
            }
            let outer = frames.last().map(line).unwrap_or_default();
            // A call may be the last instruction of its function, so that it comes back to another.
            match self.symbols.function(call) {
                Some((name, offset)) => {
                    tell(&format!("{name}+{:#x}", offset + (place - call)), outer);
                }
                None => {
                    tell(&format!("{place:#08x}"), ", outside of the program's functions".into())
                }
            }
        }
        text
    }

    /// Of each open function where it stands or comes back to, and the instruction that has led away from it.
    fn frames(&self) -> Vec<(u32, u32)> {
        let registers = self.card.core().registers();
        let (mut at, mut frame) = (self.card.core().pc(), registers[FP]);
        let mut found = vec![(at, at)];
        while found.len() < DEPTH {
            let Some((_, offset)) = self.symbols.function(at) else { break };
            let begins = at - offset;
            let text = self.word(begins).and_then(lanai::disassemble);
            if text.as_deref() != Some(PROLOGUE) {
                // It has no frame: the first of all.
                break;
            }
            // The return address is pushed before the call, and stands above the caller's frame pointer.
            let inner = found.len() == 1;
            let (back, caller) = match offset {
                0 if inner => (self.word(registers[SP]), Some(frame)),
                4 if inner => (self.word(registers[SP].wrapping_add(4)), Some(frame)),
                _ => (self.word(frame.wrapping_sub(4)), self.word(frame.wrapping_sub(8))),
            };
            let (Some(back), Some(caller)) = (back, caller) else { break };
            (at, frame) = (back.wrapping_sub(CALL), caller);
            if self.symbols.function(at).is_none() {
                break;
            }
            found.push((back, at));
        }
        found
    }
}

/// From a call's branch to where it comes back to: branch and slot.
const CALL: u32 = 8;
