//! Errors in the format of RFC 9457.

use std::fmt::Display;

use axum::Extension;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sateen_logging::visible;
use sateen_protocol::RunId;
use serde_json::json;

use crate::driver::Gone;
use crate::store::StoreError;

/// The sentence of a problem, as an extension of its answer.
#[derive(Debug, Clone)]
pub struct Why(pub String);

/// What was wrong with a request, and what to do.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    detail: String,
}

impl Problem {
    /// With a sentence for people.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        // It may repeat names, arguments or a parser's words.
        Self { status, detail: visible(&detail.into()) }
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// A part of the request that a parser refused. `expected` says what it must be; the parser's own words follow.
    pub fn invalid(part: &str, expected: &str, error: &dyn Display) -> Self {
        Self::bad_request(format!("invalid {part}: {expected} ({error})"))
    }

    pub fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not support that method")
    }

    /// A run whose tree, timeline and log are no longer kept.
    pub fn gone_run(run: RunId) -> Self {
        let detail = format!(
            "the tree, timeline and log of run {run} are no longer kept; `sateen status {run}` shows its figures"
        );
        Self::new(StatusCode::GONE, detail)
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// As it is sent.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
        })
    }

    /// Something could not be saved.
    pub fn unsaved(error: &StoreError) -> Self {
        match error {
            StoreError::Stopped => Gone.into(),
            error => Self::new(StatusCode::INSUFFICIENT_STORAGE, format!("nothing was saved: {error}")),
        }
    }
}

impl From<Gone> for Problem {
    fn from(gone: Gone) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{gone}; try again when it is back"))
    }
}

/// Something could not be read.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped => Gone.into(),
            StoreError::Damaged(_) => Self::new(StatusCode::GONE, error.to_string()),
            error => Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.json();
        let why = Extension(Why(self.detail));
        (self.status, [(header::CONTENT_TYPE, "application/problem+json")], why, body.to_string())
            .into_response()
    }
}
