//! `#[job]`: the function, and beside it a type of the same name with `spawn` and `spawn_all`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use sateen_abi::{JOB_PREFIX, SHAPE_PREFIX};
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{ItemFn, LitStr, Path, Result};

use crate::place::refuse_within_impl;
use crate::signature::{Signature, checked_name, compact, function_entry, manifest_entry};

pub fn expand(attribute: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    let signature = Signature::read(function, "job")?;
    refuse_within_impl(function, "job")?;
    let ident = &function.sig.ident;
    let Options { name, guard } = Options::read(attribute, function)?;
    let visibility = &function.vis;
    let Signature { names, types, output, .. } = &signature;
    let own_names = signature.own_names();
    let tuple = signature.tuple();

    let export = format!("{JOB_PREFIX}{name}");
    let entry = format_ident!("__sateen_job_{}", ident.unraw());
    let shape_export = format!("{SHAPE_PREFIX}{name}");
    let shape_entry = format_ident!("__sateen_shape_{}", ident.unraw());
    let manifest = manifest_entry("job", &name, &signature);
    let function_name = (ident.unraw() != name).then(|| function_entry(&name, &ident.unraw()));
    // One parameter is its own item; several are a tuple.
    let (item, unpack) = match types.as_slice() {
        [only] => (quote!(#only), quote!(|only| (only,))),
        _ => (quote!((#(#types,)*)), quote!(|tuple| tuple)),
    };
    // A parameter of the job may have this name as well.
    let set = Ident::new("set", Span::mixed_site());
    let guard = guard.map(|guard| {
        let label = compact(&guard.to_token_stream());
        // If the guard takes other parameters, the error is at the guard's name.
        let call = quote_spanned!(guard.span()=> #guard(#(#own_names),*));
        quote! {
            const GUARD: ::core::option::Option<&'static str> = ::core::option::Option::Some(#label);

            fn guard((#(#own_names,)*): &Self::Parameters) -> bool {
                #call
            }
        }
    });
    let lost = lost(names);
    let about = format!("The job [`{ident}`](fn@{ident}): spawn it to let it run elsewhere.");

    // If the job were inlined, an error could not name it.
    let apart = (!function.attrs.iter().any(|attribute| attribute.path().is_ident("inline")))
        .then(|| quote!(#[cfg_attr(target_family = "wasm", inline(never))]));

    Ok(quote! {
        #apart
        #function

        #[doc = #about]
        #[allow(non_camel_case_types, dead_code)]
        #visibility struct #ident {}

        #[allow(dead_code)]
        impl #ident {
            /// Spawns the job: it runs here at its sync, unless an idle worker takes it.
            #[inline(always)]
            #[must_use = "a job whose handle is dropped is aborted"]
            #[allow(clippy::too_many_arguments)]
            #visibility fn spawn(#(#names: #types),*) -> ::sateen::Spawned<#ident> {
                ::sateen::Spawned::new((#(#names,)*))
            }

            /// Spawns the job once for each item; the results come in the items' order.
            #[must_use = "jobs whose handles are dropped are aborted"]
            #visibility fn spawn_all(items: impl ::core::iter::IntoIterator<Item = #item>) -> ::sateen::SpawnedAll<#ident> {
                ::sateen::SpawnedAll::new(::core::iter::IntoIterator::into_iter(items).map(#unpack))
            }

            /// Spawns the job in a set, which returns results in the order in which they arrive; returns the
            /// job's index in the set.
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            #visibility fn spawn_in(#set: &mut ::sateen::JobSet<#ident>, #(#names: #types),*) -> usize {
                #set.spawn((#(#names,)*))
            }

            /// Spawns the job for each item, of which there may be more than memory holds; results come in the
            /// order in which jobs finish.
            #visibility fn stream<I: ::core::iter::IntoIterator<Item = #item>>(
                items: I,
            ) -> ::sateen::Stream<#ident, impl ::core::iter::Iterator<Item = #tuple>> {
                ::sateen::Stream::new(::core::iter::IntoIterator::into_iter(items).map(#unpack))
            }
        }

        impl ::sateen::Job for #ident {
            type Parameters = #tuple;
            type Output = #output;
            const NAME: &'static str = #name;
            #guard

            #[inline]
            fn call((#(#own_names,)*): Self::Parameters) -> Self::Output {
                #ident(#(#own_names),*)
            }

            #lost

            #[cfg(target_family = "wasm")]
            #[inline(always)]
            fn kind() -> &'static ::sateen::wasm::Kind {
                static KIND: ::sateen::wasm::Kind = ::sateen::wasm::Kind::of::<#ident>();
                &KIND
            }
        }

        #[cfg(target_family = "wasm")]
        #[doc(hidden)]
        #[unsafe(export_name = #export)]
        extern "C" fn #entry(length: usize) -> u64 {
            ::sateen::wasm::run_job::<#ident>(length)
        }

        #[cfg(target_family = "wasm")]
        #[doc(hidden)]
        #[unsafe(export_name = #shape_export)]
        extern "C" fn #shape_entry(_length: usize) -> u64 {
            ::sateen::wasm::shapes::<#ident>()
        }

        #manifest
        #function_name
    })
}

/// How decoded parameters and results are compared with the originals: here their types are known, and so
/// whether they are `PartialEq` and `Debug`.
fn lost(names: &[Ident]) -> TokenStream {
    let labels = names.iter().map(|name| name.unraw().to_string());
    let places = (0..names.len()).map(syn::Index::from);
    let each = labels.zip(places).map(|(label, place)| {
        quote! {
            if let ::core::option::Option::Some(what) =
                (&&&&Three(&sent.#place, &read.#place, again.map(|again| &again.#place))).lost()
            {
                return ::core::option::Option::Some(in_parameter(#label, &what));
            }
        }
    });
    quote! {
        #[allow(unused_imports, unused_variables, clippy::all, clippy::pedantic)]
        fn lost_parameter(
            sent: &Self::Parameters,
            read: &Self::Parameters,
            again: ::core::option::Option<&Self::Parameters>,
        ) -> ::core::option::Option<::std::string::String> {
            use ::sateen::lost::{ByBoth as _, ByText as _, ByValue as _, Three, Untold as _, in_parameter};
            #(#each)*
            ::core::option::Option::None
        }

        #[allow(unused_imports, clippy::all, clippy::pedantic)]
        fn lost_result(
            sent: &Self::Output,
            read: &Self::Output,
            again: ::core::option::Option<&Self::Output>,
        ) -> ::core::option::Option<::std::string::String> {
            use ::sateen::lost::{ByBoth as _, ByText as _, ByValue as _, Three, Untold as _};
            (&&&&Three(sent, read, again)).lost()
        }
    }
}

/// The arguments of the attribute.
struct Options {
    /// The name given as `#[job(name = "…")]`, or the function's own.
    name: String,
    guard: Option<Path>,
}

impl Options {
    fn read(attribute: TokenStream, function: &ItemFn) -> Result<Self> {
        let ident = &function.sig.ident;
        let mut name = ident.unraw().to_string();
        let mut span = ident.span();
        let mut guard = None;
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("name") {
                let literal: LitStr = meta.value()?.parse()?;
                span = literal.span();
                name = literal.value();
                Ok(())
            } else if meta.path.is_ident("guard") {
                guard = Some(meta.value()?.parse()?);
                Ok(())
            } else {
                Err(meta.error("unknown option; #[job] takes only `name = \"…\"` and `guard = FUNCTION`"))
            }
        });
        parser.parse2(attribute)?;
        Ok(Self { name: checked_name(name, span)?, guard })
    }
}
