//! About the service itself.

use axum::extract::State;
use axum::{Extension, Json};
use sateen_api::{Grid, Status};

use super::Api;
use super::grid_status::status_of;
use super::problem::Problem;
use crate::access::Access;
use crate::api::feed::{Moments, alerts};
use crate::limits::HOSTS_LISTED_MAX;

pub async fn status(State(api): State<Api>) -> Result<Json<Status>, Problem> {
    Ok(Json(status_of(&api).await?))
}

/// Everything on the first page.
pub async fn overview(
    State(api): State<Api>,
    Extension(access): Extension<Access>,
) -> Result<Json<Grid>, Problem> {
    let status = status_of(&api).await?;
    let (runs, mut hosts) = (super::runs(&api, access.only_runs_of()).await?, super::hosts(&api).await?);
    let alerts = alerts(&status, &runs, &hosts, &Moments::of(&api));
    hosts.truncate(HOSTS_LISTED_MAX);
    let (runs_kept, runs_kept_s) = api.store.results.retention.shown();
    Ok(Json(Grid { status, runs, hosts, hosts_gone: None, runs_gone: None, alerts, runs_kept, runs_kept_s }))
}
