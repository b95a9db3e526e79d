//! Neighbours of nodes, and routes of packets.

use std::fmt;
use std::str::FromStr;

/// Links of a router at most: two a dimension.
pub const LINKS: usize = 6;

/// Their names, by [`Link::index`].
pub const LINK_NAMES: [&str; LINKS] = ["x-", "x+", "y-", "y+", "z-", "z+"];

/// An output towards a neighbour: dimension (0 = x) and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// 0, 1, 2 for x, y, z.
    pub dimension: usize,
    /// True towards greater coordinates.
    pub up: bool,
}

impl Link {
    /// A number below [`LINKS`].
    pub fn index(self) -> usize {
        2 * self.dimension + usize::from(self.up)
    }
    /// The link with that number.
    pub fn from_index(index: usize) -> Link {
        assert!(index < LINKS, "a router has {LINKS} links");
        Link { dimension: index / 2, up: index % 2 == 1 }
    }
}

/// A row, mesh or torus of nodes; node `x + X * (y + Y * z)` is at `(x, y, z)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    dims: [u32; 3],
    torus: bool,
}

/// A user's description of a topology that makes no sense, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A dimension has no nodes.
    #[error("a topology needs at least one node a dimension")]
    Empty,
    /// It has more nodes than ids.
    #[error(
        "a topology of {}x{}x{} has more than the {NODES_MAX} nodes that an id can name",
        .0[0], .0[1], .0[2]
    )]
    TooLarge([u32; 3]),
    /// A text says none.
    #[error("'{0}' is no topology: write the nodes a dimension, as in 4x2x1 or 'torus 4x4x4'")]
    Unknown(String),
}

/// Nodes that a 16-bit node id can name.
const NODES_MAX: u64 = 1 << 16;

impl Topology {
    /// A mesh, without links around its edges.
    pub fn mesh(dims: [u32; 3]) -> Result<Topology, TopologyError> {
        Topology::new(dims, false)
    }
    /// A torus: a mesh whose edges are linked.
    pub fn torus(dims: [u32; 3]) -> Result<Topology, TopologyError> {
        Topology::new(dims, true)
    }
    fn new(dims: [u32; 3], torus: bool) -> Result<Topology, TopologyError> {
        let nodes = dims.iter().try_fold(1_u64, |n, &dim| n.checked_mul(u64::from(dim)));
        match nodes {
            Some(1..=NODES_MAX) => Ok(Topology { dims, torus }),
            Some(0) => Err(TopologyError::Empty),
            _ => Err(TopologyError::TooLarge(dims)),
        }
    }
    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.dims.iter().product()
    }
    /// Nodes a dimension.
    pub fn dims(&self) -> [u32; 3] {
        self.dims
    }
    /// Coordinates of `node`.
    pub fn coordinates(&self, node: u32) -> [u32; 3] {
        let [x, y, _] = self.dims;
        [node % x, node / x % y, node / x / y]
    }
    /// Node at these coordinates.
    pub fn node_at(&self, at: [u32; 3]) -> u32 {
        at[0] + self.dims[0] * (at[1] + self.dims[1] * at[2])
    }
    /// The node at the other end of a link of `node`, if there is such a link.
    pub fn neighbour(&self, node: u32, link: Link) -> Option<u32> {
        let size = self.dims[link.dimension];
        let mut at = self.coordinates(node);
        let x = &mut at[link.dimension];
        *x = match (link.up, *x) {
            (true, x) if x + 1 < size => x + 1,
            (false, x) if x > 0 => x - 1,
            _ if !self.torus || size == 1 => return None,
            (true, _) => 0,
            (false, _) => size - 1,
        };
        Some(self.node_at(at))
    }
    /// Steps and direction in one dimension; a torus takes the shorter way, and upwards if both are
    /// equal.
    fn steps(&self, dimension: usize, from: u32, to: u32) -> (u32, bool) {
        if !self.torus {
            return (from.abs_diff(to), to > from);
        }
        let size = self.dims[dimension];
        let up = (to + size - from) % size;
        if up <= size - up {
            (up, true)
        } else {
            (size - up, false)
        }
    }
    /// The link that a packet takes next on its dimension-ordered way; `None` where it has arrived.
    pub fn next_link(&self, from: [u32; 3], to: [u32; 3]) -> Option<Link> {
        let dimension = (0..3).find(|&d| from[d] != to[d])?;
        let (_, up) = self.steps(dimension, from[dimension], to[dimension]);
        Some(Link { dimension, up })
    }
    /// True if edges are linked.
    pub fn is_torus(&self) -> bool {
        self.torus
    }
    /// True if a packet from `source` that is at `at` and takes `link` crosses the edge of the torus with
    /// it or has crossed it before, in this dimension. A route goes around less than once, so the coordinate
    /// itself tells.
    pub fn behind_dateline(&self, source: [u32; 3], at: [u32; 3], link: Link) -> bool {
        let (from, here) = (source[link.dimension], at[link.dimension]);
        if link.up {
            here < from || here + 1 == self.dims[link.dimension]
        } else {
            here > from || here == 0
        }
    }
    /// Links between the two nodes that are farthest apart.
    pub fn longest_way(&self) -> u32 {
        self.dims.iter().map(|&dim| if self.torus { dim / 2 } else { dim - 1 }).sum()
    }
    /// Links between two nodes.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (self.coordinates(from), self.coordinates(to));
        (0..3).map(|d| self.steps(d, from[d], to[d]).0).sum()
    }
}

/// `4`, `4x2`, `4x2x1`, `mesh 4x2x1` or `torus 4x4x4`.
impl FromStr for Topology {
    type Err = TopologyError;
    fn from_str(text: &str) -> Result<Topology, TopologyError> {
        let wrong = || TopologyError::Unknown(text.to_owned());
        let (torus, dims_text) = match text.trim().split_once(char::is_whitespace) {
            None => (false, text.trim()),
            Some(("mesh", rest)) => (false, rest.trim()),
            Some(("torus", rest)) => (true, rest.trim()),
            Some(_) => return Err(wrong()),
        };
        let mut dims = [1; 3];
        for (i, part) in dims_text.split('x').enumerate() {
            *dims.get_mut(i).ok_or_else(wrong)? = part.parse().map_err(|_| wrong())?;
        }
        Topology::new(dims, torus)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.torus { "torus" } else { "mesh" };
        write!(f, "{kind} {}x{}x{}", self.dims[0], self.dims[1], self.dims[2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_parse_and_print() {
        for (text, printed) in
            [("4", "mesh 4x1x1"), ("4x2", "mesh 4x2x1"), ("torus 4x4x2", "torus 4x4x2")]
        {
            assert_eq!(text.parse::<Topology>().unwrap().to_string(), printed);
        }
        for text in ["", "x", "4x", "4x2x1x1", "ring 4", "-1"] {
            let error = text.parse::<Topology>().unwrap_err();
            let sentence = format!(
                "'{text}' is no topology: write the nodes a dimension, as in 4x2x1 or 'torus 4x4x4'"
            );
            assert_eq!(error.to_string(), sentence);
        }
        for (text, sentence) in [
            ("0x2", "a topology needs at least one node a dimension"),
            ("70000", "a topology of 70000x1x1 has more than the 65536 nodes that an id can name"),
            (
                "4000000000x4000000000",
                "a topology of 4000000000x4000000000x1 has more than the 65536 nodes that an id \
                 can name",
            ),
        ] {
            assert_eq!(text.parse::<Topology>().unwrap_err().to_string(), sentence);
        }
    }

    #[test]
    fn links_lead_there_and_back() {
        for topology in ["5", "3x4x2", "torus 4x3x2", "torus 1x5x1"] {
            let topology: Topology = topology.parse().unwrap();
            for node in 0..topology.nodes() {
                assert_eq!(topology.node_at(topology.coordinates(node)), node);
                for link in (0..LINKS).map(Link::from_index) {
                    let Some(there) = topology.neighbour(node, link) else { continue };
                    let back = Link { up: !link.up, ..link };
                    assert_eq!(topology.neighbour(there, back), Some(node), "{topology} {node}");
                }
            }
        }
    }

    #[test]
    fn routes_are_as_long_as_the_distance_and_turn_only_from_x_to_y_to_z() {
        for topology in ["6", "3x4x2", "torus 5x4x3", "torus 2x2x2"] {
            let topology: Topology = topology.parse().unwrap();
            for from in 0..topology.nodes() {
                for to in 0..topology.nodes() {
                    let (mut at, mut hops, mut dimension) = (from, 0, 0);
                    let mut crossed = [false; 3];
                    while let Some(link) =
                        topology.next_link(topology.coordinates(at), topology.coordinates(to))
                    {
                        assert!(link.dimension >= dimension);
                        dimension = link.dimension;
                        let queued = topology.coordinates(at);
                        at = topology.neighbour(at, link).expect("routes follow links");
                        let here = topology.coordinates(at);
                        let source = topology.coordinates(from);
                        if topology.is_torus() {
                            let behind = topology.behind_dateline(source, queued, link);
                            let crosses = here[dimension].abs_diff(queued[dimension]) > 1
                                || (topology.dims()[dimension] == 2
                                    && link.up != (here[dimension] > queued[dimension]));
                            crossed[dimension] |= crosses;
                            assert_eq!(behind, crossed[dimension]);
                        }
                        hops += 1;
                    }
                    assert_eq!((at, hops), (to, topology.hops(from, to)), "{topology}");
                }
            }
        }
    }
}
