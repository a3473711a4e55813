//! The parameters and result of a marked function, or why it cannot be marked.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ItemFn, Pat, Result, ReturnType, Safety, Type};

use crate::travel::refuse_untravelled;

/// The part of a function's signature that the generated code repeats.
pub struct Signature {
    pub names: Vec<Ident>,
    pub types: Vec<Type>,
    pub output: TokenStream,
    /// The position of the parameters in the user's code.
    pub place: Span,
}

impl Signature {
    /// Reads the signature of `function`, which carries the attribute `#[what]`.
    pub fn read(function: &ItemFn, what: &str) -> Result<Self> {
        let signature = &function.sig;
        refuse(&signature.asyncness, what, "cannot be async: it runs to its end on a worker")?;
        if matches!(signature.safety, Safety::Unsafe(_)) {
            return Err(Error::new_spanned(
                &signature.safety,
                format!("a #[{what}] cannot be unsafe: anybody may run it with any parameters"),
            ));
        }
        refuse(&signature.abi, what, "cannot be extern: its calling convention is Sateen's")?;
        refuse(&signature.variadic, what, "cannot be variadic")?;
        if !signature.generics.params.is_empty() {
            return Err(Error::new_spanned(
                &signature.generics,
                format!(
                    "a #[{what}] cannot be generic: other machines find it by its name alone; mark a function for each type"
                ),
            ));
        }

        let mut names = Vec::new();
        let mut types = Vec::new();
        for input in &signature.inputs {
            let argument = match input {
                FnArg::Receiver(receiver) => {
                    return Err(Error::new_spanned(
                        receiver,
                        format!(
                            "a #[{what}] cannot be a method: make it a free function and pass the value as a parameter"
                        ),
                    ));
                }
                FnArg::Typed(argument) => argument,
            };
            refuse_untravelled(&argument.ty, what)?;
            names.push(match argument.pat.as_ref() {
                Pat::Ident(pattern) if pattern.subpat.is_none() => pattern.ident.clone(),
                _ => Ident::new(&format!("parameter_{}", names.len()), argument.pat.span()),
            });
            types.push(argument.ty.as_ref().clone());
        }

        let output = match &signature.output {
            ReturnType::Default => quote!(()),
            ReturnType::Type(_, ty) => {
                // The output of a run is turned into text at once, and not sent.
                if what == "job" {
                    refuse_untravelled(ty, what)?;
                }
                ty.to_token_stream()
            }
        };
        Ok(Self { names, types, output, place: signature.paren_token.span.join() })
    }

    /// The parameters' types as a tuple; errors in it point to the parameters.
    pub fn tuple(&self) -> TokenStream {
        let types = &self.types;
        let mut tuple = Group::new(Delimiter::Parenthesis, quote!(#(#types,)*));
        tuple.set_span(self.place);
        tuple.into_token_stream()
    }

    /// Names for the parameters where the function is called, which may have a parameter of its own
    /// name.
    pub fn own_names(&self) -> Vec<Ident> {
        (0..self.names.len())
            .map(|index| Ident::new(&format!("__sateen_parameter_{index}"), Span::mixed_site()))
            .collect()
    }

    /// The parameters as one line for people: `n: u64, board: Board`.
    pub fn parameters(&self) -> String {
        list(&self.names, &self.types)
    }

    /// The result's type for people.
    pub fn result(&self) -> String {
        compact(&self.output)
    }
}

fn list(names: &[Ident], types: &[Type]) -> String {
    let each = names.iter().zip(types);
    let parameters: Vec<String> =
        each.map(|(name, ty)| format!("{name}: {}", compact(&ty.to_token_stream()))).collect();
    parameters.join(", ")
}

fn refuse<T: ToTokens>(found: &Option<T>, what: &str, why: &str) -> Result<()> {
    match found {
        Some(tokens) => Err(Error::new_spanned(tokens, format!("a #[{what}] {why}"))),
        None => Ok(()),
    }
}

/// A type's tokens without the spaces that `to_string` puts between them.
pub fn compact(tokens: &TokenStream) -> String {
    let spaced = tokens.to_string();
    let mut line = String::with_capacity(spaced.len());
    for character in spaced.chars() {
        let follows_word = line.ends_with(|last: char| last.is_alphanumeric());
        if character == ' ' && !line.ends_with([',', ';']) && !follows_word {
            continue;
        }
        if matches!(character, '<' | '>' | ',' | ';' | ':' | '(' | ')' | ']') && line.ends_with(' ') {
            line.pop();
        }
        line.push(character);
    }
    line.trim_end().to_owned()
}

/// The line that describes a marked function in the module's manifest (a custom section, so that
/// `sateen check` can read it without running anything).
pub fn manifest_entry(kind: &str, name: &str, signature: &Signature) -> TokenStream {
    let line = format!("{kind} {name}({}) -> {}\n", signature.parameters(), signature.result());
    in_manifest(&quote!(#line))
}

/// The line with the function of a job that has another name: backtraces contain the function's name.
pub fn function_entry(name: &str, function: &Ident) -> TokenStream {
    let (line, function) = (format!("function {name} "), format!("::{function}\n"));
    in_manifest(&quote!(#line, ::core::module_path!(), #function))
}

/// The line that describes an update function of the shared type `object`.
pub fn manifest_entry_of_update(object: &str, name: &str, names: &[Ident], types: &[Type]) -> TokenStream {
    let line = format!("update {object}::{name}({})\n", list(names, types));
    in_manifest(&quote!(#line))
}

/// Writes `parts`, string literals or expressions that become one, to the module's manifest.
fn in_manifest(parts: &TokenStream) -> TokenStream {
    quote! {
        #[cfg(target_family = "wasm")]
        const _: () = {
            const TEXT: &[u8] = ::core::concat!(#parts).as_bytes();
            #[used]
            #[unsafe(link_section = "sateen.manifest")]
            static ENTRY: [u8; TEXT.len()] = match TEXT.first_chunk() {
                ::core::option::Option::Some(bytes) => *bytes,
                ::core::option::Option::None => ::core::unreachable!(),
            };
        };
    }
}

/// Checks that `name` can be part of an export's name.
pub fn checked_name(name: String, span: Span) -> Result<String> {
    let fits = !name.is_empty()
        && name.len() <= 128
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-'));
    if fits { Ok(name) } else { Err(Error::new(span, "a name has 1 to 128 letters, digits and `_ : . -`")) }
}
