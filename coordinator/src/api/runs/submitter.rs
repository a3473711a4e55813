//! Who submitted a run, for hosts whose owners allow or refuse submitters.

use axum::Json;
use axum::extract::State;
use sateen_api::RunSubmitter;
use sateen_api::names::quoted;
use sateen_protocol::RunId;

use super::super::Api;
use super::super::extract::Path;
use super::super::problem::Problem;
use crate::driver::Request;
use crate::store::sql;

/// The name of the token that submitted a run. A host that checks results asks by the id under which it was given the check.
pub async fn show(State(api): State<Api>, Path(run): Path<String>) -> Result<Json<RunSubmitter>, Problem> {
    let run = run
        .parse()
        .map(RunId)
        .map_err(|_| Problem::bad_request(format!("{} is not a run's number", quoted(&run))))?;
    let run = api.driver.ask(|reply| Request::Checked(run, reply)).await?;
    let owner = api.store.read(move |connection| sql::run_owner(connection, run)).await?;
    Ok(Json(RunSubmitter { name: owner.and_then(|owner| api.guard.tokens.name_of(owner)) }))
}
