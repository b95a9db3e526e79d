//! The network's parameters, and what follows from them for a run.

use des::{Duration, Links};
use machine::parameters::{Parameters, Row};
use machine::placement::Placement;
use machine::rows;
use mesh::{Link, Topology, LINKS};

/// Its parameters, in the order in which they are printed.
pub const ROWS: &[Row] = rows![Shape::ROWS, Routers::ROWS];

machine::parameters! {
    /// The topology; dimensions of 0 are chosen for the nodes of a run.
    pub struct Shape in "net" {
        topology: choice("row" => Kind::Row, "mesh" => Kind::Mesh, "torus" => Kind::Torus) as Kind,
        x: count("0", "65536") as u32,
        y: count("0", "65536") as u32,
        z: count("0", "65536") as u32,
    }
}

/// Kind of topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mesh of one dimension.
    Row,
    /// One of up to three.
    Mesh,
    /// A mesh whose ends are joined.
    Torus,
}

machine::parameters! {
    /// Routers and links.
    pub struct Routers in "net" {
        route: time("0 ns", "1 ms"),
        link_latency: time("1 ns", "1 ms"),
        flit: time("1 ps", "1 ms"),
        port_flit: time("1 ps", "1 ms"),
        input_queue: count("10", "65535") as u32,
        output_queue: count("10", "65535") as u32,
        node_queue: count("10", "65535") as u32,
        credit_batch: count("1", "65535") as u32,
    }
}

machine::parameters! {
    /// Packets that a network interface has room for: it stands among its other parameters.
    pub struct Room in "nic" {
        rx_buffers: count("1", "65536") as u32,
    }
}

/// Hops of the network that the notice of a failure takes to end the run everywhere: more than any window is
/// ahead of others, so that it costs no speed.
const NOTICE_HOPS: u64 = 100;

/// A network of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Its nodes and links.
    pub topology: Topology,
    /// Costs and capacities of its routers.
    pub routers: mesh::Params,
}

impl Network {
    /// The network that the parameters describe. The error is a sentence.
    pub fn new(p: &Parameters, placement: Placement) -> Result<Network, String> {
        Ok(Network { topology: topology(p, placement)?, routers: routers(p)? })
    }

    /// Links between the nodes of a run.
    pub fn links(&self) -> Links {
        let neighbours = |nid| {
            let links = (0..LINKS).map(Link::from_index);
            links.filter_map(move |link| self.topology.neighbour(nid, link))
        };
        Links::new(self.routers.lookahead(), self.topology.nodes(), neighbours)
    }

    /// Time after a failure at which the run ends everywhere.
    pub fn notice(&self) -> Duration {
        self.routers.lookahead() * NOTICE_HOPS
    }

    /// No window of a run in which nothing moves is longer: within it a message could have come from
    /// anywhere, and its answer have gone there.
    pub fn window(&self) -> Duration {
        self.routers.lookahead() * u64::from(self.topology.longest_way().max(1)) * 2
    }
}

/// The topology that the machine names, with given dimensions, or the smallest that is nearest to a cube.
fn topology(p: &Parameters, placement: Placement) -> Result<Topology, String> {
    let Placement { ranks, per_node } = placement;
    let nodes = placement.nodes();
    let Shape { topology: kind, x, y, z } = Shape::of(p);
    if kind == Kind::Row && y.max(z) > 1 {
        return Err(format!(
            "net.topology is row, all of whose nodes stand along x, but net.y is {y} and net.z \
             {z}; a mesh or a torus has other dimensions"
        ));
    }
    let given = [x, y, z];
    let dims = if given == [0; 3] { fitting(kind, nodes) } else { given.map(|n| n.max(1)) };
    let made = match kind {
        Kind::Torus => Topology::torus(dims),
        Kind::Row | Kind::Mesh => Topology::mesh(dims),
    };
    let topology = made.map_err(|error| format!("net.topology: {error}"))?;
    if topology.nodes() < nodes {
        let [x, y, z] = dims;
        let need = if per_node == 1 {
            "as many nodes".to_string()
        } else {
            format!("{nodes} nodes at {per_node} ranks a node")
        };
        return Err(format!(
            "{ranks} ranks need {need}, but net.x, net.y and net.z make {x} x {y} x {z} = {}",
            topology.nodes()
        ));
    }
    Ok(topology)
}

/// Dimensions for `nodes` nodes: all in a row, or of all boxes with room the smallest, of those the most
/// cubic.
fn fitting(kind: Kind, nodes: u32) -> [u32; 3] {
    let nodes = nodes.max(1);
    if kind == Kind::Row {
        return [nodes, 1, 1];
    }
    let mut best = [nodes, 1, 1];
    let cost = |[x, y, z]: [u32; 3]| (x * y * z, x + y + z);
    for z in (1..).take_while(|z| z * z * z <= nodes) {
        for y in (z..).take_while(|y| y * y * z <= nodes) {
            let candidate = [nodes.div_ceil(y * z), y, z];
            if cost(candidate) < cost(best) {
                best = candidate;
            }
        }
    }
    best
}

fn routers(p: &Parameters) -> Result<mesh::Params, String> {
    let own = Routers::of(p);
    let params = mesh::Params {
        route: own.route,
        link_latency: own.link_latency,
        flit: own.flit,
        port_flit: own.port_flit,
        input_queue: own.input_queue,
        output_queue: own.output_queue,
        node_queue: own.node_queue,
        node_room: Room::of(p).rx_buffers,
        credit_batch: own.credit_batch,
    };
    params.usage_error().map_or(Ok(params), |why| Err(format!("net: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_the_smallest_and_then_the_most_cubic() {
        let cases = [(1, [1, 1, 1]), (2, [2, 1, 1]), (8, [2, 2, 2]), (64, [4, 4, 4])];
        for (ranks, dims) in cases {
            assert_eq!(fitting(Kind::Mesh, ranks), dims);
        }
        for ranks in 1..200 {
            let [x, y, z] = fitting(Kind::Mesh, ranks);
            assert!(x * y * z >= ranks && x >= y && y >= z, "{ranks}: {x} x {y} x {z}");
            assert_eq!(fitting(Kind::Row, ranks), [ranks, 1, 1]);
        }
    }
}
