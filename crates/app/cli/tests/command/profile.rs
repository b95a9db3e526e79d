//! `sunstar profile`: every cycle of the firmware counts once, for the right function and line.

use crate::json::{assert_documented, paths};
use crate::runner::{root, sunstar, Ended};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// `sunstar profile --json` with the words of `line`.
fn profile(folder: &Path, line: &str) -> (Ended, Value) {
    let file = folder.join("profile.json");
    let words = ["profile", "--json", file.to_str().unwrap()];
    let ended = sunstar(words.into_iter().chain(line.split_whitespace()));
    ended.went_well();
    let value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    (ended, value)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Sum of one number over a list.
fn sum(list: &Value, key: &str) -> u64 {
    list.as_array().unwrap().iter().map(|item| number(&item[key])).sum()
}

#[test]
fn cycles_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let program = "-n 2 examples/pingpong.c 64";
    let (_, profile) = profile(folder.path(), program);
    let file = folder.path().join("run.json");
    let words = ["run", "--json", file.to_str().unwrap()];
    sunstar(words.into_iter().chain(program.split_whitespace())).went_well();
    let run: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    // Looking on changes nothing, and all that was seen is what was counted.
    assert_eq!(profile["trace_hash"], run["trace_hash"]);
    let (work, idle) = (&profile["work"], &profile["idle"]);
    // The run counts cycles to its end; the profile's last instruction may be longer, on each node.
    const LAST: u64 = 2 * 100;
    for (key, more) in [("cycles", LAST), ("instructions", 0)] {
        let (all, counted) =
            (number(&work[key]) + number(&idle[key]), number(&run["firmware"][key]));
        assert!((counted..=counted + more).contains(&all), "{key}: {all} of {counted}");
        assert_eq!(sum(&profile["functions"], key), number(&work[key]), "{key} of functions");
        assert_eq!(sum(&profile["lines"], key), number(&work[key]), "{key} of lines");
    }
    assert_eq!(sum(&profile["stacks"], "cycles"), number(&work["cycles"]));
    for cost in [work, idle] {
        let causes = cost["cycles_by_cause"].as_object().unwrap();
        assert_eq!(causes.values().map(number).sum::<u64>(), number(&cost["cycles"]));
    }
    // A message takes some turns of the main loop, and idle turns find nothing.
    let messages = number(&run["firmware"]["messages"]);
    let turns = number(&profile["work_turns"]);
    assert!((messages / 2..6 * messages).contains(&turns), "{turns} turns, {messages} messages");
    let idle_turn = number(&idle["instructions"]) / number(&profile["idle_turns"]);
    assert!(idle_turn < number(&work["instructions"]) / turns, "{idle_turn} instructions");
    assert_eq!(number(&idle["icache_misses"]) + number(&idle["dcache_misses"]), 0);
    // The work of sending and receiving is where it was written.
    let functions = profile["functions"].as_array().unwrap();
    let with_callees = |name: &str| {
        let function = functions.iter().find(|function| function["function"] == name);
        number(&function.unwrap_or_else(|| panic!("no {name}"))["with_callees"])
    };
    assert_eq!(with_callees("mainloop"), number(&work["cycles"]));
    assert!(with_callees("rx_take_all") > with_callees("rx_message"));
    assert!(with_callees("command_take_all") > with_callees("tx_command"));
    let line = &profile["lines"][0];
    assert!(line["file"].as_str().unwrap().ends_with(".c") && number(&line["line"]) > 0, "{line}");
}

#[test]
fn parked_turns_are_told_as_if_they_were_executed() {
    let folder = tempfile::tempdir().unwrap();
    for line in ["-n 2 examples/pingpong.c 8", "-n 5 -t 2 --node 3 examples/allreduce.c"] {
        let [parked, executed] =
            ["", "--no-park "].map(|option| profile(folder.path(), &format!("{option}{line}")).1);
        assert_eq!(parked, executed, "{line}");
    }
}

#[test]
fn every_key_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let (_, profile) = profile(folder.path(), "-n 2 --fault link.drop=0 examples/pingpong.c 8");
    let mut found = BTreeSet::new();
    paths(&profile, "", &mut found);
    assert_documented("profile-json.md", &found);
}

#[test]
fn people_see_functions_and_the_text_of_lines() {
    let words = ["profile", "-n", "2", "--node", "1", "--lines", "40", "examples/pingpong.c", "8"];
    let ended = sunstar(words);
    let out = &ended.went_well().stdout;
    assert!(out.contains("Firmware of node 1 since the launch"), "{out}");
    for word in ["idle polling", "rx_take_all", "command_take_all"] {
        assert!(out.contains(word), "no {word} in {out}");
    }
    // The text below a place is that line of that file.
    let lines: Vec<&str> = out.lines().collect();
    let (place, text) = lines
        .windows(2)
        .find_map(|pair| Some((pair[0].split_once("core/")?.1, pair[1].trim())))
        .expect("a line of the firmware's core");
    let (file, number) = place.split_once(' ').unwrap().0.split_once(':').unwrap();
    let source = root().join("firmware/seastar/core").join(file);
    let source = std::fs::read_to_string(source).unwrap();
    let number: usize = number.parse().unwrap();
    assert_eq!(source.lines().nth(number - 1).unwrap().trim(), text, "{place}");
}

/// The image of an 8-byte ping-pong.
fn flame(folder: &Path) -> std::path::PathBuf {
    flame_of(folder, "examples/pingpong.c 8")
}

/// The image of the program in `line` on two nodes.
fn flame_of(folder: &Path, line: &str) -> std::path::PathBuf {
    let file = folder.join("flame.svg");
    let words = ["profile", "-q", "-n", "2", "--flame", file.to_str().unwrap()];
    sunstar(words.into_iter().chain(line.split(' '))).went_well();
    file
}

#[test]
fn the_flame_graph_is_one_well_formed_file_with_the_functions_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(flame(folder.path())).unwrap();
    let mut reader = quick_xml::Reader::from_str(&text);
    let (mut depth, mut frames, mut scripts) = (0, Vec::new(), 0);
    loop {
        use quick_xml::events::Event;
        match reader.read_event().expect("well-formed XML") {
            Event::Start(start) => {
                depth += 1;
                scripts += usize::from(start.name().as_ref() == b"script");
                if start.name().as_ref() == b"title" {
                    let title = reader.read_text(start.name()).expect("a title has an end");
                    frames.push(title.decode().unwrap().into_owned());
                    depth -= 1;
                }
                // Nothing is loaded from anywhere.
                for attribute in start.attributes() {
                    let attribute = attribute.unwrap();
                    let key = attribute.key.as_ref();
                    assert!(!matches!(key, b"href" | b"xlink:href" | b"src"), "{start:?}");
                }
            }
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, scripts), (0, 1), "all elements are closed");
    for function in ["mainloop", "rx_take_all", "command_take_all", "tx_command", "rx_message"] {
        let frame = frames.iter().find(|title| title.starts_with(&format!("{function} (")));
        let frame = frame.unwrap_or_else(|| panic!("no {function} in {frames:?}"));
        assert!(frame.contains(" cycles, "), "{frame}");
    }
    // The same profile gives the same image.
    let again = std::fs::read_to_string(flame(folder.path())).unwrap();
    assert_eq!(text, again);
}

/// The flame graph may go to standard output, like the JSON: then the table and the program's output go to
/// standard error.
#[test]
fn the_flame_graph_may_have_standard_output_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = std::fs::read_to_string(flame(folder.path())).unwrap();
    let words = ["profile", "-n", "2", "--flame", "-", "examples/pingpong.c", "8"];
    let ended = sunstar(words);
    assert_eq!((ended.code, &ended.stdout), (0, &drawn));
    for text in ["latency (us)", "Work by function"] {
        assert!(ended.stderr.contains(text), "no '{text}' in {ended:#?}");
    }
}

/// A browser opens the flame graphs of both processors' firmware.
#[test]
fn a_browser_opens_the_flame_graph() {
    for (line, function) in [
        ("examples/pingpong.c 8", "rx_take_all ("),
        ("-m amata builtin:myrinet-pingpong 8 20", "look_at_packet ("),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = flame_of(folder.path(), line);
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", folder.path().join("browser").display()))
            .args(["--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom"])
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("chromium, which scripts/bootstrap test installs");
        let page = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("CONSOLE"), "{output:?}");
        assert!(!page.contains("parsererror"), "{page}");
        assert!(page.contains(function), "{page}");
        // The script has run: it fits the drawing to the window.
        let drawn = std::fs::read_to_string(&file).unwrap();
        let width = |text: &str| {
            let frames = text.split_once("<svg id=\"frames\"").expect("the frames").1;
            frames.split_once("width=\"").unwrap().1.split_once('"').unwrap().0.to_owned()
        };
        assert_ne!(width(&drawn), width(&page));
    }
}
