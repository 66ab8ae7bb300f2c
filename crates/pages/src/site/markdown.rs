//! Markdown as HTML.

use super::fault::Fault;
use super::html::escaped;
use super::links::{Links, Target, address, anchor};
use super::rust_colours::coloured;
use super::sources::Source;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::collections::HashMap;
use std::ops::Range;

/// Code in a sentence of at most so many characters is not broken across lines.
const SHORT: usize = 24;

/// A page without its frame.
#[derive(Debug, Default)]
pub struct Page {
    /// The first heading.
    pub title: String,
    /// Its path in the site.
    pub output: String,
    /// The HTML of everything.
    pub html: String,
    /// All headings, in order.
    pub headings: Vec<Heading>,
    /// All links and pictures.
    pub links: Vec<Link>,
}

/// A heading, with the plain text of what follows it.
#[derive(Debug, Default)]
pub struct Heading {
    /// 1 for the title.
    pub level: usize,
    /// The name in links.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The text and the code up to the next heading, without markup.
    pub content: String,
}

/// A link or a picture that was resolved.
#[derive(Debug)]
pub struct Link {
    /// As it stands in the source.
    pub text: String,
    /// The line of the source.
    pub line: usize,
    /// Where it leads.
    pub target: Target,
    /// The item that it names.
    pub item: Option<String>,
}

impl Page {
    /// The page of a source. Links that lead nowhere become faults.
    pub fn new(source: &Source, links: &Links<'_>, faults: &mut Vec<Fault>) -> Page {
        let page = Page { output: source.output.clone(), ..Page::default() };
        let mut writer = Writer { source, links, faults, page, ids: HashMap::new(), state: State::default() };
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_SMART_PUNCTUATION;
        for (event, range) in Parser::new_ext(&source.text, options).into_offset_iter() {
            writer.event(event, range);
        }
        writer.page
    }

    /// Whether a link can lead to a heading of this name.
    pub fn has_anchor(&self, name: &str) -> bool {
        self.headings.iter().any(|heading| heading.id == name)
    }
}

struct Writer<'w> {
    source: &'w Source,
    links: &'w Links<'w>,
    faults: &'w mut Vec<Fault>,
    page: Page,
    /// How often an anchor was used.
    ids: HashMap<String, usize>,
    state: State,
}

/// What is open.
#[derive(Default)]
struct State {
    /// The level of the open heading, and its start in the HTML.
    heading: Option<(usize, usize)>,
    heading_text: String,
    /// The language and the text of the open code block.
    code: Option<(String, String)>,
    /// The tags that end the open links.
    link_ends: Vec<&'static str>,
    /// The open picture, and its description.
    picture: Option<(Option<Target>, String)>,
    /// The start of the open paragraph in the HTML, and whether it holds nothing but a picture.
    paragraph: Option<usize>,
    alignments: Vec<Alignment>,
    column: usize,
    is_head: bool,
    /// The start of the open table's head in the HTML, and whether it has text.
    head: (usize, bool),
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.note(&text);
                match &mut self.state.picture {
                    Some((_, description)) => *description += &text,
                    None => {
                        let class = if text.chars().count() <= SHORT { " class=\"short\"" } else { "" };
                        self.page.html += &format!("<code{class}>{}</code>", escaped(&text));
                    }
                }
            }
            Event::SoftBreak => {
                self.note(" ");
                match &mut self.state.picture {
                    Some((_, description)) => description.push(' '),
                    None => self.page.html.push('\n'),
                }
            }
            Event::HardBreak => self.page.html += "<br>\n",
            Event::Rule => self.page.html += "<hr>\n",
            // Line breaks in cells are all that our sources use; anything else is shown as text.
            Event::InlineHtml(html) | Event::Html(html) => match html.trim() {
                "<br>" => self.page.html += "<br>",
                comment if comment.starts_with("<!--") => {}
                other => self.page.html += &escaped(other),
            },
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => self.text(&text),
            Event::TaskListMarker(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        self.note(text);
        if let Some((_, code)) = &mut self.state.code {
            *code += text;
        } else if let Some((_, description)) = &mut self.state.picture {
            *description += text;
        } else {
            self.page.html += &escaped(text);
            self.state.head.1 |= self.state.is_head && !text.trim().is_empty();
        }
    }

    /// Remembers text for the heading that is open, or for the search.
    fn note(&mut self, text: &str) {
        if self.state.heading.is_some() {
            self.state.heading_text += text;
        } else if let Some(heading) = self.page.headings.last_mut() {
            heading.content += text;
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let html = &mut self.page.html;
        match tag {
            Tag::Paragraph => {
                self.state.paragraph = Some(html.len());
                *html += "<p>";
            }
            Tag::Heading { level, .. } => {
                self.state.heading = Some((number(level), html.len()));
                self.state.heading_text.clear();
            }
            Tag::BlockQuote(_) => *html += "<blockquote>\n",
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split(',').next().unwrap_or_default().trim().to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.state.code = Some((language, String::new()));
            }
            Tag::List(Some(first)) => *html += &format!("<ol start=\"{first}\">\n"),
            Tag::List(None) => *html += "<ul>\n",
            Tag::Item => *html += "<li>",
            Tag::Table(alignments) => {
                self.state.alignments = alignments;
                *html += "<div class=\"table\"><table>\n";
            }
            Tag::TableHead => {
                self.state.is_head = true;
                self.state.head = (html.len(), false);
                self.state.column = 0;
                *html += "<thead><tr>";
            }
            Tag::TableRow => {
                self.state.column = 0;
                *html += "<tr>";
            }
            Tag::TableCell => {
                let name = if self.state.is_head { "th" } else { "td" };
                *html += &match self.state.alignments.get(self.state.column) {
                    Some(Alignment::Right) => format!("<{name} class=\"right\">"),
                    Some(Alignment::Center) => format!("<{name} class=\"center\">"),
                    _ => format!("<{name}>"),
                };
                self.state.column += 1;
            }
            Tag::Emphasis => *html += "<em>",
            Tag::Strong => *html += "<strong>",
            Tag::Strikethrough => *html += "<del>",
            Tag::Link { dest_url, .. } => self.link(&dest_url, range),
            Tag::Image { dest_url, .. } => {
                let target = self.links.picture(self.source, &dest_url);
                let target = self.resolved(&dest_url, range, target.map(|target| (target, None)));
                self.state.picture = Some((target, String::new()));
            }
            _ => {}
        }
    }

    /// Opens a link.
    fn link(&mut self, link: &str, range: Range<usize>) {
        let target = self.links.target(self.source, link);
        let (open, close) = match self.resolved(link, range, target) {
            Some(Target::Page { output, anchor }) => {
                let heading = anchor.map_or(String::new(), |anchor| format!("#{anchor}"));
                let path = if output == self.page.output && !heading.is_empty() {
                    String::new()
                } else {
                    address(&self.page.output, &output)
                };
                (format!("<a href=\"{}\">", escaped(&(path + &heading))), "</a>")
            }
            Some(Target::Outside(url)) if url.contains("://") => {
                (format!("<a class=\"outside\" href=\"{}\">", escaped(&url)), "</a>")
            }
            Some(Target::Outside(path)) => {
                (format!("<a href=\"{}\">", escaped(&address(&self.page.output, &path))), "</a>")
            }
            _ => (String::new(), ""),
        };
        self.page.html += &open;
        self.state.link_ends.push(close);
    }

    /// Keeps a link that leads somewhere; one that does not is a fault.
    fn resolved(
        &mut self,
        text: &str,
        range: Range<usize>,
        target: Result<(Target, Option<String>), String>,
    ) -> Option<Target> {
        let line = self.source.text[..range.start].matches('\n').count() + 1;
        match target {
            Ok((target, item)) => {
                self.page.links.push(Link { text: text.to_string(), line, target: target.clone(), item });
                Some(target)
            }
            Err(reason) => {
                let message = format!("`{text}` leads nowhere: {reason}");
                self.faults.push(Fault { file: self.source.path.clone(), line, message });
                None
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if matches!(tag, TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) {
            self.note(" ");
        }
        let html = &mut self.page.html;
        match tag {
            TagEnd::Paragraph => match self.state.paragraph.take() {
                // A picture by itself.
                Some(start) if html[start..].starts_with("<p><figure>") && html.ends_with("</figure>") => {
                    html.replace_range(start..start + "<p>".len(), "");
                    html.push('\n');
                }
                _ => *html += "</p>\n",
            },
            TagEnd::Heading(_) => self.heading(),
            TagEnd::BlockQuote(_) => *html += "</blockquote>\n",
            TagEnd::CodeBlock => self.code(),
            TagEnd::List(true) => *html += "</ol>\n",
            TagEnd::List(false) => *html += "</ul>\n",
            TagEnd::Item => *html += "</li>\n",
            TagEnd::Table => *html += "</tbody></table></div>\n",
            TagEnd::TableHead => {
                self.state.is_head = false;
                *html += "</tr></thead>\n";
                // A head without text is only there because Markdown asks for one.
                if !self.state.head.1 {
                    html.truncate(self.state.head.0);
                }
                *html += "<tbody>\n";
            }
            TagEnd::TableRow => *html += "</tr>\n",
            TagEnd::TableCell => {
                *html += if self.state.is_head { "</th>" } else { "</td>" };
            }
            TagEnd::Emphasis => *html += "</em>",
            TagEnd::Strong => *html += "</strong>",
            TagEnd::Strikethrough => *html += "</del>",
            TagEnd::Link => *html += self.state.link_ends.pop().unwrap_or_default(),
            TagEnd::Image => self.picture(),
            _ => {}
        }
    }

    fn heading(&mut self) {
        let Some((level, start)) = self.state.heading.take() else { return };
        let text = std::mem::take(&mut self.state.heading_text);
        let mut id = anchor(&text);
        let uses = self.ids.entry(id.clone()).or_insert(0);
        if *uses > 0 {
            id += &format!("-{uses}");
        }
        *uses += 1;
        if level == 1 && self.page.title.is_empty() {
            self.page.title.clone_from(&text);
        }
        let inner = self.page.html.split_off(start);
        let sign = format!("<a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this section\">#</a>");
        let sign = if level == 1 { String::new() } else { sign };
        self.page.html += &format!("<h{level} id=\"{id}\">{inner}{sign}</h{level}>\n");
        self.page.headings.push(Heading { level, id, text, content: String::new() });
    }

    /// Closes a code block. Lines that only tests need are not shown, as in rustdoc.
    fn code(&mut self) {
        let Some((language, text)) = self.state.code.take() else { return };
        let html = match language.as_str() {
            "rust" => {
                let shown = text.split_inclusive('\n').filter(|line| !is_hidden(line)).collect::<String>();
                coloured(shown.trim_matches('\n'))
            }
            "sh" | "toml" => text.trim_end().split_inclusive('\n').map(|line| commented(line, '#')).collect(),
            _ => escaped(text.trim_end_matches('\n')),
        };
        let class = if language.is_empty() { "text" } else { &language };
        self.page.html += &format!("<pre class=\"{}\"><code>{html}</code></pre>\n", escaped(class));
    }

    fn picture(&mut self) {
        let Some((target, description)) = self.state.picture.take() else { return };
        if let Some(Target::Picture { output, file }) = target {
            let (path, text) = (escaped(&address(&self.page.output, &output)), escaped(&description));
            let size =
                size(&file).map_or(String::new(), |[width, height]| format!(" width=\"{width}\" height=\"{height}\""));
            self.page.html += &format!(
                "<figure><a href=\"{path}\"><img src=\"{path}\" alt=\"{text}\"{size}></a><figcaption>{text}</figcaption></figure>"
            );
        }
    }
}

/// Whether a line of an example is there for its test alone.
fn is_hidden(line: &str) -> bool {
    let line = line.trim();
    line == "#" || line.starts_with("# ")
}

/// A line whose end may be a comment.
fn commented(line: &str, sign: char) -> String {
    let start = line.find(&format!(" {sign} ")).map(|at| at + 1).or(line.starts_with(sign).then_some(0));
    match start {
        Some(at) => format!("{}<i class=\"c\">{}</i>", escaped(&line[..at]), escaped(&line[at..])),
        None => escaped(line),
    }
}

/// The width and the height that an SVG says it has.
fn size(file: &std::path::Path) -> Option<[f64; 2]> {
    let text = std::fs::read_to_string(file).ok()?;
    let head = &text[..text.find('>')?];
    let quoted = |name: &str| head.split_once(&format!(" {name}=\""))?.1.split('"').next();
    let plain = |name: &str| quoted(name)?.parse::<f64>().ok();
    let from_box = || {
        let numbers: Vec<f64> = quoted("viewBox")?.split(' ').filter_map(|text| text.parse().ok()).collect();
        Some([*numbers.get(2)?, *numbers.get(3)?])
    };
    plain("width").zip(plain("height")).map(|(width, height)| [width, height]).or_else(from_box)
}

fn number(level: HeadingLevel) -> usize {
    level as usize
}
