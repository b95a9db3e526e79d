//! Programs that use verbs on machine `forth`: Debian's own, and misuses.

use crate::runner::{command, compiled_by_gcc, ended, root, Ended};
use std::path::{Path, PathBuf};
use std::process::Command;

fn forth(options: &[&str], words: &[&str]) -> Ended {
    ended(command().args(["run", "-m", "forth"]).args(options).args(words))
}

/// A server and its client, which are one of perftest's programs with these options.
fn pair(options: &[&str], program: &str, words: &[&str]) -> Ended {
    let both = [&[program][..], words, &[":", "-n", "1", program], words, &["node0"]].concat();
    forth(&[&["-n", "1", "--server"], options].concat(), &both)
}

fn hash(run: &Ended) -> &str {
    assert_eq!(run.code, 0, "{run:?}");
    run.hash().expect("a summary has one")
}

/// The line of results for messages of so many bytes.
fn row<'a>(run: &'a Ended, bytes: &str) -> Vec<&'a str> {
    let rows = run.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut rows = rows.filter(|row| row.first() == Some(&bytes));
    rows.next().unwrap_or_else(|| panic!("{run:?}"))
}

#[test]
fn layouts_are_those_of_the_installed_header() {
    let check = Command::new("gcc")
        .current_dir(root())
        .args(["-std=c11", "-fsyntax-only", "tests/verbs/layout.c"])
        .output()
        .expect("there is gcc");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn the_device_is_there() {
    let list = forth(&["-n", "1", "-q"], &["ibv_devices"]);
    assert!(list.stdout.contains("forth0") && list.stdout.contains("53554e0300000000"), "{list:?}");
    let info = forth(&["-n", "1", "-q"], &["ibv_devinfo"]);
    for said in ["hca_id:\tforth0", "PORT_ACTIVE (4)", "vendor_id:\t\t\t0x10ee", "port_lid:\t\t1"] {
        assert!(info.stdout.contains(said), "{said}: {info:?}");
    }
    // Where there is no such card there is no device.
    let none = ended(command().args(["run", "-q", "-n", "1", "-m", "ideal", "ibv_devinfo"]));
    assert!(none.stderr.contains("No IB devices found"), "{none:?}");
}

/// The results themselves are those of docs/misuse.md.
#[test]
fn misuses_are_the_same_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/verbs/misuse.c"]);
    let program = program.to_str().unwrap();
    let one = forth(&["-n", "2"], &[program]);
    assert_eq!(hash(&forth(&["-n", "2", "-t", "2"], &[program])), hash(&one));
}

#[test]
fn threads_with_queue_pairs_of_their_own_have_right_data_and_one_hash() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/verbs/threads.c", "-pthread"]);
    for words in [["2", "3", "64"], ["3", "2", "1003"]] {
        let words = [&[program.to_str().unwrap()][..], &words].concat();
        let run = forth(&["-n", "2"], &words);
        for lid in [1, 2] {
            let said = format!("LID {lid}: {} threads have played", words[1]);
            assert!(run.stdout.contains(&said), "{run:?}");
        }
        assert_eq!(hash(&forth(&["-n", "2", "-t", "2"], &words)), hash(&run));
    }
}

#[test]
fn the_example_writes() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["examples/rdma/verbs_write.c"]);
    let program = program.to_str().unwrap();
    for bytes in ["8", "4099"] {
        let words = [program, "20", bytes];
        let run = forth(&["-n", "2"], &words);
        let written = format!("20 messages of {bytes} bytes are written");
        for said in [&*written, "the last of 20 messages is here"] {
            assert!(run.stdout.lines().any(|line| line == said), "{said}: {run:?}");
        }
        assert_eq!(hash(&forth(&["-n", "2", "-t", "2"], &words)), hash(&run));
    }
    let none = ended(command().args(["run", "-q", "-n", "1", "-m", "ideal", program]));
    assert!(
        none.code == 1 && none.stderr.contains("run it with `sunstar run -m forth"),
        "{none:?}"
    );
}

/// Heads and tails travel as records for the peer's module; a whole word behind them does not overtake them.
#[test]
fn writes_of_any_length_arrive_between_any_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/verbs/bytes.c"]);
    let words = ["-n", "2", program.to_str().unwrap()];
    let on = |options: &[&str]| {
        let run = ended(command().arg("run").args(options).args(words));
        assert!(
            run.code == 0 && run.stdout.contains("130 writes are right"),
            "{options:?} {run:?}"
        );
        hash(&run).to_owned()
    };
    let model = on(&["-m", "forth"]);
    for more in [&["-t", "2"][..], &["--rtl"], &["--rtl", "-t", "2"]] {
        assert_eq!(on(&[&["-m", "forth"], more].concat()), model, "{more:?}");
    }
    // Every descriptor alone, and as few transfers under way as there may be.
    on(&["-m", "forth", "--set", "pcix.combining=off"]);
    on(&["-m", "forth", "--set", "rdma.handles=8", "--set", "rdma.notify=1"]);
    on(&["-m", "forth-switch"]);
}

/// The event behind a write comes by an interrupt, also to a program that waits in poll(2).
#[test]
fn completions_are_events() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/verbs/events.c"]);
    let program = program.to_str().unwrap();
    for words in [&[program, "4"][..], &[program, "4", "poll"]] {
        let model = forth(&["-n", "2"], words);
        for said in ["4 events", "ibv_get_cq_event", "ibv_req_notify_cq"] {
            assert!(model.stdout.contains(said), "{said}: {model:?}");
        }
        for options in [&["-n", "2", "-t", "2"][..], &["-n", "2", "--rtl"]] {
            assert_eq!(hash(&forth(options, words)), hash(&model), "{options:?}");
        }
    }
}

/// Most pages of a large region stay closed while the program waits; those that the card uses do not.
#[test]
fn a_large_region_is_opened_where_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/verbs/large.c"]);
    let program = program.to_str().unwrap();
    // More runs of pages than the library has room for. 8 bytes are stored by the process itself.
    for words in [[program, "10", "8"], [program, "300", "8"], [program, "300", "4096"]] {
        let run = forth(&["-n", "2"], &words);
        let right = "received: 0 bytes are wrong";
        assert!(run.stdout.lines().any(|line| line == right), "{run:?}");
        assert_eq!(hash(&forth(&["-n", "2", "-t", "2"], &words)), hash(&run));
    }
}

/// The judge sees what cards write to memory: each word of each message, once. It takes no simulated time.
#[test]
fn messages_of_programs_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    for (source, words, least) in [
        ("tests/verbs/large.c", ["40", "4096"], 40),
        ("tests/verbs/events.c", ["4", "poll"], 4 * 16),
        ("examples/rdma/verbs_write.c", ["10", "4099"], 20),
    ] {
        let program = compiled_by_gcc(folder.path(), &[source]);
        let words = [&[program.to_str().unwrap()][..], &words].concat();
        let judged = forth(&["-n", "2", "--judge"], &words);
        let (_, line) = judged.stdout.split_once("Judged").unwrap_or_else(|| panic!("{judged:?}"));
        let found = line.split_once(" messages").and_then(|(before, _)| before.rsplit(' ').next());
        let messages: u32 = found.and_then(|count| count.parse().ok()).expect("a number");
        assert!(messages >= least, "{judged:?}");
        assert_eq!(hash(&judged), hash(&forth(&["-n", "2"], &words)));
        assert_eq!(hash(&judged), hash(&forth(&["-n", "2", "-t", "2", "--judge"], &words)));
    }
}

/// Verbs ask programs to leave a source as it is until the write is complete.
#[test]
fn the_judge_finds_a_source_that_changed() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/verbs/large.c"]);
    let words = [program.to_str().unwrap(), "20", "4096", "change"];
    assert_eq!(forth(&["-n", "2"], &words).code, 0);
    let judged = forth(&["-n", "2", "--judge"], &words);
    let said = "word 0: 0x101010101010101 was sent";
    assert!(judged.code != 0 && judged.stderr.contains(said), "{judged:?}");
}

/// Account, steps of messages, timeline and capture know verbs.
#[test]
fn instruments_know_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["examples/rdma/verbs_write.c"]);
    let [pcap, timeline] = ["verbs.pcapng", "verbs.pftrace"].map(|name| folder.path().join(name));
    let options =
        ["--full", "--pcap", pcap.to_str().unwrap(), "--trace", timeline.to_str().unwrap()];
    let words = [program.to_str().unwrap(), "10", "4099"];
    let run = forth(&[&["-n", "2"][..], &options].concat(), &words);
    assert_eq!(run.code, 0, "{run:?}");
    // The rest of a write travels with the record of its last bytes; counts of records come back.
    for said in ["ibv_post_send 10 ", "ibv_poll_cq", "Messages 20 ", "4,099 B", "doorbells"] {
        let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(said), "{said}: {run:?}");
    }
    let timeline = std::fs::read(timeline).unwrap();
    for name in [&b"ibv_post_send"[..], b"ibv_poll_cq", b"a look at registered memory"] {
        assert!(timeline.windows(name.len()).any(|bytes| bytes == name));
    }
    // Two packets each and one back, both at the sender and at the receiver.
    assert_eq!(packets(&std::fs::read(pcap).unwrap()), 10 * (2 + 1) * 2);
    let explained = ended(
        command().args(["explain", "-m", "forth", "-n", "2"]).args(&words[..1]).args(["2", "4099"]),
    );
    for said in ["put, eager, 4,099 bytes", "payload to memory", "ibv_post_send"] {
        assert!(explained.stdout.contains(said), "{said}: {explained:?}");
    }
}

/// Number of enhanced packet blocks of a capture (pcapng, section 4.3).
fn packets(capture: &[u8]) -> usize {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut count) = (0, 0);
    while at < capture.len() {
        count += usize::from(word(at) == 6);
        at += word(at + 4) as usize;
    }
    count
}

/// Pages stay pinned when a program unmaps them; pages that cannot be pinned any more are an error.
#[test]
fn registered_memory_may_be_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/verbs/gone.c"]);
    let program = program.to_str().unwrap();
    for (what, said) in [
        ("nothing", "written: success\n"),
        ("source", "written: success\n"),
        ("target", "written: success\n"),
        ("pages", "inline: Cannot allocate memory\n"),
    ] {
        let run = forth(&["-n", "2", "-q"], &[program, what]);
        assert_eq!((run.code, &*run.stdout), (0, said), "{what}: {run:?}");
    }
}

/// Every function of the installed library exists, under its version.
#[test]
fn every_function_of_the_installed_library_is_there() {
    let functions = |library: &Path| {
        let nm = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
        assert!(nm.status.success(), "{}", String::from_utf8_lossy(&nm.stderr));
        let text = String::from_utf8(nm.stdout).unwrap();
        let names = text.lines().filter_map(|line| line.split(' ').next_back());
        let names = names.filter(|name| name.contains("@@IBVERBS_1"));
        names.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    let found = Command::new("gcc").arg("-print-file-name=libibverbs.so").output().unwrap();
    let installed = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    let (theirs, ours) =
        (functions(&installed), functions(&root().join("build/lib/libibverbs.so.1")));
    assert!(theirs.len() > 60, "{theirs:?}");
    assert!(theirs.is_subset(&ours), "{:?}", theirs.difference(&ours));
}

/// `ib_write_lat` spins on its own memory: only the rule of docs/verbs.md lets time pass.
#[test]
fn perftest_measures_latency() {
    // marazakis2006, Fig. 4b, tells 0.875 us of 8 B; the lanes and who looks at both ends are the rest.
    // 2 B need an interrupt, whose handler the process waits for.
    for (bytes, range) in [("8", 1.0..1.7), ("2", 3.3..3.7)] {
        let run = pair(&[], "ib_write_lat", &["-c", "UC", "-s", bytes, "-n", "20"]);
        let typical: f64 = row(&run, bytes)[4].parse().unwrap();
        assert!(range.contains(&typical), "{run:?}");
    }
}

#[test]
#[ignore = "half a minute a run, and verilates the card; make soak"]
fn perftest_runs_on_threads_and_on_the_rtl() {
    for bytes in ["8", "4096"] {
        let words = ["-c", "UC", "-s", bytes, "-n", "100"];
        let model = pair(&[], "ib_write_lat", &words);
        for options in [&["-t", "2"][..], &["--rtl"], &["--rtl", "-t", "2"]] {
            assert_eq!(hash(&pair(options, "ib_write_lat", &words)), hash(&model), "{options:?}");
        }
    }
    let words = ["-c", "UC", "-s", "4096", "-n", "5000"];
    let run = pair(&[], "ib_write_bw", &words);
    // The lanes carry 596 MiB/s (marazakis2006 s2.6), headers and checksums with it.
    let average: f64 = row(&run, "4096")[3].parse().unwrap();
    assert!((540.0..596.0).contains(&average), "{run:?}");
    assert_eq!(hash(&pair(&["-t", "2"], "ib_write_bw", &words)), hash(&run));
}

/// A call of MPI ends with a sentence, because there is no MPI.
#[test]
fn a_call_of_mpi_ends_with_a_sentence() {
    let run = forth(&["-n", "2"], &["examples/ring.c"]);
    let sentence = "MPI_Init: machines of model rdma have verbs (libibverbs) and no MPI";
    assert!(run.code == 1 && run.stderr.contains(sentence), "{run:?}");
}
