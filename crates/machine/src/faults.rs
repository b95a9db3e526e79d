//! Faults on request, as the command line writes them.
//!
//! ```text
//! link.biterror=1e-9          chance of each bit on a link to arrive wrong
//! link.drop=0.001             chance of each packet on a link to be lost
//! link.delay=0.01:500 ns      chance of each packet on a link to be late, and by how much
//! link.dead=3-4@2 ms          the link between two neighbours carries nothing any more, from this
//!                             time after the launch; without a time from the beginning
//! ```

use crate::quantity::{Kind, Value};
use des::{Duration, Time};
use net::{DeadLink, Faults, Link, Topology, LINKS};

/// Reads what is asked for. The error is a sentence about the text.
pub(crate) fn parse(
    texts: &[String],
    seed: u64,
    topology: &Topology,
    launch: Time,
) -> Result<Faults, String> {
    let mut faults = Faults { seed, ..Faults::default() };
    for text in texts {
        let wrong = |why: String| format!("--fault {text}: {why}");
        let (kind, value) = text.split_once('=').ok_or_else(|| wrong(format!("it is {FORMS}")))?;
        let value = value.trim();
        match kind.trim() {
            "link.biterror" => faults.bit_error = chance(value).map_err(wrong)?,
            "link.drop" => faults.drop = chance(value).map_err(wrong)?,
            "link.delay" => {
                let form = || wrong("a delay is CHANCE:TIME, as in 0.01:500ns".to_string());
                let (p, by) = value.split_once(':').ok_or_else(form)?;
                faults.delay = chance(p.trim()).map_err(wrong)?;
                faults.delay_by = span(by).map_err(wrong)?;
            }
            "link.dead" => faults.dead.push(dead(value, topology, launch).map_err(wrong)?),
            other => return Err(wrong(format!("there is no fault {other}; it is {FORMS}"))),
        }
    }
    Ok(faults)
}

const FORMS: &str = "link.biterror=CHANCE, link.drop=CHANCE, link.delay=CHANCE:TIME or \
                     link.dead=NODE-NODE@TIME";

fn chance(text: &str) -> Result<f64, String> {
    let chance = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    chance.ok_or_else(|| format!("a chance is a number from 0 to 1, which '{text}' is not"))
}

fn span(text: &str) -> Result<Duration, String> {
    match Kind::Duration.parse(text) {
        Ok(Value::Duration(span)) => Ok(span),
        Ok(_) => Err(format!("'{text}' is no time")),
        Err(why) => Err(format!("'{text}': {why}")),
    }
}

fn dead(text: &str, topology: &Topology, launch: Time) -> Result<DeadLink, String> {
    let (ends, from) = match text.split_once('@') {
        Some((ends, at)) => (ends, launch + span(at)?),
        None => (text, Time::ZERO),
    };
    let form = || "a dead link is NODE-NODE@TIME, as in 0-1@2ms".to_string();
    let (a, b) = ends.split_once('-').ok_or_else(form)?;
    let node = |text: &str| text.trim().parse::<u32>().map_err(|_| form());
    let (a, b) = (node(a)?, node(b)?);
    let nodes = topology.nodes();
    if a >= nodes || b >= nodes {
        return Err(format!("there is no node {}; the machine has {nodes}", a.max(b)));
    }
    let mut links = (0..LINKS).map(Link::from_index);
    if !links.any(|link| topology.neighbour(a, link) == Some(b)) {
        return Err(format!("nodes {a} and {b} are no neighbours in a {topology}"));
    }
    Ok(DeadLink { a, b, from })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Result<Faults, String> {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        parse(&texts, 7, &"4x2".parse().unwrap(), Time(1000))
    }

    #[test]
    fn what_is_documented_parses() {
        let faults =
            parsed(&["link.biterror=1e-9", "link.delay=0.5: 3 ns", "link.dead=1-5@2 ns"]).unwrap();
        assert_eq!((faults.seed, faults.bit_error, faults.drop), (7, 1e-9, 0.0));
        assert_eq!((faults.delay, faults.delay_by), (0.5, Duration::from_ns(3)));
        assert_eq!(faults.dead, [DeadLink { a: 1, b: 5, from: Time(3000) }]);
        assert!(parsed(&[]).unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_sentences() {
        for (text, word) in [
            ("link.drop", "link.drop=CHANCE"),
            ("link.broken=1", "no fault link.broken"),
            ("link.drop=2", "from 0 to 1"),
            ("link.drop=often", "from 0 to 1"),
            ("link.delay=0.1", "CHANCE:TIME"),
            ("link.delay=0.1:5", "unit"),
            ("link.dead=1", "NODE-NODE"),
            ("link.dead=0-8", "no node 8"),
            ("link.dead=0-5", "no neighbours"),
            ("link.dead=0-1@soon", "number"),
        ] {
            let why = parsed(&[text]).unwrap_err();
            assert!(why.starts_with(&format!("--fault {text}: ")) && why.contains(word), "{why}");
        }
    }
}
