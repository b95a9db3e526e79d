//! The stages of bring-up in marazakis2006's order, the runs that each takes, and what each finds.

use super::{Finding, Said};

/// A run of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Name of what it says.
    pub label: &'static str,
    /// Machine, number of ranks, workload, and settings.
    pub machine: &'static str,
    /// Ranks.
    pub ranks: u32,
    /// Workload, behind `builtin:`.
    pub workload: &'static str,
    /// Settings of the machine.
    pub settings: &'static [&'static str],
}

/// A stage.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// Claim that it proves when nothing is found.
    pub proves: &'static str,
    /// Its runs.
    pub runs: &'static [Run],
    find: fn(&Heard) -> Vec<Finding>,
}

impl Stage {
    /// Bugs in the reports of its runs, each a label and the text.
    pub fn find(&self, said: &[(&str, String)]) -> Vec<Finding> {
        (self.find)(&Heard(said))
    }
}

/// Reports of the runs of a stage, by their labels.
struct Heard<'a>(&'a [(&'a str, String)]);

impl Heard<'_> {
    fn of(&self, label: &str) -> Said {
        let text = self.0.iter().find(|(name, _)| *name == label).map(|(_, text)| &**text);
        Said::parse(text.unwrap_or_default())
    }
}

/// The stage of this name.
pub fn stage(name: &str) -> Option<&'static Stage> {
    STAGES.iter().find(|stage| stage.name == name)
}

const fn run(
    label: &'static str,
    workload: &'static str,
    settings: &'static [&'static str],
) -> Run {
    Run { label, machine: "forth", ranks: 2, workload, settings }
}

/// All, in the order in which each relies on those before.
pub const STAGES: &[Stage] = &[
    Stage {
        name: "config",
        proves: "the host finds the card, gives its memory region an address, and reads registers",
        runs: &[run("config", "nic-config", &[])],
        find: config,
    },
    Stage {
        name: "dma",
        proves:
            "words go from host memory to the card and back, over PCI-X and PCI, each once and \
                 as it is, also while registers are read",
        runs: &[
            run("dma", "nic-dma", &[]),
            run("dma-66", "nic-dma", &["pcix.clock=66 MHz"]),
            run("dma-pci", "nic-dma", &["pcix.protocol=pci", "pcix.clock=66 MHz"]),
        ],
        find: dma,
    },
    Stage {
        name: "loopback",
        proves:
            "packets pass both FIFOs of a card, and flow control holds them back from a full one",
        runs: &[run("loopback", "nic-loopback", &[])],
        find: loopback,
    },
    Stage {
        name: "link",
        proves: "two cards exchange packets over bonded lanes whose clocks differ by 200 ppm, and \
                 interrupt one another",
        runs: &[run("link", "nic-link", &["lanes.drift=100", "lanes.depth=10"])],
        find: link,
    },
    Stage {
        name: "switch",
        proves: "three cards exchange packets through the crossbar, and every credit comes back",
        runs: &[Run {
            label: "switch",
            machine: "forth-switch",
            ranks: 3,
            workload: "nic-switch",
            settings: &[],
        }],
        find: switch,
    },
];

/// Findings of each rank of a run.
fn each(said: &Said, find: impl Fn(u32) -> Option<(&'static str, String)>) -> Vec<Finding> {
    let found = said.ranks().into_iter().filter_map(|node| {
        let (bug, why) = find(node)?;
        Some(Finding { node, bug, why })
    });
    found.collect()
}

fn config(heard: &Heard) -> Vec<Finding> {
    let said = heard.of("config");
    each(&said, |node| {
        let (bar, registers) =
            (said.number(node, "bar_bytes"), said.number(node, "registers_bytes"));
        let why = || format!("BAR 0 has {bar} bytes, and registers need {registers}");
        (bar != registers).then(|| ("bug.bar", why()))
    })
}

fn dma(heard: &Heard) -> Vec<Finding> {
    let (said, slow, pci) = (heard.of("dma"), heard.of("dma-66"), heard.of("dma-pci"));
    each(&said, |node| {
        let wrong = |said: &Said, key: &str| said.number(node, &format!("{key}.send_in.changed"));
        let first = pci.text(node, "still.send_in.first");
        let disconnected = "where the bridge ends a read, by the memory before the sending FIFO";
        let all = |said: &Said| wrong(said, "still") + wrong(said, "polled");
        let parity = said.number(node, "polled.parity");
        if all(&said) > 0 && all(&slow) == 0 && parity > 0 {
            let words = all(&said);
            let why = format!(
                "{words} words have wrong bits and wrong parity at 100 MHz, none at 66 MHz"
            );
            return Some(("bug.setup", why));
        }
        if wrong(&said, "polled") > 0 && wrong(&said, "still") == 0 {
            let words = wrong(&said, "polled");
            let why = format!("{words} words are others, only while registers are read");
            return Some(("bug.completion", why));
        }
        if first == "omitted" {
            return Some(("bug.omit", format!("a word is left out {disconnected}")));
        }
        if first == "doubled" {
            return Some(("bug.double", format!("a word comes twice {disconnected}")));
        }
        let holes = pci.number(node, "still.memory.holes");
        if holes > 0 && pci.text(node, "still.receive_out.first") == "none" {
            let why = format!(
                "{holes} words never came to memory that have left the receive FIFO, on a bus that \
                 ends bursts"
            );
            return Some(("bug.stop", why));
        }
        None
    })
}

/// Bursts of the stage `loopback` before a counter has wrapped: 12 packets of 131 words each, of 4,096.
const EARLY: u64 = 2;

fn loopback(heard: &Heard) -> Vec<Finding> {
    let said = heard.of("loopback");
    each(&said, |node| {
        let number = |key: &str| said.number(node, key);
        let overflows = |burst: u64| number(&format!("burst{burst}.overflows"));
        if let Some(burst) = (0..8).find(|burst| overflows(*burst) > 0) {
            let (limit, words) = (number("limit"), number("fifo_words"));
            let over = format!("{} words found the receive FIFO full", overflows(burst));
            if limit != words {
                let why = format!("{over}; the limit is {limit} of {words} words");
                return Some(("bug.first_credit", why));
            }
            let at = format!("{over} in burst {burst}; the limit is right");
            let bug = if burst < EARLY { "bug.round_trip" } else { "bug.wrap" };
            return Some((bug, at));
        }
        let credit_errors = said.sum(node, ".credit_errors");
        if credit_errors > 0 {
            return Some(("bug.credit", format!("{credit_errors} credits had wrong parity")));
        }
        let (headers, slip) = (said.sum(node, ".header_errors"), number("credits.slip"));
        if headers > 0 {
            let why =
                format!("{headers} headers had a wrong CRC, and no credit tells of {slip} words");
            return Some(("bug.header_crc", why));
        }
        let back = number("credits.back");
        if back > 0 {
            let why = format!("credits in the payload went back {back} times, without an error");
            return Some(("bug.credit_flip", why));
        }
        None
    })
}

fn link(heard: &Heard) -> Vec<Finding> {
    let said = heard.of("link");
    each(&said, |node| {
        let number = |key: &str| said.number(node, key);
        let lanes = |key: &str| [0, 1].map(|lane| number(&format!("long.lane{lane}.{key}")));
        let (buffers, corrections) = (lanes("buffer_errors"), lanes("corrections"));
        if buffers.iter().any(|errors| *errors > 0) {
            let why = format!(
                "elastic buffers ran over or dry {} times, with {} clock corrections",
                buffers.iter().sum::<u64>(),
                corrections.iter().sum::<u64>()
            );
            return Some(("bug.drift", why));
        }
        let lagging = number("frozen.lagging_halves");
        if lagging > 0 {
            let why = format!("of {lagging} words bytes of one lane were those of a word before");
            return Some(("bug.empty_fifo", why));
        }
        let (short, long) = (number("short.bond_errors"), number("long.bond_errors"));
        let fullest = lanes("sync_level").into_iter().max().unwrap_or(0);
        if long > 0 && fullest >= 8 {
            let why = format!(
                "lanes lost one another {long} times in long packets and {short} times in short \
                 ones; a synchronisation FIFO was full"
            );
            return Some(("bug.skew", why));
        }
        let errors = long + said.sum(node, "header_errors") + said.sum(node, "payload_errors");
        if errors > 0 {
            let corrections: u64 = corrections.iter().sum();
            let why = format!(
                "{errors} errors with {corrections} clock corrections; buffers and FIFOs were well"
            );
            return Some(("bug.attributes", why));
        }
        let (unseen, raised) = (number("rings.unseen"), number("rings.interrupts"));
        let wanted = number("rings.interrupts_wanted");
        if unseen > 0 && raised <= 1 {
            let why = format!(
                "{raised} interrupt was raised of {wanted} that were wanted, and the line was high \
                 {} times; {unseen} rings were not seen",
                number("rings.line_high")
            );
            return Some(("bug.line", why));
        }
        if unseen > 0 {
            let why =
                format!("{unseen} rings of {wanted} stood in memory that the handler had not seen");
            return Some(("bug.second_look", why));
        }
        None
    })
}

fn switch(heard: &Heard) -> Vec<Finding> {
    let said = heard.of("switch");
    let slip =
        |node: u32| (0..8).map(|flow| said.number(node, &format!("switch.slip{flow}"))).sum();
    let errors: u64 = said.ranks().iter().map(|node| said.sum(*node, "_errors")).sum();
    each(&said, |node| {
        let slip: u64 = slip(node);
        let why =
            || format!("{slip} words were sent that no credit tells of, and nothing has erred");
        (slip > 0 && errors == 0).then(|| ("bug.crosspoint", why()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, said: &[(&str, &str)]) -> Vec<(u32, &'static str)> {
        let said: Vec<_> = said.iter().map(|(label, text)| (*label, text.to_string())).collect();
        let findings = stage(name).expect("there is the stage").find(&said);
        findings.into_iter().map(|finding| (finding.node, finding.bug)).collect()
    }

    #[test]
    fn nothing_is_found_where_nothing_is_said_to_be_wrong() {
        let config = "0 bar_bytes 16384\n0 registers_bytes 16384\n";
        assert_eq!(found("config", &[("config", config)]), []);
        for stage in &STAGES[1..] {
            assert_eq!(found(stage.name, &[(stage.runs[0].label, "0 x 0\n1 x 0\n")]), []);
        }
    }

    /// A few wrong bits may all fall where registers are polled: that proves nothing.
    #[test]
    fn wrong_bits_are_told_from_registers_by_their_parity() {
        let dma = |fast: &str, slow: &str| found("dma", &[("dma", fast), ("dma-66", slow)]);
        let polled = "0 polled.send_in.changed 2\n";
        assert_eq!(dma(&format!("{polled}0 polled.parity 1"), "0 x 0"), [(0, "bug.setup")]);
        assert_eq!(dma(&format!("{polled}0 polled.parity 0"), polled), [(0, "bug.completion")]);
    }

    #[test]
    fn the_same_sign_means_another_bug_with_another_beside_it() {
        let loopback = |text: &str| found("loopback", &[("loopback", text)]);
        let limit = "1 limit 640\n1 fifo_words 640\n";
        assert_eq!(loopback(&format!("{limit}1 burst0.overflows 9")), [(1, "bug.round_trip")]);
        assert_eq!(loopback(&format!("{limit}1 burst5.overflows 9")), [(1, "bug.wrap")]);
        let doubled = "1 limit 1280\n1 fifo_words 640\n1 burst0.overflows 9";
        assert_eq!(loopback(doubled), [(1, "bug.first_credit")]);
        let link = |text: &str| found("link", &[("link", text)]);
        assert_eq!(link("0 long.bond_errors 4\n0 long.lane1.sync_level 8"), [(0, "bug.skew")]);
        assert_eq!(
            link("0 long.bond_errors 4\n0 long.lane1.corrections 4"),
            [(0, "bug.attributes")]
        );
        let unseen = |raised| link(&format!("0 rings.unseen 2\n0 rings.interrupts {raised}"));
        assert_eq!(unseen(9), [(0, "bug.second_look")]);
        assert_eq!(unseen(1), [(0, "bug.line")]);
    }
}
