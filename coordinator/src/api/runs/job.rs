//! One job of a run, for people.

use axum::Json;
use axum::extract::State;
use sateen_api::JobDetails;

use super::super::extract::Path;
use super::super::problem::Problem;
use super::super::{Api, jobs, shown};
use super::{parse, with_chronicle};

/// One job of a run.
pub async fn show(
    State(api): State<Api>,
    Path((run, job)): Path<(String, String)>,
) -> Result<Json<JobDetails>, Problem> {
    let run = parse(&run)?;
    let (from, to) = jobs::tags(&job)?;
    let found = with_chronicle(&api, run, move |chronicle, row, names| {
        let found = chronicle.find(from, to, 2);
        let [found] = found.as_slice() else { return Err(found.len()) };
        let details = shown::job(chronicle, found.job, names, &row.spec.arguments).ok_or(0_usize)?;
        Ok((details, found.can_run_alone()))
    });
    let (mut details, can_run_alone) = match found.await? {
        Ok(found) => found,
        Err(0) => {
            return Err(Problem::not_found(format!(
                "run {run} has no job whose key begins with `{job}`, or its tree has no room for it"
            )));
        }
        Err(_) => {
            return Err(Problem::conflict(format!(
                "several jobs' keys in run {run} begin with `{job}`; give more digits"
            )));
        }
    };
    if can_run_alone {
        details.replay = Some(format!("sateen replay {} --run {run}", details.job));
    }
    Ok(Json(details))
}
