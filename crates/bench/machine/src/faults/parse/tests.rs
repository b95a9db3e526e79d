//! Faults as they are written.

use super::*;
use crate::faults::Harm;

const LAUNCH: Time = Time(1000);

/// A kind that some model may have.
const fn of_model(
    name: &'static str,
    value: Form,
    scope: Scope,
    harm: Harm,
    example: &'static str,
) -> FaultKind {
    let (what, expected, counter, misleads) = ("", "", "", false);
    let endings = &[];
    FaultKind { name, value, scope, what, expected, counter, endings, misleads, harm, example }
}

static BITS: FaultKind =
    of_model("link.biterror", Form::Share, Scope::Links, Harm::Loses, "link.biterror=1e-9");
static DROP: FaultKind =
    of_model("link.drop", Form::Share, Scope::Links, Harm::Loses, "link.drop=#3@0-1");
static DELAY: FaultKind =
    of_model("link.delay", Form::ShareTime, Scope::Links, Harm::None, "link.delay=0.1:1us@2");
static DEAD: FaultKind =
    of_model("link.dead", Form::Link, Scope::Since, Harm::Loses, "link.dead=0-1@2ms");
static STUCK: FaultKind =
    of_model("hub.stuck", Form::ShareMaybeTime, Scope::Nodes, Harm::Stalls, "hub.stuck=#1:2us");
static CUT: FaultKind = of_model("hub.cut", Form::Node, Scope::Since, Harm::Loses, "hub.cut=3");
static FLIPS: FaultKind =
    of_model("bug.flips", Form::Node, Scope::Hardware, Harm::None, "bug.flips=1");
static SLIPS: FaultKind =
    of_model("bug.slips", Form::Node, Scope::Hardware, Harm::None, "bug.slips=2");
static RIDDLE: FaultKind = of_model("riddle", Form::Seed, Scope::Hardware, Harm::None, "riddle=4");
const SLOTS: Form = Form::Number { least: 1, most: 256 };
static POOL: FaultKind = of_model("pool.slots", SLOTS, Scope::Boot, Harm::None, "pool.slots=9@2");
static IMAGE: FaultKind =
    of_model("pool.image", SLOTS, Scope::Image("firmware.slots"), Harm::None, "pool.image=2");

static KINDS: [&FaultKind; 11] =
    [&BITS, &DROP, &DELAY, &DEAD, &STUCK, &CUT, &FLIPS, &SLIPS, &RIDDLE, &POOL, &IMAGE];

const ALL: ModelFaults = ModelFaults { model: "all", kinds: &KINDS };

fn parsed(texts: &[&str]) -> Result<Faults, WrongFault> {
    let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
    parse(&texts, 7, &Grid, LAUNCH, ALL)
}

/// Two rows of four nodes.
struct Grid;

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("grid")
    }
}

impl Network for Grid {
    fn nodes(&self) -> u32 {
        8
    }
    fn joins(&self, a: u32, b: u32) -> bool {
        let apart = |a: u32, b: u32| (a % 4).abs_diff(b % 4) + (a / 4).abs_diff(b / 4);
        apart(a, b) == 1
    }
}

#[test]
fn all_kinds_can_be_said_and_do_something() {
    for kind in ALL.all() {
        let faults = parsed(&[kind.example]).unwrap();
        let rules = usize::from(!matches!(kind.scope, Scope::Image(_)));
        assert_eq!(faults.rules().len(), rules, "{}", kind.name);
        assert!(kind.example.starts_with(kind.name), "{}", kind.name);
        let loses = kind.harm == Harm::Loses;
        assert_eq!(faults.loses(), loses, "{}", kind.name);
    }
    assert!(parsed(&[]).unwrap().rules().is_empty());
}

#[test]
fn places_and_times_stand_behind_an_at() {
    let faults = parsed(&[
        "link.biterror=1e-9",
        "link.delay=0.5: 3 ns@2@1ns..4 ns",
        "link.dead=1-5@2 ns",
        "link.drop=#3@0-1@5ns",
    ])
    .unwrap();
    let [bits, delay, dead, drop] = faults.rules() else { panic!("{faults:?}") };
    assert_eq!(faults.seed, 7);
    assert!(bits.is(&BITS) && bits.which() == Some(Which::Chance(1e-9)));
    assert_eq!((bits.place, bits.from, bits.until), (FaultSite::Everywhere, Time(0), Time::NEVER));
    assert_eq!(delay.value, FaultValue::ShareTime(Which::Chance(0.5), Duration::from_ns(3)));
    assert_eq!(
        (delay.place, delay.from, delay.until),
        (FaultSite::Node(2), Time(2000), Time(5000))
    );
    assert_eq!((drop.place, drop.from), (FaultSite::Between(0, 1), Time(6000)));
    assert_eq!(drop.which(), Some(Which::Number(3)));
    let joined = (dead.value, dead.place, dead.from);
    assert_eq!(joined, (FaultValue::Place, FaultSite::Between(1, 5), Time(3000)));
}

#[test]
fn nodes_have_what_was_asked_for_them() {
    let faults = parsed(&[
        "pool.slots=5",
        "pool.slots=3@2",
        "hub.cut=2@4ns",
        "host.slow=2.5@1@1ns..",
        "interrupt.stuck=high@3",
        "interrupt.lost=0.5@0",
    ])
    .unwrap();
    let slots = |faults: &Faults| [None, Some(1), Some(2)].map(|nid| faults.number(&POOL, nid));
    assert_eq!(slots(&faults), [Some(5), Some(5), Some(3)]);
    // In whatever order.
    let turned = parsed(&["pool.slots=3@2", "pool.slots=5"]).unwrap();
    assert_eq!(slots(&turned), [Some(5), Some(5), Some(3)]);
    assert_eq!([1, 2].map(|nid| faults.since(&CUT, nid)), [None, Some(Time(5000))]);
    assert!(faults.pace(0).is_full());
    let pace = faults.pace(1);
    assert_eq!(pace.end(Time(1000), Duration(1400)), Time(3000), "1 ns, then slow");
    assert_eq!((faults.stuck_since(2), faults.stuck_since(3)), (None, Some(LAUNCH)));
    assert!(!faults.interrupt_rules(0).is_empty() && faults.interrupt_rules(1).is_empty());
    assert!(faults.stalls() && faults.loses());
    for (fault, stalls) in [
        ("interrupt.stuck=low", true),
        ("interrupt.stuck=high", false),
        ("hub.stuck=#1", true),
        ("hub.stuck=#1:2us", false),
    ] {
        assert_eq!(parsed(&[fault]).unwrap().stalls(), stalls, "{fault}");
    }
}

#[test]
fn seeds_hide_every_bug_on_either_node() {
    let hidden = |seed| {
        let faults = parsed(&[&format!("riddle={seed}")]).unwrap();
        let [rule] = faults.rules() else { panic!("{faults:?}") };
        (rule.kind.name, rule.place)
    };
    let hidden: Vec<_> = (0..200).map(hidden).collect();
    for bug in ["bug.flips", "bug.slips"] {
        for node in 0..2 {
            assert!(hidden.contains(&(bug, FaultSite::Node(node))), "{bug} on {node}");
        }
    }
    assert!(parsed(&["riddle=x"]).is_err());
}

#[test]
fn nothing_is_said_twice_and_otherwise() {
    for [one, other] in [
        ["pool.slots=5", "pool.slots=3"],
        ["pool.slots=9@2", "pool.slots=8@2"],
        ["host.slow=2@1@1us..5us", "host.slow=3@1@2us"],
        ["interrupt.stuck=high", "interrupt.stuck=low@1us..2us"],
    ] {
        let why = parsed(&[one, "link.drop=0.1", other]).unwrap_err().to_string();
        assert_eq!(why, format!("--fault {other}: --fault {one} says otherwise"));
    }
    for both in [
        ["pool.slots=5", "pool.slots= 5"],
        ["host.slow=2@1@1us..5us", "host.slow=3@1@5us"],
        ["host.slow=2", "host.slow=2.0"],
        ["host.slow=2", "host.slow=3@1"],
        ["link.drop=#1", "link.drop=#2"],
        ["link.delay=0.1:1us", "link.delay=0.2:2us"],
    ] {
        parsed(&both).unwrap();
    }
}

#[test]
fn pauses_leave_the_host_some_time() {
    let half = "host.pause=1us:2us";
    assert!(parsed(&[half, "host.pause=1us:4us@1"]).is_ok());
    for others in ["host.pause=10us:20us@1", "host.pause=1us:2us@500us"] {
        let why = parsed(&[half, others]).unwrap_err().to_string();
        assert!(why.ends_with("with the other pauses there it leaves the host no time"));
    }
    for others in ["host.pause=1ms@1", "host.slow=9"] {
        parsed(&[half, others]).unwrap();
    }
    parsed(&["host.pause=1us:2us@0", "host.pause=1us:2us@1"]).unwrap();
    parsed(&["host.pause=1us:2us@1ns..5us", "host.pause=1us:2us@5us"]).unwrap();
}

#[test]
fn mistakes_are_sentences() {
    for (text, word) in [
        ("link.drop", "KIND=VALUE"),
        (
            "link.broken=1",
            "of model all have no link.broken; theirs are link.*, hub.stuck, hub.cut, bug.",
        ),
        ("link=1", "have no link;"),
        ("link.drop=2", "from 0 to 1"),
        ("link.drop=often", "from 0 to 1"),
        ("link.drop=#0", "#1 is the first"),
        ("link.drop=0.1@9", "no node 9"),
        ("link.drop=0.1@-1", "number is missing"),
        ("link.drop=0.1@0-5", "no neighbours"),
        ("link.drop=0.1@4us..3us", "ends before it begins"),
        ("link.drop=0.1@0@1", "'@1' is one too many"),
        ("link.drop=0.1@0-1@0", "'@0' is one too many"),
        ("link.drop=0.1@1us@1@3us..", "'@3us..' is one too many"),
        ("link.delay=0.1", "SHARE:TIME"),
        ("link.delay=0.1:5", "unit"),
        ("link.dead=1", "NODE-NODE"),
        ("link.dead=0-8", "no node 8"),
        ("link.dead=0-5", "no neighbours"),
        ("link.dead=0-1@soon", "number"),
        ("link.dead=0-1@1us..2us", "does not belong here"),
        ("host.slow=0.5", "from 1"),
        ("host.slow=2@0-1", "does not belong here"),
        ("host.pause=2us:1us", "longer than the pause"),
        ("host.pause=1ps:2ps", "by 1 us or more"),
        ("host.pause=18000000000ms", "longer than 1000000 ms"),
        ("link.delay=1:18000000000ms", "longer than 1000000 ms"),
        ("interrupt.late=1:1000001ms", "longer than 1000000 ms"),
        ("host.slow=1000001", "from 1 to 1000000"),
        ("interrupt.stuck=up", "high or low"),
        ("interrupt.stuck=high@1us..2us", "stays so"),
        ("pool.slots=0", "from 1 to 256"),
        ("pool.slots=3@2us", "does not belong here"),
        ("pool.image=3@2", "does not belong here"),
    ] {
        let why = parsed(&[text]).unwrap_err().to_string();
        assert!(why.starts_with(&format!("--fault {text}: ")) && why.contains(word), "{why}");
    }
}
