//! Blobs from the coordinator, by HTTP.

use std::time::Duration;

use sateen_access::{Credentials, explain_tls};
use sateen_command_line::explained;
use sateen_protocol::BlobHash;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use tracing::debug;

use crate::grid::address::CoordinatorAddress;
use crate::grid::cancel::Cancel;
use crate::grid::transport::{Flow, Traffic};

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Maximum time of a request, long enough for the largest blob on a slow line.
const CALL_MAX: Duration = Duration::from_secs(300);
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// Maximum time until a cancellation is noticed.
const CANCEL_WITHIN: Duration = Duration::from_millis(50);
/// Maximum attempts if answers are wrong rather than missing.
const WRONG_ANSWERS_MAX: u32 = 3;

/// Fetches blobs.
pub struct Fetcher {
    agent: ureq::Agent,
    coordinator: CoordinatorAddress,
}

enum Failure {
    /// The coordinator is away or busy: the host tries again as long as the run is wanted.
    Away(String),
    /// It answered with something else.
    Wrong(String),
    /// The coordinator does not have the blob.
    Missing,
}

impl Fetcher {
    /// Fetches from this coordinator.
    pub fn new(coordinator: CoordinatorAddress, credentials: &Credentials) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT_MAX))
            .timeout_per_call(Some(CALL_MAX))
            .http_status_as_error(false)
            .max_redirects(0);
        Self { agent: credentials.agent(config), coordinator }
    }

    /// Fetches the bytes with this hash. Waits while the coordinator is away.
    ///
    /// # Errors
    /// If the coordinator does not have them, or the run is not wanted any more.
    pub fn fetch(&self, hash: BlobHash, what: &str, cancel: &Cancel) -> Result<Vec<u8>, String> {
        let mut wrong_answers = 0;
        loop {
            match self.attempt(hash) {
                Ok(bytes) => return Ok(bytes),
                Err(Failure::Missing) => {
                    return Err(format!(
                        "the coordinator no longer has {what} ({hash}); publish or submit it again, and the run continues"
                    ));
                }
                Err(Failure::Wrong(why)) => {
                    wrong_answers += 1;
                    if wrong_answers == WRONG_ANSWERS_MAX {
                        return Err(format!("{what} ({hash}) cannot be fetched: {why}"));
                    }
                }
                Err(Failure::Away(why)) => debug!(%what, why, "not fetched yet"),
            }
            let mut waited = Duration::ZERO;
            while waited < RETRY_AFTER {
                if cancel.is_cancelled() {
                    return Err(format!("{what} is no longer wanted"));
                }
                std::thread::sleep(CANCEL_WITHIN);
                waited += CANCEL_WITHIN;
            }
        }
    }

    fn attempt(&self, hash: BlobHash) -> Result<Vec<u8>, Failure> {
        let away = |error: ureq::Error| {
            Failure::Away(match error {
                ureq::Error::Io(error) => {
                    explain_tls(&error, self.coordinator.host()).unwrap_or_else(|| explained(&error))
                }
                error => error.to_string(),
            })
        };
        let mut response = self.agent.get(self.coordinator.blob(hash)).call().map_err(away)?;
        match response.status().as_u16() {
            200 => {}
            404 | 410 => return Err(Failure::Missing),
            // The host's link will say why.
            status @ (401 | 403 | 408 | 425 | 429 | 500..=599) => {
                return Err(Failure::Away(format!("the coordinator answered {status}")));
            }
            status => return Err(Failure::Wrong(format!("the coordinator answered {status}"))),
        }
        let body = response.body_mut().with_config().limit(BLOB_BYTES_MAX as u64).read_to_vec();
        let bytes = match body {
            Ok(bytes) => bytes,
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                return Err(Failure::Wrong(format!("it is larger than {BLOB_BYTES_MAX} bytes")));
            }
            Err(error) => return Err(away(error)),
        };
        // What has come at once is waited for afterwards, so that the limit holds on average.
        Traffic::of_process().count(Flow::In, bytes.len());
        if let Some(wait) = Traffic::of_process().wait(Flow::In) {
            std::thread::sleep(wait);
        }
        if BlobHash::of(&bytes) != hash {
            return Err(Failure::Wrong("its bytes have another hash".to_owned()));
        }
        Ok(bytes)
    }
}
