//! Graphs as JSON.

use super::model::{Edge, Graph, Group, Node, Saved};
use super::summary::Summary;
use crate::json::{array, number, object, optional, string};
use wengert_engine::{Line, Statistics};

impl Graph {
    /// Everything about the graph as JSON, always in the same order and without spaces. Positions count from 0.
    ///
    /// ```text
    /// title, notes
    /// groups   label, kind (kernel or body), head: the position of a node
    /// nodes    id, kind (leaf, constant, operation, output, kernel or collapsed), label, operation, rule, shape,
    ///          value and adjoint: shape, sizes, elements (of small tensors), elementCount, minimum, maximum, mean, nans, infinities,
    ///          histogram (counts in twelve equal parts of the range), text
    ///          saved: what, node, value, bytes; savedBytes
    ///          line: file, line, column; fromRule, forward and reverse: the order of the two passes,
    ///          flops, bytes, milliseconds, group, members, fanOut
    /// edges    from, to, kind (forward, adjoint or body), operand, name, saved, contribution, count
    /// ```
    ///
    /// What is unknown is `null`. JSON has no numbers that are not finite: they are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. The
    /// characters `<`, `>`, `&` and all outside of ASCII are escaped, so the text can stand inside a script of a page.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let json = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin())).titled("</script>").json();
    /// assert!(json.starts_with(r#"{"title":"\u003c/script\u003e","notes":["#));
    /// assert!(json.contains(r#""edges":[{"from":0,"to":1,"kind":"forward","operand":0,"#));
    /// ```
    pub fn json(&self) -> String {
        let fan_out = self.fan_out();
        let nodes = self.nodes.iter().enumerate().map(|(place, node)| written_node(place, node, fan_out[place]));
        object(&[
            ("title", string(&self.title)),
            ("notes", array(self.notes.iter().map(|note| string(note)))),
            ("groups", array(self.groups.iter().map(written_group))),
            ("nodes", array(nodes)),
            ("edges", array(self.edges.iter().map(written_edge))),
        ])
    }
}

fn written_group(group: &Group) -> String {
    object(&[
        ("label", string(&group.label)),
        ("kind", string(group.kind.name())),
        ("head", optional(&group.head, ToString::to_string)),
    ])
}

fn written_node(place: usize, node: &Node, fan_out: usize) -> String {
    object(&[
        ("id", string(&node.id)),
        ("kind", string(node.kind.name())),
        ("label", string(&node.label)),
        ("operation", string(&node.operation)),
        ("rule", string(&node.rule)),
        ("shape", string(&node.shape)),
        ("value", optional(&node.value, written_summary)),
        ("adjoint", optional(&node.adjoint, written_summary)),
        ("saved", array(node.saved.iter().map(written_saved))),
        ("savedBytes", node.saved_bytes.to_string()),
        ("line", optional(&node.line, written_line)),
        ("fromRule", node.from_rule.to_string()),
        ("forward", place.to_string()),
        ("reverse", optional(&node.reverse, ToString::to_string)),
        ("flops", optional(&node.cost, |cost| number(cost.flops))),
        ("bytes", optional(&node.cost, |cost| number(cost.bytes))),
        ("milliseconds", optional(&node.milliseconds, |time| number(*time))),
        ("group", optional(&node.group, ToString::to_string)),
        ("members", node.members.to_string()),
        ("fanOut", fan_out.to_string()),
    ])
}

fn written_edge(edge: &Edge) -> String {
    object(&[
        ("from", edge.from.to_string()),
        ("to", edge.to.to_string()),
        ("kind", string(edge.kind.name())),
        ("operand", edge.operand.to_string()),
        ("name", string(&edge.name)),
        ("saved", edge.saved.to_string()),
        ("contribution", optional(&edge.contribution, written_summary)),
        ("count", edge.count.to_string()),
    ])
}

fn written_saved(saved: &Saved) -> String {
    object(&[
        ("what", string(&saved.what)),
        ("node", optional(&saved.node, ToString::to_string)),
        ("value", optional(&saved.value, written_summary)),
        ("bytes", saved.bytes.to_string()),
    ])
}

fn written_line(line: &Line) -> String {
    object(&[("file", string(line.file())), ("line", line.line().to_string()), ("column", line.column().to_string())])
}

fn written_summary(summary: &Summary) -> String {
    let found = |value: fn(&Statistics) -> String| optional(&summary.statistics, value);
    object(&[
        ("shape", string(&summary.shape)),
        ("sizes", array(summary.sizes.iter().map(ToString::to_string))),
        ("elements", optional(&summary.elements, |elements| array(elements.iter().map(|element| number(*element))))),
        ("elementCount", found(|found| found.elements.to_string())),
        ("minimum", found(|found| number(found.minimum))),
        ("maximum", found(|found| number(found.maximum))),
        ("mean", found(|found| number(found.mean))),
        ("nans", found(|found| found.nans.to_string())),
        ("infinities", found(|found| found.infinities.to_string())),
        ("histogram", array(summary.histogram.iter().map(ToString::to_string))),
        ("text", string(&summary.to_string())),
    ])
}
