//! `#[test]`: an ordinary test on this machine, and an entry point that `sateen test` runs in sandboxes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use sateen_abi::MAIN_PREFIX;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ItemFn, LitStr, Result, Token, Visibility, parenthesized};

use crate::signature::{Signature, checked_name};

pub fn expand(attribute: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    let Inputs(inputs) = syn::parse2(attribute)?;
    let signature = Signature::read(function, "test")?;
    if !signature.names.is_empty() {
        return Err(Error::new(
            signature.place,
            "a #[test] takes no parameters; it gets inputs as #[test(inputs(NAME = BYTES))]",
        ));
    }
    if let Some(attribute) = function.attrs.iter().find(|attribute| attribute.path().is_ident("should_panic"))
    {
        return Err(Error::new_spanned(
            attribute,
            "a #[test] cannot be `should_panic`; return the result of `try_sync`, which is compared",
        ));
    }
    let ident = &function.sig.ident;
    let name = checked_name(ident.unraw().to_string(), ident.span())?;
    let attributes = &function.attrs;
    let is_ignored = attributes.iter().any(|attribute| attribute.path().is_ident("ignore"));
    let body = ItemFn { attrs: Vec::new(), vis: Visibility::Inherited, ..function.clone() };
    let names: Vec<&String> = inputs.iter().map(|input| &input.name).collect();
    let values: Vec<&Expr> = inputs.iter().map(|input| &input.value).collect();

    let conditions: Vec<&Attribute> =
        attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();

    let sandboxed = (!is_ignored).then(|| {
        let entry = |name: &str, ident: &Ident, output: &TokenStream| {
            let entry = entry(name, ident, output);
            quote!(#(#conditions)* #entry)
        };
        let runs = entry(&format!("test:{name}"), ident, &quote!({ #body #ident() }));
        let gives_inputs = (!inputs.is_empty()).then(|| {
            let packed = quote! {
                ::sateen::testing::pack_inputs(&[
                    #((#names, ::core::convert::Into::<::std::vec::Vec<u8>>::into(#values)),)*
                ])
            };
            entry(&format!("inputs:{name}"), &format_ident!("__sateen_inputs_{}", ident.unraw()), &packed)
        });
        quote!(#runs #gives_inputs)
    });
    Ok(quote! {
        #[cfg(all(test, not(target_family = "wasm")))]
        #[::core::prelude::v1::test]
        #(#attributes)*
        fn #ident() {
            #body
            #(::sateen::testing::set_input(#names, #values);)*
            ::sateen::testing::observe(#name, #ident());
        }

        #sandboxed
    })
}

/// An entry point of the module that holds the tests.
fn entry(name: &str, ident: &Ident, output: &TokenStream) -> TokenStream {
    let export = format!("{MAIN_PREFIX}{name}");
    let arguments = Ident::new("arguments", Span::mixed_site());
    quote! {
        #[cfg(all(test, target_family = "wasm"))]
        #[unsafe(export_name = #export)]
        extern "C" fn #ident(length: usize) -> u64 {
            ::sateen::wasm::run_main(length, |#arguments| {
                #arguments.finish("")?;
                ::core::result::Result::Ok(#output)
            })
        }
    }
}

/// `inputs(NAME = BYTES, …)`, or nothing.
struct Inputs(Vec<Input>);

struct Input {
    name: String,
    value: Expr,
}

impl Parse for Inputs {
    fn parse(tokens: ParseStream<'_>) -> Result<Self> {
        if tokens.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let option: Ident = tokens.parse()?;
        if option != "inputs" {
            return Err(Error::new(
                option.span(),
                "unknown option; #[test] takes only `inputs(NAME = BYTES, …)`",
            ));
        }
        let within;
        parenthesized!(within in tokens);
        let inputs = Punctuated::<Input, Token![,]>::parse_terminated(&within)?;
        if tokens.is_empty() { Ok(Self(inputs.into_iter().collect())) } else { Err(tokens.error("too much")) }
    }
}

impl Parse for Input {
    fn parse(tokens: ParseStream<'_>) -> Result<Self> {
        let name = if tokens.peek(LitStr) {
            tokens.parse::<LitStr>()?.value()
        } else {
            tokens.call(Ident::parse_any)?.unraw().to_string()
        };
        tokens.parse::<Token![=]>()?;
        Ok(Self { name, value: tokens.parse()? })
    }
}
