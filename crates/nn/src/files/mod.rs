//! Parameters in files.
//!
//! The format is safetensors, with the paths of the leaves as names: for the layers of this crate these are PyTorch's.

pub(crate) mod atomic;
pub(crate) mod limit;
mod named;

pub use limit::{limit, set_limit};
pub use named::{NamedTensors, Problem};

use crate::prelude::*;
use std::path::Path;

/// Writes the leaves of a tree to a safetensors file. The file is written beside the old one and renamed, so a reader finds the one or the
/// other, whole.
///
/// ```
/// use wengert::nn::{Linear, files};
/// use wengert::prelude::*;
/// let folder = std::env::temp_dir().join("wengert_save_example");
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("model.safetensors");
/// let model = Linear::new(2, 3, &mut Key::new(0));
/// files::save(&model, &path).unwrap();
/// let mut other = Linear::new(2, 3, &mut Key::new(1));
/// files::load(&mut other, &path).unwrap();
/// assert_eq!(other.weight, model.weight);
/// # std::io::Result::Ok(())
/// ```
pub fn save(tree: &impl Tree, path: impl AsRef<Path>) -> Result<(), Error> {
    NamedTensors::of(tree).save(path)
}

/// Reads the leaves of a tree from a safetensors file. Floats are converted to the dtype of the leaf.
///
/// Everything that is missing, unexpected or of another shape is named in one error, and then nothing is loaded.
pub fn load(tree: &mut impl Tree, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let problems = NamedTensors::read(path)?.load_into(tree, true);
    if problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = problems.iter().map(|problem| format!("\n    {problem}")).collect();
    let message = format!("{} does not fit:{}", path.display(), lines.concat());
    Err(Error::new(ErrorKind::File, "load", message).help("load_matching loads what fits and returns the list"))
}

/// Reads the leaves that fit from a safetensors file, and returns what did not.
pub fn load_matching(tree: &mut impl Tree, path: impl AsRef<Path>) -> Result<Vec<Problem>, Error> {
    Ok(NamedTensors::read(path.as_ref())?.load_into(tree, false))
}
