//! Pictures of a folder, with one folder for each class.

mod pixels;
mod resize;

pub use pixels::Pixels;

use super::Data;
use crate::files::limit::{expect_within, wrong};
use crate::prelude::*;
use std::path::{Path, PathBuf};

/// Pictures (PNG and JPEG) in one folder for each class: `folder/cat/1.png`, `folder/dog/2.jpg`. A batch is decoded when it is asked for.
///
/// A batch has the pictures, f32 of shape [batch, channels, height, width] from 0 to 1, and the numbers of their classes, i64.
///
/// ```no_run
/// use wengert::nn::data::{ImageFolder, Loader, Pixels};
/// let folder = ImageFolder::open("pictures", Pixels::rgb(64, 64))?;
/// println!("{:?}", folder.classes());
/// for batch in Loader::new(folder, 32).shuffled(0).prefetch(2).epoch() {
///     let (pictures, classes) = batch?;
///     assert_eq!(pictures.shape()[1..], [3, 64, 64]);
/// }
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageFolder {
    pixels: Pixels,
    classes: Vec<String>,
    /// The files, with the numbers of their classes.
    files: Vec<(PathBuf, usize)>,
}

impl ImageFolder {
    /// Lists the pictures of a folder: files in its sub-folders whose names end with `.png`, `.jpg` or `.jpeg`. Classes and files are sorted
    /// by name. Other files are passed over, as are names that begin with a dot. A class without pictures is an error.
    pub fn open(folder: impl AsRef<Path>, pixels: Pixels) -> Result<ImageFolder, Error> {
        let folder = folder.as_ref();
        let (mut classes, mut files) = (Vec::new(), Vec::new());
        for path in sorted(folder)? {
            if !path.is_dir() {
                continue;
            }
            let before = files.len();
            let pictures = sorted(&path)?.into_iter().filter(|path| is_picture(path));
            files.extend(pictures.map(|picture| (picture, classes.len())));
            if files.len() == before {
                return Err(wrong(&path, "the class has no pictures"));
            }
            classes.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        if classes.is_empty() {
            return Err(wrong(folder, "there is no folder of a class"));
        }
        Ok(ImageFolder { pixels, classes, files })
    }

    /// The names of the classes, in the order of their numbers.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The file of an example, and the number of its class.
    pub fn file(&self, position: usize) -> Option<(&Path, usize)> {
        self.files.get(position).map(|(path, class)| (path.as_path(), *class))
    }
}

/// The entries of a folder by name, without hidden ones.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error: std::io::Error| wrong(folder, &error.to_string());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_picture(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["png", "jpg", "jpeg"].iter().any(|known| ending.eq_ignore_ascii_case(known)) && !path.is_dir()
}

impl Data for ImageFolder {
    type Batch = (Tensor, Tensor);

    fn len(&self) -> usize {
        self.files.len()
    }

    fn batch(&self, positions: &[usize]) -> Result<(Tensor, Tensor), Error> {
        let [channels, height, width] = self.pixels.shape();
        let values = self.pixels.values()?.saturating_mul(positions.len());
        expect_within((values as u64).saturating_mul(4), "the batch")?;
        let (mut pictures, mut labels) = (Vec::with_capacity(values), Vec::with_capacity(positions.len()));
        for position in positions {
            let Some((path, class)) = self.files.get(*position) else {
                let message = format!("there is no picture {position}, only {}", self.files.len());
                return Err(Error::new(ErrorKind::Range, "ImageFolder", message));
            };
            self.pixels.append_file(path, &mut pictures)?;
            labels.push(*class as i64);
        }
        let shape = [positions.len(), channels, height, width];
        Ok((Tensor::try_from_vec(pictures, shape)?, Tensor::from(labels)))
    }
}
