//! A strict reader of the XML that is written here: elements, attributes in double quotes, text.

/// An element with its attributes, and the text up to the next tag.
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub text: String,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.0 == name).map(|attribute| attribute.1.as_str())
    }
}

/// All elements of a document in their order, or what is wrong with it.
pub fn elements(mut text: &str) -> Result<Vec<Element>, String> {
    let (mut elements, mut open): (Vec<Element>, Vec<String>) = (Vec::new(), Vec::new());
    loop {
        let (before, rest) = text.split_once('<').unwrap_or((text, ""));
        checked(before)?;
        if open.is_empty() && !before.trim().is_empty() {
            return Err(format!("text outside of the root: {before:?}"));
        }
        if rest.is_empty() {
            break;
        }
        let (tag, after) = rest.split_once('>').ok_or("a tag without end")?;
        text = after;
        if let Some(name) = tag.strip_prefix('/') {
            let expected = open.pop();
            if expected.as_deref() != Some(name) {
                return Err(format!("</{name}> closes {expected:?}"));
            }
            continue;
        }
        let (tag, is_closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(char::is_alphanumeric) || (open.is_empty() && !elements.is_empty()) {
            return Err(format!("<{name}> may not stand here"));
        }
        let content = after.split('<').next().unwrap_or("").to_string();
        elements.push(Element { name: name.to_string(), attributes: attributes_of(attributes)?, text: content });
        if !is_closed {
            open.push(name.to_string());
        }
    }
    if open.is_empty() { Ok(elements) } else { Err(format!("{open:?} are never closed")) }
}

fn attributes_of(mut text: &str) -> Result<Vec<(String, String)>, String> {
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"").ok_or(format!("no value: {text}"))?;
        let (value, rest) = rest.split_once('"').ok_or(format!("no end: {text}"))?;
        checked(value)?;
        if attributes.iter().any(|attribute| attribute.0 == name) || name.contains(' ') {
            return Err(format!("{name:?} is no attribute, or stands twice"));
        }
        attributes.push((name.to_string(), value.to_string()));
        text = match rest.strip_prefix(' ') {
            Some(rest) => rest,
            None if rest.is_empty() => rest,
            None => return Err(format!("no space before {rest:?}")),
        };
    }
    Ok(attributes)
}

/// Text in which every `&` starts a known entity and every character is allowed.
fn checked(text: &str) -> Result<(), String> {
    let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
    if !text.split('&').skip(1).all(|rest| known.iter().any(|entity| rest.starts_with(entity))) {
        return Err(format!("an unknown entity: {text:?}"));
    }
    let is_allowed = |c: char| matches!(c, '\n' | '\t' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..) && c != '>';
    if text.chars().all(is_allowed) { Ok(()) } else { Err(format!("a character that is not allowed: {text:?}")) }
}

#[test]
fn the_reader_rejects_what_is_not_well_formed() {
    assert_eq!(elements("<a b=\"1\"><c/>&lt;</a>\n").unwrap().len(), 2);
    for text in
        ["<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a>&</a>", "<a>\u{0}</a>", "x<a/>", "<a b=\"1\"c=\"2\"/>", "<a"]
    {
        assert!(elements(text).is_err(), "{text:?}");
    }
}
