//! Pages of every command that writes one and of every machine, each made once for all tests.

use crate::golden::machines_with_programs;
use crate::recomputed::programs;
use crate::runner::{command, ended};
use scraper::Html;
use std::path::Path;
use std::sync::OnceLock;

/// Stands for the file of the page in a line.
pub const PAGE: &str = "PAGE";

/// A page of each command. The walk over all commands holds them against the help.
const COMMANDS: [&str; 7] = [
    "report PAGE --largest 2048",
    "report PAGE --largest 64 -n 27 builtin:halo 4096 2",
    "queues --page PAGE -m alpu -n 4 builtin:traffic 20000 2",
    "bench queues --page PAGE -m alpu",
    "bench rdma --page PAGE --largest 256",
    "bench suite --page PAGE -n 4 --largest 1024 --flood 200 --only pingpong --only pairs \
     --only put-get --original rate=examples/hello.c",
    #[cfg(kernel)]
    "bench dp --page PAGE",
    #[cfg(not(kernel))]
    "report PAGE --largest 0",
];

/// A page, and the line that has made it.
pub struct Kind {
    pub line: String,
    pub text: String,
}

impl Kind {
    pub fn page(&self) -> Html {
        Html::parse_document(&self.text)
    }
}

/// Makes a page in a folder, and holds what is said against what is wanted: one line.
pub fn made(line: &str, folder: &Path) -> String {
    let file = folder.join("page.html");
    let name = file.to_str().unwrap();
    let words = line.split_whitespace().map(|word| if word == PAGE { name } else { word });
    ended(command().args(words)).wrote(&file);
    std::fs::read_to_string(&file).unwrap()
}

/// All pages.
pub fn all_kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let machines = machines_with_programs().into_iter().map(|machine| {
            let program = programs(machine.model())[1];
            format!("report PAGE --largest 0 -m {} {program}", machine.name())
        });
        let lines: Vec<String> = COMMANDS.map(String::from).into_iter().chain(machines).collect();
        let make = |line: String| {
            let folder = tempfile::tempdir().unwrap();
            Kind { text: made(&line, folder.path()), line }
        };
        lines.into_iter().map(make).collect()
    })
}

/// Words before the first option or page of each line: the commands that write a page.
pub fn commands_with_pages() -> Vec<String> {
    let verbs = |line: &str| {
        let words = line.split(' ').take_while(|word| *word != PAGE && !word.starts_with('-'));
        words.collect::<Vec<_>>().join(" ")
    };
    COMMANDS.iter().map(|line| verbs(line)).collect()
}
