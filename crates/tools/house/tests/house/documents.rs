//! The index of documents.

use house::{files, has_extension, root, text_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Links from the index lead to every page.
#[test]
fn every_document_is_in_the_index() {
    let root = root();
    let indexed = |index: &str| {
        let text = text_of(&root.join(index));
        let folder = Path::new(index).parent().unwrap().to_owned();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        links.map(|link| folder.join(link)).collect::<BTreeSet<PathBuf>>()
    };
    let mut known = indexed("docs/README.md");
    known.extend(indexed("docs/decisions/README.md"));
    let pages = files().into_iter().filter(|file| has_extension(file, &["md"]));
    let lost: Vec<PathBuf> = pages
        .filter(|page| page.starts_with("docs") && !page.ends_with("docs/README.md"))
        .filter(|page| !known.contains(page))
        .collect();
    assert!(lost.is_empty(), "no index names {lost:?}");
}
