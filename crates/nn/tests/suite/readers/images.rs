//! Pictures.

use super::{folder, message};
use wengert::nn::data::{Data, ImageFolder, Loader, Pixels};
use wengert::prelude::*;

const RGB: &[u8] = include_bytes!("../../data/images/rgb.png");
const GREY: &[u8] = include_bytes!("../../data/images/grey.png");
const GREY16: &[u8] = include_bytes!("../../data/images/grey16.png");
const ALPHA: &[u8] = include_bytes!("../../data/images/alpha.png");

fn jpeg() -> Vec<u8> {
    let picture = image::RgbImage::from_pixel(16, 16, image::Rgb([200, 100, 50]));
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, image::ImageFormat::Jpeg).unwrap();
    bytes.into_inner()
}

fn close(x: &Tensor, expected: &[f64], tolerance: f64) {
    let values = x.to_f64_vec();
    assert_eq!(values.len(), expected.len());
    for (value, wanted) in values.iter().zip(expected) {
        assert!((value - wanted).abs() <= tolerance, "{values:?} against {expected:?}");
    }
}

#[test]
fn pixels_of_the_right_size_keep_their_values() {
    let x = Pixels::rgb(2, 2).parse(RGB).unwrap();
    assert_eq!((x.shape(), x.dtype()), (&[3, 2, 2][..], DType::F32));
    close(&x, &[1.0, 0.0, 0.0, 0.2, 0.0, 1.0, 0.0, 0.4, 0.0, 0.0, 1.0, 0.8], 1e-7);
    close(&Pixels::grey(1, 1).parse(GREY16).unwrap(), &[128.0 / 255.0], 1e-7);
    close(&Pixels::rgb(1, 1).parse(ALPHA).unwrap(), &[1.0, 0.2, 0.0], 1e-7);
    close(&Pixels::rgb(1, 1).parse(&jpeg()).unwrap(), &[200.0 / 255.0, 100.0 / 255.0, 50.0 / 255.0], 0.01);
}

/// PyTorch: `interpolate(x, size, mode="bilinear", antialias=True)`.
#[test]
fn pictures_are_resized_with_a_triangle() {
    // The weights of four pixels for two are 3/7, 3/7 and 1/7 of each side.
    let side = |near: f64, far: f64| (6.0 * near + far) / 7.0;
    let (top, below) = ([side(0.0, 1.0), side(1.0, 0.0)], [side(0.2, 0.4), side(0.4, 0.2)]);
    let expected = [side(top[0], below[0]), side(top[1], below[1]), side(below[0], top[0]), side(below[1], top[1])];
    close(&Pixels::grey(2, 2).parse(GREY).unwrap(), &expected, 1e-6);
    // Larger: half-way between centres, and constant outside them.
    let wide = Pixels::rgb(2, 4).parse(RGB).unwrap();
    close(&wide.slice((0, 0)), &[1.0, 0.75, 0.25, 0.0], 1e-6);
    assert_eq!(Pixels::rgb(0, 5).parse(RGB).unwrap().shape(), [3, 0, 5]);
}

#[test]
fn a_folder_is_a_set_of_labelled_pictures() {
    let folder = folder("images");
    for (name, bytes) in [
        ("dog/b.png", RGB),
        ("dog/A.PNG", GREY),
        ("cat/x.jpeg", &jpeg()),
        ("cat/notes.txt", b"no picture"),
        ("cat/.hidden.png", b"no picture"),
        ("readme.png", b"no picture"),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let data = ImageFolder::open(&folder, Pixels::rgb(2, 2)).unwrap();
    assert_eq!((data.classes(), data.len()), (&["cat".to_string(), "dog".to_string()][..], 3));
    assert!(data.file(1).unwrap().0.ends_with("dog/A.PNG"));
    assert!(data.file(3).is_none());
    let (pictures, labels) = data.batch(&[2, 0]).unwrap();
    assert_eq!((pictures.shape(), labels), (&[2, 3, 2, 2][..], Tensor::from([1i64, 0])));
    close(&pictures.slice(0), &[1.0, 0.0, 0.0, 0.2, 0.0, 1.0, 0.0, 0.4, 0.0, 0.0, 1.0, 0.8], 1e-7);
    assert_eq!(*data.batch(&[3]).unwrap_err().kind(), ErrorKind::Range);
    let sizes: Vec<usize> =
        Loader::new(data, 2).shuffled(0).prefetch(1).epoch().map(|batch| batch.unwrap().1.elements()).collect();
    assert_eq!(sizes, [2, 1]);

    let bad = folder.join("dog/c.jpg");
    std::fs::write(&bad, &jpeg()[..40]).unwrap();
    let data = ImageFolder::open(&folder, Pixels::rgb(2, 2)).unwrap();
    assert!(message(data.batch(&[3])).starts_with(&format!("{}: the picture is damaged", bad.display())));
    std::fs::create_dir(folder.join("empty")).unwrap();
    let error = message(ImageFolder::open(&folder, Pixels::rgb(2, 2)));
    assert_eq!(error, format!("{}: the class has no pictures", folder.join("empty").display()));
    let error = message(ImageFolder::open(folder.join("empty"), Pixels::rgb(2, 2)));
    assert!(error.ends_with("there is no folder of a class"));
    assert!(message(ImageFolder::open(folder.join("nowhere"), Pixels::rgb(2, 2))).contains("nowhere"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn hostile_pictures_are_refused() {
    assert_eq!(message(Pixels::rgb(2, 2).parse(b"GIF89a")), "neither PNG nor JPEG");
    assert_eq!(message(Pixels::rgb(2, 2).parse(b"")), "neither PNG nor JPEG");
    assert!(message(Pixels::rgb(2, 2).parse(&RGB[..50])).contains("damaged"));
    assert!(message(Pixels::rgb(1 << 40, 1 << 40).parse(RGB)).contains("larger than memory"));
    // A width and height of 60,000, with the right checksum.
    let mut large = RGB.to_vec();
    large[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let mut sum = flate2::Crc::new();
    sum.update(&large[12..29]);
    large[29..33].copy_from_slice(&sum.sum().to_be_bytes());
    assert!(message(Pixels::rgb(2, 2).parse(&large)).contains("cannot be a picture of 60000 by 60000"));
}
