//! Machine alpu-mesh: alpu's cards on redstorm's mesh. Programs see what they see on alpu; times are those of
//! routers and links.

use super::{counter, lines};
use crate::runner::{run, unjudged};
use serde_json::Value;

fn json_of(line: &str) -> Value {
    let ended = unjudged(&format!("run --json - -q {line}"));
    assert_eq!(ended.code, 0, "{ended:#?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:#?}"))
}

#[test]
fn programs_see_what_they_see_on_alpu() {
    for program in [
        "-n 8 tests/mpi/messages.c",
        "-n 5 tests/mpi/collectives.c",
        "-n 4 tests/mpi/groups.c",
        "-n 9 tests/soak/random.c 5",
    ] {
        let alpu = run(&format!("-q -m alpu {program}"));
        for how in ["", "--set net.topology=torus", "--ranks-per-node 2 --set nic.alpu=off"] {
            let mesh = run(&format!("-q -m alpu-mesh {how} {program}"));
            assert_eq!(lines(&alpu), lines(&mesh), "{how} {program}");
        }
    }
}

#[test]
fn nothing_but_the_machine_changes_the_hash() {
    for program in ["builtin:allreduce 64 5", "builtin:halo 4096 2"] {
        let hash = |options: &str| {
            let run = json_of(&format!("-n 64 -m alpu-mesh {options} {program}"));
            run["trace_hash"].as_str().unwrap().to_string()
        };
        let plain = hash("");
        assert_eq!(plain, hash("-t 2"), "{program}");
        assert_eq!(plain, hash("-t 2 --no-park --no-translate"), "{program}");
    }
}

/// The first node and the last of a row send one another empty messages: a packet with the card's header of
/// 32 bytes, which are 6 flits with those of routing and CRC. Engines make it and take it, and all routers on
/// its way, the last one too, choose an output for its head; the tail follows at the links' pace. Between
/// processes of a node it passes one router, and the tail follows at the pace of the port.
#[test]
fn a_message_takes_the_sum_of_its_parameters() {
    let (route, link, flit, header_time) = (11.0, 47.0, 4.0, 16.0);
    let port_flit = 2.0;
    for hops in [0.0, 1.0, 2.0, 3.0, 7.0] {
        let nodes = format!("{}", hops + 1.0);
        let (ranks, tail) =
            if hops == 0.0 { ("2 --ranks-per-node 2", port_flit) } else { (&*nodes, flit) };
        let line = format!(
            "-n {ranks} -m alpu-mesh --set net.topology=row --set net.route=11ns \
             --set net.link_latency=47ns --set net.flit=4ns --set offload.dma_rate=2GB/s \
             builtin:pingpong 0 8"
        );
        let run = json_of(&line);
        let steps = run["breakdown"]["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["name"] == "network").unwrap();
        let all = header_time + route + hops * (link + route) + 6.0 * tail + header_time;
        assert_eq!(step["place"], "network");
        for of in ["least_ns", "p50_ns", "most_ns"] {
            assert_eq!(step[of].as_f64(), Some(all), "{hops} hops, {of}");
        }
    }
}

/// Messages between all nodes meet on the links of a row, and not on wires, though a link is faster than
/// these.
#[test]
fn links_that_many_need_are_crowded() {
    let time = |machine: &str| {
        let run = json_of(&format!("-m {machine} -n 8 builtin:alltoall 30000 1"));
        let links = run["nodes"].as_array().unwrap().iter().flat_map(|node| {
            let links = node["links"].as_array().unwrap().clone();
            links.into_iter().map(|link| link["starved"].as_u64().unwrap())
        });
        (run["simulated_ns"].as_f64().unwrap(), links.sum::<u64>())
    };
    let (wires, none) = time("alpu --set offload.wire_rate=2.5GB/s");
    let (cube, some) = time("alpu-mesh");
    let (row, more) = time("alpu-mesh --set net.topology=row");
    assert!(wires < cube && cube * 1.5 < row, "{wires} {cube} {row}");
    assert!(none == 0 && some < more, "{some} {more}");
}

/// Many send to one: the link before it carries all messages, and the senders wait at their ports.
#[test]
fn many_to_one_is_slower_than_over_wires() {
    let run = |machine: &str| json_of(&format!("-m {machine} -n 9 builtin:incast 3000 20"));
    let time = |run: &Value| run["simulated_ns"].as_f64().unwrap();
    let (wires, row) = (run("alpu"), run("alpu-mesh --set net.topology=row"));
    assert!(time(&wires) * 1.05 < time(&row), "{} {}", time(&wires), time(&row));
    assert!(counter(&row, "net.injection_stalls") > 100);
    // All that entered the network has left it.
    assert_eq!(counter(&row, "net.injected"), counter(&row, "net.ejected"));
    let slow = run("alpu-mesh --set net.topology=row --set net.flit=6ns");
    assert!(time(&row) * 1.2 < time(&slow), "{} {}", time(&row), time(&slow));
}

#[test]
fn parameters_and_faults_are_those_that_it_has() {
    for (line, words) in [
        ("-m alpu --set net.route=1ns", "machines of model offload (nic.model) have no net.route"),
        (
            "-m alpu-mesh --set offload.wire=1ns",
            "have no offload.wire; it belongs to model offload",
        ),
        ("-m alpu-mesh --fault link.drop=0.1", "machines of model offload-mesh have no link.drop"),
        ("-m alpu-mesh --set net.x=1", "2 ranks need as many nodes, but net.x"),
        ("-m alpu-mesh --set net.input_queue=10", "credits of 24 flits at once leave no room"),
        (
            "-m alpu-mesh --set host.os=linux",
            "machines of model offload-mesh (nic.model) have no host.os",
        ),
    ] {
        let ended = unjudged(&format!("run -q -n 2 {line} builtin:barrier"));
        assert_eq!(ended.code, 2, "{ended:#?}");
        assert!(ended.stderr.contains(words), "{line}: {ended:#?}");
    }
    let here = unjudged("machines alpu-mesh").stdout;
    let there = unjudged("machines redstorm").stdout;
    let net = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().filter(|line| line.starts_with("net."));
        lines.map(|line| line.split_whitespace().map(String::from).collect()).collect()
    };
    assert_eq!((net(&here).len(), net(&here)), (12, net(&there)));
}
