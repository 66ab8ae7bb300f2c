//! Files of every format that is read, with random damage.

use std::panic::AssertUnwindSafe;
use wengert::nn::data::{Csv, Header, Text, idx, npy, npz};
use wengert::nn::files::NamedTensors;
use wengert::prelude::*;

/// A format: valid files, and what reads them.
pub struct Format {
    pub name: &'static str,
    pub files: Vec<Vec<u8>>,
    pub read: fn(&[u8]) -> Result<(), Error>,
}

/// A small generator (SplitMix64): the same numbers everywhere.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// The number of damaged files of a run: `WENGERT_FUZZ`, or this many.
pub fn count(usual: usize) -> usize {
    std::env::var("WENGERT_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Reads `count` damaged files through `read`, which returns whether it was well-behaved.
pub fn run(count: usize, mut read: impl FnMut(&Format, &[u8]) -> Result<(), String>) {
    let formats = formats();
    for case in 0..count {
        let mut numbers = Numbers(case as u64);
        let format = &formats[case % formats.len()];
        let file = &format.files[numbers.below(format.files.len())];
        let bytes = damaged(file, &mut numbers);
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| read(format, &bytes)));
        let problem = outcome.unwrap_or_else(|_| Err("it panics".to_string()));
        if let Err(problem) = problem {
            panic!("{} case {case}: {problem}\n{bytes:?}", format.name);
        }
    }
}

pub fn formats() -> Vec<Format> {
    macro_rules! array {
        ($($name:literal)+) => { vec![$(include_bytes!(concat!("../data/arrays/", $name)).to_vec()),+] };
    }
    let mut named = NamedTensors::default();
    named.tensors.insert("weight".to_string(), Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]));
    named.tensors.insert("flag".to_string(), Tensor::from([true, false, true]));
    named.texts.insert("note".to_string(), "a text".to_string());
    let tables: [&[u8]; 3] =
        [b"a,b,c\n1,2,3\n4,5.5,-6e3\n", b"1,2\r\n\"3\",\"4\"\r\n", b"\"x \"\"y\"\"\",z\n1e10,nan\n\n0.25, 7 \n"];
    #[allow(unused_mut)]
    let mut formats = vec![
        Format {
            name: "npy",
            files: array!["f8.npy" "f4_big.npy" "i4_big_fortran.npy" "u1.npy" "b1.npy" "i2.npy" "version2.npy" "empty.npy"],
            read: |bytes| {
                let tensor = npy::parse(bytes)?;
                let again = npy::parse(&npy::bytes(&tensor)?)?;
                assert_eq!((again.as_bytes(), again.shape()), (tensor.as_bytes(), tensor.shape()), "a round trip");
                Ok(())
            },
        },
        Format { name: "npz", files: array!["stored.npz" "deflated.npz"], read: |bytes| npz::parse(bytes).map(drop) },
        Format {
            name: "idx",
            files: [array!["images.idx.gz"], vec![vec![0, 0, 0x0b, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]]].concat(),
            read: |bytes| idx::parse(bytes).map(drop),
        },
        Format {
            name: "csv",
            files: tables.map(<[u8]>::to_vec).to_vec(),
            read: |bytes| {
                let text = String::from_utf8_lossy(bytes);
                let _ = Csv::options().delimiter(';').header(Header::No).columns([0, 1]).parse(&text);
                let vocabulary = Text::new(&text);
                assert_eq!(vocabulary.decode(&vocabulary.encode(&text)?)?, text);
                Csv::parse(&text).map(drop)
            },
        },
        Format {
            name: "safetensors",
            files: vec![named.bytes().expect("contiguous tensors")],
            read: |bytes| {
                let named = NamedTensors::parse(bytes)?;
                let again = NamedTensors::parse(&named.bytes()?)?;
                assert_eq!(again.tensors.len(), named.tensors.len(), "a round trip");
                Ok(())
            },
        },
    ];
    #[cfg(feature = "images")]
    formats.extend(images::formats());
    formats
}

/// The bytes of a picture in three colours, as its header says, in whole blocks of JPEG; 0 of other files.
#[allow(dead_code)] // One of the two tests does not ask.
pub fn picture(format: &Format, bytes: &[u8]) -> usize {
    #[cfg(feature = "images")]
    if matches!(format.name, "png" | "jpeg") {
        return images::declared(bytes);
    }
    let _ = (format, bytes);
    0
}

#[cfg(feature = "images")]
mod images {
    use super::Format;
    use wengert::nn::data::Pixels;

    pub fn formats() -> [Format; 2] {
        let picture = image::RgbImage::from_fn(12, 9, |x, y| image::Rgb([x as u8 * 20, y as u8 * 25, 99]));
        let mut jpeg = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut jpeg, image::ImageFormat::Jpeg).expect("a JPEG");
        let png = [&include_bytes!("../data/images/rgb.png")[..], include_bytes!("../data/images/grey16.png")];
        [
            Format {
                name: "png",
                files: png.map(<[u8]>::to_vec).to_vec(),
                read: |bytes| {
                    let mut whole = bytes.to_vec();
                    mend_checksums(&mut whole);
                    Pixels::grey(3, 5).parse(&whole).map(drop)
                },
            },
            Format {
                name: "jpeg",
                files: vec![jpeg.into_inner()],
                read: |bytes| Pixels::rgb(3, 5).parse(bytes).map(drop),
            },
        ]
    }

    pub fn declared(bytes: &[u8]) -> usize {
        let mut bytes = bytes.to_vec();
        mend_checksums(&mut bytes);
        let reader =
            image::ImageReader::new(std::io::Cursor::new(bytes)).with_guessed_format().expect("no file is read");
        reader.into_dimensions().map_or(0, |(width, height)| {
            let whole = |size: u32| (size as usize).next_multiple_of(16);
            3 * whole(width) * whole(height)
        })
    }

    /// Makes the checksums of the chunks right again, so that damage is found later.
    fn mend_checksums(bytes: &mut [u8]) {
        let mut start = 8;
        while let Some(length) = bytes.get(start..start + 4) {
            let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            let end = start + 8 + length;
            if end + 4 > bytes.len() {
                return;
            }
            let mut sum = flate2::Crc::new();
            sum.update(&bytes[start + 4..end]);
            bytes[end..end + 4].copy_from_slice(&sum.sum().to_be_bytes());
            start = end + 4;
        }
    }
}

/// The file with up to four kinds of damage.
fn damaged(file: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    const HUGE: [u64; 10] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];
    let mut bytes = file.to_vec();
    for _ in 0..=numbers.below(4) {
        let place = numbers.below(bytes.len());
        let end = place + numbers.below(bytes.len() - place + 1).min(64);
        match numbers.below(9) {
            0 | 1 if !bytes.is_empty() => bytes[place] ^= 1 << numbers.below(8),
            2 if !bytes.is_empty() => bytes[place] = numbers.next() as u8,
            3 => bytes.truncate(place),
            4 => drop(bytes.drain(place..end)),
            5 => drop(bytes.splice(place..place, bytes[place..end].to_vec())),
            6 => {
                let number = HUGE[numbers.below(HUGE.len())];
                let width = 1 << numbers.below(4);
                let (little, big) = (number.to_le_bytes(), number.to_be_bytes());
                let written = if numbers.below(2) == 0 { &little[..width] } else { &big[8 - width..] };
                let end = bytes.len().min(place + width);
                bytes[place..end].copy_from_slice(&written[..end - place]);
            }
            // A number in a text.
            7 | 8 => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place].is_ascii_digit()).collect();
                if let Some(place) = digits.get(numbers.below(digits.len())) {
                    let number = match numbers.below(3) {
                        0 => HUGE[numbers.below(HUGE.len())].to_string(),
                        1 => "9".repeat(numbers.below(40)),
                        _ => numbers.below(12).to_string(),
                    };
                    bytes.splice(*place..*place + 1, number.into_bytes());
                }
            }
            _ => {}
        }
    }
    bytes
}
