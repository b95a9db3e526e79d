//! Processes that `sunstar` starts end with it, however it ends itself. (Ranks: `wrong.rs`; sweeps:
//! `sweep.rs`.)

use crate::runner::{command, Ended};
use crate::wrong::lives;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Time after which a run hangs: one that is asked to end takes two seconds at most, on a busy machine hardly
/// more.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// A compiler that compiles one program. For the next one it writes the process id of its parent, and then
/// waits as long as that process lives.
const COMPILER: &str = "#!/bin/sh
cd \"${0%/*}\" && mkdir one 2>/dev/null && cd - >/dev/null && exec gcc \"$@\"
echo $PPID >asks.new && mv asks.new asks
while kill -0 $PPID 2>/dev/null; do sleep 0.02; done
";

/// A command whose runs never end, from the second one on, or (`one`: nothing is compiled) from the first.
fn lasting(folder: &Path, line: &str, one: bool) -> Child {
    let compiler = folder.join("compiler");
    fs::write(&compiler, COMPILER).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    if one {
        fs::create_dir(folder.join("one")).unwrap();
    }
    let mut command = command();
    command.args(line.split(' ')).current_dir(folder).env("SUNSTAR_CC", compiler);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The run of `child` that waits for its compiler.
fn asking(folder: &Path, child: &mut Child) -> i32 {
    loop {
        assert_eq!(child.try_wait().unwrap(), None, "it has ended without a run");
        if let Ok(text) = fs::read_to_string(folder.join("asks")) {
            return text.trim().parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn runs_end_with_the_command_that_started_them() {
    for (line, one, signal) in [
        ("validate --largest 16 -j 1", true, libc::SIGKILL),
        ("bench latency --largest 16", true, libc::SIGTERM),
        ("report page.html --largest 16", false, libc::SIGTERM),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = lasting(folder.path(), line, one);
        let run = asking(folder.path(), &mut child);
        assert_ne!(run, child.id() as i32, "{line}: it is a process of its own");
        // SAFETY: kill touches no memory; the child has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        let ended = Ended::from(child.wait_with_output().unwrap());
        // Without its parent it would wait for ever.
        let asked = Instant::now();
        while lives(run) {
            assert!(asked.elapsed() < HANGS_AFTER, "{line}: a run outlives it");
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = if signal == libc::SIGKILL { -signal } else { 128 + signal };
        assert_eq!(ended.code, code, "{line}: {ended:#?}");
    }
}
