//! Linux guests: a program alone, and as hosts of machines. Tests that need the guests' kernel are skipped
//! without it.

mod alike;
mod files;

use crate::runner::{command, ended, root, sunstar, Ended};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// A run with JSON output; standard output has only the program's own.
fn run(words: &[&str]) -> Ended {
    ended(command().arg("run").args(words))
}

/// The trace hash of a run, and the output of its programs.
pub fn hash_and_output(threads: &str, words: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("json");
    let options = ["-q", "-t", threads, "--json", json.to_str().unwrap()];
    let run = run(&[&options, words].concat());
    let text = std::fs::read_to_string(&json).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hash = json["trace_hash"].as_str().unwrap().to_string();
    (hash, run.went_well().stdout.clone())
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_program_alone_ends_as_it_ends() {
    let alone = sunstar(["guest", "sh", "-c", "hostname; exit 7"]);
    assert_eq!((alone.code, alone.stdout.as_str()), (7, "node0\n"), "{alone:?}");
    let date = sunstar(["guest", "--date", "2001-09-09T01:46:40", "date", "+%s"]);
    // The program begins a second after the boot.
    assert_eq!(date.went_well().stdout, "1000000001\n");
}

/// Programs load libraries by the same system calls, whatever processor this computer has.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn loaders_know_the_same_processor_on_all_computers() {
    let searched = "/lib64/ld-linux-x86-64.so.2 --help | grep searched";
    let loader = sunstar(["guest", "sh", "-c", searched]);
    let kinds = loader.stdout.lines().map(|line| line.split_whitespace().next().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), ["x86-64-v2", "x86_64", "tls", "x86_64"], "{loader:?}");
    let own = [
        "guest",
        "-x",
        "GLIBC_TUNABLES=glibc.malloc.perturb=1",
        "sh",
        "-c",
        "echo $GLIBC_TUNABLES",
    ];
    let told = sunstar(own);
    assert_eq!(told.went_well().stdout, "glibc.malloc.perturb=1\n");
}

/// A guest reads the card's own configuration space over the bus; the machine's own workloads are unchanged.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_guest_finds_the_myrinet_card() {
    let words = ["-q", "-m", "amata", "-n", "2", "lspci", "-nn"];
    let found = run(&words);
    let line = "00:00.0 Network controller [0280]: MYRICOM Inc. Myrinet 2000 Scalable Cluster \
        Interconnect [14c1:8043]";
    assert_eq!(found.went_well().stdout.matches(line).count(), 2, "{found:?}");
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn guests_ping_one_another_alike_on_any_number_of_threads() {
    let words = [
        "-m", "ethernet", "-n", "1", "--server", "sleep", "1d", ":", "-n", "1", "ping", "-c", "5",
        "-i", "0.01", "node0",
    ];
    let runs = ["1", "2", "1"].map(|threads| hash_and_output(threads, &words));
    assert!(runs[0].1.contains("5 packets transmitted, 5 received, 0% packet loss"), "{runs:?}");
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

/// Programs of Debian's measure the network between two guests, alike on one thread and on two. Packets take
/// a millisecond, because these programs run for a second at least.
fn measured(machine: &str) {
    let same = |server: &str, client: &str, expected: &str| {
        let [server, client] = [server, &format!("sleep 0.05; {client}")]
            .map(|program| format!("exec 2>&1; {program}"));
        let words =
            ["-m", machine, "--set", "guest.packet=1 ms", "-n", "1", "--server", "sh", "-c"];
        let words = [&words[..], &[&server, ":", "-n", "1", "sh", "-c", &client]].concat();
        let one = hash_and_output("1", &words);
        assert!(one.1.contains(expected), "{one:?}");
        assert_eq!(hash_and_output("2", &words), one);
    };
    same("exec sleep 1d", "ping -c 5 -i 0.01 node0", "5 received, 0% packet loss");
    same("qperf", "qperf -t 1 node0 tcp_lat", "latency  =  2.0");
    same("NPtcp -u 4", "NPtcp -h node0 -n 10 -u 4", "  3:       4 bytes     10 times -->");
    let sockperf = "sockperf ping-pong -i 10.0.0.1 --tcp --no-rdtsc -t 1";
    let expected = "[Total Run] RunTime=1.00";
    same("sockperf server -i 10.0.0.1 --tcp --no-rdtsc", sockperf, expected);
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn debians_programs_measure_fast_ethernet() {
    measured("ethernet");
}

#[test]
#[cfg_attr(kernel, ignore = "half a minute: make soak")]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn debians_programs_measure_myrinet() {
    measured("amata");
}

/// A command with this standard input.
fn with_input(mut command: Command, text: &str) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    std::fs::write(&file, text).unwrap();
    command.stdin(Stdio::from(std::fs::File::open(file).unwrap()));
    ended(&mut command)
}

/// A shell on a node takes commands from a pipe or a file; each run is the same.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_shell_opens_on_a_node() {
    let text = "hostname; lspci -nn; read word; echo $word; date +%s.%N; ping -qc1 node0
        hello
        exit 4
        echo wrong";
    let shell = || {
        let mut command = command();
        command.args(["guest", "--machine", "amata", "1"]);
        with_input(command, text)
    };
    let told = shell();
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert_eq!((told.code, lines[0], lines[2]), (4, "node1", "hello"), "{told:?}");
    assert!(lines[1].ends_with("[14c1:8043]"), "{told:?}");
    assert!(told.stdout.contains("1 received, 0% packet loss"), "{told:?}");
    assert_eq!(shell().stdout, told.stdout);
    // Other programs, alone and on the first node of a run.
    let program = |words: &[&str]| {
        let mut command = command();
        command.args(words);
        with_input(command, "one\ntwo\n").went_well().stdout.clone()
    };
    assert_eq!(program(&["guest", "cat", "-n"]), "     1\tone\n     2\ttwo\n");
    assert_eq!(program(&["guest", "-m", "ethernet", "0", "wc", "-l"]), "2\n");
    assert_eq!(program(&["run", "-q", "-m", "ethernet", "-n", "2", "wc", "-l"]), "2\n0\n");
}

/// A shell at a terminal of this computer; each answer is waited for before more is typed, as by a person.
struct Session {
    child: std::process::Child,
    told: String,
}

impl Session {
    fn open(words: &str) -> Session {
        let program = env!("CARGO_BIN_EXE_sunstar");
        let mut command = Command::new("timeout");
        command.args(["100", "script", "-qec", &format!("{program} {words}"), "/dev/null"]);
        command.env("SUNSTAR_ROOT", root());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Session { child, told: String::new() }
    }
    fn until(&mut self, text: &str) {
        let mut byte = [0];
        while !self.told.ends_with(text) {
            let read = self.child.stdout.as_mut().unwrap().read(&mut byte).unwrap();
            assert!(read == 1, "{:?} does not end with {text:?}", self.told);
            self.told.push(byte[0].into());
        }
    }
    fn put(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }
}

/// The guest's terminal: a line is erased and ended there, keys send signals, and one key leaves.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_terminal_is_the_guests_terminal() {
    let mut shell = Session::open("guest --machine ethernet 0 sh");
    for (typed, answer) in [
        ("", "# "),
        ("tty\n", "/dev/pts/0\r\n# "),
        ("cat\n", "cat\r\n"),
        ("wrong\x7f\x7f\x7f\x7f\x7fright\n", "right\r\nright\r\n"),
        ("\x04", "# "),
        ("sleep 1d\n", "sleep 1d\r\n"),
        ("\x03", "# "),
        ("ping -c1 -q node1\n", " 0% packet loss, time 0ms\r\n"),
        ("", "# "),
    ] {
        shell.put(typed);
        shell.until(answer);
    }
    shell.put("\x1d");
    assert_eq!(shell.child.wait().unwrap().code(), Some(129), "{}", shell.told);
}

#[test]
fn a_node_is_wanted_that_is_there_and_has_a_guest() {
    let guest = |words: &[&str]| ended(command().arg("guest").args(words));
    guest(&["-m", "amata", "sh"]).said(2, &["sh: with --machine the number of a node stands"]);
    guest(&["-m", "amata", "--nodes", "2", "2"]).said(2, &["there is no node 2: --nodes is 2"]);
    guest(&["-m", "forth", "0"]).said(2, &["machine forth runs no Linux guests; these do: amata,"]);
}

/// Charges, their parameters, and a thousand times what they are raised by, in ns; 1 MiB is copied.
const CHARGES: [(&str, &str, &str, &str, f64); 8] = [
    ("system_call", "linux.kernel_entry", "370 ns", "1370 ns", 1e6),
    ("system_call", "linux.kernel_exit", "125 ns", "1125 ns", 1e6),
    ("clock", "rank.clock_read", "50 ns", "1050 ns", 1e6),
    ("interrupt", "linux.interrupt_entry", "15 us", "25 us", 1e7),
    ("interrupt", "linux.interrupt_exit", "400 ns", "10400 ns", 1e7),
    ("switch", "guest.context_switch", "2 us", "12 us", 1e7),
    ("packet", "guest.packet", "9 us", "19 us", 1e7),
    ("copy", "host.copy_rate", "200 MB/s", "100 MB/s", (1 << 20) as f64 * 5.0),
];

/// Times in ns of a thousand of each of the kernel's primitives, with this parameter raised.
fn charges(raised: Option<&str>) -> Vec<(String, f64)> {
    let set = CHARGES.map(|(_, parameter, before, after, _)| {
        format!("--set={parameter}={}", if raised == Some(parameter) { after } else { before })
    });
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let words = [&["-m", "ethernet"], &set[..], &["tests/guests/charges.c"]].concat();
    let (_, told) = hash_and_output("1", &words);
    let line = |line: &str| {
        let (name, time) = line.split_once(' ').unwrap();
        (name.to_owned(), time.parse().unwrap())
    };
    told.lines().map(line).collect()
}

/// Each charge is the machine file's: a primitive that costs more makes what uses it longer by that, each
/// time. Ticks of the kernel's come beside it, or fall together with the end of a pause: some in a hundred.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn charges_are_the_machine_files() {
    let before = charges(None);
    for (name, parameter, _, _, more) in CHARGES {
        let of = |all: &[(String, f64)]| all.iter().find(|(own, _)| own == name).unwrap().1;
        let grown = of(&charges(Some(parameter))) - of(&before);
        assert!((grown / more - 1.0).abs() < 0.1, "{parameter}: {grown} ns, not {more}");
    }
}

/// The processor's time-stamp counter tells a guest's time as well, and costs as much.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn the_time_stamp_counter_is_the_guests() {
    let words = ["-m", "ethernet", "--set=rank.clock_read=70 ns", "tests/guests/counter.c"];
    let one = hash_and_output("1", &words);
    assert!(one.1.starts_with("70 ns a reading, "), "{}", one.1);
    assert_eq!(hash_and_output("1", &words), one);
}

/// Builds the example's driver and program.
pub fn build_bell(folder: &Path) {
    let mut make = Command::new("make");
    make.arg("-C").arg(root().join("examples/guests/bell"));
    make.arg(format!("OUT={}", folder.display()));
    ended(&mut make).went_well();
}

/// Round trips between two nodes by the example's driver; interrupts are messages, or use the line.
fn rounds(folder: &Path, threads: &str, messages: bool, times: u32) -> (String, String) {
    let at = folder.display();
    let load = format!("insmod {at}/bell.ko messages={}", u32::from(messages));
    let first = format!("{load}; sleep 0.1; {at}/rounds 0 {times}");
    let second = format!("{load}; {at}/rounds 1 {times}");
    let words = ["-m", "bell", "-n", "1", "sh", "-c", &first, ":", "-n", "1", "sh", "-c", &second];
    let (hash, output) = hash_and_output(threads, &words);
    assert!(output.starts_with(&format!("{times} round trips, ")), "{output}");
    (hash, output)
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_driver_of_ones_own_has_dma_and_both_kinds_of_interrupts() {
    let folder = tempfile::tempdir().unwrap();
    build_bell(folder.path());
    let one = rounds(folder.path(), "1", true, 50);
    assert_eq!(rounds(folder.path(), "2", true, 50), one);
    // Reading what interrupts and taking it back costs two accesses.
    assert_ne!(rounds(folder.path(), "1", false, 50).1, one.1);
}

#[test]
#[ignore = "long: 12,000 round trips"]
fn two_thousand_round_trips_have_one_hash() {
    let folder = tempfile::tempdir().unwrap();
    build_bell(folder.path());
    let one = rounds(folder.path(), "1", true, 2000);
    for threads in ["1", "2", "1", "2"] {
        assert_eq!(rounds(folder.path(), threads, true, 2000), one);
    }
}

/// An installed command finds what it builds the guests' kernel of.
#[test]
fn an_installed_command_can_build_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let mut make = Command::new("make");
    make.args(["-o", "build", "install", "PREFIX=/usr"]).current_dir(root());
    make.arg(format!("sunstar={}", env!("CARGO_BIN_EXE_sunstar")));
    make.arg(format!("DESTDIR={}", folder.path().display()));
    ended(&mut make).went_well();
    let mut installed = Command::new(folder.path().join("usr/bin/sunstar"));
    installed.args(["guest", "true"]).env_remove("SUNSTAR_ROOT").env("HOME", folder.path());
    ended(&mut installed).said(2, &["there is no kernel for guests; build it"]);
    // Without apt-get it has a sentence, and not that the script is missing.
    let mut installed = Command::new(folder.path().join("usr/bin/sunstar"));
    installed.args(["guest", "--prepare"]).env_remove("SUNSTAR_ROOT");
    installed.env("HOME", folder.path()).env("XDG_CACHE_HOME", folder.path().join("cache"));
    let path = folder.path().join("bin");
    std::fs::create_dir(&path).unwrap();
    for tool in ["sh", "dirname", "cat", "mkdir", "sha256sum", "cut"] {
        std::os::unix::fs::symlink(format!("/usr/bin/{tool}"), path.join(tool)).unwrap();
    }
    ended(installed.env("PATH", &path)).said(2, &["there is no apt-get (apt-get install gcc"]);
}
