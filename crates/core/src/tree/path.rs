//! The paths of leaves.

use std::fmt::{self, Display, Write};

/// The dotted path of a leaf, such as `layers.0.weight`.
///
/// One buffer serves a whole traversal: [`within`](TreePath::within) appends a segment and removes it again.
///
/// ```
/// use wengert::prelude::*;
///
/// let mut path = TreePath::root();
/// let name = path.within("layers", |path| path.within(0, |path| path.to_string()));
/// assert_eq!(name, "layers.0");
/// assert_eq!(path.as_str(), "");
/// ```
#[derive(Clone, Debug, Default)]
pub struct TreePath {
    dotted: String,
    frozen: bool,
    /// Whether segments are omitted.
    quiet: bool,
    /// A buffer for a word of a description.
    word: String,
}

impl PartialEq for TreePath {
    fn eq(&self, other: &TreePath) -> bool {
        (&self.dotted, self.frozen) == (&other.dotted, other.frozen)
    }
}

impl Eq for TreePath {}

impl TreePath {
    /// The path of the tree itself, which is empty.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// assert_eq!(TreePath::root().as_str(), "");
    /// ```
    pub fn root() -> TreePath {
        TreePath::default()
    }

    /// Calls `f` with the path one segment longer.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let length = TreePath::root().within("bias", |path| path.as_str().len());
    /// assert_eq!(length, 4);
    /// ```
    pub fn within<R>(&mut self, segment: impl Word, f: impl FnOnce(&mut TreePath) -> R) -> R {
        let length = self.begin_segment();
        if length.is_some() {
            segment.push_to(&mut self.dotted);
        }
        // A single call: with two, trees in trees would be compiled twice at each depth.
        let result = f(self);
        if let Some(length) = length {
            self.dotted.truncate(length);
        }
        result
    }

    /// The length without the segment that is about to be written; `None` where segments are omitted.
    fn begin_segment(&mut self) -> Option<usize> {
        let length = self.dotted.len();
        if !self.quiet && length > 0 {
            self.dotted.push('.');
        }
        (!self.quiet).then_some(length)
    }

    /// Calls `f` with a path whose leaves belong to the tree but are not differentiated.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let mut path = TreePath::root();
    /// path.frozen(|path| path.within("mean", |path| assert!(path.is_frozen())));
    /// assert!(!path.is_frozen());
    /// ```
    pub fn frozen<R>(&mut self, f: impl FnOnce(&mut TreePath) -> R) -> R {
        let outer = std::mem::replace(&mut self.frozen, true);
        let result = f(self);
        self.frozen = outer;
        result
    }

    /// Calls `f` with a path that stays empty, for traversals that need no names: writing the names costs more than the traversal.
    #[doc(hidden)]
    pub fn quietly<R>(&mut self, f: impl FnOnce(&mut TreePath) -> R) -> R {
        let outer = std::mem::replace(&mut self.quiet, true);
        let result = f(self);
        self.quiet = outer;
        result
    }

    /// Whether leaves here are excluded from differentiation; see [`frozen`](TreePath::frozen).
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Calls `f` with this path and a word of a description. The word is written into a buffer of the path, so a repeated traversal
    /// allocates nothing.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// TreePath::root().say(("length ", 3), &mut |_, word| assert_eq!(word, "length 3"));
    /// ```
    pub fn say(&mut self, word: impl Word, f: &mut dyn FnMut(&TreePath, &str)) {
        let mut text = std::mem::take(&mut self.word);
        text.clear();
        word.push_to(&mut text);
        f(self, &text);
        self.word = text;
    }

    /// The path as text.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// TreePath::root().within("bias", |path| assert_eq!(path.as_str(), "bias"));
    /// ```
    pub fn as_str(&self) -> &str {
        &self.dotted
    }
}

/// A segment of a path, or a word of a description: text, an index, `format_args!` of anything else, or two of these in a row.
///
/// Compiled functions compare paths and descriptions in each call, so text and indices bypass formatting.
pub trait Word {
    /// Appends it.
    ///
    /// ```
    /// use wengert::tree::Word;
    ///
    /// let mut text = String::new();
    /// ("block", 12).push_to(&mut text);
    /// assert_eq!(text, "block12");
    /// ```
    fn push_to(&self, text: &mut String);
}

impl Word for str {
    fn push_to(&self, text: &mut String) {
        text.push_str(self);
    }
}

impl Word for String {
    fn push_to(&self, text: &mut String) {
        text.push_str(self);
    }
}

impl Word for usize {
    fn push_to(&self, text: &mut String) {
        if *self > 9 {
            (self / 10).push_to(text);
        }
        text.push(char::from(b'0' + (self % 10) as u8));
    }
}

impl Word for fmt::Arguments<'_> {
    fn push_to(&self, text: &mut String) {
        text.write_fmt(*self).expect("what is displayed does not fail");
    }
}

impl<W: Word + ?Sized> Word for &W {
    fn push_to(&self, text: &mut String) {
        (**self).push_to(text);
    }
}

impl<V: Word, W: Word> Word for (V, W) {
    fn push_to(&self, text: &mut String) {
        self.0.push_to(text);
        self.1.push_to(text);
    }
}

/// Whether a leaf lies at `path` or below it; the empty path is the root.
pub fn lies_below(leaf: &str, path: &str) -> bool {
    match leaf.strip_prefix(path) {
        Some(rest) => path.is_empty() || rest.is_empty() || rest.starts_with('.'),
        None => false,
    }
}

impl Display for TreePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.dotted)
    }
}
