//! Values made from a run's inputs alone: what `#[prepare]` keeps.

use std::cell::{Cell, RefCell};

use crate::per_sandbox;

/// The value of a function marked `#[prepare]`: made once in each sandbox, or once in each image of a sandbox; natively,
/// once on each thread and for each set of inputs.
#[doc(hidden)]
pub struct Prepared<T: 'static> {
    made: Cell<Option<&'static Made<T>>>,
    /// A job of this sandbox has used it.
    is_used: Cell<bool>,
}

struct Made<T> {
    value: T,
    /// The names of the inputs that it was made from.
    inputs: Vec<String>,
    edition: u64,
}

thread_local! {
    /// For each value that is being made, the innermost last: the inputs that were read for it.
    static MAKING: RefCell<Vec<Vec<String>>> = const { RefCell::new(Vec::new()) };
}

impl<T> Prepared<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn new() -> Self {
        Self { made: Cell::new(None), is_used: Cell::new(false) }
    }

    /// The value; `make` makes it.
    #[doc(hidden)]
    #[track_caller]
    pub fn get(&self, make: fn() -> T) -> &'static T {
        let edition = source::edition();
        let made = match self.made.get().filter(|made| made.edition == edition) {
            Some(made) if self.is_used.get() => return &made.value,
            Some(made) => made,
            None => {
                let making = Making::begin();
                let value = per_sandbox(&(), || source::without_spawns(make));
                let made: &_ = Box::leak(Box::new(Made { value, inputs: making.end(), edition }));
                self.made.set(Some(made));
                made
            }
        };
        if is_making() {
            made.inputs.iter().for_each(|name| note_input(name));
        } else {
            self.is_used.set(true);
            made.inputs.iter().for_each(|name| source::note_use(name));
        }
        &made.value
    }
}

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A value that is being made, until this is dropped.
struct Making;

impl Making {
    fn begin() -> Self {
        MAKING.with_borrow_mut(|making| making.push(Vec::new()));
        Self
    }

    /// The names of the inputs that were read.
    fn end(self) -> Vec<String> {
        MAKING.with_borrow_mut(|making| making.last_mut().map(std::mem::take)).unwrap_or_default()
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.with_borrow_mut(Vec::pop);
    }
}

fn is_making() -> bool {
    MAKING.with_borrow(|making| !making.is_empty())
}

/// The input `name` was read.
pub fn note_input(name: &str) {
    MAKING.with_borrow_mut(|making| {
        if let Some(inputs) = making.last_mut()
            && !inputs.iter().any(|known| known == name)
        {
            inputs.push(name.to_owned());
        }
    });
}

/// Ends a `#[prepare]` function that does something on which its value must not depend.
#[track_caller]
pub fn refuse_while_preparing(what: &str) {
    assert!(!is_making(), "a #[prepare] function cannot {what}: its value is made of the run's inputs alone");
}

/// Makes values before there is a job that uses them.
#[cfg(target_family = "wasm")]
pub fn ahead(make: impl FnOnce()) {
    let making = Making::begin();
    make();
    drop(making);
}

/// What was being made has trapped, and nobody will end it.
#[cfg(target_family = "wasm")]
pub fn forget_makings() {
    MAKING.with_borrow_mut(Vec::clear);
}

#[cfg(not(target_family = "wasm"))]
use crate::testing as source;
#[cfg(target_family = "wasm")]
use crate::wasm::preparing as source;

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use crate::{Prepared, input_text, testing};

    thread_local! {
        static LINES: Prepared<usize> = const { Prepared::new() };
        static DOUBLE: Prepared<usize> = const { Prepared::new() };
        static MADE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    fn lines() -> &'static usize {
        LINES.with(|prepared| {
            prepared.get(|| {
                MADE.set(MADE.get() + 1);
                input_text("text").map_or(0, |text| text.lines().count())
            })
        })
    }

    fn double() -> &'static usize {
        DOUBLE.with(|prepared| prepared.get(|| 2 * lines()))
    }

    #[test]
    fn a_value_is_made_once_for_each_set_of_inputs() {
        testing::set_input("text", "a\nb\n");
        assert_eq!((*double(), *lines(), MADE.get()), (4, 2, 1));
        testing::set_input("text", "a\n");
        assert_eq!((*lines(), *double(), MADE.get()), (1, 2, 2));
    }

    #[test]
    fn a_value_that_cannot_be_made_leaves_nothing_behind() {
        thread_local! {
            static NEVER: Prepared<()> = const { Prepared::new() };
        }
        let get = || *NEVER.with(|prepared| prepared.get(|| super::refuse_while_preparing("do that")));
        let panic = catch_unwind(get).expect_err("it refuses");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.starts_with("a #[prepare] function cannot do that"), "{message}");
        super::refuse_while_preparing("do that now");
    }
}
