//! An app whose parameters and results have types that are hard to encode, one entry point each: the results of those
//! in [`travels`] must be the same wherever their jobs run, and those in [`refused`] must end with an error that names
//! the type and the field. The app is also compiled for this machine, where the same entry points return the expected
//! answers.

pub mod refused;
pub mod travels;

use std::fmt::Debug;

/// An entry point: the depth of its tree, and the steps of each leaf.
pub type Entry = fn(u32, u64) -> String;

/// An entry point that is refused: its name, its native function, and the words in the error.
pub type Refused = (&'static str, Entry, &'static [&'static str]);

/// About `steps` nanoseconds of work, so that other workers get a job.
pub fn spin(steps: u64) -> u64 {
    std::hint::black_box(
        (0..steps).fold(std::hint::black_box(steps), |state, step| {
            state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step
        }),
    )
}

/// The values at the leaves of a tree of jobs, which should be equal: the distinct texts, each with its count.
#[must_use]
pub fn told<T: Debug>(values: &[T], text: impl Fn(&T) -> String) -> String {
    let mut texts: Vec<(String, usize)> = Vec::new();
    for value in values {
        let text = text(value);
        match texts.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => texts.push((text, 1)),
        }
    }
    let lines: Vec<String> = texts.iter().map(|(text, count)| format!("{count} times {text}")).collect();
    lines.join("; ")
}

/// Defines an entry point and its job: a binary tree of jobs that pass a value down, and the leaves' values up.
#[macro_export]
macro_rules! passes {
    ($(#[$about:meta])* $entry:ident, $job:ident: $ty:ty = $value:expr) => {
        $crate::passes!($(#[$about])* $entry, $job: $ty = $value, |value| format!("{value:?}"));
    };
    ($(#[$about:meta])* $entry:ident, $job:ident: $ty:ty = $value:expr, $text:expr) => {
        $(#[$about])*
        #[sateen::job]
        pub fn $job(value: $ty, depth: u32, steps: u64) -> Vec<$ty> {
            if depth == 0 {
                $crate::spin(steps);
                return vec![value];
            }
            let left = $job::spawn(value.clone(), depth - 1, steps);
            let mut values = $job(value, depth - 1, steps);
            values.extend(left.sync());
            values
        }

        $(#[$about])*
        #[sateen::main]
        pub fn $entry(depth: u32, steps: u64) -> String {
            $crate::told(&$job($value, depth, steps), $text)
        }
    };
}
