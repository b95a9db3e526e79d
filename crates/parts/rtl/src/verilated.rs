//! RTL as a library: verilated for a set of parameters when first wanted, kept under a name that depends on
//! sources and parameters, and loaded.

use files::{input, Cache};
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
    /// Told a sentence before a build, which takes a minute.
    pub told: fn(&str),
}

impl DesignPaths {
    /// The repository, for tests.
    pub fn of_tests() -> DesignPaths {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = folder.ancestors().nth(3).expect("the crate lies two folders below").to_owned();
        DesignPaths { built: root.join("build/verilated"), root, told: |_| {} }
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

impl std::error::Error for Unbuilt {}

impl Display for Unbuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unbuilt::NoVerilator(why) => write!(
                f,
                "RTL is compiled by verilator, which does not start ({why}): \
                 install verilator and g++ (sunstar doctor lists their packages)"
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
        // SAFETY: this user has made the library, of a shim of ours, and nobody has changed it since
        // (`Cache`); it has no constructors but the C++ library's.
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

/// A file of a design: the number of its folder and its path from there.
type Place = (usize, PathBuf);

/// Contents of the folders of a design.
struct Found {
    /// SystemVerilog in the folders themselves, packages first: what Verilator is given.
    sources: Vec<PathBuf>,
    /// SystemVerilog in folders below, which sources may include.
    below: Vec<(Place, PathBuf)>,
}

/// Looks into the design's folders. Verilator takes any name for a file that is included, and would wait for
/// a pipe: there must be none.
fn look(place: &DesignPaths, design: &Design<'_>) -> Result<Found, Unbuilt> {
    let mut found = Found { sources: Vec::new(), below: Vec::new() };
    for (number, top) in design.folders.iter().map(|folder| place.root.join(folder)).enumerate() {
        let mut folders = vec![(top.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(|why| failed(&folder, why))? {
                let path = entry.map_err(|why| failed(&folder, why))?.path();
                // A link may lead nowhere, or round in circles.
                let Ok(facts) = path.metadata() else { continue };
                if facts.is_dir() {
                    folders.extend((depth < DEPTH).then_some((path, depth + 1)));
                } else if !facts.is_file() {
                    let why = "it is a device or a pipe, not a file: remove it from the design";
                    return Err(Unbuilt::Files(format!("{}: {why}", path.display())));
                } else if is_verilog(&path) && depth == 0 {
                    found.sources.push(path);
                } else if is_verilog(&path) {
                    let name = path.strip_prefix(&top).expect("it is below").to_owned();
                    found.below.push(((number, name), path));
                }
            }
        }
    }
    // By name: wherever a folder is, the same design is compiled once.
    found.sources.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_owned();
        (!name.to_string_lossy().ends_with("_pkg.sv"), name, path.clone())
    });
    found.below.sort();
    Ok(found)
}

/// Folders in folders that are looked into.
const DEPTH: usize = 8;

fn is_verilog(path: &Path) -> bool {
    path.extension().is_some_and(|found| ["sv", "v", "svh", "vh"].iter().any(|e| found == *e))
}

fn read(path: &Path) -> Result<Vec<u8>, Unbuilt> {
    input::read(path, input::TEXT_MAX).map_err(|why| failed(path, why))
}

/// The library's path.
fn build(place: &DesignPaths, design: &Design<'_>) -> Result<PathBuf, Unbuilt> {
    // One build at a time: each is a compiler run or two, and the tests are threads of one process.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(|poison| poison.into_inner());

    let (found, shim) = (look(place, design)?, place.root.join(design.shim));
    let mut hash = DefaultHasher::new();
    (design.top, design.parameters, FLAGS, FINISH).hash(&mut hash);
    if design.traced {
        "traced".hash(&mut hash);
    }
    let shims = neighbours(&shim)?;
    for source in found.sources.iter().chain(&shims) {
        read(source)?.hash(&mut hash);
    }
    for (name, path) in &found.below {
        name.hash(&mut hash);
        read(path)?.hash(&mut hash);
    }
    let cache = Cache::open(&place.built).map_err(|why| Unbuilt::Files(why.to_string()))?;
    let name = format!("{}-{:016x}", design.top, hash.finish());
    let kept = cache.find(&name).filter(|kept| includes_are_same(place, design, kept));
    if let Some(kept) = kept {
        return Ok(kept.join(LIBRARY));
    }
    (place.told)(&format!("compiling the RTL of {} (once, about a minute)", design.top));
    let work = cache.folder().join(format!("{:016x}-{}", hash.finish(), std::process::id()));
    let made = make(&cache, place, design, &found.sources, &shim, &work).and_then(|made| {
        // An older one was made of other files that are included.
        let _ = fs::remove_dir_all(cache.folder().join(&name));
        cache.keep(&name, &made).map_err(|why| failed(&made, why))
    });
    let _ = fs::remove_dir_all(&work);
    Ok(made?.join(LIBRARY))
}

/// The shim, and what is in its folder for shims to include.
fn neighbours(shim: &Path) -> Result<Vec<PathBuf>, Unbuilt> {
    let folder = shim.parent().unwrap_or(shim);
    let mut files = vec![shim.to_owned()];
    for entry in fs::read_dir(folder).map_err(|why| failed(folder, why))? {
        let path = entry.map_err(|why| failed(folder, why))?.path();
        files.extend(path.extension().is_some_and(|found| found == "h").then_some(path));
    }
    files[1..].sort();
    Ok(files)
}

/// Files of a kept library: itself, and the list of files that its sources have included.
const LIBRARY: &str = "rtl.so";
const INCLUDED: &str = "included";

/// Makes a library in folder `work`: the folder to be kept.
fn make(
    cache: &Cache,
    place: &DesignPaths,
    design: &Design<'_>,
    sources: &[PathBuf],
    shim: &Path,
    work: &Path,
) -> Result<PathBuf, Unbuilt> {
    let made = work.join("kept");
    fs::create_dir_all(&made).map_err(|why| failed(&made, why))?;
    let mut hash = DefaultHasher::new();
    (FLAGS, design.traced, version()).hash(&mut hash);
    let runtime = format!("runtime-{:016x}", hash.finish());
    let objects = cache.find(&runtime);
    if let Some(objects) = &objects {
        copy_objects(objects, work);
    }
    verilate(place, design, sources, shim, work)?;
    if objects.is_none() {
        let new = work.join("runtime");
        copy_objects(work, &new);
        // Without it everything is compiled again.
        let _ = cache.keep(&runtime, &new);
    }
    let move_to = |from: &str, to: &Path| fs::rename(work.join(from), to);
    let library = made.join(LIBRARY);
    move_to(LIBRARY, &library).map_err(|why| failed(&library, why))?;
    let list = included(place, design, &work.join("Vtop__ver.d"))?;
    let file = made.join(INCLUDED);
    fs::write(&file, list).map_err(|why| failed(&file, why))?;
    Ok(made)
}

/// The files that Verilator has read, by its own list: a line each of folder, digest and path. Those in the
/// design's folders by their path from there, so that the same design elsewhere has its own.
fn included(place: &DesignPaths, design: &Design<'_>, list: &Path) -> Result<String, Unbuilt> {
    let text = input::text(list).map_err(|why| failed(list, why))?;
    let (_, read_files) = text.split_once(" : ").unwrap_or_default();
    let mut lines = Vec::new();
    for path in words(read_files) {
        // The program itself is in the version.
        if !path.is_file() || path.file_name().is_some_and(|name| name == "verilator_bin") {
            continue;
        }
        let tops = design.folders.iter().map(|folder| place.root.join(folder)).enumerate();
        let below = |(number, top): (usize, PathBuf)| {
            Some((number.to_string(), path.strip_prefix(top).ok()?.to_owned()))
        };
        let (folder, name) =
            tops.filter_map(below).next().unwrap_or_else(|| ("-".to_owned(), path.clone()));
        let digest = files::digest(&read(&path)?);
        lines.push(format!("{folder} {digest:016x} {}\n", name.display()));
    }
    lines.sort();
    lines.dedup();
    Ok(lines.concat())
}

/// Words of a make's rule: blanks in names stand behind backslashes.
fn words(text: &str) -> Vec<PathBuf> {
    let hidden = text.replace("\\ ", "\0");
    hidden.split_whitespace().map(|word| PathBuf::from(word.replace('\0', " "))).collect()
}

/// True if the files that a kept library's sources have included are as they were.
fn includes_are_same(place: &DesignPaths, design: &Design<'_>, kept: &Path) -> bool {
    let Ok(list) = input::text(&kept.join(INCLUDED)) else { return false };
    list.lines().all(|line| {
        let mut parts = line.splitn(3, ' ');
        let (Some(folder), Some(digest), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let top = folder.parse().ok().and_then(|number: usize| design.folders.get(number));
        let path = top.map_or_else(|| PathBuf::from(name), |top| place.root.join(top).join(name));
        read(&path).is_ok_and(|bytes| format!("{:016x}", files::digest(&bytes)) == digest)
    })
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
    "-fPIC -fvisibility=hidden -DVL_USER_FINISH",
    "-LDFLAGS",
    "-shared",
    "-MAKEFLAGS",
    "OPT_FAST=-O2 OPT_GLOBAL=-O0",
];

/// Functions that designs call in the place of a function of Verilator's own (`VL_USER_FINISH`).
const FINISH: &str = include_str!("finish.cpp");

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
    let finish = work.join("finish.cpp");
    fs::write(&finish, FINISH).map_err(|why| failed(&finish, why))?;
    let output = Command::new("verilator")
        .args(FLAGS)
        .args(["-o", LIBRARY, "--top-module", design.top, "-Mdir"])
        .arg(work)
        .args(parameters)
        .args(includes.map(|folder| format!("-I{}", folder.display())))
        .args(design.traced.then_some("--trace"))
        .args(sources.iter().filter(|path| !header(path)))
        .args([shim, &finish])
        .stdin(Stdio::null())
        .output()
        .map_err(|why| Unbuilt::NoVerilator(why.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (&output.stdout, &output.stderr);
    Err(Unbuilt::Refused(String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    /// A build takes long, and says so before it begins; this one ends at once.
    #[test]
    fn a_build_is_told_of() {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        fs::write(folder.path().join("none.sv"), "module none(; endmodule\n").expect("it is new");
        fs::write(folder.path().join("none.cpp"), "").expect("it is new");
        let place = DesignPaths {
            root: folder.path().to_owned(),
            built: folder.path().join("built"),
            told: |said| SAID.lock().expect("nobody panics").push(said.to_owned()),
        };
        let design = Design {
            top: "none",
            folders: &["."],
            shim: "none.cpp",
            parameters: &[],
            traced: false,
        };
        assert!(build(&place, &design).is_err());
        let said = SAID.lock().expect("nobody panics").clone();
        assert_eq!(said, ["compiling the RTL of none (once, about a minute)"]);
    }
}
