//! `#[main]`: the function, and its entry point with parsed arguments.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use sateen_abi::MAIN_PREFIX;
use syn::ext::IdentExt;
use syn::{Error, ItemFn, Result};

use crate::place::refuse_within_impl;
use crate::signature::{Signature, checked_name, manifest_entry};

pub fn expand(attribute: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(
            attribute,
            "#[main] takes no options; the function's name is the entry's name",
        ));
    }
    let signature = Signature::read(function, "main")?;
    refuse_within_impl(function, "main")?;
    let ident = &function.sig.ident;
    let name = checked_name(ident.unraw().to_string(), ident.span())?;
    let Signature { names, types, output, .. } = &signature;
    let own_names = signature.own_names();
    // A name that the app does not use.
    let arguments = Ident::new("arguments", Span::mixed_site());
    let labels: Vec<String> = names.iter().map(|name| name.unraw().to_string()).collect();

    let export = format!("{MAIN_PREFIX}{name}");
    let entry = format_ident!("__sateen_main_{name}");
    let usage = signature.parameters();
    let manifest = manifest_entry("main", &name, &signature);

    Ok(quote! {
        #function

        #[cfg(target_family = "wasm")]
        #[doc(hidden)]
        #[unsafe(export_name = #export)]
        extern "C" fn #entry(length: usize) -> u64 {
            ::sateen::wasm::run_main(length, |mut #arguments| {
                #(let #own_names = <#types as ::sateen::Argument>::take(&mut #arguments, #labels)?;)*
                #arguments.finish(#usage)?;
                ::core::result::Result::Ok(#ident(#(#own_names),*))
            })
        }

        // The same requirements on targets where nothing is exported, so that `cargo test` shows the same
        // errors.
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            fn takes<T: ::sateen::Argument>() {}
            fn gives<T: ::sateen::Output>() {}
            #[allow(dead_code)]
            fn demands() {
                #(takes::<#types>();)*
                gives::<#output>();
            }
            let _ = #ident;
        };

        #manifest
    })
}
