//! Papers, and paths that no text may name.

use house::{files, has_extension, text_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Texts in which papers are cited.
fn citing_texts() -> impl Iterator<Item = (PathBuf, String)> {
    files()
        .into_iter()
        .filter(|path| has_extension(path, &["rs", "c", "h", "S", "ld", "toml", "md"]))
        .filter(|path| !path.ends_with("docs/bibliography.md"))
        .map(|path| (path.clone(), text_of(&path)))
}

/// Citation keys that the bibliography defines: its third-level headings.
fn bibliography() -> BTreeSet<String> {
    let text = text_of(Path::new("docs/bibliography.md"));
    text.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect()
}

#[test]
fn papers_are_named_by_their_keys_only() {
    let keys = bibliography();
    let surnames: BTreeSet<String> = keys
        .iter()
        .map(|key| key.trim_end_matches(|c: char| c.is_ascii_digit()))
        .map(|name| name[..1].to_uppercase() + &name[1..])
        .collect();
    assert!(surnames.len() >= 4, "the bibliography has no keys: {keys:?}");
    for (path, text) in citing_texts() {
        for name in &surnames {
            assert!(!text.contains(name.as_str()), "{}: cite {name} by its key", path.display());
        }
        let numbered = (0..5).find(|n| text.contains(&format!("paper {n:03}")));
        assert_eq!(numbered, None, "{}: cite the paper by its key", path.display());
    }
}

#[test]
fn cited_keys_are_in_the_bibliography() {
    let keys = bibliography();
    for (path, text) in citing_texts() {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        for word in words.filter(|word| looks_like_key(word)) {
            assert!(keys.contains(word), "{}: {word} is not in the bibliography", path.display());
        }
    }
}

/// `surname` and a year.
fn looks_like_key(word: &str) -> bool {
    let year = word.len().saturating_sub(4);
    year >= 6
        && word.is_char_boundary(year)
        && word[..year].bytes().all(|b| b.is_ascii_lowercase())
        && matches!(word[year..].parse(), Ok(1990..=2029))
}

#[test]
fn no_paths_of_one_machine() {
    let homes = ["/work/", "/root/", "/home/"]
        .map(|home| [" ", "\"", "(", "`"].map(|q| format!("{q}{home}")));
    for (path, text) in citing_texts().filter(|(path, _)| !path.ends_with("house/citations.rs")) {
        let found = homes.iter().flatten().find(|home| text.contains(home.as_str()));
        assert_eq!(found, None, "{}", path.display());
    }
}
