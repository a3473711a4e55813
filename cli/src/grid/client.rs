//! Asking a coordinator over HTTP.

use std::fmt::Display;
use std::time::Duration;

use sateen_command_line::explained;
use sateen_host::Output;
use sateen_protocol::BlobHash;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use serde_json::Value;
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Agent, Body, Timeout};

use crate::exit::{Failure, GRID, say};

/// Maximum time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Maximum time of a small request, from its start to the end of its answer.
pub const SHORT: Duration = Duration::from_secs(30);
/// Maximum time of a request or answer that carries a module, an input or a result.
const BULK: Duration = Duration::from_secs(600);
/// Maximum bytes of an answer in JSON.
const JSON_BYTES_MAX: u64 = 64 << 20;
/// Maximum items of a list that comes in pages.
const LISTED_MAX: usize = 1_000_000;
/// Maximum bytes of a result.
const RESULT_BYTES_MAX: u64 = 4 << 30;

/// Why a request to a coordinator failed.
#[derive(Debug)]
pub enum Refusal {
    /// The coordinator does not answer; it may come back.
    Unreachable(String),
    /// The coordinator refused the request: the status, and why.
    Answered(StatusCode, String),
}

/// A coordinator, by its address.
pub struct Client {
    url: String,
    agent: Agent,
}

impl Client {
    /// # Arguments
    /// * `address`: like `http://HOST:PORT`, or just `HOST:PORT`.
    ///
    /// # Errors
    /// If `address` is not the address of a coordinator.
    pub fn new(address: &str) -> Result<Self, Failure> {
        let (url, host) = url_of(address).map_err(Failure::usage)?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("sateen/", env!("CARGO_PKG_VERSION")));
        if is_this_machine(&host) {
            // A proxy from the environment would look for a loopback address on its own machine.
            config = config.proxy(None);
        }
        Ok(Self { url: url.trim_end_matches('/').to_owned(), agent: config.build().new_agent() })
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
        let request = self.agent.get(self.at(path)).config().timeout_global(Some(time)).build();
        self.json(self.good(request.call(), time)?, time)
    }

    /// The answer to GET of a list, in JSON, and the path of its next page if there is one.
    pub fn get_page(&self, path: &str, query: &[(&str, &str)]) -> Result<(Value, Option<String>), Refusal> {
        self.get_page_within(path, query, SHORT)
    }

    fn get_page_within(
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

    /// The answers to GET of a list and of all its further pages, in one list.
    pub fn get_all(&self, path: &str, time: Duration) -> Result<Value, Refusal> {
        let mut all = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next.filter(|_| all.len() < LISTED_MAX) {
            let page;
            (page, next) = self.get_page_within(&path, &[], time)?;
            match page {
                Value::Array(items) => all.extend(items),
                other => return Ok(other),
            }
        }
        Ok(Value::Array(all))
    }

    /// Whether HEAD finds something at the path.
    pub fn has(&self, path: &str) -> Result<bool, Refusal> {
        let request = self.agent.head(self.at(path)).config().timeout_global(Some(SHORT)).build();
        match self.good(request.call(), SHORT) {
            Ok(_) => Ok(true),
            Err(Refusal::Answered(StatusCode::NOT_FOUND, _)) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    /// The answer to POST of an object.
    pub fn post(&self, path: &str, object: &Value) -> Result<Value, Refusal> {
        let request = self.agent.post(self.at(path)).content_type("application/json");
        let request = request.config().timeout_global(Some(SHORT)).build();
        self.json(self.good(request.send(object.to_string()), SHORT)?, SHORT)
    }

    /// The answer to POST of nothing.
    pub fn order(&self, path: &str) -> Result<Value, Refusal> {
        let request = self.agent.post(self.at(path)).config().timeout_global(Some(SHORT)).build();
        self.json(self.good(request.send_empty(), SHORT)?, SHORT)
    }

    /// DELETE.
    pub fn delete(&self, path: &str) -> Result<(), Refusal> {
        let request = self.agent.delete(self.at(path)).config().timeout_global(Some(SHORT)).build();
        self.good(request.call(), SHORT).map(drop)
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
        let request = self.agent.post(self.at(path)).content_type("application/wasm");
        let request = request.config().timeout_global(Some(BULK)).build();
        self.json(self.good(request.send(bytes), BULK)?, BULK)
    }

    /// PUT of bytes.
    pub fn put_bytes(&self, path: &str, bytes: &[u8]) -> Result<(), Refusal> {
        let request = self.agent.put(self.at(path)).content_type("application/octet-stream");
        let request = request.config().timeout_global(Some(BULK)).build();
        self.good(request.send(bytes), BULK).map(drop)
    }

    /// The blob with this hash.
    pub fn blob(&self, hash: BlobHash) -> Result<Vec<u8>, Refusal> {
        let request = self.agent.get(self.at(&format!("/api/v1/blobs/{hash}")));
        let request = request.config().timeout_global(Some(BULK)).build();
        let mut response = self.good(request.call(), BULK)?;
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
        let request = self.agent.get(self.at(path)).config().timeout_global(Some(BULK)).build();
        let mut response = self.good(request.call(), BULK)?;
        let is_text = response.body().mime_type() == Some("text/plain");
        let bytes = response.body_mut().with_config().limit(RESULT_BYTES_MAX).read_to_vec();
        let bytes = bytes.map_err(|error| self.unreachable(&error, BULK))?;
        if !is_text {
            return Ok(Output::Bytes(bytes));
        }
        Ok(String::from_utf8(bytes).map_or_else(|error| Output::Bytes(error.into_bytes()), Output::Text))
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
        let kind = response.body().mime_type().map(ToOwned::to_owned);
        let body = response.body_mut().with_config().limit(JSON_BYTES_MAX).read_to_string();
        let detail = match kind.as_deref() {
            Some("application/problem+json") => detail(&body.unwrap_or_default()),
            _ => None,
        };
        let detail =
            detail.unwrap_or_else(|| format!("{} answers with {status}; is it a coordinator?", self.url));
        Err(Refusal::Answered(status, detail))
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

/// The sentence for people in a problem document.
fn detail(body: &str) -> Option<String> {
    let problem: Value = serde_json::from_str(body).ok()?;
    let text = problem["detail"].as_str().or(problem["title"].as_str())?;
    Some(text.to_owned())
}

/// A coordinator's URL and its host, from what a user writes: like `http://HOST:PORT`, or just `HOST:PORT`.
///
/// # Errors
/// A sentence that says which address is expected.
pub fn url_of(address: &str) -> Result<(String, String), String> {
    let expected = || {
        "expected the address of a coordinator, for example, http://127.0.0.1:7700 or grid:7700".to_owned()
    };
    let is_url = address.contains("://") || !has_port(address);
    let url = if is_url { address.to_owned() } else { format!("http://{address}") };
    let uri = url.parse::<Uri>().map_err(|_| expected())?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(expected)?;
    match uri.scheme_str() {
        Some("http") => Ok((url, host.to_owned())),
        Some("https") => Err("this build speaks no TLS; use an http address".to_owned()),
        _ => Err(expected()),
    }
}

fn has_port(authority: &str) -> bool {
    authority.trim_end_matches('/').rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
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

impl Refusal {
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Answered(StatusCode::NOT_FOUND | StatusCode::GONE, _))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unreachable(message) => Self { code: GRID, message, backtrace: Vec::new() },
            Refusal::Answered(status, message) => {
                let of_grid = status.is_server_error()
                    || matches!(
                        status,
                        StatusCode::UNAUTHORIZED
                            | StatusCode::FORBIDDEN
                            | StatusCode::REQUEST_TIMEOUT
                            | StatusCode::TOO_MANY_REQUESTS
                    );
                let code = if of_grid { GRID } else { crate::exit::USAGE };
                Self { code, message, backtrace: Vec::new() }
            }
        }
    }
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
