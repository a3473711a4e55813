//! Saves ids as the text that people see.

use std::fmt::Display;

use sateen_protocol::{HostId, JobTag};
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// An id that is saved as text.
pub trait SavedId: Display + Sized {
    /// Parses the output of `Display`.
    fn read(text: &str) -> Option<Self>;
}

impl SavedId for HostId {
    fn read(text: &str) -> Option<Self> {
        Self::parse(text)
    }
}

impl SavedId for JobTag {
    fn read(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

/// For `serde(with)`.
pub fn serialize<S: Serializer>(id: &impl SavedId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// For `serde(with)`.
pub fn deserialize<'de, I: SavedId, D: Deserializer<'de>>(deserializer: D) -> Result<I, D::Error> {
    read(&String::deserialize(deserializer)?)
}

fn read<I: SavedId, E: Error>(text: &str) -> Result<I, E> {
    I::read(text).ok_or_else(|| E::custom(format!("`{}` is not an id", text.escape_debug())))
}

/// The same for an optional id.
pub mod option {
    use super::{Deserialize, Deserializer, SavedId, Serialize, Serializer, read};

    /// For `serde(with)`.
    pub fn serialize<I: SavedId, S: Serializer>(id: &Option<I>, serializer: S) -> Result<S::Ok, S::Error> {
        id.as_ref().map(I::to_string).serialize(serializer)
    }

    /// For `serde(with)`.
    pub fn deserialize<'de, I: SavedId, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<I>, D::Error> {
        Option::<String>::deserialize(deserializer)?.as_deref().map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for number in [0, 1, 0xab, u64::MAX] {
            let (host, job) = (HostId(number), JobTag(number));
            assert_eq!(
                (HostId::read(&host.to_string()), JobTag::read(&job.to_string())),
                (Some(host), Some(job))
            );
        }
        for wrong in ["", "7g", "h"] {
            assert_eq!((HostId::read(wrong), JobTag::read(wrong)), (None, None), "{wrong}");
        }
    }
}
