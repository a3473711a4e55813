//! Why a value cannot travel.

use std::fmt;

/// Why a value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodeError {
    /// `skip_serializing_if` left out a field, for which the receiver would look.
    Skipped {
        /// The struct or variant.
        container: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The length of a sequence or map is not known before its elements.
    UnknownLength,
    /// The type's own `Serialize` failed.
    Custom(String),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped { container, field } => write!(
                f,
                "field `{field}` of `{container}` is left out by `skip_serializing_if`, but values travel \
                 without field names; remove that attribute"
            ),
            Self::UnknownLength => f.write_str(
                "the length of a map or sequence in it is not known in advance, as with `#[serde(flatten)]`; \
                 use a plain field",
            ),
            Self::Custom(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for EncodeError {}

impl serde::ser::Error for EncodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }
}
