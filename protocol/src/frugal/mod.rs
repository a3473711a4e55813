//! Decoding with a limit on memory that depends on the number of encoded bytes.
//!
//! A byte that encodes an empty string becomes 24 bytes in memory, and one that encodes an empty message becomes
//! hundreds. So heap memory is counted while a value is decoded, against a budget that follows from the number of
//! encoded bytes, and decoding stops when the budget is used up. Elements of lists and maps count by their size in
//! memory, strings and bytes by their length. A list's capacity may double when it grows, so each element counts twice.

mod counting;

use std::cell::Cell;

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::limits::{
    DECODED_BYTES_A_BYTE, DECODED_DENSE_BYTES_A_BYTE, DECODED_DENSE_BYTES_MAX, DECODED_FREE_BYTES,
};
use counting::Counting;

/// Overhead of an allocation.
const ALLOCATION_BYTES: usize = 16;
/// The name of newtypes whose value is allocated on the heap although it is not in a list.
pub(crate) const ON_HEAP: &str = "on the heap";

/// Why bytes were not decoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes are not an encoded value of the type.
    #[error("{0}")]
    Malformed(String),
    /// The value would take much more memory than its encoded bytes.
    #[error("its {bytes} bytes would take more than the maximum of {budget} bytes of memory")]
    TooLarge {
        /// The number of encoded bytes.
        bytes: usize,
        /// The memory that they may take, in bytes.
        budget: usize,
    },
}

/// Maximum memory of a value of `bytes` encoded bytes, in bytes. While the value is decoded, growing lists may take
/// half as much again.
#[must_use]
pub fn memory_of(bytes: usize) -> usize {
    let dense = bytes.saturating_mul(DECODED_DENSE_BYTES_A_BYTE).min(DECODED_DENSE_BYTES_MAX);
    DECODED_FREE_BYTES.saturating_add(bytes.saturating_mul(DECODED_BYTES_A_BYTE)).saturating_add(dense)
}

/// Memory that may still be taken.
#[derive(Debug)]
pub struct Budget {
    total: usize,
    left: Cell<usize>,
    is_exceeded: Cell<bool>,
}

impl Budget {
    /// The budget of `bytes` encoded bytes.
    #[must_use]
    pub fn for_bytes(bytes: usize) -> Self {
        let total = memory_of(bytes);
        Self { total, left: Cell::new(total), is_exceeded: Cell::new(false) }
    }

    /// Memory taken from the budget so far, in bytes.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.total - self.left.get()
    }

    fn take<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.is_exceeded.set(true);
                Err(E::custom("too much memory"))
            }
        }
    }

    fn allocate<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        if bytes == 0 { Ok(()) } else { self.take(bytes.saturating_add(ALLOCATION_BYTES)) }
    }

    fn grow<T, E: serde::de::Error>(&self) -> Result<(), E> {
        self.take(2 * size_of::<T>())
    }
}

/// Decodes the value at the start of `bytes` within `budget`. Returns it with the bytes that follow.
///
/// # Errors
/// When the bytes are not a `T`, or would take more memory than is left of the budget.
pub fn take_within<'a, T: DeserializeOwned>(
    bytes: &'a [u8],
    budget: &Budget,
) -> Result<(T, &'a [u8]), DecodeError> {
    let mut deserializer = postcard::Deserializer::from_bytes(bytes);
    let value = T::deserialize(Counting { inner: &mut deserializer, budget });
    value.and_then(|value| Ok((value, deserializer.finalize()?))).map_err(|error| {
        if budget.is_exceeded.get() {
            DecodeError::TooLarge { bytes: bytes.len(), budget: budget.total }
        } else {
            DecodeError::Malformed(error.to_string())
        }
    })
}

/// Decodes `bytes`, which must be one value.
///
/// # Errors
/// Those of [`take_within`] with the budget of these bytes, and when bytes are left over.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    from_bytes_within(bytes, &Budget::for_bytes(bytes.len()))
}

/// The same, within `budget`.
///
/// # Errors
/// Those of [`from_bytes`].
pub fn from_bytes_within<T: DeserializeOwned>(bytes: &[u8], budget: &Budget) -> Result<T, DecodeError> {
    match take_within(bytes, budget)? {
        (value, []) => Ok(value),
        (_, rest) => Err(DecodeError::Malformed(format!("{} bytes are left over", rest.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded<T: serde::Serialize>(value: &T) -> Vec<u8> {
        postcard::to_allocvec(value).expect("it encodes")
    }

    #[test]
    fn the_values_of_honest_messages_are_decoded() {
        let words: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
        assert_eq!(from_bytes(&encoded(&words)), Ok(words));
        let numbers: Vec<u64> = vec![1; 1_000_000];
        assert_eq!(from_bytes(&encoded(&numbers)), Ok(numbers));
        let long = vec!["x".repeat(40 << 20)];
        assert_eq!(from_bytes(&encoded(&long)), Ok(long));
    }

    #[test]
    fn too_many_empty_values_are_refused() {
        let nothing = vec![String::new(); 2 << 20];
        let bytes = encoded(&nothing);
        let budget = memory_of(bytes.len());
        let error = from_bytes::<Vec<String>>(&bytes);
        assert_eq!(error, Err(DecodeError::TooLarge { bytes: bytes.len(), budget }));
    }

    #[test]
    fn bytes_that_are_left_over_or_missing_are_errors() {
        assert_eq!(
            from_bytes::<u8>(&[1, 2]),
            Err(DecodeError::Malformed("1 bytes are left over".to_owned()))
        );
        assert!(matches!(
            from_bytes::<Vec<String>>(&[0xff, 0xff, 0xff, 0x7f]),
            Err(DecodeError::Malformed(_))
        ));
    }

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    enum Kind {
        Unit,
        Newtype(Vec<u16>),
        Tuple(i8, String),
        Struct { flag: bool, letter: char },
    }

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Named(u128);

    #[test]
    fn every_type_of_serdes_data_model_is_decoded() {
        let numbers =
            ((-1_i8, -2_i16, -3_i32, -4_i64), (5_u8, 6_u16, 7_u32, 8_u64), (-9_i128, 1.5_f32, 2.5_f64));
        assert_eq!(from_bytes(&encoded(&numbers)), Ok(numbers));
        let kinds = vec![
            Kind::Unit,
            Kind::Newtype(vec![1, 2]),
            Kind::Tuple(-1, "text".to_owned()),
            Kind::Struct { flag: true, letter: 'ä' },
        ];
        let several = (Some(Named(1 << 100)), None::<u8>, (), kinds);
        assert_eq!(from_bytes(&encoded(&several)), Ok(several));
        let map: std::collections::BTreeMap<String, Option<u8>> =
            (0..100).map(|number| (number.to_string(), Some(number))).collect();
        assert_eq!(from_bytes(&encoded(&map)), Ok(map));
        // The encoding of an address depends on `is_human_readable`.
        let address = std::net::Ipv4Addr::LOCALHOST;
        assert_eq!(from_bytes(&encoded(&address)), Ok(address));
    }

    #[test]
    fn decoding_stops_exactly_when_the_budget_is_used_up() {
        fn fits<T: DeserializeOwned>(bytes: &[u8]) -> bool {
            take_within::<T>(bytes, &Budget::for_bytes(0)).is_ok()
        }
        assert_eq!(memory_of(0), DECODED_FREE_BYTES);
        assert_eq!(memory_of(1), DECODED_FREE_BYTES + DECODED_BYTES_A_BYTE + DECODED_DENSE_BYTES_A_BYTE);
        let much = 2 * DECODED_DENSE_BYTES_MAX;
        assert_eq!(
            memory_of(much),
            DECODED_FREE_BYTES + DECODED_BYTES_A_BYTE * much + DECODED_DENSE_BYTES_MAX
        );
        assert_eq!(memory_of(usize::MAX), usize::MAX);

        // The decoder asks a list for one element more than it has.
        let elements = DECODED_FREE_BYTES / (2 * size_of::<u64>()) - 1;
        for (count, is_decoded) in [(elements, true), (elements + 1, false)] {
            assert_eq!(fits::<Vec<u64>>(&encoded(&vec![7_u64; count])), is_decoded, "{count} elements");
        }
        // Each entry of a map counts its key, its value and an allocation for the key.
        let entry = 2 * (2 * size_of::<u64>()) + ALLOCATION_BYTES;
        let entries = (DECODED_FREE_BYTES - 2 * size_of::<u64>() - ALLOCATION_BYTES) / entry;
        for (count, is_decoded) in [(entries, true), (entries + 1, false)] {
            let map: std::collections::BTreeMap<u64, u64> = (0..count as u64).map(|key| (key, key)).collect();
            assert_eq!(
                fits::<std::collections::BTreeMap<u64, u64>>(&encoded(&map)),
                is_decoded,
                "{count} entries"
            );
        }
        let text = "x".repeat(DECODED_FREE_BYTES - ALLOCATION_BYTES);
        assert!(fits::<String>(&encoded(&text)) && !fits::<String>(&encoded(&(text + "x"))));
    }
}
