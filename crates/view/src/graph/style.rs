//! Colours: dark ones on light ones, with forward and backward of different brightness.

use super::model::{Group, GroupKind, Node, NodeKind};

pub(super) const INK: &str = "#24292f";
pub(super) const QUIET: &str = "#57606a";
pub(super) const FORWARD: &str = "#1f5fa8";
pub(super) const ADJOINT: &str = "#b3401f";
pub(super) const SAVED: &str = "#6b3fa0";
const GIVEN: &str = "#eaf2fb";
const RESULT: &str = "#2f6f4a";
const KERNEL: &str = "#8a6d1f";

/// The look of a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    pub fill: &'static str,
    pub stroke: &'static str,
    pub is_dashed: bool,
}

impl Style {
    /// The look of a node.
    pub fn of(node: &Node) -> Style {
        let (fill, stroke) = match node.kind {
            _ if node.from_rule => ("#fdf1ec", ADJOINT),
            NodeKind::Leaf => (GIVEN, FORWARD),
            NodeKind::Constant => ("#ffffff", QUIET),
            NodeKind::Operation => ("#f6f8fa", QUIET),
            NodeKind::Output => ("#edf6ef", RESULT),
            NodeKind::Kernel => ("#fbf4e0", KERNEL),
            NodeKind::Collapsed => ("#e9e9ef", INK),
        };
        Style { fill, stroke, is_dashed: node.kind == NodeKind::Constant }
    }

    /// The look of a frame.
    pub fn of_group(group: &Group) -> Style {
        match group.kind {
            GroupKind::Kernel => Style { fill: "#fdfaf1", stroke: KERNEL, is_dashed: false },
            GroupKind::Body => Style { fill: "#fafafc", stroke: QUIET, is_dashed: true },
        }
    }

    /// What a node with this look is.
    pub fn meaning(node: &Node) -> &'static str {
        match node.kind {
            _ if node.from_rule => "made by a rule",
            NodeKind::Leaf => "leaf or input",
            NodeKind::Constant => "constant",
            NodeKind::Operation => "operation",
            NodeKind::Output => "output",
            NodeKind::Kernel => "kernel",
            NodeKind::Collapsed => "several nodes",
        }
    }
}
