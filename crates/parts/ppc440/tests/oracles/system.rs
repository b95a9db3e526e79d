//! QEMU's system emulation: the guest's memory is a file, written before and read after the run.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const QEMU: &str = "qemu-system-ppc";

/// A guest that says it has ended by a word in its memory.
pub struct Guest {
    qemu: Child,
    memory: File,
    paths: Vec<PathBuf>,
}

impl Guest {
    /// Starts board `board` with `image` at the start of its memory of `mib` MiB, and further
    /// arguments.
    pub fn start(name: &str, board: &str, mib: usize, image: &[u8], arguments: &[&str]) -> Guest {
        let path = temporary(&format!("{name}.ram"), image);
        let memory = File::options().read(true).write(true).open(&path).unwrap();
        memory.set_len((mib << 20) as u64).unwrap();
        let backend =
            format!("memory-backend-file,id=ram,share=on,size={mib}M,mem-path={}", path.display());
        let qemu = Command::new(QEMU)
            .args(["-M", &format!("{board},memory-backend=ram"), "-m", &mib.to_string()])
            .args(["-object", &backend, "-nodefaults", "-display", "none", "-vga", "none"])
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Guest { qemu, memory, paths: vec![path] }
    }
    /// Removes this file at the end, too.
    pub fn remove(mut self, path: &Path) -> Guest {
        self.paths.push(path.to_owned());
        self
    }
    /// Waits until the big-endian word at `flag` is not 0, ends QEMU, and returns the word; 0 if
    /// that takes too long.
    pub fn wait(&mut self, flag: u64, at_most: Duration) -> u32 {
        let start = Instant::now();
        let mut word = [0; 4];
        loop {
            self.memory.read_exact_at(&mut word, flag).unwrap();
            if u32::from_be_bytes(word) != 0 || start.elapsed() > at_most {
                break;
            }
            if let Some(status) = self.qemu.try_wait().unwrap() {
                panic!("{QEMU} ended with {status}: {}", self.errors());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.qemu.kill().unwrap();
        self.qemu.wait().unwrap();
        u32::from_be_bytes(word)
    }
    fn errors(&mut self) -> String {
        let mut text = String::new();
        if let Some(stderr) = &mut self.qemu.stderr {
            let _ = std::io::Read::read_to_string(stderr, &mut text);
        }
        text
    }
    /// Bytes of the guest's memory.
    pub fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Writes a file of this process.
pub fn temporary(name: &str, bytes: &[u8]) -> PathBuf {
    let name = format!("{name}-{}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
