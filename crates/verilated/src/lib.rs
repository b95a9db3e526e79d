//! RTL as a library: verilated for a set of parameters when first wanted, kept under a name that depends on
//! sources and parameters, and loaded.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{c_void, CStr, CString};
use std::fmt::{self, Display};
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// A design to build.
#[derive(Clone, Debug)]
pub struct Design<'a> {
    /// Top module; the verilated class is `Vtop`.
    pub top: &'a str,
    /// Folders of sources, below the place's root if they are not absolute; packages (`*_pkg.sv`) are read
    /// first.
    pub folders: &'a [&'a str],
    /// C++ with the entry points, below the root.
    pub shim: &'a str,
    /// Parameters of the top module.
    pub parameters: &'a [(&'a str, u64)],
    /// It can write waveforms, and is slower.
    pub traced: bool,
}

/// A loaded design.
#[derive(Debug)]
pub struct Library {
    handle: *mut c_void,
    path: PathBuf,
}

// SAFETY: the handle of a library is only looked up in; what is behind its symbols is up to their user.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Folders of sources, and of libraries built from them.
#[derive(Clone, Debug)]
pub struct DesignPaths {
    /// The folder with `rtl/` and the shims.
    pub root: PathBuf,
    /// Folder of libraries, which may be thrown away at any time.
    pub built: PathBuf,
}

impl DesignPaths {
    /// The repository, for tests.
    pub fn of_tests() -> DesignPaths {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = folder.ancestors().nth(2).expect("the crate lies two folders below").to_owned();
        DesignPaths { built: root.join("build/verilated"), root }
    }
}

/// A design that could not be built.
#[derive(Clone, Debug)]
pub enum Unbuilt {
    /// Verilator, or the compiler that it wants, is not there.
    NoVerilator(String),
    /// Files cannot be read or written.
    Files(String),
    /// Verilator's message about the design.
    Refused(String),
}

impl Display for Unbuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unbuilt::NoVerilator(why) => write!(
                f,
                "RTL is compiled by verilator, which does not start ({why}): \
                 install verilator and g++"
            ),
            Unbuilt::Files(why) => write!(f, "RTL cannot be compiled: {why}"),
            Unbuilt::Refused(why) => write!(f, "verilator cannot compile the RTL:\n{why}"),
        }
    }
}

impl Library {
    /// Builds the design in the repository if that has not been done, and loads it. It stays loaded.
    ///
    /// # Panics
    /// If Verilator is not there, or does not like the design.
    pub fn load(design: &Design<'_>) -> Library {
        Library::build(&DesignPaths::of_tests(), design).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The same somewhere else.
    pub fn build(place: &DesignPaths, design: &Design<'_>) -> Result<Library, Unbuilt> {
        let path = build(place, design)?;
        let name = CString::new(path.as_os_str().as_bytes()).expect("a path has no zero byte");
        // SAFETY: the library was made here, of a shim of ours; it has no constructors but the C++ library's.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(Unbuilt::Files(format!("{} cannot be loaded", path.display())));
        }
        Ok(Library { handle, path })
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

    /// The same as a pointer to a function.
    ///
    /// # Safety
    /// `F` is a pointer to a function of the type that the shim gives this name.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> F {
        let found = self.symbol(name);
        assert_eq!(size_of::<F>(), size_of_val(&found), "{name:?} is wanted as a function pointer");
        // SAFETY: both are pointers, and the caller vouches for the function's type.
        unsafe { std::mem::transmute_copy(&found) }
    }
}

fn failed(path: &Path, why: std::io::Error) -> Unbuilt {
    Unbuilt::Files(format!("{}: {why}", path.display()))
}

/// SystemVerilog in the design's folders, packages first.
fn sources(place: &DesignPaths, design: &Design<'_>) -> Result<Vec<PathBuf>, Unbuilt> {
    let mut sources = Vec::new();
    for folder in design.folders.iter().map(|folder| place.root.join(folder)) {
        for entry in fs::read_dir(&folder).map_err(|why| failed(&folder, why))? {
            sources.push(entry.map_err(|why| failed(&folder, why))?.path());
        }
    }
    sources.retain(|path| is_verilog(path));
    // By name: wherever a folder is, the same design is compiled once.
    sources.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_owned();
        (!name.to_string_lossy().ends_with("_pkg.sv"), name, path.clone())
    });
    Ok(sources)
}

/// SystemVerilog in folders below the design's, which its sources may include: each by its path from there.
fn included(place: &DesignPaths, design: &Design<'_>) -> Result<Vec<(PathBuf, PathBuf)>, Unbuilt> {
    let mut found = Vec::new();
    for top in design.folders.iter().map(|folder| place.root.join(folder)) {
        let mut folders = vec![(top.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(|why| failed(&folder, why))? {
                let path = entry.map_err(|why| failed(&folder, why))?.path();
                // Links may go round in circles.
                if path.is_dir() && depth < DEPTH {
                    folders.push((path, depth + 1));
                } else if depth > 0 && is_verilog(&path) {
                    let name = path.strip_prefix(&top).expect("it is below").to_owned();
                    found.push((name, path));
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Folders in folders that are looked into.
const DEPTH: usize = 8;

fn is_verilog(path: &Path) -> bool {
    path.extension().is_some_and(|found| ["sv", "v", "svh", "vh"].iter().any(|e| found == *e))
}

/// The library's path.
fn build(place: &DesignPaths, design: &Design<'_>) -> Result<PathBuf, Unbuilt> {
    // One build at a time: each is a compiler run or two, and the tests are threads of one process.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(|poison| poison.into_inner());

    let (sources, shim) = (sources(place, design)?, place.root.join(design.shim));
    let mut hash = DefaultHasher::new();
    (design.top, design.parameters).hash(&mut hash);
    if design.traced {
        "traced".hash(&mut hash);
    }
    for source in sources.iter().chain([&shim]) {
        fs::read(source).map_err(|why| failed(source, why))?.hash(&mut hash);
    }
    for (name, path) in included(place, design)? {
        name.hash(&mut hash);
        fs::read(&path).map_err(|why| failed(&path, why))?.hash(&mut hash);
    }
    let folder = &place.built;
    let library = folder.join(format!("{}-{:016x}.so", design.top, hash.finish()));
    if !library.exists() {
        let work = folder.join(format!("{:016x}-{}", hash.finish(), std::process::id()));
        fs::create_dir_all(&work).map_err(|why| failed(&work, why))?;
        let mut hash = DefaultHasher::new();
        (FLAGS, design.traced, version()).hash(&mut hash);
        let runtime = folder.join(format!("runtime-{:016x}", hash.finish()));
        copy_objects(&runtime, &work);
        let verilated = verilate(place, design, &sources, &shim, &work).and_then(|()| {
            copy_objects(&work, &runtime);
            // Renamed in one step: another process may be building the same.
            fs::rename(work.join("rtl.so"), &library).map_err(|why| failed(&library, why))
        });
        let _ = fs::remove_dir_all(&work);
        verilated?;
    }
    Ok(library)
}

/// Flags of Verilator and the compiler for any design.
const FLAGS: [&str; 14] = [
    "--cc",
    "--build",
    "--exe",
    "-O3",
    "--assert",
    "-Wno-MULTITOP",
    "--prefix",
    "Vtop",
    "-CFLAGS",
    "-fPIC -fvisibility=hidden",
    "-LDFLAGS",
    "-shared",
    "-MAKEFLAGS",
    "OPT_FAST=-O2 OPT_GLOBAL=-O0",
];

/// Version of Verilator, in its own words: objects of its library go with no other version's headers.
fn version() -> Vec<u8> {
    let output = Command::new("verilator").arg("--version").stdin(Stdio::null()).output();
    output.map_or_else(|_| Vec::new(), |output| output.stdout)
}

/// Copies what Verilator's own library is compiled to, the same for all designs, if it is there and is not
/// older than its source: `make` takes it then, and half of a small design's time is saved.
fn copy_objects(from: &Path, to: &Path) {
    let objects = fs::read_dir(from).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let runtime = objects.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("verilated") && name.ends_with(".o") && !to.join(&*name).exists()
    });
    for name in runtime {
        // Made in one step: another process may do the same. Without it everything is compiled.
        let part = to.join(format!("part-{}", std::process::id()));
        let copied = fs::create_dir_all(to).and_then(|()| fs::copy(from.join(&name), &part));
        if copied.and_then(|_| fs::rename(&part, to.join(&name))).is_err() {
            let _ = fs::remove_file(&part);
        }
    }
}

fn verilate(
    place: &DesignPaths,
    design: &Design<'_>,
    sources: &[PathBuf],
    shim: &Path,
    work: &Path,
) -> Result<(), Unbuilt> {
    let parameters = design.parameters.iter().map(|(name, value)| format!("-G{name}={value}"));
    let includes = design.folders.iter().map(|folder| place.root.join(folder));
    // Those that others include are not read by themselves.
    let header = |path: &&PathBuf| path.extension().is_some_and(|e| e == "svh" || e == "vh");
    let output = Command::new("verilator")
        .args(FLAGS)
        .args(["-o", "rtl.so", "--top-module", design.top, "-Mdir"])
        .arg(work)
        .args(parameters)
        .args(includes.map(|folder| format!("-I{}", folder.display())))
        .args(design.traced.then_some("--trace"))
        .args(sources.iter().filter(|path| !header(path)))
        .arg(shim)
        .stdin(Stdio::null())
        .output()
        .map_err(|why| Unbuilt::NoVerilator(why.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (&output.stdout, &output.stderr);
    Err(Unbuilt::Refused(String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)))
}
