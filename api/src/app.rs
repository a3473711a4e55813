//! The service, apps and blobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::limits::PUBLISHER_BYTES_MAX;

/// `/version`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Version {
    /// The program's version.
    pub name: String,
    /// The version of its software.
    pub version: String,
    /// The version of frames and messages.
    pub protocol: u8,
    /// The grid, 16 digits.
    pub grid: String,
    /// The oldest release of hosts and clients that the operator accepts; null if any is accepted that speaks the protocol.
    pub minimum_version: Option<String>,
}

/// A published module.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct App {
    /// blake3 of its bytes.
    pub hash: String,
    /// The name that it was published under.
    pub name: String,
    /// Its size.
    #[serde(default)]
    pub bytes: u64,
    /// When it was published.
    #[serde(default)]
    pub published_at: String,
    /// The name that the publisher chose, which is not checked; none if there is none.
    pub published_by: Option<String>,
    /// The publisher's address; none for apps that an older version accepted.
    pub published_from: Option<String>,
    /// `integer` or `float`.
    #[serde(default)]
    pub determinism: String,
    /// Names of its entry points.
    #[serde(default)]
    pub entry_points: Vec<String>,
    /// Names of its jobs.
    #[serde(default)]
    pub jobs: Vec<String>,
    /// The version of the ABI for which it is made.
    #[serde(default)]
    pub abi: u32,
    /// The memory limits of its module, in words. All other limits are those of the run or of its hosts.
    #[serde(default)]
    pub limits: Vec<String>,
    /// The parameters of its entry point `main`, or of its only one; none if the module does not describe them.
    pub arguments: Option<String>,
}

/// `PUT /api/v1/blobs/{hash}`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Blob {
    /// blake3 of its bytes.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
}

/// Whether `name` can be shown as the name of an app's publisher.
pub fn is_publisher(name: &str) -> bool {
    (1..=PUBLISHER_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_have_short_names_on_one_line() {
        assert!(is_publisher("Ada Løvelace") && is_publisher(&"x".repeat(PUBLISHER_BYTES_MAX)));
        for wrong in ["", "a\nb", &"x".repeat(PUBLISHER_BYTES_MAX + 1)] {
            assert!(!is_publisher(wrong), "{wrong}");
        }
    }
}
