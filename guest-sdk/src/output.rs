//! The types that a `#[main]` may return, and how they become the output.

use std::any::Any;
use std::error::Error;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::BadInput;

/// How the root job ended, as the guest hands it to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Text for people: printed with a line's end.
    Text(String),
    /// Bytes: written as they are.
    Bytes(#[serde(with = "bytes")] Vec<u8>),
    /// The app returned an error.
    Failed(String),
    /// The user's arguments or inputs were wrong.
    BadInput(String),
}

/// Serialises as a byte string, not as a sequence of numbers.
mod bytes {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        <&[u8]>::deserialize(deserializer).map(<[u8]>::to_vec)
    }
}

/// A type that a `#[main]` can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of a run",
    note = "a #[main] returns text (numbers, bool, char, &'static str, String), bytes (Vec<u8>), nothing, or a Result of these"
)]
pub trait Output {
    /// The run's output.
    fn into_outcome(self) -> Outcome;
}

macro_rules! shown_as_text {
    ($($type:ty),*) => {$(
        impl Output for $type {
            fn into_outcome(self) -> Outcome {
                Outcome::Text(self.to_string())
            }
        }
    )*};
}

shown_as_text!(
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    bool,
    char,
    &'static str
);

impl Output for String {
    fn into_outcome(self) -> Outcome {
        Outcome::Text(self)
    }
}

impl Output for Vec<u8> {
    fn into_outcome(self) -> Outcome {
        Outcome::Bytes(self)
    }
}

impl Output for () {
    fn into_outcome(self) -> Outcome {
        Outcome::Bytes(Vec::new())
    }
}

impl<T: Output, E: Display + 'static> Output for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(output) => output.into_outcome(),
            Err(error) if is_bad_input(&error) => Outcome::BadInput(error.to_string()),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }
}

/// Whether `error` is a [`BadInput`], itself or in a box.
fn is_bad_input(error: &dyn Any) -> bool {
    error.is::<BadInput>()
        || error.downcast_ref::<Box<dyn Error>>().is_some_and(|inner| inner.is::<BadInput>())
        || error.downcast_ref::<Box<dyn Error + Send + Sync>>().is_some_and(|inner| inner.is::<BadInput>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_become_text_or_bytes() {
        assert_eq!(7u64.into_outcome(), Outcome::Text("7".to_owned()));
        assert_eq!(vec![7u8].into_outcome(), Outcome::Bytes(vec![7]));
        assert_eq!(Ok::<u8, String>(7).into_outcome(), Outcome::Text("7".to_owned()));
    }

    #[test]
    fn bad_input_is_distinguished_from_failure() {
        let failed: Result<(), &str> = Err("no");
        assert_eq!(failed.into_outcome(), Outcome::Failed("no".to_owned()));
        let bad: Result<(), BadInput> = Err(BadInput::new("line 3"));
        assert_eq!(bad.into_outcome(), Outcome::BadInput("line 3".to_owned()));
        let boxed: Result<(), Box<dyn Error>> = Err(BadInput::new("line 3").into());
        assert_eq!(boxed.into_outcome(), Outcome::BadInput("line 3".to_owned()));
    }
}
