//! Documents as their readers see them: blocks of code, and code within sentences, in their order.

use crate::runner::root;
use std::path::Path;
use std::process::Command;

/// A file that a user reads.
#[derive(Debug)]
pub struct Document {
    /// Path from the repository's root.
    pub name: String,
    /// Text before the first block and the first heading below the title.
    pub opening: String,
    pub pieces: Vec<Piece>,
}

/// Code in a document, with the line where it begins.
#[derive(Debug)]
pub enum Piece {
    Block(Block),
    Span { line: usize, text: String },
}

/// A block between fences, or one that is indented by four blanks.
#[derive(Debug)]
pub struct Block {
    pub line: usize,
    /// The word behind the fence; empty if there is none.
    pub language: String,
    pub lines: Vec<String>,
    /// Paragraphs around it.
    pub before: String,
    pub after: String,
}

/// All documents of the repository. Reasons and logs (docs/decisions) tell what was once, so nobody types
/// what they quote.
pub fn documents() -> Vec<Document> {
    let listed = Command::new("git").current_dir(root()).args(["ls-files", "*.md"]).output();
    let listed = String::from_utf8(listed.expect("git lists the documents").stdout).unwrap();
    let names = listed.lines().filter(|name| !name.starts_with("docs/decisions/"));
    let documents: Vec<Document> = names.map(|name| read(name, &text(name))).collect();
    assert!(documents.len() > 50, "{}", documents.len());
    documents
}

fn text(name: &str) -> String {
    let file = root().join(Path::new(name));
    std::fs::read_to_string(&file).unwrap_or_else(|why| panic!("{}: {why}", file.display()))
}

/// Parts of a text: paragraphs, headings and rows of tables are prose, of which each has its own spans.
enum Part {
    Prose { line: usize, text: String },
    Code(Block),
}

pub fn read(name: &str, text: &str) -> Document {
    let parts = parts(text);
    let mut opening = String::new();
    for part in &parts {
        match part {
            Part::Prose { text, .. } if !text.starts_with("##") => opening += &format!("{text}\n"),
            _ => break,
        }
    }
    let prose = |at: Option<&Part>| match at {
        Some(Part::Prose { text, .. }) => text.clone(),
        _ => String::new(),
    };
    let mut pieces = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Prose { line, text } => spans(*line, text, &mut pieces),
            Part::Code(block) => pieces.push(Piece::Block(Block {
                before: prose(at.checked_sub(1).and_then(|before| parts.get(before))),
                after: prose(parts.get(at + 1)),
                line: block.line,
                language: block.language.clone(),
                lines: block.lines.clone(),
            })),
        }
    }
    Document { name: name.to_string(), opening, pieces }
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line)).peekable();
    let mut blank_before = true;
    while let Some((at, line)) = lines.next() {
        let indented = |line: &str| line.starts_with("    ");
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line);
            let inside = inside.take_while(|line| !line.trim_start().starts_with("```"));
            parts.push(Part::Code(block(at, language.trim(), inside.map(String::from).collect())));
        } else if indented(line) && blank_before {
            let mut inside = vec![line[4..].to_string()];
            loop {
                // Blank lines within it do not end it.
                let rest = || lines.clone().map(|(_, line)| line);
                let blank = rest().take_while(|line| line.trim().is_empty()).count();
                if !rest().nth(blank).is_some_and(indented) {
                    break;
                }
                let more = lines.by_ref().take(blank + 1);
                inside.extend(more.map(|(_, line)| line.get(4..).unwrap_or("").to_string()));
            }
            parts.push(Part::Code(block(at, "", inside)));
        } else if !line.trim().is_empty() {
            let row = line.starts_with('|') || line.starts_with('#') || line.starts_with("- ");
            match parts.last_mut() {
                Some(Part::Prose { text, .. }) if !blank_before && !row => {
                    text.push('\n');
                    text.push_str(line);
                }
                _ => parts.push(Part::Prose { line: at, text: line.to_string() }),
            }
        }
        blank_before = line.trim().is_empty();
    }
    parts
}

fn block(line: usize, language: &str, lines: Vec<String>) -> Block {
    let (before, after) = (String::new(), String::new());
    Block { line, language: language.to_string(), lines, before, after }
}

/// Code between single backticks.
fn spans(line: usize, text: &str, pieces: &mut Vec<Piece>) {
    for (at, span) in text.split('`').enumerate().filter(|(at, _)| at % 2 == 1) {
        let before: usize = text.split('`').take(at).map(|part| part.matches('\n').count()).sum();
        pieces.push(Piece::Span { line: line + before, text: span.replace('\n', " ") });
    }
}

#[test]
fn a_text_is_read_as_its_readers_see_it() {
    let text = "# Title\n\nOf `one\ntwo` and `three`.\n\n    a b\n\n    c\n\nthen\n\n```sh\nd\n\n \
        e\n```\n\
        | `f` |\n| g |\n\n- item\n      no block\n";
    let document = read("x.md", text);
    assert_eq!(document.opening, "# Title\nOf `one\ntwo` and `three`.\n");
    let told: Vec<String> = document
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Span { line, text } => format!("{line} {text}"),
            Piece::Block(block) => {
                let before = block.before.lines().last().unwrap_or("");
                format!("{} {}:{before}:{}", block.line, block.language, block.lines.join("/"))
            }
        })
        .collect();
    let wanted =
        ["3 one two", "4 three", "6 :two` and `three`.:a b//c", "12 sh:then:d// e", "17 f"];
    assert_eq!(told, wanted);
}
