//! What the command prints, as data: every section has a form as text and one as JSON.

use crate::columns::columns;
use crate::paint::Paint;
use wengert::prelude::*;
use wengert::view::json;

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

/// The shortest text that reads back as the same number, with an exponent for very large and very small ones.
pub fn number(number: f64) -> String {
    match number.abs() {
        size if size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size) => format!("{number:e}"),
        _ => number.to_string(),
    }
}

/// A number, or the numbers of a vector in brackets.
pub fn value(tensor: &Tensor) -> String {
    let numbers: Vec<String> = tensor.to_f64_vec().into_iter().map(number).collect();
    if tensor.rank() == 0 { numbers.concat() } else { format!("[{}]", numbers.join(", ")) }
}

/// The characters of a longer entry of a table that are shown from its beginning and from its end.
const SHOWN: (usize, usize) = (100, 40);

/// A long entry with its middle left out, between two words: in a table, the others would be padded to its width.
fn shortened(text: String) -> String {
    let length = text.chars().count();
    if length <= SHOWN.0 + SHOWN.1 {
        return text;
    }
    let place = |position: usize| text.char_indices().nth(position).map_or(text.len(), |(place, _)| place);
    let (first, last) = (&text[..place(SHOWN.0)], &text[place(length - SHOWN.1)..]);
    let first = first.rsplit_once(' ').map_or(first, |(first, _)| first);
    let last = last.split_once(' ').map_or(last, |(_, last)| last);
    format!("{first} .. {last}")
}

/// A tensor as JSON: a number, or a list of numbers.
fn written(tensor: &Tensor) -> String {
    let mut numbers = tensor.to_f64_vec().into_iter().map(json::number);
    if tensor.rank() == 0 { numbers.next().unwrap_or_else(|| "null".into()) } else { json::array(numbers) }
}

fn object(entries: &[(String, Tensor)]) -> String {
    let fields: Vec<(&str, String)> = entries.iter().map(|(name, tensor)| (name.as_str(), written(tensor))).collect();
    json::object(&fields)
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
        shortened(match self {
            Cell::Text(text) => text.clone(),
            Cell::Value(tensor) => tensor.as_ref().map_or_else(String::new, value),
            Cell::Pairs { pairs: values, relation, separator } => pairs(values, relation, separator),
        })
    }

    fn json(&self) -> String {
        match self {
            Cell::Text(text) => json::string(text),
            Cell::Value(tensor) => json::optional(tensor, written),
            Cell::Pairs { pairs, .. } => {
                let pair =
                    |(name, tensor): &(String, Tensor)| json::array([json::string(name), written(tensor)].into_iter());
                json::array(pairs.iter().map(pair))
            }
        }
    }
}

impl Body {
    fn is_empty(&self) -> bool {
        match self {
            Body::Table { columns, rows } => rows.is_empty() || columns.len() < 2,
            _ => false,
        }
    }

    fn text(&self, paint: Paint) -> String {
        match self {
            Body::Table { columns: heads, rows } => {
                let cells = rows.iter().map(|row| row.iter().map(Cell::text).collect());
                let table: Vec<Vec<String>> = std::iter::once(heads.clone()).chain(cells).collect();
                columns(2, &table)
            }
            Body::Results { name, value: y, gradient } => {
                let gradient = gradient.iter().flatten().map(|(by, slope)| (format!("d{name}/d{by}"), slope));
                let all = std::iter::once((name.to_string(), y)).chain(gradient);
                let rows: Vec<[String; 2]> = all.map(|(name, tensor)| [name, paint.value(&value(tensor))]).collect();
                // The names are a column of their own, one space before the sign.
                let width = rows.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0);
                rows.iter().map(|[name, number]| format!("  {name:<width$} = {number}\n")).collect()
            }
            Body::Texts(texts) => {
                let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
                texts.iter().map(|(name, text)| format!("  {name}:\n\n{}\n", indented(text))).collect()
            }
            Body::Text(text) => text.lines().map(|line| format!("  {}\n", paint.carets(line))).collect(),
        }
    }

    /// The entries of the report.
    fn json(&self, key: &'static str) -> Vec<(&'static str, String)> {
        let value = match self {
            Body::Table { columns, rows } => {
                // A variable may have that name.
                let own = if columns.iter().any(|column| column == "name") { "row" } else { "name" };
                let names = columns.iter().map(|column| if column.is_empty() { own } else { column.as_str() });
                let row = |row: &Vec<Cell>| {
                    let cells = names.clone().zip(row.iter().map(Cell::json));
                    json::object(&cells.collect::<Vec<_>>())
                };
                json::array(rows.iter().map(row))
            }
            Body::Results { value, gradient, .. } => {
                let gradient = gradient.as_ref().map(|gradient| ("gradient", object(gradient)));
                return std::iter::once(("value", written(value))).chain(gradient).collect();
            }
            Body::Texts(texts) => {
                let text = |(name, text): &(String, String)| {
                    json::object(&[("name", json::string(name)), ("text", json::string(text))])
                };
                json::array(texts.iter().map(text))
            }
            Body::Text(text) => json::string(text),
        };
        vec![(key, value)]
    }
}

impl Report {
    /// For people.
    pub fn text(&self, paint: Paint) -> String {
        let at =
            if self.point.is_empty() { String::new() } else { format!(" at {}", shortened(assigned(&self.point))) };
        let title = paint.heading(&format!("The Wengert list of {} = {}{at}", self.output, self.expression));
        let section = |Section { heading, body, .. }: &Section| match heading.is_empty() {
            _ if body.is_empty() => String::new(),
            true => format!("\n{}", body.text(paint)),
            false => format!("\n{}\n\n{}", paint.heading(heading), body.text(paint)),
        };
        title + "\n" + &self.sections.iter().map(section).collect::<String>()
    }

    /// For programs: one object on one line.
    pub fn json(&self) -> String {
        let mut entries = vec![("expression", json::string(&self.expression)), ("point", object(&self.point))];
        entries.extend(self.sections.iter().flat_map(|section| section.body.json(section.key)));
        format!("{}\n", json::object(&entries))
    }
}
