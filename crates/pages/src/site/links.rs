//! Where links lead.

use super::reference::Reference;
use super::sources::{REFERENCE, Source, output};
use crate::facts::Facts;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where a link leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A page of the site, and perhaps a heading.
    Page {
        /// The path of the page in the site.
        output: String,
        /// The heading.
        anchor: Option<String>,
    },
    /// A picture, which is copied into the site.
    Picture {
        /// Its path in the site.
        output: String,
        /// The file.
        file: PathBuf,
    },
    /// Outside of the site: another site, or the documentation of `rustdoc`, relative to the root of this site if it has no scheme.
    Outside(String),
    /// Nowhere that a reader could go: the text stays.
    Text,
}

/// What is known about the places where links can lead.
pub struct Links<'s> {
    root: &'s Path,
    /// Pages by the paths of their sources.
    pages: BTreeMap<String, String>,
    reference: &'s Reference,
    /// The heading of a method on the page of its operation.
    methods: BTreeMap<String, (String, String)>,
    rustdoc: Option<(&'s str, &'s Path)>,
}

impl<'s> Links<'s> {
    /// The links between these sources.
    pub fn new(
        root: &'s Path,
        sources: &[Source],
        reference: &'s Reference,
        rustdoc: Option<(&'s str, &'s Path)>,
    ) -> Links<'s> {
        let pages = sources.iter().map(|source| (source.path.clone(), source.output.clone())).collect();
        let mut methods = BTreeMap::new();
        for facts in Facts::all() {
            for method in &facts.methods {
                methods.insert(
                    method.path.clone(),
                    (output(&format!("docs/ops/{}.md", facts.name)), anchor(&method.path)),
                );
            }
        }
        Links { root, pages, reference, methods, rustdoc }
    }

    /// Where a link in a source leads, and the item that it names if it names one. An error says why it leads nowhere.
    pub fn target(&self, from: &Source, link: &str) -> Result<(Target, Option<String>), String> {
        if link.starts_with("https://") || link.starts_with("http://") {
            return Ok((Target::Outside(link.to_string()), None));
        }
        let (path, heading) = match link.split_once('#') {
            Some((path, heading)) => (path, Some(heading.to_string())),
            None => (link, None),
        };
        if let Some(item) = path.strip_prefix("crate::").or((path == "crate").then_some("")) {
            return self.item(item, heading);
        }
        if path.is_empty() {
            return Ok((Target::Page { output: from.output.clone(), anchor: heading }, None));
        }
        let path = joined(&from.path, path).ok_or("it leads out of the project")?;
        match self.pages.get(&path) {
            Some(output) => Ok((Target::Page { output: output.clone(), anchor: heading }, None)),
            None if self.root.join(&path).exists() => Ok((Target::Text, None)),
            None => Err(format!("there is no {path}")),
        }
    }

    /// Where a picture in a source is.
    pub fn picture(&self, from: &Source, link: &str) -> Result<Target, String> {
        if link.contains("://") || link.starts_with("data:") {
            return Err("pictures are files of the project".to_string());
        }
        let path = joined(&from.path, link).ok_or("it is outside of the project")?;
        let file = self.root.join(&path);
        if !file.is_file() {
            return Err(format!("there is no {path}"));
        }
        Ok(Target::Picture { output: path.strip_prefix("docs/").unwrap_or(&path).to_string(), file })
    }

    /// A path of rustdoc: a page of the guide, or an item.
    fn item(&self, path: &str, heading: Option<String>) -> Result<(Target, Option<String>), String> {
        let path = path.trim_end_matches("()").trim_end_matches('!');
        let guide = match path.strip_prefix("guide") {
            Some("") => Some("docs/guide.md".to_string()),
            Some(rest) => rest.strip_prefix("::").map(|page| format!("docs/guide/{page}.md")),
            None => None,
        };
        if let Some(page) = guide {
            let output = self.pages.get(&page).ok_or_else(|| format!("there is no {page}"))?;
            return Ok((Target::Page { output: output.clone(), anchor: heading }, None));
        }
        let item = Some(path.to_string());
        if let Some(address) = self.rustdoc(path) {
            return Ok((Target::Outside(address), item));
        }
        if let Some((page, anchor)) = self.methods.get(path) {
            return Ok((Target::Page { output: page.clone(), anchor: Some(anchor.clone()) }, None));
        }
        if self.reference.contains(path) {
            let place = Target::Page { output: output(REFERENCE), anchor: Some(anchor(path)) };
            return Ok((place, item));
        }
        Ok((Target::Text, None))
    }

    /// The page of rustdoc for an item, if rustdoc has written one.
    pub fn rustdoc(&self, item: &str) -> Option<String> {
        let (shown, folder) = self.rustdoc?;
        let parts: Vec<&str> = item.split("::").filter(|part| !part.is_empty()).collect();
        // Crates that the facade re-exports as modules keep their own pages.
        let (library, parts) = match parts.split_first() {
            Some((&"scalar", rest)) => ("wengert_scalar", rest),
            Some((&"nn", rest)) => ("wengert_nn", rest),
            Some((&"view", rest)) => ("wengert_view", rest),
            _ => ("wengert", parts.as_slice()),
        };
        let page = |parts: &[&str]| {
            let mut folders: Vec<&str> = vec![library];
            folders.extend(parts);
            let module = folders.join("/") + "/index.html";
            if folder.join(&module).is_file() {
                return Some(module);
            }
            let (name, modules) = folders.split_last().expect("the library");
            let kinds = ["fn", "struct", "enum", "trait", "macro", "derive", "type", "constant", "static"];
            let candidates = kinds.iter().map(|kind| format!("{}/{kind}.{name}.html", modules.join("/")));
            candidates.into_iter().find(|path| folder.join(path).is_file())
        };
        if let Some(path) = page(parts) {
            return Some(format!("{shown}/{path}"));
        }
        // A method or a variant is on the page of its type.
        let (name, owner) = parts.split_last()?;
        let path = page(owner)?;
        let text = std::fs::read_to_string(folder.join(&path)).ok()?;
        let ids = ["method", "tymethod", "variant", "structfield"].map(|kind| format!("{kind}.{name}"));
        let id = ids.into_iter().find(|id| text.contains(&format!("id=\"{id}\"")))?;
        Some(format!("{shown}/{path}#{id}"))
    }
}

/// A relative path as seen from the folder of a file; `None` if it leads out of the project.
fn joined(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The name of a heading in links, as rustdoc and GitHub form it.
///
/// ```
/// use wengert_pages::site::links::anchor;
/// assert_eq!(anchor("4. The tape"), "4-the-tape");
/// assert_eq!(anchor("Tensor::where_"), "tensorwhere_");
/// ```
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// The address of a file of the site, as seen from another file of it.
///
/// ```
/// use wengert_pages::site::links::address;
/// assert_eq!(address("guide/forward.html", "ops/tanh.html"), "../ops/tanh.html");
/// assert_eq!(address("guide/forward.html", "guide/taylor.html"), "taylor.html");
/// assert_eq!(address("index.html", "guide/taylor.html"), "guide/taylor.html");
/// ```
pub fn address(from: &str, to: &str) -> String {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    match to.strip_prefix(&folder(from)) {
        Some(near) => near.to_string(),
        None => "../".repeat(from.matches('/').count()) + to,
    }
}
