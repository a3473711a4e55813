//! Losses in a decoded value that encodes to the same bytes again: a field that serde skips, a number that is
//! written shorter than it is.
//!
//! Only the type itself can detect them. [`Three::lost`] compares by `PartialEq`, else by `Debug`, and does not
//! compile for a type that has neither. `#[job]` knows the type and calls `(&&&&Three(…)).lost()`; method resolution
//! takes the first of the four traits here that the type implements.
//!
//! Two values decoded from the same bytes must be equal, or the comparison does not compare contents: `NaN`
//! differs from itself, a pointer differs from a pointer to a copy, and so does an order that is new each time.

use std::fmt::{Debug, Write};
use std::hash::Hasher;
use std::marker::PhantomData;

use rustc_hash::FxHasher;

/// What a value has lost, for people.
pub type Lost<T> = fn(&T, &T, Option<&T>) -> Option<String>;

/// A value, its decoded copy and, if these seem to differ, a second decoded copy.
pub struct Three<'a, T>(pub &'a T, pub &'a T, pub Option<&'a T>);

/// Compares by `PartialEq`, and by `Debug` if that cannot be used.
pub trait ByBoth {
    /// What the value has lost.
    fn lost(&self) -> Option<String>;
}

/// By `PartialEq`.
pub trait ByValue {
    /// What the value has lost.
    fn lost(&self) -> Option<String>;
}

/// By `Debug`.
pub trait ByText {
    /// What the value has lost.
    fn lost(&self) -> Option<String>;
}

/// Does not compare, and does not compile.
pub trait Untold {
    /// What the value has lost.
    fn lost(&self) -> Option<String>;
}

/// The compiler's error for a type whose losses cannot be detected. It names the type, as that of the function that it
/// compiles.
struct Untellable<T>(PhantomData<T>);

impl<T> Untellable<T> {
    const REFUSED: () = panic!(
        "a parameter or result of a #[job] has a type that is neither `PartialEq` nor `Debug` (the compiler names it \
         below): nobody could tell whether it arrives as it was sent. Add #[derive(Debug)] to it"
    );
}

impl<T: PartialEq + Debug> ByBoth for &&&Three<'_, T> {
    fn lost(&self) -> Option<String> {
        match self.by_value() {
            Verdict::Same => None,
            Verdict::Lost => Some(self.lost_line()),
            Verdict::Untold => self.by_text(),
        }
    }
}

impl<T: PartialEq> ByValue for &&Three<'_, T> {
    fn lost(&self) -> Option<String> {
        (self.by_value() == Verdict::Lost).then(String::new)
    }
}

impl<T: Debug> ByText for &Three<'_, T> {
    fn lost(&self) -> Option<String> {
        self.by_text()
    }
}

impl<T> Untold for Three<'_, T> {
    fn lost(&self) -> Option<String> {
        let () = Untellable::<T>::REFUSED;
        None
    }
}

/// For the code that `#[job]` writes.
#[cold]
pub fn in_parameter(name: &str, what: &str) -> String {
    if what.is_empty() {
        format!("the parameter `{name}`")
    } else {
        format!("{what} in the parameter `{name}`")
    }
}

#[derive(PartialEq)]
enum Verdict {
    Same,
    Lost,
    Untold,
}

impl<T: PartialEq> Three<'_, T> {
    fn by_value(&self) -> Verdict {
        if self.0 == self.1 {
            Verdict::Same
        } else if self.2.is_none_or(|again| self.1 == again) {
            Verdict::Lost
        } else {
            Verdict::Untold
        }
    }
}

impl<T: Debug> Three<'_, T> {
    fn by_text(&self) -> Option<String> {
        if digest(self.0) == digest(self.1) {
            return None;
        }
        let read = words(self.1);
        let differs = words(self.0) != read && self.2.is_none_or(|again| words(again) == read);
        differs.then(|| self.lost_line())
    }

    /// The first line of the value's debug output that the decoded copy does not have, and its owner.
    fn lost_line(&self) -> String {
        let (sent, read) = (format!("{:#?}", self.0), format!("{:#?}", self.1));
        let mut left: Vec<&str> = read.lines().map(str::trim_start).collect();
        let mut above: Vec<&str> = Vec::new();
        for line in sent.lines() {
            let indented = |line: &str| line.len() - line.trim_start().len();
            while above.last().is_some_and(|last| indented(last) >= indented(line)) {
                above.pop();
            }
            match left.iter().position(|other| *other == line.trim_start()) {
                Some(found) => {
                    left.swap_remove(found);
                }
                None => return told(line, above.last().copied()),
            }
            above.push(line);
        }
        String::new()
    }
}

#[cold]
fn told(line: &str, container: Option<&str>) -> String {
    const CHARACTERS_MAX: usize = 120;
    let short = |text: &str| {
        let text = text.trim().trim_end_matches([',', '{', '(', '[', ' ']);
        let mut short: String = text.chars().take(CHARACTERS_MAX).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        short
    };
    match container.map(short).filter(|container| !container.is_empty()) {
        Some(container) => format!("`{}` of `{container}`", short(line)),
        None => format!("`{}`", short(line)),
    }
}

/// A hash of a value's debug output: a guest compares most values, and keeping their texts would take too long.
fn digest(value: &impl Debug) -> Option<u64> {
    struct Digest(FxHasher);
    impl Write for Digest {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            // Ignores where parts end, because that may differ for equal texts.
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut digest = Digest(FxHasher::default());
    write!(digest, "{value:?}").ok()?;
    Some(digest.0.finish())
}

/// The sorted words of a value's debug output: the order of a hash map has no meaning.
fn words(value: &impl Debug) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let mut words: Vec<String> = format!("{value:?}")
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.sort_unstable();
    words
}
