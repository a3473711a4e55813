//! Requests to a coordinator that fail.

use std::time::Duration;

use ureq::http::StatusCode;

use crate::exit::{Failure, GRID, USAGE};

/// Why a request to a coordinator failed.
#[derive(Debug)]
pub enum Refusal {
    /// The coordinator does not answer; it may come back.
    Unreachable(String),
    /// The coordinator has no room for the request and has not begun with it: why, and when to try again.
    Busy(String, Duration),
    /// The coordinator refused the request: the status, and why.
    Answered(StatusCode, String),
}

impl Refusal {
    /// Whether the coordinator needs a token, or another one.
    pub fn is_unauthorised(&self) -> bool {
        matches!(self, Self::Answered(StatusCode::UNAUTHORIZED, _))
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Answered(StatusCode::NOT_FOUND | StatusCode::GONE, _))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unreachable(message) | Refusal::Busy(message, _) => Self::new(GRID, message),
            Refusal::Answered(status, message) => {
                let of_grid = status.is_server_error()
                    || matches!(
                        status,
                        StatusCode::UNAUTHORIZED
                            | StatusCode::FORBIDDEN
                            | StatusCode::REQUEST_TIMEOUT
                            | StatusCode::TOO_MANY_REQUESTS
                    );
                let code = if of_grid { GRID } else { USAGE };
                Self::new(code, message)
            }
        }
    }
}
