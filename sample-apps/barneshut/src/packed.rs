//! Lists that are sent as they are in memory, all at once: there are tens of thousands of numbers in a job, which
//! take longer one after another.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Sends `items`, each as so many bytes.
pub fn send<T, S: Serializer, const N: usize>(
    items: &[T],
    bytes_of: impl Fn(&T) -> [u8; N],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = vec![0; items.len() * N];
    bytes.as_chunks_mut().0.iter_mut().zip(items).for_each(|(room, item)| *room = bytes_of(item));
    serializer.serialize_bytes(&bytes)
}

/// Receives what was sent so.
pub fn receive<'a, T, D: Deserializer<'a>, const N: usize>(
    deserializer: D,
    item_of: impl Fn(&[u8; N]) -> T,
) -> Result<Vec<T>, D::Error> {
    match <&[u8]>::deserialize(deserializer)?.as_chunks() {
        (items, []) => Ok(items.iter().map(item_of).collect()),
        _ => Err(D::Error::custom("a list ends in the middle of an item")),
    }
}

/// Numbers, for Serde's `with`.
pub mod numbers {
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        super::send(numbers, |number| number.to_le_bytes(), serializer)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        super::receive(deserializer, |bytes| f64::from_le_bytes(*bytes))
    }
}

/// Vectors, for Serde's `with`.
pub mod vectors {
    use serde::{Deserializer, Serializer};

    use crate::bodies::Vector;

    pub fn serialize<S: Serializer>(vectors: &[Vector], serializer: S) -> Result<S::Ok, S::Error> {
        super::numbers::serialize(vectors.as_flattened(), serializer)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Vec<Vector>, D::Error> {
        super::receive(deserializer, |bytes: &[u8; 24]| {
            let parts = bytes.as_chunks().0;
            [0, 1, 2].map(|axis| f64::from_le_bytes(parts[axis]))
        })
    }
}
