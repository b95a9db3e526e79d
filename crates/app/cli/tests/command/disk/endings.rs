//! Ends of `sunstar disk`, and clients that want too much or have gone.

use super::client::Client;
use super::{command, ended, has, Owned};
use crate::runner::Ended;
use block::{Ask, Operation};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The disk, begun; it says so.
fn begun(folder: &Path, options: &[&str]) -> Child {
    let mut sunstar = command();
    sunstar.args(["disk", "--socket"]).arg(folder.join("disk")).args(options);
    let child = sunstar.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !folder.join("disk").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(process: u32, signal: i32) {
    // SAFETY: a signal to a process that this test has started; no memory is touched.
    unsafe { libc::kill(process as i32, signal) };
}

fn end(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().expect("it ends by itself");
    Ended { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Children of a process.
fn children(process: u32) -> Vec<u32> {
    let file = format!("/proc/{process}/task/{process}/children");
    let list = std::fs::read_to_string(file).unwrap_or_default();
    list.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn a_signal_ends_the_disk_with_its_command_and_a_summary_and_without_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("number");
    let command = format!("sleep 1000 & echo $! > {}.new; mv {0}.new {0}; wait", at.display());
    for (number, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        for options in [&[][..], &["--run", &command], &["--clocked", "--run", "sleep 1000000000"]]
        {
            let child = begun(folder.path(), options);
            let sleeps = || std::fs::read_to_string(&at).ok();
            while options.contains(&&*command) && sleeps().is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
            signal(child.id(), number);
            let run = end(child);
            run.said(code, &["0 requests took 0.0 us of simulated time"]);
            assert!(!folder.path().join("disk").exists(), "{options:?}");
            if let Some(process) = sleeps() {
                let place = format!("/proc/{}", process.trim());
                assert!(!Path::new(&place).exists(), "what the command has started ends, too");
                std::fs::remove_file(&at).unwrap();
            }
        }
    }
}

#[test]
fn a_run_that_refuses_ends_the_disk_before_anybody_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("disk");
    for (options, said) in [
        (["-m", "redstorm"], "builtin:disk runs on machines of model rdma"),
        (["--size", "1000000000512"], "BYTES is 512 to 614099999744"),
    ] {
        let mut sunstar = command();
        sunstar.args(["disk", "--run", "echo served", "--socket"]).arg(&socket).args(options);
        let run = ended(&mut sunstar);
        run.said(2, &[said]);
        assert!(!socket.exists() && !run.stdout.contains("served"), "{run:?}");
    }
}

#[test]
fn a_run_that_dies_ends_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = begun(folder.path(), &[]);
    // It says that it serves when the run is ready.
    let mut first = [0; 16];
    child.stderr.as_mut().unwrap().read_exact(&mut first).unwrap();
    for run in children(child.id()) {
        signal(run, libc::SIGKILL);
    }
    end(child).said(1, &["the simulator has ended, and the disk ends with it", "0 requests"]);
    assert!(!folder.path().join("disk").exists());
}

#[test]
fn a_record_that_cannot_be_written_ends_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let child = begun(folder.path(), &["--record", "/dev/full"]);
    let mut client = Client::connect(&folder.path().join("disk"));
    client.send(&Ask::new(Operation::Read, 0, 512), &[]);
    end(child).said(1, &["cannot write /dev/full: no space left"]);
}

#[test]
fn any_path_is_a_uri() {
    if !has("nbdinfo") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("a b\u{fc}&c=%41?#");
    std::fs::create_dir(&own).unwrap();
    let mut sunstar = command();
    sunstar.args(["disk", "--run", "nbdinfo --size \"$uri\"", "--socket"]).arg(own.join("disk"));
    let run = ended(&mut sunstar);
    assert_eq!((run.code, &*run.stdout), (0, "67108864\n"), "{run:?}");
}

/// Most memory that a process has had, in KB.
fn memory_kb(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_client_that_takes_nothing_or_has_gone_is_not_worked_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("disk");
    let child = begun(folder.path(), &[]);
    let most = Ask::new(Operation::Read, 0, 4 << 20);
    let mut greedy = Client::connect(&socket);
    let before = memory_kb(child.id());
    // 4 GB are asked for, and none of them is taken.
    greedy.send_often(&most, 1000);
    let mut modest = Client::connect(&socket);
    let small = Ask::new(Operation::Write, 512, 512);
    for _ in 0..20 {
        modest.carry_out(&small, &[1; 512]);
    }
    assert!(memory_kb(child.id()) < before + 60_000, "{} KB", memory_kb(child.id()));
    drop(greedy);
    let mut leaves = Client::connect(&socket);
    leaves.send_often(&most, 1000);
    drop(leaves);
    modest.carry_out(&small, &[2; 512]);
    signal(child.id(), libc::SIGTERM);
    let run = end(child);
    let requests = run.stderr.split(" requests took").next().unwrap();
    let requests: u32 = requests.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((21..40).contains(&requests), "{run:?}");
}

#[test]
fn long_reads_and_long_writes_of_several_clients_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("disk");
    let child = begun(folder.path(), &[]);
    let (sender, receiver) = std::sync::mpsc::channel();
    for operation in [Operation::Read, Operation::Write, Operation::Read, Operation::Write] {
        let mut client = Client::connect(&socket);
        let sender = sender.clone();
        std::thread::spawn(move || {
            let data = vec![7; if operation == Operation::Write { 4 << 20 } else { 0 }];
            for _ in 0..2 {
                client.carry_out(&Ask::new(operation, 0, 4 << 20), &data);
            }
            sender.send(()).unwrap();
        });
    }
    for _ in 0..4 {
        receiver.recv_timeout(Duration::from_secs(120)).expect("all are answered");
    }
    signal(child.id(), libc::SIGTERM);
    end(child).said(143, &["8 requests"]);
}

#[test]
fn what_is_killed_leaves_no_run_behind() {
    let folder = tempfile::tempdir().unwrap();
    let child = Owned(begun(folder.path(), &[]));
    let start = Instant::now();
    let mut runs = Vec::new();
    while runs.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "no run begins");
        runs = children(child.0.id());
    }
    drop(child);
    let there = |run: &u32| {
        let state = Command::new("cat").arg(format!("/proc/{run}/stat")).output().unwrap();
        let text = String::from_utf8_lossy(&state.stdout).into_owned();
        text.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.contains('Z'))
    };
    while runs.iter().any(there) {
        assert!(start.elapsed() < Duration::from_secs(60), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}
