//! Readers of data files: exact values, every error, and damaged files.

#[path = "../mutation/mod.rs"]
mod mutation;

mod arrays;
mod csv;
#[cfg(feature = "images")]
mod images;
mod text;

use std::collections::BTreeSet;
use wengert::prelude::*;

/// `WENGERT_FUZZ=1000000 cargo test --release -p wengert-nn --features images,tensorboard --test suite readers` for a long run.
#[test]
fn damaged_files_are_read_or_refused_and_never_panic() {
    let mut outcomes = BTreeSet::new();
    mutation::run(mutation::count(3_000), |format, bytes| {
        let outcome = (format.read)(bytes);
        outcomes.insert((format.name, outcome.is_ok()));
        match outcome {
            Err(error) if *error.kind() != ErrorKind::File => Err(format!("the error is {error}")),
            _ => Ok(()),
        }
    });
    // Damage that is always found at once would test little.
    for format in mutation::formats() {
        assert!(outcomes.contains(&(format.name, true)), "no damaged {} file is read", format.name);
        assert!(outcomes.contains(&(format.name, false)), "no damaged {} file is refused", format.name);
    }
}

#[test]
fn undamaged_files_are_read() {
    for format in mutation::formats() {
        for file in &format.files {
            (format.read)(file).unwrap_or_else(|error| panic!("{}: {error}", format.name));
        }
    }
}

/// The message of the error of a reader.
fn message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("it was read"),
        Err(error) => {
            assert_eq!(*error.kind(), ErrorKind::File, "{error}");
            error.message().to_string()
        }
    }
}

/// A folder for the files of a test.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("wengert_nn_readers_{name}_{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}
