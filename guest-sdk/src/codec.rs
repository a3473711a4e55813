//! How parameters and results become bytes: postcard, one fixed form for every host.

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The canonical bytes of `value`.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    match postcard::serialize_with_flavor(value, Buffer::default()) {
        Ok(bytes) => bytes,
        Err(error) => panic!("a value of type {} cannot be serialised: {error}", std::any::type_name::<T>()),
    }
}

/// Bytes that are written one after another.
#[derive(Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    /// Room for what may follow bytes that are written all at once. Without it a megabyte would move to where there are
    /// two, for the few bytes after it.
    const ROOM: usize = 256;
}

impl Flavor for Buffer {
    type Output = Vec<u8>;

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        if self.0.capacity() - self.0.len() < data.len() {
            self.0.reserve(data.len() + Self::ROOM);
        }
        self.0.extend_from_slice(data);
        Ok(())
    }

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// The value that `bytes` stand for.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let (value, rest) = postcard::take_from_bytes(bytes)
        .map_err(|error| format!("{} bytes are no {}: {error}", bytes.len(), std::any::type_name::<T>()))?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("{} bytes follow a {}", rest.len(), std::any::type_name::<T>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let value = (7u64, String::from("seven"), vec![Some(-7i32), None]);
        assert_eq!(decode(&encode(&value)), Ok(value));
    }

    #[test]
    fn many_bytes_at_once_are_not_moved_for_the_few_after_them() {
        let bytes = encode(&(1u8, "x".repeat(1 << 20), (u64::MAX, "a few more")));
        let left = bytes.capacity() - bytes.len();
        assert!(left < 2 * Buffer::ROOM, "{left} of {}", bytes.capacity());
    }

    #[test]
    fn bytes_too_many_or_too_few_are_refused() {
        assert!(decode::<u64>(&[1, 2]).is_err());
        assert!(decode::<(u64, u64)>(&[1]).is_err());
        assert!(decode::<String>(&[200, 1, b'a']).is_err());
    }
}
