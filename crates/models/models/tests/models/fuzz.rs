//! Any text in a machine file or behind `--set` is accepted or refused in one sentence.

use crate::machines;
use machine::parameters::Parameters;
use models::MODELS;
use std::path::Path;

/// Text that means something in machine files.
const WORDS: &[&str] = &[
    "base = \"redstorm\"\n",
    "[net.x]\n",
    "value = ",
    "\"0\"",
    "\"65536\"",
    "\"18446744073709551615\"",
    "\"0.5 ns\"",
    "\"1 ps\"",
    "\"1 GiB\"",
    "\"1 Hz\"",
    "on",
    "off",
    "torus",
    "mesh",
    "\u{1f600}",
    "'''",
    "]]\n",
    "= { value = 1, doc = \"\", source = \"\" }\n",
    "0x10",
    "1e9",
];

fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Parameters::parse(&MODELS, Path::new("m.toml"), &text, &machines()) {
        Ok(parameters) => configure(&parameters),
        Err(usage_error) => {
            assert!(
                !usage_error.to_string().is_empty() && !usage_error.to_string().contains('\n'),
                "{usage_error}"
            )
        }
    }
}

/// Makes a machine of it, if there can be one.
fn configure(parameters: &Parameters) {
    for ranks in [1, 7, 64] {
        if let Err(why) = machine::check(parameters, ranks, &[], 1) {
            assert!(!why.to_string().contains('\n'), "{why}");
        }
    }
}

#[test]
fn fuzz_machine_files() {
    let text = |name: &str| std::fs::read(machines().join(name)).unwrap();
    let words = WORDS.iter().map(|word| word.as_bytes());
    let small = "name = \"m\"\ndoc = \"d\"\nbase = \"redstorm\"\n[host.cores]\nvalue = 2\n\
                 doc = \"d\"\nsource = \"assumed\"\n";
    fuzz::Target::new("machine files")
        .seed(text("redstorm.toml"))
        .seed(text("redstorm-linux.toml"))
        .seed(text("ideal.toml"))
        .seed(small)
        .seed(small)
        .words(words)
        .run(read);
}

#[test]
fn fuzz_settings() {
    let machine = Parameters::load(&MODELS, &machines().join("redstorm.toml")).unwrap();
    let lines = machine.iter().map(|parameter| format!("{}={}", parameter.key, parameter.text));
    let lines: Vec<String> = lines.collect();
    let ranges = MODELS.all().flat_map(|row| {
        [row.range.0, row.range.1].into_iter().map(|end| format!("{}={end}", row.key))
    });
    let words = ranges.map(|line| format!("\n{line}\n").into_bytes());
    let words = words.chain(WORDS.iter().map(|word| word.as_bytes().to_vec()));
    let mut target = fuzz::Target::new("--set").words(words);
    for some in lines.chunks(4) {
        target = target.seed(some.join("\n"));
    }
    target.run(|bytes| {
        let mut parameters = machine.clone();
        for line in String::from_utf8_lossy(bytes).lines() {
            let said = parameters.set(line);
            assert!(said.is_ok() || !said.unwrap_err().to_string().is_empty());
        }
        configure(&parameters);
    });
}
