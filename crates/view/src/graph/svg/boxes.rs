//! The boxes of nodes and the frames of groups.

use super::{HEADING, ROW, TEXT};
use crate::graph::card::{Card, Role};
use crate::graph::layout::{Rectangle, Size};
use crate::graph::model::{Graph, Group, Node};
use crate::graph::numbers::short;
use crate::graph::picture::FRAME_TITLE;
use crate::graph::style::{ADJOINT, FORWARD, INK, QUIET, SAVED, Style};
use crate::svg::{number_text, text};
use crate::xml::{escaped, shortened, width};

/// The widest text in a box, and in the title of a frame.
const MOST_TEXT: f64 = 360.0;
const MOST_TITLE: f64 = 420.0;
const LEAST_WIDTH: f64 = 64.0;
/// Free space around the text of a box.
const AROUND: f64 = 12.0;
const ABOVE: f64 = 6.0;

/// The size of a row's text.
fn size(role: Role) -> f64 {
    if role == Role::Heading { HEADING } else { TEXT }
}

pub(super) fn box_size(card: &Card) -> Size {
    let widths = card.rows.iter().map(|row| width(&row.text, size(row.role)).min(MOST_TEXT));
    let widest = widths.fold(0.0, f64::max);
    Size { width: (widest + 2.0 * AROUND).max(LEAST_WIDTH), height: card.rows.len() as f64 * ROW + 2.0 * ABOVE }
}

/// A node with its text; the tooltip says everything.
pub(super) fn drawn_box(node: &Node, card: &Card, place: &Rectangle) -> String {
    let mut drawn = format!("<g><title>{}</title>\n{}", tooltip(&card.details), rounded(place, 8.0, Style::of(node)));
    for (number, row) in card.rows.iter().enumerate() {
        let style = match row.role {
            Role::Heading => {
                format!("text-anchor=\"middle\" font-size=\"{HEADING}\" font-weight=\"bold\" fill=\"{INK}\"")
            }
            Role::Detail => format!("text-anchor=\"middle\" fill=\"{QUIET}\""),
            Role::Value => format!("text-anchor=\"middle\" fill=\"{FORWARD}\""),
            Role::Adjoint => format!("text-anchor=\"middle\" fill=\"{ADJOINT}\""),
            Role::Saved => format!("text-anchor=\"middle\" fill=\"{SAVED}\""),
        };
        let y = place.corner.y + ABOVE + ROW * number as f64 + 13.0;
        drawn += &text(place.middle(), y, &style, &shortened(&row.text, size(row.role), MOST_TEXT));
    }
    drawn + "</g>\n"
}

/// The title of a frame: the label of the group, with the time of its kernel.
pub(super) fn frame_title(graph: &Graph, group: &Group) -> String {
    let time = group.head.and_then(|head| graph.nodes[head].milliseconds);
    let time = time.map_or_else(String::new, |time| format!(" ({} ms)", short(time)));
    shortened(&group.label, TEXT, MOST_TITLE) + &time
}

/// A group with its title.
pub(super) fn drawn_frame(graph: &Graph, group: &Group, place: &Rectangle) -> String {
    let mut details = vec![group.label.clone()];
    if let Some(node) = group.head.map(|head| &graph.nodes[head]) {
        details.push(node.operation.clone());
        details.extend(node.milliseconds.map(|time| format!("time: {} ms", short(time))));
    }
    let (style, y) = (format!("font-weight=\"bold\" fill=\"{INK}\""), place.corner.y + FRAME_TITLE - 10.0);
    format!(
        "<g><title>{}</title>\n{}{}</g>\n",
        tooltip(&details),
        rounded(place, 12.0, Style::of_group(group)),
        text(place.corner.x + AROUND, y, &style, &frame_title(graph, group))
    )
}

/// A rectangle with round corners.
pub(super) fn rounded(place: &Rectangle, radius: f64, style: Style) -> String {
    let [x, y, wide, high] = [place.corner.x, place.corner.y, place.size.width, place.size.height].map(number_text);
    let dashes = if style.is_dashed { " stroke-dasharray=\"5 3\"" } else { "" };
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" rx=\"{radius}\" fill=\"{}\" stroke=\"{}\"{dashes}/>\n",
        style.fill, style.stroke
    )
}

fn tooltip(lines: &[String]) -> String {
    lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\n")
}
