//! Runs: specification, progress, result.

pub mod export;
pub mod job;
mod known;
mod lanes;
mod list;
pub mod result;
pub mod submit;
pub mod submitter;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use sateen_api::names::quoted;
use sateen_api::{Log, Run, RunDetails, Timeline, Tree};
use sateen_protocol::RunId;
use serde::Deserialize;
use tokio::time::timeout;

use super::Api;
use super::extract::{Path, Query};
use super::gate::turn;
use super::problem::Problem;
use super::{ranges, shown};
use crate::chronicle::{Chronicle, Findings, Names, findings};
use crate::clock::unix_ms;
use crate::driver::{ChangeError, Gone, Request, RunAction};
use crate::figures::end::predicate;
use crate::limits::{TIMELINE_BUCKETS_MAX, WAIT_MAX};
use crate::locked;
use crate::retention::{NotDeleted, delete_run};
use crate::server::{Connection, Kind};
use crate::shutdown::stopped;
use crate::store::sql::{self, RunRow};

use known::Known;

/// Why the time left of a run is not known if it does not trust its hosts.
const CHECKED: &str = "not known: its result will be checked, and nobody can tell how long that takes";

pub use list::{list, newest};

const WAIT_S: f64 = 30.0;

pub async fn show(State(api): State<Api>, Path(run): Path<String>) -> Result<Json<Run>, Problem> {
    Ok(Json(find(&api, parse(&run)?).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    timeout_s: Option<String>,
    /// Also waits for the figures.
    #[serde(default)]
    figures: bool,
}

/// Answers when the run has ended (and its figures are saved, if the request waits for them), after the given time, or
/// when too many requests wait.
pub async fn wait(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(run): Path<String>,
    Query(patience): Query<Patience>,
) -> Result<Json<Run>, Problem> {
    let run = parse(&run)?;
    let Patience { timeout_s, figures } = patience;
    let timeout_s = ranges::TIMEOUT_S.number(timeout_s.as_deref())?.unwrap_or(WAIT_S);
    // No other values have a range.
    let patience = Duration::try_from_secs_f64(timeout_s).unwrap_or(WAIT_MAX);
    let turn = turn(&api, &connection, Kind::Wait).await?;
    let mut ends = api.driver.ends.clone();
    let mut shutdown = api.shutdown.clone();
    let over = async {
        loop {
            ends.borrow_and_update();
            let row = row(&api, run).await?;
            if row.state.is_over() && (row.figures.is_some() || !figures) {
                return Ok::<_, Problem>(());
            }
            tokio::select! {
                changed = ends.changed() => changed.map_err(|_| Gone)?,
                () = stopped(&mut shutdown) => return Err(Gone.into()),
            }
        }
    };
    // The service does no work for it meanwhile, so others may take its place.
    connection.is_answered(false);
    let waited = tokio::select! {
        waited = timeout(patience, over) => waited,
        () = turn.until_lost() => Ok(Ok(())),
    };
    connection.is_answered(true);
    if let Ok(result) = waited {
        result?;
    }
    Ok(Json(find(&api, run).await?))
}

pub async fn cancel(api: State<Api>, run: Path<String>) -> Result<(StatusCode, Json<Run>), Problem> {
    change(api, run, RunAction::Cancel, "cancelled").await
}

pub async fn suspend(api: State<Api>, run: Path<String>) -> Result<(StatusCode, Json<Run>), Problem> {
    change(api, run, RunAction::Suspend, "suspended").await
}

pub async fn resume(api: State<Api>, run: Path<String>) -> Result<(StatusCode, Json<Run>), Problem> {
    change(api, run, RunAction::Resume, "resumed").await
}

async fn change(
    State(api): State<Api>,
    Path(run): Path<String>,
    action: RunAction,
    past: &str,
) -> Result<(StatusCode, Json<Run>), Problem> {
    let run = parse(&run)?;
    let row = row(&api, run).await?;
    if row.state.is_over() {
        return Err(Problem::conflict(format!("run {run} cannot be {past}: it {}", predicate(row.state))));
    }
    match api.driver.ask(|reply| Request::Change { run, action, reply }).await? {
        Ok(()) => Ok((StatusCode::ACCEPTED, Json(find(&api, run).await?))),
        Err(ChangeError::Refused(error)) => Err(Problem::conflict(error.to_string())),
        Err(error @ ChangeError::Over { .. }) => Err(Problem::conflict(error.to_string())),
        Err(error @ ChangeError::Unsaved) => {
            Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, error.to_string()))
        }
    }
}

/// The names of a run's jobs.
pub async fn names(api: &Api, run: RunId) -> Result<Names, Problem> {
    let row = row(api, run).await?;
    names_of(api, &row).await
}

async fn names_of(api: &Api, row: &RunRow) -> Result<Names, Problem> {
    let app = row.spec.app;
    let about = api.store.read(move |connection| sql::about(connection, app)).await?;
    let (kinds, shapes) = about.map(|about| (about.jobs.clone(), about.shapes_by_kind())).unwrap_or_default();
    Ok(Names { kinds, shapes, entry_point: row.spec.function.clone() })
}

/// The chronicle of an existing run.
pub async fn chronicle(api: &Api, run: RunId) -> Result<Arc<Mutex<Chronicle>>, Problem> {
    kept(api, &row(api, run).await?)
}

/// The chronicle of a run; an empty one if the run is not over and nothing is known of it yet.
fn kept(api: &Api, row: &RunRow) -> Result<Arc<Mutex<Chronicle>>, Problem> {
    match api.driver.chronicles.get(row.run) {
        Some(chronicle) => Ok(chronicle),
        None if row.state.is_over() => Err(Problem::gone_run(row.run)),
        None => Ok(Arc::new(Mutex::new(Chronicle::new(unix_ms())))),
    }
}

/// Does long work with a run's chronicle, away from the threads that relay steals.
pub async fn with_chronicle<T: Send + 'static>(
    api: &Api,
    run: RunId,
    work: impl FnOnce(&Chronicle, &RunRow, &Names) -> T + Send + 'static,
) -> Result<T, Problem> {
    let row = row(api, run).await?;
    let names = names_of(api, &row).await?;
    let chronicle = kept(api, &row)?;
    let work = move || {
        let chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
        work(&chronicle, &row, &names)
    };
    Ok(tokio::task::spawn_blocking(work).await.map_err(|_| Gone)?)
}

/// The first jobs of a run.
pub async fn tree(State(api): State<Api>, Path(run): Path<String>) -> Result<Json<Tree>, Problem> {
    Ok(Json(with_chronicle(&api, parse(&run)?, |chronicle, _, names| shown::tree(chronicle, names)).await?))
}

/// Figures, depths, critical path, series, events.
pub async fn details(State(api): State<Api>, Path(run): Path<String>) -> Result<Json<RunDetails>, Problem> {
    Ok(Json(details_of(&api, parse(&run)?).await?))
}

/// Everything that a page shows of one run.
pub async fn details_of(api: &Api, run: RunId) -> Result<RunDetails, Problem> {
    let mut known = Known::find(api, run).await?;
    let names = names_of(api, known.row()).await?;
    let is_checked = known.row().spec.trust.quorum().is_some();
    let chronicle = api.driver.chronicles.get(run);
    let is_over = known.is_over();
    let is_kept = chronicle.is_some() || !is_over;
    if let Some(chronicle) = &chronicle {
        locked(chronicle).complete(&mut known.figures);
    }
    let chronicle = chronicle.unwrap_or_else(|| Arc::new(Mutex::new(Chronicle::new(unix_ms()))));
    let Findings { hold_up, mean_busy, worked } = findings(&chronicle, known.course(), &names);
    let run =
        Run { held_up_by: hold_up.map(Into::into), ..known.shown(|token| api.guard.tokens.name_of(token)) };
    let chronicle = locked(&chronicle);
    let reported = run.figures.progress.map(|progress| (progress.done, progress.total));
    let (remaining, remaining_why) = match chronicle.remaining(reported) {
        _ if is_over => (None, Some("the run is over".to_owned())),
        _ if is_checked => (None, Some(CHECKED.to_owned())),
        Ok(remaining) => (Some(remaining.into()), None),
        Err(why) => (None, Some(why)),
    };
    Ok(RunDetails {
        depths: shown::depths(&chronicle),
        remaining,
        remaining_why,
        mean_busy: mean_busy.filter(|_| is_kept),
        critical_path: shown::critical_path(&chronicle, &names),
        series: shown::series(&chronicle.points_with(&worked)),
        events: shown::events(&chronicle),
        kinds: names.kinds,
        is_kept,
        run,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    from_ms: Option<String>,
    to_ms: Option<String>,
    buckets: Option<String>,
}

/// What workers did over time.
pub async fn timeline(
    State(api): State<Api>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
) -> Result<Json<Timeline>, Problem> {
    let run = parse(&run)?;
    let from_ms = ranges::FROM_MS.whole(part.from_ms.as_deref())?.unwrap_or(0) as u32;
    let to_ms = ranges::TO_MS.whole(part.to_ms.as_deref())?.map_or(u32::MAX, |to_ms| to_ms as u32);
    let buckets = ranges::BUCKETS.whole(part.buckets.as_deref())?;
    let buckets = buckets.map_or(TIMELINE_BUCKETS_MAX, |buckets| buckets as usize);
    if from_ms > to_ms {
        return Err(Problem::bad_request(format!("from_ms, {from_ms}, is after to_ms, {to_ms}")));
    }
    let work = move |chronicle: &Chronicle, _: &RunRow, _: &Names| {
        shown::timeline(chronicle, from_ms, to_ms, buckets)
    };
    Ok(Json(with_chronicle(&api, run, work).await?))
}

/// Deletes a run that is over, or whose row cannot be decoded, with everything known of it.
pub async fn delete(State(api): State<Api>, Path(run): Path<String>) -> Result<StatusCode, Problem> {
    let run = parse(&run)?;
    let state = match api.store.read(move |connection| sql::run(connection, run)).await {
        Err(error) if error.is_of_row() => {
            api.driver.ask(|reply| Request::Run(run, reply)).await?.map(|live| live.state)
        }
        found => Some(found?.ok_or_else(|| unknown(run))?.state),
    };
    if let Some(state) = state.filter(|state| !state.is_over()) {
        return Err(Problem::conflict(format!(
            "run {run} cannot be deleted: it {}; `sateen cancel {run}` ends it",
            predicate(state)
        )));
    }
    forget(&api, run).await?;
    tracing::info!(run = run.0, "run deleted");
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes a run that is over.
async fn forget(api: &Api, run: RunId) -> Result<(), Problem> {
    delete_run(&api.driver, &api.store, run).await.map_err(|error| match error {
        NotDeleted::Gone => Gone.into(),
        NotDeleted::Store(error) => Problem::unsaved(&error),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    after: Option<String>,
}

pub async fn log(
    State(api): State<Api>,
    Path(run): Path<String>,
    Query(After { after }): Query<After>,
) -> Result<Json<Log>, Problem> {
    let run = parse(&run)?;
    let after = ranges::AFTER.whole(after.as_deref())?.unwrap_or(0);
    let chronicle = chronicle(&api, run).await?;
    let log = shown::log(&locked(&chronicle), after);
    Ok(Json(log))
}

pub fn parse(run: &str) -> Result<RunId, Problem> {
    let number = run.parse::<u32>().ok().filter(|number| *number > 0);
    number.map(|number| RunId(u64::from(number))).ok_or_else(|| {
        Problem::bad_request(format!(
            "{} is not a run's number; `sateen ps --all` lists the runs",
            quoted(run)
        ))
    })
}

pub async fn row(api: &Api, run: RunId) -> Result<RunRow, Problem> {
    let row = api.store.read(move |connection| sql::run(connection, run)).await?;
    row.ok_or_else(|| unknown(run))
}

fn unknown(run: RunId) -> Problem {
    Problem::not_found(format!("there is no run {run}; `sateen ps --all` lists them"))
}

async fn find(api: &Api, run: RunId) -> Result<Run, Problem> {
    let mut known = Known::find(api, run).await?;
    let name_of = |token| api.guard.tokens.name_of(token);
    let Some(chronicle) = api.driver.chronicles.get(run) else { return Ok(known.shown(name_of)) };
    let names = names_of(api, known.row()).await?;
    locked(&chronicle).complete(&mut known.figures);
    let held_up_by = findings(&chronicle, known.course(), &names).hold_up.map(Into::into);
    Ok(Run { held_up_by, ..known.shown(name_of) })
}
