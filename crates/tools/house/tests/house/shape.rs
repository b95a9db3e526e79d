//! Lengths of files and lines, and names of files.

use house::{files, has_extension, sources};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most lines of a source file that is not named below.
const FILE_LINES_MAX: usize = 500;

/// Files that are longer, with their most lines. Lower a number when a file has shrunk; raise one only with
/// the reason at the top of the file.
const LONG_FILES: &[(&str, usize)] = &[];

/// Tables with a row on each line, of any width: the instructions of the processors.
const WIDE_FILES: &[&str] =
    &["crates/parts/lanai/src/instructions.rs", "crates/parts/ppc440/src/instructions.rs"];

/// Columns of a line of code, and of one that is a comment: rustfmt breaks the first kind only.
const CODE_COLUMNS_MAX: usize = 100;
const COMMENT_COLUMNS_MAX: usize = 110;

/// Most lines in all that are longer: a ratchet that only goes down.
const LONG_LINES_MAX: usize = 58;

#[test]
fn files_stay_short() {
    let mut allowed: BTreeMap<&str, usize> = LONG_FILES.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let (lines, name) = (text.lines().count(), path.to_string_lossy().into_owned());
        let max = allowed.remove(&*name);
        if lines > max.unwrap_or(FILE_LINES_MAX) {
            wrong.push(format!("{name} has {lines} lines"));
        } else if max.is_some() && lines <= FILE_LINES_MAX {
            wrong.push(format!("{name} is short now: take it out of LONG_FILES"));
        }
    }
    wrong.extend(allowed.keys().map(|name| format!("{name} in LONG_FILES is not there")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_stay_short() {
    let mut long = Vec::new();
    let narrow = |path: &PathBuf| !WIDE_FILES.iter().any(|wide| path == Path::new(wide));
    for (path, text) in sources().into_iter().filter(|(path, _)| narrow(path)) {
        for (number, line) in text.lines().enumerate() {
            let comment = ["//", "/*", "*", "#"].iter().any(|m| line.trim_start().starts_with(m));
            let max = if comment { COMMENT_COLUMNS_MAX } else { CODE_COLUMNS_MAX };
            if line.chars().count() > max {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    let (count, list) = (long.len(), long.join("\n"));
    assert!(
        count <= LONG_LINES_MAX,
        "{count} lines are too long, allowed are {LONG_LINES_MAX}:\n{list}"
    );
}

/// No function has a tuple among its parameters, tests apart: a small struct gives names to its parts, also
/// where it is made.
#[test]
fn parameters_have_names() {
    let test = |path: &PathBuf| {
        path.iter().any(|part| part == "tests" || part == "benches") || path.ends_with("tests.rs")
    };
    let mut found = Vec::new();
    for (path, text) in sources() {
        if !path.starts_with("crates") || !has_extension(&path, &["rs"]) || test(&path) {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap()).collect();
        let code = code.join("\n");
        found.extend(with_tuples(&code).map(|name| format!("{}: {name}", path.display())));
    }
    assert!(found.is_empty(), "functions take tuples:\n{}", found.join("\n"));
}

/// Errors have types and are no texts: a caller can tell one kind from another, and its sentence stands in one
/// place.
#[test]
fn errors_have_types() {
    for (path, text) in sources().into_iter().filter(|(path, _)| has_extension(path, &["rs"])) {
        let results = text.split("Result<").skip(1);
        let ends = results.map(|rest| rest.split(['{', ';', '=']).next().unwrap());
        let texts = ends.filter(|end| end.replace(char::is_whitespace, "").contains(",String>"));
        let found: Vec<&str> = texts.collect();
        assert!(found.is_empty(), "{}: Result<{}", path.display(), found.concat());
    }
}

/// Functions of this code that have a tuple among their parameters.
fn with_tuples(code: &str) -> impl Iterator<Item = &str> {
    let functions = code.match_indices("fn ").map(|(at, word)| &code[at + word.len()..]);
    functions.filter_map(|function| {
        let end = function.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
        let (name, rest) = function.split_at(end);
        let rest = if rest.starts_with('<') { list(rest)?.1 } else { rest };
        let (parameters, _) = rest.starts_with('(').then(|| list(rest))??;
        parameters.into_iter().any(has_tuple).then_some(name)
    })
}

fn has_tuple(parameter: &str) -> bool {
    parameter.match_indices(": ").any(|(at, colon)| {
        let kind = parameter[at + colon.len()..].trim_start_matches('&');
        let kind = kind.strip_prefix("mut ").unwrap_or(kind);
        kind.starts_with('(') && list(kind).is_some_and(|(items, _)| items.len() > 1)
    })
}

/// Items of the list in brackets with which a text begins, and the text behind it.
fn list(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut depth, mut start, mut items, mut before) = (0, 1, Vec::new(), ' ');
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 1 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            items.push(&text[start..at]);
            return Some((items, &text[at + 1..]));
        }
        before = letter;
    }
    None
}

#[test]
fn tuples_are_found_among_parameters() {
    let code = "fn a((b, c): (B, C)) {} fn d<F: Fn(A) -> B>(f: F, e: &mut (u8, [u8; 2])); \
                fn g(h: (H), i: I<(J, K)>, l: impl Fn((M, N)) -> O) -> (P, Q) {} type R = fn (s);";
    assert_eq!(with_tuples(code).collect::<Vec<_>>(), ["a", "d"]);
}

/// Names that say nothing about the contents of a file or folder.
const DUMPING_GROUNDS: &[&str] = &["common", "util", "utils", "helpers", "misc"];

#[test]
fn no_dumping_grounds() {
    for path in files() {
        for part in path.iter() {
            let part = Path::new(part).file_stem().unwrap().to_string_lossy();
            assert!(!DUMPING_GROUNDS.contains(&&*part), "{}: name it after a noun", path.display());
        }
    }
}
