//! Errors, as an app sees them.

use std::fmt;

/// The user's input was wrong. Return this from a `#[main]`: the run ends with exit code 2 and this message.
/// The message should say what is wrong, where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadInput(pub String);

impl BadInput {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// An error in line `number`, counted from 1, of the input `name`. The command adds the name of the user's
    /// file.
    pub fn at_line(name: &str, number: usize, what: impl fmt::Display) -> Self {
        Self(format!("input `{name}`, line {number}: {what}"))
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// A spawned job panicked or trapped, here or on another machine.
///
/// Its text (`Display`) has the job and the message, and not the place, which is known only in a sandbox. So a program that
/// returns the text returns the same in a sandbox and in `cargo test`, if the job that fails was spawned. The text of a trap, such as an access outside the
/// memory, exists only in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    /// The innermost job that failed, which may be a descendant of the one that was synced. In a program compiled for this
    /// machine, the innermost that was spawned: jobs that are called like functions are not known.
    pub job: String,
    /// The panic's message in one line, or the trap.
    pub message: String,
    /// The place of the panic, `FILE:LINE:COLUMN`; none of a trap, and none in a program compiled for this machine.
    pub place: Option<String>,
    /// The guest's stack, innermost frame first; empty if it is not known.
    pub backtrace: Vec<String>,
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job `{}` failed: {}", self.job, self.message)
    }
}

impl std::error::Error for JobError {}

/// Lines of a panic's message as one line.
#[cfg(not(target_family = "wasm"))]
pub fn one_line(message: &str) -> String {
    message.trim_end().replace('\n', "; ")
}

/// The message and the place of a failure's text as hosts write it: `MESSAGE, at FILE:LINE:COLUMN`.
#[cfg(any(test, target_family = "wasm"))]
pub fn parted(text: String) -> (String, Option<String>) {
    // A panic whose payload is not a text.
    if let Some(place) = text.strip_prefix("panicked at ").filter(|place| is_place(place)) {
        return (NO_MESSAGE.to_owned(), Some(place.to_owned()));
    }
    match text.rsplit_once(", at ").filter(|(_, place)| is_place(place)) {
        Some((message, place)) => (message.to_owned(), Some(place.to_owned())),
        None => (text, None),
    }
}

/// The message of a panic whose payload is not a text.
pub const NO_MESSAGE: &str = "panicked";

#[cfg(any(test, target_family = "wasm"))]
fn is_place(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.rsplitn(3, ':');
    let numbers = [parts.next(), parts.next()];
    numbers.into_iter().all(|number| number.is_some_and(is_number))
        && parts.next().is_some_and(|file| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_parted_from_the_message() {
        let parts = |text: &str| parted(text.to_owned());
        let place = || Some("src/lib.rs:5:66".to_owned());
        assert_eq!(parts("seven 3, at src/lib.rs:5:66"), ("seven 3".to_owned(), place()));
        // The message is the app's, and may look like one with a place.
        assert_eq!(parts("no, at a:1:2, at src/lib.rs:5:66"), ("no, at a:1:2".to_owned(), place()));
        assert_eq!(parts(", at src/lib.rs:5:66"), (String::new(), place()));
        assert_eq!(parts("panicked at src/lib.rs:5:66"), (NO_MESSAGE.to_owned(), place()));
        for text in
            ["trap: wasm `unreachable`", "they meet, at noon", "it ends, at 5:6", "it ends, at :5:6", ""]
        {
            assert_eq!(parts(text), (text.to_owned(), None));
        }
    }
}
