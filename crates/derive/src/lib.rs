//! `#[derive(Tree)]`: structs and enums as trees of tensors.

mod expand;

/// Makes a struct or an enum a tree whose leaves are the leaves of its fields, in order.
///
/// A leaf is named by its fields, tuple fields by their index: `layers.0.weight`. The variant of an enum is part of the structure, but not
/// of the path.
///
/// `#[tree(static)]` excludes a field from the tree: `map` clones it and `describe` shows its `Debug` text. `#[tree(frozen)]` keeps the
/// tensors of a field in the tree, but they are not differentiated: their gradient is zero. `#[tree(flatten)]` names the
/// leaves of a field as if they were fields of the type itself. `#[tree(crate = "..")]` on the type names the
/// crate that exports `Tree`, `TreePath` and `Tensor`, if it is not `wengert`.
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::tree(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
