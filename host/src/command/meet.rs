//! Whether a coordinator answers at a URL: asked before the machine's owner agrees to anything.

use std::time::Duration;

use sateen_access::{Credentials, StoredCredentials, TlsError, explain_tls, fetch_authority};
use sateen_command_line::explained;
use sateen_host::grid::{CoordinatorAddress, DataFolder};
use serde_json::Value;

use super::enrol::KeyFlags;

/// Maximum time to connect, and to wait for an answer.
const STEP_MAX: Duration = Duration::from_secs(5);
/// Maximum bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// The name in the answer of a coordinator.
const COORDINATOR: &str = "sateen-coordinator";

/// What answers at a URL.
#[derive(Debug, PartialEq, Eq)]
pub enum Met {
    /// A coordinator.
    Coordinator,
    /// Nobody does now, for this reason; a coordinator may later.
    Nobody(String),
    /// Something else: what it did, and what to do.
    Other(String),
    /// There is no connection that is safe: why not, and what to do.
    Untrusted(String),
}

/// Asks at a URL for the version of the coordinator there, which anybody may know.
pub fn meet(folder: &DataFolder, coordinator: &CoordinatorAddress, flags: &KeyFlags) -> Met {
    let credentials = match credentials(folder, coordinator, flags) {
        Ok(credentials) => credentials,
        Err(met) => return met,
    };
    let config = ureq::Agent::config_builder()
        .timeout_connect(Some(STEP_MAX))
        .timeout_global(Some(2 * STEP_MAX))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false);
    let mut response = match credentials.agent(config).get(coordinator.url("/version")).call() {
        Ok(response) => response,
        Err(error) => return failed(coordinator, error),
    };
    let status = response.status();
    let place = response.headers().get("location").and_then(|place| place.to_str().ok());
    let place = place.map(|place| place.escape_default().to_string());
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
    let answer = body.ok().and_then(|body| serde_json::from_str::<Value>(&body).ok());
    match answer {
        Some(answer) if status.is_success() && answer["name"] == COORDINATOR => Met::Coordinator,
        // A proxy answers instead of the coordinator behind it.
        _ if status.is_server_error() || status.as_u16() == 429 => {
            Met::Nobody(format!("something answers with {status}"))
        }
        _ if status.is_success() => other(coordinator, "it answers, but not as a coordinator does"),
        _ => match place {
            Some(place) => other(coordinator, &format!("it answers with {status} and refers to {place}")),
            None => other(coordinator, &format!("it answers with {status}")),
        },
    }
}

/// What is known of the coordinator before it is joined: the authority to trust.
fn credentials(
    folder: &DataFolder,
    coordinator: &CoordinatorAddress,
    flags: &KeyFlags,
) -> Result<Credentials, Met> {
    let authority = match flags.pin.filter(|_| coordinator.is_tls()) {
        Some(pin) => {
            let fetched = fetch_authority(coordinator.host(), coordinator.port(), pin, STEP_MAX);
            Some(fetched.map_err(|error| match error {
                TlsError::Unreachable(..) => Met::Nobody(error.to_string()),
                error => Met::Untrusted(error.to_string()),
            })?)
        }
        None => {
            // A file that is damaged is reported when the host joins.
            let path = folder.path().join("credentials.json");
            let stored = StoredCredentials::read(&path).ok().flatten();
            let stored = stored.filter(|stored| stored.coordinator == coordinator.to_string());
            stored.and_then(|stored| stored.credentials(&path).ok()?.authority)
        }
    };
    Ok(Credentials { token: None, authority })
}

fn failed(coordinator: &CoordinatorAddress, error: ureq::Error) -> Met {
    match error {
        ureq::Error::Io(error) => match explain_tls(&error, coordinator.host()) {
            Some(why) => Met::Untrusted(why),
            None => Met::Nobody(explained(&error)),
        },
        ureq::Error::Timeout(_) => Met::Nobody(format!("no answer within {} s", 2 * STEP_MAX.as_secs())),
        ureq::Error::HostNotFound => Met::Nobody(format!("no address is known for {}", coordinator.host())),
        error => other(coordinator, &format!("what it answers is not HTTP: {error}")),
    }
}

fn other(coordinator: &CoordinatorAddress, what: &str) -> Met {
    Met::Other(format!(
        "{coordinator} is not a Sateen coordinator: {what}; ask the grid's operator for its URL"
    ))
}
