//! `sunstar cc` and its like.

use crate::terminal;
use std::ffi::OsString;
use sunstar::compiler::{command, flags, status, Language};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Parts of a command that are shown instead of running it: the compiler's name, the arguments for compiling,
/// and those for linking.
type Shown = [bool; 3];

/// Parts to show for an option that build systems pass, as to MPICH's and Open MPI's compilers.
fn shown(word: &OsString) -> Option<Shown> {
    Some(match word.to_str()? {
        "-show" | "--show" | "-showme" | "--showme" => [true, true, true],
        "-compile_info" | "-compile-info" => [true, true, false],
        "-link_info" | "-link-info" => [true, false, true],
        "-showme:compile" | "--showme:compile" => [false, true, false],
        "-showme:link" | "--showme:link" => [false, false, true],
        _ => return None,
    })
}

/// The command as a line.
fn show(
    root: &Root,
    language: Language,
    arguments: &[OsString],
    [name, compile, link]: Shown,
) -> Result<u8, UsageError> {
    let compiler = language.compiler();
    let [before, behind] = flags(root, language, &compiler, &root.library())?;
    let mut words: Vec<OsString> = Vec::new();
    words.extend(name.then_some(compiler));
    words.extend(before.into_iter().filter(|_| compile));
    words.extend(arguments.iter().filter(|word| shown(word).is_none()).cloned());
    words.extend(behind.into_iter().filter(|_| link));
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    terminal::write(&(words.join(" ") + "\n")).map(|()| 0)
}

/// `sunstar cc` and its like: the exit status is that of the compiler.
pub fn pass_through(
    root: &Root,
    language: Language,
    arguments: &[OsString],
) -> Result<u8, UsageError> {
    if let Some(parts) = arguments.iter().find_map(shown) {
        return show(root, language, arguments, parts);
    }
    // Without any argument a linker error about a missing main would be the answer.
    if arguments.is_empty() {
        return Err(UsageError::sentence(
            "nothing to compile; give it what you would give the compiler",
        ));
    }
    status(language, &mut command(root, language, arguments, &root.library())?)
}
