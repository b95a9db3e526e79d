//! A folder of things that can be made again. Each is a folder of files with a seal: a digest of each file.
//! One whose seal does not fit is removed, and made anew by whoever wanted it. Nothing is given back from a
//! folder that another user could have written: libraries that are kept are loaded, and run with this user's
//! rights.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// File with the seal of a kept thing: lines of a digest and a name.
const SEAL: &str = "seal";
/// Largest file in bytes that is kept.
const MOST: u64 = 1 << 30;
/// Bits of a mode: writable by all, by the group, and only the owner of a file may replace it.
const OTHERS: u32 = 0o002;
const GROUP: u32 = 0o020;
const STICKY: u32 = 0o1000;

/// A folder of kept things.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// Reason for which a folder is not used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum CacheError {
    /// It is not there and cannot be made.
    #[error("{folder}: {why}")]
    Folder { folder: PathBuf, why: io::Error },
    /// Somebody else could write there, or in a folder above it.
    #[error(
        "{folder} is not used: {above} {writers}. Remove it or change its owner and mode, or \
         name another folder in XDG_CACHE_HOME"
    )]
    Shared { folder: PathBuf, above: PathBuf, writers: Writers },
}

/// Other users who could change what is in a folder, as the end of a sentence.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum Writers {
    /// Nobody knows.
    #[error("cannot be looked at ({0})")]
    Unknown(io::Error),
    /// Its owner.
    #[error("belongs to user {owner} and not to {user}, who runs this")]
    Owner { owner: u32, user: u32 },
    /// Everybody.
    #[error("can be written by all users")]
    All,
    /// The members of a group, by its number.
    #[error("can be written by group {0}")]
    Group(u32),
}

/// Digest of bytes. It finds damage; against other users the owner of a file is looked at.
pub fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl Cache {
    /// Opens a folder, and makes it for this user alone if there is none.
    pub fn open(folder: &Path) -> Result<Cache, CacheError> {
        let failed = |why| CacheError::Folder { folder: folder.to_owned(), why };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        // Links on the way lead elsewhere; what counts is where it is.
        let folder = folder.canonicalize().map_err(failed)?;
        match folder.ancestors().find_map(|above| Some((above, writers(above, above == folder)?))) {
            None => Ok(Cache { folder }),
            Some((above, writers)) => {
                let above = above.to_owned();
                Err(CacheError::Shared { folder, above, writers })
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a kept thing, if it is whole. One that is damaged is removed.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let kept = self.folder.join(name);
        let facts = fs::symlink_metadata(&kept).ok()?;
        if facts.is_dir() && writers(&kept, true).is_none() && is_whole(&kept) {
            return Some(kept);
        }
        // Whatever stands there is in the way.
        let _ = fs::remove_dir_all(&kept).or_else(|_| fs::remove_file(&kept));
        None
    }

    /// Keeps what was made in folder `made`, which is moved. Another command may have been faster, and have
    /// kept the same.
    pub fn keep(&self, name: &str, made: &Path) -> io::Result<PathBuf> {
        let kept = self.folder.join(name);
        fs::write(made.join(SEAL), seal(made)?)?;
        if self.find(name).is_none() {
            match fs::rename(made, &kept) {
                Ok(()) => return Ok(kept),
                Err(why) if self.find(name).is_none() => return Err(why),
                Err(_) => {}
            }
        }
        fs::remove_dir_all(made)?;
        Ok(kept)
    }
}

/// Other users who could change what is in a folder; none if nobody. The system's own user may. In those that
/// are `own` nobody may add anything either.
fn writers(folder: &Path, own: bool) -> Option<Writers> {
    let facts = match fs::symlink_metadata(folder) {
        Ok(facts) => facts,
        Err(why) => return Some(Writers::Unknown(why)),
    };
    // SAFETY: these calls take nothing and touch no memory.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if facts.uid() != user && (own || facts.uid() != 0) {
        return Some(Writers::Owner { owner: facts.uid(), user });
    }
    let kept_apart = !own && facts.mode() & STICKY != 0;
    if facts.mode() & OTHERS != 0 && !kept_apart {
        return Some(Writers::All);
    }
    // A group of one's own has nobody else in it.
    let alone = facts.gid() == group && group == user;
    if facts.mode() & GROUP != 0 && !alone && !kept_apart {
        return Some(Writers::Group(facts.gid()));
    }
    None
}

/// The seal of what is in a folder.
fn seal(folder: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != SEAL {
            let bytes = crate::input::read(&entry.path(), MOST)?;
            lines.push(format!("{:016x} {name}\n", digest(&bytes)));
        }
    }
    lines.sort();
    Ok(lines.concat())
}

fn is_whole(folder: &Path) -> bool {
    let sealed = crate::input::text(&folder.join(SEAL));
    matches!((sealed, seal(folder)), (Ok(sealed), Ok(found)) if sealed == found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    /// A cache with one thing of two files.
    fn kept() -> (tempfile::TempDir, Cache, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("deep/cache")).unwrap();
        let made = cache.folder().join("new");
        fs::create_dir(&made).unwrap();
        fs::write(made.join("library.so"), "code").unwrap();
        fs::write(made.join("notes"), "text").unwrap();
        let kept = cache.keep("thing", &made).unwrap();
        assert!(!made.exists());
        assert_eq!(cache.find("thing"), Some(kept.clone()));
        (folder, cache, kept)
    }

    #[test]
    fn what_is_damaged_is_removed() {
        let damages: [fn(&Path); 8] = [
            |kept| fs::write(kept.join("library.so"), "c0de").unwrap(),
            |kept| fs::write(kept.join("library.so"), "").unwrap(),
            |kept| fs::remove_file(kept.join("notes")).unwrap(),
            |kept| fs::write(kept.join("more"), "").unwrap(),
            |kept| fs::remove_file(kept.join(SEAL)).unwrap(),
            |kept| fs::write(kept.join(SEAL), "").unwrap(),
            |kept| {
                fs::remove_dir_all(kept).unwrap();
                fs::write(kept, "a file").unwrap();
            },
            |kept| {
                let elsewhere = kept.with_file_name("elsewhere");
                fs::rename(kept, &elsewhere).unwrap();
                symlink(elsewhere, kept).unwrap();
            },
        ];
        for (at, damage) in damages.iter().enumerate() {
            let (_folder, cache, kept) = kept();
            damage(&kept);
            assert_eq!(cache.find("thing"), None, "damage {at}");
            assert!(fs::symlink_metadata(&kept).is_err(), "damage {at}");
        }
    }

    #[test]
    fn what_another_could_have_written_is_not_given_back() {
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let (_folder, cache, kept) = kept();
        mode(&kept, 0o777);
        assert_eq!(cache.find("thing"), None);

        let (folder, cache, _) = self::kept();
        for (path, bits) in
            [(cache.folder(), 0o777), (cache.folder(), 0o1777), (folder.path(), 0o777)]
        {
            mode(path, bits);
            let error = Cache::open(cache.folder()).unwrap_err();
            let (folder, above) = (cache.folder().display(), path.display());
            let said = format!(
                "{folder} is not used: {above} can be written by all users. Remove it or change \
                 its owner and mode, or name another folder in XDG_CACHE_HOME"
            );
            assert_eq!(error.to_string(), said, "{bits:o}");
            mode(path, 0o700);
        }
        // Above, only owners replace what they have there.
        mode(folder.path(), 0o1777);
        assert!(Cache::open(cache.folder()).is_ok());
    }

    #[test]
    fn each_reason_is_a_sentence() {
        let none = || io::Error::from_raw_os_error(libc::ENOENT);
        let missing = "No such file or directory (os error 2)";
        let cases = [
            (Writers::Unknown(none()), format!("cannot be looked at ({missing})")),
            (
                Writers::Owner { owner: 0, user: 7 },
                "belongs to user 0 and not to 7, who runs this".to_owned(),
            ),
            (Writers::All, "can be written by all users".to_owned()),
            (Writers::Group(12), "can be written by group 12".to_owned()),
        ];
        for (writers, sentence) in cases {
            assert_eq!(writers.to_string(), sentence);
        }
        let failed = CacheError::Folder { folder: "/a/b".into(), why: none() };
        assert_eq!(failed.to_string(), format!("/a/b: {missing}"));
    }

    #[test]
    fn two_may_keep_the_same() {
        let (_folder, cache, kept) = kept();
        let made = cache.folder().join("again");
        fs::create_dir(&made).unwrap();
        fs::write(made.join("library.so"), "code").unwrap();
        assert_eq!(cache.keep("thing", &made).unwrap(), kept);
        assert!(!made.exists() && kept.join("notes").exists(), "the first one stays");
    }
}
