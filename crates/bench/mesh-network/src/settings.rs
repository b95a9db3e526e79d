//! The network's parameters, and what follows from them for a run.

use des::{Duration, Links};
use machine::parameters::{Parameters, Row};
use machine::placement::Placement;
use machine::rows;
use mesh::{Link, Topology, TopologyError, LINKS};

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

/// Parameters that make no network, or too small a one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum NetworkError {
    /// A row has other dimensions than its one.
    #[error(
        "net.topology is row, all of whose nodes stand along x, but net.y is {y} and net.z {z}; \
         a mesh or a torus has other dimensions"
    )]
    Row { y: u32, z: u32 },
    /// The dimensions make no topology.
    #[error("net.topology: {0}")]
    Topology(TopologyError),
    /// It has fewer nodes than a run needs.
    #[error(
        "{ranks} ranks need {}, but net.x, net.y and net.z make {x} x {y} x {z} = {}",
        needed(.placement), .dims.iter().product::<u32>(),
        ranks = .placement.ranks, x = .dims[0], y = .dims[1], z = .dims[2]
    )]
    TooSmall { placement: Placement, dims: [u32; 3] },
    /// Packets would wait for ever.
    #[error("net: {0}")]
    Routers(mesh::ParamsError),
}

fn needed(placement: &Placement) -> String {
    match placement.per_node {
        1 => "as many nodes".to_owned(),
        per_node => format!("{} nodes at {per_node} ranks a node", placement.nodes()),
    }
}

/// A network of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Its nodes and links.
    pub topology: Topology,
    /// Costs and capacities of its routers.
    pub routers: mesh::Params,
}

impl Network {
    /// The network that the parameters describe.
    pub fn new(p: &Parameters, placement: Placement) -> Result<Network, NetworkError> {
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
fn topology(p: &Parameters, placement: Placement) -> Result<Topology, NetworkError> {
    let nodes = placement.nodes();
    let Shape { topology: kind, x, y, z } = Shape::of(p);
    if kind == Kind::Row && y.max(z) > 1 {
        return Err(NetworkError::Row { y, z });
    }
    let given = [x, y, z];
    let dims = if given == [0; 3] { fitting(kind, nodes) } else { given.map(|n| n.max(1)) };
    let made = match kind {
        Kind::Torus => Topology::torus(dims),
        Kind::Row | Kind::Mesh => Topology::mesh(dims),
    };
    let topology = made.map_err(NetworkError::Topology)?;
    if topology.nodes() < nodes {
        return Err(NetworkError::TooSmall { placement, dims });
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

fn routers(p: &Parameters) -> Result<mesh::Params, NetworkError> {
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
    params.check().map_err(NetworkError::Routers)?;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let placement = |per_node| Placement { ranks: 12, per_node };
        let queue = mesh::ParamsError::Queue { queue: "input queue", flits: 7 };
        let batch = mesh::ParamsError::CreditBatch { flits: 9 };
        let cases = [
            (
                NetworkError::Row { y: 2, z: 3 },
                "net.topology is row, all of whose nodes stand along x, but net.y is 2 and net.z \
                 3; a mesh or a torus has other dimensions",
            ),
            (
                NetworkError::Topology(TopologyError::Empty),
                "net.topology: a topology needs at least one node a dimension",
            ),
            (
                NetworkError::TooSmall { placement: placement(1), dims: [2, 2, 1] },
                "12 ranks need as many nodes, but net.x, net.y and net.z make 2 x 2 x 1 = 4",
            ),
            (
                NetworkError::TooSmall { placement: placement(2), dims: [2, 2, 1] },
                "12 ranks need 6 nodes at 2 ranks a node, but net.x, net.y and net.z make \
                 2 x 2 x 1 = 4",
            ),
            (
                NetworkError::Routers(queue),
                "net: the input queue of 7 flits holds no whole packet of 10 flits",
            ),
            (
                NetworkError::Routers(batch),
                "net: credits of 9 flits at once leave no room for a packet",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }

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
