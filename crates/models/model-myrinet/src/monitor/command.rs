//! Parser of the monitor's lines.

use super::mistake::{usage, Mistake};

/// Words that say where: an address, a function, a line. They mean something with the symbols alone.
pub(super) type Words = String;

/// A line's meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// An empty line, or a comment.
    Nothing,
    Help,
    /// Stops there, or lists where it stops.
    Break(Option<Words>),
    /// Takes a breakpoint away by its number, or all.
    Delete(Option<u32>),
    /// Executes so many instructions.
    Step(u64),
    Continue,
    Where,
    Registers,
    Card,
    /// So many bytes of memory, from there on.
    Memory(Words, u32),
    /// So many instructions, from there or from where it stands on.
    Disassemble(Option<Words>, u32),
    Stack,
    Time,
    Machine,
    Counters,
    Detach,
    Quit,
}

/// Most bytes of memory, and instructions, that one command prints.
const MEMORY_MAX: u32 = 4096;
const INSTRUCTIONS_MAX: u32 = 1024;
/// Number of bytes, and of instructions, printed if none is given.
const MEMORY: u32 = 64;
const INSTRUCTIONS: u32 = 8;

/// All commands, with what stands behind each, and what it does.
pub(super) const COMMANDS: [(&str, &str, &str); 16] = [
    ("break", "[PLACE]", "stop before the instruction there; without PLACE: list the breakpoints"),
    ("card", "", "special registers of the card"),
    ("continue", "", "go on to the next breakpoint"),
    ("counters", "", "instructions, cycles, and what they waited for, since reset"),
    ("delete", "[NUMBER]", "take a breakpoint away, or all"),
    ("detach", "", "let the run go on without the monitor"),
    ("disassemble", "[PLACE [COUNT]]", "instructions from PLACE, or from here, on (8)"),
    ("help", "", "this list"),
    ("machine", "", "what is simulated, and which node this is"),
    ("memory", "PLACE [BYTES]", "bytes of the card's memory (64)"),
    ("quit", "", "end the run"),
    ("registers", "", "registers and flags of the processor"),
    ("stack", "", "the functions that are open, the innermost first"),
    ("step", "[COUNT]", "execute one instruction, or COUNT"),
    ("time", "", "simulated time, since power on and since the launch"),
    ("where", "", "where it stands"),
];

/// Explanation of PLACE.
pub(super) const PLACES: &str = "\
PLACE is an address (0x50000), a register (%sp), a function of the control program (send_step),
FILE:LINE (send.c:28), or one of these and +OFFSET.
";

/// Takes a line apart.
pub(super) fn parse(line: &str) -> Result<Command, Mistake> {
    let mut words = line.split_whitespace();
    let Some(first) = words.next().filter(|word| !word.starts_with('#')) else {
        return Ok(Command::Nothing);
    };
    let name = name(first)?;
    let mut rest: Vec<&str> = words.collect();
    let most = usage(name).split(' ').filter(|word| !word.is_empty()).count();
    if rest.len() > most {
        let rest = rest[most..].join(" ");
        return Err(match most {
            0 => Mistake::TakesNothing { name, rest },
            _ => Mistake::TooMuch { name, rest },
        });
    }
    let count = |word: Option<&str>, default: u32, most: u32| match word {
        None => Ok(default),
        Some(word) => number(word)
            .filter(|count| (1..=most).contains(count))
            .ok_or_else(|| Mistake::Count { name, word: word.to_owned(), most }),
    };
    let mut take = || if rest.is_empty() { None } else { Some(rest.remove(0)) };
    Ok(match name {
        "break" => Command::Break(take().map(str::to_owned)),
        "card" => Command::Card,
        "continue" => Command::Continue,
        "counters" => Command::Counters,
        "delete" => Command::Delete(match take() {
            None => None,
            Some(word) => {
                let number = word.parse().ok();
                Some(number.ok_or_else(|| Mistake::NoNumber(word.to_owned()))?)
            }
        }),
        "detach" => Command::Detach,
        "disassemble" => {
            let place = take().map(str::to_owned);
            Command::Disassemble(place, count(take(), INSTRUCTIONS, INSTRUCTIONS_MAX)?)
        }
        "help" => Command::Help,
        "machine" => Command::Machine,
        "memory" => match take() {
            Some(place) => Command::Memory(place.to_owned(), count(take(), MEMORY, MEMORY_MAX)?),
            None => return Err(Mistake::NoPlace),
        },
        "quit" => Command::Quit,
        "registers" => Command::Registers,
        "stack" => Command::Stack,
        "step" => Command::Step(count(take(), 1, u32::MAX)?.into()),
        "time" => Command::Time,
        _ => Command::Where,
    })
}

/// The command that a word means: its name, or a beginning that no other has.
fn name(word: &str) -> Result<&'static str, Mistake> {
    let names = || COMMANDS.iter().map(|(name, ..)| *name);
    if let Some(name) = names().find(|name| *name == word) {
        return Ok(name);
    }
    let found: Vec<&'static str> = names().filter(|name| name.starts_with(word)).collect();
    match found[..] {
        [name] => Ok(name),
        [] => Err(Mistake::NoCommand(word.to_owned())),
        _ => Err(Mistake::Ambiguous { word: word.to_owned(), names: found }),
    }
}

/// A number: decimal, or hexadecimal behind 0x.
pub(super) fn number(word: &str) -> Option<u32> {
    match word.strip_prefix("0x") {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_may_be_short_and_mistakes_are_sentences() {
        assert_eq!([parse(""), parse("# step")], [Ok(Command::Nothing), Ok(Command::Nothing)]);
        assert_eq!(parse(" b  send_step "), Ok(Command::Break(Some("send_step".into()))));
        let told = |line: &str| parse(line).map_err(|why| why.to_string());
        assert_eq!(told("s"), Err("'s' may be stack, step".into()));
        assert_eq!(parse("step 0x10"), Ok(Command::Step(16)));
        assert_eq!(told("m %sp 16"), Err("'m' may be machine, memory".into()));
        assert_eq!(parse("mem %sp 16"), Ok(Command::Memory("%sp".into(), 16)));
        assert_eq!(parse("memory %sp"), Ok(Command::Memory("%sp".into(), 64)));
        assert_eq!(parse("disassemble"), Ok(Command::Disassemble(None, 8)));
        assert_eq!(parse("delete"), Ok(Command::Delete(None)));
        for (line, words) in [
            ("print x", "there is no command 'print'"),
            ("step 0", "1 to 4294967295"),
            ("step x", "1 to 4294967295"),
            ("memory", "which PLACE"),
            ("memory 0 4097", "1 to 4096"),
            ("delete x", "number of a breakpoint"),
            ("continue 3", "takes nothing"),
            ("break a b", "'b' is too much; it is: break [PLACE]"),
        ] {
            assert!(told(line).unwrap_err().contains(words), "{line}: {:?}", told(line));
        }
    }

    #[test]
    fn fuzz_monitor_lines() {
        let seeds = ["break receive.c:58", "memory 0x50000 64", "disassemble send_step+8 16"];
        let words = COMMANDS.map(|(name, ..)| name).into_iter().chain(["0x", "%sp", "+", ":", " "]);
        let seeds = seeds.into_iter().fold(fuzz::Target::new("lines"), |t, seed| t.seed(seed));
        seeds.words(words).run(|bytes| {
            let line = String::from_utf8_lossy(bytes);
            if let Err(mistake) = parse(&line) {
                assert!(!mistake.to_string().is_empty());
            }
        });
    }
}
