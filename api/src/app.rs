//! The service, apps and blobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::limits::PUBLISHER_BYTES_MAX;

/// `/version`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Version {
    /// Of the program.
    pub name: String,
    /// Of its software.
    pub version: String,
    /// Of frames and messages.
    pub protocol: u8,
    /// The grid, 16 digits.
    pub grid: String,
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
    /// When.
    #[serde(default)]
    pub published_at: String,
    /// Who did that, as they call themselves; none if they do not. Nobody has checked it.
    pub published_by: Option<String>,
    /// The address that they did it from; none of apps that an older version took in.
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
    /// The version of the ABI that it is made for.
    #[serde(default)]
    pub abi: u32,
    /// What its module says of its memory, in words. All else is limited by the run, or by its hosts.
    #[serde(default)]
    pub limits: Vec<String>,
    /// What its entry point `main`, or its only one, takes; none if the module does not tell.
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

/// Whether `name` can be shown as that of who published an app.
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
