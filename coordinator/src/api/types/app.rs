//! The service, apps and blobs.

use sateen_module::{ABI_VERSION, size};
use schemars::JsonSchema;
use serde::Serialize;
use ts_rs::TS;

use crate::clock::written;
use crate::module::About;
use crate::store::sql::AppRow;

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
    /// Who did that, as they call themselves; none if they do not. Nobody has checked it.
    pub published_by: Option<String>,
    /// The address that they did it from; none of apps that an older version took in.
    pub published_from: Option<String>,
    /// `integer` or `float`.
    pub determinism: String,
    /// Names of its entry points.
    pub entry_points: Vec<String>,
    /// Names of its jobs.
    pub jobs: Vec<String>,
    /// The version of the ABI that it is made for.
    pub abi: u32,
    /// What its module says of its memory, in words. All else is limited by the run, or by its hosts.
    pub limits: Vec<String>,
    /// What its entry point `main`, or its only one, takes; none if the module does not tell.
    pub arguments: Option<String>,
}

impl From<AppRow> for App {
    fn from(row: AppRow) -> Self {
        let limits = limits(&row.about);
        Self {
            arguments: row.about.arguments(),
            hash: row.hash.to_string(),
            name: row.name,
            bytes: row.bytes,
            published_at: written(row.published_at_ms),
            published_by: row.publisher.name,
            published_from: row.publisher.address,
            determinism: row.about.determinism,
            entry_points: row.about.entry_points,
            jobs: row.about.jobs,
            abi: ABI_VERSION,
            limits,
        }
    }
}

fn limits(about: &About) -> Vec<String> {
    let begins = about.memory_bytes.map(|bytes| format!("memory begins with {}", size(bytes)));
    let ends = about.memory_bytes_max.map(|bytes| format!("memory grows up to {}", size(bytes)));
    begins.into_iter().chain(ends).collect()
}

/// `PUT /api/v1/blobs/{hash}`.
#[derive(Debug, Serialize, TS, JsonSchema)]
pub struct Blob {
    /// blake3 of its bytes.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
}
