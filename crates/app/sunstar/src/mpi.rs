//! The MPI that a program shall have, as `--mpi` names it, and where it is installed.

use crate::tools::PYTHON;
use crate::usage_error::UsageError;
use rank::{Family, ForeignMpi, MpiLibrary, MpiLibraryError};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::sync::Arc;

/// Name of the library of MPICH's ABI.
const LIBRARY: &str = "libmpi.so.12";
/// Folders of libraries below an installation's: Debian's is named after the machine.
const FOLDERS: [&str; 3] = ["lib", "lib64", "lib/x86_64-linux-gnu"];

/// MPI that the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Sunstar's.
    Own,
    /// An installed one of that implementation.
    Installed(Family),
    /// The one in this folder.
    At(PathBuf),
}

/// A word that names no MPI.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// It is Open MPI, which starts otherwise.
    #[error(
        "Open MPI's processes start by PMIx, which sunstar does not serve; it is own, mpich or \
         intel"
    )]
    OpenMpi,
    /// It is neither a name nor a folder.
    #[error("it is own, mpich, intel, or the folder of an installation")]
    Unknown,
}

impl FromStr for Choice {
    type Err = ChoiceError;

    fn from_str(word: &str) -> Result<Choice, ChoiceError> {
        match word {
            "own" => Ok(Choice::Own),
            "mpich" => Ok(Choice::Installed(Family::Mpich)),
            "intel" => Ok(Choice::Installed(Family::Intel)),
            "openmpi" => Err(ChoiceError::OpenMpi),
            folder if Path::new(folder).is_dir() => Ok(Choice::At(folder.into())),
            _ => Err(ChoiceError::Unknown),
        }
    }
}

/// The word that is the choice.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Own => f.write_str("own"),
            Choice::Installed(Family::Mpich) => f.write_str("mpich"),
            Choice::Installed(Family::Intel) => f.write_str("intel"),
            Choice::At(folder) => write!(f, "{}", folder.display()),
        }
    }
}

/// An MPI of another implementation that is installed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its library.
    pub library: ForeignMpi,
    /// The folder above those of its libraries and headers.
    prefix: PathBuf,
}

impl Choice {
    /// The chosen MPI, if it is another implementation's.
    pub fn installed(&self) -> Result<Option<Installed>, UsageError> {
        match self {
            Choice::Own => Ok(None),
            Choice::Installed(family) => find(*family).map(Some),
            Choice::At(folder) => {
                let absolute = std::path::absolute(folder);
                let absolute = absolute.map_err(|e| UsageError::with_file("find", folder, e))?;
                // The folder of the library itself may be named: headers are beside it.
                let above = absolute.parent().filter(|_| absolute.join(LIBRARY).is_file());
                let found = above.into_iter().chain([&*absolute]).find_map(at);
                found.transpose()?.map(Some).ok_or_else(|| {
                    UsageError::sentence(format!(
                        "--mpi {}: no {LIBRARY} is there",
                        folder.display()
                    ))
                })
            }
        }
    }
}

impl Installed {
    /// Folder of its headers.
    pub fn headers(&self) -> Result<PathBuf, UsageError> {
        let headers = self.prefix.join("include");
        if !headers.join("mpi.h").is_file() {
            return Err(UsageError::sentence(format!(
                "{} has no mpi.h: install its headers, or compile with `sunstar cc --mpi mpich`, \
                 which has the same ABI as Intel MPI",
                headers.display()
            )));
        }
        Ok(headers)
    }
}

/// The library that a program has by a choice.
pub fn library(choice: &Choice) -> Result<MpiLibrary, UsageError> {
    let installed = choice.installed()?;
    Ok(installed.map_or(MpiLibrary::Own, |mpi| MpiLibrary::Foreign(Arc::new(mpi.library))))
}

/// The installation below a folder, if there is one.
fn at(prefix: &Path) -> Option<Result<Installed, MpiLibraryError>> {
    let library = FOLDERS.iter().map(|folder| prefix.join(folder).join(LIBRARY));
    let library = library.chain([prefix.join(LIBRARY)]).find(|path| path.is_file())?;
    let prefix = prefix.to_owned();
    Some(ForeignMpi::at(&library).map(|library| Installed { library, prefix }))
}

/// Folders below which programs are installed: above each folder of PATH, and those of Python, into which pip
/// puts wheels.
fn prefixes() -> impl Iterator<Item = PathBuf> {
    let above = |path: PathBuf| path.parent().map(Path::to_owned);
    let named = ["VIRTUAL_ENV", "CONDA_PREFIX", "I_MPI_ROOT", "MPI_HOME"];
    let named = named.into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let searched = std::env::split_paths(&path).filter_map(above).collect::<Vec<_>>();
    // Asked only if it is nowhere else.
    named.chain(searched).chain(std::iter::once_with(of_python).flatten())
}

/// The prefixes into which pip puts what it installs for all and for this user.
fn of_python() -> Vec<PathBuf> {
    let prefixes = "import sys, site; print(sys.prefix); print(site.getuserbase())";
    let told = PYTHON
        .found()
        .and_then(|python| Command::new(python).args(["-c", prefixes]).output().ok())
        .map_or_else(String::new, |told| String::from_utf8_lossy(&told.stdout).into_owned());
    told.lines().map(PathBuf::from).collect()
}

fn find(family: Family) -> Result<Installed, UsageError> {
    let mut unfit = None;
    for prefix in prefixes() {
        match at(&prefix) {
            Some(Ok(installed)) if installed.library.family == family => return Ok(installed),
            Some(Err(why)) => unfit = unfit.or(Some(why)),
            _ => {}
        }
    }
    let package = match family {
        Family::Mpich => "mpich",
        Family::Intel => "impi-rt",
    };
    let unfit = unfit.map(|why| format!("; {why}")).unwrap_or_default();
    Err(UsageError::sentence(format!(
        "no {family} is found on PATH or where Python's packages are: `pip install {package}`, or \
         name its folder by --mpi FOLDER{unfit}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_an_mpi_or_get_a_sentence() {
        assert_eq!("own".parse(), Ok(Choice::Own));
        assert_eq!("mpich".parse(), Ok(Choice::Installed(Family::Mpich)));
        assert_eq!("/tmp".parse(), Ok(Choice::At("/tmp".into())));
        for word in ["own", "mpich", "intel", "/tmp"] {
            assert_eq!(word.parse::<Choice>().unwrap().to_string(), word);
        }
        let why = "openmpi".parse::<Choice>().unwrap_err().to_string();
        assert!(why.contains("PMIx"), "{why}");
        let why = "lam".parse::<Choice>().unwrap_err().to_string();
        assert_eq!(why, "it is own, mpich, intel, or the folder of an installation");
    }

    #[test]
    fn an_installation_is_found_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let lib = folder.path().join("lib");
        std::fs::create_dir(&lib).unwrap();
        std::fs::write(lib.join(LIBRARY), "MPICH Version fi_getinfo").unwrap();
        for named in [folder.path(), &lib] {
            let found = Choice::At(named.into()).installed().unwrap().unwrap();
            assert_eq!(found.library.library, lib.join(LIBRARY));
            let why = found.headers().unwrap_err().to_string();
            assert!(why.contains("has no mpi.h"), "{why}");
        }
        let why = Choice::At(folder.path().join("none")).installed().unwrap_err().to_string();
        assert!(why.contains("no libmpi.so.12 is there"), "{why}");
    }
}
