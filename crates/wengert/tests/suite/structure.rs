//! Dependency rules that `Cargo.toml` cannot express: which parts of a crate may not name each other, and that every file is registered.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let (mut folders, mut found) = (vec![root().join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has sources");
    found
}

/// No line of code (excluding comments) under `folder` contains one of `words`.
fn absent(folder: &str, words: &[&str]) {
    for (path, text) in sources(folder) {
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let word = words.iter().find(|word| code.contains(**word));
            assert!(word.is_none(), "{path}:{}: `{}` may not be named here", number + 1, word.unwrap());
        }
    }
}

#[test]
fn two_crates_may_use_unsafe_code() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let is_allowed = ["kernels", "cuda"].contains(&folder.file_name().unwrap().to_str().unwrap());
        assert_eq!(manifest.contains("[lints]\nworkspace = true"), !is_allowed, "{}", folder.display());
    }
    // One of them only in its driver, and where it enters the table of devices.
    let allowing = sources("crates/cuda/src").into_iter().filter_map(|(path, text)| {
        let count = text.matches("allow(unsafe_code)").count();
        (count > 0).then(|| (Path::new(&path).file_name().unwrap().to_str().unwrap().to_string(), count))
    });
    let mut allowing: Vec<(String, usize)> = allowing.collect();
    allowing.sort();
    assert_eq!(allowing, [("lib.rs".to_string(), 1), ("machine.rs".to_string(), 1)]);
}

#[test]
fn a_build_without_the_feature_has_no_driver_of_gpus() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let users = lock.split("[[package]]").filter(|package| package.contains("\n \"cudarc\""));
    let users: Vec<&str> = users.filter_map(|package| package.split('"').nth(1)).collect();
    assert_eq!(users, ["wengert-cuda"]);
    let facade = fs::read_to_string(root().join("crates/wengert/Cargo.toml")).unwrap();
    assert!(facade.contains("wengert-cuda = { workspace = true, optional = true }"), "{facade}");
    let default = facade.lines().find(|line| line.starts_with("default = ")).unwrap();
    assert!(!default.contains("cuda"), "{default}");
}

#[test]
fn interpreters_never_name_an_operation() {
    absent("crates/core/src/interp", &["ground::"]);
}

#[test]
fn operations_never_name_an_interpreter() {
    for folder in ["crates/core/src/ground", "crates/ops/src"] {
        absent(folder, &["interp::", "Tracer", "Sweep", "LevelKind"]);
    }
}

#[test]
fn every_operation_file_is_registered() {
    for (folder, registry) in [
        ("crates/core/src/ground", "mod.rs"),
        ("crates/ops/src", "lib.rs"),
        ("crates/compiler/src/control", "../lib.rs"),
    ] {
        let registry = fs::read_to_string(root().join(folder).join(registry)).unwrap();
        for (path, text) in sources(folder) {
            let path = Path::new(&path);
            let family = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
            if ["ground", "src", "rules", "composite"].contains(&family) {
                continue;
            }
            let module = path.file_stem().unwrap().to_str().unwrap();
            assert!(registry.contains(&format!("        {module}: ")), "{family}/{module}.rs has no line in its list");
            assert!(text.starts_with("//! "), "{family}/{module}.rs has no header");
        }
    }
}

#[test]
fn every_theme_of_composites_is_registered() {
    for (path, text) in sources("crates/ops/src/composite") {
        let theme = Path::new(&path).file_stem().unwrap().to_str().unwrap();
        let listed = wengert::primitive::COMPOSITES.iter().any(|(name, _)| *name == theme);
        assert!(listed || theme == "mod", "{path}: its line belongs inside `composites!` in composite/mod.rs");
        assert!(text.starts_with("//! "), "{path} has no header");
    }
}
