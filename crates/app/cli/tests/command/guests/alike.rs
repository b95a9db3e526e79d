//! A run with guests is the same, whoever calls it from where, wherever the bench is installed, and whether
//! it is judged.

use super::Ended;
use crate::runner::{command, ended, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environments of callers: changes of that of the tests.
const ENVIRONMENTS: [fn(&mut Command, &Path); 5] = [
    |_, _| {},
    |command, _| {
        command.env("ZZ", "1");
    },
    |command, _| {
        command
            .env("LONG", "x".repeat(5000))
            .env("HOME", "/nowhere/at/all")
            .env("LANG", "de_DE.UTF-8");
    },
    |command, _| {
        command.env_remove("HOME").env_remove("PWD").env_remove("SHELL").env_remove("TERM");
    },
    |command, folder| {
        let temporary = folder.join("another folder for temporary files");
        std::fs::create_dir_all(&temporary).unwrap();
        command
            .env("TMPDIR", temporary)
            .env("LD_LIBRARY_PATH", "/nowhere")
            .env("POSIXLY_CORRECT", "1");
    },
];

/// Programs, by absolute paths.
fn programs() -> [Vec<String>; 3] {
    let file = |name: &str| root().join(name).display().to_string();
    // What a program does with the path itself is its own matter.
    let script = "pwd >/dev/null; readlink /proc/self/exe >/dev/null; env >/dev/null; ls -d / ~; \
        wc -l /etc/hosts; cat /proc/cmdline >/dev/null; lsmod >/dev/null";
    [
        vec![file("examples/dp_pingpong.c"), "1".into()],
        vec![file("examples/pingpong.c"), "0".into()],
        ["bash", "-c", script].map(Into::into).into(),
    ]
}

/// Hash and output of a run that this caller makes.
fn run(
    program: &[String],
    options: &[&str],
    environment: usize,
    folder: &Path,
) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    run_by(|command| ENVIRONMENTS[environment](command, place.path()), program, options, folder)
}

/// The same of a caller that changes the command so.
fn run_by(
    change: impl FnOnce(&mut Command),
    program: &[String],
    options: &[&str],
    folder: &Path,
) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let json = place.path().join("json");
    let mut command = command();
    change(&mut command);
    command.args(["run", "-q", "-m", "amata", "-n", "2", "--json"]).arg(&json).args(options);
    let run: Ended = ended(command.args(program).current_dir(folder));
    let json = std::fs::read(&json).unwrap_or_else(|_| panic!("{run:?}"));
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let mut lines: Vec<String> = run.went_well().stdout.lines().map(Into::into).collect();
    lines.sort();
    (json["trace_hash"].as_str().unwrap().into(), lines.join("\n"))
}

/// Depths of the folders in which the bench is installed; a name has [`NAME`] bytes.
const DEPTHS: [usize; 2] = [1, 12];
const NAME: usize = 200;

/// A folder of the bench's that is this one, but for its name and for that of the kernel's.
fn installed(at: &Path) {
    let link = |from: &Path, to: &Path| {
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if !to.exists() {
                std::os::unix::fs::symlink(entry.path(), to).unwrap();
            }
        }
    };
    let kernel = at.join("build/linux/kernel");
    std::fs::create_dir_all(&kernel).unwrap();
    let current = root().join("build/linux/current");
    for name in ["linux", "init"] {
        std::fs::copy(current.join(name), kernel.join(name)).unwrap();
    }
    link(&current, &kernel);
    std::os::unix::fs::symlink("kernel", at.join("build/linux/current")).unwrap();
    link(&root().join("build"), &at.join("build"));
    link(&root(), at);
}

/// Guests see the bench's folder under one name, wherever it stands.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_run_does_not_depend_on_where_the_bench_is_installed() {
    let place = tempfile::tempdir().unwrap();
    let expected = programs().map(|program| run(&program, &[], 0, &root()));
    for depth in DEPTHS {
        let mut other = place.path().join(format!("depth {depth}"));
        other.extend(std::iter::repeat_n("x".repeat(NAME), depth));
        installed(&other);
        // The last program reads the kernel's command line, which has room for paths of some 500 bytes.
        let readers = usize::from(depth * NAME > 500);
        for (program, expected) in programs().iter().zip(&expected).rev().skip(readers) {
            let moved = |command: &mut Command| {
                command.env("SUNSTAR_ROOT", &other);
            };
            let got = run_by(moved, program, &[], &root());
            assert_eq!(&got, expected, "{program:?}, {depth} folders deeper");
        }
    }
}

/// Three folders, of which the last is deep.
fn folders(place: &Path) -> [PathBuf; 3] {
    let deep = place.join("a").join("deep folder").join("x".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    [root(), "/".into(), deep]
}

fn are_alike(callers: &[(usize, usize)], judged: bool) {
    let place = tempfile::tempdir().unwrap();
    let folders = folders(place.path());
    for program in programs() {
        let one = run(&program, &[], 0, &folders[0]);
        for (environment, folder) in callers {
            let other = run(&program, &[], *environment, &folders[*folder]);
            assert_eq!(other, one, "{program:?}, environment {environment}, folder {folder}");
        }
        if judged {
            assert_eq!(run(&program, &["--judge"], 2, &folders[2]), one, "{program:?}, judged");
        }
    }
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_run_does_not_depend_on_its_caller() {
    are_alike(&[(2, 2), (4, 1)], false);
}

#[test]
#[ignore = "long: five environments, three folders, three programs"]
fn a_run_does_not_depend_on_any_caller() {
    let all: Vec<_> = (0..5).flat_map(|one| (0..3).map(move |other| (one, other))).collect();
    are_alike(&all, true);
}

/// Variables are given by options alone, in runs and to a guest by itself.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn variables_are_given_by_options() {
    let told = |words: &[&str]| {
        let run = ended(command().env("A", "caller").env("B", "caller").args(words));
        run.went_well().stdout.clone()
    };
    let says = "echo $A $B $HOME $PATH";
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(told(&["guest", "sh", "-c", says]), format!("/root {path}\n"));
    let given = ["-x", "A=1", "--env", "B", "--env=HOME=/x"];
    let expected = format!("1 caller /x {path}\n");
    assert_eq!(told(&[&["guest"], &given[..], &["sh", "-c", says]].concat()), expected);
    let on_node = [&["guest", "-m", "ethernet"], &given[..], &["0", "sh", "-c", says]].concat();
    assert_eq!(told(&on_node), expected);
    let run =
        [&["run", "-q", "-m", "ethernet", "-n", "1"], &given[..], &["sh", "-c", says]].concat();
    assert_eq!(told(&run), expected);
}
