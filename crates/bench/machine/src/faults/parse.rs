//! Parser of faults from the command line: `KIND=VALUE`, then place and time, each after an `@`.

use super::fault_error::{FaultError, WrongFault};
use super::kinds::{FaultKind, Form, Scope, OF_ALL};
use super::network::Apart;
use super::{hidden, FaultSite, FaultValue, Faults, Network, Rule, Which};
use crate::parameters::quantity::{self, Value};
use crate::parameters::Parameters;
use des::{Duration, Time};

/// Greatest slowdown of a host, by speed or pauses: a slower one makes no progress.
const MOST_FACTOR: f64 = 1e6;
/// Least time between two pauses: with less, software makes no progress, and counting the pauses takes too
/// long.
const LEAST_GAP: Duration = Duration::from_us(1);
/// Longest duration: thousands of these are less than 2^64 ps, 213 days.
const LONGEST: Duration = Duration::from_us(1_000_000_000);

/// Sets machine parameters for those faults that are parameters.
pub fn set(parameters: &mut Parameters, texts: &[String]) -> Result<(), WrongFault> {
    for kind in parameters.model().fault_kinds().all() {
        if let Scope::Image(key) = kind.scope {
            set_one(parameters, texts, kind, key)?;
        }
    }
    Ok(())
}

fn set_one(
    parameters: &mut Parameters,
    texts: &[String],
    kind: &FaultKind,
    key: &str,
) -> Result<(), WrongFault> {
    let given = parameters.overrides().iter().rev().map(|set| set.split_once('='));
    let given = given.flatten().find(|(name, _)| name.trim() == key);
    let given = given.map(|(_, value)| value.trim().to_string());
    let mut said = given.map(|value| (format!("--set {key}={value}"), value));
    for text in texts {
        let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        if let Some((_, value)) = parts.filter(|(name, _)| *name == kind.name) {
            let wrong = |why| WrongFault { text: text.clone(), why };
            number(kind.value, value).map_err(wrong)?;
            if let Some((other, _)) = said.take_if(|(_, other)| !same(other, value)) {
                return Err(wrong(FaultError::Contradicts { other }));
            }
            said = Some((format!("--fault {text}"), value.into()));
            parameters.set(&format!("{key}={value}")).map_err(|why| wrong(FaultError::Set(why)))?;
        }
    }
    Ok(())
}

/// Parses the faults. Times count from the `launch`.
pub fn parse(
    texts: &[String],
    seed: u64,
    network: &dyn Network,
    launch: Time,
    model: ModelFaults,
) -> Result<Faults, WrongFault> {
    let mut faults = Faults { seed, ..Faults::default() };
    let mut said: Vec<(&str, &FaultKind, &str, Where)> = Vec::new();
    for text in texts {
        let wrong = |why| WrongFault { text: text.clone(), why };
        let (name, rest) = text.split_once('=').ok_or_else(|| wrong(FaultError::NoValue))?;
        let kind = model.kind(name.trim()).map_err(wrong)?;
        let mut parts = rest.split('@').map(str::trim);
        let value = parts.next().unwrap_or_default();
        let scope = Where::parse(kind, parts, network, launch).map_err(wrong)?;
        add(&mut faults, model, kind, value, &scope, network).map_err(wrong)?;
        // Of these there is one at a time; of others there may be any number.
        if matches!(kind.value, Form::Level | Form::Factor | Form::Number { .. }) {
            let contradicts = |(_, other, said, place): &&(&str, &FaultKind, &str, Where)| {
                other.name == kind.name && !same(said, value) && place.meets(&scope)
            };
            if let Some((other, ..)) = said.iter().find(contradicts) {
                let other = format!("--fault {other}");
                return Err(wrong(FaultError::Contradicts { other }));
            }
            said.push((text, kind, value, scope));
        }
    }
    Ok(faults)
}

/// Kinds of faults that the machines of a model have.
#[derive(Clone, Copy, Debug)]
pub struct ModelFaults {
    /// The model's name.
    pub model: &'static str,
    /// Kinds beside [`OF_ALL`].
    pub kinds: &'static [&'static FaultKind],
}

impl ModelFaults {
    /// All of them.
    pub fn all(self) -> impl Iterator<Item = &'static FaultKind> + Clone {
        self.kinds.iter().chain(OF_ALL).copied()
    }

    /// The kind with that name. The error lists those that there are.
    pub fn kind(self, name: &str) -> Result<&'static FaultKind, FaultError> {
        self.all().find(|kind| kind.name == name).ok_or_else(|| FaultError::Kind {
            model: self.model,
            name: name.to_owned(),
            meant: crate::suggestion::nearest(name, self.all().map(|kind| kind.name)),
            names: self.names(),
        })
    }

    /// Names; of more than a few that begin with the same word, that word.
    fn names(self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for kind in self.all() {
            let word = kind.name.split_once('.').map_or(kind.name, |(word, _)| word);
            let like = |name: &str| name.split('.').next() == Some(word);
            let many = self.all().filter(|kind| like(kind.name)).count() > FEW;
            let name = if many { format!("{word}.*") } else { kind.name.into() };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Kinds with the same first word that a list names.
const FEW: usize = 3;

/// Parses the faults of a machine of `nodes` nodes without links between neighbours.
pub fn parse_of_hosts(
    texts: &[String],
    seed: u64,
    nodes: u32,
    launch: Time,
    model: ModelFaults,
) -> Result<Faults, WrongFault> {
    parse(texts, seed, &Apart(nodes), launch, model)
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
    ) -> Result<Where, FaultError> {
        // What nothing is said of has always been so.
        let mut all = Where { place: FaultSite::Everywhere, from: Time::ZERO, until: Time::NEVER };
        let nodes = matches!(kind.scope, Scope::Links | Scope::Nodes | Scope::Boot);
        let times = matches!(kind.scope, Scope::Links | Scope::Nodes | Scope::Since);
        let (mut placed, mut timed) = (false, false);
        for part in parts {
            let refused = || Err(FaultError::Scope { part: part.to_owned(), form: kind.form() });
            if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
                if !nodes {
                    return refused();
                }
                all.place = FaultSite::Node(node(part, network)?);
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
                    return Err(FaultError::Backwards { part: part.to_owned() });
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
fn once(said: &mut bool, part: &str) -> Result<(), FaultError> {
    match std::mem::replace(said, true) {
        false => Ok(()),
        true => Err(FaultError::Twice { part: part.to_owned() }),
    }
}

fn add(
    faults: &mut Faults,
    model: ModelFaults,
    kind: &'static FaultKind,
    text: &str,
    scope: &Where,
    network: &dyn Network,
) -> Result<(), FaultError> {
    // `set` has made a parameter of it.
    if matches!(kind.scope, Scope::Image(_)) {
        return Ok(());
    }
    let Where { mut place, from, until } = *scope;
    let mut struck = kind;
    let value = match kind.value {
        Form::Share => FaultValue::Share(share(text)?),
        Form::ShareMaybeTime if !text.contains(':') => FaultValue::Share(share(text)?),
        Form::ShareTime | Form::ShareMaybeTime => {
            let (which, by) = share_and_time(text)?;
            FaultValue::ShareTime(which, by)
        }
        Form::Link => {
            let (a, b) = neighbours(text, network)?;
            place = FaultSite::Between(a, b);
            FaultValue::Place
        }
        Form::Node => {
            place = FaultSite::Node(node(text, network)?);
            FaultValue::Place
        }
        Form::Seed => {
            let hidden = hidden::find(model.kinds, hidden::seed(kind, text)?);
            let (bug, on) = hidden.ok_or(FaultError::NothingToHide)?;
            (struck, place) = (bug, FaultSite::Node(on));
            FaultValue::Place
        }
        Form::Level => match text {
            "low" => FaultValue::Level(false),
            "high" if until == Time::NEVER => FaultValue::Level(true),
            "high" => return Err(FaultError::Stays),
            _ => return Err(FaultError::Level { text: text.to_owned() }),
        },
        Form::Factor => FaultValue::Factor(factor(text)?),
        Form::Pause => pause(text)?,
        Form::Number { .. } => FaultValue::Number(number(kind.value, text)?),
    };
    faults.rules.push(Rule { kind: struck, value, place, from, until });
    leave_time(&faults.rules)
}

fn share(text: &str) -> Result<Which, FaultError> {
    if let Some(number) = text.strip_prefix('#') {
        let number = number.parse().ok().filter(|number| *number > 0).map(Which::Number);
        return number.ok_or_else(|| FaultError::ShareNumber { text: text.to_owned() });
    }
    let chance = text.parse().ok().filter(|p| (0.0..=1.0).contains(p)).map(Which::Chance);
    chance.ok_or_else(|| FaultError::Share { text: text.to_owned() })
}

fn share_and_time(text: &str) -> Result<(Which, Duration), FaultError> {
    let (which, by) = text.split_once(':').ok_or(FaultError::NoTime)?;
    Ok((share(which.trim())?, lasting(by)?))
}

fn factor(text: &str) -> Result<u64, FaultError> {
    let factor = text.parse().ok().filter(|factor| (1.0..=MOST_FACTOR).contains(factor));
    let factor: f64 =
        factor.ok_or_else(|| FaultError::Factor { text: text.to_owned(), most: MOST_FACTOR })?;
    Ok((factor * 1e3).round() as u64)
}

fn pause(text: &str) -> Result<FaultValue, FaultError> {
    let (length, period) = match text.split_once(':') {
        Some((length, period)) => (lasting(length)?, Some(lasting(period)?)),
        None => (lasting(text)?, None),
    };
    let gap = period.map_or(Duration(u64::MAX), |period| period - length);
    if gap < LEAST_GAP {
        return Err(FaultError::Period { text: text.to_owned(), least: LEAST_GAP });
    }
    Ok(FaultValue::Pause { length, period })
}

/// Fraction of the time that periodic pauses take from the host.
fn paused(rule: &Rule) -> f64 {
    match rule.value {
        FaultValue::Pause { length, period: Some(period) } => length.0 as f64 / period.0 as f64,
        _ => 0.0,
    }
}

/// Checks that pauses at the same place and time together leave the host some time.
fn leave_time(rules: &[Rule]) -> Result<(), FaultError> {
    let Some((new, others)) = rules.split_last() else { return Ok(()) };
    let meets = |rule: &&Rule| {
        let all = FaultSite::Everywhere;
        let here = rule.place == all || new.place == all || rule.place == new.place;
        here && rule.from < new.until && new.from < rule.until
    };
    let taken = paused(new) + others.iter().filter(meets).map(paused).sum::<f64>();
    if paused(new) > 0.0 && 1.0 - taken < 1.0 / MOST_FACTOR {
        return Err(FaultError::NoTimeLeft);
    }
    Ok(())
}

fn number(form: Form, text: &str) -> Result<u32, FaultError> {
    let Form::Number { least, most } = form else { unreachable!("pools are counted") };
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| FaultError::Number { text: text.to_owned(), least, most })
}

fn span(text: &str) -> Result<Duration, FaultError> {
    match quantity::ValueKind::Duration.parse(text) {
        Ok(Value::Duration(span)) => Ok(span),
        Ok(other) => unreachable!("a duration is read as {other:?}"),
        Err(why) => Err(FaultError::Time { text: text.to_owned(), why }),
    }
}

/// Duration of something that happens repeatedly.
fn lasting(text: &str) -> Result<Duration, FaultError> {
    let span = span(text)?;
    if span > LONGEST {
        return Err(FaultError::TooLong { text: text.trim().to_owned(), longest: LONGEST });
    }
    Ok(span)
}

fn node(text: &str, network: &dyn Network) -> Result<u32, FaultError> {
    let nodes = network.nodes();
    let node = text.parse().ok().filter(|node| *node < nodes);
    node.ok_or_else(|| match text {
        "" => FaultError::NoNode,
        _ => FaultError::Node { text: text.to_owned(), nodes },
    })
}

fn neighbours(text: &str, network: &dyn Network) -> Result<(u32, u32), FaultError> {
    let (a, b) = text.split_once('-').ok_or_else(|| FaultError::Link { text: text.to_owned() })?;
    let (a, b) = (node(a.trim(), network)?, node(b.trim(), network)?);
    if !network.joins(a, b) {
        return Err(FaultError::Neighbours { from: a, to: b, network: network.to_string() });
    }
    Ok((a, b))
}

#[cfg(test)]
mod tests;
