//! Deadlocks of routes. A packet that cannot go on holds every link behind it, so routes whose links wait
//! for one another in a circle can block for ever. They are named before anything runs.

use std::collections::BTreeMap;
use std::fmt;

/// An end of a cable: a node's card or a port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The card of a node.
    Card(usize),
    /// A switch and its port.
    Port(usize, usize),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Card(node) => write!(f, "card {node}"),
            End::Port(switch, port) => write!(f, "switch {switch} port {port}"),
        }
    }
}

/// The cables.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    cables: BTreeMap<End, End>,
}

/// Links that wait for one another, in a circle: each is named by the end that sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock(pub Vec<End>);

impl std::error::Error for Deadlock {}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(End::to_string).collect();
        write!(f, "routes can wait for one another for ever: {}", names.join(" for "))?;
        write!(f, " for {}", names[0])
    }
}

impl Topology {
    /// Topology without cables.
    pub fn new() -> Topology {
        Topology::default()
    }
    /// A cable from `a` to `b` and back.
    pub fn connect(&mut self, a: End, b: End) {
        assert!(
            a != b && !self.cables.contains_key(&a) && !self.cables.contains_key(&b),
            "{a}, {b}"
        );
        self.cables.insert(a, b);
        self.cables.insert(b, a);
    }
    /// Other end of the cable.
    pub fn other(&self, end: End) -> Option<End> {
        self.cables.get(&end).copied()
    }
    /// Links that a packet of `node` with this route crosses, each by the end that sends; and where it
    /// comes out.
    fn path(&self, node: usize, route: &[u8]) -> (Vec<End>, Option<End>) {
        let mut links = vec![End::Card(node)];
        for byte in route.iter().take_while(|byte| **byte & 0x80 != 0) {
            let Some(End::Port(switch, port)) = self.other(links[links.len() - 1]) else {
                break;
            };
            let further = ((byte << 2) as i8 >> 2) as isize;
            let Some(port) = port.checked_add_signed(further) else {
                return (links, None);
            };
            links.push(End::Port(switch, port));
        }
        let end = self.other(links[links.len() - 1]);
        (links, end)
    }
    /// The shortest route from card to card; the first of several.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<u8>> {
        let mut routes = vec![(self.other(End::Card(from))?, Vec::new())];
        let mut seen = std::collections::BTreeSet::new();
        let mut next = 0;
        while next < routes.len() {
            let (end, route) = routes[next].clone();
            next += 1;
            let (switch, port) = match end {
                End::Card(node) if node == to => return Some(route),
                End::Card(_) => continue,
                End::Port(switch, port) => (switch, port),
            };
            if !seen.insert(switch) {
                continue;
            }
            let ports = self.cables.range(End::Port(switch, 0)..=End::Port(switch, usize::MAX));
            for (out, other) in ports {
                let End::Port(_, out) = out else { continue };
                let byte = 0x80 | ((*out as isize - port as isize) as u8 & 0x3f);
                routes.push((*other, [&route[..], &[byte]].concat()));
            }
        }
        None
    }
}

/// Sees to it that no links wait for one another in a circle, whatever is sent on `routes` (node, bytes).
pub fn check_routes(topology: &Topology, routes: &[(usize, Vec<u8>)]) -> Result<(), Deadlock> {
    let mut waits: BTreeMap<End, Vec<End>> = BTreeMap::new();
    for (node, route) in routes {
        let (links, _) = topology.path(*node, route);
        for pair in links.windows(2) {
            let next = waits.entry(pair[0]).or_default();
            if !next.contains(&pair[1]) {
                next.push(pair[1]);
            }
        }
    }
    let mut done = BTreeMap::new();
    for start in waits.keys() {
        let mut path = Vec::new();
        if let Some(circle) = circle(&waits, &mut done, &mut path, *start) {
            return Err(Deadlock(circle));
        }
    }
    Ok(())
}

/// The first circle that is found from `link` on.
fn circle(
    waits: &BTreeMap<End, Vec<End>>,
    done: &mut BTreeMap<End, ()>,
    path: &mut Vec<End>,
    link: End,
) -> Option<Vec<End>> {
    if let Some(begin) = path.iter().position(|other| *other == link) {
        return Some(path[begin..].to_vec());
    }
    if done.contains_key(&link) {
        return None;
    }
    path.push(link);
    for next in waits.get(&link).into_iter().flatten() {
        if let Some(found) = circle(waits, done, path, *next) {
            return Some(found);
        }
    }
    path.pop();
    done.insert(link, ());
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four switches in a ring, a card at each one's port 0; port 1 goes on, port 2 comes from before.
    fn ring() -> Topology {
        let mut topology = Topology::new();
        for n in 0..4 {
            topology.connect(End::Card(n), End::Port(n, 0));
            topology.connect(End::Port(n, 1), End::Port((n + 1) % 4, 2));
        }
        topology
    }

    #[test]
    fn routes_lead_where_they_should() {
        let topology = ring();
        let route = topology.route(0, 2).unwrap();
        assert_eq!(route.len(), 3);
        let (_, end) = topology.path(0, &route);
        assert_eq!(end, Some(End::Card(2)));
        // From port 0 to 1, from 2 to 1, from 2 to 0.
        assert_eq!(route, [0x81, 0xbf, 0xbe]);
    }

    #[test]
    fn cyclic_routes_are_named() {
        // Everybody to the card after next, all the same way round.
        let all: Vec<_> = (0..4).map(|n| (n, vec![0x81, 0xbf, 0xbe])).collect();
        let deadlock = check_routes(&ring(), &all).unwrap_err();
        assert_eq!(deadlock.0.len(), 4);
        assert_eq!(
            deadlock.to_string(),
            "routes can wait for one another for ever: switch 0 port 1 for switch 1 port 1 for \
             switch 2 port 1 for switch 3 port 1 for switch 0 port 1"
        );
        // Without one of them the circle is open.
        assert_eq!(check_routes(&ring(), &all[..3]), Ok(()));
    }
}
