//! A reader's terminal: the folder where a document's commands are typed, and what they find there.

use super::commands::{is_a_file, Step};
use super::read::{Document, Piece};
use crate::gdb::Waiting;
use crate::runner::{ended, hearing, root, waited_for, Ended};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Programs that documents call the reader's own, and what makes them before their first use.
pub const OWN: &[(&str, &str)] = &[
    ("myprogram.c", "cp examples/ring.c myprogram.c"),
    ("prog.c", "cp examples/ring.c prog.c"),
    ("program.c", "cp examples/ring.c program.c"),
    ("./server", "sunstar cc examples/hello.c -o server"),
    ("./client", "sunstar cc examples/hello.c -o client"),
    ("./of-mpich", "build/mpich/bin/mpicc examples/ring.c -o of-mpich"),
    ("./prog", "build/mpich/bin/mpicc examples/ring.c -o prog"),
    ("mpich/bin/mpicc", "ln -s build/mpich mpich"),
    ("a.c", "cp examples/hello.c a.c"),
    (
        "script.py",
        "printf '#!/usr/bin/env python3\nprint(\"here\")\n' >script.py; chmod +x script.py",
    ),
    ("program.py", "echo 'print(\"here\")' >program.py"),
];

/// Line between the outputs of commands in a guest.
const MARK: &str = "@ended@";

/// Longest time for a command, in seconds.
const SECONDS: &str = "900";

/// A run of another MPI sees no shared memory of others.
const ALONE: &str = "mount -t tmpfs none /dev/shm && exec sh -c \"$1\"";

pub struct Session {
    folder: tempfile::TempDir,
    /// Folder in which commands are typed.
    here: PathBuf,
    /// Servers in the background.
    servers: Vec<(Step, std::process::Child)>,
}

impl Session {
    /// A folder that has what the repository has, with the command where it is after `make build`, and on
    /// `PATH` what an installation puts there. READMEs beside sources are read in their folder.
    pub fn of(document: &Document) -> Session {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for entry in std::fs::read_dir(root()).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            // Without the manifest the firmware is linked by the command, as where Sunstar is installed.
            let own = ["target", "build", "firmware", ".git", "Cargo.toml", "dist"];
            if !own.contains(&name.as_str()) {
                symlink(entry.path(), at(&name)).unwrap();
            }
        }
        for entry in std::fs::read_dir(root().join("build")).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            std::fs::create_dir_all(at("build")).unwrap();
            if name != "bin" && name != "firmware" {
                symlink(entry.path(), at("build").join(name)).unwrap();
            }
        }
        for copied in ["firmware", "build/firmware"] {
            let from = root().join(copied);
            let copy = Command::new("cp").arg("-a").arg(from).arg(at(copied)).status();
            assert!(copy.unwrap().success(), "{copied}");
        }
        let command = env!("CARGO_BIN_EXE_sunstar");
        for bin in ["target/release", "build/bin", ".bin"] {
            std::fs::create_dir_all(at(bin)).unwrap();
            symlink(command, at(bin).join("sunstar")).unwrap();
        }
        for entry in std::fs::read_dir(root().join("build/bin")).unwrap().flatten() {
            symlink(command, at("build/bin").join(entry.file_name())).unwrap();
        }
        write_files(document, folder.path());
        let beside = Path::new(&document.name).parent().unwrap();
        let sources = ["firmware", "rtl"].iter().any(|top| beside.starts_with(top));
        let here = if sources { at("").join(beside) } else { folder.path().to_path_buf() };
        Session { folder, here, servers: Vec::new() }
    }

    /// Runs a command as it is typed, with what it needs of the reader's own.
    pub fn run(&mut self, step: &Step) -> Ended {
        for (name, made) in OWN {
            let named = step.line.split_whitespace().any(|word| word == *name);
            if named && !self.here.join(name).exists() {
                let ended = ended(&mut self.shell(made));
                assert_eq!(ended.code, 0, "{made}: {ended:#?}");
            }
        }
        if let Some(line) = step.line.strip_suffix('&') {
            self.serve(step, line);
            return Ended { code: 0, stdout: String::new(), stderr: String::new() };
        }
        let mut shell = self.shell(&step.line);
        if step.line.contains("--gdb ") {
            return debugged(shell, step);
        }
        if !step.typed.is_empty() {
            let file = self.folder.path().join(".typed");
            std::fs::write(&file, step.typed.join("\n") + "\n").unwrap();
            shell.stdin(std::fs::File::open(file).unwrap());
        }
        ended(&mut shell)
    }

    /// True if a file is not there.
    pub fn lacks(&self, file: &str) -> bool {
        !self.here.join(file).exists()
    }

    /// Types commands in a guest; the outputs of each.
    pub fn run_in_guest(&self, opened: &Step, steps: &[&Step]) -> Vec<Ended> {
        let lines = steps.iter().map(|step| format!("{}\necho \"{MARK} $?\"\n", step.line));
        let file = self.folder.path().join(".typed");
        std::fs::write(&file, format!("exec 2>&1\n{}", lines.collect::<String>())).unwrap();
        let mut shell = self.shell(&opened.line);
        let whole = ended(shell.stdin(std::fs::File::open(file).unwrap()));
        let parts: Vec<&str> = whole.stdout.split(MARK).collect();
        assert_eq!(parts.len(), steps.len() + 1, "{whole:#?}");
        let mut printed = Vec::new();
        for (at, part) in parts[1..].iter().enumerate() {
            let (code, _) = part.split_once('\n').unwrap();
            // What is printed before this mark is behind the line of the one before.
            let before = if at == 0 { parts[0] } else { parts[at].split_once('\n').unwrap().1 };
            let code = code.trim().parse().unwrap();
            printed.push(Ended { code, stdout: before.to_string(), stderr: String::new() });
        }
        printed
    }

    /// Starts what serves for ever.
    fn serve(&mut self, step: &Step, line: &str) {
        let mut shell = self.shell(&format!("exec {line}"));
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        self.servers.push((step.clone(), shell.spawn().unwrap()));
    }

    /// Ends servers by SIGTERM; those which had ended by themselves.
    pub fn end(mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (step, mut child) in self.servers.drain(..) {
            std::thread::sleep(Duration::from_secs(1));
            let early = child.try_wait().unwrap();
            // SAFETY: kill touches no memory; the child has not been waited for, or is not there any more.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
            let code = Ended::from(child.wait_with_output().unwrap()).code;
            if early.is_some() || ![128 + libc::SIGTERM, -libc::SIGTERM].contains(&code) {
                wrong.push(format!(
                    "{}: {} does not serve: {early:?}, {code}",
                    step.place, step.line
                ));
            }
        }
        wrong
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("timeout");
        shell.args(["-k", "5", SECONDS]);
        if line.contains("mpich") || line.contains("./prog") {
            shell.args([
                "unshare",
                "-rmpf",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                ALONE,
                "sh",
            ]);
        } else {
            shell.args(["sh", "-c"]);
        }
        shell.arg(line).current_dir(&self.here).stdin(Stdio::null());
        let toolchain = std::fs::read_to_string(root().join("build/toolchain")).unwrap_or_default();
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.folder.path().join(".bin");
        shell.env("PATH", format!("{}:{}:{path}", bin.display(), toolchain.trim()));
        shell.env("SUNSTAR_ROOT", root()).env("LC_ALL", "C.UTF-8");
        shell.env("VIRTUAL_ENV", root().join("build/mpich"));
        shell.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        // Makefiles of this repository take these for their own.
        for name in ["BUILD", "MAKEFLAGS", "MAKELEVEL"] {
            shell.env_remove(name);
        }
        hearing(&mut shell);
        shell
    }
}

/// Runs with gdb, which connects as the command says, and types what the document does.
fn debugged(mut shell: Command, step: &Step) -> Ended {
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let waiting = Waiting::on(shell);
    let invitation = waiting.invitation.clone();
    let script: Vec<&str> = step.typed.iter().map(String::as_str).chain(["detach"]).collect();
    let gdb = waited_for(
        waiting.gdb(&script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
    );
    let refused = ["No symbol", "Cannot", "Undefined", "Invalid", "not defined", "Junk"];
    let said: Vec<&str> =
        gdb.stderr.lines().filter(|line| refused.iter().any(|word| line.contains(word))).collect();
    let ended = waiting.ended();
    assert!(said.is_empty() && gdb.code == 0, "{}: {said:#?} {gdb:#?} {ended:#?}", step.place);
    Ended { stdout: invitation, ..ended }
}

/// Files that the document tells the reader to save.
fn write_files(document: &Document, folder: &Path) {
    for piece in &document.pieces {
        let Piece::Block(block) = piece else { continue };
        if !is_a_file(block) {
            continue;
        }
        let around = format!("{} {}", block.before, block.after).replace('\n', " ");
        let name = around.split("ave it as `").nth(1).and_then(|rest| rest.split('`').next());
        if let Some(name) = name {
            std::fs::write(folder.join(name), block.lines.join("\n") + "\n").unwrap();
        }
    }
}
