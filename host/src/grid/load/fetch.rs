//! Blobs from the coordinator, by HTTP.

use std::time::Duration;

use sateen_access::{Credentials, explain_tls};
use sateen_command_line::explained;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use sateen_protocol::{BlobHash, RunId};
use tracing::debug;
use ureq::Body;
use ureq::http::Response;

use crate::grid::address::CoordinatorAddress;
use crate::grid::cancel::Cancel;
use crate::grid::transport::{Flow, Traffic};

/// Maximum bytes of an answer that is not a blob.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
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
        let fetched = patiently(&format!("{what} ({hash})"), cancel, || self.attempt(hash))?;
        fetched.ok_or_else(|| {
            format!("the coordinator no longer has {what} ({hash}); submit it again, and the run continues")
        })
    }

    /// The name of a run's submitter; `None` if the coordinator does not know it. Waits while the coordinator is away.
    ///
    /// # Errors
    /// If the coordinator does not say it, or the run is not wanted any more.
    pub fn submitter(&self, run: RunId, cancel: &Cancel) -> Result<Option<String>, String> {
        let url = self.coordinator.url(&format!("/api/v1/runs/{run}/submitter"));
        let ask = || {
            let mut response = self.ask(&url)?;
            let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
            let answer = serde_json::from_str::<serde_json::Value>(&body.map_err(|error| self.away(error))?);
            let answer =
                answer.map_err(|_| Failure::Wrong("the coordinator's answer is not JSON".to_owned()))?;
            Ok(answer["name"].as_str().map(str::to_owned))
        };
        // One of an older release does not say it of any run.
        Ok(patiently(&format!("the submitter of run {run}"), cancel, ask)?.flatten())
    }

    fn away(&self, error: ureq::Error) -> Failure {
        Failure::Away(match error {
            ureq::Error::Io(error) => {
                explain_tls(&error, self.coordinator.host()).unwrap_or_else(|| explained(&error))
            }
            error => error.to_string(),
        })
    }

    /// A good answer.
    fn ask(&self, url: &str) -> Result<Response<Body>, Failure> {
        let response = self.agent.get(url).call().map_err(|error| self.away(error))?;
        match response.status().as_u16() {
            200 => Ok(response),
            404 | 410 => Err(Failure::Missing),
            // The host's link will say why.
            status @ (401 | 403 | 408 | 425 | 429 | 500..=599) => {
                Err(Failure::Away(format!("the coordinator answered {status}")))
            }
            status => Err(Failure::Wrong(format!("the coordinator answered {status}"))),
        }
    }

    fn attempt(&self, hash: BlobHash) -> Result<Vec<u8>, Failure> {
        let mut response = self.ask(&self.coordinator.blob(hash))?;
        let body = response.body_mut().with_config().limit(BLOB_BYTES_MAX as u64).read_to_vec();
        let bytes = match body {
            Ok(bytes) => bytes,
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                return Err(Failure::Wrong(format!("it is larger than {BLOB_BYTES_MAX} bytes")));
            }
            Err(error) => return Err(self.away(error)),
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

/// Tries until there is an answer; `None` if the coordinator does not have `what`.
fn patiently<T>(
    what: &str,
    cancel: &Cancel,
    attempt: impl Fn() -> Result<T, Failure>,
) -> Result<Option<T>, String> {
    let mut wrong_answers = 0;
    loop {
        match attempt() {
            Ok(answer) => return Ok(Some(answer)),
            Err(Failure::Missing) => return Ok(None),
            Err(Failure::Wrong(why)) => {
                wrong_answers += 1;
                if wrong_answers == WRONG_ANSWERS_MAX {
                    return Err(format!("{what} cannot be fetched: {why}"));
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
