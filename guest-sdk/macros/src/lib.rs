//! The attributes `#[job]`, `#[main]`, `#[prepare]`, `#[shared]` and `#[test]` of the crate `sateen`; see there for how to
//! use them.
//!
//! `signature` reads the parts of a function that the attributes need, and `travel` reports types that cannot
//! be sent to another machine, both at the user's own span; `job`, `main_fn`, `prepare_fn`, `shared_impl` and
//! `test_fn` write the code.

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, parse_macro_input};

mod job;
mod main_fn;
mod place;
mod prepare_fn;
mod shared_impl;
mod signature;
mod test_fn;
mod travel;

/// Marks a function whose calls may run elsewhere.
///
/// The function can still be called. The attribute adds `NAME::spawn(args…)`, which returns a handle to sync,
/// and `NAME::spawn_all(iterator)`. The job's name on the grid is the function's name; it must be unique in the
/// app, and `#[job(name = "…")]` sets another.
///
/// `#[job(guard = FUNCTION)]` names a function that takes references to the job's parameters and says
/// whether the shared objects among them are new enough. A job that runs elsewhere waits until they are.
///
/// Parameters and the result are owned values that implement `Serialize + DeserializeOwned`, because a job may
/// run on another machine.
#[proc_macro_attribute]
pub fn job(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    finish(&function, job::expand(attribute.into(), &function))
}

/// Marks an entry point of the app: the root job of a run.
///
/// `sateen run` calls the entry point named `main`; `--function NAME` chooses another. Its parameters are
/// parsed from the command line; its result is the run's output.
#[proc_macro_attribute]
pub fn main(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    finish(&function, main_fn::expand(attribute.into(), &function))
}

/// Marks a function of the run's inputs alone: parsed inputs, and tables made of them.
///
/// It takes no parameters and returns any value, which need not be serialisable. Where it is called, it returns a reference
/// to the value: `#[prepare] fn graph() -> Graph` becomes `fn graph() -> &'static Graph`, and one that returns
/// `Result<Graph, E>` becomes one that returns `Result<&'static Graph, E>`, with a clone of the error. A host makes the
/// value once in a run, keeps an image of the sandbox's memory, and begins every further sandbox with a copy of it.
///
/// ```
/// # mod app {
/// use sateen::prelude::*;
///
/// #[prepare]
/// fn lengths() -> Result<Vec<usize>, BadInput> {
///     Ok(sateen::input_text("words")?.lines().map(str::len).collect())
/// }
///
/// #[job]
/// fn longest(first: usize, count: usize) -> usize {
///     // The root job has returned the error, if there was one.
///     let lengths = lengths().expect("the input was read before");
///     lengths[first..first + count].iter().copied().max().unwrap_or(0)
/// }
///
/// #[main]
/// fn main() -> Result<usize, BadInput> {
///     let count = lengths()?.len();
///     Ok(longest(0, count))
/// }
/// # pub fn check() {
/// #     sateen::testing::set_input("words", "ab\nabc\n");
/// #     assert_eq!(main(), Ok(3));
/// # }
/// # }
/// # fn main() { app::check(); }
/// ```
///
/// The function may read inputs, write to the log and call other such functions. It cannot spawn jobs, and cannot use
/// shared objects. All such functions of an app are called before the first job, whichever entry point runs. So a function
/// should return a `Result` for an input that may be missing. If one fails, each sandbox makes the values when it uses
/// them.
#[proc_macro_attribute]
pub fn prepare(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    finish(&function, prepare_fn::expand(attribute.into(), &function))
}

/// Marks the `impl` block of a type whose values can be [`Shared`](https://docs.rs/sateen): its `#[update]`
/// functions can be called on references as well, and then change every replica.
///
/// An update function takes `&mut self` and owned, serialisable arguments, and has no result. It must depend
/// only on the value and the arguments, and must not panic.
#[proc_macro_attribute]
pub fn shared(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let item = item.into();
    match shared_impl::expand(attribute.into(), &item) {
        Ok(tokens) => tokens.into(),
        Err(error) => {
            let error = error.into_compile_error();
            let bare = shared_impl::without_attributes(item);
            quote!(#error #bare).into()
        }
    }
}

/// Marks an update function within a `#[shared]` block.
#[proc_macro_attribute]
pub fn update(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    let item: proc_macro2::TokenStream = item.into();
    let error = syn::Error::new(
        proc_macro2::Span::call_site(),
        "#[update] marks functions of an `impl` block that has the attribute #[shared]",
    );
    let error = error.into_compile_error();
    quote!(#error #item).into()
}

/// Marks a test of an app that `sateen test` runs in sandboxes as well: on 1, 2 and 4 workers, and with every job in an
/// instance of its own.
///
/// `cargo test` runs it like any test. It takes no parameters and may return whatever a `#[main]` may return; the
/// value must be the same everywhere, and an error fails the test. Its name must be unique among the app's tests.
///
/// `#[sateen::test(inputs(cities = include_bytes!("../cities.tsp")))]` sets its inputs.
#[proc_macro_attribute]
pub fn test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ItemFn);
    finish(&function, test_fn::expand(attribute.into(), &function))
}

/// The generated code, or the error together with the unchanged function: without the function, every mention
/// of it would be an error as well.
fn finish(function: &ItemFn, written: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    match written {
        Ok(tokens) => tokens.into(),
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#error #function).into()
        }
    }
}
