//! Directed Point on machine `amata`: the module, its files and its library in Linux guests.

use crate::guests::hash_and_output;
use crate::runner::{command, ended};

pub mod messages;

/// Output of one node that runs a script.
fn script(text: &str) -> String {
    let words = ["run", "-q", "-n", "1", "-m", "amata", "sh", "-c", text];
    ended(command().args(words)).went_well().stdout.clone()
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_ping_pong_has_one_hash_twice_and_on_two_threads() {
    let words = ["-n", "2", "-m", "amata", "examples/dp_pingpong.c", "2"];
    let one = hash_and_output("1", &words);
    let rows: Vec<f64> = one.1.lines().skip(1).map(|line| number(line, 1)).collect();
    assert_eq!(rows.len(), 12, "{}", one.1);
    // A byte more may meet the control program's loop at a better moment.
    assert!(rows[11] > rows[0] + 20.0, "{}", one.1);
    assert_eq!(hash_and_output("1", &words), one);
    assert_eq!(hash_and_output("2", &words), one);
}

fn number(line: &str, field: usize) -> f64 {
    line.split_whitespace().nth(field).unwrap().parse().unwrap()
}

/// A node's route leads to itself, too. What is wrong in a line is refused, and the lines before it hold.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn routes_are_written_and_read_by_cat() {
    let text = "cat /proc/net/myri_route
        printf '1 81 bf # to node 1\\n\\n21844 80 81 82 83 84 85\\n' >/tmp/routes
        cat /tmp/routes >/proc/net/myri_route && cat /proc/net/myri_route
        for line in '2 7f' '2 80 80 80 80 80 80 80' '21845 80' 'x 80' '-1 80' '2 8g'; do
            echo \"$line\" 2>/dev/null >/proc/net/myri_route || echo refused
        done
        echo 1 >/proc/net/myri_route && cat /proc/net/myri_route";
    let before = "0 80\n";
    let with = "0 80\n1 81 bf\n21844 80 81 82 83 84 85\n";
    let behind = "0 80\n21844 80 81 82 83 84 85\n";
    assert_eq!(script(text), [before, with, &"refused\n".repeat(6), behind].concat());
}

/// All 16 MB, beside the memory in words only.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn the_cards_space_is_read_and_written_by_its_device() {
    let text = "at() { dd if=/dev/myrinet bs=$1 skip=$(($2 / $1)) count=1 2>/dev/null; }
        word() { at 4 $1 | od -An -tx1; }
        word 0x50000
        word 0x70000
        printf hello | dd of=/dev/myrinet bs=1 seek=$((0x1ffff0)) conv=notrunc 2>/dev/null
        dd if=/dev/myrinet bs=1 skip=$((0x1ffff0)) count=6 2>/dev/null | od -An -c
        word 0x300000
        word 0x804058
        at 2 0x804058 | wc -c
        at 4 0x1000000 | wc -c";
    let expected = [
        // The control program; node 0's route; memory; nothing; the interrupt's mask; refused; the end.
        " 4d 43 50 31",
        " 80 00 00 00",
        "   h   e   l   l   o  \\0",
        " ff ff ff ff",
        " 40 00 00 00",
        "0",
        "0",
        "",
    ];
    assert_eq!(script(text), expected.join("\n"));
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn the_cards_memory_is_mapped() {
    let words = ["run", "-q", "-n", "1", "-m", "amata", "tests/dp/map.c"];
    assert_eq!(ended(command().args(words)).went_well().stdout, "content\n");
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_port_without_a_cable_loses_what_it_gets() {
    let words = ["run", "-q", "-n", "2", "-m", "amata", "--json", "-", "tests/dp/nowhere.c"];
    let run = ended(command().args(words));
    let report: serde_json::Value = serde_json::from_str(&run.went_well().stdout).unwrap();
    // Each of both has header, data and both CRCs.
    assert_eq!(report["switches"][0]["counters"]["bytes_lost"], 2 * (16 + 100 + 5), "{report:#}");
}

/// Files, devices, the line of the interrupt, the region, and the module itself.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn rmmod_leaves_nothing() {
    let text = "left() {
            ls /proc/net /dev
            grep -w dp /proc/interrupts /proc/modules
            grep -w myrinet /proc/devices
            cat /proc/iomem
            ls /sys/class /sys/class/net
        }
        module=$(ls /sys/module/dp/holders)
        left >/tmp/loaded
        rmmod dp && left >/tmp/once
        insmod $KO nid=0 check=4096 && rmmod dp && left >/tmp/twice
        cmp /tmp/once /tmp/twice && echo equal
        diff /tmp/loaded /tmp/once | grep -c '^<'
        diff /tmp/loaded /tmp/once | grep -c '^>'
        grep -w -e dp -e myri_route -e myrinet -e myri0 /tmp/once
        echo end";
    let text = text.replace("$KO", &module());
    let words = ["run", "-q", "-n", "1", "-m", "amata", "sh", "-c", &text];
    let told = ended(command().args(words)).went_well().stdout.clone();
    let lines: Vec<&str> = told.lines().collect();
    let [equal, gone, new, end] = lines[..] else { panic!("{told}") };
    assert_eq!((equal, new, end), ("equal", "0", "end"), "{told}");
    assert!(gone.parse::<u32>().unwrap() >= 8, "{told}");
}

/// The module's file.
pub fn module() -> String {
    crate::runner::root().join("build/linux/current/dp/dp.ko").display().to_string()
}

/// A channel holds the module; a packet without a channel is lost, and counted.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn channels_are_told_apart_and_what_is_lost_is_counted() {
    let words = ["run", "-q", "-n", "2", "-m", "amata", "tests/dp/channels.c"];
    let text = ended(command().args(words));
    // The guests write at about the same time, and their outputs come in either order.
    let mut lines: Vec<&str> = text.went_well().stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["node 0 is content", "node 1 is content"]);
}

/// Node 0 sends all the time; what comes to node 1 without the module stands before the card, and a packet
/// that is coming in when the module goes is lost. Gives the numbers of packets that came each time, and the
/// kernel's memory in KB before and after.
fn rmmod_under_traffic(times: u32) -> (Vec<u64>, [u64; 2]) {
    let text = "used() {
            awk '/^(Slab|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
        }
        cat /proc/net/myri_route >/tmp/routes
        again() {
            rmmod dp && insmod $KO nid=1 check=0 && cat /tmp/routes >/proc/net/myri_route
            sleep 0.001
            awk '$1 == \"received\" { print $2 }' /proc/net/dp
        }
        again >/tmp/first; again >/tmp/first
        used
        for time in $(seq $TIMES); do again; done
        used";
    let text = text.replace("$KO", &module()).replace("$TIMES", &times.to_string());
    let words = [
        "-m",
        "amata",
        "-n",
        "1",
        "--server",
        "tests/dp/flood.c",
        ":",
        "-n",
        "1",
        "sh",
        "-c",
        &text,
    ];
    let (_, told) = hash_and_output("1", &words);
    let numbers: Vec<u64> = told.lines().map(|line| line.parse().unwrap()).collect();
    let [before, came @ .., after] = &numbers[..] else { panic!("{told}") };
    (came.to_vec(), [*before, *after])
}

/// The module's memory for packets alone is 130 KB: it cannot stay unnoticed.
fn is_whole((came, [before, after]): (Vec<u64>, [u64; 2]), times: u32) {
    assert_eq!(came.len(), times as usize, "{came:?}");
    assert!(came.iter().all(|count| *count > 0), "{came:?}");
    assert!(after < before + 100, "{before} KB, then {after} KB");
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn the_module_goes_and_comes_under_traffic() {
    is_whole(rmmod_under_traffic(1), 1);
}

#[test]
#[ignore = "long: the module is loaded a hundred times; make soak"]
fn the_module_goes_and_comes_a_hundred_times() {
    // Each command ends long before one counts as hanging.
    for _ in 0..10 {
        is_whole(rmmod_under_traffic(10), 10);
    }
}

/// Table 1 of vorakosit2001: each cell that is published, and what was measured beside it.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn the_table_has_four_columns_and_each_key_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = folder.path().join("page.html");
    let told = ended(command().args(["bench", "dp", "--json", "-", "--page"]).arg(&drawn));
    let json: serde_json::Value = serde_json::from_str(&told.wrote(&drawn).stdout).unwrap();
    let drawn = std::fs::read_to_string(drawn).unwrap();
    assert_eq!(drawn.matches("<polyline").count(), 4 * 2 + 2, "two lines a column, and swatches");
    let page = std::fs::read_to_string(crate::runner::root().join("docs/reference/bench-json.md"));
    let page = page.unwrap();
    let documented = |value: &serde_json::Value| {
        for key in value.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{key}`")), "{key} is not in bench-json.md");
        }
    };
    documented(&json);
    let columns = json["columns"].as_array().unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["udp-ethernet", "udp-myrinet", "dp", "gm"]);
    let simulated = |column: usize| -> Vec<f64> {
        let cells = columns[column]["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 11);
        cells.iter().filter_map(|cell| cell["simulated"].as_f64()).collect()
    };
    documented(&columns[0]);
    documented(&columns[0]["cells"][0]);
    let [ethernet, udp, dp, gm] = [0, 1, 2, 3].map(simulated);
    assert_eq!((ethernet.len(), gm.len()), (11, 11));
    // So is a library that bypasses the kernel below Directed Point.
    assert!(gm.iter().zip(&dp).all(|(gm, dp)| gm < dp), "{gm:?} {dp:?}");
    // Directed Point is below UDP at every size.
    assert!(dp.iter().zip(&udp).all(|(dp, udp)| dp < udp), "{dp:?} {udp:?}");
    // Each microsecond of what is followed from process to process is of a step.
    let all = json["steps"].as_array().unwrap();
    assert_eq!(all.iter().map(|steps| &steps["name"]).collect::<Vec<_>>(), ["dp", "gm"]);
    // Between two messages a process gives a place back to the library, which no message waits for.
    for (steps, (measured, apart)) in all.iter().zip([(&dp, 0.03), (&gm, 0.05)]) {
        documented(steps);
        let packets = steps["packets"].as_array().unwrap();
        assert_eq!(packets.len(), measured.len());
        for (packet, one_way) in packets.iter().zip(measured) {
            let steps = packet["steps"].as_array().unwrap();
            documented(packet);
            documented(&steps[0]);
            let sum: f64 = steps.iter().map(|step| step["us"].as_f64().unwrap()).sum();
            let total = packet["total_us"].as_f64().unwrap();
            assert!((sum - total).abs() < 1e-6, "{packet}");
            assert!(drawn.contains(&format!("data-us=\"{total}\"")), "{total} is not drawn");
            // A packet of one direction, and half of a round trip.
            assert!((total - one_way).abs() < apart * one_way, "{total} {one_way}");
        }
    }
    let ratio = &columns[2]["cells"][0]["ratio_one_way"];
    assert!((ratio.as_f64().unwrap() * 26.25 - dp[0]).abs() < 1e-9, "{ratio}");
}

#[test]
fn the_table_wants_myrinet_cards() {
    let refused = ended(command().args(["bench", "dp", "-m", "forth"]));
    refused.said(2, &["machine forth has no Myrinet cards", "amata"]);
}
