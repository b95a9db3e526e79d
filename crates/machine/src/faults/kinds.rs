//! The kinds of faults, a row each: what `sunstar faults` and docs/reference/faults.md print, what
//! the parser takes, and what the soak holds runs against.

use super::bugs::BUGS;
use super::switches::STUCK;
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
    /// Example for the documents; a test parses it.
    pub example: &'static str,
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
    /// `SEED`.
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
    /// Nothing: it is in the firmware's image.
    Image,
    /// Nothing: it is in the hardware, or in its driver.
    Hardware,
}

impl FaultKind {
    /// Syntax of the fault: `link.drop=SHARE[@NODE|@NODE-NODE][@TIME[..TIME]]`.
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
            Scope::Image | Scope::Hardware => "",
        };
        format!("{}={value}{scope}", self.name)
    }
}

/// Endings of runs in which messages get lost.
const MISSING: &[&str] = &["deadlock: nothing in the machine moves any more"];

/// Endings of runs in which CRCs find damage, or in which messages come that nobody waits for.
const BROKEN: &[&str] = &[
    "deadlock: nothing in the machine moves any more",
    "the network lost or damaged the message",
    "MPI_ERR_OTHER",
    "(PTL_NI_FAIL)",
];

/// Endings of runs in which packets or credits of lanes are lost.
pub(super) const STARVED: &[&str] =
    &["deadlock: nothing in the machine moves any more", "credits that were lost", "is wrong"];

/// All kinds.
pub const KINDS: &[FaultKind] = &ALL;

const ALL: [FaultKind; OF_MACHINES.len() + BUGS.len()] = {
    let mut all = [OF_MACHINES[0]; OF_MACHINES.len() + BUGS.len()];
    let mut place = 0;
    while place < all.len() {
        let behind = place >= OF_MACHINES.len();
        all[place] = if behind { BUGS[place - OF_MACHINES.len()] } else { OF_MACHINES[place] };
        place += 1;
    }
    all
};

/// Faults of machines, as against bugs of cards and driver (`bugs`).
const OF_MACHINES: &[FaultKind] = &[
    FaultKind {
        name: "link.biterror",
        value: Form::Share,
        scope: Scope::Links,
        what: "Bits of packets arrive wrong, each with the chance, or one of packet #NUMBER. A \
               packet whose routing flit is hit is lost. With model myrinet: of packets that leave \
               a card.",
        expected: "The CRC at the end of a message finds it: the operation ends with PTL_NI_FAIL, \
                   MPI with a sentence. A header of a longer message is believed before its CRC \
                   has come, and may go to the wrong place: a deadlock names the links. A packet \
                   that is lost is as with link.drop. On Myrinet the next card finds it, and its \
                   control program drops the packet; one with a wrong route may be dropped by a \
                   switch.",
        counter: "net.link_damaged, net.link_lost, rx.crc_errors, myrinet.damaged",
        endings: BROKEN,
        misleads: true,
        example: "link.biterror=1e-7",
    },
    FaultKind {
        name: "link.drop",
        value: Form::Share,
        scope: Scope::Links,
        what: "Packets are lost on a link; with model myrinet, on the cable from a card.",
        expected: "A message that misses packets fails its CRC, or waits for its end for ever and \
                   holds a stream. One of a single packet is missing, and nobody knows (there is \
                   no go-back-n): its receiver takes the next that matches, or waits in a \
                   deadlock that names the links.",
        counter: "net.link_lost, rx.crc_errors, rx.dropped_packets, myrinet.lost",
        endings: BROKEN,
        misleads: true,
        example: "link.drop=0.001@0-1",
    },
    FaultKind {
        name: "link.delay",
        value: Form::ShareTime,
        scope: Scope::Links,
        what: "Packets are late by the time, and all behind them on the link: order is kept, as \
               when a link retries.",
        expected: "Nothing but time.",
        counter: "net.link_delayed",
        endings: &[],
        misleads: false,
        example: "link.delay=0.01:500ns",
    },
    FaultKind {
        name: "link.overtake",
        value: Form::ShareTime,
        scope: Scope::Links,
        what: "Packets are late by the time, and those behind them on the link pass them.",
        expected: "A packet that is out of place in its message spoils the CRC; one behind its \
                   message's last finds no stream and is dropped. Messages that change places are \
                   delivered so: the firmware only counts them. A deadlock names the links.",
        counter: "net.link_overtaken, niccb.sequence_errors, rx.crc_errors, rx.dropped_packets",
        endings: BROKEN,
        misleads: true,
        example: "link.overtake=#3:2us@0-1",
    },
    FaultKind {
        name: "link.duplicate",
        value: Form::Share,
        scope: Scope::Links,
        what: "Packets come twice, the second right behind the first, as when a link retries what \
               had come.",
        expected: "Within a message the CRC finds it. A message of one packet is delivered twice \
                   (there is no go-back-n: the firmware only counts it), and the copy may be \
                   taken for the next; a second header of a longer one holds a stream whose \
                   payload never comes. A deadlock names the links.",
        counter: "net.link_doubled, niccb.sequence_errors, rx.crc_errors, rx.dropped_packets",
        endings: BROKEN,
        misleads: true,
        example: "link.duplicate=#1@0-1",
    },
    FaultKind {
        name: "link.dead",
        value: Form::Link,
        scope: Scope::Since,
        what: "The link between two neighbours carries nothing any more, neither way.",
        expected: "Packets wait before it, and what is behind them; routes do not change. The run \
                   ends in a deadlock that names the link, if anything needs it.",
        counter: "",
        endings: MISSING,
        misleads: false,
        example: "link.dead=0-1@2ms",
    },
    FaultKind {
        name: "cable.dead",
        value: Form::Node,
        scope: Scope::Since,
        what:
            "The cable between a node's card and its switch carries nothing any more, neither way. \
               Only machines of model myrinet have such cables.",
        expected:
            "Heartbeats stop coming: card and switch notice it after myrinet.beats_missed of \
                   them, and count it. What is sent is lost. The run ends in a deadlock that names \
                   the cable, if anything needs it.",
        counter: "myrinet.silences, myrinet.bytes_lost",
        endings: MISSING,
        misleads: false,
        example: "cable.dead=1@20us",
    },
    STUCK,
    FaultKind {
        name: "lane.biterror",
        value: Form::Share,
        scope: Scope::Nodes,
        what: "A bit of what comes over the lanes to a card arrives wrong: of each symbol of four \
               bytes with the chance, or of symbol #NUMBER of the card. Idle symbols are not \
               counted. Only machines of model rdma have lanes.",
        expected: "A header's CRC16 finds it, and the packet is lost: nobody but remote block I/O \
                   sends it again, and whoever waits for it waits in a deadlock. A payload is in \
                   memory before its CRC32 has come, which then raises no interrupt and counts an \
                   error; who polls for it takes what is there. A credit with wrong parity is \
                   discarded, as with lane.credit.",
        counter: "rx.symbols_spoilt, rx.header_errors, rx.payload_errors, rx.bond_errors",
        endings: STARVED,
        misleads: true,
        example: "lane.biterror=1e-5@1",
    },
    FaultKind {
        name: "lane.credit",
        value: Form::Share,
        scope: Scope::Nodes,
        what: "Credits come to a card with a wrong bit, and are discarded for their parity. Only \
               machines of model rdma have lanes.",
        expected: "Counts are cumulative: the next credit of the flow tells what a lost one would \
                   have. Nothing but time, unless it was the last: then the flow waits for ever, \
                   as nothing in the protocol sends a credit again, and after 20 ms the run ends \
                   with a sentence that names the flow.",
        counter: "rx.symbols_spoilt, rx.credit_errors",
        endings: STARVED,
        misleads: false,
        example: "lane.credit=#2@0",
    },
    FaultKind {
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
        example: "interrupt.lost=#10@1",
    },
    FaultKind {
        name: "interrupt.late",
        value: Form::ShareTime,
        scope: Scope::Nodes,
        what: "Interrupts reach the host later by the time.",
        expected: "Nothing but time: the handler takes all events that are there, and later finds \
                   none.",
        counter: "nic.interrupts_late",
        endings: &[],
        misleads: false,
        example: "interrupt.late=0.1:20us",
    },
    FaultKind {
        name: "interrupt.stuck",
        value: Form::Level,
        scope: Scope::Nodes,
        what: "The interrupt line is stuck: low, none comes any more; high, the handler is called \
               again as soon as it has ended, and nothing else runs on that core.",
        expected: "Low: as if all were lost. High, which has a beginning and no end: after \
                   portals.empty_interrupts runs of the handler that find no event the kernel \
                   gives the line up, and the run ends with a sentence that names the node.",
        counter: "nic.interrupts_lost",
        endings: &[
            "deadlock: nothing in the machine moves any more",
            "interrupts in a row found no event: the line is stuck",
        ],
        misleads: false,
        example: "interrupt.stuck=high@1@50us",
    },
    FaultKind {
        name: "host.slow",
        value: Form::Factor,
        scope: Scope::Nodes,
        what: "Everything that software does on the host takes so many times as long.",
        expected: "Time; and where senders are faster than such a receiver, exhausted pools, as \
                   with pool.rx_pendings, and, where mpi.unexpected_events limits them, more \
                   unexpected messages than that.",
        counter: "",
        endings: &["no receive pending is free", "more unexpected messages"],
        misleads: false,
        example: "host.slow=2.5@1",
    },
    FaultKind {
        name: "host.pause",
        value: Form::Pause,
        scope: Scope::Nodes,
        what: "Nothing runs on the host for the time, once or every PERIOD (a debugger, another \
               operating system below, noise). The network interface goes on. A PERIOD is longer \
               than the TIME by 1 us or more.",
        expected: "Time; messages that arrive meanwhile use up receive pendings, as with \
                   pool.rx_pendings.",
        counter: "",
        endings: &["no receive pending is free", "more unexpected messages"],
        misleads: false,
        example: "host.pause=25us:1ms@0",
    },
    FaultKind {
        name: "pool.rx_pendings",
        value: Form::Number { least: 1, most: 1273 },
        scope: Scope::Boot,
        what: "The kernel gives the firmware so few receive pendings when it starts it.",
        expected: "The firmware stops the node when a message finds none, and says from which \
                   node it came. With firmware.overflow=nic or host the message is refused, and \
                   comes again. A process on the network interface has so few, too.",
        counter: "kernel.rx_pendings_max",
        endings: &["no receive pending is free"],
        misleads: false,
        example: "pool.rx_pendings=4@1",
    },
    FaultKind {
        name: "pool.tx_pendings",
        value: Form::Number { least: 1, most: 1273 },
        scope: Scope::Boot,
        what: "The kernel uses so few of its transmit pendings.",
        expected: "Nothing but time: messages wait in the kernel for one.",
        counter: "kernel.tx_pendings_max",
        endings: &[],
        misleads: false,
        example: "pool.tx_pendings=1",
    },
    FaultKind {
        name: "pool.event_slots",
        value: Form::Number { least: 1, most: 4096 },
        scope: Scope::Boot,
        what: "The kernel gives the firmware an event ring with so few slots.",
        expected:
            "The firmware refuses one that could run over (of less than 1024 slots, or fewer \
                   than its pendings, with firmware.overflow=host 16 more), or that is no power \
                   of two, and stops the node at its boot. \
                   1024, 2048 and 4096 do, if pendings fit: nothing but time.",
        counter: "",
        endings: &["mailbox command 2 cannot be obeyed: the event ring"],
        misleads: false,
        example: "pool.event_slots=2048",
    },
    FaultKind {
        name: "pool.dma_lists",
        value: Form::Number { least: 1, most: 1024 },
        scope: Scope::Boot,
        what: "So few DMA commands have room in the SRAM that the kernel keeps lists of scattered \
               buffers in.",
        expected: "Messages to and from scattered buffers wait for room, on Linux after its own \
                   memory is used up too; one that needs more than there is fails with \
                   PTL_NI_FAIL.",
        counter: "",
        endings: &["(PTL_NI_FAIL)", "MPI_ERR_OTHER"],
        misleads: false,
        example: "pool.dma_lists=4",
    },
    FaultKind {
        name: "pool.streams",
        value: Form::Number { least: 1, most: 256 },
        scope: Scope::Boot,
        what: "So few entries of the receive engine's CAM work.",
        expected: "A message that finds none waits, and all behind it, if some other has come \
                   whole; else the firmware stops the node. With firmware.overflow=nic or host \
                   it is refused, and comes again.",
        counter: "rx.stalls, rx.cam_overflows",
        endings: &["more messages in flight than the receive engine can demultiplex"],
        misleads: false,
        example: "pool.streams=2@0",
    },
    FaultKind {
        name: "pool.sources",
        value: Form::Number { least: 1, most: 1024 },
        scope: Scope::Image,
        what: "The firmware is built with so few source structures; the same as --set \
               firmware.sources.",
        expected: "Structures of peers without messages in progress are used again; without any \
                   the firmware stops the node, or, with firmware.overflow=nic or host, messages \
                   are refused, and come again.",
        counter: "",
        endings: &["all source structures are in use"],
        misleads: false,
        example: "pool.sources=2",
    },
];

/// The kind with this name.
pub fn kind(name: &str) -> Option<&'static FaultKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The table of docs/reference/faults.md.
pub fn reference() -> String {
    let mut out = String::new();
    for kind in KINDS {
        // Writing into a string cannot fail.
        let _ = write!(out, "### {}\n\n    --fault {}\n\n", kind.name, kind.form());
        let mut what = kind.what.to_string();
        if let Form::Number { least, most } = kind.value {
            let _ = write!(what, " NUMBER is {least} to {most}.");
        }
        let mut also = format!("Example: `--fault {}`.", kind.example);
        if !kind.counter.is_empty() {
            let _ = write!(also, " Counted in `{}`.", kind.counter.replace(", ", "`, `"));
        }
        if kind.misleads {
            also.push_str(" A program may get wrong data, or miss some, and nobody notices.");
        }
        for paragraph in [what, format!("Expected: {}", kind.expected), also] {
            fold(&mut out, &paragraph);
        }
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The page with the table between its marks, in place of the old text.
    fn page(text: &str) -> String {
        let marks = ["<!-- kinds -->\n", "<!-- end of kinds -->"];
        let [start, end] = marks.map(|mark| text.find(mark).expect("the page has both marks"));
        let head = &text[..start + marks[0].len()];
        format!("{head}\n{}{}", reference(), &text[end..])
    }

    /// Compares the page with the table; with WRITE_REFERENCE set, it writes the page.
    #[test]
    fn the_page_says_what_the_table_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let file = root.join("docs/reference/faults.md");
        let text = std::fs::read_to_string(&file).unwrap();
        if std::env::var_os("WRITE_REFERENCE").is_some() {
            return std::fs::write(&file, page(&text)).unwrap();
        }
        let hint = "WRITE_REFERENCE=1 cargo test -p machine the_page_says mends it";
        assert!(page(&text) == text, "docs/reference/faults.md is not as the table: {hint}");
    }

    #[test]
    fn names_are_told_apart() {
        for kind in KINDS {
            assert_eq!(KINDS.iter().filter(|other| other.name == kind.name).count(), 1);
            assert_eq!(super::kind(kind.name).map(|found| found.form()), Some(kind.form()));
        }
    }
}
