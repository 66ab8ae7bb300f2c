//! Tables of numbers as text.

use crate::files::limit::{self, expect_within, refused};
use crate::prelude::*;
use std::borrow::Cow;
use std::path::Path;

/// More columns than a table of numbers has: a row is held as fields, which take more memory than their text.
const MOST_COLUMNS: usize = 1 << 20;

/// A table of numbers, read from comma-separated values.
///
/// Fields may be in double quotes, blank lines are skipped, and spaces around a number do not count. A field that is not a number and a row
/// of another length are errors that name the line and the column.
///
/// ```
/// use wengert::nn::data::Csv;
/// use wengert::prelude::*;
/// let csv = Csv::parse("height,weight\n1.8,75\n1.6,\"60\"\n")?;
/// assert_eq!(csv.names.as_deref(), Some(&["height".to_string(), "weight".to_string()][..]));
/// assert_eq!(csv.table, Tensor::from([[1.8, 75.0], [1.6, 60.0]]));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Csv {
    /// The names of the columns, if the file has a header.
    pub names: Option<Vec<String>>,
    /// The numbers: [rows, columns] of dtype f64.
    pub table: Tensor,
}

impl Csv {
    /// Reads all columns of a file. The first row is a header if it has a field that is not a number.
    pub fn read(path: impl AsRef<Path>) -> Result<Csv, Error> {
        Csv::options().read(path)
    }

    /// Reads all columns of a text. The first row is a header if it has a field that is not a number.
    pub fn parse(text: &str) -> Result<Csv, Error> {
        Csv::options().parse(text)
    }

    /// A reader with options.
    ///
    /// ```
    /// use wengert::nn::data::Csv;
    /// use wengert::prelude::*;
    /// let text = "name;price;year\nold;2.5;1990\nnew;7.5;2020\n";
    /// let csv = Csv::options().delimiter(';').columns(["year", "price"]).parse(text)?;
    /// assert_eq!(csv.table, Tensor::from([[1990.0, 2.5], [2020.0, 7.5]]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn options() -> CsvOptions {
        CsvOptions { delimiter: ',', header: Header::Auto, columns: None }
    }
}

/// Whether the first row has names.
///
/// ```
/// use wengert::nn::data::{Csv, Header};
/// let csv = Csv::options().header(Header::Yes).parse("1990,2000\n3,4\n")?;
/// assert_eq!(csv.names.unwrap(), ["1990", "2000"]);
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It has if columns are chosen by name, or if one of its fields (of those chosen by position) is not a number.
    #[default]
    Auto,
    /// It has.
    Yes,
    /// It has numbers.
    No,
}

/// A column of a table: names and positions are columns.
///
/// ```
/// use wengert::nn::data::{Column, Csv};
/// use wengert::prelude::*;
/// let csv = Csv::options().columns([Column::from("c"), Column::from(0)]).parse("a,b,c\n1,2,3\n")?;
/// assert_eq!(csv.table, Tensor::from([[3.0, 1.0]]));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header.
    Name(String),
    /// By its position, from 0.
    Index(usize),
}

impl From<&str> for Column {
    fn from(name: &str) -> Column {
        Column::Name(name.to_string())
    }
}

impl From<String> for Column {
    fn from(name: String) -> Column {
        Column::Name(name)
    }
}

impl From<usize> for Column {
    fn from(index: usize) -> Column {
        Column::Index(index)
    }
}

/// How a table is read; see [`Csv::options`].
#[derive(Clone, Debug)]
pub struct CsvOptions {
    delimiter: char,
    header: Header,
    columns: Option<Vec<Column>>,
}

impl CsvOptions {
    /// What separates fields: `,` if nothing is said.
    #[must_use]
    pub fn delimiter(self, delimiter: char) -> CsvOptions {
        CsvOptions { delimiter, ..self }
    }

    /// Whether the first row has names.
    #[must_use]
    pub fn header(self, header: Header) -> CsvOptions {
        CsvOptions { header, ..self }
    }

    /// These columns only, in this order. Fields of other columns may be anything.
    #[must_use]
    pub fn columns(self, columns: impl IntoIterator<Item = impl Into<Column>>) -> CsvOptions {
        CsvOptions { columns: Some(columns.into_iter().map(Into::into).collect()), ..self }
    }

    /// Reads a file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Csv, Error> {
        limit::parse(path.as_ref(), |bytes| {
            let text = std::str::from_utf8(bytes).map_err(|error| {
                let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                refused(format!("line {line} is not UTF-8"))
            })?;
            self.parse(text)
        })
    }

    /// Reads a text.
    pub fn parse(&self, text: &str) -> Result<Csv, Error> {
        if matches!(self.delimiter, '"' | '\n' | '\r') {
            let message = format!("{:?} cannot separate fields", self.delimiter);
            return Err(Error::new(ErrorKind::Argument, "read", message));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut records = Records { rest: text, line: 1, delimiter: self.delimiter };
        let mut fields = Vec::new();
        let Some(mut line) = records.next(&mut fields)? else {
            return Err(refused("the table is empty"));
        };
        let width = fields.len();
        let has_header = self.has_header(&fields);
        let names: Option<Vec<String>> =
            has_header.then(|| fields.iter().map(|name| name.trim().to_string()).collect());
        let chosen = self.chosen(names.as_deref(), width)?;
        let mut numbers = storage(text, width, chosen.len())?;
        let (mut rows, mut is_header) = (0, has_header);
        loop {
            if fields.len() != width {
                return Err(refused(format!("line {line} has {} fields, the first row has {width}", fields.len())));
            }
            if !std::mem::take(&mut is_header) {
                for column in &chosen {
                    numbers.push(number(&fields[*column]).ok_or_else(|| not_a_number(&fields, line, *column, &names))?);
                }
                rows += 1;
            }
            match records.next(&mut fields)? {
                Some(next) => line = next,
                None => break,
            }
        }
        let names = names.map(|names| chosen.iter().map(|column| names[*column].clone()).collect());
        Ok(Csv { names, table: Tensor::try_from_vec(numbers, [rows, chosen.len()])? })
    }

    fn has_header(&self, first: &[Cow<'_, str>]) -> bool {
        let is_text = |index: usize| first.get(index).is_some_and(|field| number(field).is_none());
        match (self.header, &self.columns) {
            (Header::Yes, _) => true,
            (Header::No, _) => false,
            (Header::Auto, None) => (0..first.len()).any(is_text),
            (Header::Auto, Some(columns)) => columns.iter().any(|column| match column {
                Column::Name(_) => true,
                Column::Index(index) => is_text(*index),
            }),
        }
    }

    /// The positions of the columns.
    fn chosen(&self, names: Option<&[String]>, width: usize) -> Result<Vec<usize>, Error> {
        let Some(columns) = &self.columns else { return Ok((0..width).collect()) };
        let place = |column: &Column| match column {
            Column::Index(index) if *index < width => Ok(*index),
            Column::Index(index) => Err(refused(format!("there is no column {index}, only {width} columns"))),
            Column::Name(name) => {
                let Some(names) = names else {
                    return Err(refused(format!("there is no column `{name}`, because there is no header")));
                };
                let mut places = (0..width).filter(|place| names[*place] == *name);
                match (places.next(), places.next()) {
                    (Some(place), None) => Ok(place),
                    (None, _) => Err(refused(format!("there is no column `{name}` in the header"))),
                    _ => Err(refused(format!("there are several columns `{name}` in the header"))),
                }
            }
        };
        columns.iter().map(place).collect()
    }
}

fn number(field: &str) -> Option<f64> {
    field.trim().parse().ok()
}

fn not_a_number(fields: &[Cow<'_, str>], line: usize, column: usize, names: &Option<Vec<String>>) -> Error {
    let name = names.as_ref().map_or_else(String::new, |names| format!(" (`{}`)", start(&names[column])));
    let field = start(&fields[column]);
    refused(format!("line {line}, column {}{name}: \"{field}\" is not a number", column + 1))
}

/// What an error shows of a text.
fn start(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Room for the numbers: no more rows than lines, and no more fields than half of the bytes, because each but the last has a separator.
fn storage(text: &str, width: usize, chosen: usize) -> Result<Vec<f64>, Error> {
    let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count();
    let rows = lines.min(text.len() / (2 * width).max(1) + 1);
    let count = rows.checked_mul(chosen).ok_or_else(|| refused("the table is larger than memory"))?;
    expect_within((count as u64).saturating_mul(8), "the table")?;
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count).map_err(|error| refused(error.to_string()))?;
    Ok(numbers)
}

/// The text behind the end of a line, if it begins with one: that of Unix, of Windows, or of old spreadsheets.
fn behind_line(text: &str) -> Option<&str> {
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix(['\n', '\r']))
}

/// The rows of a text.
struct Records<'t> {
    rest: &'t str,
    line: usize,
    delimiter: char,
}

impl<'t> Records<'t> {
    /// Puts the fields of the next row that is not blank into `fields` and returns its line.
    fn next(&mut self, fields: &mut Vec<Cow<'t, str>>) -> Result<Option<usize>, Error> {
        fields.clear();
        while let Some(rest) = behind_line(self.rest) {
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        loop {
            if fields.len() == MOST_COLUMNS {
                return Err(refused(format!("line {line} has more than {MOST_COLUMNS} columns")));
            }
            fields.push(match self.rest.strip_prefix('"') {
                Some(inside) => self.quoted(inside, fields.len() + 1)?,
                None => self.plain(),
            });
            if let Some(rest) = self.rest.strip_prefix(self.delimiter) {
                self.rest = rest;
                continue;
            }
            if let Some(rest) = behind_line(self.rest) {
                self.rest = rest;
                self.line += 1;
            } else if !self.rest.is_empty() {
                let column = fields.len();
                return Err(refused(format!("line {}, column {column}: text after the closing quote", self.line)));
            }
            return Ok(Some(line));
        }
    }

    /// A field up to a delimiter or the end of the line.
    fn plain(&mut self) -> Cow<'t, str> {
        let end = self.rest.find([self.delimiter, '\n', '\r']).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest;
        Cow::Borrowed(field)
    }

    /// A field up to its closing quote; two quotes stand for one.
    fn quoted(&mut self, inside: &'t str, column: usize) -> Result<Cow<'t, str>, Error> {
        let (line, mut field, mut rest) = (self.line, Cow::Borrowed(""), inside);
        loop {
            let Some((part, after)) = rest.split_once('"') else {
                return Err(refused(format!("line {line}, column {column}: the quote is not closed")));
            };
            self.line += part.bytes().filter(|byte| *byte == b'\n').count();
            if field.is_empty() {
                field = Cow::Borrowed(part)
            } else {
                field.to_mut().push_str(part)
            }
            match after.strip_prefix('"') {
                Some(after) => {
                    field.to_mut().push('"');
                    rest = after;
                }
                None => {
                    self.rest = after;
                    return Ok(field);
                }
            }
        }
    }
}
