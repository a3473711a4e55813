//! Looking a job up by its key, so that it can be run again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use sateen_api::limits::KEY_DIGITS;
use sateen_api::names::quoted;
use sateen_api::{AppOfRun, Job};
use sateen_protocol::{JobTag, ROOT_KIND, RunId};
use serde::Deserialize;

use super::extract::{Path, Query};
use super::problem::Problem;
use super::shown::hex;
use super::{Api, ranges, runs};
use crate::chronicle::FoundJob;
use crate::driver::Gone;
use crate::store::sql;

/// Digits of a tag, which is what the coordinator knows of a key.
const TAG_DIGITS: usize = 16;
/// Maximum runs in which equal jobs are looked at.
const FOUND_MAX: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Of {
    run: Option<String>,
}

pub async fn show(
    State(api): State<Api>,
    Path(key): Path<String>,
    Query(of): Query<Of>,
) -> Result<Json<Job>, Problem> {
    let (from, to) = tags(&key)?;
    let run = ranges::RUN.whole(of.run.as_deref())?.map(RunId);
    if let Some(run) = run {
        runs::chronicle(&api, run).await?;
    }
    let chronicles = api.driver.chronicles.clone();
    let find = move || chronicles.find(run, from, to, FOUND_MAX);
    let found = tokio::task::spawn_blocking(find).await.map_err(|_| Gone)?;
    let (run, job) = choose(&key, run, found)?;
    describe(&api, run, job).await
}

/// The range of tags of the keys with this prefix.
pub fn tags(key: &str) -> Result<(JobTag, JobTag), Problem> {
    let is_key = KEY_DIGITS.contains(&key.len()) && key.bytes().all(|digit| digit.is_ascii_hexdigit());
    let digits = &key[..if is_key { key.len().min(TAG_DIGITS) } else { 0 }];
    let Ok(number) = u64::from_str_radix(digits, 16) else {
        return Err(Problem::bad_request(format!(
            "{} is not a job's key, which has {} to {} hexadecimal digits; `sateen tree` shows keys",
            quoted(key),
            KEY_DIGITS.start(),
            KEY_DIGITS.end()
        )));
    };
    let unknown_bits = 4 * (TAG_DIGITS - digits.len()) as u32;
    let from = number << unknown_bits;
    Ok((JobTag(from), JobTag(from | ((1_u64 << unknown_bits) - 1))))
}

/// The job with this prefix, in the newest run in which it can be run again.
fn choose(
    key: &str,
    run: Option<RunId>,
    found: Vec<(RunId, FoundJob)>,
) -> Result<(RunId, FoundJob), Problem> {
    if let Some((_, first)) = found.first()
        && let Some((_, other)) = found.iter().find(|(_, job)| job.job != first.job)
    {
        return Err(Problem::conflict(format!(
            "several jobs' keys begin with `{key}`, {} and {} among them; give more digits",
            first.job, other.job
        )));
    }
    let place = found.iter().position(|(_, job)| job.can_run_alone()).unwrap_or(0);
    found.into_iter().nth(place).ok_or_else(|| {
        let of = run.map_or("that is still known".to_owned(), |run| format!("{run}"));
        Problem::not_found(format!(
            "no job of {}{of} has a key that begins with `{key}`; `sateen tree RUN` shows a run's jobs",
            if run.is_some() { "run " } else { "a run " },
        ))
    })
}

async fn describe(api: &Api, run: RunId, job: FoundJob) -> Result<Json<Job>, Problem> {
    let row = runs::row(api, run).await?;
    let app = row.spec.app;
    let about = api.store.read(move |connection| sql::about(connection, app)).await?;
    let function = about.map(|about| about.job(job.kind, &row.spec.function).to_owned());
    let is_root = job.kind == ROOT_KIND;
    if job.shares && !is_root {
        let why = format!(
            "job {} reads shared objects of run {run}, which only the hosts of that run had, so it cannot be run \
             again alone; choose a job above it that makes them itself, as the root job does",
            job.job
        );
        return Err(Problem::new(StatusCode::GONE, why));
    }
    let gone = |why: String| {
        Err(Problem::new(StatusCode::GONE, format!("the parameters of job {} are not known: {why}", job.job)))
    };
    let parameters = match &job.parameters {
        _ if is_root => None,
        Ok(bytes) => Some(hex(bytes)),
        Err(missing) => return gone(missing.to_string()),
    };
    let spec = row.spec;
    Ok(Json(Job {
        job: job.job.to_string(),
        function: function.unwrap_or_default(),
        is_root,
        depth: job.depth,
        parameters,
        run: run.0,
        app: AppOfRun { hash: spec.app.to_string(), name: row.app_name },
        entry_point: spec.function,
        arguments: spec.arguments,
        inputs: spec.inputs.into_iter().map(|(name, hash)| (name, hash.to_string())).collect(),
        limits: spec.limits.into(),
        strict_nan: spec.strict_nan,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_of_a_key_is_a_range_of_tags() {
        let range = |key: &str| tags(key).map(|(from, to)| (from.0, to.0)).ok();
        assert_eq!(range("0123456789abcdef"), Some((0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef)));
        assert_eq!(range("01234567"), Some((0x0123_4567_0000_0000, 0x0123_4567_ffff_ffff)));
        assert_eq!(range(&"F".repeat(64)), Some((u64::MAX, u64::MAX)));
        for wrong in ["", "0123456", "+1234567", "0123456x", "héééééé", &"0".repeat(65)] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}
