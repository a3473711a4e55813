//! The keys of hosts: which may take part.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use sateen_api::HostKey;
use sateen_api::names::quoted;
use sateen_protocol::PublicKey;
use sateen_protocol::message::ToHost;

use super::Api;
use super::entry::Noted;
use super::extract::{Path, Query};
use super::paging::{Page, next_page};
use super::problem::Problem;
use crate::clock::{unix_ms, written};
use crate::enrolment::{Listed, NoSuchKey, Refusal};
use crate::server::Connection;
use crate::store::sql;

/// Keys in their order. If there are more, the header `Link` has the next page.
pub async fn list(State(api): State<Api>, Query(page): Query<Page>) -> Result<Response, Problem> {
    let not_a_key = |text: &str| Problem::bad_request(format!("{} is not the key of a host", quoted(text)));
    let after = page.after().map(|text| PublicKey::parse(text).ok_or_else(|| not_a_key(text)));
    let limit = page.limit()?;
    let (keys, has_more) = api.links.enrolment.list(after.transpose()?, limit);
    let last = keys.last().map(|listed| listed.key).filter(|_| has_more);
    let link = next_page("/api/v1/keys", last, limit);
    let keys: Vec<HostKey> = keys.into_iter().map(shown).collect();
    Ok((link, Json(keys)).into_response())
}

/// Lets a host take part.
pub async fn approve(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(key): Path<String>,
) -> Result<(Extension<Noted>, Json<HostKey>), Problem> {
    let enrolment = &api.links.enrolment;
    let listed = enrolment.approve(enrolment.find(&key)?, unix_ms())?;
    save(&api, &listed).await?;
    tracing::info!(key = %listed.key, name = listed.record.name, address = %connection.peer, "host approved");
    Ok((Extension(noted(&listed)), Json(shown(listed))))
}

/// Cuts a host off, and refuses it from now on.
pub async fn revoke(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(key): Path<String>,
) -> Result<(Extension<Noted>, Json<HostKey>), Problem> {
    let enrolment = &api.links.enrolment;
    let key = enrolment.find(&key)?;
    let (listed, link) = enrolment.revoke(key, unix_ms());
    if let Some(link) = link.and_then(|link| api.links.get(link)) {
        let reason = Refusal::Revoked(key).to_string();
        let _ = link.send(None, ToHost::Refused { reason: reason.clone() });
        link.close(&reason);
    }
    save(&api, &listed).await?;
    tracing::info!(key = %listed.key, name = listed.record.name, address = %connection.peer, "host revoked");
    Ok((Extension(noted(&listed)), Json(shown(listed))))
}

/// Whose key it was, for the audit log. A key may be approved before its host has come.
fn noted(Listed { key, record, .. }: &Listed) -> Noted {
    Noted(if record.name.is_empty() {
        format!("key {key}")
    } else {
        format!("host `{}`, key {key}", record.name)
    })
}

/// A decision is on the disk before it is acknowledged.
async fn save(api: &Api, listed: &Listed) -> Result<(), Problem> {
    let changes = [(listed.key, Some(listed.record.clone()))];
    let saved = api.store.write(move |connection| sql::save_host_keys(connection, &changes, false)).await;
    saved.map_err(|error| Problem::unsaved(&error))
}

fn shown(listed: Listed) -> HostKey {
    let Listed { key, record, is_live, copied_to } = listed;
    HostKey {
        key: key.to_string(),
        state: record.standing.word().to_owned(),
        approved: record.approved,
        replaced_by: record.standing.replaced_by().map(|by| by.to_string()),
        name: record.name,
        address: record.address,
        connected: is_live,
        since: written(record.since_ms),
        seen: record.seen_ms.map(written),
        copied_to: copied_to.map(|address| address.to_canonical().to_string()),
    }
}

impl From<NoSuchKey> for Problem {
    fn from(error: NoSuchKey) -> Self {
        match error {
            NoSuchKey::NotAKey(_) => Self::bad_request(error.to_string()),
            NoSuchKey::Unknown(_) => Self::not_found(error.to_string()),
            NoSuchKey::Several(_) => Self::conflict(error.to_string()),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::conflict(refusal.to_string())
    }
}
