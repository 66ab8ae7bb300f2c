//! What a picture says about a node.

use super::formula::name;
use super::model::{Edge, EdgeKind, Graph, Node, NodeKind, Saved};
use super::numbers::{bytes, counted, short};
use super::summary::Summary;

/// The number of contributions that are written as a sum.
const MOST_TERMS: usize = 3;

/// What a row of text is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Heading,
    /// A shape, or what a node does.
    Detail,
    Value,
    Adjoint,
    Saved,
}

/// A row of text, and the same in fewer characters.
pub(super) struct Row {
    pub role: Role,
    pub text: String,
    pub brief: String,
}

/// The text of a node.
pub(super) struct Card {
    pub rows: Vec<Row>,
    /// Everything that is known.
    pub details: Vec<String>,
}

impl Card {
    /// The short text about something, if there is any.
    pub fn brief(&self, role: Role) -> &str {
        self.rows.iter().find(|row| row.role == role).map_or("", |row| &row.brief)
    }
}

impl Graph {
    /// The text of every node.
    pub(super) fn cards(&self) -> Vec<Card> {
        let mut terms: Vec<Vec<&Summary>> = vec![Vec::new(); self.nodes.len()];
        for edge in self.edges.iter().filter(|edge| edge.kind == EdgeKind::Adjoint) {
            terms[edge.to].extend(&edge.contribution);
        }
        let fan_out = self.fan_out();
        let card = |(place, node): (usize, &Node)| Card {
            rows: self.rows(node, &terms[place]),
            details: self.details(node, &terms[place], fan_out[place]),
        };
        self.nodes.iter().enumerate().map(card).collect()
    }

    fn rows(&self, node: &Node, terms: &[&Summary]) -> Vec<Row> {
        let detail = match (&node.value, node.kind) {
            (Some(value), _) if value.elements.is_some() => "",
            (_, NodeKind::Collapsed) => node.operation.as_str(),
            _ => node.shape.as_str(),
        };
        let (heading, detail, keeps) = (node.label.clone(), detail.to_string(), self.keeps(node));
        let time = node.milliseconds.map(|time| format!("{} ms", short(time)));
        let plain = |role: Role, text: String| Row { role, brief: text.clone(), text };
        let mut rows = vec![plain(Role::Heading, heading), plain(Role::Detail, detail)];
        rows.extend(node.value.as_ref().map(|value| Row {
            role: Role::Value,
            text: value.to_string(),
            brief: value.brief(),
        }));
        rows.extend(node.adjoint.as_ref().map(|adjoint| Row {
            role: Role::Adjoint,
            text: format!("adjoint {}", sum(adjoint, terms).unwrap_or_else(|| adjoint.to_string())),
            brief: format!("adjoint {}", sum(adjoint, terms).unwrap_or_else(|| adjoint.brief())),
        }));
        rows.extend(time.map(|time| plain(Role::Value, time)));
        rows.push(plain(Role::Saved, keeps));
        rows.retain(|row| !row.text.is_empty());
        rows
    }

    /// `keeps v1, v2: 16 B`
    fn keeps(&self, node: &Node) -> String {
        let names: Vec<String> = node.saved.iter().map(|saved| self.saved_name(saved)).collect();
        match (names.is_empty(), node.saved_bytes) {
            (true, 0) => String::new(),
            (true, count) => format!("keeps {}", bytes(count)),
            (false, 0) => format!("keeps {}", names.join(", ")),
            (false, count) => format!("keeps {}: {}", names.join(", "), bytes(count)),
        }
    }

    /// The name of a saved value: that of its node, if it has one.
    fn saved_name(&self, saved: &Saved) -> String {
        let Some(node) = saved.node else { return saved.what.clone() };
        let id = &self.nodes[node].id;
        if saved.what.starts_with("shape") { format!("shape of {id}") } else { id.clone() }
    }

    fn details(&self, node: &Node, terms: &[&Summary], fan_out: usize) -> Vec<String> {
        let mut details = vec![node.label.clone()];
        let mut add = |what: &str, text: &str| {
            if !text.is_empty() {
                details.push(format!("{what}{text}"));
            }
        };
        add("operation: ", if node.label.contains(name(&node.operation)) { "" } else { &node.operation });
        add("rule: ", &node.rule);
        add("shape: ", &node.shape);
        let text = |summary: &Option<Summary>| summary.as_ref().map_or_else(String::new, Summary::to_string);
        add("value: ", &text(&node.value));
        add("adjoint: ", &node.adjoint.as_ref().and_then(|adjoint| sum(adjoint, terms)).unwrap_or(text(&node.adjoint)));
        for saved in &node.saved {
            let size = if saved.bytes == 0 { String::new() } else { format!(", {}", bytes(saved.bytes)) };
            let own = saved.value.as_ref().map_or_else(String::new, |value| format!(" = {value}"));
            add("keeps ", &format!("{} ({}){own}{size}", self.saved_name(saved), saved.what));
        }
        if fan_out > 1 {
            add("read ", &format!("{fan_out} times"));
        }
        if let Some(cost) = node.cost.filter(|cost| cost.flops > 0.0 || cost.bytes > 0.0) {
            add("cost: ", &format!("{} operations, {} of memory", short(cost.flops), bytes(cost.bytes as usize)));
        }
        if let Some(time) = node.milliseconds {
            add("time: ", &format!("{} ms", short(time)));
        }
        if node.from_rule {
            add("", "made by a derivative or batching rule");
        }
        if node.members > 1 {
            add("stands for ", &counted(node.members, "node"));
        }
        if let Some(line) = node.line {
            add("at ", &line.to_string());
        }
        details
    }
}

impl Edge {
    /// What stands beside it: the contribution, or which value it is, and for how many edges it stands.
    pub(super) fn label(&self) -> String {
        let contribution = self.contribution.as_ref().map_or_else(String::new, Summary::brief);
        let count = if self.count > 1 { format!("{} edges", self.count) } else { String::new() };
        [contribution, self.name.clone(), count]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// An adjoint as the sum of its contributions, if they are a few numbers: `3 - 0.4161 = 2.584`.
fn sum(adjoint: &Summary, terms: &[&Summary]) -> Option<String> {
    let is_short = (2..=MOST_TERMS).contains(&terms.len()) && adjoint.is_number();
    if !is_short || !terms.iter().all(|term| term.is_number()) {
        return None;
    }
    let join = |sum: String, term: &&Summary| {
        let term = term.to_string();
        match term.strip_prefix('-') {
            _ if sum.is_empty() => term,
            Some(size) => format!("{sum} - {size}"),
            None => format!("{sum} + {term}"),
        }
    };
    Some(format!("{} = {adjoint}", terms.iter().fold(String::new(), join)))
}
