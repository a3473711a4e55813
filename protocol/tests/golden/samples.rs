//! Samples of enums, such that the compiler asks for one of each variant.

use std::fmt::Debug;

use sateen_protocol::frugal;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Line, bytes, hex};

/// The lines of an enum, one for each variant in its braces. The match has no arm for the rest, so a variant
/// without a sample does not compile, and neither does one with a field that the sample lacks.
macro_rules! samples {
    ($of:ident: $($variant:ident { $($field:tt)* })*) => {{
        let name = |value: &$of| match value {
            $($of::$variant { .. } => concat!(stringify!($of), " ", stringify!($variant)),)*
        };
        let values = [$($of::$variant { $($field)* }),*];
        values.iter().map(|value| crate::samples::line(name(value), value)).collect::<Vec<crate::Line>>()
    }};
}

pub(crate) use samples;

/// The line of a value. Checks that its bytes are decoded to the same value, as a peer would decode them.
pub fn line<T>(name: &str, value: &T) -> Line
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let digits = hex(&postcard::to_allocvec(value).expect("it can be encoded"));
    let read: T = frugal::from_bytes(&bytes(&digits)).expect("it can be decoded");
    assert_eq!(&read, value, "{name} is not read as it was written");
    (name.to_owned(), digits)
}
