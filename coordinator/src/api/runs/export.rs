//! A run's jobs as files: CSV, and Chrome's trace format.
//!
//! There may be a million jobs: they are written a few thousand at a time, and no lock is held in between.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use sateen_protocol::RunId;
use tokio::task::spawn_blocking;

use super::super::Api;
use super::super::extract::Path;
use super::super::gate::turn;
use super::super::problem::Problem;
use super::super::shown::host_at;
use super::lanes::{Laid, Span, lay_out};
use super::{chronicle, names, parse};
use crate::chronicle::{Chronicle, Names, Shown};
use crate::driver::Gone;
use crate::server::{Connection, Kind, Pass};

/// Maximum jobs that are written at once.
const AT_ONCE: usize = 4096;

/// The state of an export of jobs.
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
pub async fn trace(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(run): Path<String>,
) -> Result<Response, Problem> {
    let run = parse(&run)?;
    let names = names(&api, run).await?;
    let turn = turn(&api, &connection, Kind::Trace).await?;
    let of = chronicle(&api, run).await?;
    let laid = spawn_blocking(move || lay_out(&spans(&of))).await.map_err(|_| Gone)?;
    let format =
        Trace { names, run, laid, place: 0, hosts: 0, tracks: BTreeSet::new(), is_first: true, _turn: turn };
    answer(&api, run, "application/json", &format!("run-{run}-trace.json"), format).await
}

/// When and where each job ran; up to now if it is still running.
fn spans(chronicle: &Mutex<Chronicle>) -> Vec<Span> {
    let mut spans = Vec::new();
    loop {
        let chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
        let (now_ms, jobs) = (chronicle.now_ms(), chronicle.shown(spans.len() as u32, AT_ONCE));
        spans.extend(jobs.iter().map(|job| Span {
            host: job.host,
            worker: job.worker.unwrap_or(u16::MAX),
            begun_ms: job.begun_ms,
            ended_ms: job.ended_ms.unwrap_or(now_ms).max(job.begun_ms),
        }));
        if jobs.len() < AT_ONCE {
            return spans;
        }
    }
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
                let hosts: Vec<_> = jobs.iter().map(|job| host_at(&chronicle, job.host)).collect();
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
        // Writing to a string cannot fail.
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

/// A text from a host or an app, as a field. Spreadsheets would execute one that begins like a formula.
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
    /// By the places of jobs.
    laid: Vec<Laid>,
    /// The place of the next job.
    place: usize,
    /// Lanes that have been named.
    tracks: BTreeSet<(u32, u32)>,
    _turn: Pass,
    /// Hosts that have been named.
    hosts: u32,
    is_first: bool,
}

/// Numbers of a worker's lanes.
const TRACKS_PER_WORKER: u32 = 256;

impl Trace {
    /// Workers in order, each followed by its lanes.
    fn name_track(&mut self, text: &mut String, process: u32, track: u32) {
        let name = match (track / TRACKS_PER_WORKER, track % TRACKS_PER_WORKER) {
            (0, 0) => "unknown worker".to_owned(),
            (0, lane) => format!("unknown worker, lane {}", lane + 1),
            (worker, 0) => format!("worker {}", worker - 1),
            (worker, lane) => format!("worker {}, lane {}", worker - 1, lane + 1),
        };
        for (what, args) in [
            ("thread_name", serde_json::json!({"name": name})),
            ("thread_sort_index", serde_json::json!({"sort_index": track})),
        ] {
            let named =
                serde_json::json!({"ph": "M", "name": what, "pid": process, "tid": track, "args": args});
            self.add(text, &named);
        }
    }

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
        // Jobs that were added or begun again since then have no lane.
        let laid = self.laid.get(self.place).filter(|laid| laid.begun_ms == job.begun_ms).copied();
        self.place += 1;
        let Some(Laid { begun_ms, ended_ms, lane }) = laid else { return };
        let worker = job.worker.map_or(0, |worker| u32::from(worker) + 1);
        let track = worker * TRACKS_PER_WORKER + lane.map_or(0, u32::from);
        if self.tracks.insert((process, track)) {
            self.name_track(text, process, track);
        }
        let event = serde_json::json!({
            // A job that fits no lane becomes a mark.
            "ph": if lane.is_some() { "X" } else { "i" },
            "name": self.names.of(job.kind),
            "cat": job.state,
            "pid": process,
            "tid": track,
            "ts": u64::from(begun_ms) * 1000,
            "dur": u64::from(ended_ms - begun_ms) * 1000,
            "s": "t",
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
    fn foreign_texts_stay_texts() {
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
