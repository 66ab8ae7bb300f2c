//! The items that pages refer to: their signatures and what their documentation says first, read from the sources of the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use wengert_cli::failure::Failure;

/// The crates whose items the facade exports, by the module that they are in there.
const CRATES: &[(&str, &[&str])] = &[
    ("scalar", &["scalar"]),
    ("nn", &["nn"]),
    ("view", &["view"]),
    ("", &["engine", "compiler", "ops", "core", "wengert", "derive", "kernels"]),
];

/// Folders of items that the facade does not export.
const INTERNAL: &str = "rules";

/// A public item with its documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its declaration, without a body.
    pub signature: String,
    /// The first paragraph of its documentation.
    pub summary: String,
}

/// All items by crate and by their last names: `Replay::hessian` in `scalar`.
pub struct Reference {
    items: BTreeMap<(String, String), Item>,
}

impl Reference {
    /// Reads the sources of the crates.
    pub fn read(root: &Path) -> Result<Reference, Failure> {
        let mut items = BTreeMap::new();
        for (_, crates) in CRATES {
            for name in *crates {
                let mut folders = vec![root.join("crates").join(name).join("src")];
                while let Some(folder) = folders.pop() {
                    let shown = folder.display().to_string();
                    let entries = fs::read_dir(&folder).map_err(|error| Failure::new(format!("{shown}: {error}")))?;
                    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
                    paths.sort();
                    for path in paths {
                        if path.is_dir() && !path.ends_with(INTERNAL) {
                            folders.push(path);
                        } else if path.extension().is_some_and(|extension| extension == "rs") {
                            let failed = |error| Failure::new(format!("{}: {error}", path.display()));
                            let text = fs::read_to_string(&path).map_err(failed)?;
                            for (item, found) in items_of(&text) {
                                items.entry((name.to_string(), item)).or_insert(found);
                            }
                        }
                    }
                }
            }
        }
        Ok(Reference { items })
    }

    /// The item of a path in the facade.
    pub fn item(&self, path: &str) -> Option<&Item> {
        let parts: Vec<&str> = path.split("::").collect();
        let crates = CRATES.iter().find(|(name, _)| *name == module(path))?.1;
        // Types begin with a capital, and what is in them follows; modules before them do not matter.
        let names = match parts.as_slice() {
            [.., owner, name] if owner.starts_with(char::is_uppercase) => format!("{owner}::{name}"),
            [.., name] => name.to_string(),
            [] => return None,
        };
        crates.iter().find_map(|name| self.items.get(&(name.to_string(), names.clone())))
    }

    /// Whether the page of the reference shows an item.
    pub fn contains(&self, path: &str) -> bool {
        self.item(path).is_some()
    }

    /// The page of the reference, as Markdown: these items, each with the pages that refer to it.
    pub fn page(
        &self,
        items: &BTreeMap<String, BTreeSet<(String, String)>>,
        rustdoc: &dyn Fn(&str) -> Option<String>,
    ) -> String {
        let mut text =
            "# Reference\n\nThe items that the guide refers to, with their declarations and what their documentation \
                        says first. `cargo doc -p wengert --no-deps --open` shows all of it.\n"
                .to_string();
        let shown = items.iter().filter_map(|(path, pages)| Some((path, self.item(path)?, pages)));
        let mut items: Vec<(&String, &Item, &BTreeSet<(String, String)>)> = shown.collect();
        items.sort_by_key(|(path, ..)| (module(path), path.to_lowercase()));
        let mut last = None;
        for (path, item, pages) in items {
            let module = module(path);
            if last != Some(module) {
                text += &format!(
                    "\n## {}\n",
                    if module.is_empty() { "wengert".to_string() } else { format!("wengert::{module}") }
                );
                last = Some(module);
            }
            let links: Vec<String> = pages.iter().map(|(title, path)| format!("[{title}]({path})")).collect();
            let rustdoc =
                if rustdoc(path).is_some() { format!(" [Documentation](crate::{path}).") } else { String::new() };
            text += &format!(
                "\n### {path}\n\n```rust\n{}\n```\n\n{}{rustdoc}\n\nOn {}.\n",
                item.signature,
                without_links(&item.summary),
                links.join(", ")
            );
        }
        text
    }
}

/// The crate of the facade that a path begins with.
fn module(path: &str) -> &str {
    CRATES.iter().map(|(module, _)| *module).find(|module| path.split("::").next() == Some(*module)).unwrap_or("")
}

/// The documented items of a source, by name; members of types with the name of the type.
///
/// ```
/// use wengert_pages::site::reference::items_of;
/// let items = items_of("/// A map.\n///\n/// More.\npub struct Map {\n}\nimpl<T> Map<T> {\n    /// Calls it.\n    pub fn call(&self) -> T {\n    }\n}\n");
/// let names: Vec<&str> = items.iter().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["Map", "Map::call"]);
/// assert_eq!((items[0].1.signature.as_str(), items[0].1.summary.as_str()), ("pub struct Map", "A map."));
/// ```
pub fn items_of(source: &str) -> Vec<(String, Item)> {
    let mut items = Vec::new();
    let mut owner: Option<(String, Owner)> = None;
    let mut documentation: Vec<&str> = Vec::new();
    let mut lines = source.lines();
    while let Some(mut line) = lines.next() {
        let inner = line.trim_start();
        if let Some(text) = inner.strip_prefix("///") {
            documentation.push(text.strip_prefix(' ').unwrap_or(text));
            continue;
        }
        if inner.starts_with("#[") || inner.starts_with("//") {
            // An attribute of several lines ends like one of one line.
            while inner.starts_with("#[") && !line.ends_with(']') {
                let Some(more) = lines.next() else { break };
                line = more;
            }
            continue;
        }
        let is_outer = !line.starts_with(' ');
        if line == "}" {
            owner = None;
        } else if is_outer && (line.starts_with("impl") || line.starts_with("unsafe impl")) && line.ends_with('{') {
            owner = implemented(line).map(|name| (name, Owner::Type));
        }
        let declared = declaration(inner, owner.as_ref().filter(|_| !is_outer).map(|(_, kind)| *kind));
        if let Some((name, kind)) = declared.filter(|_| !documentation.is_empty()) {
            let mut signature = inner.to_string();
            while !is_outer_end(&signature, kind) {
                let Some(more) = lines.next() else { break };
                signature = format!("{signature}\n{}", more.trim_start_matches(if is_outer { "" } else { "    " }));
            }
            let signature = signature
                .split(" where")
                .flat_map(|part| part.split("\nwhere"))
                .next()
                .unwrap_or_default()
                .trim_end_matches(['{', ';', ':', ' ', ',', '\n']);
            let path = match &owner {
                Some((owner, _)) if !is_outer => format!("{owner}::{name}"),
                _ => name.to_string(),
            };
            let paragraph: Vec<&str> = documentation.iter().copied().take_while(|line| !line.is_empty()).collect();
            items.push((path, Item { signature: signature.to_string(), summary: paragraph.join(" ") }));
        }
        if is_outer {
            for (word, kind) in [("pub trait ", Owner::Trait), ("pub enum ", Owner::Enum)] {
                if let Some(rest) = line.strip_prefix(word).filter(|_| line.ends_with('{')) {
                    owner = Some((identifier(rest).to_string(), kind));
                }
            }
        }
        documentation.clear();
    }
    items
}

/// What the members of a block belong to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    Type,
    Trait,
    Enum,
}

/// What a declaration declares.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Function,
    Variant,
    Other,
}

/// The name that a line declares.
fn declaration(line: &str, owner: Option<Owner>) -> Option<(&str, Kind)> {
    let rest = match owner {
        Some(Owner::Trait) => line,
        Some(Owner::Enum) => {
            return Some((identifier(line), Kind::Variant)).filter(|(name, _)| name.starts_with(char::is_uppercase));
        }
        _ if line.starts_with("macro_rules! ") => line,
        _ => line.strip_prefix("pub ")?,
    };
    let rest = ["const ", "unsafe ", "async "].iter().fold(rest, |rest, word| {
        rest.strip_prefix(word).filter(|after| after.starts_with("fn ") || after.starts_with("unsafe ")).unwrap_or(rest)
    });
    let (word, after) = rest.split_once(' ')?;
    let kind = match word {
        "fn" => Kind::Function,
        "struct" | "enum" | "trait" | "mod" | "type" | "const" | "static" | "macro_rules!" => Kind::Other,
        _ => return None,
    };
    Some((identifier(after), kind))
}

/// Whether a declaration is complete up to its body.
fn is_outer_end(signature: &str, kind: Kind) -> bool {
    let end = signature.trim_end();
    kind != Kind::Function || end.ends_with('{') || end.ends_with(';') || end.ends_with('}')
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The type whose own methods a block holds: `Map` of `impl<T> Map<T> {`; nothing for a trait of a type.
fn implemented(line: &str) -> Option<String> {
    let mut rest = line.trim_start_matches("unsafe ").strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let mut previous = ' ';
        let end = rest.char_indices().find(|(_, c)| {
            depth += match c {
                '<' => 1,
                '>' if previous != '-' => -1,
                _ => 0,
            };
            previous = *c;
            depth == 0
        });
        rest = &rest[end?.0 + 1..];
    }
    let name = identifier(rest.trim_start());
    (!name.is_empty() && !rest.contains(" for ")).then(|| name.to_string())
}

/// Links of rustdoc as their text.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        plain += before;
        let Some((inner, end)) = after.split_once(']') else {
            return plain + "[" + after;
        };
        let target = end.strip_prefix('(').and_then(|end| end.split_once(')'));
        match target {
            Some((target, after)) => {
                plain += inner;
                // A function is linked as `f()`.
                rest = if target.ends_with('(') { after.strip_prefix(')').unwrap_or(after) } else { after };
            }
            None if inner.starts_with('`') && inner.ends_with('`') => {
                plain += inner;
                rest = end;
            }
            None => {
                plain += &format!("[{inner}]");
                rest = end;
            }
        }
    }
    plain + rest
}
