//! `#[shared]`: an `impl` block whose `#[update]` functions can be called on references as well.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, ImplItem, ImplItemFn, ItemImpl, Pat, ReceiverKind, Result, ReturnType, Type,
    Visibility,
};

use crate::signature::manifest_entry_of_update;
use crate::travel::refuse_untravelled;

/// Names of methods that references already have.
const TAKEN: [&str; 6] = ["new", "read", "clone", "deref", "serialize", "fmt"];

/// One update function.
struct Update {
    ident: Ident,
    name: String,
    visibility: Visibility,
    docs: Vec<Attribute>,
    names: Vec<Ident>,
    types: Vec<Type>,
}

pub fn expand(attribute: TokenStream, item: &TokenStream) -> Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(attribute, "#[shared] takes no options"));
    }
    let mut block: ItemImpl = syn::parse2(item.clone()).map_err(|_| {
        Error::new_spanned(
            item,
            "#[shared] belongs on an `impl` block, the one that has the #[update] functions; it may be empty",
        )
    })?;
    if let Some((path, _)) = &block.trait_ {
        return Err(Error::new_spanned(
            path,
            "#[shared] belongs on the type's own `impl` block, not on one of a trait",
        ));
    }
    if !block.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &block.generics,
            "a shared object cannot be generic: other machines know its updates by their numbers alone; share a type of its own for each",
        ));
    }
    let mut updates = Vec::new();
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item
            && let Some(at) = function.attrs.iter().position(|attribute| attribute.path().is_ident("update"))
        {
            let attribute = function.attrs.remove(at);
            if !matches!(attribute.meta, syn::Meta::Path(_)) {
                return Err(Error::new_spanned(attribute, "#[update] takes no options"));
            }
            updates.push(Update::read(function)?);
        }
    }
    Ok(written(&block, &updates))
}

/// The code beside an error: the item without `#[update]`, each of which would be an error as well.
pub fn without_attributes(item: TokenStream) -> TokenStream {
    let Ok(mut block) = syn::parse2::<ItemImpl>(item.clone()) else { return item };
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item {
            function.attrs.retain(|attribute| !attribute.path().is_ident("update"));
        }
    }
    block.into_token_stream()
}

impl Update {
    fn read(function: &ImplItemFn) -> Result<Self> {
        let signature = &function.sig;
        let refuse = |place: &dyn ToTokens, why: &str| {
            Err(Error::new_spanned(place.to_token_stream(), format!("an #[update] function {why}")))
        };
        if let Some(asyncness) = &signature.asyncness {
            return refuse(asyncness, "cannot be async: each replica applies it at once");
        }
        if matches!(signature.safety, syn::Safety::Unsafe(_)) {
            return refuse(&signature.safety, "cannot be unsafe: any job may call it with any arguments");
        }
        if !signature.generics.params.is_empty() {
            return refuse(&signature.generics, "cannot be generic: replicas know it by its number alone");
        }
        let mut inputs = signature.inputs.iter();
        match inputs.next() {
            Some(FnArg::Receiver(receiver))
                if matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_))) => {}
            Some(place) => return refuse(place, "takes `&mut self` first: it changes the replica"),
            None => return refuse(&signature.ident, "takes `&mut self` first: it changes the replica"),
        }
        if let ReturnType::Type(_, ty) = &signature.output
            && !matches!(ty.as_ref(), Type::Tuple(tuple) if tuple.elems.is_empty())
        {
            return refuse(ty, "has no result: it runs on every replica, each in its own time");
        }
        let ident = signature.ident.clone();
        let name = ident.unraw().to_string();
        if TAKEN.contains(&name.as_str()) {
            return refuse(
                &ident,
                &format!("cannot be called `{name}`: a reference has something of that name"),
            );
        }
        let (mut names, mut types) = (Vec::new(), Vec::new());
        for input in inputs {
            let FnArg::Typed(argument) = input else { continue };
            refuse_untravelled(&argument.ty, "shared")?;
            names.push(match argument.pat.as_ref() {
                Pat::Ident(pattern) if pattern.subpat.is_none() => pattern.ident.clone(),
                _ => Ident::new(&format!("argument_{}", names.len()), argument.pat.span()),
            });
            types.push(argument.ty.as_ref().clone());
        }
        let docs =
            function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
        Ok(Self { ident, name, visibility: function.vis.clone(), docs, names, types })
    }

    /// The function for references: it sends its arguments to every replica.
    fn method(&self, number: u32) -> TokenStream {
        let Self { ident, visibility, docs, names, types, .. } = self;
        quote! {
            #(#docs)*
            #visibility fn #ident(&self, #(#names: #types),*) {
                self.0.update(#number, &(#(#names,)*));
            }
        }
    }

    /// The arm that applies it to a replica.
    fn arm(&self, number: u32) -> TokenStream {
        let Self { ident, types, .. } = self;
        let own_names: Vec<Ident> = (0..types.len())
            .map(|index| Ident::new(&format!("__sateen_argument_{index}"), Span::mixed_site()))
            .collect();
        quote! {
            #number => {
                let (#(#own_names,)*): (#(#types,)*) = ::sateen::decode_arguments(arguments)?;
                self.#ident(#(#own_names),*);
            }
        }
    }
}

fn written(block: &ItemImpl, updates: &[Update]) -> TokenStream {
    let ty = &block.self_ty;
    let name = crate::signature::compact(&ty.to_token_stream());
    let numbered = || (0_u32..).zip(updates);
    let numbers = numbered().map(|(number, _)| number);
    let names = updates.iter().map(|update| &update.name);
    let methods = numbered().map(|(number, update)| update.method(number));
    let arms = numbered().map(|(number, update)| update.arm(number));
    let manifest = updates
        .iter()
        .map(|update| manifest_entry_of_update(&name, &update.name, &update.names, &update.types));
    quote! {
        #block

        const _: () = {
            pub struct Updates(::sateen::Replica<#ty>);

            #[allow(dead_code, clippy::too_many_arguments)]
            impl Updates {
                #(#methods)*
            }

            impl ::sateen::Updates<#ty> for Updates {
                #[inline(always)]
                fn of(replica: ::sateen::Replica<#ty>) -> Self {
                    Self(replica)
                }

                #[inline(always)]
                fn replica(&self) -> &::sateen::Replica<#ty> {
                    &self.0
                }
            }

            impl ::sateen::SharedObject for #ty {
                const NAME: &'static str = #name;
                type Updates = Updates;

                fn update_name(update: u32) -> ::core::option::Option<&'static str> {
                    match update {
                        #(#numbers => ::core::option::Option::Some(#names),)*
                        _ => ::core::option::Option::None,
                    }
                }

                #[allow(unused_variables)]
                fn apply(
                    &mut self,
                    update: u32,
                    arguments: &[u8],
                ) -> ::core::result::Result<(), ::std::string::String> {
                    match update {
                        #(#arms)*
                        _ => {}
                    }
                    ::core::result::Result::Ok(())
                }
            }

            #(#manifest)*
        };
    }
}
