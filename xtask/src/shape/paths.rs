//! Reads the names that a source file defines, imports and uses, except those of tests.

use std::collections::BTreeSet;

use anyhow::Result;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Ident, Token, braced, bracketed, parenthesized, token};

use super::names::Module;

/// What a source file says about names.
#[derive(Default)]
pub struct Paths {
    /// Items that the file defines.
    pub defines: BTreeSet<String>,
    /// What the file imports for all of it.
    pub imports: Vec<Import>,
    /// Paths of two or more names within code, each with the module that it is written in.
    pub inline: Vec<(Module, Vec<String>)>,
    /// First names of all paths within code.
    pub words: BTreeSet<String>,
    /// Submodules that are for tests only.
    pub tests: Vec<Module>,
}

/// One name that a `use` brings in.
pub struct Import {
    /// The name within the file; `*` for all names of a module.
    pub name: String,
    /// The path that it stands for; without the `*`.
    pub path: Vec<String>,
    /// Whether it is visible elsewhere, which makes it a re-export.
    pub is_passed_on: bool,
}

/// Reads the file of a module.
pub fn of(text: &str, module: &Module) -> Result<Paths> {
    let mut paths = Paths::default();
    for item in &syn::parse_file(text)?.items {
        add_item(item, module, &mut paths);
    }
    let code = |input: ParseStream| walk(input, module, true, &mut paths);
    code.parse_str(text)?;
    Ok(paths)
}

fn add_item(item: &syn::Item, module: &Module, paths: &mut Paths) {
    let name = match item {
        syn::Item::Use(found) if !found.attrs.iter().any(|attribute| is_for_tests(&attribute.meta)) => {
            let is_passed_on = !matches!(found.vis, syn::Visibility::Inherited);
            leaves(&found.tree, Vec::new(), &mut |name, path| {
                paths.imports.push(Import { name, path, is_passed_on });
            });
            return;
        }
        syn::Item::Mod(within) => {
            if within.attrs.iter().any(|attribute| is_for_tests(&attribute.meta)) {
                paths.tests.push([module.as_slice(), &[within.ident.to_string()]].concat());
            }
            return;
        }
        syn::Item::Const(one) => &one.ident,
        syn::Item::Enum(one) => &one.ident,
        syn::Item::Fn(one) => &one.sig.ident,
        syn::Item::Static(one) => &one.ident,
        syn::Item::Struct(one) => &one.ident,
        syn::Item::Trait(one) => &one.ident,
        syn::Item::Type(one) => &one.ident,
        syn::Item::Union(one) => &one.ident,
        syn::Item::Macro(syn::ItemMacro { ident: Some(ident), .. }) => ident,
        _ => return,
    };
    paths.defines.insert(name.to_string());
}

/// Whether an attribute is `#[cfg(test)]`, or a `cfg` that needs `test` and more.
fn is_for_tests(attribute: &syn::Meta) -> bool {
    let syn::Meta::List(list) = attribute else { return attribute.path().is_ident("test") };
    let is_needed = list.path.is_ident("cfg") || list.path.is_ident("all");
    let conditions = syn::punctuated::Punctuated::<syn::Meta, Token![,]>::parse_terminated;
    is_needed
        && conditions.parse2(list.tokens.clone()).is_ok_and(|conditions| conditions.iter().any(is_for_tests))
}

/// Calls `found` with every name that a `use` brings in and the path that it stands for.
fn leaves(tree: &syn::UseTree, before: Vec<String>, found: &mut impl FnMut(String, Vec<String>)) {
    let with = |name: &Ident| match name.to_string() {
        name if name == "self" && !before.is_empty() => before.clone(),
        name => [before.as_slice(), &[name]].concat(),
    };
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, with(&path.ident), found),
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| leaves(tree, before.clone(), found));
        }
        syn::UseTree::Name(name) => {
            let path = with(&name.ident);
            found(path.last().cloned().unwrap_or_default(), path);
        }
        syn::UseTree::Rename(name) => found(name.rename.to_string(), with(&name.ident)),
        syn::UseTree::Glob(_) => found("*".to_owned(), before),
    }
}

/// Adds all paths within code, token by token, since a parser of expressions does not look into macros.
fn walk(input: ParseStream, module: &Module, is_top: bool, paths: &mut Paths) -> syn::Result<()> {
    while !input.is_empty() {
        if input.peek(Token![#]) && input.peek2(token::Bracket) {
            input.parse::<Token![#]>()?;
            let attribute;
            bracketed!(attribute in input);
            let is_test = attribute.fork().parse().is_ok_and(|meta: syn::Meta| is_for_tests(&meta));
            walk(&attribute, module, false, paths)?;
            if is_test {
                skip_item(input)?;
            }
        } else if input.peek(Token![use]) && input.fork().parse::<syn::ItemUse>().is_ok() {
            let found: syn::ItemUse = input.parse()?;
            if !is_top {
                leaves(&found.tree, Vec::new(), &mut |_, path| paths.inline.push((module.clone(), path)));
            }
        } else if input.peek(Token![mod]) && input.peek2(Ident) {
            input.parse::<Token![mod]>()?;
            let name: Ident = input.parse()?;
            if input.peek(token::Brace) {
                let content;
                braced!(content in input);
                walk(&content, &[module.as_slice(), &[name.to_string()]].concat(), false, paths)?;
            }
        } else if input.peek(Token![::]) {
            // The rest of a path that starts with a type, or a path of another crate.
            input.parse::<Token![::]>()?;
            names(input)?;
        } else if input.peek(Ident::peek_any) {
            let path = names(input)?;
            paths.words.extend(path.first().cloned());
            if path.len() > 1 {
                paths.inline.push((module.clone(), path));
            }
        } else if let Some(content) = group(input)? {
            walk(&content, module, false, paths)?;
        } else {
            skip(input)?;
        }
    }
    Ok(())
}

/// The names of a path, of which there may be none.
fn names(input: ParseStream) -> syn::Result<Vec<String>> {
    let mut names = Vec::new();
    while input.peek(Ident::peek_any) {
        names.push(input.call(Ident::parse_any)?.to_string());
        let after = input.fork();
        if after.parse::<Token![::]>().is_err() || !after.peek(Ident::peek_any) {
            break;
        }
        input.parse::<Token![::]>()?;
    }
    Ok(names)
}

/// The content of a group, if one is next.
fn group<'a>(input: ParseStream<'a>) -> syn::Result<Option<syn::parse::ParseBuffer<'a>>> {
    let content;
    if input.peek(token::Paren) {
        parenthesized!(content in input);
    } else if input.peek(token::Bracket) {
        bracketed!(content in input);
    } else if input.peek(token::Brace) {
        braced!(content in input);
    } else {
        return Ok(None);
    }
    Ok(Some(content))
}

/// Skips an item, to its `;` or its braces.
fn skip_item(input: ParseStream) -> syn::Result<()> {
    while !input.is_empty() {
        let is_end = input.peek(Token![;]) || input.peek(token::Brace);
        skip(input)?;
        if is_end {
            break;
        }
    }
    Ok(())
}

/// Skips a token or a group.
fn skip(input: ParseStream) -> syn::Result<()> {
    input.step(|cursor| {
        cursor.token_tree().map(|(_, rest)| ((), rest)).ok_or_else(|| cursor.error("expected a token"))
    })
}
