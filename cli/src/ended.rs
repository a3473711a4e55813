//! What came of a run or a job that is over, wherever it ran: its result where it is wanted, or its failure
//! with its exit code; and the JSON object that tells of it.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use sateen_api::Counted;
use sateen_host::{ObjectFigures, Output};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::{Failure, USAGE, visible};
use crate::files::{OutputFile, plain, print, print_json, shown};

/// What is wanted of it.
pub struct Wanted<'a> {
    /// The files that the user gave, by the names that the app has for them.
    pub inputs: &'a [(String, PathBuf)],
    pub json: bool,
    pub verbose: bool,
    pub output: Option<OutputFile>,
}

/// What it gave.
pub enum Given<'a> {
    /// An entry point's output.
    Output(&'a Output),
    /// A job's encoded result, and what that is as Rust would write it, if the app says how it is encoded.
    Encoded(&'a [u8], Option<String>),
}

/// What is known of it whatever its end.
#[derive(Serialize)]
pub struct About {
    /// Its number on the grid, or a name for it that no other run has.
    pub run: Value,
    pub app: Option<String>,
    pub module: String,
    pub function: String,
    pub arguments: Vec<String>,
    /// On a grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u64>,
    pub threads: u64,
    pub jobs: Value,
    #[serde(flatten)]
    pub times: Option<Times>,
    /// Of what ran here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<ObjectFigures>,
    /// Of what was profiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Value>,
    #[serde(flatten)]
    pub losses: Option<Losses>,
    #[serde(flatten)]
    pub job: Option<OneJob>,
}

/// What of the work was for nothing, and what was saved; on a grid.
#[derive(Serialize)]
pub struct Losses {
    pub answer_work_s: Option<f64>,
    pub lost_work_s: Option<f64>,
    pub saved_work_s: f64,
    /// Whether the numbers are all.
    pub counted: Counted,
}

/// How long it took.
#[derive(Serialize)]
pub struct Times {
    elapsed_s: f64,
    work_s: f64,
    span_s: f64,
}

/// Of one job alone.
#[derive(Serialize)]
pub struct OneJob {
    /// Its key.
    pub job: String,
    /// Spawns below its run's root.
    pub depth: u32,
    /// With its parameters as Rust would write them, if the app says how they are encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

impl Times {
    /// From seconds.
    pub fn new(elapsed_s: f64, work_s: f64, span_s: f64) -> Self {
        Self { elapsed_s, work_s, span_s }
    }

    /// Of what ran here.
    pub fn here(elapsed: Duration, work: Duration, span: Duration) -> Self {
        Self::new(elapsed.as_secs_f64(), work.as_secs_f64(), span.as_secs_f64())
    }
}

/// Writes a result where it is wanted; or gives the failure back, after telling machines of it.
///
/// # Errors
/// The failure, and whatever hinders writing.
pub fn deliver(wanted: Wanted<'_>, about: &About, result: Result<Given<'_>, Failure>) -> Result<(), Failure> {
    let given = match result {
        Ok(given) => given,
        Err(mut failure) => {
            if failure.code == USAGE {
                failure.message = naming_files(&failure.message, wanted.inputs);
            }
            if wanted.json {
                let mut object = json!(about);
                object["result"] = Value::Null;
                object["error"] = json!({
                    "message": failure.message,
                    "exit_code": failure.code,
                    "backtrace": failure.backtrace,
                });
                print_json(&object)?;
            }
            if !wanted.verbose {
                failure.backtrace.clear();
            }
            return Err(failure);
        }
    };
    let output = wanted.output.as_ref().map(|file| file.path().display().to_string());
    if let Some(file) = wanted.output {
        file.write(&match given {
            Given::Output(output) => plain(output),
            Given::Encoded(bytes, _) => bytes.to_owned(),
        })?;
    }
    if wanted.json {
        let mut object = json!(about);
        match output {
            Some(file) => object["output"] = json!(file),
            None => add_result(&mut object, &given),
        }
        return print_json(&object);
    }
    match given {
        _ if output.is_some() => Ok(()),
        Given::Output(output) => print(&plain(output)),
        Given::Encoded(_, Some(text)) => print(format!("{}\n", visible(&text)).as_bytes()),
        Given::Encoded(bytes, None) => print(format!("{}\n", digits(bytes)).as_bytes()),
    }
}

fn add_result(object: &mut Value, given: &Given<'_>) {
    let text = match given {
        Given::Output(Output::Text(text)) => Ok(text.as_str()),
        Given::Output(Output::Bytes(bytes)) => std::str::from_utf8(bytes).map_err(|_| bytes.as_slice()),
        Given::Encoded(bytes, text) => {
            if let Some(text) = text {
                object["result_text"] = json!(text);
            }
            Err(*bytes)
        }
    };
    match text {
        Ok(text) => object["result"] = json!(text),
        Err(bytes) => {
            object["result"] = Value::Null;
            object["result_base64"] = json!(base64::engine::general_purpose::STANDARD.encode(bytes));
        }
    }
}

/// Bytes as hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What an app says of its inputs, which it knows by name only, with the files' names.
fn naming_files(message: &str, inputs: &[(String, PathBuf)]) -> String {
    let name_file = |message: String, (name, path): &(String, PathBuf)| {
        let said = format!("input `{name}`");
        message.replacen(&said, &format!("{said} ({})", shown(path)), 1)
    };
    let message = inputs.iter().fold(message.to_owned(), name_file);
    naming_given(&message, inputs.iter().map(|(name, _)| name))
}

/// What an app says of an input that it needs, with the names of those that it was given.
pub fn naming_given<'a>(message: &str, given: impl Iterator<Item = &'a String>) -> String {
    const GIVEN: &str = "; it was given ";
    let names: Vec<String> = given.map(|name| format!("`{name}`")).collect();
    if names.is_empty() || !message.contains("the app needs the input `") || message.contains(GIVEN) {
        return message.to_owned();
    }
    format!("{message}{GIVEN}{}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_told_with_their_files() {
        let inputs = [("cnf".to_owned(), PathBuf::from("a/hard.cnf")), ("b".to_owned(), PathBuf::from("b"))];
        assert_eq!(
            naming_files("input `cnf`, line 3: `x` where a literal is expected", &inputs),
            "input `cnf` (a/hard.cnf), line 3: `x` where a literal is expected"
        );
        assert_eq!(
            naming_files("the app needs the input `c`", &inputs),
            "the app needs the input `c`; it was given `cnf`, `b`"
        );
        assert_eq!(naming_files("the app needs the input `c`", &[]), "the app needs the input `c`");
    }
}
