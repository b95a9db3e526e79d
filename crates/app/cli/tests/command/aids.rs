//! The debugging aids of the RDMA NIC, read by the tools of examples/nic.

use crate::runner::{command, compiled_by_gcc, ended, Ended};

fn forth(tool: &str, options: &[&str], words: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("examples/nic/{tool}.c");
    let program = compiled_by_gcc(folder.path(), &[&source, "examples/nic/traffic.c"]);
    let run = ended(
        command()
            .args(["run", "-q", "-m", "forth", "-n", "2", "--label"])
            .args(options)
            .arg(program)
            .args(words),
    );
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// Lines of a rank, without its mark.
fn of_rank(run: &Ended, rank: u32) -> Vec<&str> {
    let mark = format!("[{rank}] ");
    run.stdout.lines().filter_map(|line| line.strip_prefix(&mark)).collect()
}

fn count(lines: &[&str], name: &str) -> u64 {
    let line = lines.iter().find(|line| line.split_whitespace().next() == Some(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1)).and_then(|n| n.parse().ok());
    number.unwrap_or_else(|| panic!("no {name} in {lines:?}"))
}

#[test]
fn counters_are_read_by_plain_loads_on_model_and_rtl() {
    for options in [&[][..], &["--rtl"]] {
        let run = forth("nic-counters", options, &["5", "4096"]);
        let (sender, receiver) = (of_rank(&run, 0), of_rank(&run, 1));
        assert_eq!(count(&sender, "sent_messages"), 5, "{options:?}");
        assert_eq!(count(&sender, "sent_words"), 5 * 512);
        assert_eq!(count(&receiver, "received_words"), 5 * 512);
        assert_eq!(count(&receiver, "payload_errors"), 0);
        assert_eq!(count(&sender, "fetch_words"), 5 * 512);
        assert!(receiver.iter().any(|line| line.contains("lane 1: aligned")), "{run:?}");
    }
}

/// The tools print the same of model and RTL, lines of each rank in their order.
#[test]
fn the_rtl_says_the_same() {
    for (tool, words) in [
        ("nic-counters", &["20", "4096"][..]),
        ("nic-trace", &["6", "4096", "2000"]),
        ("nic-sample", &["500", "300", "30", "65536"]),
    ] {
        let [model, rtl] = [&[][..], &["--rtl"]].map(|options| forth(tool, options, words));
        for rank in [0, 1] {
            assert_eq!(of_rank(&rtl, rank), of_rank(&model, rank), "{tool}, rank {rank}");
        }
    }
}

#[test]
fn the_tracing_memories_are_decoded() {
    let run = forth("nic-trace", &[], &["2", "24"]);
    let (sender, receiver) = (of_rank(&run, 0), of_rank(&run, 1));
    assert!(sender.contains(&"into the sending FIFO: 6 samples"), "{run:?}");
    assert!(receiver.contains(&"out of the receive FIFO: 10 samples"), "{run:?}");
    let headers = receiver.iter().filter(|line| line.contains("header 3 words to ")).count();
    assert_eq!(headers, 4, "{run:?}");
    assert!(receiver.iter().any(|line| line.ends_with("data   0000000200000003")), "{run:?}");
}

#[test]
fn samples_show_the_link_at_its_rate() {
    let run = forth("nic-sample", &[], &["1000", "60", "30", "65536"]);
    let rates = of_rank(&run, 1).into_iter().skip(1);
    let rates = rates.filter_map(|line| line.split_whitespace().nth(2)?.parse::<f64>().ok());
    let most = rates.fold(0.0, f64::max);
    assert!((570.0..=596.1).contains(&most), "{most} MiB/s: {run:?}");
}

/// Mean MiB/s sent, and cycles of back-pressure in 1,000, of samples in which the link was busy.
fn sampled(estimate: &str) -> (f64, f64) {
    let setting = format!("nic.estimate={estimate}");
    let run = forth("nic-sample", &["--set", &setting], &["1000", "200", "20", "65536"]);
    let numbers = |line: &str| -> Option<(f64, f64)> {
        let mut words = line.split_whitespace().skip(1);
        Some((words.next()?.parse().ok()?, words.nth(1)?.parse().ok()?))
    };
    let busy: Vec<_> = of_rank(&run, 0).iter().filter_map(|line| numbers(line)).collect();
    let busy: Vec<_> = busy.into_iter().filter(|(sent, _)| *sent > 300.0).collect();
    assert!(busy.len() > 100, "{run:?}");
    let mean = |sum: f64| sum / busy.len() as f64;
    (mean(busy.iter().map(|one| one.0).sum()), mean(busy.iter().map(|one| one.1).sum()))
}

#[test]
fn samples_show_the_back_pressure_of_the_conservative_estimate() {
    let (fine, conservative) = (sampled("fine"), sampled("conservative"));
    assert!(fine.1 < 1.0 && conservative.1 > 100.0, "{fine:?} {conservative:?}");
    // marazakis2006 s4.3: 10 to 15 %.
    let gain = 100.0 * (fine.0 / conservative.0 - 1.0);
    assert!((10.0..=15.5).contains(&gain), "{gain:.1} %: {fine:?} {conservative:?}");
}
