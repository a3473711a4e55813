//! A run's jobs as files: CSV, and Chrome's trace format.
//!
//! There may be a million: they are written a few thousand at a time, and nothing is locked in between.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use sateen_protocol::RunId;

use super::super::Api;
use super::super::extract::Path;
use super::super::problem::Problem;
use super::{chronicle, names, parse};
use crate::chronicle::{Chronicle, Names, Shown};

/// Jobs that are written at once.
const AT_ONCE: usize = 4096;

/// What is written of jobs.
trait Format: Send + 'static {
    fn head(&self) -> String;
    fn job(&mut self, text: &mut String, job: &Shown, host: &(String, String, String));
    fn tail(&self) -> &'static str;
}

/// `jobs.csv`.
pub async fn csv(State(api): State<Api>, Path(run): Path<String>) -> Result<Response, Problem> {
    let run = parse(&run)?;
    let format = Csv { names: names(&api, run).await? };
    answer(&api, run, "text/csv; charset=utf-8", &format!("run-{run}-jobs.csv"), format).await
}

/// `trace.json`, which Perfetto and chrome://tracing open.
pub async fn trace(State(api): State<Api>, Path(run): Path<String>) -> Result<Response, Problem> {
    let run = parse(&run)?;
    let format = Trace { names: names(&api, run).await?, run, hosts: 0, is_first: true };
    answer(&api, run, "application/json", &format!("run-{run}-trace.json"), format).await
}

async fn answer(
    api: &Api,
    run: RunId,
    kind: &'static str,
    file: &str,
    format: impl Format,
) -> Result<Response, Problem> {
    let chronicle = chronicle(api, run).await?;
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
    ];
    Ok((headers, Body::from_stream(written(chronicle, format))).into_response())
}

fn written<F: Format>(
    chronicle: Arc<Mutex<Chronicle>>,
    format: F,
) -> impl futures_util::Stream<Item = Result<Bytes, std::convert::Infallible>> {
    stream::unfold(Some((format, 0_u32)), move |state| {
        let chronicle = Arc::clone(&chronicle);
        async move {
            let (mut format, from) = state?;
            let mut text = if from == 0 { format.head() } else { String::new() };
            let (jobs, hosts) = {
                let chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
                let jobs = chronicle.shown(from, AT_ONCE);
                let hosts: Vec<_> = jobs.iter().map(|job| chronicle.host_of(job.host)).collect();
                (jobs, hosts)
            };
            for (job, host) in jobs.iter().zip(&hosts) {
                format.job(&mut text, job, host);
            }
            if jobs.len() < AT_ONCE {
                text.push_str(format.tail());
                return Some((Ok(text.into()), None));
            }
            Some((Ok(text.into()), Some((format, from + AT_ONCE as u32))))
        }
    })
}

struct Csv {
    names: Names,
}

impl Format for Csv {
    fn head(&self) -> String {
        "job,parent,function,depth,host,host_name,site,worker,state,redone,begun_ms,ended_ms,work_s,not_shown\r\n"
            .to_owned()
    }

    fn job(&mut self, text: &mut String, job: &Shown, (host, host_name, site): &(String, String, String)) {
        let parent = job.parent.map(|parent| parent.to_string()).unwrap_or_default();
        let number = |number: Option<String>| number.unwrap_or_default();
        // A string takes all that is written to it.
        let _ = write!(
            text,
            "{},{parent},{},{},{host},{},{},{},{},{},{},{},{},{}\r\n",
            job.job,
            field(self.names.of(job.kind)),
            job.depth,
            field(host_name),
            field(site),
            number(job.worker.map(|worker| worker.to_string())),
            job.state,
            job.redone,
            job.begun_ms,
            number(job.ended_ms.map(|ended_ms| ended_ms.to_string())),
            number(job.work_s.map(|work_s| work_s.to_string())),
            job.rolled,
        );
    }

    fn tail(&self) -> &'static str {
        ""
    }
}

/// A text of somebody's, as a field. Spreadsheets would run one that begins like a formula.
fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) || is_formula {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

struct Trace {
    names: Names,
    run: RunId,
    /// Hosts that have been named.
    hosts: u32,
    is_first: bool,
}

impl Trace {
    fn add(&mut self, text: &mut String, event: &serde_json::Value) {
        if !std::mem::take(&mut self.is_first) {
            text.push_str(",\n");
        }
        // As above.
        let _ = write!(text, "{event}");
    }
}

impl Format for Trace {
    fn head(&self) -> String {
        format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"run\":{}}},\"traceEvents\":[\n", self.run)
    }

    fn job(&mut self, text: &mut String, job: &Shown, (host, host_name, site): &(String, String, String)) {
        let process = job.host.wrapping_add(1);
        if process > self.hosts {
            self.hosts = process;
            let name = format!("{host_name} at {site} ({host})");
            let named = serde_json::json!({"ph": "M", "name": "process_name", "pid": process, "tid": 0,
                "args": {"name": name}});
            self.add(text, &named);
        }
        let until_ms = job.ended_ms.unwrap_or(job.begun_ms);
        let event = serde_json::json!({
            "ph": "X",
            "name": self.names.of(job.kind),
            "cat": job.state,
            "pid": process,
            "tid": job.worker.map_or(0, |worker| u32::from(worker) + 1),
            "ts": u64::from(job.begun_ms) * 1000,
            "dur": u64::from(until_ms.saturating_sub(job.begun_ms)) * 1000,
            "args": {
                "job": job.job.to_string(),
                "parent": job.parent.map(|parent| parent.to_string()),
                "depth": job.depth,
                "state": job.state,
                "redone": job.redone,
                "work_s": job.work_s,
            },
        });
        self.add(text, &event);
    }

    fn tail(&self) -> &'static str {
        "\n]}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_stay_texts() {
        for (text, shown) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@x", "\"'@x\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            assert_eq!(field(text), shown);
        }
    }
}
