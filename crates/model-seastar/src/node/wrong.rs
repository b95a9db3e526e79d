//! Faults of links on request, in the network's words.

use machine::faults::{FaultSite, Faults, Mishap, Which};

/// Faults of the links of all routers.
pub(super) fn of_links(faults: &Faults) -> net::Faults {
    let rules = faults.links.rules.iter().map(|rule| net::Rule {
        what: match rule.what {
            Mishap::Drop => net::What::Drop,
            Mishap::BitError => net::What::BitError,
            Mishap::Delay(by) => net::What::Delay(by),
            Mishap::Duplicate => net::What::Duplicate,
            Mishap::Overtake(by) => net::What::Overtake(by),
        },
        which: match rule.which {
            Which::Chance(p) => net::Which::Chance(p),
            Which::Number(number) => net::Which::Number(number),
        },
        place: match rule.place {
            FaultSite::Everywhere => net::FaultSite::Everywhere,
            FaultSite::From(node) => net::FaultSite::From(node),
            FaultSite::Between(a, b) => net::FaultSite::Between(a, b),
        },
        from: rule.from,
        until: rule.until,
    });
    let dead = faults.links.dead.iter().map(|dead| net::DeadLink {
        a: dead.a,
        b: dead.b,
        from: dead.from,
    });
    net::Faults { seed: faults.seed, rules: rules.collect(), dead: dead.collect() }
}
