//! The catalogue of apps.

use std::net::SocketAddr;

use axum::Json;
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use sateen_protocol::BlobHash;
use serde::Deserialize;

use super::extract::{Path, Query};
use super::problem::Problem;
use super::types::App;
use super::{Api, blob_body};
use crate::clock::unix_ms;
use crate::limits::{APP_NAME_BYTES_MAX, PUBLISHER_BYTES_MAX};
use crate::module::inspect;
use crate::store::sql::{self, AppRow, Publisher};

/// Fewer digits of a hash are too easily another's.
const PREFIX_DIGITS_MIN: usize = 6;

#[derive(Deserialize)]
pub struct Publication {
    name: Option<String>,
    by: Option<String>,
}

pub async fn publish(
    State(api): State<Api>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    Query(Publication { name, by }): Query<Publication>,
    body: Body,
) -> Result<(StatusCode, Json<App>), Problem> {
    let name = name.ok_or_else(|| Problem::bad_request("the app has no name; add ?name=NAME"))?;
    check_name(&name)?;
    if let Some(by) = &by {
        check_publisher(by)?;
    }
    let publisher = Publisher { name: by, address: Some(address.ip().to_canonical().to_string()) };
    let _permit = api.blobs_in_memory.acquire().await;
    let bytes = blob_body(body).await?;
    let judge = move || {
        let judged = inspect(&bytes).map(|about| (BlobHash::of(&bytes), about));
        (judged, bytes)
    };
    let (judged, bytes) = tokio::task::spawn_blocking(judge).await.map_err(|_| crate::driver::Gone)?;
    let (hash, about) =
        judged.map_err(|refusal| Problem::unprocessable(format!("the module is refused: {refusal}")))?;
    let row = AppRow { hash, name, bytes: bytes.len() as u64, published_at_ms: unix_ms(), publisher, about };
    api.store.save_blob(hash, bytes.into()).await.map_err(|error| Problem::unsaved(&error))?;
    let to_save = row.clone();
    let is_new = api.store.write(move |connection| sql::publish(connection, &to_save)).await;
    let is_new = is_new.map_err(|error| Problem::unsaved(&error))?;
    let Publisher { name: by, address } = &row.publisher;
    tracing::info!(app = %row.hash, name = row.name, bytes = row.bytes, is_new, by, address, "app published");
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(row.into())))
}

pub async fn list(State(api): State<Api>) -> Result<Json<Vec<App>>, Problem> {
    let rows = api.store.read(|connection| sql::apps(connection)).await?;
    Ok(Json(rows.into_iter().map(App::from).collect()))
}

pub async fn show(State(api): State<Api>, Path(app): Path<String>) -> Result<Json<App>, Problem> {
    Ok(Json(find(&api, &app).await?.into()))
}

/// The app that people mean by a name, a hash, or the beginning of one.
pub async fn find(api: &Api, app: &str) -> Result<AppRow, Problem> {
    let (named, digits) = (app.to_owned(), app.to_ascii_lowercase());
    let is_prefix = (PREFIX_DIGITS_MIN..=64).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let mut found = (api.store)
        .read(move |connection| match sql::app_named(connection, &named)? {
            Some(row) => Ok(vec![row]),
            None if is_prefix => sql::apps_beginning(connection, &digits),
            None => Ok(Vec::new()),
        })
        .await?;
    if found.len() > 1 {
        return Err(Problem::conflict(format!("several apps' hashes begin with `{app}`; give more digits")));
    }
    found.pop().ok_or_else(|| {
        Problem::not_found(format!(
            "no app `{app}` is published; `sateen publish` does that, `sateen apps` lists them"
        ))
    })
}

fn check_name(name: &str) -> Result<(), Problem> {
    let is_fine = (1..=APP_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && name.bytes().any(|byte| byte.is_ascii_alphanumeric());
    if is_fine {
        return Ok(());
    }
    Err(Problem::bad_request(format!(
        "an app's name has 1 to {APP_NAME_BYTES_MAX} letters, digits, `-`, `_` and `.`, and `{}` has not",
        name.chars().take(APP_NAME_BYTES_MAX).collect::<String>().escape_debug()
    )))
}

fn check_publisher(by: &str) -> Result<(), Problem> {
    if (1..=PUBLISHER_BYTES_MAX).contains(&by.len()) && !by.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Problem::bad_request(format!(
        "who publishes is said in 1 to {PUBLISHER_BYTES_MAX} bytes on one line, and `{}` is not",
        by.chars().take(PUBLISHER_BYTES_MAX).collect::<String>().escape_debug()
    )))
}
