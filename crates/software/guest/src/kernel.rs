//! The guests' kernel, as `linux/kernel/prepare` has built it.

use std::path::{Path, PathBuf};

/// A kernel that has been built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    folder: PathBuf,
}

/// Nobody has built a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no kernel for guests; build it: sunstar guest --prepare")]
pub struct NoKernel;

impl Kernel {
    /// Kernel that was prepared in `folder` last.
    pub fn find(folder: &Path) -> Result<Kernel, NoKernel> {
        let current = folder.join("current");
        let there = ["linux", "init"].iter().all(|name| current.join(name).is_file());
        match current.canonicalize() {
            Ok(folder) if there => Ok(Kernel { folder }),
            _ => Err(NoKernel),
        }
    }
    /// The kernel itself, a program.
    pub(crate) fn program(&self) -> PathBuf {
        self.folder.join("linux")
    }
    /// The first program of a guest.
    pub fn init(&self) -> PathBuf {
        self.folder.join("init")
    }
    /// Folder of the sources for which modules are built.
    pub fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }
    /// A module of ours.
    pub fn module(&self, name: &str) -> PathBuf {
        self.folder.join(name).join(format!("{name}.ko"))
    }
    /// Version of the package that it was built from.
    pub fn version(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("version"));
        text.map_or_else(|_| "unknown".into(), |text| text.trim().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_has_no_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let error = Kernel::find(folder.path()).unwrap_err();
        let sentence = "there is no kernel for guests; build it: sunstar guest --prepare";
        assert_eq!(error.to_string(), sentence);
    }
}
