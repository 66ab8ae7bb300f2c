//! A source location in one word.
//!
//! A location known at compile time is a `&'static Location`, and its address is stored as it is, so recording the caller costs nothing. A
//! location named at run time is interned for the lifetime of the process, and its address is tagged in the lowest bit.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// A location in a source file of any language: file, line and column, counted from 1.
///
/// ```
/// use wengert_kernels::Line;
/// let here = Line::caller();
/// assert!(here.file().ends_with(".rs") && here.line() > 0);
/// let formula = Line::new("model.txt", 3, 14);
/// assert_eq!(formula.to_string(), "model.txt:3:14");
/// assert_eq!(size_of::<Option<Line>>(), size_of::<usize>());
/// ```
#[derive(Clone, Copy)]
pub struct Line(NonNull<()>);

// SAFETY: it refers to locations that never change and are never freed.
unsafe impl Send for Line {}
// SAFETY: as above.
unsafe impl Sync for Line {}

/// A location that was named at run time.
struct Named {
    file: &'static str,
    line: u32,
    column: u32,
}

enum Place {
    Compiled(&'static Location<'static>),
    Named(&'static Named),
}

/// The tag bit in the address of a [`Named`].
const NAMED: usize = 1;
const _: () = assert!(align_of::<Location<'_>>() > NAMED && align_of::<Named>() > NAMED);

/// All interned locations, by file, then line and column.
static PLACES: Mutex<BTreeMap<&'static str, BTreeMap<(u32, u32), Line>>> = Mutex::new(BTreeMap::new());

impl Line {
    /// The location of the caller.
    #[inline]
    #[track_caller]
    pub fn caller() -> Line {
        Line::from(Location::caller())
    }

    /// The location with this name. Locations are interned: each is stored once, for the lifetime of the process.
    pub fn new(file: &str, line: u32, column: u32) -> Line {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let file: &'static str = match places.get_key_value(file) {
            Some((file, _)) => file,
            None => Box::leak(Box::<str>::from(file)),
        };
        let named = || {
            let named: &'static Named = Box::leak(Box::new(Named { file, line, column }));
            Line(NonNull::from(named).cast().map_addr(|address| address | NAMED))
        };
        *places.entry(file).or_default().entry((line, column)).or_insert_with(named)
    }

    #[inline]
    fn place(self) -> Place {
        match self.address() & NAMED {
            // SAFETY: an untagged address is that of a location passed to `from`.
            0 => Place::Compiled(unsafe { self.0.cast().as_ref() }),
            // SAFETY: a tagged address is that of a location leaked by `new`. Alignment keeps the bit free, so clearing it restores the
            // address.
            _ => Place::Named(unsafe { &*self.0.as_ptr().map_addr(|address| address & !NAMED).cast() }),
        }
    }

    /// A number unique to this location; others may have the same file, line and column.
    #[inline]
    pub fn address(self) -> usize {
        self.0.addr().get()
    }

    /// The file's path, as the compiler was given it, or as it was named.
    pub fn file(self) -> &'static str {
        match self.place() {
            Place::Compiled(place) => place.file(),
            Place::Named(place) => place.file,
        }
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        match self.place() {
            Place::Compiled(place) => place.line(),
            Place::Named(place) => place.line,
        }
    }

    /// The column, from 1.
    pub fn column(self) -> u32 {
        match self.place() {
            Place::Compiled(place) => place.column(),
            Place::Named(place) => place.column,
        }
    }

    fn parts(self) -> (&'static str, u32, u32) {
        (self.file(), self.line(), self.column())
    }
}

impl From<&'static Location<'static>> for Line {
    #[inline]
    fn from(place: &'static Location<'static>) -> Line {
        Line(NonNull::from(place).cast())
    }
}

/// Equal file, line and column.
impl PartialEq for Line {
    fn eq(&self, other: &Line) -> bool {
        self.0 == other.0 || self.parts() == other.parts()
    }
}

impl Eq for Line {}

impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// `file:line:column`.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file(), self.line(), self.column())
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_from_all_threads() {
        let name = |line| Line::new(&String::from("formula"), line, 7);
        let lines: Vec<Line> =
            (0..4).map(|_| std::thread::spawn(move || name(3))).map(|it| it.join().unwrap()).collect();
        assert!(lines.iter().all(|line| line.address() == lines[0].address()));
        assert_ne!(name(4).address(), lines[0].address());
        assert_eq!(name(4).file().as_ptr(), lines[0].file().as_ptr(), "a file's name is kept once");
        assert_eq!((name(4).line(), name(4).column(), name(4).to_string()), (4, 7, "formula:4:7".into()));
    }

    #[test]
    fn a_place_and_its_name_are_equal() {
        let here = Line::caller();
        assert_eq!((here.file(), here.line()), (file!(), line!() - 1));
        let named = Line::new(here.file(), here.line(), here.column());
        assert_eq!(here, named);
        assert_ne!(here.address(), named.address());
        assert_ne!(here, Line::caller());
        let hash = |line: Line| {
            std::hash::BuildHasher::hash_one(
                &std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default(),
                line,
            )
        };
        assert_eq!(hash(here), hash(named));
    }
}
