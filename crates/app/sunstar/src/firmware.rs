//! Firmware images: building the variant that a machine asks for.

use crate::root::Root;
use crate::tools::{self, Tool};
use crate::usage_error::UsageError;
use machine::console;
use machine::models::{Firmware, Processor};
use machine::parameters::Parameters;
use models::seastar::firmware::options::variant;
use models::seastar::rows;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Variables of a `make` that may have started this process; they are not for the `make` that builds
/// firmware.
const MAKE_VARIABLES: [&str; 3] = ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"];

/// Files of a variant that a run reads; an installation has no others.
const IMAGES: [&str; 3] = ["seastar.elf", "seastar.img", "shim.img"];

/// The machine's firmware, for the option `what`; an error on a machine without firmware.
pub fn required(parameters: &Parameters, what: &str) -> Result<&'static Firmware, UsageError> {
    let model = parameters.model();
    model.firmware.ok_or_else(|| {
        UsageError::sentence(format!(
            "{what} looks at firmware, and machine {} has none: its network interfaces are of \
             model {}",
            parameters.name(),
            model.name
        ))
    })
}

/// The folder with the machine's images. Images that `firmware.*` parameters choose are built first if the
/// sources are there, which takes no time if nothing has changed.
pub fn folder(root: &Root, parameters: &Parameters) -> Result<PathBuf, UsageError> {
    let firmware = required(parameters, "this")?;
    if let Some(built) = firmware.built {
        let name = built(parameters);
        let parts = Parts {
            sources: firmware.sources,
            shared: firmware.shared,
            images: firmware.images,
            processor: firmware.processor,
        };
        rebuild(root, &parts, name)?;
        return Ok(root.path().join("build/firmware").join(name));
    }
    models::seastar::firmware::options::can_build(parameters)?;
    let options = build_options(parameters);
    let built = root.path().join("build/firmware");
    let variant = built.join(variant(parameters));
    if can_build(root) {
        build(&sources(root), &built, &variant, &options)?;
    }
    match variant.join("seastar.elf").is_file() {
        true => Ok(variant),
        false => Err(UsageError::sentence(format!(
            "there is no firmware with {} (build/firmware/{}), and no sources to build it from: \
             sunstar fw --copy FOLDER copies them out, and SUNSTAR_ROOT=FOLDER builds it there",
            options_text(&options),
            models::seastar::firmware::options::variant(parameters)
        ))),
    }
}

/// The same for any machine; nothing where there is no firmware.
pub fn folder_if_any(root: &Root, parameters: &Parameters) -> Result<PathBuf, UsageError> {
    match parameters.model().firmware {
        Some(_) => folder(root, parameters),
        None => Ok(PathBuf::new()),
    }
}

/// The folder under `build/firmware` with the images that a machine asks for; nothing where there is no
/// firmware.
pub fn variant_if_any(parameters: &Parameters) -> Option<String> {
    let firmware = parameters.model().firmware?;
    Some(firmware.built.map_or_else(|| variant(parameters), |built| built(parameters).into()))
}

/// The files there that a run reads.
pub fn images(parameters: &Parameters) -> &'static [&'static str] {
    parameters.model().firmware.map_or(&[], |firmware| firmware.images)
}

/// The folder of the firmware's sources, which an installation has elsewhere.
pub fn sources(root: &Root) -> PathBuf {
    root.path().join("firmware/seastar")
}

/// Tells whether missing images can be built.
pub fn can_build(root: &Root) -> bool {
    sources(root).join("Makefile").is_file()
}

/// Options of the firmware's Makefile.
fn build_options(parameters: &Parameters) -> Vec<(&'static str, String)> {
    let firmware = rows::Firmware::of(parameters);
    let switch = |on| if on { "on" } else { "off" }.to_string();
    let mut options = vec![
        ("CACHE", firmware.cache.to_string()),
        ("INLINE", switch(firmware.inline)),
        ("SHADOW_FIFOS", switch(firmware.shadow_fifos)),
        ("TRACE", switch(firmware.trace)),
        ("PINNED_REGS", switch(firmware.pinned_regs)),
        ("SOURCE_COUNT", firmware.sources.to_string()),
    ];
    if firmware.accelerates() {
        options.push(("ACCELERATED", "on".to_string()));
    }
    if firmware.overflow != rows::Overflow::Panic {
        let overflow = parameters.choice(rows::Firmware::overflow);
        options.push(("OVERFLOW", overflow.to_string()));
    }
    if models::seastar::firmware::options::collectives(parameters) {
        options.push(("COLLECTIVES", "on".to_string()));
    }
    options
}

fn options_text(options: &[(&str, String)]) -> String {
    options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Runs the firmware's Makefile for one variant, unless all is up to date: `make` alone takes longer than the
/// rest of the start of a small run. Its messages are shown only if it fails.
fn build(
    sources: &Path,
    built: &Path,
    variant: &Path,
    options: &[(&str, String)],
) -> Result<(), UsageError> {
    let Some(_lock) = locked_if_ours(built)? else { return Ok(()) };
    if is_current(sources, variant) {
        return Ok(());
    }
    compilers("firmware/seastar", Processor::PowerPc)?;
    let mut command = make(sources);
    command.arg("image").arg(format!("BUILD={}", built.display()));
    command.args(options.iter().map(|(name, value)| format!("{name}={value}")));
    made_well(command, || format!("the firmware does not build with {}", options_text(options)))
}

/// Firmware that has images of one kind.
struct Parts {
    /// Folder of its sources, with a Makefile.
    sources: &'static str,
    /// Other folders with sources of its.
    shared: &'static [&'static str],
    /// The files that a run reads.
    images: &'static [&'static str],
    processor: Processor,
}

/// The program behind a switch's console, of which a run reads `image`, below `build`.
pub fn console(root: &Root, image: &str) -> Result<PathBuf, UsageError> {
    let parts = Parts {
        sources: "firmware/crossbar",
        shared: &[],
        images: &["console.bin"],
        processor: Processor::PowerPc,
    };
    rebuild(root, &parts, "crossbar")?;
    Ok(root.path().join("build").join(image))
}

/// Builds a firmware's images anew if any of its sources is younger than one of them.
fn rebuild(root: &Root, firmware: &Parts, name: &str) -> Result<(), UsageError> {
    let sources = root.path().join(firmware.sources);
    if !sources.join("Makefile").is_file() {
        return Ok(());
    }
    // The Makefile is given the first folder of the name.
    let built = root.path().join("build/firmware").join(name.split('/').next().unwrap_or(name));
    let folder = root.path().join("build/firmware").join(name);
    let made = firmware.images.iter().map(|image| modified(&folder.join(image)).ok());
    let made = made.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().min());
    let folders = [sources.clone()].into_iter();
    let folders = folders.chain(firmware.shared.iter().map(|folder| root.path().join(folder)));
    let changed: io::Result<Vec<Vec<_>>> =
        folders.map(|folder| times_of_sources(&folder)).collect();
    let changed = changed.map_err(|why| UsageError::with_file("read", &sources, why))?;
    if made.is_some_and(|made| changed.into_iter().flatten().all(|time| time < made)) {
        return Ok(());
    }
    let Some(_lock) = locked_if_ours(&built)? else { return Ok(()) };
    let mut command = make(&sources);
    command.arg(format!("BUILD={}", built.display()));
    command.args(compilers(firmware.sources, firmware.processor)?);
    made_well(command, || format!("the firmware in {} does not build", firmware.sources))
}

/// The Makefile's variables for compilers that are found here: for a LANai this command links. The error says
/// which is missing.
fn compilers(sources: &str, processor: Processor) -> Result<Vec<OsString>, UsageError> {
    let required = |tool: &Tool| {
        tool.found().ok_or_else(|| {
            UsageError::sentence(format!(
                "{sources} was changed since its images were made, and {}",
                tool.missing()
            ))
        })
    };
    required(&tools::MAKE)?;
    let set = |name| std::env::var_os(name).is_some();
    match processor {
        Processor::PowerPc if set("CROSS") => Ok(Vec::new()),
        Processor::PowerPc => {
            required(&tools::POWERPC)?;
            required(&tools::POWERPC_BINUTILS)?;
            Ok(Vec::new())
        }
        Processor::Lanai => {
            let mut variables = Vec::new();
            if !set("CLANG") {
                let mut clang = OsString::from("CLANG=");
                clang.push(required(&tools::CLANG)?);
                variables.push(clang);
            }
            let linker = quoted(&linker(sources)?.to_string_lossy()).replace('$', "$$");
            variables.push(format!("LINK={linker} lanai-link").into());
            Ok(variables)
        }
    }
}

/// The command, which links for a LANai: this process, or the one on PATH.
fn linker(sources: &str) -> Result<PathBuf, UsageError> {
    let own = std::env::current_exe().ok().filter(|path| path.ends_with("sunstar"));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || {
        std::env::split_paths(&folders)
            .map(|folder| folder.join("sunstar"))
            .find(|path| path.is_file())
    };
    own.or_else(on_path).ok_or_else(|| {
        UsageError::sentence(format!(
            "{sources} was changed since its images were made, and `sunstar`, which links them, is \
             not on PATH"
        ))
    })
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Time of the last change of a file.
fn modified(file: &Path) -> io::Result<SystemTime> {
    std::fs::metadata(file)?.modified()
}

/// The lock of a folder of images; none for somebody else's copy, or one that is read only: it is as it is.
fn locked_if_ours(built: &Path) -> Result<Option<File>, UsageError> {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    match locked(built) {
        Ok(lock) => Ok(Some(lock)),
        Err(why) if [PermissionDenied, ReadOnlyFilesystem].contains(&why.kind()) => Ok(None),
        Err(why) => Err(UsageError::with_file("write in", built, why)),
    }
}

/// Runs `make`, whose messages are shown only if it fails; `what` has failed then.
fn made_well(mut command: Command, what: impl Fn() -> String) -> Result<(), UsageError> {
    let output = command
        .output()
        .map_err(|why| UsageError::sentence(format!("cannot start make for firmware: {why}")))?;
    if output.status.success() {
        return Ok(());
    }
    console::pass_on(&String::from_utf8_lossy(&output.stderr));
    Err(UsageError::sentence(format!("{}; the messages above are the compiler's", what())))
}

/// `make` in a folder, whoever has started us.
pub fn make(folder: &Path) -> Command {
    let mut command = Command::new("make");
    command.args(["-s", "--no-print-directory", "-C"]).arg(folder);
    for variable in MAKE_VARIABLES {
        command.env_remove(variable);
    }
    command
}

/// True if the images exist, and all files of the build are younger than all sources: in the Makefile, too,
/// each object depends on all sources.
fn is_current(sources: &Path, variant: &Path) -> bool {
    let made = || times(variant).ok()?.into_iter().min();
    let changed = || times_of_sources(sources).ok()?.into_iter().max();
    let older = || Some(changed()? < made()?);
    IMAGES.iter().all(|name| variant.join(name).is_file()) && older() == Some(true)
}

/// Times of the last change of what images are made of. `make` would leave them as they are for another test
/// or text, so every run would ask it again.
fn times_of_sources(sources: &Path) -> io::Result<Vec<SystemTime>> {
    let mut times = Vec::new();
    for entry in sources.read_dir()? {
        let path = entry?.path();
        let is_text = path.extension().is_some_and(|extension| extension == "md");
        if path.is_dir() && !path.ends_with("tests") {
            times.extend(self::times(&path)?);
        } else if path.is_file() && !is_text {
            times.push(modified(&path)?);
        }
    }
    Ok(times)
}

/// Times of the last change of the files in a folder, and in all folders below it.
pub fn times(folder: &Path) -> io::Result<Vec<SystemTime>> {
    let mut times = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => times.extend(self::times(&entry.path())?),
            // What a link leads to is what counts.
            false => times.push(modified(&entry.path())?),
        }
    }
    Ok(times)
}

/// Lock of the folder, until dropped, against other commands that build in it.
pub fn locked(built: &Path) -> io::Result<File> {
    std::fs::create_dir_all(built)?;
    let file = File::create(built.join(".lock"))?;
    // SAFETY: flock takes a descriptor that is open and touches no memory.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn images_are_current_if_all_of_them_are_younger_than_all_sources() {
        let folder = tempfile::tempdir().unwrap();
        let (sources, variant) = (folder.path().join("sources"), folder.path().join("variant"));
        let deep = sources.join("core");
        for made in [&deep, &variant] {
            std::fs::create_dir_all(made).unwrap();
        }
        let write = |file: PathBuf, second| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            File::create(file).unwrap().set_modified(time).unwrap();
        };
        write(sources.join("Makefile"), 1);
        write(deep.join("main.c"), 2);
        assert!(!is_current(&sources, &variant), "nothing was made");
        for name in IMAGES {
            write(variant.join(name), 4);
        }
        write(variant.join("main.o"), 3);
        assert!(is_current(&sources, &variant));
        // Images are not made of tests and texts.
        std::fs::create_dir(sources.join("tests")).unwrap();
        write(sources.join("tests/main.c"), 5);
        write(sources.join("README.md"), 5);
        assert!(is_current(&sources, &variant));
        write(deep.join("main.c"), 3);
        assert!(!is_current(&sources, &variant), "one was made of the source as it was before");
        write(variant.join("main.o"), 4);
        assert!(is_current(&sources, &variant));
        std::fs::remove_file(variant.join("shim.img")).unwrap();
        assert!(!is_current(&sources, &variant));
    }
}
