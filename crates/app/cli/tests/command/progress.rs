//! The progress line of long runs, on a pseudo-terminal.

use crate::runner::{
    command, interrupt, interrupted_on_a_terminal, on_a_terminal, root, waited_for,
};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A run of minutes, whose end is known. The test interrupts it.
const LONG: &str = "-n 2 --until 10000ms builtin:pingpong 8 100000000";

/// Longer than a run without a progress line lasts.
const A_WHILE: Duration = Duration::from_secs(4);

/// Escape sequence that clears a terminal's line.
const CLEARS: &str = "\x1b[2K";

/// Lines on a terminal in the end, as far as this command moves on it.
fn stands(shown: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut rest = shown;
    while let Some(first) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix(CLEARS) {
            lines.last_mut().unwrap().clear();
            rest = behind;
            continue;
        }
        if let Some(behind) = rest.strip_prefix("\x1b[") {
            // Colours, and steps up over empty lines.
            let end = behind.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(behind.len() - 1);
            if behind[end..].starts_with('A') && lines.len() > 1 {
                lines.pop();
            }
            rest = &behind[end + 1..];
            continue;
        }
        match first {
            '\r' if !rest.starts_with("\r\n") => lines.last_mut().unwrap().clear(),
            '\r' => {}
            '\n' => lines.push(String::new()),
            other => lines.last_mut().unwrap().push(other),
        }
        rest = &rest[first.len_utf8()..];
    }
    lines
}

/// True for a complete progress line.
fn tells(line: &str) -> bool {
    [" simulated, ", " messages, ", " a second"].iter().all(|words| line.contains(words))
}

/// Lines of the output.
fn lines(shown: &str) -> impl Iterator<Item = &str> {
    shown.split(['\r', '\n'])
}

#[test]
fn a_long_run_tells_how_far_it_has_come_and_takes_the_line_away() {
    let mut run = command();
    run.arg("run").args(LONG.split_whitespace());
    let (shown, code) = interrupted_on_a_terminal(run, true, |shown| lines(shown).any(tells));
    assert_eq!(code, 130, "{shown}");
    let told: Vec<&str> = lines(&shown).filter(|line| tells(line)).collect();
    assert!(!told.is_empty(), "{shown}");
    assert!(
        told.iter().any(|line| line.contains("about ") && line.contains(" s left")),
        "{told:?}"
    );
    // Nothing of it is left, and the summary comes behind it.
    let left = stands(&shown);
    assert!(!left.iter().any(|line| line.contains(" a second")), "{left:#?}");
    let summary = shown.find("Simulated time").expect("the summary");
    assert!(shown.rfind(" a second").is_some_and(|last| last < summary), "{shown}");
    assert!(left.iter().any(|line| line.starts_with("Simulated time")), "{left:#?}");
}

/// Nobody knows whether a program has ended its line: progress is in the title of the window.
#[test]
fn nothing_is_written_into_a_line_that_a_program_has_not_ended() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("talks.c");
    let program = "#include <mpi.h>\n#include <stdio.h>\n#include <unistd.h>\n\
        int main(int argc, char **argv) { int rank; MPI_Init(&argc, &argv);\n\
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
        if (rank == 0) { printf(\"assembling ...\"); fflush(stdout); }\n\
        for (;;) MPI_Barrier(MPI_COMM_WORLD); }\n";
    std::fs::write(&source, program).unwrap();
    let mut run = command();
    run.args(["run", "-n", "2"]).arg(&source);
    let title = |shown: &str| shown.contains("\x1b]2;sunstar: ") && shown.contains(" a second\x07");
    let (shown, code) = interrupted_on_a_terminal(run, true, title);
    assert_eq!(code, 130, "{shown}");
    // The title comes and goes, and the line is as the program has left it.
    assert!(
        title(&shown) && shown.contains("\x1b[22;2t") && shown.contains("\x1b[23;2t"),
        "{shown}"
    );
    let visible = shown.split("\x1b]2;").map(|part| part.split_once('\x07').map_or(part, |p| p.1));
    let visible: String = visible.collect();
    assert!(!visible.contains(" a second") && !visible.contains(CLEARS), "{shown}");
}

#[test]
fn nothing_is_told_where_no_terminal_is_or_none_is_wanted() {
    let mut run = command();
    run.arg("run").args(LONG.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = run.spawn().unwrap();
    std::thread::sleep(A_WHILE);
    interrupt(&child);
    let told = waited_for(child);
    assert_eq!(told.code, 130, "{told:#?}");
    assert!(!told.stderr.contains(" a second") && !told.stdout.contains(" a second"), "{told:#?}");
    assert!(!told.stderr.contains('\x1b'), "{told:#?}");
    // Nothing is written that could be waited for.
    let run = command();
    let mut quiet = Command::new("timeout");
    quiet.arg("--signal=INT").arg(A_WHILE.as_secs().to_string()).arg(run.get_program());
    quiet.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    quiet.args(["run", "-q"]).args(LONG.split_whitespace()).current_dir(root());
    let (shown, code) = on_a_terminal(quiet, true);
    // timeout's own status for what it has ended.
    assert_eq!(code, 124, "{shown}");
    assert!(!shown.contains(" a second") && !shown.contains(CLEARS), "{shown}");
}

#[test]
fn reports_and_validations_tell_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let mut report = command();
    report.args(["report", "--largest", "0"]).arg(&page).args(LONG.split_whitespace());
    let (shown, _) = interrupted_on_a_terminal(report, true, |shown| lines(shown).any(tells));
    assert!(lines(&shown).any(tells), "{shown}");
    assert!(!stands(&shown).iter().any(|line| line.contains(" a second")), "{shown}");
    let mut validate = command();
    validate.args(["bench", "latency", "--machine", "ideal", "--machine", "example"]);
    validate.args(["--largest", "64"]);
    let (shown, code) = on_a_terminal(validate, true);
    assert_eq!(code, 0, "{shown}");
    let told = lines(&shown).any(|line| tells(line) && line.contains(" s left"));
    assert!(told && shown.contains("/2"), "{shown}");
    assert!(!stands(&shown).iter().any(|line| line.contains(" a second")), "{shown}");
}
