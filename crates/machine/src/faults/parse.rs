//! Parser of faults from the command line: `KIND=VALUE`, then place and time, each after an `@`.

use super::kinds::{self, kind, FaultKind, Form, Scope};
use super::network::Apart;
use super::quiz;
use super::{DeadLink, FaultSite, Faults, Mishap, Network, OnPackets};
use super::{Pool, Rule, Struck, What, Which};
use crate::models::Model;
use crate::parameters::quantity::{self, Value};
use crate::parameters::Parameters;
use des::{Duration, Time};

/// The fault that is in the firmware's image, and the machine's parameter for it.
const SOURCES: (&str, &str) = ("pool.sources", "firmware.sources");

/// Greatest slowdown of a host, by speed or pauses: a slower one makes no progress.
const MOST_FACTOR: f64 = 1e6;
/// Least time between two pauses: with less, software makes no progress, and counting the pauses takes too
/// long.
const LEAST_GAP: Duration = Duration::from_us(1);
/// Longest duration: thousands of these are less than 2^64 ps, 213 days.
const LONGEST: Duration = Duration::from_us(1_000_000_000);

/// Sets machine parameters for those faults that are parameters. The error is a sentence.
pub fn set(parameters: &mut Parameters, texts: &[String]) -> Result<(), String> {
    let given = parameters.overrides().iter().rev().map(|set| set.split_once('='));
    let of_sources = |&(name, _): &(&str, &str)| name.trim() == SOURCES.1;
    let given = given.flatten().find(of_sources).map(|(_, value)| value.trim().to_string());
    let mut said = given.map(|value| (format!("--set {}={value}", SOURCES.1), value));
    for text in texts {
        let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        if let Some((name, value)) = parts.filter(|(name, _)| *name == SOURCES.0) {
            let wrong = |why: String| format!("--fault {text}: {why}");
            let form = kind(name).expect("it is one of the kinds").value;
            number(form, value).map_err(wrong)?;
            if let Some((other, _)) = said.as_ref().filter(|(_, other)| !same(other, value)) {
                return Err(wrong(format!("{other} says otherwise")));
            }
            said = Some((format!("--fault {text}"), value.into()));
            parameters
                .set(&format!("{}={value}", SOURCES.1))
                .map_err(|why| wrong(why.to_string()))?;
        }
    }
    Ok(())
}

/// Parses the faults. Times count from the `launch`. The error is a sentence about the text.
pub fn parse(
    texts: &[String],
    seed: u64,
    network: &dyn Network,
    launch: Time,
) -> Result<Faults, String> {
    let mut faults = Faults { seed, ..Faults::default() };
    let mut said: Vec<(&str, &FaultKind, &str, Where)> = Vec::new();
    for text in texts {
        let wrong = |why: String| format!("--fault {text}: {why}");
        let list = "`sunstar faults` lists what can go wrong";
        let (name, rest) =
            text.split_once('=').ok_or_else(|| wrong(format!("a fault is KIND=VALUE; {list}")))?;
        let name = name.trim();
        let kind = kind(name).ok_or_else(|| wrong(format!("there is no fault {name}; {list}")))?;
        let mut parts = rest.split('@').map(str::trim);
        let value = parts.next().unwrap_or_default();
        let scope = Where::parse(kind, parts, network, launch).map_err(wrong)?;
        add(&mut faults, kind, value, &scope, network).map_err(wrong)?;
        // Of these there is one at a time; of others there may be any number.
        if matches!(kind.value, Form::Level | Form::Factor | Form::Number { .. }) {
            let contradicts = |(_, other, said, place): &&(&str, &FaultKind, &str, Where)| {
                other.name == kind.name && !same(said, value) && place.meets(&scope)
            };
            if let Some((other, ..)) = said.iter().find(contradicts) {
                return Err(wrong(format!("--fault {other} says otherwise")));
            }
            said.push((text, kind, value, scope));
        }
    }
    Ok(faults)
}

/// Faults of links that cables of cards have, too.
const CABLES: [&str; 2] = ["link.biterror", "link.drop"];

/// True if machines of a model can have faults of that name, or of that room.
pub fn suits(name: &str, model: &Model) -> bool {
    match name.split('.').next().unwrap_or_default() {
        "cable" | "switch" => model.cables,
        _ if model.cables && CABLES.contains(&name) => true,
        "lane" | "bug" | "quiz" => model.lanes,
        "host" | "interrupt" => true,
        _ => model.packets,
    }
}

/// The same for a machine of `nodes` nodes of which only hosts and their interrupt lines can fail, and cables
/// and lanes if it has some.
pub fn parse_of_hosts(
    texts: &[String],
    seed: u64,
    nodes: u32,
    launch: Time,
    model: &Model,
) -> Result<Faults, String> {
    for text in texts {
        let name = text.split('=').next().unwrap_or_default().trim();
        let room = name.split('.').next().unwrap_or_default();
        if !suits(name, model) && kinds::KINDS.iter().any(|kind| kind.name.starts_with(room)) {
            let (model, s) = (model.name, if room == "switch" { "es" } else { "s" });
            return Err(format!(
                "--fault {text}: machines of model {model} have no {room}{s} that fail like that; \
                 their hosts (host.*) and interrupt lines (interrupt.*) can"
            ));
        }
    }
    parse(texts, seed, &Apart(nodes), launch)
}

/// Place and times of a fault, as written behind its value.
struct Where {
    place: FaultSite,
    from: Time,
    until: Time,
}

impl Where {
    fn parse<'a>(
        kind: &FaultKind,
        parts: impl Iterator<Item = &'a str>,
        network: &dyn Network,
        launch: Time,
    ) -> Result<Where, String> {
        // What nothing is said of has always been so.
        let mut all = Where { place: FaultSite::Everywhere, from: Time::ZERO, until: Time::NEVER };
        let nodes = matches!(kind.scope, Scope::Links | Scope::Nodes | Scope::Boot);
        let times = matches!(kind.scope, Scope::Links | Scope::Nodes | Scope::Since);
        let (mut placed, mut timed) = (false, false);
        for part in parts {
            let refused = || Err(format!("'@{part}' does not belong here: it is {}", kind.form()));
            if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
                if !nodes {
                    return refused();
                }
                all.place = FaultSite::From(node(part, network)?);
                once(&mut placed, part)?;
            } else if part.contains('-') {
                if kind.scope != Scope::Links {
                    return refused();
                }
                let (a, b) = neighbours(part, network)?;
                all.place = FaultSite::Between(a, b);
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
            FaultSite::From(node) => Some(node),
            _ => None,
        }
    }

    /// True if both share a place and a time.
    fn meets(&self, other: &Where) -> bool {
        self.place == other.place && self.from < other.until && other.from < self.until
    }
}

/// True if two values are the same, however they are written.
fn same(one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    one == other || number(one).is_some_and(|one| Some(one) == number(other))
}

/// Checks that a place or a time is given only once.
fn once(said: &mut bool, part: &str) -> Result<(), String> {
    match std::mem::replace(said, true) {
        false => Ok(()),
        true => Err(format!("'@{part}' is one too many: another place or time is another --fault")),
    }
}

fn add(
    faults: &mut Faults,
    kind: &FaultKind,
    value: &str,
    scope: &Where,
    network: &dyn Network,
) -> Result<(), String> {
    let on_node = |what| Rule { what, node: scope.node(), from: scope.from, until: scope.until };
    let link = |what, which| {
        let Where { place, from, until } = *scope;
        OnPackets { what, which, place, from, until }
    };
    let pool = |pool, number| on_node(What::Pool(pool, number));
    match kind.name {
        "link.biterror" => faults.links.rules.push(link(Mishap::BitError, share(value)?)),
        "link.drop" => faults.links.rules.push(link(Mishap::Drop, share(value)?)),
        "link.duplicate" => faults.links.rules.push(link(Mishap::Duplicate, share(value)?)),
        "link.delay" => {
            let (which, by) = share_and_time(value)?;
            faults.links.rules.push(link(Mishap::Delay(by), which));
        }
        "link.overtake" => {
            let (which, by) = share_and_time(value)?;
            faults.links.rules.push(link(Mishap::Overtake(by), which));
        }
        "link.dead" => {
            let (a, b) = neighbours(value, network)?;
            faults.links.dead.push(DeadLink { a, b, from: scope.from });
        }
        "cable.dead" => {
            faults.cables.push((node(value, network)?, scope.from));
        }
        "switch.stuck" => {
            let (which, lasts) = match value.contains(':') {
                true => share_and_time(value).map(|(which, by)| (which, Some(by)))?,
                false => (share(value)?, None),
            };
            faults.nodes.push(on_node(What::Stuck(which, lasts)));
        }
        "lane.biterror" => {
            faults.nodes.push(on_node(What::Lanes(Struck::Symbols, share(value)?)));
        }
        "lane.credit" => {
            faults.nodes.push(on_node(What::Lanes(Struck::Credits, share(value)?)));
        }
        "quiz" => {
            let (name, on) = quiz::hidden(quiz::seed(value)?);
            faults.nodes.push(Rule { node: Some(on), ..on_node(What::Bug(name)) });
        }
        name if name.starts_with("bug.") => {
            let on = Some(node(value, network)?);
            faults.nodes.push(Rule { node: on, ..on_node(What::Bug(kind.name)) });
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

/// Fraction of the time that periodic pauses take from the host.
fn paused(rule: &Rule) -> f64 {
    match rule.what {
        What::Rests { length, period: Some(period) } => length.0 as f64 / period.0 as f64,
        _ => 0.0,
    }
}

/// Checks that pauses at the same place and time together leave the host some time.
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
    match quantity::ValueKind::Duration.parse(text) {
        Ok(Value::Duration(span)) => Ok(span),
        Ok(_) => Err(format!("'{text}' is no time")),
        Err(why) => Err(format!("'{text}': {why}")),
    }
}

/// Duration of something that happens repeatedly.
fn lasting(text: &str) -> Result<Duration, String> {
    let span = span(text)?;
    if span > LONGEST {
        return Err(format!("'{}' is longer than 1000000 ms", text.trim()));
    }
    Ok(span)
}

fn node(text: &str, network: &dyn Network) -> Result<u32, String> {
    let nodes = network.nodes();
    let node = text.parse().ok().filter(|node| *node < nodes);
    node.ok_or_else(|| match text {
        "" => "a node's number is missing".to_string(),
        _ => format!("there is no node {text}; the machine has {nodes}"),
    })
}

fn neighbours(text: &str, network: &dyn Network) -> Result<(u32, u32), String> {
    let (a, b) = text
        .split_once('-')
        .ok_or_else(|| format!("a link is NODE-NODE, as in 0-1, which '{text}' is not"))?;
    let (a, b) = (node(a.trim(), network)?, node(b.trim(), network)?);
    if !network.joins(a, b) {
        return Err(format!("nodes {a} and {b} are no neighbours in a {network}"));
    }
    Ok((a, b))
}

#[cfg(test)]
mod tests;
