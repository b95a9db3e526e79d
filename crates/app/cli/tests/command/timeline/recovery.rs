//! Messages that are refused, and come again.

use super::{traced, Kind};
use crate::accelerated::counter;

/// Refusals, calls and what comes again stand beside the firmware's functions, at both ends.
#[test]
fn recovery_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let line = "-q --machine redstorm-accelerated -n 6 --fault pool.streams=1 builtin:incast 0 2";
    let trace = traced(folder.path(), line, 0);
    let drawn = |begin: &str, end: &str| {
        let names = trace.events.iter().filter(|event| event.kind == Kind::Step);
        names.filter(|e| e.name.starts_with(begin) && e.name.ends_with(end)).count() as u64
    };
    let counted = |name| counter(&trace.report, name);
    assert!(counted("niccb.refused") > 0);
    for (says, count) in [("REFUSED", "niccb.refused"), ("CALLED", "niccb.called")] {
        assert_eq!(drawn("tells node ", says), counted(count), "{says}");
        assert_eq!(drawn("node ", &format!("tells {says}")), counted(count), "{says}");
    }
    assert_eq!(drawn("sends node ", "again what it refused"), counted("niccb.called"));
}
