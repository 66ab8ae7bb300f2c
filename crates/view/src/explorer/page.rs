//! The page around the data.

use crate::xml::escaped;

const TEMPLATE: &str = include_str!("page/page.html");

const STYLES: &[&str] = &[
    include_str!("page/theme.css"),
    include_str!("page/layout.css"),
    include_str!("page/card.css"),
    include_str!("page/passes.css"),
];

/// Later files use what earlier ones define.
const SCRIPTS: &[&str] = &[
    include_str!("page/data.js"),
    include_str!("page/numbers.js"),
    include_str!("page/elements.js"),
    include_str!("page/state.js"),
    include_str!("page/colours.js"),
    include_str!("page/camera.js"),
    include_str!("page/drawing.js"),
    include_str!("page/canvas.js"),
    include_str!("page/overview.js"),
    include_str!("page/player.js"),
    include_str!("page/memory.js"),
    include_str!("page/card.js"),
    include_str!("page/search.js"),
    include_str!("page/passes.js"),
    include_str!("page/keyboard.js"),
    include_str!("page/main.js"),
];

/// A page with a title and its data.
pub(super) fn page(title: &str, data: &str) -> String {
    let parts =
        [("title", escaped(title)), ("style", STYLES.concat()), ("data", data.into()), ("script", SCRIPTS.concat())];
    let (mut page, mut rest) = (String::new(), TEMPLATE);
    // From the start to the end, so that nothing in a part is taken for a place of another.
    for (name, part) in parts {
        let (before, after) =
            rest.split_once(&format!("{{{{{name}}}}}")).expect("the template has a place for each part");
        page += before;
        page += &part;
        rest = after;
    }
    page + rest
}
