//! `#[derive(Tree)]`: structs and enums as trees of tensors.

mod expand;

/// Makes a struct or an enum a tree whose leaves are the leaves of its fields, in order.
///
/// A leaf is named by its fields, tuple fields by their index: `layers.0.weight`. The variant of
/// an enum belongs to the structure, but adds nothing to the path.
///
/// `#[tree(static)]` leaves a field out of the tree: `map` clones it and `describe` tells its
/// `Debug` text. `#[tree(frozen)]` keeps its tensors in the tree, but nothing is differentiated by them: their gradient
/// is zero. `#[tree(crate = "..")]` on the type names the crate that exports `Tree`,
/// `TreePath` and `Tensor`, where it is not `wengert`.
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::tree(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
