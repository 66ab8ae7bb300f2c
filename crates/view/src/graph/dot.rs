//! Graphs in the language of Graphviz.

use super::card::{Card, Role};
use super::model::{Edge, EdgeKind, Graph, Node};
use super::style::{ADJOINT, FORWARD, QUIET, Style};
use crate::xml::escaped;

impl Graph {
    /// Writes the graph in the language of Graphviz. Groups are clusters, and a kernel of a group is the title of its cluster. Any text of
    /// the user's is inert.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let dot = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin())).titled("\"sin\"").dot();
    /// assert!(dot.starts_with("digraph wengert {") && dot.contains("n0 -> n1"));
    /// assert!(dot.contains("label=\"&quot;sin&quot;\\l"));
    /// ```
    pub fn dot(&self) -> String {
        let cards = self.cards();
        let head = [&self.title].into_iter().chain(&self.notes).filter(|line| !line.is_empty());
        let head: String = head.map(|line| quoted(line) + "\\l").collect();
        let mut dot = format!(
            "digraph wengert {{\n  graph [label=\"{head}\", labelloc=t, labeljust=l, compound=true, fontname=\"Courier\"];\n  \
             node [shape=box, style=\"rounded,filled\", fontname=\"Courier\"];\n  \
             edge [color=\"{FORWARD}\", fontname=\"Courier\", fontsize=11];\n"
        );
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.groups.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            match node.group {
                Some(group) => members[group].push(place),
                None => dot += &written(place, node, &cards[place], "  "),
            }
        }
        for (number, (group, members)) in self.groups.iter().zip(&members).enumerate() {
            let Style { fill, stroke, is_dashed } = Style::of_group(group);
            let dashes = if is_dashed { ",dashed" } else { "" };
            let style = format!("style=\"rounded,filled{dashes}\", fillcolor=\"{fill}\", color=\"{stroke}\"");
            dot +=
                &format!("  subgraph cluster_{number} {{\n    graph [label=\"{}\", {style}];\n", quoted(&group.label));
            let drawn = members.iter().filter(|member| Some(**member) != group.head);
            drawn.for_each(|&place| dot += &written(place, &self.nodes[place], &cards[place], "    "));
            dot += "  }\n";
        }
        for edge in &self.edges {
            dot += &self.edge(edge, &members);
        }
        dot + "}\n"
    }

    /// An edge. One that begins or ends at the head of a group is drawn to the border of its cluster.
    fn edge(&self, edge: &Edge, members: &[Vec<usize>]) -> String {
        let mut attributes: Vec<String> = Vec::new();
        let mut end = |place: usize, border: &str| {
            let group = self.nodes[place].group.filter(|group| self.groups[*group].head == Some(place));
            let Some(group) = group else { return place };
            attributes.push(format!("{border}=cluster_{group}"));
            members[group].iter().copied().find(|member| *member != place).unwrap_or(place)
        };
        let (from, to) = (end(edge.from, "ltail"), end(edge.to, "lhead"));
        match edge.kind {
            EdgeKind::Forward if edge.saved => attributes.push("arrowhead=dotnormal".to_string()),
            EdgeKind::Forward => {}
            EdgeKind::Adjoint => {
                let colours = format!("color=\"{ADJOINT}\", fontcolor=\"{ADJOINT}\"");
                attributes.push(format!("{colours}, style=dashed, constraint=false"));
            }
            EdgeKind::Body => attributes.push(format!("color=\"{QUIET}\", style=dotted")),
        }
        let label = edge.label();
        if !label.is_empty() {
            attributes.push(format!("label=\"{}\"", quoted(&label)));
        }
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        format!("  n{from} -> n{to}{attributes};\n")
    }
}

fn written(place: usize, node: &Node, card: &Card, indent: &str) -> String {
    let rows = card.rows.iter().map(|row| match row.role {
        Role::Value => format!("= {}", row.text),
        _ => row.text.clone(),
    });
    let label: Vec<String> = rows.map(|row| quoted(&row)).collect();
    let details: Vec<String> = card.details.iter().map(|line| quoted(line)).collect();
    let style = Style::of(node);
    let dashes = if style.is_dashed { ", style=\"rounded,filled,dashed\"" } else { "" };
    let style = format!("fillcolor=\"{}\", color=\"{}\"{dashes}", style.fill, style.stroke);
    format!("{indent}n{place} [label=\"{}\", tooltip=\"{}\", {style}];\n", label.join("\\n"), details.join("\\n"))
}

/// Text inside quotes. Graphviz replaces entities and what begins with a backslash; it does not know `&apos;`.
fn quoted(text: &str) -> String {
    escaped(text).replace("&apos;", "'").replace('\\', "\\\\")
}
