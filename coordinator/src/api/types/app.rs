//! The service, apps and blobs.

use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

use crate::clock::written;
use crate::store::sql::AppRow;

/// The only version of the ABI that hosts run.
const ABI_VERSION: u32 = 1;

/// `/version`.
#[derive(Debug, Serialize, TS, JsonSchema)]
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
#[derive(Debug, Serialize, TS, JsonSchema)]
pub struct App {
    /// blake3 of its bytes.
    pub hash: String,
    /// The name that it was published under.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When.
    pub published_at: String,
    /// `integer` or `float`.
    pub determinism: String,
    /// Names of its entry points.
    pub entry_points: Vec<String>,
    /// Names of its jobs.
    pub jobs: Vec<String>,
    /// The version of the ABI that it is made for.
    pub abi: u32,
    /// Limits that it asks for, in words.
    pub limits: Vec<String>,
    /// Who published it, if that is known.
    pub published_by: Option<String>,
    /// The arguments that its entry point takes, if the module tells.
    pub arguments: Option<String>,
}

impl From<AppRow> for App {
    fn from(row: AppRow) -> Self {
        Self {
            hash: row.hash.to_string(),
            name: row.name,
            bytes: row.bytes,
            published_at: written(row.published_at_ms),
            determinism: row.about.determinism,
            entry_points: row.about.entry_points,
            jobs: row.about.jobs,
            abi: ABI_VERSION,
            limits: Vec::new(),
            published_by: None,
            arguments: None,
        }
    }
}

/// `PUT /api/v1/blobs/{hash}`.
#[derive(Debug, Serialize, TS, JsonSchema)]
pub struct Blob {
    /// blake3 of its bytes.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
}
