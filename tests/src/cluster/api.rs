//! Requests to the coordinator, and waiting for an expected answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sateen_contradictions::{Asked, Grown, is_over, samples};
use serde_json::Value;
use ureq::typestate::{WithBody, WithoutBody};
use ureq::{Agent, RequestBuilder};

/// Interval between requests while waiting.
const PERIOD: Duration = Duration::from_millis(25);
/// Maximum time for one answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// The coordinator's HTTP API.
#[derive(Clone)]
pub struct Api {
    url: String,
    agent: Agent,
    began: Instant,
    /// The value of the header `Authorization`; empty without a token.
    authorization: String,
}

impl Api {
    /// The API at `url`.
    pub fn new(url: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER_MAX))
            .max_idle_connections(0) // the coordinator is killed now and then
            .proxy(None)
            .build();
        let (agent, authorization) = (config.new_agent(), String::new());
        Self { url: url.to_owned(), agent, began: Instant::now(), authorization }
    }

    /// The same, with a token.
    #[must_use]
    pub fn with_token(url: &str, token: &str) -> Self {
        Self { authorization: format!("Bearer {token}"), ..Self::new(url) }
    }

    fn reading(&self, path: &str) -> RequestBuilder<WithoutBody> {
        self.authorized(self.agent.get(format!("{}{path}", self.url)))
    }

    fn writing(&self, path: &str) -> RequestBuilder<WithBody> {
        self.authorized(self.agent.post(format!("{}{path}", self.url)))
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        if self.authorization.is_empty() {
            return request;
        }
        request.header("Authorization", &self.authorization)
    }

    /// Status and JSON of a GET; `None` without an answer.
    pub fn try_get(&self, path: &str) -> Option<(u16, Value)> {
        let mut response = self.reading(path).call().ok()?;
        let body = response.body_mut().read_to_string().ok()?;
        Some((response.status().as_u16(), serde_json::from_str(&body).unwrap_or(Value::Null)))
    }

    /// The JSON of a GET.
    ///
    /// # Panics
    /// Without an answer, or if its status is not 200.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        match self.try_get(path) {
            Some((200, value)) => value,
            other => panic!("GET {path} gave {other:?}"),
        }
    }

    /// A run.
    #[track_caller]
    pub fn run(&self, run: u64) -> Value {
        self.get(&format!("/api/v1/runs/{run}"))
    }

    /// The connected hosts.
    pub fn hosts(&self) -> Vec<Value> {
        let answer = self.try_get("/api/v1/hosts").map(|(_, hosts)| hosts).unwrap_or_default();
        let all = answer.as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|host| host["connected"] == true).collect()
    }

    /// Status of a POST with an empty body.
    ///
    /// # Panics
    /// Without an answer.
    #[track_caller]
    pub fn order(&self, path: &str) -> (u16, Value) {
        self.post(path, "")
    }

    /// The same for a POST with this body.
    ///
    /// # Panics
    /// Without an answer.
    #[track_caller]
    pub fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let response = self.writing(path).send(body);
        let mut response = response.unwrap_or_else(|error| panic!("POST {path}: {error}"));
        let body = response.body_mut().read_to_string().unwrap_or_default();
        (response.status().as_u16(), serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// Publishes a module under this name: the status and the answer.
    ///
    /// # Panics
    /// Without an answer.
    #[track_caller]
    pub fn publish(&self, name: &str, module: &[u8]) -> (u16, Value) {
        let response = self.writing(&format!("/api/v1/apps?name={name}")).send(module);
        let mut response = response.unwrap_or_else(|error| panic!("POST /api/v1/apps: {error}"));
        let body = response.body_mut().read_to_string().unwrap_or_default();
        (response.status().as_u16(), serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// The body of an answer as text; empty without one.
    #[must_use]
    pub fn text(&self, path: &str) -> String {
        let response = self.reading(path).call();
        response.ok().and_then(|mut response| response.body_mut().read_to_string().ok()).unwrap_or_default()
    }

    /// The value of a metric, summed over its labels; 0 if there is no such metric.
    ///
    /// # Panics
    /// Without an answer.
    #[track_caller]
    pub fn metric(&self, name: &str) -> f64 {
        let response = self.reading("/metrics").call();
        let text = response.expect("metrics").body_mut().read_to_string().expect("text");
        let of_name = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']));
        let value = |line: &str| line.rsplit(' ').next().and_then(|word| word.parse::<f64>().ok());
        text.lines().filter(of_name).filter_map(value).sum()
    }

    /// All samples of `/metrics`; `None` without an answer.
    pub fn try_metrics(&self) -> Option<BTreeMap<String, f64>> {
        let mut response = self.reading("/metrics").call().ok()?;
        let text = response.body_mut().read_to_string().ok()?;
        Some(samples(&text))
    }

    /// Waits until the run meets the condition `wanted`, and returns it. Meanwhile, no figure may fall that only grows.
    #[track_caller]
    pub fn run_until(
        &self,
        run: u64,
        what: &str,
        patience: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let (mut last, mut grown) = (Value::Null, Grown::default());
        let path = format!("/api/v1/runs/{run}");
        let found = try_until(patience, || {
            let Some((_, value)) = self.try_get(&path) else {
                grown.restarted();
                return None;
            };
            let fallen = grown.check(&value);
            assert!(fallen.is_empty(), "{fallen:#?}: {value:#}");
            last = value.clone();
            wanted(&value).then_some(value)
        });
        found.unwrap_or_else(|| panic!("run {run} is never {what} within {patience:?}; it is {last:#}"))
    }

    /// Waits until the run is over, and returns it. The coordinator answers at the end: repeated requests
    /// would take processor time from the hosts.
    #[track_caller]
    pub fn run_over(&self, run: u64, patience: Duration) -> Value {
        self.awaited(run, patience, true)
    }

    /// As [`Api::run_over`], without waiting for all hosts' last counts, which the result does not need.
    #[track_caller]
    pub fn run_answered(&self, run: u64, patience: Duration) -> Value {
        self.awaited(run, patience, false)
    }

    #[track_caller]
    fn awaited(&self, run: u64, patience: Duration, figures: bool) -> Value {
        let (started, mut last) = (Instant::now(), Value::Null);
        while let Some(left) = patience.checked_sub(started.elapsed()) {
            let turn_s = left.min(ANSWER_MAX / 2).as_secs();
            match self.try_get(&format!("/api/v1/runs/{run}/wait?timeout_s={turn_s}&figures={figures}")) {
                Some((200, run)) if is_over(&run) && (!figures || run["counted"] != "so_far") => return run,
                answer => last = answer.map_or(last, |(_, value)| value),
            }
            std::thread::sleep(PERIOD);
        }
        panic!("run {run} is not over within {patience:?}; it is {last:#}")
    }
}

impl Asked for &Api {
    fn json(&mut self, path: &str) -> Option<Value> {
        match self.try_get(path) {
            Some((200, value)) => Some(value),
            _ => None,
        }
    }

    fn metrics(&mut self) -> Option<BTreeMap<String, f64>> {
        self.try_metrics()
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn now(&mut self) -> Duration {
        self.began.elapsed()
    }
}

/// Waits until `look` returns a value.
///
/// # Panics
/// When it does not within `patience`.
#[track_caller]
pub fn until<T>(what: &str, patience: Duration, look: impl FnMut() -> Option<T>) -> T {
    try_until(patience, look).unwrap_or_else(|| panic!("not within {patience:?}: {what}"))
}

fn try_until<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if started.elapsed() > patience {
            return None;
        }
        std::thread::sleep(PERIOD);
    }
}

/// A counter of a run.
pub fn count(run: &Value, name: &str) -> u64 {
    run["jobs"][name].as_u64().unwrap_or_else(|| panic!("there is no counter `{name}` in {run}"))
}

/// The work of the host `name` for a run, in seconds, summed over all its rows.
pub fn work_of(run: &Value, name: &str) -> f64 {
    let of_host = |host: &&Value| host["name"] == name;
    run["by_host"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(of_host)
        .filter_map(|host| host["work_s"].as_f64())
        .sum()
}
