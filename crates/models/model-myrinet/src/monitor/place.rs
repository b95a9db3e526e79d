//! Places of the control program: what a user names, and how an address is told.

use super::command::number;
use super::mistake::Mistake;
use lanai::REGISTERS;
use machine::firmware::symbols::{Frame, Symbols};
use std::fmt::Write;

/// The address of a place, as a user names it; `registers` are the processor's.
pub(super) fn find(words: &str, symbols: &Symbols, registers: &[u32; 32]) -> Result<u32, Mistake> {
    let place = || words.to_owned();
    if let Some((base, offset)) = words.rsplit_once('+') {
        let base = find(base, symbols, registers)?;
        let wrong = || Mistake::Offset { place: place(), offset: offset.to_owned() };
        let offset = number(offset).ok_or_else(wrong)?;
        return base.checked_add(offset).ok_or_else(|| Mistake::NoAddress(place()));
    }
    if words.starts_with('%') {
        let found = REGISTERS.iter().position(|name| *name == words);
        let found = found.ok_or_else(|| Mistake::NoRegister(place()))?;
        return Ok(registers[found]);
    }
    if let Some(address) = number(words) {
        return Ok(address);
    }
    if let Some((file, line)) = words.rsplit_once(':') {
        let wrong = || Mistake::Line { place: place(), line: line.to_owned() };
        let line = number(line).ok_or_else(wrong)?;
        let at = |frame: &Frame| frame.line == line && is_file(&frame.file, file);
        let none = || Mistake::NothingOfLine { file: file.to_owned(), line };
        return first(symbols, at).ok_or_else(none);
    }
    let named = symbols.address(words);
    // One that was inlined begins where the first of its instructions stands.
    let inlined = || first(symbols, |frame| frame.function == words);
    named.or_else(inlined).ok_or_else(|| Mistake::NoSymbol(place()))
}

/// The first instruction of which a frame fulfils this.
fn first(symbols: &Symbols, fulfils: impl Fn(&Frame) -> bool) -> Option<u32> {
    let lines = symbols.lines();
    let code = symbols.sections().iter().filter(|section| section.code);
    let mut addresses =
        code.flat_map(|section| (section.address..section.address + section.size).step_by(4));
    addresses.find(|pc| lines.frames(*pc).iter().any(&fulfils))
}

/// True if a file of the debug information is meant: its path may be cut from the left.
fn is_file(known: &str, named: &str) -> bool {
    known == named || known.strip_suffix(named).is_some_and(|rest| rest.ends_with('/'))
}

/// An instruction: address, function, line and text.
pub(super) fn instruction(pc: u32, word: Option<u32>, symbols: &Symbols) -> String {
    let mut told = format!("{pc:#08x}");
    // Writing into a string cannot fail.
    if let Some((name, offset)) = symbols.function(pc) {
        write!(told, " {name}+{offset:#x}").ok();
    }
    if let Some((file, line)) = symbols.line(pc) {
        write!(told, " ({file}:{line})").ok();
    }
    let text = match word {
        None => "no memory is there".into(),
        Some(word) => match lanai::disassemble(word) {
            Some(text) => text,
            None => format!("{word:#010x}, which is no instruction"),
        },
    };
    told + ": " + &text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_addresses_registers_and_names() {
        let symbols = Symbols::default();
        let mut registers = [0; 32];
        registers[4] = 0x3ff00;
        let find = |words| find(words, &symbols, &registers);
        assert_eq!(find("0x50000"), Ok(0x50000));
        assert_eq!(find("64"), Ok(64));
        assert_eq!(find("%sp+0x10"), Ok(0x3ff10));
        for (words, said) in [
            ("%x", "no register %x"),
            ("main", "neither a function nor an object 'main'"),
            ("send.c:x", "no number of a line"),
            ("send.c:1", "no instruction is of send.c:1"),
            ("%sp+x", "+x is no number"),
            ("0xffffffff+1", "no address"),
        ] {
            assert!(find(words).unwrap_err().to_string().contains(said), "{words}");
        }
        assert!(is_file("core/send.c", "send.c") && !is_file("core/send.c", "nd.c"));
    }
}
