//! Boots that are kept in a folder, for later runs of the same machine.
//!
//! Each is a file whose name is the digest of everything that a boot depends on ([`Shelf::new`]) and
//! that begins with the text of it, so that a file can be of no other boot. A checksum follows, then
//! the boot's bytes, compressed. Files appear whole or not at all, however many runs write them at
//! once. One that is damaged, or cannot be read, is as none. Nothing here ends a run or says a word: a
//! boot that is not kept costs a few milliseconds.

use crate::digest::digest;
use crate::input;
use lz4_flex::block::{compress_prepend_size, decompress_size_prepended, uncompressed_size};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::NamedTempFile;

/// Changes with the format and with what boots depend on.
const VERSION: &str = "sunstar boot 2";
/// Files' names begin so.
const PREFIX: &str = "boot-";
/// Files that are kept; the oldest go.
const MOST: usize = 64;

/// The place of one boot.
pub(crate) struct Shelf {
    folder: PathBuf,
    /// What the boot depends on.
    key: String,
}

impl Shelf {
    /// In `folder`, for a boot that depends on this simulator and on what `key` says. `None` if the
    /// simulator is not known.
    pub fn new(folder: &Path, key: &str) -> Option<Shelf> {
        let key = format!("{VERSION}\n{}\n{key}", simulator()?);
        Some(Shelf { folder: folder.to_owned(), key })
    }
    fn file(&self) -> PathBuf {
        self.folder.join(format!("{PREFIX}{}", digest(self.key.as_bytes())))
    }
    /// The bytes that were kept, if they are unharmed.
    pub fn take(&self) -> Option<Vec<u8>> {
        let file = input::read(&self.file(), input::WRITTEN_MAX).ok()?;
        let rest = file.strip_prefix(self.key.as_bytes())?.strip_prefix(b"\n")?;
        let (checksum, packed) = rest.split_at_checked(digest(&[]).len())?;
        (checksum == digest(packed).as_bytes()).then(|| unpacked(packed))?
    }
    /// A new file for the boot; `None` if there cannot be one.
    pub fn begin(&self) -> Option<NamedTempFile> {
        std::fs::create_dir_all(&self.folder).ok()?;
        tempfile::Builder::new().prefix(PREFIX).suffix(".new").tempfile_in(&self.folder).ok()
    }
    /// Keeps these bytes, if that is possible.
    pub fn put(&self, mut file: NamedTempFile, bytes: &[u8]) {
        let packed = compress_prepend_size(bytes);
        let text = format!("{}\n{}", self.key, digest(&packed));
        let written = file.write_all(&[text.as_bytes(), &packed].concat());
        if written.is_ok() && file.persist(self.file()).is_ok() {
            self.tidy();
        }
    }
    /// The oldest files go if there are too many.
    fn tidy(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let ours = entries.flatten().filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
        });
        let dated = |entry: std::fs::DirEntry| {
            let at = entry.metadata().and_then(|about| about.modified());
            (at.unwrap_or(SystemTime::UNIX_EPOCH), entry.path())
        };
        let mut files: Vec<_> = ours.map(dated).collect();
        files.sort();
        let more = files.len().saturating_sub(MOST);
        for (_, file) in &files[..more] {
            // Another run may have been faster.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Bytes of a boot for each that is kept, at most: more than this LZ4 cannot say with one.
const LARGEST: usize = 255;

/// The boot's bytes. No more memory is taken than they can have, whatever size they claim.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let (size, _) = uncompressed_size(packed).ok()?;
    (size <= packed.len() * LARGEST).then(|| decompress_size_prepended(packed).ok())?
}

/// What tells this build of the simulator from all others: the executable's file, which the system
/// marks with the time of every change.
fn simulator() -> Option<String> {
    let about = std::fs::metadata("/proc/self/exe").ok()?;
    Some(format!(
        "simulator {}:{} of {} bytes, written {}.{:09}, changed {}.{:09}",
        about.dev(),
        about.ino(),
        about.size(),
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_is_kept_is_found_by_the_same_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(folder.path(), "a machine").unwrap();
        assert_eq!(shelf.take(), None);
        let bytes: Vec<u8> = (0..200).chain([0; 1000]).collect();
        shelf.put(shelf.begin().unwrap(), &bytes);
        assert_eq!(shelf.take().as_ref(), Some(&bytes));
        let other = Shelf::new(folder.path(), "another machine").unwrap();
        assert_eq!(other.take(), None);
        // Of two runs at once each writes all of it.
        let (first, second) = (shelf.begin().unwrap(), shelf.begin().unwrap());
        shelf.put(second, &bytes);
        shelf.put(first, &bytes);
        assert_eq!((shelf.take().as_ref(), kept(folder.path())), (Some(&bytes), 1));
        // The file of another key under this one's name.
        other.put(other.begin().unwrap(), &[1]);
        std::fs::copy(other.file(), shelf.file()).unwrap();
        assert_eq!((shelf.take(), other.take()), (None, Some(vec![1])));
    }

    #[test]
    fn damage_is_seen_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(folder.path(), "a machine").unwrap();
        shelf.put(shelf.begin().unwrap(), &[3, 1, 4, 1, 5, 9, 0, 0, 0, 2, 6, 0, 5]);
        let whole = std::fs::read(shelf.file()).unwrap();
        for index in 0..whole.len() {
            let mut other = whole.clone();
            other[index] ^= 1 << (index % 8);
            std::fs::write(shelf.file(), other).unwrap();
            assert_eq!(shelf.take(), None, "byte {index} of {}", whole.len());
            std::fs::write(shelf.file(), &whole[..index]).unwrap();
            assert_eq!(shelf.take(), None, "{index} bytes of {}", whole.len());
        }
        std::fs::write(shelf.file(), [&whole[..], &[0]].concat()).unwrap();
        assert_eq!(shelf.take(), None);
        std::fs::write(shelf.file(), &whole).unwrap();
        assert!(shelf.take().is_some());
    }

    /// Nobody writes to it, and whoever waited for that would wait for ever.
    #[test]
    fn a_pipe_is_no_boot() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(folder.path(), "a machine").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(shelf.file()).status().unwrap().success());
        assert_eq!(shelf.take(), None);
        shelf.put(shelf.begin().unwrap(), &[1]);
        assert_eq!(shelf.take(), Some(vec![1]));
    }

    #[test]
    fn a_size_that_cannot_be_takes_no_memory() {
        let mut packed = compress_prepend_size(&[1, 2, 3]);
        assert_eq!(unpacked(&packed), Some(vec![1, 2, 3]));
        packed[..4].copy_from_slice(&[0xff; 4]);
        assert_eq!(unpacked(&packed), None);
        let zeros = vec![0; 1 << 20];
        assert_eq!(unpacked(&compress_prepend_size(&zeros)), Some(zeros), "nothing packs better");
    }

    #[test]
    fn fuzz_packed_boots() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).chain([0; 3000]).collect();
        let packed = compress_prepend_size(&bytes);
        fuzz::Target::new("packed boots").seed(packed).seed(vec![0; 4]).run(|packed| {
            let bytes = unpacked(packed).unwrap_or_default();
            assert!(bytes.len() <= packed.len() * LARGEST);
        });
    }

    #[test]
    fn fuzz_kept_boots() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(folder.path(), "a machine").unwrap();
        let kept: Vec<u8> = (0..200).collect();
        shelf.put(shelf.begin().unwrap(), &kept);
        let file = std::fs::read(shelf.file()).unwrap();
        fuzz::Target::new("kept boots").seed(file).run(|bytes| {
            std::fs::write(shelf.file(), bytes).unwrap();
            assert!(shelf.take().is_none_or(|bytes| bytes == kept));
        });
    }

    #[test]
    fn the_oldest_go_and_what_is_not_ours_stays() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes"), "mine").unwrap();
        for index in 0..MOST + 5 {
            let shelf = Shelf::new(folder.path(), &format!("machine {index}")).unwrap();
            shelf.put(shelf.begin().unwrap(), &[1]);
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 + index as u64);
            let file = std::fs::File::options().write(true).open(shelf.file()).unwrap();
            file.set_modified(at).unwrap();
        }
        assert_eq!(kept(folder.path()), MOST + 1);
        let there = |index: usize| {
            Shelf::new(folder.path(), &format!("machine {index}")).unwrap().take().is_some()
        };
        assert!(!there(0) && !there(4) && there(5) && there(MOST + 4));
    }

    #[test]
    fn a_folder_that_cannot_be_is_no_mistake() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let shelf = Shelf::new(&file.join("below"), "a machine").unwrap();
        assert!(shelf.begin().is_none() && shelf.take().is_none());
    }
}
