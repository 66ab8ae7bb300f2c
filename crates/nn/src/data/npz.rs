//! NumPy's `.npz` files: arrays by name, as `.npy` files in a zip archive.

use super::{npy, zip};
use crate::files::limit::refused;
use crate::files::{NamedTensors, atomic, limit};
use crate::prelude::*;
use std::path::Path;

/// Reads the arrays of a file, plain (`numpy.savez`) or compressed (`numpy.savez_compressed`).
///
/// ```
/// use wengert::nn::data::npz;
/// use wengert::nn::{Linear, files::NamedTensors};
/// use wengert::prelude::*;
/// let path = std::env::temp_dir().join("wengert_npz_example.npz");
/// let model = Linear::new(2, 3, &mut Key::new(0));
/// npz::save(&NamedTensors::of(&model), &path)?;
/// let mut other = Linear::new(2, 3, &mut Key::new(1));
/// assert!(npz::read(&path)?.load_into(&mut other, true).is_empty());
/// assert_eq!(other.weight, model.weight);
/// # Ok::<(), Error>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<NamedTensors, Error> {
    limit::parse(path.as_ref(), parse)
}

/// Writes tensors to a file, not compressed, beside the old one, and renames it. The format has no place for texts, so they are an error.
pub fn save(tensors: &NamedTensors, path: impl AsRef<Path>) -> Result<(), Error> {
    atomic::write(path.as_ref(), &bytes(tensors)?)
}

/// The arrays in the bytes of a file.
///
/// ```
/// use wengert::nn::data::npz;
/// assert!(npz::parse(b"not an archive").is_err());
/// ```
pub fn parse(bytes: &[u8]) -> Result<NamedTensors, Error> {
    let mut named = NamedTensors::default();
    for entry in zip::entries(bytes)? {
        let inside = |error: Error| refused(format!("{}: {}", entry.name, error.message())).help_of(&error);
        let Some(name) = entry.name.strip_suffix(".npy") else {
            return Err(refused(format!("{} is not an array: its name does not end with .npy", entry.name)));
        };
        let tensor = entry.contents().and_then(|contents| npy::parse(&contents)).map_err(inside)?;
        if named.tensors.insert(name.to_string(), tensor).is_some() {
            return Err(refused(format!("{name} is there twice")));
        }
    }
    Ok(named)
}

/// The bytes of a file. Equal tensors give equal bytes.
///
/// ```
/// use wengert::nn::{data::npz, files::NamedTensors};
/// use wengert::prelude::*;
/// let mut named = NamedTensors::default();
/// named.tensors.insert("x".to_string(), Tensor::from([1.0, 2.0]));
/// assert_eq!(npz::parse(&npz::bytes(&named)?)?.tensors, named.tensors);
/// # Ok::<(), Error>(())
/// ```
pub fn bytes(tensors: &NamedTensors) -> Result<Vec<u8>, Error> {
    if let Some(name) = tensors.texts.keys().next() {
        let message = format!("a .npz file has no place for the text `{name}`");
        return Err(Error::new(ErrorKind::Argument, "save", message).help("save as safetensors, or clear `texts`"));
    }
    let mut archive = zip::Writer::default();
    for (name, tensor) in &tensors.tensors {
        archive.add(&format!("{name}.npy"), &npy::bytes(tensor)?)?;
    }
    archive.finish()
}
