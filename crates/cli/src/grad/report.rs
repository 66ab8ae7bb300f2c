//! What the command prints, as data: every section has a form as text and one as JSON.

use super::json::{Json, number};
use crate::columns::columns;
use wengert::prelude::*;

/// All that is printed.
pub struct Report {
    pub expression: String,
    /// The name of its value.
    pub output: &'static str,
    /// The variables and their values.
    pub point: Vec<(String, Tensor)>,
    pub sections: Vec<Section>,
}

/// A part of the report.
pub struct Section {
    /// Its name in JSON.
    pub key: &'static str,
    /// What is said above it.
    pub heading: String,
    pub body: Body,
}

/// The contents of a section.
pub enum Body {
    /// A table. In JSON it is a list of objects; a column without a heading is called `name`.
    Table { columns: Vec<String>, rows: Vec<Vec<Cell>> },
    /// Named values. In JSON they are entries of the report itself.
    Results { name: &'static str, value: Tensor, gradient: Option<Vec<(String, Tensor)>> },
    /// Texts with headings of their own.
    Texts(Vec<(String, String)>),
    /// A text.
    Text(String),
}

/// An entry of a table.
pub enum Cell {
    Text(String),
    Value(Option<Tensor>),
    /// Names and values, with what stands between them.
    Pairs {
        pairs: Vec<(String, Tensor)>,
        relation: &'static str,
        separator: &'static str,
    },
}

/// A number, or the numbers of a vector in brackets.
pub fn value(tensor: &Tensor) -> String {
    let numbers: Vec<String> = tensor.to_f64_vec().into_iter().map(number).collect();
    if tensor.rank() == 0 { numbers.concat() } else { format!("[{}]", numbers.join(", ")) }
}

fn json(tensor: &Tensor) -> Json {
    let mut numbers = tensor.to_f64_vec().into_iter().map(Json::Number);
    if tensor.rank() == 0 { numbers.next().unwrap_or(Json::Null) } else { Json::List(numbers.collect()) }
}

fn object(entries: &[(String, Tensor)]) -> Json {
    Json::Object(entries.iter().map(|(name, tensor)| (name.clone(), json(tensor))).collect())
}

/// `x1 = 2, x2 = 3`.
pub fn assigned(values: &[(String, Tensor)]) -> String {
    pairs(values, " = ", ", ")
}

fn pairs(values: &[(String, Tensor)], relation: &str, separator: &str) -> String {
    let pair = |(name, tensor): &(String, Tensor)| format!("{name}{relation}{}", value(tensor));
    values.iter().map(pair).collect::<Vec<_>>().join(separator)
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Value(tensor) => tensor.as_ref().map_or_else(String::new, value),
            Cell::Pairs { pairs: values, relation, separator } => pairs(values, relation, separator),
        }
    }

    fn json(&self) -> Json {
        match self {
            Cell::Text(text) => Json::Text(text.clone()),
            Cell::Value(tensor) => tensor.as_ref().map_or(Json::Null, json),
            Cell::Pairs { pairs, .. } => {
                let pair = |(name, tensor): &(String, Tensor)| Json::List(vec![Json::Text(name.clone()), json(tensor)]);
                Json::List(pairs.iter().map(pair).collect())
            }
        }
    }
}

impl Body {
    fn text(&self) -> String {
        match self {
            Body::Table { columns: heads, rows } => {
                let cells = rows.iter().map(|row| row.iter().map(Cell::text).collect());
                let table: Vec<Vec<String>> = std::iter::once(heads.clone()).chain(cells).collect();
                columns(2, &table)
            }
            Body::Results { name, value: y, gradient } => {
                let gradient = gradient.iter().flatten().map(|(by, slope)| (format!("d{name}/d{by}"), slope));
                let all = std::iter::once((name.to_string(), y)).chain(gradient);
                let rows: Vec<[String; 2]> = all.map(|(name, tensor)| [name, format!("= {}", value(tensor))]).collect();
                // The names are a column of their own, one space before the sign.
                let width = rows.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0);
                rows.iter().map(|[name, number]| format!("  {name:<width$} {number}\n")).collect()
            }
            Body::Texts(texts) => {
                let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
                texts.iter().map(|(name, text)| format!("  {name}:\n\n{}\n", indented(text))).collect()
            }
            Body::Text(text) => text.lines().map(|line| format!("  {line}\n")).collect(),
        }
    }

    /// The entries of the report.
    fn json(&self, key: &str) -> Vec<(String, Json)> {
        let value = match self {
            Body::Table { columns, rows } => {
                let name = |column: &String| if column.is_empty() { "name".to_string() } else { column.clone() };
                let entry = |(column, cell): (&String, &Cell)| (name(column), cell.json());
                let row = |row: &Vec<Cell>| Json::Object(columns.iter().zip(row).map(entry).collect());
                Json::List(rows.iter().map(row).collect())
            }
            Body::Results { value, gradient, .. } => {
                let gradient = gradient.as_ref().map(|gradient| ("gradient".to_string(), object(gradient)));
                return std::iter::once(("value".to_string(), json(value))).chain(gradient).collect();
            }
            Body::Texts(texts) => {
                let text = |(name, text): &(String, String)| {
                    let entries = [("name", name), ("text", text)];
                    Json::Object(entries.map(|(key, text)| (key.to_string(), Json::Text(text.clone()))).into())
                };
                Json::List(texts.iter().map(text).collect())
            }
            Body::Text(text) => Json::Text(text.clone()),
        };
        vec![(key.to_string(), value)]
    }
}

impl Report {
    /// For people.
    pub fn text(&self) -> String {
        let at = if self.point.is_empty() { String::new() } else { format!(" at {}", assigned(&self.point)) };
        let title = format!("The Wengert list of {} = {}{at}\n", self.output, self.expression);
        let is_empty = |body: &Body| matches!(body, Body::Table { rows, .. } if rows.is_empty());
        let section = |Section { heading, body, .. }: &Section| match heading.is_empty() {
            _ if is_empty(body) => String::new(),
            true => format!("\n{}", body.text()),
            false => format!("\n{heading}\n\n{}", body.text()),
        };
        title + &self.sections.iter().map(section).collect::<String>()
    }

    /// For programs: one object on one line.
    pub fn json(&self) -> String {
        let mut entries = vec![
            ("expression".to_string(), Json::Text(self.expression.clone())),
            ("point".to_string(), object(&self.point)),
        ];
        entries.extend(self.sections.iter().flat_map(|section| section.body.json(section.key)));
        format!("{}\n", Json::Object(entries))
    }
}
