//! Handwritten digits: 8 x 8 grey images with their labels, embedded in the program.

use wengert::prelude::*;

/// Rows of 65 bytes: 64 pixels from 0 to 16, then the label; see `data/README.md`.
static BYTES: &[u8] = include_bytes!("../data/digits.bin");

/// Pixels along each side of an image.
pub const SIDE: usize = 8;
/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;
/// How many different labels there are.
pub const CLASSES: usize = 10;
/// The rows at the end of the file that are never trained on.
const HELD_OUT: usize = 360;
/// The darkest pixel.
const INK: u8 = 16;

/// Images with their labels.
#[derive(Clone)]
pub struct Digits {
    /// `f32[count, 64]`, from 0 (paper) to 1 (ink).
    pub images: Tensor,
    /// `i64[count]`, from 0 to 9.
    pub labels: Tensor,
}

impl Digits {
    /// The part to learn from and the part to be tested on.
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

    /// How many images there are.
    pub fn count(&self) -> usize {
        self.labels.elements()
    }

    /// The same digits in another order: row i becomes row `order[i]` of these.
    pub fn ordered(&self, order: &Tensor) -> Digits {
        let rows = order.reshape([order.elements(), 1]).broadcast_to([order.elements(), PIXELS]);
        Digits { images: self.images.gather(0, &rows), labels: self.labels.gather(0, order) }
    }

    /// Consecutive parts of at most `size` images.
    pub fn batches(&self, size: usize) -> impl Iterator<Item = Digits> {
        (0..self.count()).step_by(size).map(move |start| {
            let rows = start..(start + size).min(self.count());
            Digits { images: self.images.slice(rows.clone()), labels: self.labels.slice(rows) }
        })
    }
}
