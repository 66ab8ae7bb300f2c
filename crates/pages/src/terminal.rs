//! The operations as text for a terminal.

use crate::composites::{Composite, themes};
use crate::coverage::coverage;
use crate::facts::{Facts, families};
use crate::methods::Method;
use std::collections::BTreeMap;
use wengert_cli::columns::columns;

/// The maximum length of a line of prose.
const WIDTH: usize = 100;

/// Every primitive with its formula, by family; then the composite functions, by theme.
fn list(all: &[Facts], composites: &[Composite]) -> String {
    let mut text = format!(
        "{} primitives and {} functions made of them; `wengert ops NAME` tells all about one.\n",
        all.len(),
        composites.len()
    );
    for (family, members) in families(all) {
        text += &format!("\n{family}\n{}", family_rows(members));
    }
    for (theme, members) in themes(composites) {
        text += &format!("\n{theme} (composites)\n{}", theme_rows(members));
    }
    text
}

fn family_rows(members: &[Facts]) -> String {
    let row = |facts: &Facts| [facts.name.to_string(), facts.summary()];
    columns(2, &members.iter().map(row).collect::<Vec<_>>())
}

fn theme_rows(members: &[Composite]) -> String {
    let row = |composite: &Composite| [composite.name().to_string(), composite.summary()];
    columns(2, &members.iter().map(row).collect::<Vec<_>>())
}

/// The list, and every page after a form feed and a line with the names that it is found by: its own, then those of methods. Families and
/// themes have no name of their own, so that operations are found before them.
pub fn text() -> String {
    let (all, composites) = (Facts::all(), Composite::all());
    let mut text = list(&all, &composites);
    for facts in &all {
        let methods = facts.methods.iter().map(Method::name).chain(facts.variants.iter().copied());
        let names: Vec<&str> = std::iter::once(facts.name).chain(methods.filter(|name| *name != facts.name)).collect();
        text += &format!("\u{c}{}\n{}", names.join(" "), primitive(facts));
    }
    for one in &composites {
        text += &format!("\u{c}{}\n{}", one.name(), composite(one));
    }
    let mut groups: BTreeMap<&str, String> = BTreeMap::new();
    for (family, members) in families(&all) {
        *groups.entry(family).or_default() += &family_rows(members);
    }
    for (theme, members) in themes(&composites) {
        *groups.entry(theme).or_default() += &theme_rows(members);
    }
    for (name, rows) in groups {
        text += &format!("\u{c} {name}\n{name}\n{rows}");
    }
    text
}

fn primitive(facts: &Facts) -> String {
    let Facts { name, family, header, .. } = facts;
    let mut text = format!("{name} - {}   ({family})\n", header.title);
    let (domain, conventions) = header.domain_and_conventions();
    let mut rows: Vec<[String; 2]> = Vec::new();
    let (formula, derivative) = header.formulas.split_at(header.formulas.len().min(1));
    label(&mut rows, "formula", formula);
    label(&mut rows, "derivative", derivative);
    label(&mut rows, "domain", &domain.map(str::to_string).into_iter().collect::<Vec<_>>());
    label(&mut rows, "conventions", &wrapped(&conventions, WIDTH - 16));
    label(&mut rows, "reverse rule", &[facts.rule.to_string()]);
    for (name, lines) in &facts.properties {
        label(&mut rows, name, lines);
    }
    label(&mut rows, "checked cases", &coverage(name).unwrap_or_else(|| vec!["not in docs/coverage.md yet".into()]));
    text += &format!("\n{}", columns(2, &rows));
    for paragraph in &header.paragraphs {
        text += &format!("\n{}\n", paragraph.join("\n"));
    }
    if !facts.methods.is_empty() {
        let rows: Vec<[String; 2]> =
            facts.methods.iter().map(|method| [method.path.clone(), method.signature.clone()]).collect();
        text += &format!("\n{}", columns(2, &rows));
    }
    if !facts.variants.is_empty() {
        text += &format!("\n{}\n", wrapped(&format!("also: {}", facts.variants.join(", ")), WIDTH).join("\n"));
    }
    text
}

fn composite(composite: &Composite) -> String {
    let Composite { theme, method } = composite;
    let text = format!("{} - {}   ({theme}, composite)\n\n", composite.name(), composite.summary());
    let mut rows = Vec::new();
    label(&mut rows, "method", &[format!("{}: {}", method.path, method.signature)]);
    label(&mut rows, "derivative", &["follows from its parts".to_string()]);
    text + &columns(2, &rows) + "\n" + &method.documentation.join("\n") + "\n"
}

/// Adds lines of which the first is labelled.
fn label(rows: &mut Vec<[String; 2]>, name: &str, lines: &[String]) {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    rows.extend(names.zip(lines).map(|(name, line)| [name.to_string(), line.clone()]));
}

/// Wraps text to lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_string()),
        }
    }
    lines
}
