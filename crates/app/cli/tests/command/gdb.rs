//! `sunstar run --gdb`, driven by a real gdb: it sees the firmware, and changes nothing.

use crate::firmware::{address, patch, VARIANT};
use crate::runner::{command, ended, hearing, root, run, sunstar, waited_for, Ended};
use crate::usage_errors::installation;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

mod offload;

/// A run that waits for gdb.
pub struct Waiting {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Words after `gdb-multiarch` in its invitation.
    words: Vec<String>,
    pub invitation: String,
}

/// Starts `sunstar run` with the words of `line`, until it says how to connect.
pub fn start(line: &str, root: &Path) -> Waiting {
    let version = Command::new("gdb-multiarch").arg("--version").output();
    assert!(version.is_ok(), "gdb-multiarch is missing: apt-get install gdb-multiarch");
    let mut command = command();
    command.env("SUNSTAR_ROOT", root).args(["run", "--judge"]).args(line.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Waiting::on(command)
}

impl Waiting {
    /// Starts a command with --gdb, whose outputs are pipes.
    pub fn on(mut command: Command) -> Waiting {
        let mut child = command.spawn().expect("the command starts");
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut invitation = String::new();
        stderr.read_line(&mut invitation).unwrap();
        let (_, words) = invitation.split_once("waits for: gdb-multiarch ").expect(&invitation);
        let (words, target) = words.trim().split_once(" -ex ").unwrap();
        let target = target.trim_matches('\'').to_string();
        let words = words.split(' ').map(String::from).chain(["-ex".into(), target]).collect();
        Waiting { child, stderr, words, invitation }
    }

    /// A connection that sends nothing.
    pub fn connected(&self) -> TcpStream {
        let port = self.words.last().unwrap().rsplit(':').next().unwrap();
        TcpStream::connect(("127.0.0.1", port.parse::<u16>().unwrap())).unwrap()
    }

    /// gdb with the words of the invitation and these commands.
    pub fn gdb(&self, script: &[&str]) -> Command {
        let mut gdb = Command::new("gdb-multiarch");
        hearing(&mut gdb);
        gdb.current_dir(root()).env("HOME", "/proc/none").stdin(Stdio::null());
        gdb.args(["-nx", "-batch", "-ex", "set pagination off", "-ex", "set confirm off"]);
        // However busy the machine.
        gdb.args(["-ex", "set remotetimeout 300"]);
        gdb.args(&self.words).args(script.iter().flat_map(|command| ["-ex", command]));
        gdb
    }

    /// The end of the run, without the invitation in its output.
    pub fn ended(mut self) -> Ended {
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            self.stderr.read_to_string(&mut said).unwrap();
            said
        });
        let ended = waited_for(self.child);
        Ended { stderr: said.join().unwrap(), ..ended }
    }
}

/// Debugs a run to the end of the script: what gdb printed, and the run.
fn debug(line: &str, script: &[&str]) -> (String, Ended) {
    debug_in(&root(), line, script)
}

fn debug_in(root: &Path, line: &str, script: &[&str]) -> (String, Ended) {
    let waiting = start(line, root);
    let gdb = ended(&mut waiting.gdb(script));
    assert!(!gdb.stderr.contains("Remote connection closed"), "{gdb:#?}");
    // What the target says itself comes on standard error.
    (gdb.stdout + &gdb.stderr, waiting.ended())
}

/// Text behind `before`, to the end of the line.
#[track_caller]
fn after<'a>(text: &'a str, before: &str) -> &'a str {
    let found = text.split_once(before).and_then(|(_, rest)| rest.lines().next());
    found.unwrap_or_else(|| panic!("no '{before}' in:\n{text}"))
}

/// The report of a run, without what differs from time to time.
fn report(folder: &Path, run: impl FnOnce(&str)) -> Value {
    let json = folder.join("run.json");
    run(&format!("--quiet --json {}", json.display()));
    let mut report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    report["wall_seconds"] = Value::Null;
    report["own_work_seconds"] = Value::Null;
    report
}

/// Two reports are equal; says where they are not.
#[track_caller]
pub fn assert_same(path: &str, one: &Value, other: &Value) {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) if ones.len() == others.len() => {
            ones.iter()
                .for_each(|(key, one)| assert_same(&format!("{path}/{key}"), one, &other[key]));
        }
        (Value::Array(ones), Value::Array(others)) if ones.len() == others.len() => {
            let pairs = ones.iter().zip(others).enumerate();
            pairs.for_each(|(at, (one, other))| assert_same(&format!("{path}/{at}"), one, other));
        }
        _ => assert_eq!(one, other, "{path}"),
    }
}

#[test]
fn gdb_sees_the_firmware_receive_a_message_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let script = [
        "printf \"first %#x\\n\", $pc",
        "break rx_take_all",
        "continue",
        "backtrace",
        "monitor time",
        "info registers pc lr msr cr ctr xer",
        "printf \"nid %d\\n\", *(unsigned *)0xFFE00108",
        "x/2xw &niccb",
        "printf \"beats %d\\n\", niccb.firmware_heartbeat",
        "stepi 3",
        "printf \"fourth %#x\\n\", $pc",
        "next",
        "finish",
        "delete",
        "watch niccb.firmware_heartbeat",
        "continue",
        "delete",
        "awatch mailboxes[1].command_write",
        "continue",
        "delete",
        "hbreak mainloop_turn",
        "break command_take_all if tail > 1",
        "continue",
        "printf \"tail %d\\n\", tail",
        "delete",
        "continue",
    ];
    for line in ["-n 2 --functions", "-n 2 --threads 2"] {
        let line = format!("{line} examples/pingpong.c 8");
        let mut seen = String::new();
        let debugged = report(folder.path(), |json| {
            let (text, ended) = debug(&format!("{json} --gdb 1 {line}"), &script);
            ended.went_well();
            seen = text;
        });
        let plain = report(folder.path(), |json| {
            run(&format!("{json} {line}")).went_well();
        });
        assert_same("", &debugged, &plain);
        let rx_take_all = address("rx_take_all");
        assert_eq!(after(&seen, "first "), "0xfffffffc");
        let stack = ["Breakpoint 1, rx_take_all (tail=1) at ./core/rx.c:", "in mainloop () at "];
        for frame in stack.into_iter().chain(["in main () at ./core/main.c:"]) {
            let frame = frame.trim_start_matches("in ");
            assert!(seen.contains(frame), "{frame}: {seen}");
        }
        assert!(after(&seen, " since power on, ").ends_with(" us after the launch"), "{seen}");
        let pc = after(&seen, "pc             ");
        assert!(pc.starts_with(&format!("{rx_take_all:#x}")), "{pc}");
        assert!(after(&seen, "lr             ").contains("<mainloop+"), "{seen}");
        assert!(after(&seen, "msr            ").starts_with("0x1030"), "ME, IS, DS");
        assert_eq!(after(&seen, "nid "), "1");
        let niccb = format!("{:#x}:\t", abi::seastar::NICCB_BASE);
        assert_eq!(after(&seen, &niccb), "0x00000001\t0x00000000", "version 1");
        assert!(after(&seen, "beats ").parse::<u32>().unwrap() > 100);
        assert_eq!(after(&seen, "fourth "), format!("{:#x}", rx_take_all + 12));
        let number = |before| after(&seen, before).parse::<u32>().unwrap();
        assert_eq!(number("Old value = ") + 1, number("New value = "));
        let mailbox = seen.split_once("watchpoint 3: mailboxes[1].command_write\n\nValue = ");
        assert!(mailbox.is_some(), "{seen}");
        assert!(number("\ntail ") > 1, "{seen}");
        assert!(seen.contains("exited normally"), "{seen}");
    }
}

/// The idle loop of a firmware is normally skipped; under gdb a breakpoint stops each iteration.
#[test]
fn a_breakpoint_in_the_polling_loop_is_hit_in_each_turn() {
    let script = [
        "hbreak mainloop",
        "continue",
        "delete",
        // Written once a turn.
        "watch niccb.firmware_heartbeat",
        "continue",
        "set $before = niccb.firmware_heartbeat",
        "set $cycles = $tbl",
        "ignore 2 1000",
        "continue",
        "printf \"turns %d in %d\\n\", niccb.firmware_heartbeat - $before, $tbl - $cycles",
        "monitor time",
        "kill",
    ];
    let (seen, ended) = debug("--quiet -n 2 --gdb 0 examples/hello.c", &script);
    ended.said(137, &["node 0", "gdb killed the run at ", "mainloop"]);
    let turns = after(&seen, "turns ");
    let (turns, cycles) = turns.split_once(" in ").unwrap();
    assert_eq!(turns, "1001", "{seen}");
    assert!(cycles.parse::<u32>().unwrap() > 20_000, "{seen}");
    // All the time the firmware had nothing to do.
    assert!(seen.contains("before the launch"), "{seen}");
}

/// Processor time of a process so far, in ticks of the system's clock (10 ms).
fn processor_time(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let (_, numbers) = stat.rsplit_once(')').unwrap();
    // utime, the fourteenth of all.
    numbers.split_whitespace().nth(11).unwrap().parse().unwrap()
}

#[test]
fn ctrl_c_stops_a_run_wherever_it_is() {
    // It would take hours.
    let waiting = start("--quiet -n 2 --gdb 0 builtin:pingpong 8 1000000000", &root());
    let script = ["continue", "backtrace", "stepi", "monitor time", "kill"];
    let gdb = waiting.gdb(&script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It needs no processor time while it is stopped at its first instruction.
    let before = processor_time(&waiting.child);
    while processor_time(&waiting.child) < before + 10 {
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: kill touches no memory; the child has not been waited for.
    unsafe { libc::kill(gdb.id() as libc::pid_t, libc::SIGINT) };
    let gdb = waited_for(gdb);
    assert!(gdb.stdout.contains("received signal SIGINT"), "{gdb:#?}");
    assert!(gdb.stderr.contains("since power on"), "{gdb:#?}");
    waiting.ended().said(137, &["node 0", "gdb killed the run"]);
}

#[test]
fn a_run_that_gdb_leaves_goes_on_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let line = "-n 2 builtin:pingpong 8 300";
    let plain = report(folder.path(), |json| {
        run(&format!("{json} {line}")).went_well();
    });
    let debugged = report(folder.path(), |json| {
        let script = ["break rx_take_all", "continue", "stepi 7", "detach"];
        let (seen, ended) = debug(&format!("{json} --gdb 0 {line}"), &script);
        assert!(seen.contains("detached"), "{seen}");
        ended.went_well();
    });
    assert_same("", &debugged, &plain);
}

/// Ctrl-C of the simulator works while gdb has stopped the processor.
#[test]
fn a_run_that_stands_still_can_be_interrupted() {
    let waiting = start("--quiet -n 2 --gdb 0 examples/hello.c", &root());
    let interrupt = format!("shell kill -INT {}", waiting.child.id());
    let script = ["break rx_take_all", "continue", &interrupt, "shell sleep 1", "continue"];
    ended(&mut waiting.gdb(&script));
    waiting.ended().said(130, &["interrupted"]);
}

#[test]
fn ranks_can_be_debugged_while_the_firmware_stands() {
    // SAFETY: it touches no memory.
    let all = unsafe { libc::geteuid() } == 0;
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if !all && scope.trim() > "0" {
        return eprintln!("left out: this system lets nobody but root attach to a process");
    }
    let waiting = start("--quiet -n 2 --gdb 1 examples/pingpong.c 8", &root());
    let ranks = format!("$(cat /proc/{}/task/*/children)", waiting.child.id());
    let attach = "gdb-multiarch -nx -batch -ex backtrace -p";
    let attach = format!("shell for rank in {ranks}; do {attach} $rank; done");
    let script = ["break rx_take_all", "continue", "backtrace 1", &attach, "delete", "continue"];
    let gdb = ended(&mut waiting.gdb(&script));
    waiting.ended().went_well();
    let text = gdb.stdout;
    assert!(text.contains("#0  rx_take_all (tail=1)"), "{text}");
    // One has sent, and waits for the answer as the other for the message.
    assert_eq!(text.matches("PMPI_Recv (").count(), 2, "{text}");
    assert!(text.contains("exited normally"), "{text}");
}

/// Runs with `words` in the place of the first instructions of the firmware's `event_post`.
fn with_patch(words: &[u32], script: &[&str]) -> (String, Ended) {
    let folder = tempfile::tempdir().unwrap();
    assert!(installation(folder.path()));
    let image = folder.path().join(VARIANT).join("seastar.img");
    patch(&image, address("event_post"), words);
    debug_in(folder.path(), "--quiet -n 2 --gdb 0 examples/hello.c", script)
}

#[test]
fn faults_of_the_firmware_stop_before_they_end_the_run() {
    let look = ["continue", "backtrace 1", "x/i $pc", "continue"];
    let (seen, ended) = with_patch(&[0], &look);
    assert!(seen.contains("received signal SIGILL, Illegal instruction"), "{seen}");
    assert!(seen.contains("=> ") && seen.contains("<event_post>:"), "{seen}");
    assert!(seen.contains("exited with code 01"), "{seen}");
    ended.said(1, &["node 0", "illegal instruction", "event_post+0x0"]);

    // li r9, 0; stw r9, 8(r9): not mapped.
    let (seen, ended) = with_patch(&[0x3920_0000, 0x9129_0008], &look);
    assert!(seen.contains("received signal SIGSEGV, Segmentation fault"), "{seen}");
    assert!(seen.contains("<event_post+4>:\tstw     r9,8(r9)"), "{seen}");
    ended.said(1, &["access to unmapped data of address 0x00000008", "event_post+0x4"]);

    // lis r9, 0xFFE0; stw r9, 0x500(r9): mapped, but nobody answers.
    let words = [0x3d20_ffe0, 0x9129_0500];
    let (seen, ended) = with_patch(&words, &["continue", "monitor fault", "continue"]);
    assert!(seen.contains("received signal SIGBUS"), "{seen}");
    assert!(after(&seen, "write of 4 bytes at ").starts_with("0xffe00500"), "{seen}");
    ended.said(1, &["event_post+0x4", "0xffe00500", "no device"]);
}

/// Jumping over an instruction that would fault does not hide a later fault.
#[test]
fn a_fault_that_was_gone_round_hides_no_other() {
    // Nothing is mapped there; then as if the firmware had panicked.
    let script =
        ["break command_take_all", "continue", "delete", "jump *8", "set $r3 = 31", "jump panic"];
    let (seen, ended) = debug("--quiet -n 2 --gdb 0 examples/hello.c", &script);
    assert!(seen.contains("received signal SIGSEGV"), "{seen}");
    assert!(seen.contains("received signal SIGABRT"), "{seen}");
    ended.said(1, &["node 0: the firmware stopped the node", "unknown reason 31"]);
}

/// gdb steps over a breakpoint with all breakpoints removed, and must not miss a watchpoint or a fault there.
#[test]
fn a_breakpoint_hides_neither_watchpoints_nor_faults() {
    let script = [
        "hbreak mainloop",
        "continue",
        "delete",
        "watch niccb.firmware_heartbeat",
        "continue",
        "break *($pc - 4)",
        "continue",
        "continue",
        "continue",
        "continue",
        "kill",
    ];
    let (seen, ended) = debug("--quiet -n 2 --gdb 0 examples/hello.c", &script);
    ended.said(137, &["gdb killed the run"]);
    let stops = seen.lines().filter(|line| {
        ["New value = ", "Breakpoint 3, "].iter().any(|start| line.starts_with(start))
    });
    let stops: Vec<_> = stops.map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(stops, ["New", "Breakpoint", "New", "Breakpoint", "New"], "{seen}");

    let (seen, ended) = with_patch(&[0], &["break event_post", "continue", "continue", "kill"]);
    assert!(seen.contains("Breakpoint 1, ") && seen.contains("received signal SIGILL"), "{seen}");
    ended.said(137, &["gdb killed the run", "event_post+0x0"]);
}

#[test]
fn what_gdb_writes_the_firmware_sees() {
    // As if the firmware had panicked: the register stops the node.
    let script = [
        "break command_take_all",
        "continue",
        "set var niccb.unused_4[0] = 7",
        "printf \"written %d\\n\", niccb.unused_4[0]",
        "set $r3 = 31",
        "printf \"r3 %d\\n\", $r3",
        "set $sprg5 = 0x1234",
        "printf \"sprg5 %#x\\n\", $sprg5",
        "jump panic",
    ];
    let (seen, ended) = debug("--quiet -n 2 --gdb 0 examples/hello.c", &script);
    assert_eq!(after(&seen, "written "), "7");
    assert_eq!(after(&seen, "r3 "), "31");
    assert_eq!(after(&seen, "sprg5 "), "0x1234");
    assert!(seen.contains("received signal SIGABRT"), "{seen}");
    // gdb ends with its script, and lets go.
    ended.said(1, &["node 0: the firmware stopped the node", "unknown reason 31"]);
}

#[test]
fn mistakes_are_one_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (gdb, words) in [
        ("2".into(), ["--gdb 2", "no such node", "nodes 0 to 1"]),
        (format!("0:{port}"), ["cannot wait for gdb", &port.to_string(), "in use"]),
    ] {
        sunstar(["run", "-n", "2", "--gdb", &gdb, "examples/hello.c"]).said(2, &words);
    }
    for gdb in ["x", "0:70000", "0:", "-1"] {
        let ended = sunstar(["run", &format!("--gdb={gdb}"), "examples/hello.c"]);
        assert!(ended.code == 2 && ended.stderr.contains("NODE[:PORT]"), "{ended:#?}");
    }
}

#[test]
fn a_run_that_nobody_connects_to_ends_with_ctrl_c() {
    let waiting = start("--quiet -n 2 --gdb 0 examples/hello.c", &root());
    // SAFETY: kill touches no memory; the child has not been waited for.
    unsafe { libc::kill(waiting.child.id() as libc::pid_t, libc::SIGINT) };
    waiting.ended().said(130, &["interrupted"]);
}
