//! Abilities of the reader's terminal.

use anstyle::{AnsiColor, Style};
use machine::console;
use std::fmt;
use std::io::IsTerminal;
use sunstar::usage_error::UsageError;
use terminal_size::Width;

/// Format of texts for people.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Escape sequences for colours and weights.
    pub colour: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

impl Terminal {
    /// Format for standard output. Colours only on a terminal, and not if $NO_COLOR is set.
    pub fn of_stdout() -> Terminal {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = std::io::stdout().is_terminal();
        Terminal {
            colour: terminal && !dumb && !set("NO_COLOR"),
            unicode: locale_is_unicode(),
            width: if terminal { columns().clamp(60, 100) } else { 80 },
        }
    }

    /// `text`, bold if that can be shown.
    pub fn bold<T: fmt::Display>(&self, text: T) -> Styled<T> {
        self.styled(text, Style::new().bold())
    }
    /// `text`, less visible if that can be shown.
    pub fn dim<T: fmt::Display>(&self, text: T) -> Styled<T> {
        self.styled(text, Style::new().dimmed())
    }
    fn styled<T>(&self, text: T, style: Style) -> Styled<T> {
        Styled { text, style: if self.colour { style } else { Style::new() } }
    }
    /// `text`, as the filling of a bar.
    pub fn bar<T: fmt::Display>(&self, text: T) -> Styled<T> {
        self.styled(text, AnsiColor::Cyan.on_default())
    }
}

/// Text with an escape sequence around it, or without.
pub struct Styled<T> {
    text: T,
    style: Style,
}

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Styled { text, style } = self;
        match style.is_plain() {
            true => text.fmt(f),
            false => write!(f, "{style}{text}{style:#}"),
        }
    }
}

fn locale_is_unicode() -> bool {
    let first = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    first.is_some_and(|value| value.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

/// Columns of the terminal behind standard output.
fn columns() -> usize {
    match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((Width(columns), _)) if columns > 0 => columns.into(),
        _ => 80,
    }
}

/// Prints text. A reader that has gone away (`| head`) is no error.
pub fn write(text: &str) -> Result<(), UsageError> {
    Ok(console::print(text)?)
}

/// Words in lines of at most `width` columns, indented.
pub fn paragraph(out: &mut String, text: &str, width: usize) {
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
