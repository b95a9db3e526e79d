//! Files that a user has named, or that an earlier run has kept: they are read completely, or refused at
//! once. Reading a device or a pipe would block, or never end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Largest size in bytes of a file that people write: a machine, the plan of a sweep.
pub const TEXT_MAX: u64 = 16 << 20;
/// Largest size in bytes of a file that Sunstar or a compiler has written: a run, a boot, an image.
pub const WRITTEN_MAX: u64 = 1 << 30;

/// Opens a file for reading, if it is a regular file.
pub fn open(file: &Path) -> io::Result<File> {
    // Whoever opens a pipe would wait for its writer.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    let kind = opened.metadata()?.file_type();
    match kind {
        _ if kind.is_file() => Ok(opened),
        _ if kind.is_dir() => Err(io::Error::other("it is a folder, not a file")),
        _ => Err(io::Error::other("it is a device or a pipe, not a file")),
    }
}

/// The bytes of a file, if they are no more than `most`.
pub fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(file)?;
    let found = file.metadata()?.len();
    let mut bytes = Vec::new();
    if found <= most {
        // It may grow meanwhile.
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    let found = found.max(bytes.len() as u64);
    if found > most {
        let why = format!("it has {found} bytes or more, and {most} are the most that are read");
        return Err(io::Error::other(why));
    }
    Ok(bytes)
}

/// The text of a file that people write.
pub fn text(file: &Path) -> io::Result<String> {
    let bytes = read(file, TEXT_MAX)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text (UTF-8)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a C string that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for (file, why) in [
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/dev/tty"), ""),
            (&pipe, "a pipe"),
            (folder.path(), "a folder"),
        ] {
            let said = read(file, 10).unwrap_err().to_string();
            assert!(said.contains(why), "{}: {said}", file.display());
        }
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "0123456789").unwrap();
        assert_eq!(read(&file, 10).unwrap(), b"0123456789");
        assert!(read(&file, 9).unwrap_err().to_string().contains("10 bytes"));
        // No memory has room for it.
        File::options().write(true).open(&file).unwrap().set_len(1 << 42).unwrap();
        assert!(read(&file, WRITTEN_MAX).unwrap_err().to_string().contains("4398046511104"));
        // It says that it has none, and has some.
        assert!(read(Path::new("/proc/self/status"), 10).is_err());
    }
}
