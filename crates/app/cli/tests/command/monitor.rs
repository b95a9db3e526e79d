//! `sunstar run --monitor`: a session with the card's processor, which changes nothing.

use crate::amata::faulty;
use crate::runner::{command, ended, root, unjudged, waited_for, Ended};
use std::io::Write;
use std::process::{Command, Stdio};

/// The compiler (Debian 12's) of the control program whose addresses the golden session has.
const COMPILER: &str = "14.0.6";

const PINGPONG: &str = "builtin:myrinet-pingpong 8 3";

/// A run on two nodes with commands on standard input.
fn typed(options: &str, commands: &str) -> Ended {
    let mut command = command();
    command.args(format!("run -q -n 2 -m amata {options} {PINGPONG}").split_whitespace());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    waited_for(child)
}

fn script() -> String {
    std::fs::read_to_string(root().join("tests/cli/monitor.mon")).unwrap()
}

#[test]
fn a_session_is_what_it_was() {
    let compiler = Command::new("clang-14").arg("--version").output().unwrap();
    if !String::from_utf8_lossy(&compiler.stdout).contains(COMPILER) {
        return eprintln!("the session is of another compiler's control program: not compared");
    }
    let session = typed("--monitor 1", &script());
    insta::with_settings!({
        snapshot_path => root().join("tests/golden"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!("monitor", session.went_well().stdout);
    });
}

/// Commands have the same answers from any source and with any options for speed; the run is the same as
/// without them.
#[test]
fn looking_changes_nothing() {
    let line = |options: &str| format!("run -q -n 2 -m amata --json - {options} {PINGPONG}");
    let result = |ended: &Ended| -> [serde_json::Value; 3] {
        assert_eq!(ended.code, 0, "{ended:#?}");
        let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        ["trace_hash", "simulated_ns", "nodes"].map(|key| report[key].clone())
    };
    let plain = result(&unjudged(&line("")));
    let answers = typed("--monitor 1", &script()).stdout;
    for options in ["", "-t 2", "--no-park"] {
        let monitored = format!("{options} --monitor 1:tests/cli/monitor.mon");
        let ended = unjudged(&line(&monitored));
        assert_eq!(result(&ended), plain, "{options}");
        assert_eq!(typed(&monitored, "").stdout, answers, "{options}");
    }
}

#[test]
fn a_run_goes_on_alone_or_ends_as_it_is_told() {
    // The commands end before the run, and a breakpoint is left.
    let ended = typed("--monitor 0", "break send_step\ncontinue\nstep 2");
    assert!(ended.went_well().stdout.contains("myrinet-pingpong of 8 bytes"), "{ended:#?}");
    typed("--monitor 0", "step 5\nquit\nstep")
        .said(137, &["node 0: the monitor ended the run", "_start"]);
    // The run ends before the commands.
    let ended = typed("--monitor 0", "continue\nstep\nstep");
    ended.said(0, &["the run has ended, and commands are left"]);
    let until = typed("--monitor 0 --until 1us", "break start_c\ncontinue\nstep 10\ncontinue\n");
    until.said(124, &["stopped at 1.000 us"]);
}

#[test]
fn commands_may_come_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let words = format!("run -q -n 2 -m amata --monitor 1:{} {PINGPONG}", pipe.display());
    let mut command = command();
    let command = command.args(words.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::fs::write(&pipe, "step 7\ndetach\n").unwrap();
    let ended = waited_for(child);
    assert!(ended.went_well().stdout.contains("lanai 1> step 7\n"), "{ended:#?}");
}

#[test]
fn what_it_cannot_look_at_is_refused_by_a_sentence() {
    let refused = |line: &str, words: &[&str]| {
        unjudged(&format!("run -n 2 {line}")).said(2, words);
    };
    refused(&format!("-m amata --monitor 2 {PINGPONG}"), &["--monitor 2", "nodes 0 to 1"]);
    refused(&format!("-m amata --monitor x {PINGPONG}"), &["NODE is the number of a node"]);
    refused(&format!("-m amata --monitor 0: {PINGPONG}"), &["FILE is the name of a file"]);
    refused(&format!("-m amata --monitor 0:/tmp {PINGPONG}"), &["cannot read", "a folder"]);
    refused(&format!("-m amata --monitor 0:nowhere {PINGPONG}"), &["nowhere", "No such file"]);
    refused("-m redstorm --monitor 0 builtin:pingpong", &["a LANai", "PowerPC 440", "--gdb"]);
    refused("-m ideal --monitor 0 builtin:pingpong", &["--monitor", "has none", "model ideal"]);
    refused(&format!("-m amata --gdb 0 {PINGPONG}"), &["PowerPC 440", "--monitor NODE"]);
    refused(&format!("-m amata --functions --json - {PINGPONG}"), &["--functions", "profile"]);
}

/// The processor stops before a fault ends the run, and the run ends with it whatever command follows.
#[test]
fn a_fault_is_shown_before_it_ends_the_run() {
    let folder = faulty(7);
    for last in ["continue", "step", "detach"] {
        let script = folder.path().join("script");
        let commands = format!("continue\nwhere\nstack\n{last}\n");
        std::fs::write(&script, commands).unwrap();
        let line = format!("run -q -n 2 -m amata --monitor 1:{} {PINGPONG}", script.display());
        let ended = ended(command().env("SUNSTAR_ROOT", folder.path()).args(line.split(' ')));
        ended.said(1, &["node 1: the control program", "guard region"]);
        for words in ["guard region at 0x040008", "the run ends with it", "#1 look_at_packet"] {
            assert!(ended.stdout.contains(words), "no '{words}' in {ended:#?}");
        }
    }
}
