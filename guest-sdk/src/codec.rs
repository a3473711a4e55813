//! How parameters and results become bytes: postcard, one fixed form for every host.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The canonical bytes of `value`.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    match postcard::to_allocvec(value) {
        Ok(bytes) => bytes,
        Err(error) => panic!("a value of type {} cannot be serialised: {error}", std::any::type_name::<T>()),
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
    fn bytes_too_many_or_too_few_are_refused() {
        assert!(decode::<u64>(&[1, 2]).is_err());
        assert!(decode::<(u64, u64)>(&[1]).is_err());
        assert!(decode::<String>(&[200, 1, b'a']).is_err());
    }
}
