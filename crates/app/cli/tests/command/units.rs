//! Matching units of machine alpu as RTL in whole MPI programs: the same runs as on their model, detection of
//! bugs, and other designs in their place.

use crate::rtl::said;
use crate::runner::{command, ended, root, unjudged, Ended};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A machine on which every queue is full at times. All tests that compile units do so for this one shape.
pub const MACHINE: &str = "-m alpu --set nic.alpu=32 --set alpu.block=8 --set alpu.header_fifo=4 \
                       --set alpu.command_fifo=4 --set alpu.result_fifo=2";

const LISTS: &str = "tests/alpu/lists.c";

fn run(options: &str, program: &str) -> Ended {
    unjudged(&format!("run -q -n 2 {MACHINE} {options} {program}"))
}

#[test]
fn a_program_on_rtl_is_the_same_program() {
    for program in [&format!("-n 2 {LISTS}"), "-n 4 tests/mpi/messages.c"] {
        let model = said(&format!("{MACHINE} {program}"));
        for how in ["--rtl", "--rtl -t 2", "--rtl=check"] {
            assert_eq!(said(&format!("{MACHINE} {how} {program}")), model, "{how} {program}");
        }
    }
}

/// The bugs of rtl/alpu/formal: name, file, old text, new text.
fn bugs() -> Vec<[String; 4]> {
    let text = std::fs::read_to_string(root().join("rtl/alpu/formal/bugs.toml")).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    let of = |(name, bug): (&String, &toml::Value)| {
        let [file, old, new] = ["file", "old", "new"].map(|key| bug[key].as_str().unwrap());
        [name.as_str(), file, old, new].map(str::to_owned)
    };
    table.iter().map(of).collect()
}

/// The unit with these bugs in it.
fn with_mutants(names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for source in std::fs::read_dir(root().join("rtl/alpu")).unwrap() {
        let source = source.unwrap().path();
        if source.extension().is_some_and(|extension| extension == "sv") {
            std::fs::copy(&source, folder.path().join(source.file_name().unwrap())).unwrap();
        }
    }
    for name in names {
        let [_, file, old, new] = bugs().into_iter().find(|bug| bug[0] == *name).unwrap();
        let file = folder.path().join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches(&old).count(), 1, "{name}");
        std::fs::write(&file, text.replace(&old, &new)).unwrap();
    }
    folder
}

/// The number behind a word.
fn number(text: &str, word: &str) -> u64 {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("no '{word}' in {text}"));
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Two bugs, one in each unit: a program that uses the broken part ends with a sentence, in the cycle in
/// which the bug shows, by comparison with the model and by the specification alone.
#[test]
fn bugs_in_units_end_the_run_where_they_show() {
    let folder = with_mutants(&["youngest_wins", "request_mask_ignored"]);
    let wave = folder.path().join("wrong.vcd");
    let with = format!("--rtl-dir {}", folder.path().display());

    let waved = format!("--rtl=exact {with} --rtl-wave {}", wave.display());
    let exact = run(&waved, &format!("{LISTS} equal"));
    exact.said(1, &["node 0: the unit for posted receives, in its cycle ", "and of the model 0x"]);
    let shown = std::fs::read_to_string(&wave).unwrap();
    let cycle = number(&exact.stderr, "in its cycle ");
    let (first, last) = (number(&exact.stderr, "has cycles "), number(&exact.stderr, " to "));
    assert!(first < cycle && cycle <= last && shown.contains("model_rsp_payload"), "{exact:#?}");
    // A cycle of 500 MHz is over at its edge, and the next begins there.
    assert!(shown.contains(&format!("\n#{}\n", (cycle - 1) * 2000)), "{exact:#?}");

    let judged = run(&format!("--rtl=check {with}"), &format!("{LISTS} equal"));
    judged.said(1, &["the unit for posted receives", "match success, tag", " is right"]);
    let masks = run(&format!("--rtl=check {with}"), &format!("{LISTS} unexpected"));
    masks.said(1, &["node 0: the unit for unexpected messages", "match failure comes, where"]);
}

/// Bugs that the program does not reach; rtl/alpu/README.md gives the reasons.
const UNREACHED: [&str; 4] =
    ["compaction_during_match", "fifo_overflows", "fifo_underflows", "insert_into_occupied_cell"];

#[test]
#[ignore = "long: verilates both units for each planted bug; make soak"]
fn bugs_that_a_program_reaches_are_found() {
    let page = std::fs::read_to_string(root().join("rtl/alpu/README.md")).unwrap();
    for [name, ..] in bugs() {
        let folder = with_mutants(&[&name]);
        let found = run(&format!("--rtl=exact --rtl-dir {}", folder.path().display()), LISTS);
        if UNREACHED.contains(&&*name) {
            assert_eq!(found.code, 0, "{name} is reached: {found:#?}");
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
        } else {
            found.said(1, &["the unit for ", ", in its cycle ", "and of the model 0x"]);
        }
    }
}

#[test]
fn another_design_takes_the_place_of_ours() {
    let with = "--rtl-dir examples/units/systolic";
    let run_with = |mode: &str| run(&format!("--rtl{mode} {with}"), LISTS);
    let judged = run_with("=check");
    assert_eq!(judged.went_well().stdout, run("", LISTS).stdout);
    assert_eq!(run_with("").went_well().stdout, judged.stdout);
    run_with("=exact").said(1, &["node 0: the unit for ", "rsp_valid_o is 0x0"]);
}

/// A waveform shows the header of a message; also for one that no unit gets.
#[test]
fn a_waveform_shows_the_header_of_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("header.vcd");
    let waved = |id: &str| run(&format!("--rtl --rtl-wave {}@{id}", file.display()), LISTS);
    let none = waved("1:999999");
    none.said(1, &["no unit has got a copy of the header of message 1:999999"]);
    assert!(!file.exists());
    let shown = waved("1:2");
    assert_eq!(shown.code, 0, "{shown:#?}");
    let words = ["of both units of node 0; it is about cycle ", "of the unit for posted receives"];
    assert!(words.iter().all(|word| shown.stderr.contains(word)), "{shown:#?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("$timescale 1ps"), "{shown:#?}");
    let signal = |scope: &str, name: &str| {
        let (_, part) = text.split_once(&format!("$scope module {scope} ")).unwrap();
        let (before, _) = part.split_once(&format!(" {name} ")).unwrap();
        let short = before.rsplit(' ').next().unwrap();
        text.contains(&format!("\n1{short}\n"))
    };
    assert!(signal("posted", "hdr_valid_i") && signal("unexpected", "clk_i"));
}

#[test]
fn what_cannot_be_is_a_sentence() {
    for (line, words) in [
        ("--rtl --set nic.alpu=off", &["alpu.rtl (--rtl): nic.alpu is off"][..]),
        ("--rtl --rtl-dir nowhere", &["--rtl-dir", "nowhere: there is no such folder"]),
        ("--rtl --rtl-dir docs", &["--rtl-dir", "docs: verilator cannot compile"]),
        ("--rtl --rtl-wave w.vcd", &["--rtl-wave FILE shows the first cycle that is wrong"]),
        ("--rtl=check --rtl-wave -", &["--rtl-wave writes a file"]),
        ("--rtl=check -m forth", &["--rtl=check holds matching units", "machine alpu has"]),
        ("--rtl --rtl-dir docs -m forth", &["--rtl-dir replaces matching units"]),
        ("--rtl --rtl-wave w.vcd@1", &["NODE:NUMBER"]),
    ] {
        let machine = if line.contains("-m ") { "" } else { "-m alpu" };
        let line = format!("run -q -n 2 {machine} {line} examples/ring.c");
        unjudged(&line).said(2, words);
    }
    let mut line = command();
    let shape = "--set nic.alpu=64 --set alpu.block=2 --set alpu.result_fifo=512";
    let words = format!("run -q -n 2 -m alpu {shape} --rtl builtin:pingpong");
    line.env("PATH", "/proc/none").args(words.split(' '));
    ended(&mut line).said(2, &["alpu.rtl (--rtl): RTL is compiled by verilator", "install"]);
}

/// A file that a source includes from a subfolder is part of the unit: a change of it compiles the unit
/// again.
#[test]
fn a_changed_include_file_is_compiled() {
    let folder = with_mutants(&[]);
    let with = format!("--rtl --rtl-dir {}", folder.path().display());
    let top = folder.path().join("alpu.sv");
    let text = std::fs::read_to_string(&top).unwrap();
    let (head, body) = text.split_at(text.rfind("endmodule").unwrap());
    std::fs::write(&top, format!("{head}`include \"below/more.svh\"\n{body}")).unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let more = folder.path().join("below/more.svh");
    std::fs::write(&more, "// Nothing.\n").unwrap();
    run(&with, LISTS).went_well();
    std::fs::write(&more, "always @(posedge clk_i) assert (hdr_valid_i === 1'b0);\n").unwrap();
    run(&with, LISTS).said(1, &["the unit for ", "an assertion of it has failed"]);
}

/// A unit beside an installation of its own, as the repository has a folder beside it.
struct Kept {
    unit: TempDir,
    cache: TempDir,
}

impl Kept {
    fn new() -> Kept {
        let (unit, cache) = (with_mutants(&[]), tempfile::tempdir().unwrap());
        for part in ["machines", "include", "build/firmware", "build/lib", "rtl"] {
            let target = cache.path().join("root").join(part);
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(root().join(part), target).unwrap();
        }
        let top = unit.path().join("alpu.sv");
        let text = std::fs::read_to_string(&top).unwrap();
        let (head, body) = text.split_at(text.rfind("endmodule").unwrap());
        std::fs::write(&top, format!("{head}`include \"more.inc\"\n{body}")).unwrap();
        let kept = Kept { unit, cache };
        std::fs::write(kept.more(), "// Nothing.\n").unwrap();
        kept
    }
    /// The file that the unit includes: its name is that of no source.
    fn more(&self) -> PathBuf {
        self.unit.path().join("more.inc")
    }
    /// The folder of what is compiled.
    fn folder(&self) -> PathBuf {
        self.cache.path().join("cache/sunstar/verilated")
    }
    fn command(&self) -> Command {
        let mut command = command();
        command.env("XDG_CACHE_HOME", self.cache.path().join("cache"));
        command.env("SUNSTAR_ROOT", self.cache.path().join("root"));
        let with = format!("--rtl --rtl-dir {}", self.unit.path().display());
        let words = format!("run -q -n 2 {MACHINE} {with} builtin:pingpong 8 2");
        command.args(words.split_whitespace());
        command
    }
    fn run(&self) -> Ended {
        ended(&mut self.command())
    }
    fn run_without_verilator(&self) -> Ended {
        ended(self.command().env("PATH", "/proc/none"))
    }
}

/// A file with any name beside a unit is part of it, as Verilator takes any; and what is kept is taken only
/// if nobody has changed it.
#[test]
#[ignore = "a minute: a unit is compiled twice; make soak"]
fn what_is_kept_is_of_all_files_and_unchanged() {
    let kept = Kept::new();
    kept.run().went_well();
    // Damaged, it is made again.
    for thing in std::fs::read_dir(kept.folder()).unwrap().flatten() {
        let library = thing.path().join("rtl.so");
        if library.exists() {
            std::fs::write(library, "\x7fELF").unwrap();
        }
    }
    kept.run().went_well();
    kept.run_without_verilator().went_well();
    std::fs::write(kept.more(), "// Something else.\n").unwrap();
    kept.run_without_verilator().said(2, &["RTL is compiled by verilator"]);
}

/// Nothing is taken from a folder that others can write, and no device or pipe for a source.
#[test]
fn what_is_kept_is_ours_and_sources_are_files() {
    use std::os::unix::fs::PermissionsExt;
    let kept = Kept::new();
    let folder = kept.folder();
    std::fs::create_dir_all(&folder).unwrap();
    let mode = |bits| std::fs::Permissions::from_mode(bits);
    std::fs::set_permissions(&folder, mode(0o777)).unwrap();
    kept.run().said(2, &["can be written by all users", "XDG_CACHE_HOME"]);
    std::fs::set_permissions(&folder, mode(0o700)).unwrap();
    kept.run_without_verilator().said(2, &["RTL is compiled by verilator"]);

    let more = kept.more();
    std::fs::remove_file(&more).unwrap();
    let pipe = std::ffi::CString::new(more.to_str().unwrap()).unwrap();
    // SAFETY: the name is a C string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    kept.run().said(2, &["more.inc: it is a device or a pipe, not a file"]);
    std::fs::remove_file(&more).unwrap();
    std::os::unix::fs::symlink("/dev/zero", kept.unit.path().join("zero.sv")).unwrap();
    kept.run().said(2, &["zero.sv: it is a device or a pipe, not a file"]);
}

/// A unit that ends the simulation, dies in C++, or never answers ends the run with a sentence.
#[test]
fn a_unit_that_dies_ends_the_run_with_a_sentence() {
    for (statement, sentence) in [
        ("$finish;", "an assertion of it has failed, or it has called $finish"),
        ("$c(\"throw 1;\");", "C++ code of it has died"),
        ("$c(\"*(volatile int *)8 = 1;\");", "C++ code of it has died"),
    ] {
        let folder = with_mutants(&[]);
        let top = folder.path().join("alpu.sv");
        let text = std::fs::read_to_string(&top).unwrap();
        let (head, body) = text.split_at(text.rfind("endmodule").unwrap());
        let planted = format!("always @(posedge clk_i) if (hdr_valid_i) begin {statement} end\n");
        std::fs::write(&top, format!("{head}{planted}{body}")).unwrap();
        let ended = run(&format!("--rtl --rtl-dir {}", folder.path().display()), LISTS);
        ended.said(1, &["the unit for ", sentence]);
    }
    let folder = with_mutants(&[]);
    let top = folder.path().join("alpu.sv");
    let text = std::fs::read_to_string(&top).unwrap();
    let silent = text.replace("assign rsp_valid_o   = rsp_valid;", "assign rsp_valid_o   = 1'b0;");
    assert_ne!(text, silent);
    std::fs::write(&top, silent).unwrap();
    let ended = run(&format!("--rtl --rtl-dir {}", folder.path().display()), LISTS);
    ended.said(1, &["the unit for ", "and has given none for 1000000 cycles"]);
}

/// A unit that lacks a port is refused with its name.
#[test]
fn a_unit_without_a_port_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("examples/units/template/alpu.sv")).unwrap();
    let without = text.replace("hdr_mask_i", "hdr_mask");
    std::fs::write(folder.path().join("alpu.sv"), without).unwrap();
    let ended = run(&format!("--rtl --rtl-dir {}", folder.path().display()), LISTS);
    ended.said(2, &["verilator cannot compile the RTL"]);
    assert!(ended.stderr.contains("Pin not found: 'hdr_mask_i'"), "{ended:#?}");
}

/// The commands on the page run, with the sentence that it shows.
#[test]
fn the_page_of_units_tells_what_is() {
    let page = std::fs::read_to_string(root().join("docs/your-own-unit.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["examples", "tests"] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    let mut ran = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("    ")) {
        let words: Vec<&str> = line.split(' ').collect();
        // One shape for all tests.
        let small: Vec<&str> = MACHINE.split_whitespace().skip(2).collect();
        match words.split_first() {
            Some((&"cp", words)) => copy(folder.path(), words),
            Some((&"sunstar", words)) => {
                let (run, rest) = words.split_first().unwrap();
                let mut command = command();
                let quiet = ["-q"];
                let line = [&[*run][..], &quiet, &rest[..4], &small, &rest[4..]].concat();
                let ended = ended(command.current_dir(folder.path()).args(&line));
                assert_eq!((ended.code, &*ended.stdout), (0, "lists: all right\n"), "{ended:#?}");
                ran += 1;
            }
            _ => panic!("the page says {line}"),
        }
    }
    assert!(ran >= 3 && folder.path().join("header.vcd").exists());
}

fn copy(folder: &Path, words: &[&str]) {
    let copied = std::process::Command::new("cp").current_dir(folder).args(words).status();
    assert!(copied.unwrap().success(), "{words:?}");
}
