//! Completion: the shells' scripts ask the command itself what may stand at the cursor, so that names of
//! machines, of parameters and of faults are those that there are.
//!
//! ```text
//! sunstar completions SHELL ─► script ─► sunstar complete -- WORD... (the last one up to the cursor)
//!                                          position: what the words before it make of it
//!                                          offer: names of that kind ─► a line each, or `:files TEXT`
//! ```

mod offer;
mod position;

use crate::args;
use crate::terminal;
use std::ffi::OsString;
use sunstar::usage_error::UsageError;

/// Scripts of shells that ask; other shells have scripts with options alone.
const SCRIPTS: [(clap_complete::Shell, &str); 3] = [
    (clap_complete::Shell::Bash, include_str!("complete/sunstar.bash")),
    (clap_complete::Shell::Zsh, include_str!("complete/sunstar.zsh")),
    (clap_complete::Shell::Fish, include_str!("complete/sunstar.fish")),
];

/// Prints the completion script of a shell.
pub fn script(shell: clap_complete::Shell) -> Result<u8, UsageError> {
    let own = SCRIPTS.iter().find(|(of, _)| *of == shell).map(|(_, script)| script.to_string());
    let script = own.unwrap_or_else(|| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut args::command(), "sunstar", &mut script);
        String::from_utf8_lossy(&script).into_owned()
    });
    terminal::write(&script)?;
    Ok(0)
}

/// Prints what may stand in the place of the last word.
pub fn complete(words: &[OsString]) -> Result<u8, UsageError> {
    let words: Vec<String> = args::with_verb(words.iter().cloned())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let Some((last, before)) = words.split_last().filter(|(_, before)| !before.is_empty()) else {
        return Ok(0);
    };
    let mut all = args::command();
    all.build();
    let place = position::Place::of(&all, before, last);
    let text: String = offer::lines(&place).iter().map(|line| format!("{line}\n")).collect();
    terminal::write(&text)?;
    Ok(0)
}
