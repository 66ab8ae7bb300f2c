//! What a picture places as one: a group with its members, or a node outside of groups.

use super::model::{EdgeKind, Graph};

/// The units of a graph.
pub(super) struct Units {
    /// The unit of every node.
    pub of: Vec<usize>,
    /// The members of every unit.
    pub members: Vec<Vec<usize>>,
    /// The group of every unit, unless it is a node.
    pub groups: Vec<Option<usize>>,
}

impl Units {
    pub fn new(graph: &Graph) -> Units {
        let mut units = Units { of: Vec::new(), members: Vec::new(), groups: Vec::new() };
        let mut known: Vec<Option<usize>> = vec![None; graph.groups.len()];
        for (node, group) in graph.nodes.iter().map(|node| node.group).enumerate() {
            let unit = group.and_then(|group| known[group]).unwrap_or(units.members.len());
            if unit == units.members.len() {
                units.members.push(Vec::new());
                units.groups.push(group);
            }
            if let Some(group) = group {
                known[group] = Some(unit);
            }
            units.members[unit].push(node);
            units.of.push(unit);
        }
        units
    }

    /// The edges that lead from one unit to another, except adjoint edges.
    pub fn edges(&self, graph: &Graph) -> Vec<(usize, usize)> {
        let forward = graph.edges.iter().filter(|edge| edge.kind != EdgeKind::Adjoint);
        forward.map(|edge| (self.of[edge.from], self.of[edge.to])).filter(|(from, to)| from != to).collect()
    }
}
