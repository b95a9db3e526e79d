//! Installations and packages: all that the command opens is there, on the oldest C library that is named,
//! and each program of others that is missing is a sentence.

use crate::runner::{command, ended, root, Ended};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of a script of `scripts/dist`.
fn script(name: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(root().join("scripts/dist").join(name));
    ended(command.args(arguments))
}

/// Places below `share/sunstar` of all files of an installation.
fn installed() -> BTreeSet<String> {
    let list = script("list", &["build"]);
    let places = list.went_well().stdout.lines();
    places.map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
}

/// An installation of the command that is tested.
fn install(folder: &Path) -> PathBuf {
    let to = folder.to_str().unwrap();
    script("install", &[env!("CARGO_BIN_EXE_sunstar"), "build", to, "mpirun"]).went_well();
    folder.join("bin/sunstar")
}

/// Calls that open something of each kind; FOLDER is for what they write.
const CALLS: &[&str] = &[
    "run -q -n 2 examples/hello.c",
    "run -q -n 2 -m redstorm-accelerated builtin:pingpong 8 2",
    "run -q -n 2 -m alpu --rtl builtin:pingpong 8 2",
    "run -q -n 2 -m amata builtin:myrinet-pingpong 8 2",
    "run -q -n 2 -m forth-switch --console switch builtin:rdma-pingpong 8 2",
    "run -q -n 2 examples/hello.f90",
    "run -q -n 2 examples/portals_getadd.c",
    "profile -n 2 builtin:pingpong 8 2",
    "fw -m amata",
    "machines",
    "report FOLDER/page.html -n 2 builtin:pingpong 8 2",
];

/// Files below the root that a call and all that it starts have opened.
fn opened(call: &str, folder: &Path) -> BTreeSet<String> {
    let log = folder.join("log");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "--seccomp-bpf", "-z", "-y", "-e", "trace=open,openat,execve", "-o"]);
    let words = call.split(' ').map(|word| word.replace("FOLDER", folder.to_str().unwrap()));
    traced.arg(&log).arg(env!("CARGO_BIN_EXE_sunstar")).args(words);
    traced.current_dir(root()).env("SUNSTAR_ROOT", root());
    traced.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    let run = ended(&mut traced);
    assert_eq!(run.code, 0, "{call}: {run:#?}");
    let (text, root) = (fs::read_to_string(&log).unwrap(), root());
    let mut files = BTreeSet::new();
    for line in text.lines() {
        let Some(name) = line.split('"').nth(1) else { continue };
        let path = root.join(name);
        let Ok(path) = path.canonicalize() else { continue };
        if let (true, Ok(inner)) = (path.is_file(), path.strip_prefix(&root)) {
            files.insert(inner.to_str().unwrap().to_owned());
        }
    }
    files
}

/// Folders of what is made again where it is missing; locks; and the command itself.
fn is_made(file: &str) -> bool {
    let made = ["target/", "build/verilated/", "build/linux/"].iter();
    made.clone().any(|folder| file.starts_with(folder)) || file.ends_with("/.lock")
}

#[test]
fn all_that_the_command_opens_is_installed() {
    let (folder, places) = (tempfile::tempdir().unwrap(), installed());
    let mut all = BTreeSet::new();
    for call in CALLS {
        // The first time it may build an image whose sources have changed.
        opened(call, folder.path());
        all.extend(opened(call, folder.path()));
    }
    for kind in ["machines/", "include/", "build/lib/", "build/firmware/", "published/", "rtl/"] {
        assert!(all.iter().any(|file| file.starts_with(kind)), "nothing of {kind} in {all:#?}");
    }
    // Those of firmware are only shown: `Root::sources`.
    let place = |file: &String| {
        let apart = if file.starts_with("firmware/") { "sources/" } else { "" };
        format!("{apart}{file}")
    };
    let there = |file: &&String| is_made(file) || places.contains(&place(file));
    let missing: Vec<&String> = all.iter().filter(|file| !there(file)).collect();
    assert!(missing.is_empty(), "not in scripts/dist/list: {missing:#?}");
}

#[test]
fn objects_want_no_newer_library_than_packages_name() {
    let floor = fs::read_to_string(root().join("scripts/dist/glibc")).unwrap();
    let objects = [env!("CARGO_BIN_EXE_sunstar"), "build/lib"];
    let here =
        script("floor", &[floor.trim(), objects[0], &root().join(objects[1]).to_string_lossy()]);
    // The command and seven libraries: with headers of libfabric its provider, too.
    let number = 7 + usize::from(root().join("build/lib/libfabric").is_dir());
    let sentence = format!("{number} objects want glibc 2.");
    assert!(here.went_well().stdout.starts_with(&sentence), "{here:#?}");
    // An older one is not enough, or nothing was looked at.
    let older = script("floor", &["2.17", objects[0]]);
    older.said(1, &["wants", "of glibc 2.", "packages are for 2.17"]);
}

/// An installation runs, its firmware is not built anew, whatever the times of its files are, and a copy of
/// the sources is, without cargo.
#[test]
fn an_installation_runs_and_its_firmware_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let sunstar = install(&folder.path().join("usr"));
    let run = |root: Option<&Path>, words: &str| {
        let mut command = Command::new(&sunstar);
        command.env_remove("SUNSTAR_ROOT").current_dir(folder.path());
        root.map(|root| command.env("SUNSTAR_ROOT", root));
        ended(command.args(words.split(' ')))
    };
    let alpu = "run -n 2 -m alpu builtin:pingpong 8 2";
    let redstorm = "run -n 2 builtin:pingpong 8 2";
    let ours = ended(command().args(alpu.split(' ')));
    assert_eq!(run(None, alpu).went_well().hash(), ours.hash());
    assert!(ours.hash().is_some());
    // Modules of guests find all that they are made of: a dry run of make, without a kernel.
    let share = folder.path().join("usr/share/sunstar");
    for (name, program) in [("dp", "mcp.h"), ("bypass", "bypass/mcp.h")] {
        let mut make = Command::new("make");
        make.arg("-n").arg("-C").arg(share.join("linux").join(name)).arg("TREE=/nonexistent");
        make.arg(format!("OUT={}", folder.path().display()));
        make.arg(format!("PROGRAM={}/build/firmware/lanai/{program}", share.display()));
        let made = ended(make.env_remove("MAKEFLAGS"));
        assert!(made.stdout.contains("abi_myrinet.h"), "{made:#?}");
        assert!(!made.stderr.contains("No rule to make"), "{made:#?}");
    }
    run(None, "fw --copy own").went_well();
    run(None, "fw --copy own").said(2, &["own is there, and not empty"]);
    let own = folder.path().join("own");
    // Nothing is built that was not changed: what is built has objects.
    for words in [alpu, redstorm, "run -n 2 -m amata builtin:myrinet-pingpong 8 2"] {
        let theirs = ended(command().args(words.split(' ')));
        assert_eq!(run(Some(&own), words).went_well().hash(), theirs.hash(), "{words}");
    }
    let objects = Command::new("find").arg(&own).args(["-name", "*.o"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&objects.stdout), "");
    let of = |file: &str| fs::read(own.join("build/firmware").join(file)).unwrap();
    let before = [of("lanai/mcp.bin"), of("offload/walk-ahead_search-list/offload.img")];
    // Some constant bytes more in each.
    let text = "\nconst char changed[] __attribute__((used)) = \"changed\";\n";
    for file in ["firmware/lanai/core/send.c", "firmware/offload/core/unit.c"] {
        let path = own.join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    }
    run(Some(&own), alpu).went_well();
    run(Some(&own), "run -q -n 2 -m amata builtin:myrinet-pingpong 8 2").went_well();
    let after = [of("lanai/mcp.bin"), of("offload/walk-ahead_search-list/offload.img")];
    assert!(before[0] != after[0] && before[1] != after[1], "nothing was built");
}

/// Runs the command where there are no programs of others.
fn without_tools(words: &[&str], root: &Path) -> Ended {
    let nothing = tempfile::tempdir().unwrap();
    let mut command = command();
    command.env("PATH", nothing.path()).env("SUNSTAR_ROOT", root).args(words);
    ended(&mut command)
}

#[test]
fn a_tool_that_is_missing_is_a_sentence_with_its_packages() {
    let everywhere = ["on Debian and Ubuntu install", "on Fedora"];
    let folder = tempfile::tempdir().unwrap();
    for (source, tool, package) in [
        ("examples/hello.c", "there is no gcc,", "gcc libc6-dev"),
        ("examples/hello.f90", "there is no gfortran,", "gcc-gfortran"),
    ] {
        let ended = without_tools(&["run", "-n", "2", source], &root());
        ended.said(2, &[&[tool, package], &everywhere[..]].concat());
    }
    without_tools(&["cxx", "a.cc"], &root()).said(2, &["there is no g++,", "gcc-c++"]);
    let script = folder.path().join("a.py");
    fs::write(&script, "").unwrap();
    let words = ["run", script.to_str().unwrap()];
    without_tools(&words, &root()).said(2, &["there is no python3,", "install python3"]);
    // Firmware of a copy that was changed.
    let own = folder.path().join("own");
    ended(command().args(["fw", "--copy"]).arg(&own)).went_well();
    for (machine, file, workload) in [
        ("alpu", "firmware/offload/core/unit.c", "builtin:pingpong"),
        ("amata", "firmware/lanai/core/send.c", "builtin:myrinet-pingpong"),
        ("redstorm", "firmware/seastar/core/main.c", "builtin:pingpong"),
    ] {
        let words = ["run", "-q", "-n", "2", "-m", machine, workload, "8", "2"];
        without_tools(&words, &own).went_well();
        let path = own.join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap()).unwrap();
        let said = without_tools(&words, &own);
        let words = ["was changed since its images were made", "there is no make", "install make"];
        said.said(2, &words);
    }
}

#[test]
fn the_doctor_says_what_is_there_and_whether_runs_work() {
    let whole = ended(command().arg("doctor"));
    let text = &whole.went_well().stdout;
    for word in ["gcc  ", "clang-14  ", "verilator  ", "ptrace of children", "Programs run here."] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    assert!(!text.contains("does not work"), "{text}");
    let bare = without_tools(&["doctor"], &root());
    let text = &bare.went_well().stdout;
    for word in ["missing", "gcc libc6-dev", "gcc-powerpc-linux-gnu", "Programs run here."] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    let nowhere = without_tools(&["doctor"], Path::new("/nonexistent"));
    assert_eq!((nowhere.code, &*nowhere.stderr), (1, ""), "{nowhere:#?}");
    assert!(nowhere.stdout.contains("SUNSTAR_ROOT is /nonexistent"), "{nowhere:#?}");
    assert!(nowhere.stdout.ends_with("Programs do not run here.\n"), "{nowhere:#?}");
}

/// Most bytes of a package.
const PACKAGE_MAX: u64 = 10_000_000;

/// Others' checkers find the wheel good for what its name says, and for an index of packages.
fn is_a_good_wheel(wheel: &Path) {
    let check = |tool: &str, words: &[&str]| {
        let mut command = Command::new(root().join("build/wheels/bin").join(tool));
        let checked = ended(command.args(words).arg(wheel));
        assert_eq!(checked.code, 0, "{checked:#?}");
        checked.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let floor = fs::read_to_string(root().join("scripts/dist/glibc")).unwrap();
    let tag = format!("manylinux_{}_x86_64", floor.trim().replace('.', "_"));
    assert!(wheel.to_str().unwrap().ends_with(&format!("-py3-none-{tag}.whl")));
    // It is not, if an object wants what is neither in the wheel nor on all systems.
    let said = check("auditwheel", &["show"]);
    assert!(said.contains(&format!("with the following platform tag: \"{tag}\"")), "{said}");
    check("twine", &["check", "--strict"]);
}

/// The container for development is made of the Containerfile, and that of the package.
fn names_what_is_beside(folder: &Path) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let container: serde_json::Value = serde_json::from_str(&read("devcontainer.json")).unwrap();
    let file = read(container["build"]["dockerfile"].as_str().unwrap());
    let copied = file.lines().find_map(|line| line.strip_prefix("COPY ")).unwrap();
    assert!(folder.join(copied.split(' ').next().unwrap()).is_file(), "{copied}");
}

/// The folder of the packages that a clone in `name` makes.
fn packages_of_a_clone(folder: &Path, name: &str) -> PathBuf {
    let clone = folder.join(name);
    let mut git = Command::new("git");
    ended(git.args(["clone", "-q"]).arg(root()).arg(&clone)).went_well();
    let mut make = Command::new("make");
    // It takes longer than `ended` waits for a command.
    let made = make.arg("dist").current_dir(&clone).env_remove("MAKEFLAGS").output().unwrap();
    assert!(made.status.success(), "{made:#?}");
    let kept = folder.join(name.replace('/', "-"));
    fs::rename(clone.join("dist"), &kept).unwrap();
    fs::remove_dir_all(&clone).unwrap();
    kept
}

/// Packages are the same to the byte wherever they are made; and they run without any program of others.
#[test]
#[ignore = "builds everything twice: make soak"]
fn packages_are_the_same_wherever_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let made = std::thread::scope(|scope| {
        let names = ["a/clone", "another/longer/place"];
        let at = folder.path();
        let both = names.map(|name| scope.spawn(move || packages_of_a_clone(at, name)));
        both.map(|one| one.join().unwrap())
    });
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    let all = names(&made[0]);
    assert_eq!(all, names(&made[1]));
    let read = |at: usize, name: &str| fs::read(made[at].join(name)).unwrap();
    let unlike: Vec<&String> = all.iter().filter(|name| read(0, name) != read(1, name)).collect();
    assert!(unlike.is_empty(), "these differ: {unlike:#?}");
    for name in &all {
        let one = read(0, name);
        let package = [".whl", ".deb", "linux.tar.gz"].iter().any(|end| name.ends_with(end));
        assert!(!package || (one.len() as u64) < PACKAGE_MAX, "{name} has {} bytes", one.len());
    }
    assert_eq!(all.len(), 7, "{all:#?}");
    let ends = |end: &str| made[0].join(all.iter().find(|name| name.ends_with(end)).unwrap());
    is_a_good_wheel(&ends(".whl"));
    names_what_is_beside(&made[0]);
    let tarball = all.iter().find(|name| name.ends_with("linux.tar.gz")).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(made[0].join(tarball)).arg("-C").arg(folder.path());
    ended(&mut tar).went_well();
    let unpacked = folder.path().join(tarball.strip_suffix(".tar.gz").unwrap());
    let run = |words: &str| {
        let mut command = Command::new(unpacked.join("bin/sunstar"));
        command.env_clear().env("HOME", folder.path()).args(words.split(' '));
        ended(&mut command)
    };
    let ping = "run -n 2 builtin:pingpong";
    let ours = ended(command().args(ping.split(' ')));
    assert_eq!(run(ping).went_well().hash(), ours.hash());
    for words in ["validate", "bench ladder", "bench suite --flood 100", "bench queues"] {
        run(words).went_well();
    }
}
