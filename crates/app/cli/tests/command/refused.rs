//! Refusals of the system: calls (a filter), address space, descriptors, room on disks, streams. Each run
//! ends as documented and says what is refused; none hangs, panics or blames the program.

use crate::runner::{command, ended, hearing, root, Ended};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The launcher with a filter, compiled.
fn launcher(folder: &Path) -> PathBuf {
    let program = folder.join("refuse");
    let source = root().join("tests/cli/refuse.c");
    let compiled = Command::new("gcc").arg("-O2").arg("-o").arg(&program).arg(source).status();
    assert!(compiled.unwrap().success());
    program
}

/// A program, compiled once.
fn program(folder: &Path, source: &str) -> PathBuf {
    let program = folder.join("program");
    ended(command().args(["cc", "-O2", "-o"]).arg(&program).arg(source)).went_well();
    program
}

/// A command like [`command`], behind others: `launch` begins with a program.
fn behind(launch: &[&str]) -> Command {
    let plain = command();
    let mut command = Command::new(launch[0]);
    command.args(&launch[1..]).arg(plain.get_program()).current_dir(root());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    hearing(&mut command);
    command
}

/// Status of the launcher on a system without such filters.
const UNUSABLE: i32 = 125;

/// Ending of a run for which a call is refused from the start of `main` on.
enum Comes {
    /// A sentence names the call.
    Named(&'static str),
    /// The run ends well, because it can do without the call.
    Well,
    /// One of the two: the C library has another call for the same purpose.
    Either(&'static str),
}

/// Each call that simulator and ranks' libraries make for themselves.
const CALLS: &[(&str, libc::c_long, Comes)] = &[
    ("clone", libc::SYS_clone, Comes::Named("clone")),
    // The C library has another way where the system does not know it, but not where it is forbidden.
    ("clone3", libc::SYS_clone3, Comes::Either("cannot watch signals")),
    ("epoll_create1", libc::SYS_epoll_create1, Comes::Named("epoll_create1")),
    ("epoll_ctl", libc::SYS_epoll_ctl, Comes::Named("epoll_ctl")),
    ("epoll_wait", libc::SYS_epoll_wait, Comes::Named("epoll_wait")),
    ("execve", libc::SYS_execve, Comes::Named("execve")),
    ("close_range", libc::SYS_close_range, Comes::Well),
    (
        "ftruncate",
        libc::SYS_ftruncate,
        Comes::Named("cannot make the channel to a rank: ftruncate"),
    ),
    ("futex", libc::SYS_futex, Comes::Named("futex")),
    ("getcpu", libc::SYS_getcpu, Comes::Well),
    ("madvise", libc::SYS_madvise, Comes::Well),
    ("memfd_create", libc::SYS_memfd_create, Comes::Named("memfd_create")),
    ("mmap", libc::SYS_mmap, Comes::Named("mmap")),
    ("mprotect", libc::SYS_mprotect, Comes::Named("mprotect")),
    ("munmap", libc::SYS_munmap, Comes::Named("munmap")),
    ("personality", libc::SYS_personality, Comes::Well),
    ("pidfd_open", libc::SYS_pidfd_open, Comes::Well),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal, Comes::Well),
    ("pipe2", libc::SYS_pipe2, Comes::Named("pipe2")),
    ("poll", libc::SYS_poll, Comes::Named("poll")),
    ("prctl", libc::SYS_prctl, Comes::Well),
    ("process_vm_readv", libc::SYS_process_vm_readv, Comes::Named("process_vm_readv")),
    ("process_vm_writev", libc::SYS_process_vm_writev, Comes::Named("process_vm_writev")),
    ("sched_getaffinity", libc::SYS_sched_getaffinity, Comes::Well),
    ("sched_getattr", libc::SYS_sched_getattr, Comes::Well),
    ("sched_setaffinity", libc::SYS_sched_setaffinity, Comes::Well),
    ("sched_setattr", libc::SYS_sched_setattr, Comes::Well),
    ("setpgid", libc::SYS_setpgid, Comes::Well),
    ("setrlimit", libc::SYS_prlimit64, Comes::Well),
    ("set_robust_list", libc::SYS_set_robust_list, Comes::Well),
    ("waitid", libc::SYS_waitid, Comes::Named("waitid")),
];

/// The answers of a filter.
const ANSWERS: [(&str, i32); 2] = [("EPERM", libc::EPERM), ("ENOSYS", libc::ENOSYS)];

/// Runs four ranks with a refused call: so many that they are forked from a template. They exchange messages
/// of several kinds, and the simulator kills them at the end.
fn refused(launcher: &Path, program: &Path, call: libc::c_long, answer: i32, after: u32) -> Ended {
    let words = [call.to_string(), answer.to_string(), after.to_string()];
    let mut launch = vec![launcher.to_str().unwrap()];
    launch.extend(words.iter().map(String::as_str));
    let mut command = behind(&launch);
    ended(command.args(["run", "-q", "-n", "4"]).arg(program))
}

/// Exit status of the program if nothing is refused: rank 1 calls MPI_Abort, and the simulator kills all.
const ABORTED: i32 = 5;

#[test]
fn calls_that_the_system_refuses_are_named_or_done_without() {
    let folder = tempfile::tempdir().unwrap();
    let (launcher, program) =
        (launcher(folder.path()), program(folder.path(), "tests/cli/aborting.c"));
    let mut wrong = Vec::new();
    for (name, call, comes) in CALLS {
        for (said, answer) in ANSWERS {
            let ended = refused(&launcher, &program, *call, answer, 0);
            if ended.code == UNUSABLE {
                return eprintln!("not tested: the system has no filters with a listener");
            }
            let first = ended.stderr.lines().find(|line| line.starts_with("sunstar: "));
            println!("{name:18} {said:6} {:4} {}", ended.code, first.unwrap_or("says nothing"));
            let told = [1, 2].contains(&ended.code);
            let named = |words: &str| told && first.is_some_and(|first| first.contains(words));
            let well = || ended.code == ABORTED && ended.stderr.contains("called MPI_Abort");
            let right = match comes {
                Comes::Named(words) => named(words),
                Comes::Well => well(),
                Comes::Either(words) => named(words) || well(),
            };
            if !right || ended.stderr.contains("panicked") {
                wrong.push((name, said, ended));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Runs end with a sentence if the system grants only some of the processes and threads: calls are refused
/// from a later one on.
#[test]
fn processes_and_threads_that_come_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let (launcher, program) =
        (launcher(folder.path()), program(folder.path(), "tests/cli/aborting.c"));
    for after in 0..8 {
        for answer in [libc::EAGAIN, libc::EPERM] {
            // Threads by one call, ranks by the other.
            for call in [libc::SYS_clone, libc::SYS_clone3] {
                let ended = refused(&launcher, &program, call, answer, after);
                if ended.code == UNUSABLE {
                    return eprintln!("not tested: the system has no filters with a listener");
                }
                let first = ended.stderr.lines().find(|line| line.starts_with("sunstar: "));
                let said = first.unwrap_or("says nothing");
                println!("{call:3} after {after} answer {answer:2}: {:3} {said}", ended.code);
                let words = [
                    "called MPI_Abort",
                    "cannot start a process",
                    "cannot watch signals",
                    "no thread watches it",
                ];
                let known = words.iter().any(|words| said.contains(words));
                let known = known || said.contains("refuses the call clone");
                assert!(known && [1, 2, ABORTED].contains(&ended.code), "{ended:#?}");
                assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
            }
        }
    }
}

/// Runs with less and less address space end with a sentence, wherever it is used up.
#[test]
fn address_space_that_comes_to_an_end() {
    for megabytes in [40, 60, 100, 200, 300] {
        let space = format!("--as={}", megabytes * 1_000_000);
        let mut command = behind(&["prlimit", &space]);
        let ended = ended(command.args(["run", "-q", "-n", "200", "builtin:barrier", "2"]));
        println!(
            "{megabytes:4} MB: {:3} {}",
            ended.code,
            ended.stderr.lines().next().unwrap_or("")
        );
        if ended.code != 0 {
            assert!([1, 2].contains(&ended.code), "{megabytes} MB: {ended:#?}");
            ended.said(ended.code, &["refuses"]);
        }
    }
}

/// `sunstar run` in a shell that closes or redirects streams first.
fn shell(words: &str, redirections: &str) -> Ended {
    let script = format!("exec \"$0\" {words} {redirections}");
    let plain = command();
    let mut shell = command();
    shell = {
        let mut other = Command::new("sh");
        other.arg("-c").arg(script).arg(plain.get_program()).current_dir(root());
        other.envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
        other.stdin(std::process::Stdio::null());
        hearing(&mut other);
        other
    };
    ended(&mut shell)
}

/// Output that was asked for and cannot be printed is reported, with a status that is not success.
#[test]
fn standard_output_that_takes_nothing() {
    for (words, code) in [
        ("run -n 2 builtin:barrier 2", 1),
        ("run -q -n 2 builtin:pingpong 8 1", 1),
        ("run -n 2 --json - builtin:barrier 2", 1),
        ("run -n 2 tests/cli/wrong.c exit-three", 3),
        ("machines", 2),
        ("faults", 2),
        ("completions bash", 2),
        ("--help", 1),
        ("--version", 1),
        ("cc -show x.c", 2),
    ] {
        for (redirection, why) in [(">&-", "it is closed"), (">/dev/full", "No space left")] {
            let ended = shell(words, redirection);
            ended.said(code, &["cannot write to standard output", why]);
        }
    }
    // What nobody is to see may be closed.
    shell("run -q -n 2 tests/cli/wrong.c no-mpi-call", ">&- 2>&- <&-").went_well();
}

/// Exit statuses do not depend on standard error.
#[test]
fn standard_error_that_takes_nothing() {
    for redirection in ["2>&-", "2>/dev/full"] {
        for (words, code) in [
            ("run --nonsense", 2),
            ("run -n 2 nosuch", 2),
            ("run -q -n 2 tests/cli/wrong.c mpi-abort", ABORTED),
            ("run -q -n 2 tests/cli/wrong.c deadlock", 1),
            ("run -q -n 2 tests/cli/wrong.c crash", 139),
            ("run -q -n 2 --json /dev/full builtin:barrier 2", 1),
            ("run -q -n 2 builtin:barrier 2", 0),
        ] {
            assert_eq!(shell(words, redirection).code, code, "{words} {redirection}");
        }
    }
}

/// A shell sees the low byte of a program's abort code; a failure never becomes a success by that.
#[test]
fn codes_of_aborts() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "tests/cli/aborting.c");
    for (code, status) in [(0, 0), (7, 7), (300, 44), (-1, 255), (256, 1)] {
        let mut command = command();
        let ended =
            ended(command.args(["run", "-q", "-n", "2"]).arg(&program).arg(code.to_string()));
        ended.said(status, &[&format!("rank 1 called MPI_Abort with code {code}")]);
    }
}

/// Runs with folders in which nothing can be made, not even by root, whom modes do not stop.
#[test]
fn folders_that_take_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("below");
    for option in ["--json", "--pcap", "--trace"] {
        for place in [below.as_path(), Path::new("/proc/below")] {
            let mut command = command();
            command
                .args(["run", "-q", "-n", "2", option])
                .arg(place)
                .args(["builtin:barrier", "2"]);
            let place = place.to_string_lossy();
            ended(&mut command).said(2, &["cannot write", &place]);
        }
    }
    let mut command = command();
    command.env("TMPDIR", &below).args(["run", "-q", "-n", "2", "builtin:barrier", "2"]);
    ended(&mut command).said(2, &["cannot make a temporary folder"]);
}

/// Commands have a stack of their own where the system allows a small one.
#[test]
fn a_small_stack_is_enough() {
    let small = |bytes: u32, words: &[&str]| {
        let limit = format!("--stack={bytes}:{bytes}");
        ended(behind(&["prlimit", &limit]).args(words))
    };
    for words in [
        &["run", "-n", "2", "examples/pingpong.c", "0"][..],
        &["run", "-q", "-m", "alpu", "-n", "4", "--judge", "builtin:alltoall", "1000", "2"],
        &["queues", "-q", "-m", "alpu", "-n", "2", "builtin:alltoall", "100", "2"],
        &["machines", "redstorm"],
        &["bench", "latency", "--largest", "8", "-j", "1"],
        &["nic", "link"],
    ] {
        for kib in [256, 128] {
            let told = small(kib << 10, words);
            let right = [0, 1].contains(&told.code) && !told.stderr.contains("overflow");
            assert!(right, "{kib} KiB: {told:?}");
        }
    }
}

/// On a disk that is full soon. What has run is not to be run again.
#[test]
fn a_table_of_a_sweep_that_cannot_be_written_is_no_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let words = ["sweep", "-q", "-n", "2", "--vary", "seed=1,2", "-o", table.to_str().unwrap()];
    let small = "mount -t tmpfs -o size=4k none \"$0\" || exit 125; exec \"$@\"";
    let at = folder.path().to_str().unwrap();
    let mut full = behind(&["unshare", "-rm", "sh", "-c", small, at]);
    let told = ended(full.args(words).args(["builtin:pingpong", "8", "2"]));
    if told.stderr.starts_with("unshare") || told.code == UNUSABLE {
        return eprintln!("not tested: the system has no namespaces for this user");
    }
    told.said(1, &["cannot write"]);
}

/// A control group of the system's, in which this process may start others; none without the right to.
struct Group(PathBuf);

impl Group {
    fn new(processes: u32) -> Option<Group> {
        let name = format!("sunstar-test-{}", std::process::id());
        let parents = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
        let made = parents.iter().map(|parent| Path::new(parent).join(&name)).find(|folder| {
            let limited = || fs::write(folder.join("pids.max"), processes.to_string()).is_ok();
            let made = fs::create_dir(folder).is_ok();
            let right = made && limited();
            if made && !right {
                fs::remove_dir(folder).ok();
            }
            right
        });
        made.map(Group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).ok();
    }
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn guests_whose_processes_are_refused_say_so() {
    // The kernel is there and as its sources are.
    ended(command().args(["guest", "true"])).went_well();
    for processes in 2..7 {
        let Some(group) = Group::new(processes) else {
            return eprintln!("not tested: there is no control group to be made");
        };
        let enter = format!("echo $$ >{}/cgroup.procs && exec \"$@\"", group.0.display());
        for words in [&["guest", "true"][..], &["run", "-q", "-m", "ethernet", "-n", "2", "true"]] {
            let told = ended(behind(&["sh", "-c", &enter, "sh"]).args(words));
            if told.code == 0 {
                continue; // enough for one guest
            }
            assert!([1, 2].contains(&told.code), "{processes}: {told:?}");
            let refused = ["no more processes", "Resource temporarily unavailable"];
            let said = refused.iter().any(|words| told.stderr.contains(words));
            assert!(said && !told.stderr.contains("machine.launch"), "{processes}: {told:?}");
        }
    }
}
