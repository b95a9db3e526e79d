//! RTL as a library: verilated for a set of parameters when first wanted, kept in build/ under a name that
//! depends on sources and parameters, and loaded.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{c_void, CStr, CString};
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A design to build.
#[derive(Clone, Debug)]
pub struct Design<'a> {
    /// Top module; the verilated class is `Vtop`.
    pub top: &'a str,
    /// Folders of sources, below the repository's root; packages (`*_pkg.sv`) are read first.
    pub folders: &'a [&'a str],
    /// C++ with the entry points, below the root.
    pub shim: &'a str,
    /// Parameters of the top module.
    pub parameters: &'a [(&'a str, u64)],
}

/// A loaded design.
#[derive(Debug)]
pub struct Library {
    handle: *mut c_void,
    path: PathBuf,
}

// SAFETY: the handle of a library is only looked up in; what is behind its symbols is their user's affair.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// The repository.
pub fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(2).expect("the crate lies two folders below")
}

impl Library {
    /// Builds the design if that has not been done, and loads it. It stays loaded.
    ///
    /// # Panics
    /// If Verilator is not there, or does not like the design.
    pub fn load(design: &Design<'_>) -> Library {
        let path = build(design);
        let name = CString::new(path.as_os_str().as_bytes()).expect("a path has no zero byte");
        // SAFETY: the library was made here, of a shim of ours; it has no constructors but the C++ library's.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{} cannot be loaded", path.display());
        Library { handle, path }
    }

    /// Address of a function of the shim's, to be made one of its type.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the handle is open and stays so.
        let found = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?} is not in {}", self.path.display());
        found
    }
}

/// SystemVerilog in the design's folders, packages first.
fn sources(design: &Design<'_>) -> Vec<PathBuf> {
    let folders = design.folders.iter().map(|folder| root().join(folder));
    let mut sources: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(&folder).expect("the design's folders are there"))
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sv"))
        .collect();
    sources.sort_by_key(|path| (!path.to_string_lossy().ends_with("_pkg.sv"), path.clone()));
    sources
}

/// The library's path.
fn build(design: &Design<'_>) -> PathBuf {
    // One build at a time: each is a compiler run or two, and the tests are threads of one process.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(|poison| poison.into_inner());

    let (sources, shim) = (sources(design), root().join(design.shim));
    let mut hash = DefaultHasher::new();
    (design.top, design.parameters).hash(&mut hash);
    for source in sources.iter().chain([&shim]) {
        fs::read(source).expect("sources can be read").hash(&mut hash);
    }
    let folder = root().join("build/verilated");
    let library = folder.join(format!("{}-{:016x}.so", design.top, hash.finish()));
    if !library.exists() {
        let work = folder.join(format!("{:016x}-{}", hash.finish(), std::process::id()));
        fs::create_dir_all(&work).expect("build/verilated can be made");
        verilate(design, &sources, &shim, &work);
        // Renamed in one step: another process may be building the same.
        fs::rename(work.join("rtl.so"), &library).expect("verilator has made the library");
        let _ = fs::remove_dir_all(&work);
    }
    library
}

fn verilate(design: &Design<'_>, sources: &[PathBuf], shim: &Path, work: &Path) {
    let parameters = design.parameters.iter().map(|(name, value)| format!("-G{name}={value}"));
    let output = Command::new("verilator")
        .args(["--cc", "--build", "--exe", "-O3", "--assert", "-Wno-MULTITOP", "--prefix", "Vtop"])
        .args(["-CFLAGS", "-fPIC -fvisibility=hidden", "-LDFLAGS", "-shared"])
        .args(["-MAKEFLAGS", "OPT_FAST=-O2", "-o", "rtl.so", "--top-module", design.top, "-Mdir"])
        .arg(work)
        .args(parameters)
        .args(sources)
        .arg(shim)
        .output()
        .expect("verilator runs; scripts/bootstrap test installs it");
    assert!(
        output.status.success(),
        "verilator failed for {design:?}:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
