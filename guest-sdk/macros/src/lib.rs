//! The attributes `#[job]` and `#[main]` of the crate `sateen`; see there for how to use them.
//!
//! `signature` turns a function into what both attributes need and `travel` reports what cannot go to
//! another machine, both at the user's own span; `job` and `main_fn` write the code.

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

mod job;
mod main_fn;
mod signature;
mod travel;

/// Marks a function whose calls may run elsewhere.
///
/// The function stays callable as it is. Beside it come `NAME::spawn(args…)`, which returns a
/// handle to be synced, and `NAME::spawn_all(iterator)`. The job's name on the grid is the
/// function's; it must be unique in the app, and `#[job(name = "…")]` sets another.
///
/// Parameters are owned values that implement `Serialize + DeserializeOwned`, as is the result: a
/// job may run on another machine.
#[proc_macro_attribute]
pub fn job(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    finish(&function, job::expand(attribute.into(), &function))
}

/// Marks an entry point of the app: the root job of a run.
///
/// The entry named `main` is what `sateen run` calls; `--function NAME` chooses another. Its
/// parameters are parsed from the command line; what it returns is the run's output.
#[proc_macro_attribute]
pub fn main(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    finish(&function, main_fn::expand(attribute.into(), &function))
}

/// What was written, or the error beside the function as it stands: without it, every mention of it
/// were an error as well.
fn finish(function: &ItemFn, written: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    match written {
        Ok(tokens) => tokens.into(),
        Err(error) => {
            let error = error.into_compile_error();
            quote::quote!(#error #function).into()
        }
    }
}
