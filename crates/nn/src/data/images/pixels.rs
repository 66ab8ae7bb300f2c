//! Pictures as numbers.

use super::resize::resize;
use crate::files::limit::{self, expect_within, refused};
use crate::prelude::*;
use image::{ImageDecoder, ImageReader, Limits};
use std::io::Cursor;
use std::path::Path;

/// No picture has more bytes for a byte of its file: about 1,000 for PNG and 1,400 for JPEG.
const MOST_EXPANSION: u64 = 2048;

/// The size and the colours that pictures are brought to.
///
/// Pictures are stretched to the size with a triangle filter, which averages over the area of a pixel where it shrinks them. Transparency
/// and tags of orientation are not looked at.
///
/// ```
/// use wengert::nn::data::Pixels;
/// let error = Pixels::rgb(32, 32).parse(b"not a picture").unwrap_err();
/// assert!(error.to_string().contains("neither PNG nor JPEG"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels {
    channels: usize,
    height: usize,
    width: usize,
}

impl Pixels {
    /// Red, green and blue.
    pub fn rgb(height: usize, width: usize) -> Pixels {
        Pixels { channels: 3, height, width }
    }

    /// Brightness alone.
    pub fn grey(height: usize, width: usize) -> Pixels {
        Pixels { channels: 1, height, width }
    }

    /// The shape of a picture: [channels, height, width].
    pub fn shape(&self) -> [usize; 3] {
        [self.channels, self.height, self.width]
    }

    /// Reads a file: f32 of shape [channels, height, width], from 0 to 1.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Tensor, Error> {
        limit::parse(path.as_ref(), |bytes| self.parse(bytes))
    }

    /// The picture in the bytes of a PNG or JPEG file: f32 of shape [channels, height, width], from 0 to 1.
    pub fn parse(&self, bytes: &[u8]) -> Result<Tensor, Error> {
        let mut values = Vec::new();
        self.append(bytes, &mut values)?;
        Tensor::try_from_vec(values, self.shape())
    }

    /// The number of values of a picture.
    pub(super) fn values(&self) -> Result<usize, Error> {
        limit::expect_shape(&self.shape(), 4).map(|bytes| bytes / 4)
    }

    /// Appends the values of a file.
    pub(super) fn append_file(&self, path: &Path, values: &mut Vec<f32>) -> Result<(), Error> {
        limit::parse(path, |bytes| self.append(bytes, values))
    }

    fn append(&self, bytes: &[u8], values: &mut Vec<f32>) -> Result<(), Error> {
        let damaged = |error: image::ImageError| refused(format!("the picture is damaged: {error}"));
        let mut reader = ImageReader::new(Cursor::new(bytes))
            .with_guessed_format()
            .ok()
            .filter(|reader| reader.format().is_some_and(|format| format.reading_enabled()))
            .ok_or_else(|| refused("neither PNG nor JPEG"))?;
        let mut limits = Limits::default();
        limits.max_alloc = Some(limit::limit());
        reader.limits(limits);
        let decoder = reader.into_decoder().map_err(damaged)?;
        let (columns, rows) = decoder.dimensions();
        let size = decoder.total_bytes();
        if size > MOST_EXPANSION.saturating_mul(bytes.len() as u64) {
            let message = format!("{} bytes cannot be a picture of {columns} by {rows}", bytes.len());
            return Err(refused(message));
        }
        // The same picture with a byte for each channel may be larger, for a palette of greys.
        let pixels = u64::from(columns) * u64::from(rows);
        expect_within(size.max(pixels.saturating_mul(self.channels as u64)), "the picture")?;
        if pixels == 0 {
            return Err(refused("the picture is empty"));
        }
        values.try_reserve_exact(self.values()?).map_err(|error| refused(error.to_string()))?;
        let picture = image::DynamicImage::from_decoder(decoder).map_err(damaged)?;
        let source = match self.channels {
            1 => picture.into_luma8().into_raw(),
            _ => picture.into_rgb8().into_raw(),
        };
        resize(&source, [rows as usize, columns as usize], self.shape(), values);
        Ok(())
    }
}
