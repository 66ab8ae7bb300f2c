//! Handwritten digits: 8 x 8 grey images with their labels, embedded in the program.

use wengert::prelude::*;

/// Rows of 65 bytes: 64 pixels from 0 to 16, then the label; see `data/README.md`.
static BYTES: &[u8] = include_bytes!("../data/digits.bin");

/// Pixels along each side of an image.
pub const SIDE: usize = 8;
/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;
/// The number of classes.
pub const CLASSES: usize = 10;
/// The number of rows at the end of the file that are held out from training.
const HELD_OUT: usize = 360;
/// The darkest pixel.
const INK: u8 = 16;
/// The largest noise added to a pixel.
const NOISE: f64 = 0.3;

/// Images with their labels.
#[derive(Clone)]
pub struct Digits {
    /// `f32[count, 64]`, from 0 (paper) to 1 (ink).
    pub images: Tensor,
    /// `i64[count]`, from 0 to 9.
    pub labels: Tensor,
}

impl Digits {
    /// The training set and the test set.
    ///
    /// ```
    /// use wengert_cli::digits::Digits;
    /// let (train, test) = Digits::load();
    /// assert_eq!((train.count(), test.count()), (1437, 360));
    /// ```
    pub fn load() -> (Digits, Digits) {
        let (train, test) = BYTES.split_at(BYTES.len() - HELD_OUT * (PIXELS + 1));
        (Digits::parse(train), Digits::parse(test))
    }

    fn parse(bytes: &[u8]) -> Digits {
        let rows = bytes.chunks_exact(PIXELS + 1);
        let labels: Vec<i64> = rows.clone().map(|row| i64::from(row[PIXELS])).collect();
        let pixels = rows.flat_map(|row| &row[..PIXELS]).map(|&pixel| f32::from(pixel) / f32::from(INK)).collect();
        Digits { images: Tensor::from_vec(pixels, [labels.len(), PIXELS]), labels: Tensor::from(labels) }
    }

    /// The number of images.
    pub fn count(&self) -> usize {
        self.labels.elements()
    }
}

/// Shifts every image of `[count, 64]` by up to half a pixel in each direction and adds noise, so that a network cannot memorise single
/// pixels.
pub fn disturbed(images: &Tensor, key: &mut Key) -> Tensor {
    let count = images.size(0);
    let mut moved_images = images.reshape([count, SIDE, SIDE]);
    for _ in ["down", "across"] {
        let distance = key.next().uniform([count, 1, 1], DType::F32) - 0.5;
        moved_images = moved(&moved_images, &distance).permute([0, 2, 1]);
    }
    let noise = (key.next().uniform([count, PIXELS], DType::F32) * 2.0 - 1.0) * NOISE;
    moved_images.reshape([count, PIXELS]) + noise
}

/// Shifts images along axis 1 by at most one pixel, with linear interpolation between neighbours and paper beyond the border.
fn moved(images: &Tensor, distance: &Tensor) -> Tensor {
    let mut padded = Tensor::full([images.shape()[0], SIDE + 2, SIDE], 0f32);
    padded.set((.., 1..SIDE + 1), images);
    let (before, after) = (padded.slice((.., ..SIDE)), padded.slice((.., 2..)));
    let (forward, backward) = (distance.relu(), (-distance).relu());
    images * (1.0 - &forward - &backward) + before * forward + after * backward
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_pixel_moves_rows_and_loses_those_beyond_the_border() {
        let images = Digits::load().0.images.slice(..3).reshape([3, SIDE, SIDE]);
        let down = moved(&images, &Tensor::full([3, 1, 1], 1f32));
        assert_eq!(down.slice((.., 1..)), images.slice((.., ..SIDE - 1)));
        assert_eq!(down.slice((.., 0)).sum().item(), 0.0);
        let up = moved(&images, &Tensor::full([3, 1, 1], -1f32));
        assert_eq!(up.slice((.., ..SIDE - 1)), images.slice((.., 1..)));
    }

    #[test]
    fn disturbed_digits_are_the_same_for_the_same_key() {
        let images = Digits::load().1.images;
        let one = disturbed(&images, &mut Key::new(3));
        assert_eq!(one, disturbed(&images, &mut Key::new(3)));
        assert_ne!(one, disturbed(&images, &mut Key::new(4)));
        assert_ne!(one, images);
    }
}
