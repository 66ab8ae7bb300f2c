//! The index of the search, as a script: pages that open from disk cannot read other files.

use super::markdown::Page;

/// One entry for each heading: the title of its page, the heading, where it is, and the text below it.
///
/// ```
/// use wengert_pages::site::markdown::{Heading, Page};
/// use wengert_pages::site::search::index;
///
/// let heading = Heading { level: 1, id: "a".into(), text: "A".into(), content: "say \"a\"\n".into() };
/// let page = Page { title: "A".into(), output: "a.html".into(), headings: vec![heading], ..Page::default() };
/// assert_eq!(index(&[page]), "window.wengertSearch = [\n[\"A\",\"A\",\"a.html\",\"say \\\"a\\\"\"]\n];\n");
/// ```
pub fn index(pages: &[Page]) -> String {
    let entries = pages.iter().flat_map(|page| {
        page.headings.iter().map(|heading| {
            let place = match heading.level {
                1 => page.output.clone(),
                _ => format!("{}#{}", page.output, heading.id),
            };
            let content = heading.content.split_whitespace().collect::<Vec<_>>().join(" ");
            let fields = [page.title.as_str(), &heading.text, &place, &content].map(quoted);
            format!("[{}]", fields.join(","))
        })
    });
    format!("window.wengertSearch = [\n{}\n];\n", entries.collect::<Vec<_>>().join(",\n"))
}

/// A string of JavaScript.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' || matches!(c, '\u{2028}' | '\u{2029}') => quoted += &format!("\\u{:04x}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
