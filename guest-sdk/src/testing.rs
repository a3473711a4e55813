//! For an app's own tests, which run without a grid.

#[cfg(not(target_family = "wasm"))]
use std::{cell::RefCell, collections::BTreeMap};

#[cfg(not(target_family = "wasm"))]
thread_local! {
    static INPUTS: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Gives the input `name` to the tests of this thread, as `--input` does to a run.
#[cfg(not(target_family = "wasm"))]
pub fn set_input(name: &str, bytes: impl Into<Vec<u8>>) {
    let bytes = bytes.into();
    INPUTS.with_borrow_mut(|inputs| inputs.insert(name.to_owned(), bytes));
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn read(name: &str) -> Option<Vec<u8>> {
    INPUTS.with_borrow(|inputs| inputs.get(name).cloned())
}
