//! The catalogue of apps.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use sateen_api::limits::PUBLISHER_BYTES_MAX;
use sateen_api::names::{HASH_DIGITS, check_app_name, looks_like_hash, quoted};
use sateen_api::{App, is_publisher};
use sateen_module::size;
use serde::Deserialize;

use super::extract::{Path, Query};
use super::gate::turn;
use super::problem::Problem;
use super::{Api, body};
use crate::access::Access;
use crate::clock::{unix_ms, written};
use crate::limits::{APPS_LISTED_BYTES_MAX, PUBLISHED_MAX, PUBLISHED_PER_PEER_MAX};
use crate::module::{About, inspect};
use crate::server::{Connection, Kind};
use crate::store::StoreError;
use crate::store::sql::{self, AppRow, Owner, Published, Publisher, Unpublished};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    name: Option<String>,
    by: Option<String>,
}

pub async fn publish(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Extension(access): Extension<Access>,
    Query(Publication { name, by }): Query<Publication>,
    content: Body,
) -> Result<(StatusCode, Json<App>), Problem> {
    let name = name.ok_or_else(|| Problem::bad_request("the app has no name; add ?name=NAME"))?;
    check_app_name(&name).map_err(Problem::bad_request)?;
    if let Some(by) = &by {
        check_publisher(by)?;
    }
    let publisher = publisher(&connection, &access, by);
    let _turn = turn(&api, &connection, Kind::Transfer).await?;
    let incoming = body::in_file(&api, &connection, content).await?;
    let (hash, length_bytes) = (incoming.hash(), incoming.length_bytes());
    let _inspection = api.inspections.acquire().await;
    let judge = move || {
        let bytes = incoming.read()?;
        Ok::<_, StoreError>((inspect(&bytes), incoming))
    };
    let judged = tokio::task::spawn_blocking(judge).await.map_err(|_| crate::driver::Gone)?;
    let (judged, incoming) = judged?;
    let about =
        judged.map_err(|refusal| Problem::unprocessable(format!("the module is refused: {refusal}")))?;
    let row = AppRow { hash, name, bytes: length_bytes, published_at_ms: unix_ms(), publisher, about };
    let wanted = row.name.clone();
    let owner = api.store.read(move |connection| sql::owner(connection, &wanted)).await?;
    if let Some(owner) = owner.filter(|owner| !owner.is(&row.publisher)) {
        return Err(taken(&row.name, &owner));
    }
    api.store.keep_blob(incoming).await.map_err(|error| Problem::unsaved(&error))?;
    let to_save = row.clone();
    let published = api.store.write(move |connection| sql::publish(connection, &to_save)).await;
    let is_new = match published.map_err(|error| Problem::unsaved(&error))? {
        Published::New => true,
        Published::Known => false,
        // A concurrent request was faster.
        Published::NameTaken(owner) => return Err(taken(&row.name, &owner)),
        Published::Lookalike(other) => {
            return Err(Problem::conflict(format!(
                "the name `{}` differs from `{other}` in case only, and one could be taken for the other; publish \
                 under `{other}` if that is meant, or choose another name with --name",
                row.name
            )));
        }
        Published::Full { of_peer } => return Err(full(of_peer)),
    };
    let Publisher { name: by, address, .. } = &row.publisher;
    tracing::info!(app = %row.hash, name = row.name, bytes = row.bytes, is_new, by, address, "app published");
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(row.into())))
}

/// Releases a name; only its owner may.
pub async fn unpublish(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Extension(access): Extension<Access>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let publisher = publisher(&connection, &access, None);
    let wanted = name.clone();
    let done = api.store.write(move |connection| sql::unpublish(connection, &wanted, &publisher)).await;
    match done.map_err(|error| Problem::unsaved(&error))? {
        Unpublished::Done => {
            tracing::info!(name, address = %connection.peer, "app unpublished");
            Ok(StatusCode::NO_CONTENT)
        }
        Unpublished::Unknown => Err(Problem::not_found(format!(
            "no app is published under the name {}; `sateen apps` lists those that are",
            quoted(&name)
        ))),
        Unpublished::OfAnother(owner) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            format!(
                "the name {} belongs to its first publisher and can be given up only from {}",
                quoted(&name),
                address(&owner)
            ),
        )),
    }
}

pub async fn list(State(api): State<Api>) -> Result<Json<Vec<App>>, Problem> {
    let rows = api.store.read(|connection| sql::apps(connection, APPS_LISTED_BYTES_MAX)).await?;
    Ok(Json(rows.into_iter().map(App::from).collect()))
}

pub async fn show(State(api): State<Api>, Path(app): Path<String>) -> Result<Json<App>, Problem> {
    Ok(Json(find(&api, &app).await?.into()))
}

/// Looks an app up by hash, prefix of a hash, or name, in this order: no name can stand for another
/// app's hash.
pub async fn find(api: &Api, app: &str) -> Result<AppRow, Problem> {
    let named = app.to_owned();
    let mut found = (api.store)
        .read(move |connection| {
            let mut found = Vec::new();
            if looks_like_hash(&named) {
                found = sql::apps_beginning(connection, &named.to_ascii_lowercase())?;
            }
            // A whole hash can mean nothing else. Older versions accepted names that look like a prefix of one.
            if found.is_empty() && named.len() != HASH_DIGITS {
                found.extend(sql::app_named(connection, &named)?);
            }
            Ok(found)
        })
        .await?;
    if found.len() > 1 {
        return Err(Problem::conflict(format!(
            "several apps' hashes begin with {}; give more digits",
            quoted(app)
        )));
    }
    found.pop().ok_or_else(|| {
        let what = if looks_like_hash(app) { "with the name or hash" } else { "under the name" };
        Problem::not_found(format!(
            "no app is published {what} {}; `sateen apps` lists those that are, and `sateen publish` publishes one",
            quoted(app)
        ))
    })
}

impl From<AppRow> for App {
    fn from(row: AppRow) -> Self {
        let limits = limits(&row.about);
        Self {
            arguments: row.about.arguments(),
            hash: row.hash.to_string(),
            name: row.name,
            bytes: row.bytes,
            published_at: written(row.published_at_ms),
            published_by: row.publisher.name,
            published_from: row.publisher.address,
            determinism: row.about.determinism,
            entry_points: row.about.entry_points,
            jobs: row.about.jobs,
            abi: sateen_abi::VERSION,
            limits,
        }
    }
}

fn limits(about: &About) -> Vec<String> {
    let begins = about.memory_bytes.map(|bytes| format!("memory begins with {}", size(bytes)));
    let ends = about.memory_bytes_max.map(|bytes| format!("memory grows up to {}", size(bytes)));
    begins.into_iter().chain(ends).collect()
}

/// Names belong to the tokens of those who published them first, and to addresses where nobody has a token.
fn publisher(connection: &Connection, access: &Access, name: Option<String>) -> Publisher {
    let address = match access.token() {
        Some(token) => format!("token {token}"),
        None => connection.address.ip().to_canonical().to_string(),
    };
    Publisher { name, address: Some(address), is_admin: access.is_admin() }
}

fn full(of_peer: bool) -> Problem {
    let detail = if of_peer {
        format!(
            "this address has published {PUBLISHED_PER_PEER_MAX} modules, the most that are allowed; give some names \
             up with `sateen unpublish NAME`"
        )
    } else {
        format!(
            "{PUBLISHED_MAX} modules are published, the most that are allowed; their owners can give names up"
        )
    };
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, detail)
}

/// The address from which a name can be used.
fn address(owner: &Owner) -> &str {
    let unknown = "the coordinator's own machine, because its publisher is unknown";
    owner.address.as_deref().unwrap_or(unknown)
}

fn taken(name: &str, owner: &Owner) -> Problem {
    let from = address(owner);
    Problem::conflict(format!(
        "the name {} belongs to its first publisher, and only from {from} can more be published under it; choose \
         another name with --name",
        quoted(name)
    ))
}

fn check_publisher(by: &str) -> Result<(), Problem> {
    if is_publisher(by) {
        return Ok(());
    }
    Err(Problem::bad_request(format!(
        "the publisher's name must have 1 to {PUBLISHER_BYTES_MAX} bytes on one line, and {} is not such a name",
        quoted(by)
    )))
}
