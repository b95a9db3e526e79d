//! `sunstar machines`, and finding the machine that a command names.

use crate::args::MachineOptions;
use crate::terminal::Terminal;
use machine::parameters::Parameters;
use std::fmt::Write;
pub use sunstar::machines::*;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// The parameters of the machine that the user chose, with the user's overrides.
pub fn chosen(root: &Root, options: &MachineOptions) -> Result<Parameters, UsageError> {
    let mut parameters = load(root, &options.machine)?;
    for assignment in &options.overrides {
        parameters.set(assignment)?;
    }
    Ok(parameters)
}

/// `sunstar machines [NAME]`.
pub fn machines(root: &Root, name: Option<&str>) -> Result<u8, UsageError> {
    let terminal = Terminal::of_stdout();
    let text = match name {
        Some(name) => parameters(&load(root, name)?, &terminal),
        None => list(root, &terminal)?,
    };
    crate::terminal::write(&text)?;
    Ok(0)
}

/// Names of those of Sunstar's own machines that run Linux guests.
pub fn with_guests(root: &Root) -> Result<Vec<String>, UsageError> {
    let mut found = Vec::new();
    for name in names(root)? {
        if load(root, &name)?.model().guests {
            found.push(name);
        }
    }
    Ok(found)
}

fn list(root: &Root, terminal: &Terminal) -> Result<String, UsageError> {
    let mut text = String::new();
    for name in names(root)? {
        let machine = load(root, &name)?;
        let counts = roles(&machine);
        let line = format!(
            "{}  {}\n{:12}{}\n",
            terminal.bold(format!("{name:10}")),
            machine.doc(),
            "",
            terminal.dim(counts)
        );
        text.push_str(&line);
    }
    text.push_str("\nsunstar machines NAME shows every parameter with its unit and its source.\n");
    Ok(text)
}

/// `model ideal; parameters: 30 documented, 12 assumed`: roles without parameters are left out.
fn roles(machine: &Parameters) -> String {
    let counts = machine.roles();
    let present = counts.iter().filter(|(_, count)| *count > 0);
    let words = present.map(|(role, count)| format!("{count} {role}")).collect::<Vec<_>>();
    format!("model {}; parameters: {}", machine.model().name, words.join(", "))
}

/// Every parameter: key and value on a line, below it description and source.
fn parameters(machine: &Parameters, terminal: &Terminal) -> String {
    let mut text = format!(
        "{}  {}\n{}, {}\n",
        terminal.bold(machine.name()),
        machine.doc(),
        machine.file().display(),
        roles(machine)
    );
    let key_width = machine.iter().map(|parameter| parameter.key.len()).max().unwrap_or(0);
    let mut section = "";
    for parameter in machine.iter() {
        let found = parameter.key.split('.').next().unwrap_or_default();
        if found != section {
            text.push('\n');
            section = found;
        }
        let key = terminal.bold(format!("{:key_width$}", parameter.key));
        let value = &parameter.text;
        let role = parameter.role();
        let doc = wrapped(&parameter.doc, 4, terminal.width);
        let source = wrapped(&format!("source: {}", parameter.source), 4, terminal.width);
        // Writing into a string cannot fail.
        writeln!(text, "{key}  {value:>12}  {role}\n{doc}\n{}", terminal.dim(source))
            .expect("a string takes everything");
    }
    text
}

/// `text` in lines of at most `width` columns, each indented by `indent`.
pub fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a last line");
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{:indent$}{line}", "")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 2, 9), "  one two\n  three");
        assert_eq!(wrapped("averyveryverylongword", 2, 9), "  averyveryverylongword");
    }
}
