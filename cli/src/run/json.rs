//! The JSON object that tells of a run.

use std::time::SystemTime;

use base64::Engine as _;
use sateen_host::{App, Finished, JobCounts, Output, RunError};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::flags::Run as Flags;

/// Adds what a run gave to the object that tells of it.
pub fn add_result(object: &mut Value, output: &Output) {
    match output {
        Output::Text(text) => object["result"] = json!(text),
        Output::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => object["result"] = json!(text),
            Err(_) => {
                object["result"] = Value::Null;
                object["result_base64"] = json!(base64::engine::general_purpose::STANDARD.encode(bytes));
            }
        },
    }
}

/// What goes into the JSON object whatever the end.
pub struct About<'a> {
    pub flags: &'a Flags,
    pub app: &'a App,
    pub jobs: JobCounts,
    pub threads: usize,
}

impl About<'_> {
    fn common(&self, jobs: JobCounts) -> Value {
        let name = self.flags.app.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        json!({
            "run": self.run_id(),
            "app": name,
            "module": self.app.inspection().hash,
            "function": self.flags.function,
            "arguments": self.flags.arguments,
            "threads": self.threads,
            "jobs": {
                "spawned": jobs.spawned,
                "exposed": jobs.exposed,
                "executed": jobs.executed,
                "stolen": jobs.stolen,
                "reused": jobs.reused,
                "redone": jobs.redone,
                "aborted": jobs.aborted,
            },
        })
    }

    /// A name for this run that no other has.
    fn run_id(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.app.inspection().hash.as_bytes());
        hasher.update(&std::process::id().to_le_bytes());
        if let Ok(now) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            hasher.update(&now.as_nanos().to_le_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    pub fn finished(&self, finished: &Finished) -> Value {
        let mut object = self.common(finished.jobs);
        add_result(&mut object, &finished.output);
        let (work_s, span_s) = (finished.work.as_secs_f64(), finished.span.as_secs_f64());
        object["elapsed_s"] = json!(finished.elapsed.as_secs_f64());
        object["work_s"] = json!(work_s);
        object["span_s"] = json!(span_s);
        object["parallelism"] = json!(if span_s > 0.0 { work_s / span_s } else { 1.0 });
        object
    }

    pub fn failed(&self, error: &RunError) -> Value {
        let mut object = self.common(self.jobs);
        let failure = Failure::from(error.clone());
        object["result"] = Value::Null;
        object["error"] = json!({
            "message": failure.message,
            "exit_code": failure.code,
            "backtrace": failure.backtrace,
        });
        object
    }
}
