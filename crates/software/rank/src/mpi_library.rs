//! MPI library of a program: Sunstar's, or one of another implementation that the program brings along.
//!
//! A program's own MPI stays its own: only programs that were linked by `sunstar cc`, or whose user says so,
//! have Sunstar's. All have the seam, which has no function of MPI's (docs/decisions/0159).

use crate::ahead::{self, list};
use crate::inspect::{self, Links};
use memchr::memmem;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// MPI library of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MpiLibrary {
    /// The program names none: it may start one that does, or load one while it runs. It finds Sunstar's.
    #[default]
    Unnamed,
    /// Sunstar's.
    Own,
    /// That of another implementation.
    Foreign(Arc<ForeignMpi>),
}

/// Implementation of MPI other than Sunstar's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// MPICH.
    Mpich,
    /// Intel MPI, which has MPICH's ABI.
    Intel,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Family::Mpich => "MPICH",
            Family::Intel => "Intel MPI",
        })
    }
}

/// Library of another implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignMpi {
    /// Its implementation.
    pub family: Family,
    /// Its file.
    pub library: PathBuf,
}

/// Reason for which a program has no MPI library that can run here.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum MpiLibraryError {
    /// It cannot be read, or its libraries cannot be listed.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, io::Error),
    /// The loader does not find it.
    #[error(
        "{program} needs {library}, which is nowhere: name its folder in LD_LIBRARY_PATH, or the \
         MPI with --mpi"
    )]
    Missing { program: PathBuf, library: String },
    /// It starts by another protocol.
    #[error(
        "{0} is Open MPI's, whose processes start by PMIx, which sunstar does not serve: build the \
         program with `sunstar cc` or `sunstar cc --mpi mpich`"
    )]
    OpenMpi(PathBuf),
    /// It has another way to the network.
    #[error(
        "{0} is an MPICH without libfabric, by which it would reach the simulated card: `pip \
         install mpich` has one with it"
    )]
    WithoutLibfabric(PathBuf),
    /// Nobody knows how to start it.
    #[error("{0} is of no MPI that sunstar knows: MPICH, Intel MPI and its own")]
    Unknown(PathBuf),
}

impl ForeignMpi {
    /// The implementation to which a library belongs, if it can run here.
    pub fn at(library: &Path) -> Result<ForeignMpi, MpiLibraryError> {
        let data = std::fs::read(library).map_err(|e| MpiLibraryError::Read(library.into(), e))?;
        let has = |words: &str| memmem::find(&data, words.as_bytes()).is_some();
        // Intel's has words of MPICH, from which it was made.
        let family = match () {
            () if has("Intel(R) MPI Library") => Family::Intel,
            () if has("Open MPI v") => return Err(MpiLibraryError::OpenMpi(library.into())),
            () if !has("MPICH Version") => return Err(MpiLibraryError::Unknown(library.into())),
            () if !has("fi_getinfo") => {
                return Err(MpiLibraryError::WithoutLibfabric(library.into()))
            }
            () => Family::Mpich,
        };
        Ok(ForeignMpi { family, library: library.into() })
    }

    /// Folder of the library.
    pub fn folder(&self) -> &Path {
        self.library.parent().unwrap_or(Path::new("/"))
    }

    /// Variables by which it takes the network that it shall have, and none beside: messages of two ranks of
    /// a node would pass through memory that they share, outside of the simulation.
    fn variables(&self, own: &Path) -> Vec<(&'static str, OsString)> {
        let mut all = vec![("FI_PROVIDER", "sunstar".into()), provider_path(own)];
        match self.family {
            Family::Mpich => {
                all.push(("MPIR_CVAR_CH4_NETMOD", "ofi".into()));
                all.push(("MPIR_CVAR_NOLOCAL", "1".into()));
            }
            Family::Intel => {
                all.push(("I_MPI_PMI", "pmi1".into()));
                all.push(("I_MPI_FABRICS", "ofi".into()));
                all.push(("I_MPI_OFI_PROVIDER", "sunstar".into()));
                let prefix = self.folder().parent().unwrap_or(self.folder());
                all.push(("I_MPI_ROOT", prefix.into()));
                // Its wheel brings no libfabric; that of MPICH does, and stands beside it.
                let beside = self.folder().join("mpich/libfabric.so.1");
                if beside.is_file() {
                    all.push(("I_MPI_OFI_LIBRARY", beside.into()));
                }
            }
        }
        all
    }
}

impl MpiLibrary {
    /// The MPI library of a program, or of the one that it launches, if that is among its arguments.
    /// Sunstar's libraries are in the folder `ours`.
    pub fn of(
        program: &Path,
        args: &[OsString],
        ours: &Path,
    ) -> Result<MpiLibrary, MpiLibraryError> {
        let program = ahead::with_mpi(program, args);
        let unreadable = |error| MpiLibraryError::Read(program.into(), error);
        let data = std::fs::read(program).map_err(unreadable)?;
        // A file that may not be run is refused elsewhere.
        let Ok(links @ Links { loader: Some(loader), .. }) = &inspect::links(&data) else {
            return Ok(MpiLibrary::Unnamed);
        };
        let abi = |name: &&String| [inspect::LIBRARY, inspect::FORTRAN_LIBRARY].contains(&&***name);
        let Some(needed) = links.needed.iter().find(|name| abi(name) || is_others(name)) else {
            return Ok(MpiLibrary::Unnamed);
        };
        if abi(&needed) && is_searched(links, program, ours) {
            return Ok(MpiLibrary::Own);
        }
        let listed = list(loader, program, None).map_err(unreadable)?;
        let found = listed.iter().find(|(name, _)| name == inspect::LIBRARY || is_others(name));
        match found {
            Some((_, path)) if !is_sunstars(path) => {
                Ok(MpiLibrary::Foreign(Arc::new(ForeignMpi::at(path)?)))
            }
            None if !abi(&needed) => {
                Err(MpiLibraryError::Missing { program: program.into(), library: needed.clone() })
            }
            _ => Ok(MpiLibrary::Own),
        }
    }

    /// True of another implementation's.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, MpiLibrary::Foreign(_))
    }

    /// Folder in which a program's libraries are looked for first; Sunstar's are in `own`.
    pub(crate) fn folder<'a>(&'a self, own: &'a Path) -> &'a Path {
        match self {
            MpiLibrary::Foreign(foreign) => foreign.folder(),
            MpiLibrary::Unnamed | MpiLibrary::Own => own,
        }
    }

    /// Variables that a program's processes have for it. Any program may use libfabric.
    pub(crate) fn variables(&self, own: &Path) -> Vec<(&'static str, OsString)> {
        match self {
            MpiLibrary::Foreign(foreign) => foreign.variables(own),
            MpiLibrary::Unnamed | MpiLibrary::Own => vec![provider_path(own)],
        }
    }
}

/// Variable by which libfabric finds the provider.
fn provider_path(own: &Path) -> (&'static str, OsString) {
    ("FI_PROVIDER_PATH", own.join("libfabric").into())
}

fn is_others(name: &str) -> bool {
    inspect::OTHERS.contains(&name)
}

/// True if a program was linked to Sunstar's library: its own paths lead there.
fn is_searched(links: &Links, program: &Path, ours: &Path) -> bool {
    let origin = program.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let folders = links.searched.iter().flat_map(|paths| paths.split(':'));
    folders.map(|folder| PathBuf::from(folder.replace("$ORIGIN", &origin))).any(|folder| {
        let same = folder.canonicalize().is_ok_and(|a| ours.canonicalize().is_ok_and(|b| a == b));
        same || is_sunstars(&folder.join(inspect::LIBRARY))
    })
}

/// True of a library that is Sunstar's, perhaps of another installation: it goes through the seam.
fn is_sunstars(library: &Path) -> bool {
    let data = std::fs::read(library).unwrap_or_default();
    memmem::find(&data, inspect::SEAM.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let path = || PathBuf::from("/l/libmpi.so.12");
        let cases = [
            (
                MpiLibraryError::Read(path(), io::Error::from_raw_os_error(libc::EACCES)),
                "cannot read /l/libmpi.so.12: Permission denied (os error 13)",
            ),
            (
                MpiLibraryError::Missing { program: "p".into(), library: "libmpi.so.12".into() },
                "p needs libmpi.so.12, which is nowhere: name its folder in LD_LIBRARY_PATH, or \
                 the MPI with --mpi",
            ),
            (
                MpiLibraryError::OpenMpi(path()),
                "/l/libmpi.so.12 is Open MPI's, whose processes start by PMIx, which sunstar does \
                 not serve: build the program with `sunstar cc` or `sunstar cc --mpi mpich`",
            ),
            (
                MpiLibraryError::WithoutLibfabric(path()),
                "/l/libmpi.so.12 is an MPICH without libfabric, by which it would reach the \
                 simulated card: `pip install mpich` has one with it",
            ),
            (
                MpiLibraryError::Unknown(path()),
                "/l/libmpi.so.12 is of no MPI that sunstar knows: MPICH, Intel MPI and its own",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn libraries_are_told_by_their_words() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libmpi.so.12");
        let told = |words: &str| {
            std::fs::write(&library, words).unwrap();
            ForeignMpi::at(&library).map(|foreign| foreign.family).map_err(|why| why.to_string())
        };
        assert_eq!(told("MPICH Version: fi_getinfo"), Ok(Family::Mpich));
        assert_eq!(told("MPICH Version: Intel(R) MPI Library"), Ok(Family::Intel));
        assert!(told("MPICH Version:").unwrap_err().contains("without libfabric"));
        assert!(told("Open MPI v").unwrap_err().contains("PMIx"));
        assert!(told("").unwrap_err().contains("no MPI that sunstar knows"));
    }
}
