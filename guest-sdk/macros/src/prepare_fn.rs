//! `#[prepare]`: a function that returns a reference to its value, and the export that makes the value.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use sateen_abi::PREPARE_PREFIX;
use syn::ext::IdentExt;
use syn::{Error, GenericArgument, ItemFn, PathArguments, Result, ReturnType, Type};

use crate::place::refuse_within_impl;
use crate::signature::{Signature, checked_name, manifest_entry};

pub fn expand(attribute: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(attribute, "#[prepare] takes no options"));
    }
    if !function.sig.inputs.is_empty() {
        return Err(Error::new_spanned(
            &function.sig.inputs,
            "a #[prepare] takes no parameters: its value is made of the run's inputs alone, once for all jobs",
        ));
    }
    let signature = Signature::read(function, "prepare")?;
    refuse_within_impl(function, "prepare")?;
    refuse_result(function)?;
    let ident = &function.sig.ident;
    let name = checked_name(ident.unraw().to_string(), ident.span())?;
    let ItemFn { attrs, vis, block, .. } = function;
    let output = &signature.output;
    let get = quote!(__SATEEN_PREPARED.with(|prepared| prepared.get(#ident)));
    let (gives, get) = match result_of(function) {
        Some((value, error)) => (
            quote!(::core::result::Result<&'static #value, #error>),
            quote!(#get.as_ref().map_err(::core::clone::Clone::clone)),
        ),
        None => (quote!(&'static #output), get),
    };

    let export = format!("{PREPARE_PREFIX}{name}");
    let entry = format_ident!("__sateen_prepare_{name}");
    let manifest = manifest_entry("prepare", &name, &signature);

    Ok(quote! {
        #(#attrs)*
        #vis fn #ident() -> #gives {
            #[inline(never)]
            fn #ident() -> #output #block

            ::std::thread_local! {
                static __SATEEN_PREPARED: ::sateen::Prepared<#output> = const { ::sateen::Prepared::new() };
            }
            #get
        }

        #[cfg(target_family = "wasm")]
        #[doc(hidden)]
        #[unsafe(export_name = #export)]
        extern "C" fn #entry() {
            ::sateen::wasm::prepare(|| {
                let _ = #ident();
            })
        }

        #manifest
    })
}

/// The parts of a result that is written as `Result<VALUE, ERROR>`.
fn result_of(function: &ItemFn) -> Option<(&Type, &Type)> {
    let ReturnType::Type(_, ty) = &function.sig.output else { return None };
    let Type::Path(path) = ty.as_ref() else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.iter().collect::<Vec<_>>()[..] {
        [GenericArgument::Type(value), GenericArgument::Type(error)] => Some((value, error)),
        _ => None,
    }
}

/// The result is kept in a static, whose type must be known.
fn refuse_result(function: &ItemFn) -> Result<()> {
    match &function.sig.output {
        ReturnType::Default => Err(Error::new_spanned(
            &function.sig,
            "a #[prepare] returns the value that is prepared, and this function returns nothing",
        )),
        ReturnType::Type(_, ty) if matches!(**ty, Type::ImplTrait(_)) => {
            Err(Error::new_spanned(ty, "in a #[prepare], name the type: the value is kept in a static"))
        }
        ReturnType::Type(_, ty) => match ty.as_ref() {
            Type::Reference(reference) if reference.lifetime.is_none() => Err(Error::new_spanned(
                ty,
                "in a #[prepare], return an owned value: calls of the function get a reference to it",
            )),
            _ => Ok(()),
        },
    }
}
