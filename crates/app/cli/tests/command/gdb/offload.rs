//! gdb on the processor of machine alpu: the same processor, another firmware, matching units beside it.

use super::{after, assert_same, debug, report};
use crate::runner::run;

#[test]
fn gdb_sees_the_firmware_that_keeps_queues_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let posted = format!("*(unsigned *){:#x}", abi::offload::POSTED_UNIT);
    let node = abi::offload::REGISTER_BASE + abi::offload::register::NODE;
    let (node, posted) = (
        format!("printf \"node %d\\n\", *(unsigned *){node:#x}"),
        format!("printf \"result %#x\\n\", {posted}"),
    );
    let script = [
        "printf \"first %#x\\n\", $pc",
        "break take_headers",
        "continue",
        "backtrace",
        "monitor time",
        "monitor machine",
        &node,
        // The unit has got a copy of the header before the firmware sees it, and answers it later.
        &posted,
        "stepi 3",
        "printf \"fourth %#x\\n\", $pc",
        "finish",
        "delete",
        "watch nic_state.headers",
        "continue",
        "delete",
        "hbreak mainloop_turn",
        "break refill if reset == 0",
        "continue",
        "printf \"held %d\\n\", unit->held",
        "delete",
        "continue",
    ];
    for line in ["-n 2", "-n 2 --threads 2"] {
        let line = format!("{line} -m alpu examples/pingpong.c 8");
        let mut seen = String::new();
        let debugged = report(folder.path(), |json| {
            let (text, ended) = debug(&format!("{json} --gdb 1 {line}"), &script);
            ended.went_well();
            seen = text;
        });
        let plain = report(folder.path(), |json| {
            run(&format!("{json} {line}")).went_well();
        });
        assert_same("", &debugged, &plain);
        assert_eq!(after(&seen, "first "), "0xfffffffc");
        for frame in ["Breakpoint 1, take_headers (status=", "main () at "] {
            assert!(seen.contains(frame), "{frame}: {seen}");
        }
        assert!(after(&seen, " since power on, ").ends_with(" us after the launch"), "{seen}");
        assert!(after(&seen, "machine alpu with ").ends_with("processor of node 1"), "{seen}");
        assert_eq!(after(&seen, "node "), "1");
        // It has looked at the header, and found nothing for it: bit 31, and what it says.
        let failure = 1 << 31 | abi::offload::unit_result::MATCH_FAILURE << 28;
        assert_eq!(after(&seen, "result "), format!("{failure:#x}"));
        assert!(after(&seen, "fourth ").starts_with("0x1000"), "{seen}");
        let number = |before| after(&seen, before).parse::<u32>().unwrap();
        assert_eq!(number("Old value = ") + 1, number("New value = "));
        assert!(number("held ") < 128, "{seen}");
        assert!(seen.contains("exited normally"), "{seen}");
    }
}

/// Ctrl-C, kill, a change of memory, and a fault work as on the other card.
#[test]
fn the_firmware_that_keeps_queues_can_be_stopped_and_spoiled() {
    let line = "--quiet -n 2 -m alpu --gdb 0 examples/hello.c";
    let script = ["break take_commands", "continue", "set $r3 = 31", "jump panic"];
    let (seen, ended) = debug(line, &script);
    assert!(seen.contains("received signal SIGABRT"), "{seen}");
    ended.said(1, &["node 0: the firmware stopped the node", "unknown reason 31"]);

    let (seen, ended) = debug(line, &["break take_commands", "continue", "jump *8", "continue"]);
    assert!(seen.contains("received signal SIGSEGV"), "{seen}");
    // Its handler says so.
    ended.said(1, &["node 0: the firmware stopped the node", "the processor took exception 0x1e0"]);

    let look = ["hbreak mainloop", "continue", "monitor fault", "kill"];
    let (seen, ended) = debug(line, &look);
    assert!(seen.contains("nothing has gone wrong"), "{seen}");
    ended.said(137, &["node 0: gdb killed the run at ", "mainloop"]);

    let left = ["break take_commands", "continue", "stepi 7", "detach"];
    let (seen, ended) = debug(line, &left);
    assert!(seen.contains("detached"), "{seen}");
    ended.went_well();
}
