//! Usage errors: each gives one clear sentence and exit status 2, and nothing is run.

use crate::runner::{root, run, sunstar, Ended};
use std::path::Path;

#[test]
fn programs_that_are_none() {
    run("-n 2 nosuch.c").said(2, &["there is no program nosuch.c"]);
    run("examples").said(2, &["examples is a folder"]);
    run("README.md").said(2, &["README.md", "not"]);
    run("README.md x").said(2, &["README.md", "not an executable file"]);
    run("-q /bin/true").said(0, &["no process of /bin/true has used MPI", "sunstar cc"]);
}

#[test]
fn a_source_that_does_not_compile() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("broken.c");
    std::fs::write(&source, "int main(void) { return nosuch; }\n").unwrap();
    let ended = sunstar(["run".as_ref(), source.as_os_str()]);
    ended.said(2, &["broken.c does not compile"]);
    assert!(ended.stderr.contains("nosuch"), "the compiler's own words are missing: {ended:?}");

    std::fs::write(&source, "int main(void) { return nosuch(); }\nint nosuch(void);\n").unwrap();
    sunstar(["run".as_ref(), source.as_os_str()]).said(2, &["broken.c does not compile"]);
}

#[test]
fn command_lines_that_make_no_sense() {
    run("").said(2, &["<PROGRAM>... is missing (see `sunstar run --help`)"]);
    run("--nosuch x").said(2, &["there is no option --nosuch"]);
    run("-n 2 -- -nosuch").said(2, &["there is no program -nosuch"]);
    let ended = sunstar(["nosuch"]);
    assert!(ended.code == 2 && ended.stderr.contains("nosuch"), "{ended:?}");
}

/// Values that options do not take are reported like all other usage errors: with the problem, and the
/// allowed values.
#[test]
fn values_that_options_do_not_take() {
    let ranks = "allowed is a whole number from 1 to 4294967295";
    for (line, said) in [
        ("run -n abc hello.c", format!("--ranks abc: {ranks}")),
        ("run -n -3 hello.c", format!("--ranks -3: {ranks}")),
        ("sweep --ppn 0 -o table.csv hello.c", format!("--ranks-per-node 0: {ranks}")),
        ("run -t 1025 hello.c", "--threads 1025: allowed is a whole number from 1 to 1024".into()),
        (
            "run --seed -1 hello.c",
            "--seed -1: allowed is a whole number from 0 to 18446744073709551615".into(),
        ),
        ("run --gdb 1:x hello.c", "--gdb 1:x: in NODE[:PORT], PORT is a number up to 65535".into()),
        ("profile --node one hello.c", "--node one: it is a number, or all".into()),
    ] {
        let ended = sunstar(line.split(' '));
        let verb = line.split(' ').next().unwrap();
        let said = format!("sunstar: {said} (see `sunstar {verb} --help`)\n");
        assert_eq!((ended.code, ended.stderr), (2, said), "{line}");
    }
}

/// Messages that the ping-pong does not have are refused; the program itself would misread the number.
#[test]
fn messages_that_the_ping_pong_does_not_send() {
    for command in ["validate", "bench ladder", "bench latency", "report page.html"] {
        for largest in ["1048577", "18446744073709551615", "99999999999999999999", "-1", "1 MiB"] {
            let mut words: Vec<&str> = command.split(' ').collect();
            let option = format!("--largest={largest}");
            words.push(&option);
            let ended = sunstar(&words);
            let allowed = "allowed is 0 to 1048576, the ping-pong's largest message";
            let verb = command.trim_end_matches(" page.html");
            let help = format!("(see `sunstar {verb} --help`)");
            let said = format!("sunstar: --largest {largest}: {allowed} {help}\n");
            assert_eq!((ended.code, ended.stderr), (2, said), "{command}");
        }
    }
    let sizes = std::fs::read_to_string(root().join("examples/studies/latency.c")).unwrap();
    assert!(sizes.contains("262144, 1048576};"), "the largest message is another");
}

/// Options behind the program are the program's, as with mpirun: whoever may have meant ours is told.
#[test]
fn options_of_ours_behind_the_program() {
    let note = "stands behind the program and is the program's, as with mpirun";
    let program = "tests/cli/wrong.c no-mpi-call";
    let ended = run(&format!("{program} -n 4"));
    assert_eq!((ended.code, ended.stderr.matches(note).count()), (0, 1), "{ended:?}");
    assert!(ended.stderr.starts_with(&format!("sunstar: -n 4 {note}")), "{ended:?}");
    for line in
        [format!("-n 1 {program} -n 4"), format!("-q {program} -n 4"), format!("-- {program} -n 4")]
    {
        assert_eq!(run(&line).went_well().stderr, "", "{line}");
    }
}

#[test]
fn overrides_that_are_wrong() {
    let set =
        |assignment: &str| sunstar(["run", "-n", "2", "--set", assignment, "examples/hello.c"]);
    set("host.nosuch=1").said(2, &["host.nosuch", "there is no parameter"]);
    set("host.kernel_entri=1us").said(2, &["did you mean host.kernel_entry"]);
    set("host.kernel_entry=5 B").said(2, &["host.kernel_entry", "ns"]);
    set("host.kernel_entry=5").said(2, &["host.kernel_entry", "ns"]);
    set("host.kernel_entry=fast").said(2, &["host.kernel_entry", "fast"]);
    set("host.kernel_entry=-5ns").said(2, &["host.kernel_entry"]);
    set("host.kernel_entry=5 s").said(2, &["host.kernel_entry"]);
    set("host.kernel_entry=5 ms").said(2, &["host.kernel_entry", "allowed is 0 ns to 1 ms"]);
    set("firmware.inline=perhaps").said(2, &["firmware.inline", "on or off"]);
    set("firmware.cache=big").said(2, &["firmware.cache"]);
    set("firmware.inline").said(2, &["KEY=VALUE"]);
}

/// Machines with too many nodes or ranks are refused, with a few too many, and with so many that the search
/// for a box would overflow.
#[test]
fn machines_that_are_too_large() {
    for options in ["-n 65537", "-n 65537 --ppn 2", "-n 4294967290", "-n 4294967295"] {
        run(&format!("{options} builtin:barrier 1"))
            .said(2, &["ranks are too many", "65536 at most"]);
    }
    run("-n 2 --set net.x=65536 --set net.y=65536 --set net.z=65536 builtin:barrier 1")
        .said(2, &["net.topology", "65536x65536x65536", "more than the 65536 nodes"]);
}

#[test]
fn a_row_has_one_dimension() {
    let row = |dims: &str| run(&format!("-n 2 --set net.topology=row {dims} builtin:barrier 1"));
    row("--set net.y=4").said(2, &["net.topology is row", "net.y is 4", "net.z 0"]);
    row("--set net.x=2 --set net.z=2").said(2, &["net.topology is row", "net.z 2"]);
    row("--set net.x=2 --set net.y=1 --set net.z=1").went_well();
}

/// The event queue must be large enough for an event of each copied message.
#[test]
fn copies_that_their_event_queue_does_not_hold() {
    let program = "builtin:barrier 1";
    for (set, words) in [
        ("mpi.copy_buffers=1100", &["mpi.copy_buffers is 1100", "1020", "mpi.events = 1024"]),
        ("mpi.events=64", &["mpi.copy_buffers is 256", "60", "mpi.events = 64"]),
    ] {
        run(&format!("-n 2 --set {set} {program}")).said(2, words);
    }
    run(&format!("-n 2 --set mpi.events=64 --set mpi.copy_buffers=60 {program}")).went_well();
}

#[test]
fn buffers_that_physical_memory_does_not_hold() {
    let barrier = |set: &[&str]| {
        let set = set.iter().flat_map(|set| ["--set", *set]);
        sunstar(["run", "-n", "2"].into_iter().chain(set).chain(["builtin:barrier", "1"]))
    };
    let large = "mpi.unexpected_block_size=1 GiB";
    let words = ["mpi.unexpected_blocks", "mpi.unexpected_block_size", "1048577 MiB", "32768 MiB"];
    barrier(&["mpi.unexpected_blocks=1024", large]).said(2, &words);
    barrier(&["mpi.unexpected_blocks=32", large]).said(2, &["32769 MiB"]);
    barrier(&["mpi.unexpected_blocks=31", large]).went_well();
    barrier(&["mpi.copy_buffers=65000", "mpi.copy_limit=1 MiB", "mpi.events=1048576"])
        .said(2, &["mpi.copy_buffers of mpi.copy_limit", "make 6504"]);
}

/// Runs on a copy of machine redstorm with one text replaced.
fn with_machine(from: &str, to: &str) -> Ended {
    let text = std::fs::read_to_string(root().join("machines/redstorm.toml")).unwrap();
    assert!(text.contains(from), "{from} is not in redstorm.toml");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    on_machine(&file)
}

fn on_machine(file: &Path) -> Ended {
    let words = ["run".as_ref(), "--quiet".as_ref(), "--machine".as_ref(), file.as_os_str()];
    sunstar(words.into_iter().chain(["examples/hello.c".as_ref()]))
}

#[test]
fn machine_files_that_are_wrong() {
    with_machine("[host.kernel_entry]", "[host.kernel_entry]").went_well();
    let usage_error = with_machine("[host.kernel_entry]", "[host.kernel_enter]");
    usage_error.said(2, &["mine.toml:", "host.kernel_enter", "did you mean host.kernel_entry"]);
    with_machine("[host.kernel_entry]\nvalue = ", "[host.kernel_entry]\nvalu = ")
        .said(2, &["mine.toml:", "host.kernel_entry"]);
    with_machine("[host.kernel_entry]\nvalue = \"", "[host.kernel_entry]\nvalue = \"7 B")
        .said(2, &["mine.toml:", "host.kernel_entry"]);
    with_machine("[host.kernel_entry]\nvalue = \"", "[host.kernel_entry]\nvalue = \"9000 ms")
        .said(2, &["mine.toml:", "host.kernel_entry"]);
    with_machine("[host.kernel_entry]\nvalue = ", "[host.kernel_entry]\nvalue = [1]\nold = ")
        .said(2, &["mine.toml:", "host.kernel_entry"]);
    with_machine("name = ", "name = = ").said(2, &["mine.toml:"]);
    with_machine("name = ", "nickname = ").said(2, &["mine.toml:", "nickname"]);
}

#[test]
fn machines_that_are_not_there() {
    sunstar(["run", "--machine", "nosuch", "examples/hello.c"])
        .said(2, &["there is no machine nosuch", "redstorm"]);
    on_machine(Path::new("nosuch/mine.toml")).said(2, &["nosuch/mine.toml"]);
    sunstar(["machines", "nosuch"]).said(2, &["there is no machine nosuch"]);
}

#[test]
fn files_that_cannot_be_written_are_found_out_before_the_run() {
    let ended = sunstar(["run", "--json", "/nosuch/x.json", "examples/hello.c"]);
    ended.said(2, &["cannot write /nosuch/x.json"]);
    assert!(!ended.stdout.contains("hello"), "{ended:?}");
    // Looking whether a file can be written leaves none behind, and does not empty one.
    let folder = tempfile::tempdir().unwrap();
    let [new, old] = ["new", "old"].map(|name| folder.path().join(name));
    std::fs::write(&old, "text").unwrap();
    let words = ["run", "--json", new.to_str().unwrap(), "--trace", old.to_str().unwrap()];
    sunstar(words.into_iter().chain(["nosuch.c"])).said(2, &["there is no program"]);
    assert!(!new.exists() && std::fs::read(&old).unwrap() == b"text");
}

/// Errors of writing standard output to a file are reported.
#[test]
fn output_that_cannot_be_written_is_told() {
    let said = |line: &str| {
        let mut command = crate::runner::command();
        command.args(line.split(' ')).stderr(std::process::Stdio::piped());
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        crate::runner::waited_for(command.stdout(full).spawn().unwrap())
    };
    let words = ["cannot write to standard output", "No space left"];
    for line in ["faults", "machines redstorm", "fw", "completions bash"] {
        let ended = said(line);
        ended.said(2, &words);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    }
    said("run -q -n 2 builtin:barrier 1").said(1, &words);
    said("run --json - -q tests/cli/wrong.c no-mpi-call").said(1, &words);
    said("run tests/cli/wrong.c no-mpi-call").said(1, &words);
    said("profile tests/cli/wrong.c no-mpi-call").said(1, &words);
    said("trace tests/cli/wrong.c no-mpi-call").said(1, &words);
    // Who reads no further has what they want.
    let mut command = crate::runner::command();
    command.args(["run", "-n", "2", "builtin:barrier", "1"]).stderr(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.stdout = None;
    crate::runner::waited_for(child).went_well();
    // How a run ended is told whatever becomes of its results, and counts before that.
    let full = "cannot write /dev/full";
    for option in ["--json", "--pcap", "--trace"] {
        run(&format!("{option} /dev/full -n 2 tests/cli/traffic.c 1")).said(1, &[full]);
    }
    // So do files that may not become so large; the program gets the signal as ever.
    let folder = tempfile::tempdir().unwrap();
    for (option, code, words) in [
        ("--trace t --json j tests/cli/traffic.c 1", 1, "cannot write t: File too large"),
        ("tests/cli/wrong.c large-file", 128 + libc::SIGXFSZ, "SIGXFSZ"),
    ] {
        let mut limited = std::process::Command::new("sh");
        let script = format!("ulimit -f 1000 && exec \"$0\" run -n 2 --judge {option}");
        let command = crate::runner::command();
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.args(["-c", &script.replace("tests/", &format!("{}/tests/", root().display()))]);
        limited.arg(command.get_program()).current_dir(folder.path());
        crate::runner::ended(&mut limited).said(code, &[words]);
    }
    assert!(folder.path().join("j").metadata().unwrap().len() > 1000, "results are not lost");
    run("--json /dev/full -n 2 tests/cli/wrong.c deadlock").said(1, &["deadlock: nothing", full]);
    run("--json /dev/full -n 2 tests/cli/wrong.c exit-three").said(3, &[full]);
}

#[test]
fn two_outputs_in_one_file() {
    for (line, words) in [
        ("run --json x --pcap x", "--json and --pcap both write x"),
        ("run --pcap x --trace x", "--pcap and --trace both write x"),
        ("profile --flame x --trace x", "--trace and --flame both write x"),
        ("report x.html --json x.html", "--json and the page both write x.html"),
        ("profile --flame - --json -", "--json and --flame both write to standard output"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = crate::runner::command();
        command.current_dir(folder.path()).args(line.split(' ')).arg("builtin:barrier");
        crate::runner::ended(&mut command).said(2, &[words]);
    }
    // However a file is spelled, and whether it is there or not.
    let folder = tempfile::tempdir().unwrap();
    let said = |line: &str, words: &str| {
        let mut command = crate::runner::command();
        command.current_dir(folder.path()).args(line.split(' '));
        crate::runner::ended(&mut command).said(2, &[words]);
    };
    said("run --json x --pcap ./x builtin:barrier", "--json and --pcap both write ./x");
    std::fs::write(folder.path().join("there"), "").unwrap();
    std::os::unix::fs::symlink("there", folder.path().join("link")).unwrap();
    said("run --json there --trace link builtin:barrier", "--json and --trace both write link");
    // A device is no file.
    run("--json /dev/null --trace /dev/null builtin:barrier 1").went_well();
}

/// Inputs of a command are still there after it.
#[test]
fn outputs_in_the_place_of_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [
        ("x.c", "int main(void) { return 0; }\n"),
        ("base.toml", &std::fs::read_to_string(root().join("machines/redstorm.toml")).unwrap()),
        ("m.toml", "base = \"base\"\nname = \"m\"\ndoc = \"mine\"\n"),
        ("plan.toml", "[[vary]]\nseed = [1, 2]\n"),
        ("a.json", "{}"),
    ];
    for (name, text) in inputs {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for (line, words) in [
        ("run --json x.c x.c", "--json would overwrite the program, x.c"),
        ("run --pcap ./x.c x.c", "--pcap would overwrite the program, ./x.c"),
        ("profile --flame x.c x.c", "--flame would overwrite the program"),
        ("run -m m.toml --trace m.toml x.c", "--trace would overwrite the machine's file"),
        ("run -m m.toml --trace base.toml x.c", "would overwrite what the machine builds on"),
        ("report p.html -m m.toml --json m.toml x.c", "--json would overwrite the machine's file"),
        ("bench latency -m m.toml --json m.toml", "--json would overwrite the machine's file"),
        ("validate -m m.toml --json ./m.toml", "--json would overwrite the machine's file"),
        ("diff --json a.json a.json x.c", "--json would overwrite what is compared, a.json"),
        ("sweep --out plan.toml --plan plan.toml x.c", "--out would overwrite the plan"),
        ("sweep --out x.c --vary seed=1,2 x.c", "--out would overwrite the program"),
        ("sweep --out m.toml -m m.toml --vary seed=1,2 x.c", "would overwrite the machine's file"),
    ] {
        let mut command = crate::runner::command();
        command.current_dir(folder.path()).args(line.split(' '));
        crate::runner::ended(&mut command).said(2, &[words]);
    }
    for (name, text) in inputs {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), text, "{name}");
    }
    let left = std::fs::read_dir(folder.path()).unwrap();
    assert_eq!(left.count(), inputs.len(), "nothing is left behind");
}

#[test]
fn a_node_that_is_not_there() {
    for (command, node) in [("trace", "900"), ("profile", "2")] {
        let ended = sunstar([command, "-n", "2", "--node", node, "builtin:barrier"]);
        ended.said(2, &[&format!("--node {node}"), "nodes 0 to 1"]);
        // It is told instead of a run.
        assert_eq!(ended.stdout, "");
    }
}

/// A trace without trace points is refused: once they were switched on anyway, and the summary named another
/// firmware than the requested one.
#[test]
fn a_trace_without_trace_points() {
    let trace = |set: &[&str]| {
        let set = set.iter().flat_map(|set| ["--set", *set]);
        sunstar(["trace", "-q", "-n", "2"].into_iter().chain(set).chain(["builtin:barrier", "1"]))
    };
    for set in [&["firmware.trace=off"][..], &[" firmware.trace = off", "firmware.inline=off"]] {
        let ended = trace(set);
        ended.said(2, &["--set firmware.trace=off", "sunstar trace"]);
        assert_eq!(ended.stdout, "");
    }
    for set in [&["firmware.trace=on"][..], &["firmware.trace=off", "firmware.trace=on"]] {
        assert!(trace(set).went_well().stdout.contains("mainloop"), "{set:?}");
    }
}

#[test]
fn an_installation_without_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = crate::runner::command();
    command.env("SUNSTAR_ROOT", folder.path()).args(["run", "examples/hello.c"]);
    crate::runner::ended(&mut command).said(2, &["SUNSTAR_ROOT", "machines/"]);
}

/// Names relative to the present folder work: once the firmware of before the last change was run.
#[test]
fn an_installation_may_be_named_by_a_relative_path() {
    let mut command = crate::runner::command();
    command.env("SUNSTAR_ROOT", ".").current_dir(root());
    command.args(["run", "-q", "-n", "2", "builtin:barrier", "1"]);
    crate::runner::ended(&mut command).went_well();
    let astray = root().join("firmware/seastar/build");
    assert!(!astray.exists(), "{} was built", astray.display());
}

/// A copy of an installation, so that a test can damage it.
pub fn installation(folder: &Path) -> bool {
    ["machines", "include", "build/lib", "build/firmware"].iter().all(|part| {
        let target = folder.join(part);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        let copied = std::process::Command::new("cp")
            .args(["-r".as_ref(), root().join(part).as_os_str(), target.as_os_str()])
            .status();
        copied.is_ok_and(|status| status.success())
    })
}

/// Makes every file called `name` below `folder` `bytes` long, the new ones zero.
fn lengthen(folder: &Path, name: &str, bytes: u64) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            lengthen(&entry.path(), name, bytes);
        } else if entry.file_name() == name {
            std::fs::OpenOptions::new()
                .write(true)
                .open(entry.path())
                .unwrap()
                .set_len(bytes)
                .unwrap();
        }
    }
}

#[test]
fn an_image_that_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    assert!(installation(folder.path()));
    lengthen(&folder.path().join("build/firmware"), "seastar.img", 512 << 10);
    for words in [["fw", "--machine", "redstorm"], ["run", "--quiet", "examples/hello.c"]] {
        let mut command = crate::runner::command();
        command.env("SUNSTAR_ROOT", folder.path()).args(words);
        crate::runner::ended(&mut command)
            .said(2, &["firmware", "image of 524288 bytes does not fit"]);
    }
}

/// An image beside the ELF of another build is refused, because its functions would be wrong.
#[test]
fn an_image_beside_the_elf_of_another_build() {
    let folder = tempfile::tempdir().unwrap();
    assert!(installation(folder.path()));
    let elf = folder.path().join(crate::firmware::VARIANT).join("seastar.elf");
    // One instruction is another.
    let mut bytes = std::fs::read(&elf).unwrap();
    let text = crate::firmware::offset(&bytes, abi::seastar::TEXT_BASE);
    bytes[text] ^= 1;
    std::fs::write(&elf, bytes).unwrap();
    for words in [["fw", "--machine", "redstorm"], ["run", "--quiet", "examples/hello.c"]] {
        let mut command = crate::runner::command();
        command.env("SUNSTAR_ROOT", folder.path()).args(words);
        crate::runner::ended(&mut command)
            .said(2, &["the firmware in", "seastar.img is not made from seastar.elf"]);
    }
}

/// Inputs that are no files are refused at once: reading them would block, or never end.
#[test]
fn inputs_that_are_no_files_or_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let large = folder.path().join("large.toml");
    std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let nested = folder.path().join("nested.toml");
    std::fs::write(&nested, "base = \"pipe\"\n").unwrap();
    let files = [&pipe, &large, &nested].map(|file| file.to_str().unwrap());
    let ([pipe, large, nested], here) = (files, folder.path().to_str().unwrap());
    for (file, why) in [
        ("/dev/zero", "a device or a pipe, not a file"),
        ("/dev/stdin", "not a file"),
        (pipe, "a device or a pipe, not a file"),
        (here, "a folder, not a file"),
        (large, "1099511627776 bytes or more"),
    ] {
        for line in [
            format!("run -n 2 --machine {file} builtin:barrier"),
            format!("machines {file}"),
            format!("diff {file} {file}"),
            format!("sweep -o {here}/t.csv --plan {file} builtin:barrier"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            sunstar(&words).said(2, &["cannot read", why]);
        }
    }
    run(&format!("-n 2 --machine {nested} builtin:barrier"))
        .said(2, &["base: cannot read", "a pipe"]);
    run(&format!("-n 2 {pipe}")).said(2, &["there is no program"]);
}
