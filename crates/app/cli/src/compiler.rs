//! `sunstar cc` and its like.

use crate::terminal;
use std::ffi::OsString;
use sunstar::compiler::{command, flags, status, Language, Target};
use sunstar::mpi::{Choice, Installed};
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
    mpi: Option<&Installed>,
    [name, compile, link]: Shown,
) -> Result<u8, UsageError> {
    let compiler = language.compiler();
    let target = Target { searched: &root.library(), mpi };
    let [before, behind] = flags(root, language, &compiler, target)?;
    let mut words: Vec<OsString> = Vec::new();
    words.extend(name.then_some(compiler));
    words.extend(before.into_iter().filter(|_| compile));
    words.extend(arguments.iter().filter(|word| shown(word).is_none()).cloned());
    words.extend(behind.into_iter().filter(|_| link));
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    terminal::write(&(words.join(" ") + "\n")).map(|()| 0)
}

/// The MPI that `--mpi` names before all other arguments, if it is another implementation's, and the
/// arguments behind it.
fn chosen(arguments: &[OsString]) -> Result<(Option<Installed>, &[OsString]), UsageError> {
    const OPTION: &str = "--mpi";
    let (word, rest) = match arguments {
        [option, word, rest @ ..] if option == OPTION => (word.to_str(), rest),
        [option, rest @ ..] => {
            let joined = option.to_str().and_then(|text| text.strip_prefix(OPTION));
            (joined.and_then(|text| text.strip_prefix('=')), rest)
        }
        [] => (None, arguments),
    };
    let Some(word) = word else { return Ok((None, arguments)) };
    let choice: Choice =
        word.parse().map_err(|why| UsageError::sentence(format!("--mpi {word}: {why}")))?;
    Ok((choice.installed()?, rest))
}

/// `sunstar cc` and its like: the exit status is that of the compiler.
pub fn pass_through(
    root: &Root,
    language: Language,
    arguments: &[OsString],
) -> Result<u8, UsageError> {
    let (mpi, arguments) = chosen(arguments)?;
    if let Some(parts) = arguments.iter().find_map(shown) {
        return show(root, language, arguments, mpi.as_ref(), parts);
    }
    // Without any argument a linker error about a missing main would be the answer.
    if arguments.is_empty() {
        return Err(UsageError::sentence(
            "nothing to compile; give it what you would give the compiler",
        ));
    }
    let target = Target { searched: &root.library(), mpi: mpi.as_ref() };
    status(language, &mut command(root, language, arguments, target)?)
}
