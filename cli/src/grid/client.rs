//! Asking a coordinator over HTTP.

use std::fmt::Display;
use std::io::ErrorKind;
use std::time::Duration;

use sateen_access::{Credentials, explain_tls};
use sateen_command_line::explained;
use sateen_host::Output;
use sateen_protocol::BlobHash;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use serde_json::Value;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body, Timeout};

use super::credentials::credentials_for;
use super::patience::Patience;
use super::refusal::Refusal;
use super::url::{is_this_machine, url_of};
use crate::exit::{Failure, say};
use crate::flags::Grid;

/// Maximum time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Maximum time of a small request, from its start to the end of its answer.
pub const SHORT: Duration = Duration::from_secs(30);
/// Maximum time of a request or answer that carries a module, an input or a result.
const BULK: Duration = Duration::from_secs(600);
/// How long to wait for a coordinator that is gone: it may be started again, and still knows its runs.
pub const GONE_MAX: Duration = Duration::from_secs(300);
/// Time after which a request that was cut off is repeated.
const CLOSED_AGAIN: Duration = Duration::from_secs(1);
/// Maximum bytes of an answer in JSON.
const JSON_BYTES_MAX: u64 = 64 << 20;
/// Maximum items of a list that comes in pages.
const LISTED_MAX: usize = 1_000_000;
/// Maximum bytes of a result.
const RESULT_BYTES_MAX: u64 = 4 << 30;

/// A coordinator, by its address.
pub struct Client {
    url: String,
    /// Its name or address.
    host: String,
    agent: Agent,
    patience: Patience,
}

impl Client {
    /// The coordinator that the flags name, with the token for it.
    ///
    /// # Errors
    /// If there is no such address, or the token cannot be read.
    pub fn new(grid: &Grid) -> Result<Self, Failure> {
        let token_file = grid.token_file.as_deref();
        Self::with(&grid.coordinator, &credentials_for(&grid.coordinator, token_file)?)
    }

    /// # Arguments
    /// * `address`: like `http://HOST:PORT`, or just `HOST:PORT`.
    ///
    /// # Errors
    /// If `address` is not the address of a coordinator.
    pub fn with(address: &str, credentials: &Credentials) -> Result<Self, Failure> {
        let (url, host) = url_of(address).map_err(Failure::usage)?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("sateen/", env!("CARGO_PKG_VERSION")));
        if is_this_machine(&host) {
            // A proxy from the environment would look for a loopback address on its own machine.
            config = config.proxy(None);
        }
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { url, host, agent: credentials.agent(config), patience: Patience::default() })
    }

    /// Asks a busy coordinator again for as long as one that is gone may take to come back.
    pub fn waiting(self) -> Self {
        Self { patience: Patience::new(GONE_MAX), ..self }
    }

    /// Repeats a request to a busy coordinator, within limits.
    pub fn patiently<T>(&self, ask: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
        self.patience.repeat(ask)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The answer to GET, in JSON.
    pub fn get(&self, path: &str) -> Result<Value, Refusal> {
        self.get_within(path, SHORT)
    }

    /// Like `get`, for an answer that may take `time`.
    pub fn get_within(&self, path: &str, time: Duration) -> Result<Value, Refusal> {
        self.patiently(|| self.get_once(path, time))
    }

    /// Like `get_within`, without another attempt if the coordinator is busy.
    pub fn get_once(&self, path: &str, time: Duration) -> Result<Value, Refusal> {
        let request = self.agent.get(self.at(path)).config().timeout_global(Some(time)).build();
        self.json(self.good(request.call(), time)?, time)
    }

    /// The answer to GET of a list, in JSON, and the path of its next page if there is one.
    pub fn get_page(&self, path: &str, query: &[(&str, &str)]) -> Result<(Value, Option<String>), Refusal> {
        self.patiently(|| self.get_page_once(path, query, SHORT))
    }

    fn get_page_once(
        &self,
        path: &str,
        query: &[(&str, &str)],
        time: Duration,
    ) -> Result<(Value, Option<String>), Refusal> {
        let request = self.agent.get(self.at(path)).query_pairs(query.iter().copied());
        let request = request.config().timeout_global(Some(time)).build();
        let response = self.good(request.call(), time)?;
        let link = response.headers().get("link").and_then(|link| link.to_str().ok());
        let next =
            link.and_then(|link| link.strip_prefix('<')?.split_once(">; rel=\"next\"")).map(|(path, _)| path);
        let next = next.filter(|path| path.starts_with("/api/v1/")).map(str::to_owned);
        Ok((self.json(response, time)?, next))
    }

    /// The answers to GET of a list and of all its further pages, in one list; without another attempt if the coordinator is
    /// busy.
    pub fn get_all_once(&self, path: &str, time: Duration) -> Result<Value, Refusal> {
        let mut all = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next.filter(|_| all.len() < LISTED_MAX) {
            let page;
            (page, next) = self.get_page_once(&path, &[], time)?;
            match page {
                Value::Array(items) => all.extend(items),
                other => return Ok(other),
            }
        }
        Ok(Value::Array(all))
    }

    /// Whether HEAD finds something at the path.
    pub fn has(&self, path: &str) -> Result<bool, Refusal> {
        let ask = || {
            let request = self.agent.head(self.at(path)).config().timeout_global(Some(SHORT)).build();
            self.good(request.call(), SHORT)
        };
        match self.patiently(ask) {
            Ok(_) => Ok(true),
            Err(Refusal::Answered(StatusCode::NOT_FOUND, _)) => Ok(false),
            // The answer to HEAD has no body, and so no reason. What would follow is refused with one: an upload, here of
            // bytes that do not have the hash.
            Err(Refusal::Answered(StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED, _)) => {
                self.put_bytes(path, &[]).map(|_| false)
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// The answer to POST of an object.
    pub fn post(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        let ask = || {
            let request = self.agent.post(self.at(path)).content_type("application/json");
            let request = request.config().timeout_global(Some(SHORT)).build();
            self.good(request.send(object.to_string()), SHORT)
        };
        self.json(self.patiently(ask)?, SHORT)
    }

    /// The answer to POST of nothing.
    pub fn order(&self, path: &str) -> Result<Value, Refusal> {
        let ask = || {
            let request = self.agent.post(self.at(path)).config().timeout_global(Some(SHORT)).build();
            self.good(request.send_empty(), SHORT)
        };
        self.json(self.patiently(ask)?, SHORT)
    }

    /// DELETE.
    pub fn delete(&self, path: &str) -> Result<(), Refusal> {
        let ask = || {
            let request = self.agent.delete(self.at(path)).config().timeout_global(Some(SHORT)).build();
            self.good(request.call(), SHORT).map(drop)
        };
        self.patiently(ask)
    }

    /// DELETE of each of `things`, at its path; `done` makes the message for each. Fails with the error of the first
    /// that cannot be deleted.
    pub fn delete_all<T>(
        &self,
        things: &[T],
        path: impl Fn(&T) -> String,
        done: impl Fn(&T) -> String,
    ) -> Result<(), Failure> {
        to_each(things, |thing| {
            self.delete(&path(thing))?;
            say(done(thing));
            Ok(())
        })
    }

    /// The answer to POST of bytes.
    pub fn post_bytes(&self, path: &str, bytes: &[u8]) -> Result<Value, Refusal> {
        let ask = || {
            let request = self.agent.post(self.at(path)).content_type("application/wasm");
            let request = request.config().timeout_global(Some(BULK)).build();
            self.good(request.send(bytes), BULK)
        };
        self.json(self.patiently(ask)?, BULK)
    }

    /// PUT of bytes.
    pub fn put_bytes(&self, path: &str, bytes: &[u8]) -> Result<(), Refusal> {
        let ask = || {
            let request = self.agent.put(self.at(path)).content_type("application/octet-stream");
            let request = request.config().timeout_global(Some(BULK)).build();
            self.good(request.send(bytes), BULK).map(drop)
        };
        self.patiently(ask)
    }

    /// The blob with this hash.
    pub fn blob(&self, hash: BlobHash) -> Result<Vec<u8>, Refusal> {
        let mut response = self.get_bulk(&format!("/api/v1/blobs/{hash}"))?;
        let bytes = response.body_mut().with_config().limit(BLOB_BYTES_MAX as u64).read_to_vec();
        let bytes = bytes.map_err(|error| self.unreachable(&error, BULK))?;
        if BlobHash::of(&bytes) == hash {
            return Ok(bytes);
        }
        let why = format!("{} sends other bytes than those with the hash {hash}", self.url);
        Err(Refusal::Answered(StatusCode::BAD_GATEWAY, why))
    }

    /// What a run's root job returned.
    pub fn result(&self, path: &str) -> Result<Output, Refusal> {
        let mut response = self.get_bulk(path)?;
        let is_text = response.body().mime_type() == Some("text/plain");
        let bytes = response.body_mut().with_config().limit(RESULT_BYTES_MAX).read_to_vec();
        let bytes = bytes.map_err(|error| self.unreachable(&error, BULK))?;
        if !is_text {
            return Ok(Output::Bytes(bytes));
        }
        Ok(String::from_utf8(bytes).map_or_else(|error| Output::Bytes(error.into_bytes()), Output::Text))
    }

    fn get_bulk(&self, path: &str) -> Result<Response<Body>, Refusal> {
        self.patiently(|| {
            let request = self.agent.get(self.at(path)).config().timeout_global(Some(BULK)).build();
            self.good(request.call(), BULK)
        })
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// The response, if its status is a success. It was expected `within` this time.
    fn good(
        &self,
        response: Result<Response<Body>, ureq::Error>,
        within: Duration,
    ) -> Result<Response<Body>, Refusal> {
        let mut response = response.map_err(|error| self.unreachable(&error, within))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let again = again_after(&response);
        let kind = response.body().mime_type().map(ToOwned::to_owned);
        let body = response.body_mut().with_config().limit(JSON_BYTES_MAX).read_to_string();
        let detail = match kind.as_deref() {
            Some("application/problem+json") => detail(&body.unwrap_or_default()),
            _ => None,
        };
        let detail =
            detail.unwrap_or_else(|| format!("{} answers with {status}; is it a coordinator?", self.url));
        Err(match again {
            Some(again) => Refusal::Busy(detail, again),
            None => Refusal::Answered(status, detail),
        })
    }

    fn json(&self, mut response: Response<Body>, within: Duration) -> Result<Value, Refusal> {
        let body = response.body_mut().with_config().limit(JSON_BYTES_MAX).read_to_string();
        let body = body.map_err(|error| self.unreachable(&error, within))?;
        serde_json::from_str(&body).map_err(|_| {
            let why = format!("{} is not a Sateen coordinator", self.url);
            Refusal::Answered(StatusCode::BAD_GATEWAY, why)
        })
    }

    fn unreachable(&self, error: &ureq::Error, within: Duration) -> Refusal {
        if let ureq::Error::Io(error) = error
            && error.kind() == ErrorKind::BrokenPipe
        {
            // Only writing fails in this way. A request that is not complete is not executed.
            let why = format!("{} closed the connection before the whole request was sent", self.url);
            return Refusal::Busy(why, CLOSED_AGAIN);
        }
        if let ureq::Error::Io(error) = error
            && let Some(why) = explain_tls(error, &self.host)
        {
            return Refusal::Unreachable(why);
        }
        let why: &dyn Display = match error {
            ureq::Error::Io(error) => &explained(error),
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                &format!("no connection within {} s", CONNECT.as_secs())
            }
            ureq::Error::Timeout(_) => &format!("no answer within {} s", within.as_secs_f64()),
            other => other,
        };
        Refusal::Unreachable(format!(
            "no coordinator answers at {} ({why}); start one with `sateen-coordinator`, or name another with \
             --coordinator",
            self.url
        ))
    }
}

/// When to try again, if a coordinator refuses a connection because it has too many. It has not looked at the request.
fn again_after(response: &Response<Body>) -> Option<Duration> {
    if response.status() != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The sentence for people in a problem document.
fn detail(body: &str) -> Option<String> {
    let problem: Value = serde_json::from_str(body).ok()?;
    let text = problem["detail"].as_str().or(problem["title"].as_str())?;
    Some(text.to_owned())
}

/// `text` as one segment of a path.
pub fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    // A segment of dots only would go to the parent.
    if encoded.chars().all(|character| character == '.') { encoded.replace('.', "%2E") } else { encoded }
}

/// Does the same to each of `things`, also after a failure. Fails with the error of the first failure, and prints the
/// other errors.
pub fn to_each<T>(things: &[T], mut what: impl FnMut(&T) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut first = None;
    for thing in things {
        if let Err(failure) = what(thing) {
            if first.is_some() {
                say(&failure.message);
            }
            first.get_or_insert(failure);
        }
    }
    first.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests;
