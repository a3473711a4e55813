//! Encodes lists of numbers as they are in memory, all at once: a job has tens of thousands of them, and encoding them
//! one by one takes longer. For Serde's `with`. Sandboxes are little-endian everywhere.

use bytemuck::{AnyBitPattern, NoUninit};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<T: NoUninit, S: Serializer>(items: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytemuck::cast_slice(items))
}

pub fn deserialize<'a, T: NoUninit + AnyBitPattern, D: Deserializer<'a>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let bytes = <&[u8]>::deserialize(deserializer)?;
    if bytes.len().is_multiple_of(size_of::<T>()) {
        Ok(bytemuck::pod_collect_to_vec(bytes))
    } else {
        Err(D::Error::custom("a list ends in the middle of an item"))
    }
}
