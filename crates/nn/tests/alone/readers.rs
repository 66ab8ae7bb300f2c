//! Readers take memory for what is there.

use crate::{ALLOCATOR, mutation, turn};
use wengert::nn::data::{Csv, idx, npy, npz};
use wengert::nn::files;
use wengert::prelude::*;

/// The bytes that `f` allocates.
fn allocated<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = ALLOCATOR.bytes();
    let result = f();
    (result, ALLOCATOR.bytes() - before)
}

#[test]
fn readers_allocate_for_what_is_there_and_not_for_what_is_declared() {
    let _turn = turn();
    // An inflater takes about 50 KiB, and the buffer for what it writes starts at 64 KiB.
    const AT_MOST: usize = 1 << 20;
    mutation::run(mutation::count(1_000), |format, bytes| {
        let (_, allocated) = allocated(|| (format.read)(bytes));
        // A picture may take twice the bytes that its header says, which are checked against the limit before.
        let most = AT_MOST + 2 * mutation::picture(format, bytes);
        if allocated > most { Err(format!("it allocates {allocated} bytes")) } else { Ok(()) }
    });

    // A valid file takes twice the bytes of its array: the file and the tensor.
    let numbers = Tensor::ones([1000, 1000]);
    let path = std::env::temp_dir().join(format!("wengert_nn_alone_{}.npy", std::process::id()));
    npy::save(&numbers, &path).expect("a file");
    let (read, taken) = allocated(|| npy::read(&path));
    std::fs::remove_file(&path).expect("the file");
    assert_eq!(read.expect("an array"), numbers);
    assert!(taken < 2 * 8_000_000 + (1 << 16), "{taken} bytes");

    // A device has no size and no end.
    #[cfg(unix)]
    {
        let before = files::limit();
        files::set_limit(1 << 20);
        let (endless, taken) = allocated(|| npy::read("/dev/zero"));
        files::set_limit(before);
        assert!(endless.unwrap_err().message().contains("more than the limit"));
        assert!(taken < 6 << 20, "{taken} bytes, counting each step of growth");
    }

    // Declared sizes that are not there.
    let mut idx_file = vec![0, 0, 0x0e, 2, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1];
    let (refused, taken) = allocated(|| idx::parse(&idx_file).is_err());
    assert!(refused && taken < 4096);
    idx_file.splice(..8, [0, 0, 0x0e, 2, 0, 0x10, 0, 0]);
    let (refused, taken) = allocated(|| idx::parse(&idx_file).is_err());
    assert!(refused && taken < 4096);
    let (table, taken) = allocated(|| Csv::parse(&"1\n".repeat(100_000)));
    assert_eq!(table.expect("a table").table.shape(), [100_000, 1]);
    assert!(taken < 1_200_000, "{taken} bytes");
    let archive = include_bytes!("../data/arrays/deflated.npz");
    let (arrays, taken) = allocated(|| npz::parse(archive));
    assert_eq!(arrays.expect("arrays").tensors.len(), 2);
    assert!(taken < 400_000, "{taken} bytes");
}
