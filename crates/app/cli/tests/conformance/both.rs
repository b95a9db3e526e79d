//! A program that is built once, and run here and on MPICH.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// A program, and the folder in which it was built.
pub struct Program {
    source: String,
    folder: TempDir,
}

/// Ending of a run here.
pub struct Ours {
    /// Command line that repeats it.
    pub line: String,
    pub well: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Program {
    /// Builds `source`, a file of the project.
    pub fn build(source: &str, compiler: &[&str]) -> Program {
        let (root, folder) = (root(), tempfile::tempdir().unwrap());
        let mut sunstar = Command::new(env!("CARGO_BIN_EXE_sunstar"));
        // There, as a compiler of Fortran leaves files of its own.
        sunstar.current_dir(&folder).args(compiler).arg("-I").arg(root.join("tests/mpi"));
        let built = sunstar.arg(root.join(source)).args(["-o", "program"]).output().unwrap();
        assert!(built.status.success(), "{source}: {}", String::from_utf8_lossy(&built.stderr));
        Program { source: source.into(), folder }
    }
    /// Output of it on MPICH; `None` if it fails there. MPICH hangs at times, and has two minutes.
    pub fn theirs(&self, ranks: u32, arguments: &[&str]) -> Option<String> {
        let root = root();
        let mpiexec = root.join("build/mpich/bin/mpiexec");
        assert!(mpiexec.exists(), "{} is missing: scripts/bootstrap test", mpiexec.display());
        let libraries = [root.join("build/mpich/lib"), root.join("build/lib")];
        let mut command = Command::new("timeout");
        command.arg("120").arg(mpiexec).args(["-n", &ranks.to_string()]).arg(self.binary());
        command.args(arguments).env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
        let Output { status, stdout, .. } = command.output().unwrap();
        status.success().then(|| String::from_utf8_lossy(&stdout).into_owned())
    }
    /// Runs it here, judged.
    pub fn ours(&self, ranks: u32, settings: &[&str], arguments: &[&str]) -> Ours {
        let ranks = ranks.to_string();
        let mut options = vec!["run", "--judge", "-n", &ranks];
        options.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let mut command = Command::new(env!("CARGO_BIN_EXE_sunstar"));
        command.args(&options).arg(self.binary()).args(arguments);
        let Output { status, stdout, stderr } = command.output().unwrap();
        let (options, arguments) = (options.join(" "), arguments.join(" "));
        Ours {
            line: format!("sunstar {options} {} {arguments}", self.source),
            well: status.success(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }
    fn binary(&self) -> PathBuf {
        self.folder.path().join("program")
    }
}

impl Ours {
    /// Description of the error, if there is one: the run failed, or a line of `theirs` is missing in its
    /// place. Further lines are the summary.
    pub fn fault(&self, theirs: &str) -> Option<String> {
        let Ours { line, well, stdout, stderr } = self;
        let mut lines = stdout.lines();
        let differs = theirs.lines().find_map(|line| match lines.next() {
            Some(other) if other == line => None,
            other => Some(format!("{:?} instead of {line:?}", other.unwrap_or("nothing"))),
        });
        let wrong = differs.is_some() || !well;
        wrong.then(|| format!("{line}\n{}\n{stderr}", differs.unwrap_or_default()))
    }
}
