//! Connections of the cards: switches in a row, nodes at each of them, and a route from each to each.

use ::myrinet::{check_routes, Deadlock, End, Topology};
use abi::myrinet::ROUTE_SIZE;

/// The cables of a machine. Cards are the processes 0 to `nodes` - 1 of a run, switches those behind.
pub(super) struct Fabric {
    nodes: u32,
    switches: u32,
    topology: Topology,
}

/// End of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    pub process: u32,
    pub port: u8,
}

/// Cables that do not do.
#[derive(Debug, thiserror::Error)]
pub(super) enum FabricError {
    #[error(
        "{nodes} nodes are too many: a route leads over {ROUTE_SIZE} switches at most, and as many \
         of {ports} ports (myrinet.ports) in a row join {most} nodes"
    )]
    TooMany { nodes: u32, ports: u32, most: u32 },
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
}

impl Fabric {
    /// One switch of `ports` ports if that is enough, or a row of them; the last two ports of each in a row
    /// lead to its neighbours.
    pub fn new(nodes: u32, ports: u32) -> Result<Fabric, FabricError> {
        let each = if nodes <= ports { ports } else { ports - 2 };
        let switches = nodes.div_ceil(each).max(1);
        if switches > ROUTE_SIZE {
            return Err(FabricError::TooMany { nodes, ports, most: each * ROUTE_SIZE });
        }
        let mut topology = Topology::new();
        for node in 0..nodes as usize {
            let port = End::Port(node / each as usize, node % each as usize);
            topology.connect(End::Card(node), port);
        }
        for next in 1..switches as usize {
            let (up, down) = (ports as usize - 1, ports as usize - 2);
            topology.connect(End::Port(next - 1, up), End::Port(next, down));
        }
        Ok(Fabric { nodes, switches, topology })
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// The routes from `node` to each, itself included. None if there is no way.
    pub fn routes(&self, node: u32) -> Vec<Vec<u8>> {
        let to = |to| self.topology.route(node as usize, to as usize).unwrap_or_default();
        (0..self.nodes).map(to).collect()
    }

    /// Sees to it that no packets can wait for one another in a circle.
    pub fn check(&self) -> Result<(), FabricError> {
        let of = |node| self.routes(node).into_iter().map(move |route| (node as usize, route));
        let all: Vec<(usize, Vec<u8>)> = (0..self.nodes).flat_map(of).collect();
        Ok(check_routes(&self.topology, &all)?)
    }

    /// The other end of the cable at a port of a process; cards have port 0 only.
    pub fn other(&self, process: u32, port: usize) -> Option<Socket> {
        let end = match process.checked_sub(self.nodes) {
            None => End::Card(process as usize),
            Some(switch) => End::Port(switch as usize, port),
        };
        self.topology.other(end).map(|end| match end {
            End::Card(node) => Socket { process: node as u32, port: 0 },
            End::Port(switch, port) => {
                Socket { process: self.nodes + switch as u32, port: port as u8 }
            }
        })
    }

    /// The other ends of all cables of a process, by port.
    pub fn sockets(&self, process: u32, ports: u32) -> Vec<Option<Socket>> {
        let ports = if process < self.nodes { 1 } else { ports };
        (0..ports as usize).map(|port| self.other(process, port)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_switches_as_nodes_need() {
        let switches = |nodes, ports| Fabric::new(nodes, ports).unwrap().switches();
        assert_eq!(switches(2, 8), 1);
        assert_eq!(switches(8, 8), 1);
        assert_eq!(switches(9, 8), 2);
        assert_eq!(switches(16, 8), 3);
        assert_eq!(switches(36, 8), 6);
        let FabricError::TooMany { most, .. } = Fabric::new(37, 8).err().expect("no room") else {
            panic!("it is too many")
        };
        assert_eq!(most, 36);
    }

    #[test]
    fn a_cable_has_two_ends_and_routes_lead_over_the_row() {
        let fabric = Fabric::new(16, 8).unwrap();
        for process in 0..19 {
            for (port, socket) in fabric.sockets(process, 8).into_iter().enumerate() {
                let Some(socket) = socket else { continue };
                let back = fabric.other(socket.process, socket.port.into()).unwrap();
                assert_eq!((back.process, usize::from(back.port)), (process, port));
            }
        }
        let routes = fabric.routes(0);
        assert_eq!([&routes[5], &routes[6], &routes[15]].map(|route| route.len()), [1, 2, 3]);
        fabric.check().unwrap();
    }
}
