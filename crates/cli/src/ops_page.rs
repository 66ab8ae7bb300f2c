//! The operations as text for a terminal.

use crate::columns::columns;
use crate::facts::{Facts, families};
use crate::failure::Failure;
use crate::nearest::nearest;

/// Every primitive with its formula, by family.
pub fn list() -> String {
    let all = Facts::all();
    let mut text = format!("{} primitives; `wengert ops NAME` tells all about one.\n", all.len());
    let width = all.iter().map(|facts| facts.name.len()).max().unwrap_or(0);
    for (family, members) in families(&all) {
        let row = |facts: &Facts| [format!("{:<width$}", facts.name), facts.summary()];
        let rows: Vec<[String; 2]> = members.iter().map(row).collect();
        text += &format!("\n{family}\n{}", columns(2, &rows));
    }
    text
}

/// All about the primitive called `name`.
///
/// ```
/// use wengert_cli::ops_page::page;
/// assert!(page("tanh").unwrap().contains("dx = (1 - y^2) dy"));
/// assert_eq!(page("tahn").unwrap_err().code(), 2);
/// ```
pub fn page(name: &str) -> Result<String, Failure> {
    let all = Facts::all();
    match all.iter().find(|facts| facts.name == name) {
        Some(facts) => Ok(one(facts)),
        None => {
            let near = nearest(name, all.iter().map(|facts| facts.name)).join(", ");
            Err(Failure::usage(format!(
                "no primitive is called '{name}'\n  nearest: {near}\n  `wengert ops` lists them all"
            )))
        }
    }
}

fn one(facts: &Facts) -> String {
    let Facts { name, family, header, .. } = facts;
    let mut text = format!("{name} - {}   ({family})\n\n", header.title);
    for formula in &header.formulas {
        text += &format!("  {formula}\n");
    }
    let remarks = (!header.remarks.is_empty()).then(|| wrapped(&header.remarks));
    for paragraph in remarks.iter().chain(&header.paragraphs) {
        text += &format!("\n{}\n", paragraph.join("\n"));
    }
    let mut rows = vec![["reverse rule".to_string(), facts.rule.to_string()]];
    for (label, lines) in &facts.properties {
        let labels = std::iter::once(*label).chain(std::iter::repeat(""));
        rows.extend(labels.zip(lines).map(|(label, line)| [label.to_string(), line.clone()]));
    }
    text += &format!("\n{}", columns(2, &rows));
    if !facts.methods.is_empty() {
        let rows: Vec<[String; 2]> =
            facts.methods.iter().map(|method| [method.path.clone(), method.signature.clone()]).collect();
        text += &format!("\n{}", columns(2, &rows));
    }
    text
}

/// Lines of at most 100 characters, broken between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.len() + 1 + word.len() <= 100) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_string()),
        }
    }
    lines
}
