//! Arrays of NumPy and MNIST, against files that NumPy wrote.

use super::{folder, message};
use wengert::nn::data::{idx, npy, npz};
use wengert::nn::files::NamedTensors;
use wengert::prelude::*;

macro_rules! file {
    ($name:literal) => {
        &include_bytes!(concat!("../../data/arrays/", $name))[..]
    };
}

/// Version 1 with a header and elements.
fn with_header(header: &str, elements: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), elements].concat()
}

#[test]
fn arrays_of_numpy_have_their_values() {
    let count = || Tensor::arange(0..6).reshape([2, 3]);
    let half = (count().cast(DType::F32) / 4.0).cast(DType::F16);
    let cube = (Tensor::arange(0..24).reshape([2, 3, 4]) - 5i64).cast(DType::I32);
    let expected: [(&[u8], Tensor); 16] = [
        (file!("f8.npy"), count().cast(DType::F64) + 0.5),
        (file!("f4_big.npy"), count().cast(DType::F32) - 1.25),
        (file!("f2.npy"), half.clone()),
        (file!("f2_big.npy"), half),
        (file!("i8_fortran.npy"), count() - 3i64),
        (file!("i4_big_fortran.npy"), cube),
        (file!("u1.npy"), Tensor::from([0u8, 1, 255])),
        (file!("b1.npy"), Tensor::from([[true, false], [false, true]])),
        (file!("i1.npy"), Tensor::from([-128i32, 0, 127])),
        (file!("i2.npy"), Tensor::from([-32768i32, 0, 32767])),
        (file!("u2_big.npy"), Tensor::from([0i32, 1, 65535])),
        (file!("u4.npy"), Tensor::from([0i64, 1, 4294967295])),
        (file!("scalar.npy"), Tensor::from(2.5)),
        (file!("empty.npy"), Tensor::zeros_of([0, 3], DType::F32)),
        (file!("version2.npy"), Tensor::from([1.0, -2.0])),
        (file!("version3.npy"), Tensor::from([1.0, -2.0])),
    ];
    for (bytes, tensor) in expected {
        let read = npy::parse(bytes).unwrap();
        assert_eq!((read.dtype(), read.shape(), &read), (tensor.dtype(), tensor.shape(), &tensor));
    }
}

#[test]
fn arrays_are_written_as_numpy_writes_them() {
    for bytes in
        [file!("f8.npy"), file!("f2.npy"), file!("u1.npy"), file!("b1.npy"), file!("scalar.npy"), file!("empty.npy")]
    {
        assert_eq!(npy::bytes(&npy::parse(bytes).unwrap()).unwrap(), bytes);
    }
    let transposed = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).t();
    assert_eq!(npy::parse(&npy::bytes(&transposed).unwrap()).unwrap(), transposed);
    for dtype in [DType::F64, DType::F32, DType::F16, DType::I64, DType::I32, DType::U8, DType::Bool] {
        let tensor = Tensor::from([[[0i64, 1, 1]]]).cast(dtype);
        assert_eq!(npy::parse(&npy::bytes(&tensor).unwrap()).unwrap(), tensor);
    }
    let error = npy::bytes(&Tensor::from([1.0]).cast(DType::BF16)).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::DType(vec![DType::BF16]));
}

#[test]
fn arrays_of_other_dtypes_are_refused_by_name() {
    assert_eq!(message(npy::parse(file!("u8_refused.npy"))), "the NumPy dtype '<u8' is not supported");
    assert_eq!(message(npy::parse(file!("c16_refused.npy"))), "the NumPy dtype '<c16' is not supported");
    assert_eq!(message(npy::parse(file!("object_refused.npy"))), "the NumPy dtype '|O' is not supported");
    assert!(message(npy::parse(file!("record_refused.npy"))).contains("not that of an array of numbers"));
}

#[test]
fn hostile_headers_are_refused() {
    let refused = |header: &str, reason: &str| {
        let message = message(npy::parse(&with_header(header, &[0; 16])));
        assert!(message.contains(reason), "{header}: {message}");
    };
    let of = |shape: &str| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}");
    assert_eq!(npy::parse(&with_header(&of("(2L,)"), &[0; 16])).unwrap(), Tensor::from([0.0, 0.0]));
    refused(&of("(3,)"), "an array of shape [3] has 24 bytes, here are 16");
    refused(&of("(1,)"), "an array of shape [1] has 8 bytes, here are 16");
    refused(&of("(4294967296, 4294967296)"), "larger than memory");
    refused(&of("(0, 4294967296, 4294967296)"), "larger than memory");
    refused(&of("(4611686018427387904, 4)"), "larger than memory");
    refused(&of("(1000000000000,)"), "more than the limit");
    refused(&of("(99999999999999999999,)"), "not that of an array");
    for shape in ["(-1,)", "(2", "2", "(2)", "(2,,)", "(2.0,)", "[2]", "()()", &format!("({})", "1,".repeat(65))] {
        refused(&of(shape), "not that of an array");
    }
    refused("", "not that of an array");
    refused("{}", "not that of an array");
    refused("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", "not that of an array");
    refused("{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}", "not that of an array");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}", "not that of an array");
    refused("{'descr': '=f8', 'fortran_order': False, 'shape': (2,)}", "'=f8' is not supported");
    refused("{'descr': 'é8', 'fortran_order': False, 'shape': (2,)}", "'é8' is not supported");

    assert!(message(npy::parse(b"PK")).contains("not a .npy file"));
    assert!(message(npy::parse(b"\x93NUMPY\x04\x00")).contains("version 4"));
    assert!(message(npy::parse(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{")).contains("ends within its header"));
    assert!(message(npy::parse(b"\x93NUMPY\x01\x00\x01\x00\xff")).contains("not text"));
    let bools = "{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}";
    assert_eq!(message(npy::parse(&with_header(bools, &[2]))), "a boolean is neither 0 nor 1");
}

#[test]
fn archives_of_numpy_have_their_values() {
    let stored = npz::parse(file!("stored.npz")).unwrap();
    assert_eq!(stored.tensors.keys().collect::<Vec<_>>(), ["bias", "weight"]);
    assert_eq!(stored.tensors["bias"], Tensor::from([1.5, -2.5]));
    assert_eq!(stored.tensors["weight"], Tensor::from([[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0]]));
    let deflated = npz::parse(file!("deflated.npz")).unwrap();
    assert_eq!(deflated.tensors["zeros"], Tensor::zeros([40, 50]));
    assert_eq!(deflated.tensors["count"], Tensor::arange(0..200));
}

#[test]
fn archives_are_written_and_read_again() {
    let folder = folder("npz");
    let path = folder.join("model.npz");
    let named = npz::parse(file!("deflated.npz")).unwrap();
    npz::save(&named, &path).unwrap();
    assert_eq!(npz::read(&path).unwrap().tensors, named.tensors);
    assert_eq!(npz::bytes(&named).unwrap(), std::fs::read(&path).unwrap());
    assert!(npz::parse(&npz::bytes(&NamedTensors::default()).unwrap()).unwrap().tensors.is_empty());

    let mut with_text = named;
    with_text.texts.insert("note".to_string(), String::new());
    assert_eq!(*npz::save(&with_text, &path).unwrap_err().kind(), ErrorKind::Argument);

    std::fs::write(&path, b"nothing").unwrap();
    assert_eq!(message(npz::read(&path)), format!("{}: not a zip archive, or not all of it", path.display()));
    npy::save(&Tensor::from([1u8, 2]), &path).unwrap();
    assert_eq!(npy::read(&path).unwrap(), Tensor::from([1u8, 2]));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn damaged_archives_are_refused_with_a_reason() {
    let archive = file!("stored.npz");
    let directory = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let end = archive.len() - 22;
    let changed = |place: usize, value: &[u8]| {
        let mut bytes = archive.to_vec();
        bytes[place..place + value.len()].copy_from_slice(value);
        message(npz::parse(&bytes))
    };
    assert!(changed(directory - 1, &[99]).ends_with("the size or the checksum differs"));
    assert!(changed(directory + 8, &[1]).contains("encrypted"));
    assert!(changed(directory + 10, &[9]).contains("another method than deflate"));
    assert!(changed(directory + 10, &[8]).contains("damaged"));
    assert!(changed(directory + 20, &[0xff, 0xff, 0, 0]).contains("its bytes are not there"));
    assert!(changed(directory + 24, &[0, 0, 0, 1]).contains("the size or the checksum differs"));
    assert!(changed(directory + 24, &[0xff; 4]).contains("zip64"));
    assert!(changed(directory + 42, &[1]).contains("its bytes are not there"));
    assert!(changed(directory + 46, &[0xff]).contains("not UTF-8"));
    assert!(changed(directory + 46 + 7, b"npx").contains("does not end with .npy"));
    assert!(changed(end + 10, &[3]).contains("directory is damaged"));
    assert!(changed(end + 16, &[0xff; 4]).contains("zip64"));
    assert!(changed(end + 16, &[0xff, 0xff, 0, 0]).contains("damaged"));

    // Two records of the directory for one entry.
    let mut bytes = npz::bytes(&npz::parse(file!("stored.npz")).unwrap().within("none")).unwrap();
    assert!(npz::parse(&bytes).is_ok());
    let mut one = NamedTensors::default();
    one.tensors.insert("x".to_string(), Tensor::ones([100]));
    bytes = npz::bytes(&one).unwrap();
    let directory = bytes.len() - 22 - (46 + 5);
    let record = bytes[directory..directory + 46 + 5].to_vec();
    bytes.splice(directory..directory, record);
    let end = bytes.len() - 22;
    bytes[end + 10] = 2;
    bytes[end + 12] = 2 * (46 + 5);
    assert_eq!(message(npz::parse(&bytes)), "entries of the zip archive overlap");
}

#[test]
fn compressed_bytes_inflate_to_the_declared_size_and_no_further() {
    let archive = file!("deflated.npz");
    let directory = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let declared = |size: u32| {
        let mut bytes = archive.to_vec();
        bytes[directory + 24..directory + 28].copy_from_slice(&size.to_le_bytes());
        message(npz::parse(&bytes))
    };
    let whole = 40 * 50 * 8 + 128;
    assert_eq!(
        declared(whole - 1),
        format!("zeros.npy: the compressed bytes are more than the declared {}", whole - 1)
    );
    assert!(declared(whole + 1).contains("damaged"));
    assert!(declared(1 << 30).contains("cannot be 1073741824 bytes"));
}

#[test]
fn arrays_of_mnist_have_their_values() {
    let images = idx::parse(file!("images.idx.gz")).unwrap();
    assert_eq!(images, Tensor::arange(0..12).cast(DType::U8).reshape([2, 3, 2]));
    let of = |code: u8, elements: &[u8]| idx::parse(&[&[0, 0, code, 1, 0, 0, 0, 2], elements].concat()).unwrap();
    assert_eq!(of(0x08, &[7, 255]), Tensor::from([7u8, 255]));
    assert_eq!(of(0x09, &[7, 255]), Tensor::from([7i32, -1]));
    assert_eq!(of(0x0b, &[1, 0, 255, 254]), Tensor::from([256i32, -2]));
    assert_eq!(of(0x0c, &[0, 1, 0, 0, 255, 255, 255, 255]), Tensor::from([65536i32, -1]));
    let numbers = [1.5f32.to_be_bytes(), (-2.5f32).to_be_bytes()].concat();
    assert_eq!(of(0x0d, &numbers), Tensor::from([1.5f32, -2.5]));
    let numbers = [1.5f64.to_be_bytes(), (-2.5f64).to_be_bytes()].concat();
    assert_eq!(of(0x0e, &numbers), Tensor::from([1.5, -2.5]));
    assert_eq!(idx::parse(&[0, 0, 8, 0, 9]).unwrap(), Tensor::from(9u8));

    let folder = folder("idx");
    let path = folder.join("images.gz");
    std::fs::write(&path, file!("images.idx.gz")).unwrap();
    assert_eq!(idx::read(&path).unwrap(), images);
    std::fs::write(&path, [1]).unwrap();
    assert!(message(idx::read(&path)).starts_with(&format!("{}: not an IDX file", path.display())));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn hostile_arrays_of_mnist_are_refused() {
    assert!(message(idx::parse(b"")).contains("not an IDX file"));
    assert!(message(idx::parse(&[0, 0, 0x0a, 0])).contains("0x0a"));
    assert!(message(idx::parse(&[0, 0, 8, 2, 0, 0, 0, 1])).contains("ends within its 2 sizes"));
    assert_eq!(message(idx::parse(&[0, 0, 8, 1, 0, 0, 0, 2, 1])), "an array of shape [2] has 2 bytes, here are 1");
    let axes = |rank: u8| [&[0, 0, 8, rank][..], &[0xff].repeat(4 * usize::from(rank))].concat();
    assert!(message(idx::parse(&axes(255))).contains("255 axes"));
    assert!(message(idx::parse(&axes(3))).contains("larger than memory"));

    let compressed = file!("images.idx.gz");
    let changed = |from_end: usize, value: u8| {
        let mut bytes = compressed.to_vec();
        let place = bytes.len() - from_end;
        bytes[place] = value;
        message(idx::parse(&bytes))
    };
    assert!(changed(4, 27).contains("more than the declared 27"));
    assert!(changed(4, 29).contains("damaged"));
    assert!(changed(1, 255).contains("cannot be"));
    assert!(changed(8, 0).contains("damaged"));
    assert!(message(idx::parse(&compressed[..20])).contains("cannot be"));
}

#[test]
fn tensors_of_too_many_axes_are_refused_in_safetensors_too() {
    let sizes = ["1"; 70].join(",");
    let header = format!("{{\"x\":{{\"dtype\":\"U8\",\"shape\":[{sizes}],\"data_offsets\":[0,1]}}}}");
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[7]].concat();
    assert!(message(NamedTensors::parse(&bytes)).contains("70 axes"));
}
