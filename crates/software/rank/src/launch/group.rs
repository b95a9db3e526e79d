//! Ranks that the launcher serves, and their places.

use std::ops::Range;

/// Ranks that the launcher serves: those of all programs that are no servers themselves. They are numbered
/// from 0 on, whatever their numbers in the run are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Numbers in the run, ascending, and the number of the program.
    members: Vec<Member>,
    mapping: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    rank: u32,
    program: u32,
}

impl Group {
    /// The ranks of these programs, on nodes of `per_node` ranks each.
    pub fn new(programs: &[Range<u32>], per_node: u32) -> Group {
        let of = |(program, ranks): (u32, &Range<u32>)| {
            ranks.clone().map(move |rank| Member { rank, program })
        };
        let members: Vec<_> = (0..).zip(programs).flat_map(of).collect();
        let mapping = mapping(&members, per_node.max(1));
        Group { members, mapping }
    }

    pub fn size(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// The number here of a rank of the run.
    pub fn number_of(&self, rank: u32) -> Option<u32> {
        let at = self.members.binary_search_by_key(&rank, |member| member.rank).ok()?;
        u32::try_from(at).ok()
    }

    /// The number in the run of one from here.
    pub fn rank_of(&self, number: u32) -> Option<u32> {
        Some(self.members.get(number as usize)?.rank)
    }

    pub fn program_of(&self, number: u32) -> Option<u32> {
        Some(self.members.get(number as usize)?.program)
    }

    /// Nodes of the members, as PMI writes it: blocks of first node, nodes, and ranks on each. Nodes without
    /// a member do not count.
    pub fn mapping(&self) -> &str {
        &self.mapping
    }
}

fn mapping(members: &[Member], per_node: u32) -> String {
    struct Block {
        first: u32,
        nodes: u32,
        ranks: u32,
    }
    let mut blocks: Vec<Block> = Vec::new();
    let of_nodes = members.chunk_by(|a, b| a.rank / per_node == b.rank / per_node);
    for (node, members) in (0..).zip(of_nodes) {
        let ranks = u32::try_from(members.len()).unwrap_or(u32::MAX);
        match blocks.last_mut() {
            Some(last) if last.ranks == ranks => last.nodes += 1,
            _ => blocks.push(Block { first: node, nodes: 1, ranks }),
        }
    }
    let text = |Block { first, nodes, ranks }: &Block| format!(",({first},{nodes},{ranks})");
    format!("(vector{})", blocks.iter().map(text).collect::<String>())
}
