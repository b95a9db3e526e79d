//! `llvm-mc` decodes the same words. If it is asked about less or more than the table has, a line here
//! says so.

use des::Random;
use std::io::Write;
use std::process::{Command, Stdio};

/// Disassembly of each word by `llvm-mc`: its text with single spaces, or none if it is not an instruction.
pub fn llvm(words: &[u32]) -> Vec<Option<String>> {
    let mut child = Command::new("llvm-mc-14")
        .args(["-arch=lanai", "-disassemble"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("llvm-mc-14 runs (scripts/bootstrap test)");
    // It ends at once if the first word is no instruction; so that is a nop.
    let words = &[&[1], words].concat()[..];
    let mut text = String::new();
    for word in words {
        for byte in word.to_be_bytes() {
            text += &format!("{byte:#x} ");
        }
        text += "\n";
    }
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "llvm-mc: {} {words:x?}", output.status);
    let mut valid = vec![true; words.len()];
    for line in complaints.lines().filter(|line| line.contains("invalid instruction encoding")) {
        let number: usize = line.split(':').nth(1).unwrap().parse().unwrap();
        valid[number - 1] = false;
    }
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut lines = printed.lines().map(str::trim).filter(|line| *line != ".text");
    let result: Vec<_> =
        valid.iter().map(|valid| valid.then(|| lines.next().unwrap().replace('\t', " "))).collect();
    assert_eq!(lines.next(), None, "a line for each valid word");
    result[1..].to_vec()
}

/// Our text for a word that both may have; `punt` is the vendor's only.
fn ours(word: u32) -> Option<String> {
    match lanai::describe(word) {
        Some(row) if row.source == lanai::Source::Vendor => None,
        _ => lanai::disassemble(word),
    }
}

/// An indexed access with a reserved operation, on which `llvm-mc` crashes.
fn crashes(word: u32) -> bool {
    word >> 29 == 0b101 && word >> 8 & 7 == 7 && !matches!(word >> 3 & 31, 0b10000 | 0b11000)
}

#[test]
fn reserved_operations_of_addresses_are_illegal() {
    assert!(lanai::describe(0xa08a_1f80).is_some());
    assert!((0xa08a_1f00..0xa08a_1f80).all(|word| lanai::describe(word).is_none()));
}

fn compare(words: &[u32]) {
    let words: Vec<u32> = words.iter().copied().filter(|word| !crashes(*word)).collect();
    let mut wrong = Vec::new();
    for (word, expected) in words.iter().zip(llvm(&words)) {
        let found = ours(*word);
        if found != expected {
            wrong.push(format!("{word:#010x}: {found:?}, llvm-mc has {expected:?}"));
        }
    }
    let (count, of) = (wrong.len(), words.len());
    assert!(wrong.is_empty(), "{count} of {of}:\n{}", wrong[..count.min(40)].join("\n"));
}

/// Every row, with every kind of field: the bits that the row leaves open are random.
#[test]
fn every_row_is_decoded_as_by_llvm() {
    let mut random = Random::new(40);
    let words: Vec<u32> = lanai::rows()
        .flat_map(|row| std::iter::repeat_n(row, 200))
        .map(|row| row.value | !row.mask & random.next_u64() as u32)
        .collect();
    compare(&words);
}

#[test]
fn random_words_are_decoded_as_by_llvm() {
    compare(&random_words(41, 40_000));
}

#[test]
#[ignore = "four million words take half a minute"]
fn many_random_words_are_decoded_as_by_llvm() {
    for seed in 0..100 {
        compare(&random_words(1000 + seed, 40_000));
    }
}

/// Words with any bits; of every second one, bits that are zero in most formats are zero.
fn random_words(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            let word = random.next_u64() as u32;
            match random.below(4) {
                0 => word & !0xf8,
                1 => word & !0xfffc,
                _ => word,
            }
        })
        .collect()
}
