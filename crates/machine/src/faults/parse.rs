//! Faults as the command line writes them: `KIND=VALUE`, then where and when, each after an `@`.

use super::kinds::{kind, Form, Kind, Scope};
use super::{Faults, Pool, Rule, What};
use crate::parameters::Parameters;
use crate::quantity::{self, Value};
use des::{Duration, Time};
use net::{DeadLink, Link, Place, Topology, Which, LINKS};

/// The fault that is in the firmware's image, and the machine's parameter for it.
const SOURCES: (&str, &str) = ("pool.sources", "firmware.sources");

/// A host that is slower, or pauses more, gets nowhere.
const MOST_FACTOR: f64 = 1e6;
/// Software that runs for less between two pauses gets nowhere either, and counting them takes for ever.
const LEAST_GAP: Duration = Duration::from_us(1);
/// Thousands of such times are less than can be counted: 2^64 ps, 213 days.
const LONGEST: Duration = Duration::from_us(1_000_000_000);

/// Sets those of the machine's parameters that stand for faults. The error is a sentence.
pub fn set(parameters: &mut Parameters, texts: &[String]) -> Result<(), String> {
    for text in texts {
        let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        if let Some((name, value)) = parts.filter(|(name, _)| *name == SOURCES.0) {
            let wrong = |why: String| format!("--fault {text}: {why}");
            let form = kind(name).expect("it is one of the kinds").value;
            number(form, value).map_err(wrong)?;
            parameters
                .set(&format!("{}={value}", SOURCES.1))
                .map_err(|why| wrong(why.to_string()))?;
        }
    }
    Ok(())
}

/// Reads what is asked for. Times count from the `launch`. The error is a sentence about the text.
pub(crate) fn parse(
    texts: &[String],
    seed: u64,
    topology: &Topology,
    launch: Time,
) -> Result<Faults, String> {
    let mut faults = Faults::default();
    faults.links.seed = seed;
    for text in texts {
        let wrong = |why: String| format!("--fault {text}: {why}");
        let list = "`sunstar faults` lists what can go wrong";
        let (name, rest) =
            text.split_once('=').ok_or_else(|| wrong(format!("a fault is KIND=VALUE; {list}")))?;
        let name = name.trim();
        let kind = kind(name).ok_or_else(|| wrong(format!("there is no fault {name}; {list}")))?;
        let mut parts = rest.split('@').map(str::trim);
        let value = parts.next().unwrap_or_default();
        let scope = Where::parse(kind, parts, topology, launch).map_err(wrong)?;
        add(&mut faults, kind, value, &scope, topology).map_err(wrong)?;
    }
    Ok(faults)
}

/// What stands behind the value.
struct Where {
    place: Place,
    from: Time,
    until: Time,
}

impl Where {
    fn parse<'a>(
        kind: &Kind,
        parts: impl Iterator<Item = &'a str>,
        topology: &Topology,
        launch: Time,
    ) -> Result<Where, String> {
        // What nothing is said of has always been so.
        let mut all = Where { place: Place::Everywhere, from: Time::ZERO, until: Time::NEVER };
        let nodes = matches!(kind.scope, Scope::Links | Scope::Nodes | Scope::Boot);
        let times = matches!(kind.scope, Scope::Links | Scope::Nodes | Scope::Since);
        let (mut placed, mut timed) = (false, false);
        for part in parts {
            let refused = || Err(format!("'@{part}' does not belong here: it is {}", kind.form()));
            if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
                if !nodes {
                    return refused();
                }
                all.place = Place::From(node(part, topology)?);
                once(&mut placed, part)?;
            } else if part.contains('-') {
                if kind.scope != Scope::Links {
                    return refused();
                }
                let (a, b) = neighbours(part, topology)?;
                all.place = Place::Between(a, b);
                once(&mut placed, part)?;
            } else if !times {
                return refused();
            } else if let Some((from, until)) = part.split_once("..") {
                if kind.scope == Scope::Since {
                    return refused();
                }
                all.from = launch + span(from)?;
                if !until.is_empty() {
                    all.until = launch + span(until)?;
                }
                if all.until <= all.from {
                    return Err(format!("'{part}' ends before it begins"));
                }
                once(&mut timed, part)?;
            } else {
                all.from = launch + span(part)?;
                once(&mut timed, part)?;
            }
        }
        if kind.scope == Scope::Nodes {
            // Nothing is wrong before the launch: all nodes boot alike.
            all.from = all.from.max(launch);
        }
        Ok(all)
    }

    fn node(&self) -> Option<u32> {
        match self.place {
            Place::From(node) => Some(node),
            _ => None,
        }
    }
}

/// A place or a time, of which there is one.
fn once(said: &mut bool, part: &str) -> Result<(), String> {
    match std::mem::replace(said, true) {
        false => Ok(()),
        true => Err(format!("'@{part}' is one too many: another place or time is another --fault")),
    }
}

fn add(
    faults: &mut Faults,
    kind: &Kind,
    value: &str,
    scope: &Where,
    topology: &Topology,
) -> Result<(), String> {
    let on_node = |what| Rule { what, node: scope.node(), from: scope.from, until: scope.until };
    let link = |what, which| {
        let Where { place, from, until } = *scope;
        net::Rule { what, which, place, from, until }
    };
    let pool = |pool, number| on_node(What::Pool(pool, number));
    match kind.name {
        "link.biterror" => faults.links.rules.push(link(net::What::BitError, share(value)?)),
        "link.drop" => faults.links.rules.push(link(net::What::Drop, share(value)?)),
        "link.duplicate" => faults.links.rules.push(link(net::What::Duplicate, share(value)?)),
        "link.delay" => {
            let (which, by) = share_and_time(value)?;
            faults.links.rules.push(link(net::What::Delay(by), which));
        }
        "link.overtake" => {
            let (which, by) = share_and_time(value)?;
            faults.links.rules.push(link(net::What::Overtake(by), which));
        }
        "link.dead" => {
            let (a, b) = neighbours(value, topology)?;
            faults.links.dead.push(DeadLink { a, b, from: scope.from });
        }
        "interrupt.lost" => faults.nodes.push(on_node(What::InterruptLost(share(value)?))),
        "interrupt.late" => {
            let (which, by) = share_and_time(value)?;
            faults.nodes.push(on_node(What::InterruptLate(which, by)));
        }
        "interrupt.stuck" => match value {
            "low" => faults.nodes.push(on_node(What::InterruptLost(Which::Chance(1.0)))),
            "high" if scope.until == Time::NEVER => faults.nodes.push(on_node(What::StuckHigh)),
            "high" => return Err("a line that is stuck high stays so: give @TIME".to_string()),
            _ => return Err(format!("the line is stuck high or low, not '{value}'")),
        },
        "host.slow" => faults.nodes.push(on_node(What::Slow(factor(value)?))),
        "host.pause" => {
            faults.nodes.push(on_node(rests(value)?));
            leave_time(&faults.nodes)?;
        }
        "pool.rx_pendings" => faults.nodes.push(pool(Pool::Receives, number(kind.value, value)?)),
        "pool.tx_pendings" => faults.nodes.push(pool(Pool::Transmits, number(kind.value, value)?)),
        "pool.event_slots" => faults.nodes.push(pool(Pool::EventSlots, number(kind.value, value)?)),
        "pool.dma_lists" => faults.nodes.push(pool(Pool::ListCommands, number(kind.value, value)?)),
        "pool.streams" => faults.nodes.push(pool(Pool::Streams, number(kind.value, value)?)),
        // `set` has made a parameter of it.
        "pool.sources" => {}
        other => unreachable!("{other} is in the table and nobody knows it"),
    }
    Ok(())
}

fn share(text: &str) -> Result<Which, String> {
    if let Some(number) = text.strip_prefix('#') {
        let number = number.parse().ok().filter(|number| *number > 0).map(Which::Number);
        return number.ok_or_else(|| format!("'{text}' is no number: #1 is the first"));
    }
    let chance = text.parse().ok().filter(|p| (0.0..=1.0).contains(p)).map(Which::Chance);
    chance.ok_or_else(|| {
        format!("a share is a chance from 0 to 1, or #NUMBER for one, which '{text}' is not")
    })
}

fn share_and_time(text: &str) -> Result<(Which, Duration), String> {
    let form = || "it is SHARE:TIME, as in 0.01:500ns".to_string();
    let (which, by) = text.split_once(':').ok_or_else(form)?;
    Ok((share(which.trim())?, lasting(by)?))
}

fn factor(text: &str) -> Result<u64, String> {
    let factor = text.parse().ok().filter(|factor| (1.0..=MOST_FACTOR).contains(factor));
    let factor: f64 = factor.ok_or_else(|| {
        format!("a factor is a number from 1 to {MOST_FACTOR}, which '{text}' is not")
    })?;
    Ok((factor * 1e3).round() as u64)
}

fn rests(text: &str) -> Result<What, String> {
    let (length, period) = match text.split_once(':') {
        Some((length, period)) => (lasting(length)?, Some(lasting(period)?)),
        None => (lasting(text)?, None),
    };
    let gap = period.map_or(Duration(u64::MAX), |period| period - length);
    if gap < LEAST_GAP {
        return Err(format!(
            "'{text}': the period must be longer than the pause by {LEAST_GAP:.0} or more, in \
             which the host gets on"
        ));
    }
    Ok(What::Rests { length, period })
}

/// Part of the time for which pauses that come again and again leave the host nothing.
fn paused(rule: &Rule) -> f64 {
    match rule.what {
        What::Rests { length, period: Some(period) } => length.0 as f64 / period.0 as f64,
        _ => 0.0,
    }
}

/// Pauses at the same place and time together leave the host some of it, too.
fn leave_time(rules: &[Rule]) -> Result<(), String> {
    let Some((new, others)) = rules.split_last() else { return Ok(()) };
    let meets = |rule: &&Rule| {
        let here = rule.node.is_none() || new.node.is_none() || rule.node == new.node;
        here && rule.from < new.until && new.from < rule.until
    };
    let taken = paused(new) + others.iter().filter(meets).map(paused).sum::<f64>();
    if paused(new) > 0.0 && 1.0 - taken < 1.0 / MOST_FACTOR {
        return Err("with the other pauses there it leaves the host no time".to_string());
    }
    Ok(())
}

fn number(form: Form, text: &str) -> Result<u32, String> {
    let Form::Number { least, most } = form else { unreachable!("pools are counted") };
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("a number from {least} to {most} is needed, not '{text}'"))
}

fn span(text: &str) -> Result<Duration, String> {
    match quantity::Kind::Duration.parse(text) {
        Ok(Value::Duration(span)) => Ok(span),
        Ok(_) => Err(format!("'{text}' is no time")),
        Err(why) => Err(format!("'{text}': {why}")),
    }
}

/// How long something lasts that happens again and again.
fn lasting(text: &str) -> Result<Duration, String> {
    let span = span(text)?;
    if span > LONGEST {
        return Err(format!("'{}' is longer than 1000000 ms", text.trim()));
    }
    Ok(span)
}

fn node(text: &str, topology: &Topology) -> Result<u32, String> {
    let nodes = topology.nodes();
    let node = text.parse().ok().filter(|node| *node < nodes);
    node.ok_or_else(|| format!("there is no node {text}; the machine has {nodes}"))
}

fn neighbours(text: &str, topology: &Topology) -> Result<(u32, u32), String> {
    let (a, b) = text
        .split_once('-')
        .ok_or_else(|| format!("a link is NODE-NODE, as in 0-1, which '{text}' is not"))?;
    let (a, b) = (node(a.trim(), topology)?, node(b.trim(), topology)?);
    let mut links = (0..LINKS).map(Link::from_index);
    if !links.any(|link| topology.neighbour(a, link) == Some(b)) {
        return Err(format!("nodes {a} and {b} are no neighbours in a {topology}"));
    }
    Ok((a, b))
}

#[cfg(test)]
mod tests {
    use super::super::KINDS;
    use super::*;

    const LAUNCH: Time = Time(1000);

    fn parsed(texts: &[&str]) -> Result<Faults, String> {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        parse(&texts, 7, &"4x2".parse().unwrap(), LAUNCH)
    }

    #[test]
    fn all_kinds_can_be_said_and_do_something() {
        for kind in KINDS {
            let faults = parsed(&[kind.example]).unwrap();
            let nothing = faults.links.is_empty() && faults.nodes.is_empty();
            assert_eq!(nothing, kind.scope == Scope::Image, "{}", kind.name);
            assert!(kind.example.starts_with(kind.name), "{}", kind.name);
        }
        let nothing = parsed(&[]).unwrap();
        assert!(nothing.links.is_empty() && nothing.nodes.is_empty());
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
        let [bits, delay, drop] = faults.links.rules[..] else { panic!("{faults:?}") };
        assert_eq!(faults.links.seed, 7);
        assert_eq!((bits.what, bits.which), (net::What::BitError, Which::Chance(1e-9)));
        assert_eq!((bits.place, bits.from, bits.until), (Place::Everywhere, Time(0), Time::NEVER));
        assert_eq!(delay.what, net::What::Delay(Duration::from_ns(3)));
        assert_eq!(
            (delay.place, delay.from, delay.until),
            (Place::From(2), Time(2000), Time(5000))
        );
        assert_eq!((drop.place, drop.from), (Place::Between(0, 1), Time(6000)));
        assert_eq!(drop.which, Which::Number(3));
        assert_eq!(faults.links.dead, [DeadLink { a: 1, b: 5, from: Time(3000) }]);
    }

    #[test]
    fn nodes_have_what_was_asked_for_them() {
        let faults = parsed(&[
            "pool.rx_pendings=5",
            "pool.rx_pendings=3@2",
            "pool.streams=9@2",
            "host.slow=2.5@1@1ns..",
            "interrupt.stuck=high@3",
            "interrupt.lost=0.5@0",
        ])
        .unwrap();
        assert_eq!([None, Some(1), Some(2)].map(|nid| faults.pools(nid).receives), [5, 5, 3]);
        assert_eq!((faults.streams(1), faults.streams(2)), (None, Some(9)));
        assert!(faults.pace(0).is_full());
        let pace = faults.pace(1);
        assert_eq!(pace.end(Time(1000), Duration(1400)), Time(3000), "1 ns, then slow");
        assert_eq!((faults.stuck_since(2), faults.stuck_since(3)), (None, Some(LAUNCH)));
        assert!(faults.interrupts(0).is_some() && faults.interrupts(1).is_none());
        assert!(faults.stalls() && !faults.loses());
        assert!(parsed(&["link.dead=0-1"]).unwrap().loses());
        assert!(!parsed(&["link.delay=1:1us", "host.slow=2"]).unwrap().loses());
    }

    #[test]
    fn the_image_has_what_was_asked_for_however_it_was_written() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let machine = Parameters::load(&root.join("machines/redstorm.toml")).unwrap();
        for text in ["pool.sources=3", " pool.sources = 3 "] {
            let mut machine = machine.clone();
            set(&mut machine, &[text.into()]).unwrap();
            assert_eq!(machine.number::<u32>("firmware.sources"), 3, "{text}");
            parsed(&[text]).unwrap();
        }
        for text in ["pool.sources=0", "pool.sources=3@2", "pool.sources= x"] {
            let why = set(&mut machine.clone(), &[text.into()]).unwrap_err();
            assert!(why.starts_with(&format!("--fault {text}: a number from 1")), "{why}");
        }
    }

    #[test]
    fn pauses_leave_the_host_some_time() {
        let half = "host.pause=1us:2us";
        assert!(parsed(&[half, "host.pause=1us:4us@1"]).is_ok());
        for others in ["host.pause=10us:20us@1", "host.pause=1us:2us@500us"] {
            let why = parsed(&[half, others]).unwrap_err();
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
            ("link.broken=1", "no fault link.broken; `sunstar faults`"),
            ("link.drop=2", "from 0 to 1"),
            ("link.drop=often", "from 0 to 1"),
            ("link.drop=#0", "#1 is the first"),
            ("link.drop=0.1@9", "no node 9"),
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
            ("pool.streams=0", "from 1 to 256"),
            ("pool.streams=3@2us", "does not belong here"),
            ("pool.sources=3@2", "does not belong here"),
        ] {
            let why = parsed(&[text]).unwrap_err();
            assert!(why.starts_with(&format!("--fault {text}: ")) && why.contains(word), "{why}");
        }
    }
}
