//! Comments and marks in sources.

use house::{files, has_extension, sources, text_of};
use std::path::Path;

/// Doc comments that open with one of these: an opening is a noun or a verb. The number may only fall.
const OPENINGS: &[&str] =
    &["What", "How", "Who", "Whose", "Whom", "Since", "When", "Where", "Which", "Whether"];
const OPENINGS_MAX: usize = 2;
/// Files with such comments that stay: the data of `abi/seastar` is a part of the firmware's header, of
/// which the hash of its image is made.
const OPENINGS_HASHED: (&str, usize) = ("crates/base/abi/src/seastar.rs", 4);

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let (mut found, mut hashed) = (Vec::new(), 0);
    // Generated files too: their comments come from `abi/`.
    for path in files().into_iter().filter(|path| has_extension(path, &["rs"])) {
        let text = text_of(&path);
        let mut before = "";
        for (line, number) in text.lines().map(str::trim_start).zip(1..) {
            let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
            let mark = mark.unwrap_or("");
            let opens = !mark.is_empty() && mark != before;
            let first = line[mark.len()..].split_whitespace().next().unwrap_or("");
            if opens && OPENINGS.contains(&first.trim_end_matches([',', '.', ':', ';'])) {
                if path == Path::new(OPENINGS_HASHED.0) {
                    hashed += 1;
                } else {
                    found.push(format!("{}:{number}: {line}", path.display()));
                }
            }
            before = mark;
        }
    }
    assert!(found.len() <= OPENINGS_MAX, "{} are too many:\n{}", found.len(), found.join("\n"));
    assert!(hashed <= OPENINGS_HASHED.1, "{hashed} in {}", OPENINGS_HASHED.0);
}

/// Comments have no tests, because `make test` does not run them: that would compile every crate again.
#[test]
fn comments_have_no_tests() {
    for (path, text) in sources().into_iter().filter(|(path, _)| has_extension(path, &["rs"])) {
        let fences = text.lines().map(str::trim_start);
        let fences = fences.filter_map(|line| {
            line.strip_prefix("//! ```").or_else(|| line.strip_prefix("/// ```"))
        });
        for (number, fence) in fences.enumerate() {
            let opens = number % 2 == 0;
            assert_eq!(opens, fence == "text", "{}: ```{fence}", path.display());
        }
    }
}

#[test]
fn nothing_is_left_unfinished() {
    // Put together here, so that this file is not its own first finding.
    let marks =
        ["TO_DO", "FIX_ME", "to_do!(", "unimple_mented!(", "XX_X:"].map(|m| m.replace('_', ""));
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let mark = marks.iter().find(|mark| line.contains(mark.as_str()));
            assert!(mark.is_none(), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}
