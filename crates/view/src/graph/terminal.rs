//! Graphs as text: a row for each node, with lines from its operands beside it.

use super::card::{Card, Role};
use super::layout::Downward;
use super::model::{Graph, NodeKind};
use super::units::Units;
use crate::terminal::fitted;

/// The smallest and the largest width of the text.
const WIDTHS: (usize, usize) = (24, 500);
/// The share of the width that lines may take.
const LANES_SHARE: f64 = 0.17;
const COLUMNS: [Role; 5] = [Role::Heading, Role::Detail, Role::Value, Role::Adjoint, Role::Saved];
/// The share of the width that each column may take.
const COLUMN_SHARES: [f64; COLUMNS.len()] = [0.4, 0.25, 0.25, 0.3, 0.25];

/// A row before its columns are as wide as their widest text.
struct Row {
    lanes: String,
    cells: [String; COLUMNS.len()],
}

impl Graph {
    /// Draws the graph as text of at most `width` columns: a row for each node, oldest first, and lines that connect it with the nodes that
    /// it reads. A line ends at the last node that reads it. The equations of a kernel stand below it. Where the lines would take more than
    /// a sixth of the width, some are left out.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::program;
    ///
    /// let f = |(a, b): &(Tensor, Tensor)| a * b + a.sin();
    /// let picture = program(&compile(f).program(&(Tensor::from(2.0), Tensor::from(3.0)))).terminal(60);
    /// let expected = "\
    /// Program of 3 equations
    ///
    /// ○    a             f64[]
    /// │ ○  b             f64[]
    /// ├─●  c = a · b     f64[]
    /// ● │  d = sin(a)    f64[]
    /// ●─╯  e = c + d     f64[]
    /// ◆    output 0 = e  f64[]
    /// ";
    /// assert_eq!(picture, expected);
    /// ```
    pub fn terminal(&self, width: usize) -> String {
        let width = width.clamp(WIDTHS.0, WIDTHS.1);
        let mut lines: Vec<String> = wrapped(&self.title, width);
        lines.extend(self.notes.iter().flat_map(|note| wrapped(note, width)));
        lines.push(String::new());
        let share = |share: f64| (width as f64 * share) as usize;
        let rows = self.rows_of_text(share(LANES_SHARE));
        let count = |text: &String| text.chars().count();
        let lanes = rows.iter().map(|row| count(&row.lanes)).max().unwrap_or(0);
        let column = |column: usize| rows.iter().map(|row| count(&row.cells[column])).max().unwrap_or(0);
        let columns: [usize; COLUMNS.len()] =
            std::array::from_fn(|number| column(number).min(share(COLUMN_SHARES[number])));
        lines.extend(rows.iter().map(|row| self.line(row, lanes, &columns, width)));
        lines.iter().map(|line| line.trim_end().to_string() + "\n").collect()
    }

    fn rows_of_text(&self, most: usize) -> Vec<Row> {
        let (cards, units) = (self.cards(), Units::new(self));
        let edges = units.edges(self);
        let order = Downward::new(units.members.len(), &edges).order;
        let mut lanes = Lanes::new(&order, &edges, most);
        let mut rows = Vec::new();
        for unit in order {
            let members = &units.members[unit];
            let Some(group) = units.groups[unit] else {
                let node = members[0];
                let drawn = lanes.node(unit, marker(self.nodes[node].kind));
                rows.push(Row { lanes: drawn, cells: cells(&cards[node]) });
                continue;
            };
            let group = &self.groups[group];
            let mut title: [String; COLUMNS.len()] =
                group.head.map_or_else(Default::default, |head| cells(&cards[head]));
            title[0] = group.label.clone();
            rows.push(Row { lanes: lanes.node(unit, '■'), cells: title });
            for member in members.iter().filter(|member| Some(**member) != group.head) {
                let mut cells = cells(&cards[*member]);
                cells[0] = format!("  {}", cells[0]);
                rows.push(Row { lanes: lanes.beside(), cells });
            }
        }
        rows
    }

    /// A row with its columns, in colour if wanted.
    fn line(&self, row: &Row, lanes: usize, columns: &[usize], width: usize) -> String {
        let mut line = format!("{:<lanes$}", row.lanes);
        let mut used = lanes;
        for ((cell, column), role) in row.cells.iter().zip(columns).zip(COLUMNS) {
            let room = width.saturating_sub(used + 2).min(*column);
            if room == 0 {
                continue;
            }
            let text = fitted(cell, room);
            let blank = " ".repeat(room - text.chars().count());
            let colour = match role {
                Role::Heading => "1",
                Role::Detail => "2",
                Role::Value => "34",
                Role::Adjoint => "31",
                Role::Saved => "35",
            };
            line += "  ";
            line += &match self.coloured && !text.is_empty() {
                true => format!("\x1b[{colour}m{text}\x1b[0m"),
                false => text,
            };
            line += &blank;
            used += 2 + room;
        }
        line
    }
}

fn cells(card: &Card) -> [String; COLUMNS.len()] {
    COLUMNS.map(|role| match (role, card.brief(role)) {
        (Role::Value, text) if !text.is_empty() => format!("= {text}"),
        (_, text) => text.to_string(),
    })
}

fn marker(kind: NodeKind) -> char {
    match kind {
        NodeKind::Leaf => '○',
        NodeKind::Constant => '◇',
        NodeKind::Operation => '●',
        NodeKind::Output => '◆',
        NodeKind::Kernel => '■',
        NodeKind::Collapsed => '▣',
    }
}

/// The values that later rows read, each in a lane of its own. There are only so many lanes: a value without one has no lines.
struct Lanes {
    lanes: Vec<Option<usize>>,
    most: usize,
    /// By unit: those that it reads, and the number of units that still read it.
    sources: Vec<Vec<usize>>,
    readers: Vec<usize>,
}

impl Lanes {
    /// Lanes in at most `width` columns, for units in some order.
    fn new(order: &[usize], edges: &[(usize, usize)], width: usize) -> Lanes {
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, unit)| position[*unit] = place);
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        // An edge of a loop leads to an earlier row.
        let downward = edges.iter().filter(|(from, to)| position[*from] < position[*to]);
        downward.for_each(|(from, to)| sources[*to].push(*from));
        let mut readers = vec![0; order.len()];
        for sources in &mut sources {
            sources.sort_unstable();
            sources.dedup();
            sources.iter().for_each(|source| readers[*source] += 1);
        }
        Lanes { lanes: Vec::new(), most: width.div_ceil(2) - 1, sources, readers }
    }

    /// The lanes beside the row of a unit, with lines from what it reads to its own lane.
    fn node(&mut self, unit: usize, marker: char) -> String {
        let sources = std::mem::take(&mut self.sources[unit]);
        sources.iter().for_each(|source| self.readers[*source] -= 1);
        let is_source = |lane: &Option<usize>| lane.is_some_and(|held| sources.binary_search(&held).is_ok());
        let ends = |lane: &Option<usize>| is_source(lane) && lane.is_some_and(|held| self.readers[held] == 0);
        let own = (self.lanes.iter().position(ends))
            .or_else(|| self.lanes.iter().position(Option::is_none))
            .unwrap_or(self.lanes.len());
        let read = self.lanes.iter().enumerate().filter(|(_, lane)| is_source(lane)).map(|(place, _)| place);
        let (first, last) = read.fold((own, own), |(first, last), place| (first.min(place), last.max(place)));
        let mut drawn = String::new();
        for place in 0..self.lanes.len().max(own + 1) {
            let lane = self.lanes.get(place).unwrap_or(&None);
            drawn.push(match (is_source(lane), ends(lane)) {
                _ if place == own => marker,
                (true, false) if place == first => '├',
                (true, false) if place == last => '┤',
                (true, false) => '┼',
                (true, true) if place == first => '╰',
                (true, true) if place == last => '╯',
                (true, true) => '┴',
                _ if lane.is_some() => '│',
                _ if (first..last).contains(&place) => '─',
                _ => ' ',
            });
            drawn.push(if (first..last).contains(&place) { '─' } else { ' ' });
        }
        let finished: Vec<bool> = self.lanes.iter().map(ends).collect();
        self.lanes.iter_mut().zip(finished).filter(|(_, is_finished)| *is_finished).for_each(|(lane, _)| *lane = None);
        if own == self.lanes.len() && own < self.most {
            self.lanes.push(None);
        }
        if let Some(lane) = self.lanes.get_mut(own) {
            *lane = (self.readers[unit] > 0).then_some(unit);
        }
        while self.lanes.pop_if(|lane| lane.is_none()).is_some() {}
        drawn.trim_end().to_string()
    }

    /// The lanes beside a row without one.
    fn beside(&self) -> String {
        self.lanes
            .iter()
            .map(|lane| if lane.is_some() { "│ " } else { "  " })
            .collect::<String>()
            .trim_end()
            .to_string()
    }
}

/// Text in lines of at most `width` characters, broken at spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = fitted(word, width);
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word),
        }
    }
    lines
}
