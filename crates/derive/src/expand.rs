//! Expands the definition of a type to its `impl Tree`.
//!
//! A struct is treated as an enum with one unnamed variant, and a tuple's fields can be written `Self { 0: first, 1: second }`, so one kind
//! of match arm serves every shape of type.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse_quote;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Member, Path, Result, Type};

/// One alternative of a type; a struct has one.
struct Variant {
    /// `Self` or `Self::Name`.
    constructor: TokenStream,
    /// The text that `describe` puts before the fields: the name of an enum's variant.
    description: Option<String>,
    fields: Vec<Field>,
}

struct Field {
    member: Member,
    /// Has the span of the field's type, so that an error about a missing trait points there.
    binding: Ident,
    /// The field's segment of a path; none if its leaves are named as if they were fields of the type itself.
    segment: Option<String>,
    kind: Kind,
    ty: Type,
}

/// The role of a field in the tree.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A subtree that is differentiated.
    Trained,
    /// A subtree that is not differentiated.
    Frozen,
    /// Not part of the tree.
    Static,
}

pub(crate) fn tree(input: &DeriveInput) -> Result<TokenStream> {
    let root = crate_path(&input.attrs)?;
    let variants = variants(input)?;

    let visit = variants.iter().map(|variant| variant.visit(&root));
    let visit_mut = variants.iter().map(|variant| variant.visit_mut(&root));
    let map = variants.iter().map(|variant| variant.map(&root));
    let describe = variants.iter().map(|variant| variant.describe(&root));

    let name = &input.ident;
    let generics = bounded(input, &variants, &root);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();

    // `match *self` with `ref` bindings, unlike `match self`, accepts an enum without variants.
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables)]
        impl #impl_generics #root::Tree for #name #type_generics #where_clause {
            fn visit<'__leaf>(
                &'__leaf self,
                path: &mut #root::TreePath,
                f: &mut dyn ::core::ops::FnMut(&#root::TreePath, &'__leaf #root::Tensor),
            ) {
                match *self { #(#visit)* }
            }

            fn visit_mut(
                &mut self,
                path: &mut #root::TreePath,
                f: &mut dyn ::core::ops::FnMut(&#root::TreePath, &mut #root::Tensor),
            ) {
                match *self { #(#visit_mut)* }
            }

            fn map(
                &self,
                path: &mut #root::TreePath,
                f: &mut dyn ::core::ops::FnMut(&#root::TreePath, &#root::Tensor) -> #root::Tensor,
            ) -> Self {
                match *self { #(#map)* }
            }

            fn describe(
                &self,
                path: &mut #root::TreePath,
                f: &mut dyn ::core::ops::FnMut(&#root::TreePath, &::core::primitive::str),
            ) {
                match *self { #(#describe)* }
            }
        }

        #[automatically_derived]
        impl #impl_generics #root::tree::JacobianLayout for #name #type_generics #where_clause {
            type Of<__X: #root::Tree> = #root::tree::Blocks<__X>;

            fn arrange<__X: #root::Tree>(rows: #root::tree::Blocks<__X>) -> #root::tree::Blocks<__X> {
                rows
            }
        }
    })
}

impl Variant {
    fn visit(&self, root: &Path) -> TokenStream {
        let constructor = &self.constructor;
        let fields = || self.fields.iter().filter(|field| field.kind != Kind::Static);
        let patterns = fields().map(Field::pattern);
        let visits = fields().map(|field| field.walk(root, "visit"));
        quote!(#constructor { #(#patterns,)* .. } => { #(#visits)* })
    }

    fn visit_mut(&self, root: &Path) -> TokenStream {
        let constructor = &self.constructor;
        let fields = || self.fields.iter().filter(|field| field.kind != Kind::Static);
        let patterns = fields().map(Field::pattern_mut);
        let visits = fields().map(|field| field.walk(root, "visit_mut"));
        quote!(#constructor { #(#patterns,)* .. } => { #(#visits)* })
    }

    fn map(&self, root: &Path) -> TokenStream {
        let constructor = &self.constructor;
        let patterns = self.fields.iter().map(Field::pattern);
        let values = self.fields.iter().map(|field| field.map(root));
        quote!(#constructor { #(#patterns),* } => #constructor { #(#values),* },)
    }

    fn describe(&self, root: &Path) -> TokenStream {
        let constructor = &self.constructor;
        let name = self.description.iter();
        let patterns = self.fields.iter().map(Field::pattern);
        let descriptions = self.fields.iter().map(|field| field.describe(root));
        quote!(#constructor { #(#patterns),* } => { #(f(path, #name);)* #(#descriptions)* })
    }
}

impl Field {
    fn pattern(&self) -> TokenStream {
        let (member, binding) = (&self.member, &self.binding);
        quote!(#member: ref #binding)
    }

    fn pattern_mut(&self) -> TokenStream {
        let (member, binding) = (&self.member, &self.binding);
        quote!(#member: ref mut #binding)
    }

    /// A traversal of the field with the method of this name.
    fn walk(&self, root: &Path, method: &str) -> TokenStream {
        let (binding, method) = (&self.binding, format_ident!("{method}"));
        let walk = self.within(quote!(#root::Tree::#method(#binding, path, f)));
        match self.kind {
            Kind::Frozen => quote!(path.frozen(|path| #walk);),
            _ => quote!(#walk;),
        }
    }

    fn map(&self, root: &Path) -> TokenStream {
        let (member, binding) = (&self.member, &self.binding);
        let walk = self.within(quote!(#root::Tree::map(#binding, path, f)));
        match self.kind {
            Kind::Static => quote!(#member: ::core::clone::Clone::clone(#binding)),
            Kind::Frozen => quote!(#member: path.frozen(|path| #walk)),
            Kind::Trained => quote!(#member: #walk),
        }
    }

    fn describe(&self, root: &Path) -> TokenStream {
        let binding = &self.binding;
        let description = match self.kind {
            Kind::Static => quote!(path.say(::core::format_args!("{:?}", #binding), f)),
            Kind::Trained | Kind::Frozen => quote!(#root::Tree::describe(#binding, path, f)),
        };
        let description = self.within(description);
        quote!(#description;)
    }

    /// A call with the path of the field.
    fn within(&self, call: TokenStream) -> TokenStream {
        match &self.segment {
            Some(segment) => quote!(path.within(#segment, |path| #call)),
            None => call,
        }
    }
}

fn variants(input: &DeriveInput) -> Result<Vec<Variant>> {
    match &input.data {
        Data::Struct(data) => {
            Ok(vec![Variant { constructor: quote!(Self), description: None, fields: fields(&data.fields)? }])
        }
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|variant| {
                options(&variant.attrs, "a variant takes no `tree` options", |_| Ok(false))?;
                let name = &variant.ident;
                Ok(Variant {
                    constructor: quote!(Self::#name),
                    description: Some(name.unraw().to_string()),
                    fields: fields(&variant.fields)?,
                })
            })
            .collect(),
        Data::Union(data) => Err(Error::new(
            data.union_token.span,
            "a union cannot be a `Tree`: nothing tells which of its fields is there; use an enum",
        )),
    }
}

fn fields(fields: &Fields) -> Result<Vec<Field>> {
    let of_field = |(member, field): (Member, &syn::Field)| {
        let (mut kind, mut is_flat) = (Kind::Trained, false);
        options(&field.attrs, "a field takes `static`, `frozen` or `flatten`", |option| {
            let known = [("static", Kind::Static), ("frozen", Kind::Frozen)];
            let known = known.into_iter().find(|(name, _)| option.path.is_ident(name));
            kind = known.map_or(kind, |(_, kind)| kind);
            is_flat |= option.path.is_ident("flatten");
            Ok(known.is_some() || option.path.is_ident("flatten"))
        })?;
        let segment = match &member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        let span = Span::call_site().located_at(field.ty.span());
        let binding = format_ident!("field_{segment}", span = span);
        let segment = Some(segment).filter(|_| !is_flat);
        Ok(Field { member, binding, segment, kind, ty: field.ty.clone() })
    };
    fields.members().zip(fields).map(of_field).collect()
}

/// The path that exports `Tree`, `TreePath` and `Tensor`.
fn crate_path(attributes: &[Attribute]) -> Result<Path> {
    let mut root = parse_quote!(::wengert);
    let help = "a type takes `#[tree(crate = \"..\")]`";
    options(attributes, help, |option| {
        let known = option.path.is_ident("crate");
        if known {
            let name: LitStr = option.value()?.parse()?;
            root = name.parse_with(Path::parse_mod_style)?;
        }
        Ok(known)
    })?;
    Ok(root)
}

/// Passes every option of the `#[tree(..)]` attributes to `accept`, which says whether it knows it.
fn options(
    attributes: &[Attribute],
    help: &str,
    mut accept: impl FnMut(&ParseNestedMeta<'_>) -> Result<bool>,
) -> Result<()> {
    let is_tree = |attribute: &&Attribute| attribute.path().is_ident("tree");
    for attribute in attributes.iter().filter(is_tree) {
        attribute.parse_nested_meta(|option| {
            if accept(&option)? {
                return Ok(());
            }
            let name = option.path.to_token_stream();
            let message = format!("unknown option `{name}`: {help}");
            Err(Error::new_spanned(name, message))
        })?;
    }
    Ok(())
}

/// The type's generics with the bounds that the fields need: `T: Tree` for every parameter that a field of the tree mentions, and
/// `Clone + Debug` for the generic type of a static field.
///
/// Bounds on the types of the tree's fields would be exact too, but resolving them does not terminate for a recursive type such as
/// `struct List<T> { head: T, tail: Option<Box<List<T>>> }`.
fn bounded(input: &DeriveInput, variants: &[Variant], root: &Path) -> syn::Generics {
    let parameters: Vec<Ident> = input.generics.type_params().map(|parameter| parameter.ident.clone()).collect();
    let fields = || variants.iter().flat_map(|variant| &variant.fields);

    let mut generics = input.generics.clone();
    let predicates = &mut generics.make_where_clause().predicates;
    for parameter in &parameters {
        if fields().any(|field| field.kind != Kind::Static && mentions(&field.ty, parameter)) {
            predicates.push(parse_quote!(#parameter: #root::Tree));
        }
    }
    for Field { ty, .. } in fields().filter(|field| field.kind == Kind::Static) {
        if parameters.iter().any(|parameter| mentions(ty, parameter)) {
            predicates.push(parse_quote!(#ty: ::core::clone::Clone + ::core::fmt::Debug));
        }
    }
    generics
}

fn mentions(ty: &Type, parameter: &Ident) -> bool {
    fn among(tokens: TokenStream, parameter: &Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == *parameter,
            TokenTree::Group(group) => among(group.stream(), parameter),
            _ => false,
        })
    }
    among(ty.to_token_stream(), parameter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expansion without whitespace, after checking that it is an item.
    fn expansion(input: DeriveInput) -> String {
        let tokens = tree(&input).expect("the input is valid");
        let items = syn::parse2::<syn::File>(tokens.clone()).expect("the expansion is a list of items").items;
        assert!(items.len() == 2 && items.iter().all(|item| matches!(item, syn::Item::Impl(_))));
        squeeze(&tokens.to_string())
    }

    fn squeeze(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[track_caller]
    fn assert_contains(expansion: &str, part: &str) {
        assert!(expansion.contains(&squeeze(part)), "no `{part}` in\n{expansion}");
    }

    /// The message for invalid input, and the source text it points at.
    fn refusal(source: &str) -> (String, String) {
        let input = syn::parse_str(source).expect("the input is a type");
        let error = tree(&input).expect_err("the input is invalid");
        (error.to_string(), error.span().source_text().expect("the error has a place"))
    }

    #[test]
    fn fields_are_named_by_name_or_index() {
        let named = expansion(parse_quote!(
            struct Linear {
                weight: Tensor,
                r#type: Tensor,
            }
        ));
        assert_contains(&named, "impl ::wengert::Tree for Linear {");
        assert_contains(&named, r#"path.within("weight", |path| ::wengert::Tree::visit(field_weight, path, f))"#);
        assert_contains(&named, r#"r#type: path.within("type","#);

        let unnamed = expansion(parse_quote!(
            struct Pair(Tensor, Tensor);
        ));
        assert_contains(&unnamed, r#"1: path.within("1", |path| ::wengert::Tree::map(field_1, path, f))"#);
    }

    #[test]
    fn a_unit_struct_has_no_leaves() {
        let unit = expansion(parse_quote!(
            struct Unit;
        ));
        assert_contains(&unit, "Self {} => Self {},");
        assert!(!unit.contains("within"));
    }

    #[test]
    fn a_variant_is_described_and_adds_no_segment() {
        let layer = expansion(parse_quote!(
            enum Layer {
                Relu,
                Linear(Tensor),
            }
        ));
        assert_contains(&layer, r#"Self::Relu {} => { f(path, "Relu"); }"#);
        assert_contains(
            &layer,
            r#"Self::Linear { 0: ref field_0 } => {
                f(path, "Linear");
                path.within("0", |path| ::wengert::Tree::describe(field_0, path, f));
            }"#,
        );
        assert!(!layer.contains(r#"within("Linear""#));
    }

    #[test]
    fn a_static_field_is_cloned_and_described_but_not_visited() {
        let dropout = expansion(parse_quote!(
            struct Dropout {
                #[tree(static)]
                rate: f64,
            }
        ));
        assert_contains(&dropout, "match *self { Self { .. } => {} }");
        assert!(!dropout.contains("mut field_rate"));
        assert_contains(&dropout, "rate: ::core::clone::Clone::clone(field_rate)");
        assert_contains(
            &dropout,
            r#"path.within("rate", |path| path.say(::core::format_args!("{:?}", field_rate), f));"#,
        );
    }

    #[test]
    fn a_frozen_field_is_visited_and_mapped_under_a_frozen_path() {
        let norm = expansion(parse_quote!(
            struct Norm {
                #[tree(frozen)]
                mean: Tensor,
            }
        ));
        let walk = |name: &str| format!(r#"path.within("mean", |path| ::wengert::Tree::{name}(field_mean, path, f))"#);
        assert_contains(&norm, &format!("path.frozen(|path| {});", walk("visit")));
        assert_contains(&norm, &format!("mean: path.frozen(|path| {})", walk("map")));
        assert_contains(&norm, &format!("{};", walk("describe")));
    }

    #[test]
    fn a_flat_field_adds_no_segment() {
        let list = expansion(parse_quote!(
            struct List {
                #[tree(flatten)]
                items: Vec<Tensor>,
            }
        ));
        assert_contains(
            &list,
            "Self { items: ref field_items, .. } => { ::wengert::Tree::visit(field_items, path, f); }",
        );
        assert_contains(&list, "items: ::wengert::Tree::map(field_items, path, f)");
        assert!(!list.contains("within"));
    }

    #[test]
    fn bounds_follow_the_use_of_a_parameter() {
        let block = expansion(parse_quote!(
            struct Block<'a, T, A, U: Default, const N: usize>
            where
                U: Copy,
            {
                layers: Vec<[T; N]>,
                #[tree(static)]
                activation: Option<A>,
                #[tree(static)]
                name: &'a str,
                #[tree(static)]
                marker: std::marker::PhantomData<(U,)>,
            }
        ));
        assert_contains(
            &block,
            "impl<'a, T, A, U: Default, const N: usize> ::wengert::Tree for Block<'a, T, A, U, N>
            where
                U: Copy,
                T: ::wengert::Tree,
                Option<A>: ::core::clone::Clone + ::core::fmt::Debug,
                std::marker::PhantomData<(U,)>: ::core::clone::Clone + ::core::fmt::Debug
            {",
        );
    }

    #[test]
    fn the_crate_can_be_named() {
        let leaf = expansion(parse_quote!(
            #[tree(crate = "wengert_engine")]
            struct Leaf(Tensor);
        ));
        assert_contains(&leaf, "impl wengert_engine::Tree for Leaf");
        assert_contains(&leaf, "&mut wengert_engine::TreePath");
        assert!(!leaf.contains("::wengert::"));

        let inside = expansion(parse_quote!(
            #[tree(crate = "crate")]
            struct Leaf(Tensor);
        ));
        assert_contains(&inside, "impl crate::Tree for Leaf");
    }

    #[test]
    fn an_unknown_option_is_refused_where_it_stands() {
        for (source, message) in [
            (
                "struct S { #[tree(skip)] x: f64 }",
                "unknown option `skip`: a field takes `static`, `frozen` or `flatten`",
            ),
            ("#[tree(skip)] struct S;", "unknown option `skip`: a type takes `#[tree(crate = \"..\")]`"),
            ("enum E { #[tree(skip)] A }", "unknown option `skip`: a variant takes no `tree` options"),
        ] {
            assert_eq!(refusal(source), (message.to_string(), "skip".to_string()));
        }
    }

    #[test]
    fn a_union_is_refused() {
        let (message, place) = refusal("union U { x: f32, y: u32 }");
        assert!(message.starts_with("a union cannot be a `Tree`"));
        assert_eq!(place, "union");
    }
}
