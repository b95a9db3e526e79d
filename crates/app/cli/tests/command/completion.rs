//! Completion, in real shells: what a user gets who presses the tabulator.

use crate::runner::{command, ended, root, sunstar};
use std::path::Path;
use std::process::Command;

/// Drives the script of bash: the words are those that bash's own parser makes of the line.
const DRIVE: &str = r#"
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
# As readline does: = and : are words of their own, a blank at the end begins an empty one.
COMP_WORDS=() rest=$COMP_LINE
while [[ -n $rest ]]; do
    if [[ $rest =~ ^[[:space:]]+ ]]; then
        :
    elif [[ $rest =~ ^[=:]+ ]]; then
        COMP_WORDS+=("${BASH_REMATCH[0]}")
    else
        [[ $rest =~ ^[^[:space:]=:]+ ]]
        COMP_WORDS+=("${BASH_REMATCH[0]}")
    fi
    rest=${rest:${#BASH_REMATCH[0]}}
done
[[ $COMP_LINE == *[[:space:]] ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_sunstar
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// The script of a shell, in `folder`.
fn script(folder: &Path, shell: &str) -> std::path::PathBuf {
    let file = folder.join(format!("sunstar.{shell}"));
    std::fs::write(&file, &sunstar(["completions", shell]).went_well().stdout).unwrap();
    file
}

/// A shell in `folder` that finds the command as `sunstar`.
fn shell(name: &str, folder: &Path) -> Command {
    let ours = command();
    let mut shell = Command::new(name);
    shell.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let bin = folder.join("bin");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(ours.get_program(), bin.join("sunstar")).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    shell.env("PATH", format!("{}:{path}", bin.display())).current_dir(folder);
    shell.env("HOME", folder);
    shell
}

/// Words that bash offers behind a line.
fn offered(folder: &Path, line: &str) -> Vec<String> {
    let script = script(folder, "bash");
    let mut bash = shell("bash", folder);
    bash.args(["--norc", "-c", DRIVE, "bash"]).arg(script).arg(format!("sunstar {line}"));
    let ended = ended(&mut bash);
    assert_eq!(ended.stderr, "", "{line}");
    ended.went_well().stdout.lines().map(str::to_owned).collect()
}

/// Lines, names that must be offered, and names that must not be.
const CASES: &[(&str, &[&str], &[&str])] = &[
    ("ru", &["run"], &["report", "notes.txt"]),
    ("bench ", &["dp", "ladder", "queues"], &["notes.txt", "run"]),
    ("run --ma", &["--machine"], &["--fault", "-m"]),
    ("run --no-", &["--no-park", "--no-merge"], &[]),
    ("run --machine reds", &["redstorm", "redstorm-accelerated"], &["alpu"]),
    ("run -m ", &["redstorm", "amata", "mine.toml", "sub"], &["--json"]),
    ("run --machine=al", &["alpu", "alpu-mesh"], &["redstorm"]),
    ("run -m mi", &["mine.toml"], &["redstorm"]),
    ("run --set host.kernel_en", &["host.kernel_entry="], &["firmware.cache=", "notes.txt"]),
    ("run -m alpu --set ppc440.", &["ppc440.clock="], &["firmware.cache="]),
    ("run -m mine.toml --set firmware.ca", &["firmware.cache="], &[]),
    // Readline replaces what stands behind the last = or :.
    ("run --set firmware.cache=", &["id", "none"], &["on"]),
    ("run --set=firmware.inline=o", &["on", "off"], &["id"]),
    ("run --fault link.d", &["link.drop="], &["bug.skew=", "interrupt.lost="]),
    ("run -m forth --fault bug.sk", &["bug.skew="], &[]),
    ("faults li", &["link.drop"], &["link.drop="]),
    ("run --rtl=c", &["check"], &["on", "notes.txt"]),
    ("run --initial-errhandler ", &["mpi_errors_return"], &["notes.txt"]),
    ("run --mpi ", &["own", "mpich", "intel", "sub"], &["notes.txt"]),
    ("run --wdir ", &["sub"], &["notes.txt"]),
    ("run --json ", &["notes.txt", "sub"], &["redstorm"]),
    ("run --json=no", &["notes.txt"], &[]),
    ("run builtin:", &["pingpong", "allreduce", "myrinet-pingpong"], &["notes.txt"]),
    ("run -n 2 bui", &["builtin:pingpong"], &[]),
    ("run -np 2 no", &["notes.txt"], &["--json"]),
    ("run prog -m ", &["notes.txt"], &["redstorm"]),
    ("run -n ", &[], &["notes.txt", "redstorm"]),
    ("explain --call MPI_All", &["MPI_Allreduce", "MPI_Alltoall"], &["MPI_Send"]),
    ("sweep --vary ma", &["machine="], &["ranks="]),
    ("sweep --vary ppc440.clo", &[], &["notes.txt"]),
    ("bench suite --only ", &["pingpong", "flood"], &["notes.txt"]),
    ("bench suite --original flood=no", &["notes.txt"], &[]),
    ("machines for", &["forth", "forth-switch"], &["redstorm"]),
    ("nic ", &["config", "dma", "all"], &["notes.txt"]),
    ("faults --quiz 1 --answer bug.sk", &["bug.skew"], &["link.drop"]),
    ("completions ", &["bash", "zsh", "fish"], &["notes.txt"]),
    ("report no", &["notes.txt"], &[]),
    ("diff no", &["notes.txt"], &[]),
];

/// A folder with a few files, one of them a machine's.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let mine = "base = \"redstorm\"\nname = \"mine\"\ndoc = \"mine\"\n";
    std::fs::write(folder.path().join("mine.toml"), mine).unwrap();
    folder
}

#[test]
fn bash_completes_names_and_files() {
    let folder = files();
    for (line, wanted, unwanted) in CASES {
        let offered = offered(folder.path(), line);
        for name in *wanted {
            assert!(offered.iter().any(|one| one == name), "{line}: no {name} in {offered:?}");
        }
        for name in *unwanted {
            assert!(!offered.iter().any(|one| one == name), "{line}: {name} in {offered:?}");
        }
    }
}

/// Machines are those of the root that runs take.
#[test]
fn machines_of_another_root_are_completed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["machines", "include"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    for name in ["include/mpi.h", "machines/redstorm.toml"] {
        std::fs::copy(root().join(name), folder.path().join(name)).unwrap();
    }
    std::fs::copy(root().join("machines/ideal.toml"), folder.path().join("machines/own.toml"))
        .unwrap();
    let mut complete = command();
    complete
        .env("SUNSTAR_ROOT", folder.path())
        .args(["complete", "--", "sunstar", "run", "-m", ""]);
    let said = ended(&mut complete).went_well().stdout.clone();
    let names: Vec<&str> = said.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, [":files ", "own", "redstorm"]);
}

/// Whatever stands on the line, completion says nothing of it on standard error, and never fails.
#[test]
fn lines_that_make_no_sense_complete_nothing() {
    for line in [
        "nosuch ",
        "run --nosuch ",
        "run --set nosuch.nosuch=",
        "run -",
        "run -- ",
        "",
        "run -m nosuch --set a",
    ] {
        let mut complete = command();
        complete.args(["complete", "--", "sunstar"]).args(line.split(' '));
        let ended = ended(&mut complete);
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{line}");
    }
    sunstar(["complete"]).went_well();
}

/// True if the shell is installed; the test says so if it is not.
fn has(shell: &str) -> bool {
    let there =
        Command::new(shell).arg("--version").output().is_ok_and(|said| said.status.success());
    if !there {
        eprintln!("there is no {shell}: its completion is not tried");
    }
    there
}

#[test]
fn fish_completes_names_and_files() {
    if !has("fish") {
        return;
    }
    let folder = files();
    let script = script(folder.path(), "fish");
    for (line, wanted, unwanted) in CASES {
        let mut fish = shell("fish", folder.path());
        let source = "source $argv[1]; complete -C $argv[2]";
        fish.args(["--no-config", "-c", source]).arg(&script).arg(format!("sunstar {line}"));
        let said = ended(&mut fish).went_well().stdout.clone();
        // Whole words, of which bash has the end.
        let offered: Vec<&str> = said.lines().filter_map(|line| line.split('\t').next()).collect();
        let is = |one: &str, name: &str| {
            let one = one.trim_end_matches('/');
            one == name || one.strip_suffix(name).is_some_and(|kept| kept.ends_with(['=', ':']))
        };
        for name in *wanted {
            assert!(offered.iter().any(|one| is(one, name)), "{line}: no {name} in {offered:?}");
        }
        for name in *unwanted {
            assert!(!offered.iter().any(|one| is(one, name)), "{line}: {name} in {offered:?}");
        }
    }
}

/// zsh's script, with what it would add.
#[test]
fn zsh_completes_names_and_files() {
    if !has("zsh") {
        return;
    }
    let folder = files();
    let script = script(folder.path(), "zsh");
    let drive = r#"
        compdef() { :; }
        _files() { print -- "files $PREFIX"; }
        compset() { PREFIX=${PREFIX#${(Q)2}}; IPREFIX+=${(Q)2}; }
        _describe() { local list=$4; print -l -- ${(P)list%%:*}; }
        source $1
        words=(${(z)2}); [[ $2 == *' ' ]] && words+=('')
        CURRENT=$#words PREFIX=$words[-1] IPREFIX=
        _sunstar
    "#;
    for (line, wanted) in [
        ("run --machine al", "alpu-mesh"),
        ("run --set host.kernel_en", "host.kernel_entry="),
        ("run --json no", "files no"),
        ("run --json=no", "files no"),
        ("bench ", "queues"),
    ] {
        let mut zsh = shell("zsh", folder.path());
        zsh.args(["-f", "-c", drive, "zsh"]).arg(&script).arg(format!("sunstar {line}"));
        let ended = ended(&mut zsh);
        assert_eq!(ended.stderr, "", "{line}");
        assert!(ended.stdout.lines().any(|one| one == wanted), "{line}: {}", ended.stdout);
    }
}
