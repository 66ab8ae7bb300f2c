//! The site of this project, and sites of small projects with faults.

use crate::documents::{Scratch, pages};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use wengert_pages::site::links::{Links, Target};
use wengert_pages::site::markdown::Page;
use wengert_pages::site::reference::Reference;
use wengert_pages::site::sources::{Source, output};
use wengert_pages::site::{Fault, Site, build, write};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The site, built once for all tests.
fn site() -> &'static Site {
    static SITE: LazyLock<Site> = LazyLock::new(|| build(&root(), None).unwrap_or_else(|failure| panic!("{failure}")));
    &SITE
}

/// The values of an attribute, unescaped as far as addresses need it.
fn values<'h>(html: &'h str, name: &str) -> Vec<&'h str> {
    let start = format!(" {name}=\"");
    html.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Everything in `html` up to the code and the text, which may speak of addresses.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    html.split('<').filter_map(|part| part.split_once('>').map(|(tag, _)| tag))
}

#[test]
fn every_link_of_the_site_leads_to_a_file_and_a_heading_and_nothing_is_fetched() {
    let site = site();
    assert!(site.pages > 230 && site.links > 1000, "{} pages, {} links", site.pages, site.links);
    let texts: BTreeMap<&str, &str> = (site.files.iter())
        .map(|(path, bytes)| (path.as_str(), if path.ends_with(".png") { b"" } else { &bytes[..] }))
        .map(|(path, bytes)| (path, std::str::from_utf8(bytes).expect("other files are text")))
        .collect();
    let mut checked = 0;
    for (path, html) in texts.iter().filter(|(path, _)| path.ends_with(".html")) {
        for address in values(html, "href").into_iter().chain(values(html, "src")) {
            if address.starts_with("https://") {
                continue;
            }
            assert!(!address.contains(':') && !address.starts_with('/'), "{path}: {address}");
            let (file, heading) =
                address.split_once('#').map_or((address, None), |(file, heading)| (file, Some(heading)));
            let mut parts: Vec<&str> = path.split('/').collect();
            if !file.is_empty() {
                parts.pop();
                for part in file.split('/') {
                    match part {
                        ".." => assert!(parts.pop().is_some(), "{path}: {address}"),
                        part => parts.push(part),
                    }
                }
            }
            let target = parts.join("/");
            let found = texts.get(target.as_str()).unwrap_or_else(|| panic!("{path}: {address}"));
            if let Some(heading) = heading {
                assert!(found.contains(&format!("id=\"{heading}\"")), "{path}: {address}");
            }
            checked += 1;
        }
        for tag in tags(html) {
            let is_outside = tag.contains("http:") || tag.contains("https:") || tag.contains("=\"//");
            assert!(!is_outside || tag.starts_with("a class=\"outside\" href="), "{path}: <{tag}>");
        }
    }
    assert!(checked > 10_000, "{checked}");
    for path in ["assets/style.css", "assets/site.js"] {
        for fetching in ["http:", "https:", "@import", "url(", "fetch(", "XMLHttpRequest"] {
            assert!(!texts[path].contains(fetching), "{path}: {fetching}");
        }
    }
    for (path, picture) in texts.iter().filter(|(path, _)| path.ends_with(".svg")) {
        assert!(!picture.contains("href=") && !picture.contains("url(http"), "{path}");
    }
}

#[test]
fn every_page_of_the_guide_and_every_operation_is_on_the_site_and_can_be_searched() {
    let site = site();
    let index = String::from_utf8(site.files["assets/search.js"].clone()).expect("it is text");
    for folder in ["guide", "ops"] {
        for entry in fs::read_dir(root().join("docs").join(folder)).expect("the folder is there").flatten() {
            let name = entry.file_name().to_string_lossy().replace("README", "index");
            if let Some(name) = name.strip_suffix(".md") {
                let page = format!("{folder}/{name}.html");
                assert!(site.files.contains_key(&page), "{page}");
                assert!(index.contains(&format!("\"{page}\"")), "{page} is not in the index");
            }
        }
    }
}

/// A page of the guide with this text.
fn source(path: &str, text: &str) -> Source {
    Source { path: path.into(), output: output(path), section: None, text: text.into() }
}

/// The sources of the crates, read once for all tests.
fn reference() -> &'static Reference {
    static REFERENCE: LazyLock<Reference> =
        LazyLock::new(|| Reference::read(&root()).unwrap_or_else(|failure| panic!("{failure}")));
    &REFERENCE
}

/// The faults of a page of the guide with this text, and its HTML. There is one other page.
fn page(text: &str) -> (Vec<Fault>, String) {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(root);
    static LINKS: LazyLock<Links<'_>> = LazyLock::new(|| {
        let sources = ["docs/guide/mine.md", "docs/guide/forward.md"].map(|path| source(path, ""));
        Links::new(&ROOT, &sources, reference(), None)
    });
    let mut faults = Vec::new();
    let page = Page::new(&source("docs/guide/mine.md", text), &LINKS, &mut faults);
    (faults, page.html)
}

#[test]
fn dead_links_and_missing_pictures_are_faults_with_their_lines() {
    let (faults, _) =
        page("# A\n\n[x](forward.md) and\n[y](backward.md)\n\n![z](../pictures/none.svg)\n\n[w](crate::guide::none)\n");
    let found: Vec<(usize, &str)> = faults.iter().map(|fault| (fault.line, fault.message.as_str())).collect();
    assert_eq!(
        found,
        [
            (4, "`backward.md` leads nowhere: there is no docs/guide/backward.md"),
            (6, "`../pictures/none.svg` leads nowhere: there is no docs/pictures/none.svg"),
            (8, "`crate::guide::none` leads nowhere: there is no docs/guide/none.md"),
        ]
    );
    assert_eq!(
        faults[0].to_string(),
        "docs/guide/mine.md:4: `backward.md` leads nowhere: there is no docs/guide/backward.md"
    );
    let (faults, _) = page("# A\n\n![a](https://example.org/a.png)\n\n[b](../../../b.md)\n");
    assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [3, 5], "{faults:?}");
}

#[test]
fn text_of_users_is_never_markup() {
    let (faults, html) = page(
        "# A <script>x</script>\n\n<img src=\"http://a\"> `<b>` [<i>](forward.md)\n\n```rust\nlet a = \"<b>\";\n```\n",
    );
    assert_eq!(faults, []);
    let allowed = ["h1", "p", "code", "a", "pre", "i"];
    for tag in tags(&html) {
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        assert!(allowed.contains(&name) && !tag.contains("http:"), "<{tag}> in {html}");
    }
}

#[test]
fn links_of_rustdoc_become_links_of_the_site() {
    let (faults, html) =
        page("# A\n\n[f](crate::guide::forward) [w](crate::Tensor::tanh) [g](crate::grad()) [n](crate::no::such)\n");
    assert_eq!(faults, []);
    for (text, address) in
        [("f", "forward.html"), ("w", "../ops/tanh.html#tensortanh"), ("g", "../reference.html#grad")]
    {
        assert!(html.contains(&format!("<a href=\"{address}\">{text}</a>")), "{html}");
    }
    assert!(html.contains(" n</p>"), "an item that is not known is text: {html}");
}

#[test]
fn links_to_items_lead_to_rustdoc_if_it_was_written() {
    let scratch = Scratch::new("links_to_items_lead_to_rustdoc");
    let file = |name: &str, text: &str| {
        let path = scratch.0.join(name);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    };
    file("wengert/fn.grad.html", "");
    file("wengert/struct.Tensor.html", "<section id=\"method.t\">");
    file("wengert_scalar/trait.Real.html", "");
    let root = root();
    let links = Links::new(&root, &[], reference(), Some(("../doc", &scratch.0)));
    assert_eq!(links.rustdoc("grad").as_deref(), Some("../doc/wengert/fn.grad.html"));
    assert_eq!(links.rustdoc("Tensor::t").as_deref(), Some("../doc/wengert/struct.Tensor.html#method.t"));
    assert_eq!(links.rustdoc("scalar::Real").as_deref(), Some("../doc/wengert_scalar/trait.Real.html"));
    assert_eq!((links.rustdoc("Tensor::u"), links.rustdoc("vjp")), (None, None));
    let target = links.target(&source("docs/guide.md", ""), "crate::grad()").expect("it leads somewhere").0;
    assert_eq!(target, Target::Outside("../doc/wengert/fn.grad.html".into()));
}

#[test]
fn lines_that_only_tests_need_are_not_shown_and_empty_heads_of_tables_are_left_out() {
    let (_, html) =
        page("# A\n\n```rust\n# let hidden = 1;\n#[derive(Clone)]\nstruct S;\n```\n\n| | |\n|---|---|\n| a | b |\n");
    assert!(!html.contains("hidden") && html.contains("derive"), "{html}");
    assert!(!html.contains("<thead>") && html.contains("<td>a</td>"), "{html}");
}

#[test]
fn a_site_is_written_into_its_own_folder_only() {
    let scratch = Scratch::new("a_site_is_written_into_its_own_folder_only");
    let site = site();
    let folder = scratch.0.join("site");
    write(site, &folder).unwrap_or_else(|failure| panic!("{failure}"));
    fs::copy(folder.join("ops/tanh.html"), folder.join("ops/gone.html")).expect("a page can be copied");
    fs::write(folder.join("ops/mine.html"), "mine").expect("a page can be added");
    write(site, &folder).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(!folder.join("ops/gone.html").exists() && folder.join("ops/mine.html").exists());

    fs::write(scratch.0.join("notes.txt"), "mine").expect("a file can be added");
    let failure = write(site, &scratch.0).expect_err("the folder is somebody's");
    assert!(failure.to_string().contains("is not empty and holds no site"), "{failure}");
    let names: BTreeSet<_> =
        fs::read_dir(&scratch.0).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 2, "nothing was written: {names:?}");
}

#[test]
fn the_command_writes_a_site_that_opens_from_disk() {
    let scratch = Scratch::new("the_command_writes_a_site");
    let output = pages_in(&root(), &["site", scratch.path()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("links resolved"));
    assert!(scratch.0.join("index.html").is_file() && scratch.0.join("assets/search.js").is_file());
    let output = pages(&["site", "--doc", "/no/such/folder", scratch.path()]);
    assert_eq!(output.status.code(), Some(1));
}

fn pages_in(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_wengert-pages"));
    command.current_dir(folder).args(arguments).output().expect("the command starts")
}

/// The documents of the project in another folder, beside its sources.
fn copied(folder: &Path) {
    let copy = |path: &str| {
        let to = folder.join(path);
        fs::create_dir_all(to.parent().expect("it has a folder")).expect("it can be made");
        fs::copy(root().join(path), to).expect("it can be copied");
    };
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].into_iter().for_each(copy);
    for inner in ["docs", "docs/guide", "docs/ops", "docs/pictures"] {
        for entry in fs::read_dir(root().join(inner)).expect("the folder is there").flatten() {
            if entry.path().is_file() {
                copy(&format!("{inner}/{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    std::os::unix::fs::symlink(root().join("crates"), folder.join("crates")).expect("it can be linked");
}

#[test]
fn a_damaged_guide_builds_no_site_and_every_fault_is_named() {
    let scratch = Scratch::new("a_damaged_guide_builds_no_site");
    copied(&scratch.0);
    fs::remove_file(scratch.0.join("docs/pictures/case_1.svg")).expect("it is there");
    let page = scratch.0.join("docs/guide/forward.md");
    let text = fs::read_to_string(&page).expect("it is there");
    let line = text.lines().count() + 2;
    fs::write(&page, text + "\n[a](taylor.md#none) [b](crate::guide#none)\n").expect("it can be written");
    let failure = build(&scratch.0, None).expect_err("it has faults").to_string();
    let faults: Vec<&str> = failure.lines().collect();
    assert_eq!(faults.len(), 4, "{failure}");
    assert_eq!(faults[0], "the site has 3 faults");
    assert!(faults[1].starts_with("  docs/guide/case_studies.md:") && faults[1].contains("case_1.svg"), "{failure}");
    let dead = |link: &str, page: &str| {
        format!("  docs/guide/forward.md:{line}: the link `{link}` leads nowhere: {page} has no heading `none`")
    };
    assert_eq!(faults[2], dead("crate::guide#none", "guide.html"));
    assert_eq!(faults[3], dead("taylor.md#none", "guide/taylor.html"));
}
