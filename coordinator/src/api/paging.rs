//! Lists of hosts and of their keys in pages.

use std::fmt::Display;

use axum::http::{HeaderName, header};
use serde::Deserialize;

use super::problem::Problem;
use super::ranges;
use crate::limits::HOSTS_LISTED_MAX;

/// The page that a request wants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    after: Option<String>,
    limit: Option<String>,
}

impl Page {
    /// It begins behind this item, as the request has written it.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Maximum items.
    pub fn limit(&self) -> Result<usize, Problem> {
        let limit = ranges::HOSTS_LIMIT.whole(self.limit.as_deref())?;
        Ok(limit.map_or(HOSTS_LISTED_MAX, |limit| limit as usize))
    }
}

/// The header `Link` (RFC 8288) with the page behind `last`, if there is one.
pub fn next_page(path: &str, last: Option<impl Display>, limit: usize) -> Option<[(HeaderName, String); 1]> {
    last.map(|last| [(header::LINK, format!("<{path}?after={last}&limit={limit}>; rel=\"next\""))])
}
