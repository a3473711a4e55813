//! Submitting a run.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use sateen_api::names::{check_input_name, quoted};
use sateen_api::{Submission, Submitted};
use sateen_module::{size, sizes};
use sateen_protocol::{BlobHash, Priority, RunSpec, Share, Trust, limits};
use tokio::sync::MutexGuard;

use super::super::entry::Noted;
use super::super::problem::Problem;
use super::super::{Api, apps, body};
use super::forget;
use crate::access::{Access, Held};
use crate::driver::Request;
use crate::limits::{
    ARGUMENTS_BYTES_MAX, ARGUMENTS_MAX, INPUTS_MAX, JSON_BYTES_MAX, RUNS_DROPPED_AT_ONCE_MAX,
    RUNS_UNFINISHED_BYTES_MAX, RUNS_UNFINISHED_BYTES_PER_PEER_MAX, RUNS_UNFINISHED_MAX,
    RUNS_UNFINISHED_PER_PEER_MAX, RUNS_UNFINISHED_RESERVED, RUNS_UNFINISHED_RESERVED_BYTES,
};
use crate::peer::Peer;
use crate::server::Connection;
use crate::store::encoded_bytes;
use crate::store::sql::{self, AppRow};

pub async fn submit(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Extension(access): Extension<Access>,
    bytes: Body,
) -> Result<(StatusCode, Extension<Noted>, Json<Submitted>), Problem> {
    let bytes = body::in_memory(&connection, bytes, JSON_BYTES_MAX).await?;
    let submission = read(&bytes)?;
    let app = apps::find(&api, &submission.app).await?;
    if api.store.blob_length_bytes(app.hash).await.is_none() {
        return Err(Problem::unprocessable(format!(
            "the module of the app {} is no longer on the coordinator's disk; publish it again with `sateen publish`",
            app.name
        )));
    }
    let inputs = inputs(&api, &submission).await?;
    let app_name = app.name.clone();
    let spec = Box::new(spec(submission, &app, inputs, access.weight())?);
    let submitter = connection.peer;
    let quota = match &access {
        Access::Everyone => None,
        Access::Holder(held) => check_quota(&api, held).await?,
    };
    check_room(&api, submitter, &spec).await?;
    let owner = access.token();
    let run = api.driver.ask(|reply| Request::Submit { app_name, spec, submitter, owner, reply }).await?;
    drop(quota);
    let run = run.map_err(|error| Problem::unsaved(&error))?;
    Ok((StatusCode::CREATED, Extension(Noted(format!("run {run}"))), Json(Submitted { run: run.0 })))
}

fn read(body: &[u8]) -> Result<Submission, Problem> {
    const EXPECTED: &str = "the request's body must be JSON like {\"app\": \"nqueens\", \"arguments\": [\"12\"]}; \
                            /api/v1/openapi.json describes its fields";
    let mut parser = serde_json::Deserializer::from_slice(body);
    let submission: Submission = serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        match of_another_type(&error.path().to_string(), &error.inner().to_string()) {
            Some(why) => Problem::bad_request(format!("invalid submission: {why}; {EXPECTED}")),
            None => Problem::invalid("submission", EXPECTED, error.inner()),
        }
    })?;
    parser.end().map_err(|error| Problem::invalid("submission", EXPECTED, &error))?;
    Ok(submission)
}

/// A sentence about a field of another type than expected, from the parser's words `invalid type: string "12", expected a
/// sequence at line 1 column 9`. None if they are about something else.
fn of_another_type(field: &str, error: &str) -> Option<String> {
    let (given, expected) = error.strip_prefix("invalid type: ")?.split_once(", expected ")?;
    let given = match given.split_once(' ') {
        Some(("string", text)) => quoted(text.trim_matches('"')),
        Some(("integer" | "boolean", value)) => value.to_owned(),
        _ => match given {
            "sequence" => "a list".to_owned(),
            "map" => "an object".to_owned(),
            other => other.to_owned(),
        },
    };
    let expected = match expected.split(" at line ").next()? {
        "a string" => "a text, like \"12\"",
        "a sequence" => "a list of texts, like [\"12\"]",
        "a boolean" => "true or false",
        "u32" | "u64" => "a whole number that is not negative",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    let field = if field == "." { "it".to_owned() } else { format!("`{field}`") };
    Some(format!("{field} is {given}, but must be {expected}"))
}

/// Whether a token may have one more unfinished run. Until the run is saved, others are not counted: they wait for what this
/// returns.
async fn check_quota<'a>(api: &Api, held: &'a Held) -> Result<Option<MutexGuard<'a, ()>>, Problem> {
    let Some((runs_max, alone)) = held.submits().await else { return Ok(None) };
    let token = held.id();
    let has = api.store.read(move |connection| sql::unfinished_of(connection, token)).await?;
    if has < u64::from(runs_max) {
        return Ok(Some(alone));
    }
    let runs = if runs_max == 1 { "run" } else { "runs" };
    Err(Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        format!(
            "the token {} may have {runs_max} unfinished {runs} and has {has}, suspended ones included; wait until one has \
             ended, or cancel one with `sateen cancel`",
            quoted(held.name())
        ),
    ))
}

/// Whether there may be one more unfinished run: all of them are in memory, with their arguments.
async fn check_room(api: &Api, peer: Peer, spec: &RunSpec) -> Result<(), Problem> {
    let spec_bytes = encoded_bytes(spec);
    make_room(api, peer, spec_bytes).await?;
    let room = api.store.results.check(peer, spec_bytes);
    room.map_err(|why| Problem::new(StatusCode::INSUFFICIENT_STORAGE, why))?;
    let unfinished = api.store.read(|connection| sql::unfinished(connection)).await?;
    let bytes: usize = spec.arguments.iter().map(String::len).sum::<usize>()
        + spec.inputs.iter().map(|(name, _)| name.len() + 32).sum::<usize>();
    let (mut all, mut own) = ((1, bytes as u64), (1, bytes as u64));
    for (submitter, bytes) in unfinished {
        all = (all.0 + 1, all.1 + bytes);
        // Older versions did not record who submitted a run; such runs count towards the total only.
        if submitter == Some(peer) {
            own = (own.0 + 1, own.1 + bytes);
        }
    }
    let what_to_do =
        "wait until some have ended, cancel some with `sateen cancel`, or give long arguments as inputs";
    if own.0 > RUNS_UNFINISHED_PER_PEER_MAX || own.1 > RUNS_UNFINISHED_BYTES_PER_PEER_MAX {
        return Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "this address has submitted {} runs of {} that are not over, and {RUNS_UNFINISHED_PER_PEER_MAX} of {} \
                 are allowed; {what_to_do}",
                own.0 - 1,
                size(own.1 - bytes as u64),
                size(RUNS_UNFINISHED_BYTES_PER_PEER_MAX)
            ),
        ));
    }
    // Even when a few peers hold the maximum, others may submit a little; the sum of that is at most as much again.
    let is_little = own.0 <= RUNS_UNFINISHED_RESERVED && own.1 <= RUNS_UNFINISHED_RESERVED_BYTES;
    let factor = if is_little { 2 } else { 1 };
    if all.0 > factor * RUNS_UNFINISHED_MAX || all.1 > factor as u64 * RUNS_UNFINISHED_BYTES_MAX {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "{} runs of {} are not over, and {RUNS_UNFINISHED_MAX} of {} are allowed; {what_to_do}",
                all.0 - 1,
                size(all.1 - bytes as u64),
                size(RUNS_UNFINISHED_BYTES_MAX)
            ),
        ));
    }
    Ok(())
}

/// Deletes the oldest cancelled runs while there is little room for finished runs.
async fn make_room(api: &Api, peer: Peer, spec_bytes: u64) -> Result<(), Problem> {
    while let Some(whose) = api.store.results.lacks_room(peer, spec_bytes) {
        let find = move |connection: &mut _| sql::cancelled(connection, whose, RUNS_DROPPED_AT_ONCE_MAX);
        let found = api.store.read(find).await?;
        if found.is_empty() {
            break;
        }
        for run in found {
            if api.store.results.lacks_room(peer, spec_bytes) != Some(whose) {
                break;
            }
            forget(api, run).await?;
            tracing::info!(run = run.0, "a cancelled run was deleted to make room for another");
        }
    }
    Ok(())
}

/// The specification of a run of a submitter with this weight. The driver numbers the submitter.
fn spec(
    submission: Submission,
    app: &AppRow,
    inputs: Vec<(String, BlobHash)>,
    weight: u16,
) -> Result<RunSpec, Problem> {
    let function = submission.function.unwrap_or_else(|| "main".to_owned());
    if !app.about.entry_points.contains(&function) {
        return Err(Problem::unprocessable(format!(
            "the app {} has no entry point {}; it has: {}",
            app.name,
            quoted(&function),
            app.about.entry_points.join(", ")
        )));
    }
    let arguments = submission.arguments;
    let bytes: usize = arguments.iter().map(String::len).sum();
    if arguments.len() > ARGUMENTS_MAX || bytes > ARGUMENTS_BYTES_MAX {
        return Err(Problem::unprocessable(format!(
            "{} arguments of {bytes} bytes in all are too many: {ARGUMENTS_MAX} of {ARGUMENTS_BYTES_MAX} bytes \
             are allowed; give more as an input",
            arguments.len()
        )));
    }
    app.about.check_arguments(&function, &arguments).map_err(Problem::unprocessable)?;
    let record_every_ms = submission.record_every_ms.unwrap_or(limits::RECORD_EVERY_MS);
    let range = RunSpec::RECORD_EVERY_MS;
    if !range.contains(&record_every_ms.into()) {
        return Err(Problem::unprocessable(format!(
            "record_every_ms is {record_every_ms}; it must be from {} to {} ms",
            range.start(),
            range.end()
        )));
    }
    let trust = submission.trust.as_deref().map_or(Ok(Trust::default()), str::parse);
    let trust = trust.map_err(|error| Problem::unprocessable(format!("trust: {error}")))?;
    let priority = submission.priority.as_deref().map_or(Ok(Priority::default()), str::parse);
    let priority = priority.map_err(|error| Problem::unprocessable(format!("priority: {error}")))?;
    let spec = RunSpec {
        app: app.hash,
        function,
        arguments,
        inputs,
        limits: submission.limits.into(),
        strict_nan: submission.strict_nan,
        stealing: submission.stealing,
        fault_tolerance: submission.fault_tolerance,
        record_every_ms,
        trust,
        share: Share { weight, priority, ..Share::default() },
        reuse: submission.reuse,
    };
    if spec.reuse && spec.trust.is_checked() {
        return Err(Problem::unprocessable(format!(
            "reuse: results of earlier runs are not checked again, and this run's are to be (trust: {}); leave one of the two out",
            spec.trust
        )));
    }
    spec.limits.check().map_err(|error| Problem::unprocessable(error.to_string()))?;
    // Otherwise the run would wait forever for a host that can load it.
    if let (Some(needed), Some(limit)) = (app.about.memory_bytes, spec.limits.memory_bytes_max)
        && needed > limit
    {
        let (needed, limit) = sizes(needed, limit);
        return Err(Problem::unprocessable(format!(
            "each instance of the app {} begins with {needed} of memory, and the run's limit is {limit}; raise it with \
             --memory",
            app.name
        )));
    }
    Ok(spec)
}

async fn inputs(api: &Api, submission: &Submission) -> Result<Vec<(String, BlobHash)>, Problem> {
    if submission.inputs.len() > INPUTS_MAX {
        return Err(Problem::unprocessable(format!(
            "{} inputs are too many: {INPUTS_MAX} are allowed",
            submission.inputs.len()
        )));
    }
    let mut inputs = Vec::new();
    for (name, hash) in &submission.inputs {
        check_input_name(name).map_err(Problem::unprocessable)?;
        let parsed = BlobHash::parse(hash);
        let known = match parsed {
            Some(hash) => api.store.blob_length_bytes(hash).await.is_some(),
            None => false,
        };
        match parsed {
            Some(hash) if known => inputs.push((name.clone(), hash)),
            _ => {
                return Err(Problem::unprocessable(format!(
                    "the input {} is the blob {}, which is not here; upload it with PUT /api/v1/blobs/HASH first",
                    quoted(name),
                    quoted(hash)
                )));
            }
        }
    }
    Ok(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_not_a_submission_is_refused_in_a_sentence() {
        for (body, parser) in [
            (&b""[..], "EOF while parsing"),
            (b"x", "expected value at line 1 column 1"),
            (b"{}", "missing field `app`"),
            (b"{\"app\": \"fib\", \"\xe2\x80\xae\": 1}", "unknown field `\\u{202e}`"),
            (b"\xff", "expected value"),
        ] {
            let problem = read(body).expect_err("it is not a submission").json();
            let detail = problem["detail"].as_str().expect("a sentence");
            assert!(
                detail.starts_with("invalid submission: the request's body must be JSON like {"),
                "{detail}"
            );
            let (_, of_parser) = detail.rsplit_once(" (").expect("the parser's words");
            assert!(of_parser.starts_with(parser), "{detail}");
        }
    }

    #[test]
    fn a_field_of_another_type_is_named_with_its_value_and_its_type() {
        for (body, why) in [
            (r#"{"app": 7}"#, "`app` is `7`, but must be a text, like \"12\""),
            (
                r#"{"app": "fib", "arguments": "12"}"#,
                "`arguments` is `12`, but must be a list of texts, like [\"12\"]",
            ),
            (r#"{"app": "fib", "arguments": ["12", [8]]}"#, "`arguments[1]` is a list, but must be a text"),
            (r#"{"app": "fib", "inputs": ["ab"]}"#, "`inputs` is a list, but must be an object"),
            (
                r#"{"app": "fib", "limits": {"memory_bytes": "1G"}}"#,
                "`limits.memory_bytes` is `1G`, but must be a whole number that is not negative",
            ),
            (r#"{"app": "fib", "strict_nan": null}"#, "`strict_nan` is null, but must be true or false"),
            (r#""fib""#, "it is `fib`, but must be an object"),
        ] {
            let problem = read(body.as_bytes()).expect_err("it is not a submission").json();
            let detail = problem["detail"].as_str().expect("a sentence");
            assert!(detail.starts_with(&format!("invalid submission: {why}")), "{detail}");
        }
    }
}
