//! The Markdown files that become pages, in the order of reading.

use std::fs;
use std::path::Path;
use wengert_cli::failure::Failure;

/// The page of the items that other pages refer to; it has no file.
pub const REFERENCE: &str = "reference";

/// The sections of the navigation. Pages of the guide that are not named here follow in a section of their own.
const SECTIONS: &[(&str, &[&str])] = &[
    ("Start", &["README.md", "docs/guide.md", "docs/guide/coming_from.md", "docs/guide/glossary.md"]),
    (
        "Ideas",
        &[
            "docs/guide/case_studies.md",
            "docs/guide/forward_and_reverse.md",
            "docs/guide/cheap_gradient.md",
            "docs/guide/memory.md",
            "docs/guide/dynamic_and_staged.md",
            "docs/guide/covectors.md",
            "docs/guide/conventions.md",
        ],
    ),
    (
        "Derivatives",
        &[
            "docs/guide/reverse.md",
            "docs/guide/forward.md",
            "docs/guide/jacobians.md",
            "docs/guide/sparsity.md",
            "docs/guide/taylor.md",
            "docs/guide/custom_rules.md",
            "docs/guide/implicit.md",
        ],
    ),
    (
        "Programs",
        &[
            "docs/guide/tensors.md",
            "docs/guide/trees.md",
            "docs/guide/batching.md",
            "docs/guide/control_flow.md",
            "docs/guide/compile.md",
            "docs/guide/devices.md",
            "docs/guide/checkpoints.md",
        ],
    ),
    ("Scalars", &["docs/guide/scalars.md", "docs/guide/replays.md"]),
    ("Networks", &["docs/guide/networks.md", "docs/guide/examples.md"]),
    ("Looking inside", &["docs/guide/looking.md", "docs/guide/failure_modes.md"]),
    (
        "Reference",
        &["docs/ops/README.md", REFERENCE, "docs/coverage.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
    ),
];

/// The section of pages that no other section names.
const MORE: &str = "More";

/// A file that becomes a page.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path, relative to the root of the project.
    pub path: String,
    /// The path of the page in the site.
    pub output: String,
    /// The section of the navigation that lists it; pages of operations are only listed by their index.
    pub section: Option<&'static str>,
    /// The Markdown.
    pub text: String,
}

/// All pages: those of the sections, then further pages of the guide, then one for each operation.
pub fn read(root: &Path) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for (section, paths) in SECTIONS {
        for path in *paths {
            sources.push(source(root, path, Some(*section))?);
        }
    }
    for path in markdown_files(root, "docs/guide")? {
        if sources.iter().all(|source| source.path != path) {
            sources.push(source(root, &path, Some(MORE))?);
        }
    }
    for path in markdown_files(root, "docs/ops")? {
        if sources.iter().all(|source| source.path != path) {
            sources.push(source(root, &path, None)?);
        }
    }
    Ok(sources)
}

fn source(root: &Path, path: &str, section: Option<&'static str>) -> Result<Source, Failure> {
    let text = match path {
        REFERENCE => "# Reference\n".to_string(),
        _ => fs::read_to_string(root.join(path)).map_err(|error| Failure::new(format!("{path}: {error}")))?,
    };
    Ok(Source { path: path.to_string(), output: output(path), section, text })
}

/// The names of the Markdown files in a folder, in order.
fn markdown_files(root: &Path, folder: &str) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(root.join(folder)).map_err(|error| Failure::new(format!("{folder}: {error}")))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut paths: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect();
    paths.sort();
    Ok(paths)
}

/// Where the page of a source is in the site.
///
/// ```
/// use wengert_pages::site::sources::output;
/// assert_eq!(output("README.md"), "index.html");
/// assert_eq!(output("docs/ops/README.md"), "ops/index.html");
/// assert_eq!(output("docs/guide/forward.md"), "guide/forward.html");
/// assert_eq!(output("CHANGELOG.md"), "changelog.html");
/// ```
pub fn output(path: &str) -> String {
    let inner = path.strip_prefix("docs/").unwrap_or(path).trim_end_matches(".md");
    let name = match inner.strip_suffix("README") {
        Some(folder) => format!("{folder}index"),
        None => inner.to_lowercase(),
    };
    name + ".html"
}
