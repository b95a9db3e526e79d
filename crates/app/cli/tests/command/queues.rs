//! `sunstar bench queues` and `sunstar queues`: the numbers about MPI's queues are right. And the judge of
//! MPI's rules beside whole runs.

use crate::runner::{root, run, unjudged};
use serde_json::Value;

/// The time at a length, in ns, of the curve with this part walked.
fn at(figures: &Value, percent: u64, length: u64) -> f64 {
    let curves = figures["posted"].as_array().unwrap();
    let curve = curves.iter().find(|curve| curve["percent"] == percent).unwrap();
    let points = curve["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["length"] == length).unwrap();
    assert_eq!(point["walked"], length * percent / 100);
    point["ns"].as_f64().unwrap()
}

#[test]
fn the_cost_of_an_entry_is_found_again_in_the_figures() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("queues.html");
    let options = format!("--longest 20 --page {} -j 2", page.display());
    let line = format!("bench queues --json - {options} --set portals.list_entry=1us");
    let figures: Value = serde_json::from_str(&unjudged(&line).wrote(&page).stdout).unwrap();
    // A receive more on the way is a microsecond more, as the search is a part of the way.
    for (percent, length) in [(100, 20), (60, 20), (100, 10), (40, 5)] {
        let (walked, own) = (length * percent / 100, at(&figures, 0, length));
        let each = (at(&figures, percent, length) - own) / walked as f64;
        assert!((900.0..1100.0).contains(&each), "{percent} % of {length}: {each} ns");
    }
    // Entries behind it cost nothing.
    let behind = at(&figures, 0, 20) - at(&figures, 0, 0);
    assert!(behind.abs() < 1000.0, "{behind} ns");
    assert_eq!(figures["posted"].as_array().unwrap().len(), 6);
    assert_eq!(figures["variants"].as_array().unwrap().len(), 1);
    let unexpected = &figures["unexpected"][0];
    assert_eq!(unexpected["points"].as_array().unwrap().len(), 6);
    let command = unexpected["command"].as_str().unwrap();
    assert!(command.ends_with("examples/studies/unexpected.c 0 20"), "{command}");
    let documented = std::fs::read_to_string(root().join("docs/reference/bench-json.md")).unwrap();
    for object in [&figures, &figures["posted"][0], &unexpected["points"][0]] {
        for key in object.as_object().unwrap().keys() {
            assert!(documented.contains(&format!("`{key}`")), "{key} is not in bench-json.md");
        }
    }
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["id=\"posted\"", "id=\"unexpected\"", "100 % walked", "portals.list_entry=1us"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_list_on_the_nic_is_measured_as_far_as_it_goes() {
    let ended = unjudged("bench queues -m redstorm-accelerated -j 2");
    let text = &ended.went_well().stdout;
    assert!(text.contains("Up to 300 receives: the match list on the network interface"), "{text}");
    let rows = text.lines().filter(|line| line.trim_start().starts_with("300 ")).count();
    assert_eq!(rows, 2, "{text}");
    assert!(text.contains("a posted receive walked, from 20 to 100 of them"), "{text}");
    assert!(!text.contains("all of 400 walked"), "{text}");
}

#[test]
fn queues_are_measured_where_there_are_any() {
    unjudged("bench queues -m forth").said(2, &["forth runs no MPI programs"]);
    unjudged("bench queues --longest 501").said(2, &["--longest 501", "from 0 to 500"]);
    unjudged("queues -m forth builtin:rdma-pingpong").said(2, &["forth", "no such queues"]);
    unjudged("queues --vary nonsense builtin:pingpong").said(2, &["--vary nonsense", "KEY=VALUE"]);
    unjudged("queues --vary no.such=1 builtin:pingpong").said(2, &["no.such"]);
    let ended = unjudged("run -q -n 3 examples/studies/posted.c");
    assert_eq!(ended.code, 1, "{ended:#?}");
    assert!(ended.stderr.contains("posted: needs two ranks"), "{ended:#?}");
}

/// The benchmarks use only the eleven functions of the paper's MPI.
#[test]
fn the_benchmarks_use_eleven_functions() {
    const OWN: [&str; 11] = [
        "Init",
        "Finalize",
        "Comm_rank",
        "Comm_size",
        "Barrier",
        "Send",
        "Recv",
        "Isend",
        "Irecv",
        "Wait",
        "Waitall",
    ];
    for name in ["posted", "unexpected"] {
        let text = std::fs::read_to_string(root().join(format!("examples/studies/{name}.c")));
        let text = text.unwrap();
        let calls = text.split("MPI_").skip(1).filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            rest[end..].starts_with('(').then(|| &rest[..end])
        });
        let calls: Vec<&str> = calls.collect();
        assert!(calls.len() > 10, "{calls:?}");
        assert!(calls.iter().all(|call| OWN.contains(call)), "{calls:?}");
    }
}

/// Every message to a rank has searched its posted receives once, on whatever core.
#[test]
fn searches_add_up_to_messages() {
    for options in
        ["-n 6", "-n 8 --ranks-per-node 2", "-n 4 -m redstorm-accelerated --ranks-per-node 2"]
    {
        for program in ["builtin:alltoall 64 3", "builtin:alltoall 20000 2"] {
            // What the program prints goes to standard error.
            let ended = run(&format!("-q --json - {options} {program}"));
            assert_eq!(ended.code, 0, "{ended:#?}");
            let report: Value = serde_json::from_str(&ended.stdout).unwrap();
            let account = report["account"].as_array().unwrap();
            let sent_to = |rank: &Value| -> u64 {
                let sent = account.iter().flat_map(|other| other["sent"].as_array().unwrap());
                let own = sent.filter(|sent| sent["to"] == rank["rank"]);
                own.map(|sent| sent["messages"].as_u64().unwrap()).sum()
            };
            for rank in account {
                let line = format!("{options} {program}: {rank:#}");
                assert_eq!(rank["walks_untold"], 0, "{line}");
                assert_eq!(rank["walks"].as_u64().unwrap(), sent_to(rank), "{line}");
                assert!(rank["walked"].as_u64() >= rank["walks"].as_u64(), "{line}");
                assert!(rank["walked_most"].as_u64() <= rank["walked"].as_u64(), "{line}");
            }
            assert!(report["judged"]["mpi"]["bytes"].as_u64().unwrap() > 0);
        }
    }
}

const PROGRAM: &str = "examples/studies/posted.c";

#[test]
fn the_laboratory_tells_of_every_rank_and_of_every_setting() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("queues.html");
    let ended = unjudged(&format!(
        "queues --page {} --vary portals.list_entry=100ns,1us -n 2 {PROGRAM} 0 100 30 1",
        page.display()
    ));
    let text = &ended.wrote(&page).stdout;
    // The program's own output comes once.
    assert_eq!(text.matches("posted 30 walked 30: 0 bytes, ").count(), 1, "{text}");
    let rows = |name: &str| {
        let lines = text.lines().filter(move |line| line.trim_start().starts_with(name));
        lines
            .map(|line| line.split_whitespace().map(String::from).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    for name in ["rank 0", "rank 1", "all ranks"] {
        let rows = rows(name);
        assert_eq!(rows.len(), 2, "{name}: {text}");
        // All the others and the message's own are there at once.
        assert!(rows[0][3].parse::<u64>().unwrap() >= 31, "{text}");
    }
    assert!(text.contains("Every search is counted."), "{text}");
    // Each entry takes as long as was said.
    let settings = [rows("portals.list_entry=100ns"), rows("portals.list_entry=1us")];
    for (rows, each) in settings.iter().zip([0.1, 1.0]) {
        let row = &rows[rows.len() - 1];
        let walked: f64 = row[4].replace(',', "").parse().unwrap();
        let us = row[5].parse::<f64>().unwrap() * if row[6] == "ms" { 1e3 } else { 1.0 };
        assert!(walked > 1000.0 && (us / walked - each).abs() < 0.01 * each, "{text}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["id=\"posted\"", "id=\"settings\"", "id=\"queue-posted\"", "data-rank=\"all\""] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn mpi_s_rules_are_judged_beside_portals_and_absent_where_links_lose_messages() {
    let judged = |line: &str| {
        let ended = run(&format!("-q --json - -n 2 {line}"));
        serde_json::from_str::<Value>(&ended.stdout).unwrap()["judged"]["mpi"].clone()
    };
    for machine in ["redstorm", "redstorm-accelerated", "alpu", "ideal", "example", "queuepair"] {
        let mpi = judged(&format!("-m {machine} builtin:pingpong 8 10"));
        assert!(mpi["sent"].as_u64() >= Some(20), "{machine}: {mpi}");
        assert_eq!(mpi["sent"], mpi["received"], "{machine}");
        assert!(mpi["bytes"].as_u64() >= Some(160), "{machine}: {mpi}");
    }
    assert!(judged("--fault link.delay=0.5:1us builtin:pingpong 8 2").is_object());
    assert!(judged("--fault link.drop=#100000 builtin:pingpong 8 2").is_null());
}
