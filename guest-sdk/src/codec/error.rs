//! Why a value cannot be sent.

use std::fmt;

/// The name of a part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// A field of a struct.
    Field(&'static str),
    /// A position in a tuple, sequence or map.
    Index(usize),
}

/// Why a value cannot be encoded, and which part of it: in a box, so that success is one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError(Box<Failed>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Failed {
    refusal: Refusal,
    /// Names of the part and of those around it, from the innermost.
    names: Vec<Name>,
    /// The type of the part; empty if it is the whole value.
    type_name: &'static str,
}

/// Why a value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `skip_serializing_if` left out a field that the receiver expects.
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

impl From<Refusal> for EncodeError {
    #[cold]
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(Failed { refusal, names: Vec::new(), type_name: "" }))
    }
}

impl From<postcard::Error> for EncodeError {
    #[cold]
    fn from(error: postcard::Error) -> Self {
        Refusal::Custom(error.to_string()).into()
    }
}

impl EncodeError {
    /// The same, of the part `name` of a larger value.
    #[cold]
    #[inline(never)]
    pub fn within(mut self, name: Name, type_name: &'static str) -> Self {
        if self.0.names.is_empty() {
            self.0.type_name = type_name;
        }
        self.0.names.push(name);
        self
    }

    /// The type of the part; empty if it is the whole value.
    pub fn type_name(&self) -> &'static str {
        self.0.type_name
    }

    /// The part's path, such as `shape.corners[2]`; empty if it is the whole value.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for name in self.0.names.iter().rev() {
            match name {
                Name::Field(field) if path.is_empty() => path += field,
                Name::Field(field) => {
                    path.push('.');
                    path += field;
                }
                Name::Index(index) => {
                    path.push('[');
                    path += &index.to_string();
                    path.push(']');
                }
            }
        }
        path
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        match &self.0.refusal {
            Refusal::Skipped { container, field } => write!(
                f,
                "field `{field}` of `{container}` is left out by `skip_serializing_if`, but values travel \
                 without field names; remove that attribute"
            ),
            Refusal::UnknownLength if path.is_empty() => f.write_str(
                "the length of a map or sequence in it is not known in advance, as with `#[serde(flatten)]`; \
                 use a plain field",
            ),
            Refusal::UnknownLength => write!(
                f,
                "the length of a map or sequence in its part `{path}`, a `{}`, is not known in advance, as with \
                 `#[serde(flatten)]`; use a plain field",
                self.type_name()
            ),
            Refusal::Custom(message) if path.is_empty() => f.write_str(message),
            Refusal::Custom(message) => write!(f, "its part `{path}`: {message}"),
        }
    }
}

impl std::error::Error for EncodeError {}

impl serde::ser::Error for EncodeError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Refusal::Custom(message.to_string()).into()
    }
}
