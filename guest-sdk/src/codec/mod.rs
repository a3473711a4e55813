//! The encoding of parameters and results: postcard, in one canonical form for every host.
//!
//! The values of a call in place are never encoded; those that are sent to another instance are. So an app with
//! a type whose encoding loses something has one result on one worker and another on two. [`round_trip`] finds
//! such types: tests on this machine apply it to every parameter and result, a guest to the first of each kind
//! and to some of the others.

mod buffer;
mod canonical;
mod error;
pub mod lost;
mod order;

use std::any::type_name;

use serde::Serialize;
use serde::de::DeserializeOwned;

use buffer::Buffer;
use error::EncodeError;
use lost::Lost;

/// The canonical bytes of `value`: equal values have equal bytes.
///
/// # Panics
/// If the value cannot be encoded; the message names its type.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    try_encode(value).unwrap_or_else(|error| panic!("{}", unwritten::<T>(&error)))
}

#[cold]
fn unwritten<T>(error: &EncodeError) -> String {
    format!("a value of type `{}` cannot travel: {error}", type_name::<T>())
}

fn try_encode<T: Serialize>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut out = Buffer::default();
    canonical::write(value, &mut out)?;
    Ok(out.bytes)
}

/// Decodes a value from `bytes`.
///
/// # Errors
/// A sentence that names the type, if the bytes are not such a value.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let (value, rest) = postcard::take_from_bytes(bytes)
        .map_err(|error| format!("{} bytes are not a {}: {error}", bytes.len(), type_name::<T>()))?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("{} bytes follow a {}", rest.len(), type_name::<T>()))
    }
}

/// The value that arrives elsewhere when `value` is sent.
///
/// # Errors
/// As for [`round_trip`].
#[cfg(not(target_family = "wasm"))]
pub fn travel<T: Serialize + DeserializeOwned>(value: &T, lost: Lost<T>) -> Result<T, String> {
    let bytes = try_encode(value).map_err(|error| unwritten::<T>(&error))?;
    round_trip(value, &bytes, lost)
}

/// The value that arrives elsewhere when `value`, whose encoding is `bytes`, is sent; `lost` compares the two.
///
/// # Errors
/// A sentence that names the type, and the field if it is known, if a different value would arrive.
pub fn round_trip<T: Serialize + DeserializeOwned>(
    value: &T,
    bytes: &[u8],
    lost: Lost<T>,
) -> Result<T, String> {
    const CHANGES: &str = "is not the same when it is read back";
    let mut reader = postcard::Deserializer::from_bytes(bytes);
    let decoded = T::deserialize(&mut reader);
    let left = reader.finalize().map_or(0, <[u8]>::len);
    let (offset, why) = match decoded {
        Err(postcard::Error::WontImplement) => {
            let offset = bytes.len() - left;
            let (part, type_name) = part_at(value, offset);
            let type_name = if type_name.is_empty() { std::any::type_name::<T>() } else { type_name };
            let why =
                format!("cannot be read back: a `{type_name}` asks which type comes next, which is not sent");
            return Err(broken::<T>(&quoted(&part), &why));
        }
        Err(postcard::Error::SerdeDeCustom) => {
            // A type takes bytes before it refuses them.
            let (part, type_name) = part_at(value, (bytes.len() - left).saturating_sub(1));
            let type_name = if type_name.is_empty() { std::any::type_name::<T>() } else { type_name };
            let why = format!(
                "cannot be read back: `Deserialize` of `{type_name}` refuses what its `Serialize` has written, as if serde \
                 skips one of its variants"
            );
            return Err(broken::<T>(&quoted(&part), &why));
        }
        Err(error) => (bytes.len() - left, format!("cannot be read back ({error})")),
        Ok(decoded) if left > 0 => {
            let again = try_encode(&decoded).unwrap_or_default();
            let offset = first_difference(&again, bytes).unwrap_or(bytes.len() - left);
            let part = quoted(&part_at(value, offset).0);
            let part = if part.is_empty() { part } else { format!("{part}, or a part before it,") };
            let unit = if left == 1 { "byte" } else { "bytes" };
            return Err(broken::<T>(&part, &format!("leaves {left} {unit} unread when it is read back")));
        }
        Ok(decoded) => {
            let mut again = Buffer::default();
            canonical::write(&decoded, &mut again).map_err(|error| broken::<T>("", &error.to_string()))?;
            match first_difference(&again.bytes, bytes) {
                None if again.has_ordered && in_own_order(value) != in_own_order(&decoded) => {
                    return Err(broken::<T>(
                        "",
                        "has a map that is in another order when it is read back (a `sateen::HashMap` keeps its \
                         order, a `BTreeMap` has but one)",
                    ));
                }
                None => {
                    return match what_is_lost(value, &decoded, bytes, lost) {
                        None => Ok(decoded),
                        Some(what) => Err(broken::<T>(&what, CHANGES)),
                    };
                }
                Some(offset) => (offset, CHANGES.to_owned()),
            }
        }
    };
    Err(broken::<T>(&quoted(&part_at(value, offset).0), &why))
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let both = one.len().min(other.len());
    (one.iter().zip(other).position(|(one, other)| one != other))
        .or_else(|| (one.len() != other.len()).then_some(both))
}

/// Maps in the order of iteration, unless that order is known to have no meaning.
#[cold]
fn in_own_order<T: Serialize>(value: &T) -> Vec<u8> {
    let mut out = Buffer { keeps_order: true, ..Buffer::default() };
    // It was encoded before.
    let _ = canonical::write(value, &mut out);
    out.bytes
}

fn what_is_lost<T: DeserializeOwned>(value: &T, decoded: &T, bytes: &[u8], lost: Lost<T>) -> Option<String> {
    lost(value, decoded, None)?;
    lost(value, decoded, decode(bytes).ok().as_ref())
}

fn quoted(part: &str) -> String {
    if part.is_empty() { String::new() } else { format!("`{part}`") }
}

#[cold]
fn broken<T>(part: &str, why: &str) -> String {
    let type_name = type_name::<T>();
    let what =
        if part.is_empty() { format!("a `{type_name}`") } else { format!("{part} of a `{type_name}`") };
    format!(
        "{what} {why}. Values are sent without field names and types, and hash maps without their order. These cannot be sent: \
         serde's `untagged`, `tag` and `flatten`; skipped fields that are not empty; skipped variants; rounded numbers; \
         types such as `serde_json::Value`; wrappers of hash maps. Often, `#[serde(with = \"…\")]` helps: it can write a text"
    )
}

/// The field whose encoding is at `offset`, and its type.
#[cold]
fn part_at<T: Serialize>(value: &T, offset: usize) -> (String, &'static str) {
    // If there is no byte at `offset`, the offset belongs to the last part.
    let whole = try_encode(value).map_or(0, |bytes| bytes.len());
    let mut out = Buffer::bounded(offset.min(whole.saturating_sub(1)));
    canonical::write(value, &mut out)
        .map_or_else(|error| (error.path(), error.type_name()), |()| (String::new(), ""))
}

#[cfg(test)]
mod tests;
