//! `sunstar doctor`: programs of others with their versions, or what to install; what the kernel allows, by
//! trying it; and whether runs work.

mod trials;

use crate::child;
use crate::interrupt;
use crate::terminal::{self, Terminal};
use std::fmt::Write;
use std::path::Path;
use std::process::Stdio;
use sunstar::compiler::{self, Language};
use sunstar::root::Root;
use sunstar::tools::{Tool, GCC, GROUPS};
use sunstar::usage_error::UsageError;
use trials::{Costs, TRIALS};

/// Columns of a name.
const NAME: usize = 26;

/// Runs `sunstar doctor`.
pub fn doctor() -> Result<u8, UsageError> {
    let terminal = Terminal::of_stdout();
    let root = Root::find();
    let mut page = Page { text: String::new(), terminal };
    let version = env!("CARGO_PKG_VERSION");
    let files = root.as_ref().map_or_else(
        |why| why.to_string(),
        |root| format!("its files are in {}", root.path().display()),
    );
    page.text = format!("sunstar {version}: {files}\n");
    for (title, tools) in GROUPS {
        page.heading(title);
        tools.iter().for_each(|tool| page.tool(tool));
        if let Some(root) = root.as_ref().ok().filter(|_| title.contains("Linux guests")) {
            let there = root.guests().join("current/linux").is_file();
            let no = "not built: sunstar guest --prepare builds it, where the above are there";
            page.line("the kernel itself", if there { "built" } else { no });
        }
    }
    page.heading(&format!("What the kernel of this computer allows ({})", trials::release()));
    let mut works = true;
    for trial in &TRIALS {
        let tried = (trial.attempt)();
        works &= tried.is_ok() || trial.costs != Costs::Runs;
        match tried {
            Ok(found) => page.line(trial.name, &found),
            Err(why) => {
                page.line(trial.name, "no");
                page.remark(&format!("{why}; without it {}", trial.without));
            }
        }
    }
    page.heading("Runs");
    match &root {
        Ok(root) => works &= runs(root, &mut page),
        Err(_) => works = false,
    }
    let verdict = if works { "Programs run here." } else { "Programs do not run here." };
    let _ = write!(page.text, "\n{}\n", page.terminal.bold(verdict));
    terminal::write(&page.text)?;
    Ok(u8::from(!works))
}

/// Tries a built-in program, and one with processes of its own if there is one or a compiler for it. True if
/// each works.
fn runs(root: &Root, page: &mut Page) -> bool {
    let hello = root.path().join("examples/hello.c");
    let compiles = compiler::shipped(root, Language::C, &hello).is_some() || GCC.found().is_some();
    let builtin = ["builtin:pingpong", "0"].map(Path::new);
    let mut works = run(root, page, "builtin:pingpong", &builtin);
    if compiles && hello.is_file() {
        works &= run(root, page, "a program in C", &[&hello]);
    } else {
        page.line("a program in C", "not tried, without a compiler");
    }
    works
}

fn run(root: &Root, page: &mut Page, name: &str, words: &[&Path]) -> bool {
    let mut command = child::command();
    command.args(["run", "-q", "-n", "2"]).args(words).env("SUNSTAR_ROOT", root.path());
    let output = command.stdin(Stdio::null()).output();
    interrupt::go_on();
    let (works, said) = match output {
        Ok(output) => {
            (output.status.success(), String::from_utf8_lossy(&output.stderr).trim().to_owned())
        }
        Err(why) => (false, why.to_string()),
    };
    page.line(name, if works { "works" } else { "does not work" });
    if !works {
        page.remark(&said);
    }
    works
}

/// Text of the answer.
struct Page {
    text: String,
    terminal: Terminal,
}

impl Page {
    fn heading(&mut self, title: &str) {
        let _ = write!(self.text, "\n{}\n", self.terminal.bold(title));
    }

    fn line(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "  {name:NAME$} {value}");
    }

    fn remark(&mut self, text: &str) {
        terminal::paragraph(&mut self.text, text, self.terminal.width);
    }

    fn tool(&mut self, tool: &Tool) {
        let Some(path) = tool.found() else {
            self.line(tool.name, "missing");
            let (purpose, packages) = (tool.purpose, tool.packages());
            return self.remark(&format!("{purpose}: {packages}"));
        };
        let version = tool.version(&path).unwrap_or_else(|| "there".into());
        let other = path.file_name().filter(|own| *own != tool.name);
        let by = other.map_or_else(String::new, |own| format!(" ({})", own.to_string_lossy()));
        self.line(tool.name, &format!("{version}{by}"));
    }
}
