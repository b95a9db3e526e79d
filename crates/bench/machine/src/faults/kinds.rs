//! Description of a kind of faults, a row each, and the rows that all machines have. A model brings its own
//! ([`crate::models::Model::faults`]).

use std::fmt::Write;

/// A kind of fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultKind {
    /// Part of the machine and name, as written before `=`.
    pub name: &'static str,
    /// Form of the value, behind `=`.
    pub value: Form,
    /// Scopes that can follow the value, each after `@`.
    pub scope: Scope,
    /// Effect on the machine.
    pub what: &'static str,
    /// Expected reaction of firmware, library and program.
    pub expected: &'static str,
    /// Counters of its occurrences; empty if there are none.
    pub counter: &'static str,
    /// Words of the sentences with which a run may end because of it; it may also end well.
    pub endings: &'static [&'static str],
    /// True if a program may get wrong data, or miss some, without an error.
    pub misleads: bool,
    /// Effect on messages, which judges excuse.
    pub harm: Harm,
    /// Example for the documents; a test parses it.
    pub example: &'static str,
}

/// Effect of a fault on messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// None but time, or one that the part reports by itself.
    None,
    /// They may be lost, damaged, doubled or out of order.
    Loses,
    /// They may stay on their way for ever, unless the fault ends by itself.
    Stalls,
}

/// Form of a fault's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `CHANCE` or `#NUMBER`.
    Share,
    /// `SHARE:TIME`.
    ShareTime,
    /// `SHARE` or `SHARE:TIME`.
    ShareMaybeTime,
    /// `NODE-NODE`.
    Link,
    /// `NODE`.
    Node,
    /// `SEED`, which hides one of the model's kinds that are in the hardware ([`super::hidden`]).
    Seed,
    /// `high` or `low`.
    Level,
    /// A number from 1 on.
    Factor,
    /// `TIME` or `TIME:PERIOD`.
    Pause,
    /// Number of entries that are left.
    Number {
        /// Least.
        least: u32,
        /// Most: all of them.
        most: u32,
    },
}

/// Places and times for which a fault may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `@NODE`, `@NODE-NODE`, `@TIME`, `@TIME..TIME`.
    Links,
    /// `@TIME`.
    Since,
    /// `@NODE`, `@TIME`, `@TIME..TIME`.
    Nodes,
    /// `@NODE`; from the boot on.
    Boot,
    /// Nothing: it is in the firmware's image, by this parameter of the machine.
    Image(&'static str),
    /// Nothing: it is in the hardware, or in its driver.
    Hardware,
}

impl FaultKind {
    /// Syntax of the fault: `PART.NAME=SHARE[@NODE|@NODE-NODE][@TIME[..TIME]]`.
    pub fn form(&self) -> String {
        let value = match self.value {
            Form::Share => "SHARE",
            Form::ShareTime => "SHARE:TIME",
            Form::ShareMaybeTime => "SHARE[:TIME]",
            Form::Link => "NODE-NODE",
            Form::Node => "NODE",
            Form::Seed => "SEED",
            Form::Level => "high|low",
            Form::Factor => "FACTOR",
            Form::Pause => "TIME[:PERIOD]",
            Form::Number { .. } => "NUMBER",
        };
        let scope = match self.scope {
            Scope::Links => "[@NODE|@NODE-NODE][@TIME[..TIME]]",
            Scope::Since => "[@TIME]",
            Scope::Nodes => "[@NODE][@TIME[..TIME]]",
            Scope::Boot => "[@NODE]",
            Scope::Image(_) | Scope::Hardware => "",
        };
        format!("{}={value}{scope}", self.name)
    }

    /// Its part of docs/reference/faults.md.
    pub fn reference(&self) -> String {
        let mut out = format!("#### {}\n\n    --fault {}\n\n", self.name, self.form());
        let mut what = self.what.to_string();
        if let Form::Number { least, most } = self.value {
            // Writing into a string cannot fail.
            let _ = write!(what, " NUMBER is {least} to {most}.");
        }
        let mut also = format!("Example: `--fault {}`.", self.example);
        if !self.counter.is_empty() {
            let _ = write!(also, " Counted in `{}`.", self.counter.replace(", ", "`, `"));
        }
        if self.misleads {
            also.push_str(" A program may get wrong data, or miss some, and nobody notices.");
        }
        for paragraph in [what, format!("Expected: {}", self.expected), also] {
            fold(&mut out, &paragraph);
        }
        out
    }
}

/// A paragraph of lines of at most 110 columns.
fn fold(out: &mut String, text: &str) {
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let fits = column + 1 + length <= 110;
        out.push_str(if column == 0 {
            ""
        } else if fits {
            " "
        } else {
            "\n"
        });
        column = if column > 0 && fits { column + 1 + length } else { length };
        out.push_str(word);
    }
    out.push_str("\n\n");
}

/// Kinds that all machines have: of hosts, and of the line by which a network interface interrupts its host.
pub static OF_ALL: &[&FaultKind] =
    &[&INTERRUPT_LOST, &INTERRUPT_LATE, &INTERRUPT_STUCK, &HOST_SLOW, &HOST_PAUSE];

/// Endings of runs in which what somebody waits for does not come.
const MISSING: &[&str] = &["deadlock: nothing in the machine moves any more"];

/// Interrupts that are lost.
pub(super) static INTERRUPT_LOST: FaultKind = FaultKind {
    name: "interrupt.lost",
    value: Form::Share,
    scope: Scope::Nodes,
    what: "Interrupts are lost between network interface and host.",
    expected: "Events wait in the ring until the next interrupt. If none comes, the run ends \
               in a deadlock that says so; a program that polls for them (MPI_Test, \
               PtlEQGet) instead of waiting does so for ever.",
    counter: "nic.interrupts_lost",
    endings: MISSING,
    misleads: false,
    harm: Harm::Stalls,
    example: "interrupt.lost=#10@1",
};

/// Interrupts that are late.
pub(super) static INTERRUPT_LATE: FaultKind = FaultKind {
    name: "interrupt.late",
    value: Form::ShareTime,
    scope: Scope::Nodes,
    what: "Interrupts reach the host later by the time.",
    expected: "Nothing but time: the handler takes all events that are there, and later finds \
               none.",
    counter: "nic.interrupts_late",
    endings: &[],
    misleads: false,
    harm: Harm::None,
    example: "interrupt.late=0.1:20us",
};

/// A line that is stuck.
pub(super) static INTERRUPT_STUCK: FaultKind = FaultKind {
    name: "interrupt.stuck",
    value: Form::Level,
    scope: Scope::Nodes,
    what: "The interrupt line is stuck: low, none comes any more; high, the handler is called \
           again as soon as it has ended, and nothing else runs on that core.",
    expected:
        "Low: as if all were lost. High, which has a beginning and no end: after as many runs \
               of the handler as the kernel allows without an event (*.empty_interrupts) it gives \
               the line up, and the run ends with a sentence that names the node.",
    counter: "nic.interrupts_lost",
    endings: &[
        "deadlock: nothing in the machine moves any more",
        "interrupts in a row found no event: the line is stuck",
    ],
    misleads: false,
    harm: Harm::Stalls,
    example: "interrupt.stuck=high@1@50us",
};

/// A slow host.
pub(super) static HOST_SLOW: FaultKind = FaultKind {
    name: "host.slow",
    value: Form::Factor,
    scope: Scope::Nodes,
    what: "Everything that software does on the host takes so many times as long.",
    expected: "Time; and where senders are faster than such a receiver, exhausted pools of the \
               network interface, and, where mpi.unexpected_events limits them, more unexpected \
               messages than that.",
    counter: "",
    endings: &["more unexpected messages"],
    misleads: false,
    harm: Harm::None,
    example: "host.slow=2.5@1",
};

/// A host that stands still.
pub(super) static HOST_PAUSE: FaultKind = FaultKind {
    name: "host.pause",
    value: Form::Pause,
    scope: Scope::Nodes,
    what: "Nothing runs on the host for the time, once or every PERIOD (a debugger, another \
           operating system below, noise). The network interface goes on. A PERIOD is longer \
           than the TIME by 1 us or more.",
    expected: "Time; messages that arrive meanwhile use up the pools of the network interface.",
    counter: "",
    endings: &["more unexpected messages"],
    misleads: false,
    harm: Harm::None,
    example: "host.pause=25us:1ms@0",
};
