//! The outcome of a finished run or job, on this machine or on the grid: writes its result to the file or
//! stdout, or returns its failure with an exit code; and the JSON object that describes it.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use sateen_api::{Checked, Counted, EarlierResults};
use sateen_host::{ObjectFigures, Output};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::{Failure, USAGE, visible};
use crate::files::{OutputFile, plain, print, print_json, shown};

/// The parts of the outcome that the user wants to see.
pub struct Wanted<'a> {
    /// The user's files, by the app's names for them.
    pub inputs: &'a [(String, PathBuf)],
    pub json: bool,
    pub verbose: bool,
    pub output: Option<OutputFile>,
}

/// Its result.
pub enum Given<'a> {
    /// An entry point's output.
    Output(&'a Output),
    /// A job's encoded result, and the result as Rust would write it, if the app describes the encoding.
    Encoded(&'a [u8], Option<String>),
}

/// The facts about a run, however it ended.
#[derive(Serialize)]
pub struct About {
    /// Its number on the grid, or a unique name for it.
    pub run: Value,
    pub app: Option<String>,
    pub module: String,
    pub function: String,
    pub arguments: Vec<String>,
    /// On a grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Value>,
    pub threads: Option<u64>,
    pub jobs: Value,
    #[serde(flatten)]
    pub times: Times,
    /// Of what ran here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<ObjectFigures>,
    /// The profile, if the run was profiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Value>,
    #[serde(flatten)]
    pub checking: Option<Checking>,
    #[serde(flatten)]
    pub losses: Option<Losses>,
    /// Results of earlier runs that it used, if it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierResults>,
    #[serde(flatten)]
    pub job: Option<OneJob>,
}

/// How results were checked; only on a grid.
#[derive(Serialize)]
pub struct Checking {
    /// The run's trust policy.
    pub trust: String,
    /// Null if hosts were trusted.
    pub checked: Option<Checked>,
}

/// How much work was lost; only on a grid.
#[derive(Serialize)]
pub struct Losses {
    pub answer_work_s: Option<f64>,
    pub lost_work_s: Option<f64>,
    /// Whether the numbers are complete.
    pub counted: Counted,
}

/// How long it took.
#[derive(Serialize)]
pub struct Times {
    /// Null on a grid if the run was over before its start, or its coordinator leaves it out.
    pub elapsed_s: Option<f64>,
    /// Null on a grid whose coordinator leaves it out.
    pub work_s: Option<f64>,
    /// Null if there is no result, and on a grid also if it is not known how much work it stands for.
    pub span_s: Option<f64>,
}

/// The facts about a single job.
#[derive(Serialize)]
pub struct OneJob {
    /// Its key.
    pub job: String,
    /// Spawns below its run's root.
    pub depth: u32,
    /// The call with its parameters as Rust would write them, if the app describes their encoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

impl Times {
    /// Of what ran here; without a result, there is no span.
    pub fn here(elapsed: Duration, work: Duration, span: Option<Duration>) -> Self {
        let seconds = |time: Duration| time.as_secs_f64();
        Self { elapsed_s: Some(seconds(elapsed)), work_s: Some(seconds(work)), span_s: span.map(seconds) }
    }
}

/// Writes a result to the file or stdout; or returns the failure, after printing it as JSON if
/// requested.
///
/// # Errors
/// The failure, or an error while writing.
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
                    "job": failure.job,
                    "backtrace": failure.backtrace,
                });
                // The exit code is the run's, also without a reader.
                print_json(&object).or_else(Failure::unless_reader_gone)?;
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

/// An app's message about its inputs, with the names of the files: the app knows only the inputs'
/// names.
fn naming_files(message: &str, inputs: &[(String, PathBuf)]) -> String {
    let name_file = |message: String, (name, path): &(String, PathBuf)| {
        let said = format!("input `{name}`");
        message.replacen(&said, &format!("{said} ({})", shown(path)), 1)
    };
    let message = inputs.iter().fold(message.to_owned(), name_file);
    naming_given(&message, inputs.iter().map(|(name, _)| name))
}

/// An app's message about a missing input, with the names of the inputs that the user gave.
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
    fn messages_name_the_files_of_inputs() {
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
