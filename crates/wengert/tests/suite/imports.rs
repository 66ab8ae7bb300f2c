//! Files import each other in one direction: a cycle has at most two files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Module = Vec<String>;

/// The imports of a file, and its re-exports by name.
#[derive(Default)]
struct File {
    imports: Vec<Module>,
    passes_on: BTreeMap<String, Module>,
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d` and `a::c::e`.
fn expanded(text: &str) -> Vec<String> {
    let Some((prefix, rest)) = text.split_once('{') else {
        return vec![text.split(" as ").next().unwrap().trim().to_string()];
    };
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in rest[..rest.rfind('}').unwrap()].chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c == ',' && depth == 0 {
            true => parts.push(String::new()),
            false => parts.last_mut().unwrap().push(c),
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| expanded(&format!("{}{part}", prefix.trim()))).collect()
}

/// A path as written in `module`, from the root of the crate; `None` if it leads elsewhere.
fn absolute(module: &[String], path: &str, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut names: Vec<&str> = path.split("::").collect();
    let mut base = module.to_vec();
    match names[0] {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            while names.first() == Some(&"super") {
                base.pop()?;
                names.remove(0);
            }
            names.insert(0, "");
        }
        child => {
            let below: Module = base.iter().cloned().chain([child.to_string()]).collect();
            modules.contains(&below).then_some(())?;
            names.insert(0, "");
        }
    }
    Some(base.into_iter().chain(names[1..].iter().map(|name| name.to_string())).collect())
}

/// The file that defines an item.
fn origin(path: &[String], files: &BTreeMap<Module, File>) -> Option<Module> {
    let own = (0..=path.len()).rev().find(|&length| files.contains_key(&path[..length]))?;
    let passed_on = path.get(own).and_then(|name| files[&path[..own]].passes_on.get(name));
    match passed_on {
        Some(further) if further != path => origin(further, files),
        _ => Some(path[..own].to_vec()),
    }
}

fn read(text: &str, module: &[String], modules: &BTreeSet<Module>) -> File {
    let text: String = text.lines().map(|line| line.split("//").next().unwrap().to_string() + "\n").collect();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut file = File::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        let (is_public, rest) = match line.split_once("use ") {
            Some(("", rest)) => (false, rest),
            Some((before, rest)) if before == "pub " || (before.starts_with("pub(") && before.ends_with(") ")) => {
                (true, rest)
            }
            _ => {
                for (at, _) in line.match_indices("crate::").chain(line.match_indices("super::")) {
                    let end = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
                    let path = line[at..].split(end).next().unwrap().trim_end_matches(':');
                    let is_start = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '$' || c == ':');
                    file.imports.extend(absolute(module, path, modules).filter(|_| is_start));
                }
                continue;
            }
        };
        let mut statement = rest.to_string();
        while !statement.contains(';') {
            statement += lines.next().expect("a statement ends");
        }
        for path in expanded(statement.trim_end().trim_end_matches(';')) {
            let Some(path) = absolute(module, &path, modules) else { continue };
            match is_public {
                true => drop(file.passes_on.insert(path.last().unwrap().clone(), path)),
                false => file.imports.push(path),
            }
        }
    }
    file
}

/// The files of a crate by their modules.
fn texts(root: &Path) -> BTreeMap<Module, String> {
    let (mut folders, mut found) = (vec![root.to_path_buf()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let names = path.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module = names.iter().map(|name| name.to_str().unwrap().to_string()).collect();
            if matches!(module.last().unwrap().as_str(), "mod" | "lib" | "main") {
                module.pop();
            }
            found.insert(module, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// All files that each file reaches.
fn reached(edges: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let from = |start| {
        let (mut open, mut seen) = (vec![start], BTreeSet::new());
        while let Some(module) = open.pop() {
            open.extend(edges[module].iter().filter(|next| seen.insert(*next)));
        }
        seen
    };
    edges.keys().map(|module| (module, from(module))).collect()
}

#[test]
fn no_cycle_of_imports_has_more_than_two_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in
        ["kernels", "core", "ops", "compiler", "engine", "scalar", "wengert", "testkit", "cli", "pages", "gradbench"]
    {
        let texts = texts(&crates.join(name).join("src"));
        let modules: BTreeSet<Module> = texts.keys().cloned().collect();
        let files: BTreeMap<Module, File> =
            texts.iter().map(|(module, text)| (module.clone(), read(text, module, &modules))).collect();
        let edges: BTreeMap<Module, BTreeSet<Module>> = files
            .iter()
            .map(|(module, file)| {
                let origins = file.imports.iter().filter_map(|path| origin(path, &files));
                (module.clone(), origins.filter(|origin| origin != module).collect())
            })
            .collect();
        let reached = reached(&edges);
        for module in edges.keys() {
            let cycle: Vec<String> = reached[module]
                .iter()
                .filter(|other| reached[**other].contains(module))
                .map(|other| other.join("::"))
                .collect();
            assert!(cycle.len() <= 2, "{name}: these files import each other: {}", cycle.join(", "));
        }
    }
}

#[test]
fn cycles_are_found() {
    let texts = [
        ("a", "use crate::b::B;"),
        ("b", "use super::{c::{C, D}};"),
        ("c", "pub(crate) use crate::d::D;\nuse crate::a;"),
    ];
    let texts: BTreeMap<Module, &str> = texts.into_iter().map(|(name, text)| (vec![name.to_string()], text)).collect();
    let modules: BTreeSet<Module> = texts.keys().cloned().chain([vec![], vec!["d".into()]]).collect();
    let file = read(texts[&vec!["b".to_string()]], &["b".to_string()], &modules);
    assert_eq!(file.imports, [["c", "C"], ["c", "D"]].map(|path| path.map(String::from).to_vec()));
    let files: BTreeMap<Module, File> = modules
        .iter()
        .map(|module| (module.clone(), read(texts.get(module).unwrap_or(&""), module, &modules)))
        .collect();
    assert_eq!(origin(&["c".into(), "D".into()], &files), Some(vec!["d".into()]));
    assert_eq!(origin(&["c".into(), "C".into()], &files), Some(vec!["c".into()]));
    let edges: BTreeMap<Module, BTreeSet<Module>> = files
        .iter()
        .map(|(module, file)| (module.clone(), file.imports.iter().filter_map(|path| origin(path, &files)).collect()))
        .collect();
    assert!(reached(&edges)[&vec!["a".to_string()]].contains(&vec!["a".to_string()]));
}
