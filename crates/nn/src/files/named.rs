//! Tensors with names, as a safetensors file holds them.

use super::{atomic, limit};
use crate::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::path::Path;

/// Tensors by name, and texts by name.
#[derive(Clone, Debug, Default)]
pub struct NamedTensors {
    /// The tensors.
    pub tensors: BTreeMap<String, Tensor>,
    /// The texts in the header of the file.
    pub texts: BTreeMap<String, String>,
}

const DTYPES: [(DType, Dtype); 8] = [
    (DType::F64, Dtype::F64),
    (DType::F32, Dtype::F32),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::I64, Dtype::I64),
    (DType::I32, Dtype::I32),
    (DType::U8, Dtype::U8),
    (DType::Bool, Dtype::BOOL),
];

/// Why a leaf was not loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The file has no tensor of this name.
    Missing(String),
    /// The tree has no leaf of this name.
    Unexpected(String),
    /// The shapes differ.
    Shape {
        /// The name.
        name: String,
        /// In the tree.
        tree: Shape,
        /// In the file.
        file: Shape,
    },
    /// One is a float and the other is not, or the integers differ.
    DType {
        /// The name.
        name: String,
        /// In the tree.
        tree: DType,
        /// In the file.
        file: DType,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing(name) => write!(f, "{name}: missing in the file"),
            Problem::Unexpected(name) => write!(f, "{name}: unexpected in the file"),
            Problem::Shape { name, tree, file } => write!(f, "{name}: {file} in the file, {tree} in the tree"),
            Problem::DType { name, tree, file } => write!(f, "{name}: {file} in the file, {tree} in the tree"),
        }
    }
}

impl NamedTensors {
    /// The leaves of a tree.
    ///
    /// # Panics
    /// If two of them have the same path.
    #[track_caller]
    pub fn of(tree: &impl Tree) -> NamedTensors {
        let mut tensors = BTreeMap::new();
        for (name, leaf) in tree.named_leaves() {
            if tensors.insert(name.clone(), leaf.detach()).is_some() {
                Error::new(ErrorKind::Tree, "named tensors", format!("two leaves have the path `{name}`"))
                    .help("give them other names: of two fields with #[tree(flatten)], one needs a path of its own")
                    .at(Line::caller())
                    .raise();
            }
        }
        NamedTensors { tensors, texts: BTreeMap::new() }
    }

    /// Reads a file.
    pub fn read(path: impl AsRef<Path>) -> Result<NamedTensors, Error> {
        limit::parse(path.as_ref(), NamedTensors::parse)
    }

    /// The tensors in the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<NamedTensors, Error> {
        let wrong = |reason: String| Error::new(ErrorKind::File, "read", reason);
        let file =
            SafeTensors::deserialize(bytes).map_err(|error| wrong(format!("not a safetensors file: {error}")))?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| wrong(error.to_string()))?;
        let mut tensors = BTreeMap::new();
        for (name, view) in file.iter() {
            let found = DTYPES.iter().find(|(_, theirs)| *theirs == view.dtype());
            let Some((dtype, _)) = found else {
                return Err(wrong(format!("{name} has dtype {:?}, which is not supported", view.dtype())));
            };
            let tensor = limit::expect_shape(view.shape(), dtype.size())
                .and_then(|_| Tensor::try_from_bytes(view.data(), *dtype, view.shape()));
            tensors.insert(name.to_string(), tensor.map_err(|error| wrong(format!("{name}: {}", error.message())))?);
        }
        let texts = header.metadata().iter().flatten().map(|(name, text)| (name.clone(), text.clone())).collect();
        Ok(NamedTensors { tensors, texts })
    }

    /// The bytes of a file: the length of the header, the header, and the tensors, those with wide elements first, so that all are aligned.
    /// Equal tensors and texts give equal bytes, which the writer of the `safetensors` crate does not promise for several texts.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut whole: Vec<(&String, Tensor)> = self.tensors.iter().map(|(name, x)| (name, x.contiguous())).collect();
        whole.sort_by_key(|(_, tensor)| std::cmp::Reverse(tensor.dtype().size()));
        let (mut entries, mut data) = (Vec::new(), Vec::new());
        if !self.texts.is_empty() {
            let texts = self.texts.iter().map(|(name, text)| format!("{}:{}", quoted(name), quoted(text)));
            entries.push(format!("\"__metadata__\":{{{}}}", texts.collect::<Vec<_>>().join(",")));
        }
        for (name, tensor) in &whole {
            let (_, dtype) = DTYPES.iter().find(|(ours, _)| *ours == tensor.dtype()).expect("all dtypes are listed");
            let start = data.len();
            data.extend_from_slice(tensor.try_as_bytes()?);
            let (name, shape, end) = (quoted(name), tensor.shape(), data.len());
            entries.push(format!(
                "{name}:{{\"dtype\":\"{dtype:?}\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}"
            ));
        }
        let mut header = format!("{{{}}}", entries.join(","));
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.append(&mut data);
        Ok(bytes)
    }

    /// Writes a file beside the old one and renames it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        atomic::write(path.as_ref(), &self.bytes()?)
    }

    /// Puts the tensors into the leaves of their names, and returns what does not fit. If all must fit, nothing is changed otherwise.
    pub fn load_into(&self, tree: &mut impl Tree, all: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut loaded: Vec<Option<Tensor>> = Vec::new();
        let mut names = BTreeSet::new();
        tree.visit(&mut TreePath::root(), &mut |path, leaf| {
            let name = path.to_string();
            loaded.push(match self.tensors.get(&name) {
                None => {
                    problems.push(Problem::Missing(name.clone()));
                    None
                }
                Some(tensor) => fitting(&name, leaf, tensor).map_err(|problem| problems.push(problem)).ok(),
            });
            names.insert(name);
        });
        let unexpected = self.tensors.keys().filter(|name| !names.contains(*name));
        problems.extend(unexpected.map(|name| Problem::Unexpected(name.clone())));
        if problems.is_empty() || !all {
            let mut loaded = loaded.into_iter();
            tree.visit_mut(&mut TreePath::root(), &mut |_, leaf| {
                if let Some(tensor) = loaded.next().flatten() {
                    *leaf = if leaf.is_leaf() && leaf.requires_grad() { tensor.require_grad() } else { tensor };
                }
            });
        }
        problems
    }

    /// The tensors whose names begin with `prefix.`, without it.
    pub fn within(&self, prefix: &str) -> NamedTensors {
        let own = |(name, tensor): (&String, &Tensor)| {
            let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
            Some((rest.to_string(), tensor.clone()))
        };
        NamedTensors { tensors: self.tensors.iter().filter_map(own).collect(), texts: BTreeMap::new() }
    }

    /// Adds the leaves of a tree under `prefix.`.
    pub fn insert(&mut self, prefix: &str, tree: &impl Tree) {
        for (name, leaf) in tree.named_leaves() {
            let name = if name.is_empty() { prefix.to_string() } else { format!("{prefix}.{name}") };
            self.tensors.insert(name, leaf.detach());
        }
    }
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The tensor in the dtype of the leaf that it replaces.
fn fitting(name: &str, leaf: &Tensor, tensor: &Tensor) -> Result<Tensor, Problem> {
    if leaf.shape() != tensor.shape() {
        let (tree, file) = (Shape::from(leaf.shape()), Shape::from(tensor.shape()));
        return Err(Problem::Shape { name: name.to_string(), tree, file });
    }
    let (tree, file) = (leaf.dtype(), tensor.dtype());
    match (tree == file, tree.is_float() && file.is_float()) {
        (true, _) => Ok(tensor.clone()),
        (_, true) => Ok(tensor.cast(tree)),
        _ => Err(Problem::DType { name: name.to_string(), tree, file }),
    }
}
