//! How parameters and results become bytes: postcard, one fixed form for every host.
//!
//! A value that is called in place is never encoded, and one that travels is. So a type whose encoding
//! loses something gives one answer on one worker and another on two. [`round_trip`] finds such types:
//! this machine's tests apply it to every parameter and result, a guest to the first of each kind.

mod buffer;
mod canonical;
mod error;
mod trace;

use std::any::type_name;

use serde::Serialize;
use serde::de::DeserializeOwned;

use buffer::Buffer;
use error::EncodeError;

/// The canonical bytes of `value`: equal values have equal bytes.
///
/// # Panics
/// When the value cannot be encoded; the message names its type.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    try_encode(value)
        .unwrap_or_else(|error| panic!("a value of type `{}` cannot travel: {error}", type_name::<T>()))
}

fn try_encode<T: Serialize>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut out = Buffer::default();
    canonical::write(value, &mut out, &mut ())?;
    Ok(out.0)
}

/// The value that `bytes` stand for.
///
/// # Errors
/// A sentence that names the type, when they stand for no such value.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let (value, rest) = postcard::take_from_bytes(bytes)
        .map_err(|error| format!("{} bytes are not a {}: {error}", bytes.len(), type_name::<T>()))?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("{} bytes follow a {}", rest.len(), type_name::<T>()))
    }
}

/// What arrives elsewhere when `value` is sent.
///
/// # Errors
/// As for [`round_trip`].
#[cfg(not(target_family = "wasm"))]
pub fn travel<T: Serialize + DeserializeOwned>(value: &T) -> Result<T, String> {
    let bytes = try_encode(value).map_err(|error| error.to_string())?;
    round_trip(value, &bytes)
}

/// What arrives elsewhere when `value`, whose encoding is `bytes`, is sent.
///
/// # Errors
/// A sentence that names the type, and on this machine the field, when something else would arrive.
pub fn round_trip<T: Serialize + DeserializeOwned>(value: &T, bytes: &[u8]) -> Result<T, String> {
    let mut reader = postcard::Deserializer::from_bytes(bytes);
    let decoded = T::deserialize(&mut reader);
    let left = reader.finalize().map_or(0, <[u8]>::len);
    let (offset, why) = match decoded {
        Err(error) => (bytes.len() - left, format!("cannot be read back ({error})")),
        Ok(_) if left > 0 => (bytes.len() - left, format!("leaves {left} bytes unread when it is read back")),
        Ok(decoded) => {
            let again = try_encode(&decoded).map_err(|error| broken::<T>("", &error.to_string()))?;
            match again.iter().zip(bytes).position(|(one, other)| one != other) {
                None if again.len() == bytes.len() => return Ok(decoded),
                None => (again.len().min(bytes.len()), "is not the same when it is read back".to_owned()),
                Some(offset) => (offset, "is not the same when it is read back".to_owned()),
            }
        }
    };
    Err(broken::<T>(&part_at(value, offset), &why))
}

#[cold]
fn broken<T>(part: &str, why: &str) -> String {
    let type_name = type_name::<T>();
    let what =
        if part.is_empty() { format!("a `{type_name}`") } else { format!("`{part}` of a `{type_name}`") };
    format!(
        "{what} {why}; parameters and results travel without field names, and in no order of a hash map's own: \
         serde's `untagged`, `tag` and `flatten`, types such as `serde_json::Value`, and wrappers of hash maps \
         cannot be used in them"
    )
}

/// The field that is written at `offset`.
#[cfg(not(target_family = "wasm"))]
fn part_at<T: Serialize>(value: &T, offset: usize) -> String {
    let mut locator = trace::Locator::new(offset);
    // It was encoded before.
    let _ = canonical::write(value, &mut Buffer::default(), &mut locator);
    locator.path()
}

/// Each type's encoder would be in the module twice, for a message that the app's tests give as well.
#[cfg(target_family = "wasm")]
fn part_at<T: Serialize>(_value: &T, _offset: usize) -> String {
    String::new()
}

#[cfg(test)]
mod tests;
