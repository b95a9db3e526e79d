//! `sunstar machines`, and finding the machine that a command names.

use crate::args::MachineOptions;
use crate::root::Root;
use crate::terminal::Terminal;
use crate::usage_error::UsageError;
use machine::parameters::Parameters;
use models::MODELS;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The parameters of the machine that the user chose, with the user's overrides.
pub fn chosen(root: &Root, options: &MachineOptions) -> Result<Parameters, UsageError> {
    let mut parameters = load(root, &options.machine)?;
    for assignment in &options.overrides {
        parameters.set(assignment).map_err(|why| UsageError(why.to_string()))?;
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

/// Loads a machine. A name is one of Sunstar's machines; a path or a name with an extension is the user's own
/// file.
fn load(root: &Root, name: &str) -> Result<Parameters, UsageError> {
    read(root, &file(root, name)?)
}

/// Reads a machine's file, which may build on one of Sunstar's.
pub fn read(root: &Root, file: &Path) -> Result<Parameters, UsageError> {
    Parameters::load_among(&MODELS, file, &folder(root)).map_err(|why| UsageError(why.to_string()))
}

/// The file of a machine.
pub fn file(root: &Root, name: &str) -> Result<PathBuf, UsageError> {
    let path = Path::new(name);
    let own = path.extension().is_some() || path.components().count() > 1;
    let file = if own { path.to_owned() } else { folder(root).join(format!("{name}.toml")) };
    if !own && !file.is_file() {
        let known = names(root)?.join(", ");
        return Err(UsageError(format!(
            "there is no machine {name}; there is {known}, or name a file of your own (.toml)"
        )));
    }
    Ok(file)
}

fn folder(root: &Root) -> PathBuf {
    root.path().join("machines")
}

/// Names of Sunstar's own machines, in alphabetical order.
fn names(root: &Root) -> Result<Vec<String>, UsageError> {
    let folder = folder(root);
    let entries =
        std::fs::read_dir(&folder).map_err(|why| UsageError::with_file("read", &folder, why))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
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
