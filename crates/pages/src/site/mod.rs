//! The documentation as a site of HTML files that opens from disk.
//!
//! Pages are read from Markdown ([`sources`]), written as HTML with their links resolved ([`markdown`], [`links`]) and put into a frame with
//! navigation and search ([`frame`], [`search`]). A link that leads nowhere is an error with its file and line. Nothing is fetched: style,
//! script and pictures are files of the site.

mod fault;
pub mod frame;
mod html;
pub mod links;
pub mod markdown;
pub mod reference;
pub mod rust_colours;
pub mod search;
pub mod sources;

pub use fault::Fault;
pub use html::escaped;

use links::{Links, Target};
use markdown::Page;
use reference::Reference;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use wengert_cli::failure::Failure;

/// The folder of the site, relative to the root of the project.
const FOLDER: &str = "target/site";

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("site.js");

/// A site in memory: the contents of every file by its path, which has forward slashes.
#[derive(Debug)]
pub struct Site {
    /// All files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The number of pages among them.
    pub pages: usize,
    /// The number of links and pictures that were resolved.
    pub links: usize,
}

/// Builds the site of the project at `root`. Links to items lead to the documentation of `rustdoc` if its folder is given: as it is called
/// from the root of the site, and where it is.
///
/// ```
/// use std::path::Path;
/// use wengert_pages::site::build;
///
/// let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
/// let site = build(&root, None).unwrap();
/// assert!(site.files.contains_key("index.html") && site.files.contains_key("ops/tanh.html"));
/// ```
pub fn build(root: &Path, rustdoc: Option<(&str, &Path)>) -> Result<Site, Failure> {
    let mut sources = sources::read(root)?;
    let reference = Reference::read(root)?;
    let links = Links::new(root, &sources, &reference, rustdoc);
    let mut faults = Vec::new();
    let mut pages: Vec<Page> = sources.iter().map(|source| Page::new(source, &links, &mut faults)).collect();

    // The items that pages refer to have a page of their own.
    let named: Vec<(&str, usize)> = (pages.iter().enumerate())
        .flat_map(|(number, page)| page.links.iter().filter_map(move |link| Some((link.item.as_deref()?, number))))
        .collect();
    let users = |number: usize| (pages[number].title.clone(), sources[number].path.clone());
    let mut text: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for (item, number) in named {
        text.entry(item.to_string()).or_default().insert(users(number));
    }
    let place = sources.iter().position(|source| source.path == sources::REFERENCE).expect("it is always there");
    sources[place].text = reference.page(&text, &|item| links.rustdoc(item));
    pages[place] = Page::new(&sources[place], &links, &mut faults);

    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let anchors: BTreeMap<&str, &Page> = pages.iter().map(|page| (page.output.as_str(), page)).collect();
    let mut resolved = 0;
    for (source, page) in sources.iter().zip(&pages) {
        for link in &page.links {
            resolved += 1;
            match &link.target {
                Target::Page { output, anchor: Some(anchor) } if !anchors[output.as_str()].has_anchor(anchor) => {
                    let message = format!("the link `{}` leads nowhere: {output} has no heading `{anchor}`", link.text);
                    faults.push(Fault { file: source.path.clone(), line: link.line, message });
                }
                Target::Picture { output, file } => match fs::read(file) {
                    Ok(bytes) => drop(files.insert(output.clone(), bytes)),
                    Err(error) => {
                        let message = format!("the picture `{}` cannot be read: {error}", link.text);
                        faults.push(Fault { file: source.path.clone(), line: link.line, message });
                    }
                },
                _ => {}
            }
        }
    }
    if !faults.is_empty() {
        faults.sort();
        let lines: Vec<String> = faults.iter().map(|fault| format!("\n  {fault}")).collect();
        return Err(Failure::new(format!("the site has {} faults{}", faults.len(), lines.concat())));
    }
    for number in 0..pages.len() {
        files.insert(pages[number].output.clone(), frame::framed(&sources, &pages, number).into_bytes());
    }
    files.insert("assets/style.css".into(), STYLE.into());
    files.insert("assets/site.js".into(), SCRIPT.into());
    files.insert("assets/search.js".into(), search::index(&pages).into_bytes());
    Ok(Site { files, pages: pages.len(), links: resolved })
}

/// Writes the site of the project in the current folder, and says where. Without a folder it is `target/site`.
pub fn run(folder: Option<PathBuf>, rustdoc: Option<PathBuf>, out: &mut dyn std::io::Write) -> Result<(), Failure> {
    let folder = folder.unwrap_or_else(|| PathBuf::from(FOLDER));
    let path = match &rustdoc {
        Some(path) => Some(relative(&folder, path)?),
        None => None,
    };
    let site = build(Path::new("."), path.as_deref().zip(rustdoc.as_deref()))?;
    write(&site, &folder)?;
    let (shown, pages, links) = (folder.display(), site.pages, site.links);
    Ok(writeln!(out, "{shown}/index.html: {pages} pages, {links} links resolved")?)
}

/// Writes a site into a folder: a new or empty one, or one that holds an earlier site, whose pages are replaced.
pub fn write(site: &Site, folder: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let index = folder.join("index.html");
    let is_empty = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty && !fs::read_to_string(&index).is_ok_and(|text| text.contains(frame::MARK)) {
        let message = format!("{} is not empty and holds no site, so nothing is written there", folder.display());
        return Err(Failure::new(format!("{message}\n  empty it or name another folder")));
    }
    for (name, bytes) in &site.files {
        let path = folder.join(name);
        let parent = path.parent().expect("files are inside of the folder");
        fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
        fs::write(&path, bytes).map_err(|error| failed(&path, error))?;
    }
    // Pages of sources that no longer exist.
    for subfolder in [".", "guide", "ops"] {
        for entry in fs::read_dir(folder.join(subfolder)).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = format!("{subfolder}/{}", entry.file_name().to_string_lossy());
            let is_ours = || fs::read_to_string(&path).is_ok_and(|text| text.contains(frame::MARK));
            if name.ends_with(".html") && !site.files.contains_key(name.trim_start_matches("./")) && is_ours() {
                fs::remove_file(&path).map_err(|error| failed(&path, error))?;
            }
        }
    }
    Ok(())
}

/// The path of an existing folder as seen from another folder, which need not exist yet.
fn relative(from: &Path, to: &Path) -> Result<String, Failure> {
    let to = fs::canonicalize(to).map_err(|error| Failure::new(format!("{}: {error}", to.display())))?;
    fs::create_dir_all(from).map_err(|error| Failure::new(format!("{}: {error}", from.display())))?;
    let from = fs::canonicalize(from).map_err(|error| Failure::new(format!("{}: {error}", from.display())))?;
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| "..".to_string());
    let down = to.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    Ok(up.chain(down).collect::<Vec<_>>().join("/"))
}
