//! `sunstar faults`.

use crate::mistake::Mistake;
use crate::terminal::{self, Terminal};
use machine::faults::{Form, Kind, KINDS};
use std::fmt::Write;

/// Lists the kinds of faults whose name contains `name`, with what is to be expected.
pub fn list(name: Option<&str>) -> Result<u8, Mistake> {
    let terminal = Terminal::of_stdout();
    let wanted: Vec<&Kind> =
        KINDS.iter().filter(|kind| name.is_none_or(|name| kind.name.contains(name))).collect();
    if wanted.is_empty() {
        let name = name.unwrap_or_default();
        return Err(Mistake(format!("there is no fault like {name}; `sunstar faults` lists all")));
    }
    let mut out = String::new();
    for kind in wanted {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{}", terminal.bold(kind.form()));
        paragraph(&mut out, kind.what, terminal.width);
        if let Form::Number { least, most } = kind.value {
            paragraph(&mut out, &format!("NUMBER is {least} to {most}."), terminal.width);
        }
        paragraph(&mut out, &format!("Expected: {}", kind.expected), terminal.width);
        let _ = writeln!(out, "    {}", terminal.dim(format!("--fault {}", kind.example)));
    }
    if name.is_none() {
        out.push('\n');
        let how = "SHARE is a chance from 0 to 1 for each packet, bit or interrupt, by `--seed`, \
                   or #NUMBER for one of them, from 1 on each link or node. NODE is a node's id; \
                   behind link.* it stands for the links that leave it, and NODE-NODE for the \
                   link between two neighbours, both ways. Times have a unit and count from the \
                   launch of the program: @TIME is from then on, @TIME..TIME from one to the \
                   other. Without a node it happens everywhere, without a time always.";
        paragraph(&mut out, how, terminal.width);
    }
    terminal::write(&out)?;
    Ok(0)
}

/// Words in lines of at most `width` columns, indented.
fn paragraph(out: &mut String, text: &str, width: usize) {
    let mut line = String::from("   ");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(&line);
            out.push('\n');
            line = String::from("   ");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}
