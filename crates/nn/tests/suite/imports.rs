//! What this crate takes from the crates below is what a user can have too.

/// The names in `pub use path::{a, b as c};` lists of a source file, by the path after the crate's name.
fn exported(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    for statement in source.split(';') {
        let statement = statement.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<String>();
        let Some((_, list)) = statement.split_once("pub use wengert_") else { continue };
        let list = list.split_once("::").map_or("", |(_, list)| list);
        let (module, list) = match list.split_once('{') {
            Some((module, list)) => (module, list.trim_end_matches('}')),
            None => ("", list),
        };
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            names.push(format!("{module}{name}"));
        }
    }
    names
}

#[test]
fn everything_that_is_imported_is_exported_by_the_library() {
    let facade = exported(include_str!("../../../wengert/src/lib.rs"));
    let imported = exported(include_str!("../../src/prelude.rs"));
    assert!(imported.len() > 20);
    for name in imported {
        // Of a module that is exported as a whole, everything is.
        let module = name.split("::").next().unwrap_or_default().to_string();
        assert!(facade.contains(&name) || facade.contains(&module), "`wengert` does not export {name}");
    }
}

#[test]
fn no_other_file_names_a_crate_below() {
    fn each(folder: &std::path::Path, f: &mut dyn FnMut(&std::path::Path)) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { each(&path, f) } else { f(&path) }
        }
    }
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    each(&source, &mut |path| {
        let text = std::fs::read_to_string(path).expect("a source file");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let names_one = code.into_iter().any(|line| line.contains("wengert_engine") || line.contains("wengert_core"));
        assert!(!names_one || path.ends_with("prelude.rs"), "{} imports past prelude.rs", path.display());
    });
}
