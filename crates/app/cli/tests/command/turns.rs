//! Threads of a rank that sleep, and wait with limits (tests/cli/turns.c, turns.py).

use crate::runner::{run, unjudged};

#[test]
fn what_is_over_first_in_simulated_time_comes_first() {
    let mut expected = " waited 0.1 slept 0.5\n".repeat(6);
    expected += " woken 0.05\n";
    let ended = run("-q tests/cli/turns.c");
    assert_eq!(ended.went_well().stdout, expected);
}

/// Python's time-outs, in a process that no rank has become.
#[test]
fn time_outs_of_threads_in_python_come_in_their_order() {
    let ended = unjudged("run -q python3 tests/cli/turns.py");
    let order = "waited slept ".repeat(5);
    assert_eq!(ended.stdout, format!("{}\n[1, 2, 5, 9] 3.40\n", order.trim_end()));
}
