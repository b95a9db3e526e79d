//! Messages and calls of machine alpu: steps, lists of its network interfaces, explanations.

use super::json_of;
use crate::runner::unjudged;
use serde_json::Value;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Class of a kind, a protocol and a size.
fn class<'a>(report: &'a Value, words: (&str, &str), bytes: u64) -> &'a Value {
    let classes = report["breakdowns"].as_array().unwrap();
    let is = |class: &&Value| {
        (class["kind"] == words.0 && class["protocol"] == words.1) && class["bytes_least"] == bytes
    };
    let found = classes.iter().find(is);
    found.unwrap_or_else(|| panic!("no {words:?} of {bytes} bytes: {classes:#?}"))
}

/// Names and sums of its steps.
fn steps(class: &Value) -> Vec<(&str, u64)> {
    let steps = class["steps"].as_array().unwrap();
    steps.iter().map(|step| (step["name"].as_str().unwrap(), number(&step["sum_ps"]))).collect()
}

fn step(class: &Value, name: &str) -> u64 {
    steps(class).iter().find(|(known, _)| *known == name).map_or(0, |(_, ps)| *ps)
}

/// Way of an eager message whose receive is posted.
const EAGER: [&str; 16] = [
    "MPI library, send",
    "command by stores",
    "firmware sees the command",
    "firmware, send",
    "send engine",
    "wire",
    "receive engine",
    "firmware sees the header",
    "match in the unit",
    "match in software",
    "firmware, receive",
    "payload by DMA",
    "firmware, completion",
    "completion over the bus",
    "MPI library sees the completion",
    "MPI library, receive",
];

#[test]
fn a_message_is_told_step_by_step() {
    let line = "-n 2 builtin:pingpong 64 30";
    let told = json_of(&format!("--set nic.alpu=off {line}"));
    let own = class(&told, ("send", "eager"), 64);
    let names: Vec<&str> = steps(own).iter().map(|(name, _)| *name).collect();
    let without: Vec<&str> =
        EAGER.into_iter().filter(|name| *name != "match in the unit").collect();
    assert_eq!(names, without);
    // Half of a round trip is a message, and the next one begins at once.
    let mean = |report: &Value| {
        let own = class(report, ("send", "eager"), 64);
        number(&own["sum_ps"]) as f64 / number(&own["messages"]) as f64
    };
    assert!((500_000.0..3_000_000.0).contains(&mean(&told)), "{}", mean(&told));
    // Steps are those of the parameters, to the picosecond where nothing polls.
    let each = |setting: &str, name: &str| {
        let told = json_of(&format!("--set nic.alpu=off --set {setting} {line}"));
        let own = class(&told, ("send", "eager"), 64);
        step(own, name) / number(&own["messages"])
    };
    for (key, name, times) in
        [("offload.wire", "wire", 1), ("offload.host_memory", "send engine", 1)]
    {
        let longer = each(&format!("{key}=900ns"), name) - each(&format!("{key}=400ns"), name);
        assert_eq!(longer, times * 500_000, "{key}");
    }
    let with = json_of(line);
    assert!(step(class(&with, ("send", "eager"), 64), "match in the unit") > 0, "{with:#}");
}

/// A message behind many posted receives names the walk, the firmware's function, and the cost of an entry;
/// with a unit that holds them there is none.
#[test]
fn a_walk_of_many_posted_receives_is_named() {
    let explain =
        |options: &str| unjudged(&format!("explain {options}")).went_well().stdout.clone();
    let line = "-n 2 -m alpu --set nic.alpu=off tests/cli/posted.c 400";
    let text = explain(&format!("--size 24 {line}"));
    assert!(text.contains("walked 400 entries of the posted list, "), "{text}");
    assert!(text.contains("firmware function search_posted"), "{text}");
    let told = json_of("-n 2 --set nic.alpu=off tests/cli/posted.c 400");
    let own = class(&told, ("send", "eager"), 24);
    let each = step(own, "match in software") as f64 / 1e3 / 400.0;
    assert!((14.0..80.0).contains(&each), "{each} ns an entry");
    let rank = &told["account"][1];
    assert_eq!((number(&rank["posted_most"]), number(&rank["posted"])), (400, 400), "{rank:#}");
    // The message that takes the last of them, and 399 that take the others from the front or the back.
    let walked = number(&rank["walked"]);
    assert!(walked > 400 * 400 / 2, "{rank:#}");
    assert_eq!(number(&rank["walked_most"]), 400, "{rank:#}");
    let mean = number(&rank["walking_ps"]) as f64 / 1e3 / number(&rank["walked"]) as f64;
    assert!((14.0..80.0).contains(&mean), "{mean} ns an entry");
    let text = explain(&format!("--rank 1 {line}"));
    assert!(text.contains("up to 400 each: ") && text.contains(" in the firmware"), "{text}");
    let with = json_of("-n 2 --set nic.alpu=512 tests/cli/posted.c 400");
    let rank = &with["account"][1];
    // What comes while the firmware has not inserted all of them is walked for.
    assert!(2 * number(&rank["walked"]) < walked, "the unit holds most of them: {rank:#}");
    assert!(number(&rank["unit_results"]) >= 400 && number(&rank["unit_ps"]) > 0, "{rank:#}");
}

/// Counts of walked entries agree with the executed firmware: a profile's cycles agree with the steps.
#[test]
fn walks_are_those_of_the_profile() {
    let line = "-m alpu --set nic.alpu=off -n 2 tests/cli/posted.c 300";
    let ended = unjudged(&format!("profile -q --json - {line}"));
    let profile: Value = serde_json::from_str(&ended.went_well().stdout).unwrap();
    let report = json_of("--set nic.alpu=off -n 2 tests/cli/posted.c 300");
    assert_eq!(profile["trace_hash"], report["trace_hash"]);
    let sum = |key: &str| -> u64 {
        report["account"].as_array().unwrap().iter().map(|rank| number(&rank[key])).sum()
    };
    let told = sum("walking_ps") + sum("searching_ps");
    let cycles = number(&profile["walk_cycles"]);
    let executed = 2_000 * cycles;
    // Behind each walk entries leave and join lists before others can see what has come of it.
    let searches = sum("walks") + sum("searches");
    assert!(told >= executed, "{told} of {executed} ps");
    assert!(told - executed < searches * 400_000, "{told} of {executed} ps");
    // The loop has some twenty instructions an entry at most, and eight at least.
    let functions = profile["functions"].as_array().unwrap().iter();
    let names = ["search_posted", "search_unexpected", "differ"];
    let walkers =
        functions.filter(|function| names.iter().any(|name| function["function"] == *name));
    let instructions: u64 = walkers.map(|function| number(&function["instructions"])).sum();
    let entries = sum("walked") + sum("searched");
    assert!((7 * entries..20 * entries).contains(&instructions), "{instructions} for {entries}");
}

/// Messages that come before their receive wait for it, in the memory of the interface, and the report says
/// so.
#[test]
fn kept_messages_wait_for_their_receives() {
    for units in ["off", "128"] {
        let told = json_of(&format!("-n 2 --set nic.alpu={units} tests/cli/unexpected.c 40"));
        let rank = &told["account"][1];
        assert!(number(&rank["unexpected"]) >= 40, "{units}: {rank:#}");
        assert!(number(&rank["unexpected_most"]) >= 40, "{units}: {rank:#}");
        let classes = told["breakdowns"].as_array().unwrap();
        let waited: u64 = classes.iter().map(|class| step(class, "waiting for the receive")).sum();
        assert!(waited > 0, "{units}: {told:#}");
        let found = match units {
            "off" => "unexpected: match in software",
            _ => "unexpected: match in the unit",
        };
        let sum: u64 = classes.iter().map(|class| step(class, found)).sum();
        assert!(sum > 0, "{units}: {classes:#?}");
    }
}

/// A rendezvous message has three legs, and its sender may have waited for a late receiver.
#[test]
fn a_rendezvous_goes_three_legs() {
    let told = json_of("-n 2 builtin:pingpong 200000 5");
    let own = class(&told, ("send", "rendezvous"), 200_000);
    for name in ["wire", "fetch: wire", "data: wire", "data: payload by DMA"] {
        assert!(step(own, name) > 0, "no {name}: {own:#}");
    }
    assert_eq!(step(own, "fetch: wire"), 200_000 * number(&own["messages"]));
    // 200,000 bytes take at least as long as the wire needs for them.
    assert!(step(own, "data: payload by DMA") > 10_000_000 * number(&own["messages"]), "{own:#}");
}

/// Two runs are compared step by step.
#[test]
fn a_unit_is_compared_with_none() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.json", "b.json"].map(|name| folder.path().join(name));
    for (file, units) in [(&a, "off"), (&b, "128")] {
        let file = file.display();
        let line = "-n 2 tests/cli/posted.c 100";
        unjudged(&format!("run -q -m alpu --json {file} --set nic.alpu={units} {line}"))
            .went_well();
    }
    let ended = unjudged(&format!("diff {} {}", a.display(), b.display()));
    let text = &ended.stdout;
    assert!(text.contains("match in software") && text.contains("nic.alpu"), "{text}");
}
