//! The hosts.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sateen_api::Host;
use sateen_api::names::quoted;
use sateen_protocol::HostId;
use serde::Deserialize;

use super::Api;
use super::extract::Query;
use super::problem::Problem;
use super::ranges;
use crate::clock::written;
use crate::driver::{HostSeen, Request};
use crate::limits::HOSTS_LISTED_MAX;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    after: Option<String>,
    limit: Option<String>,
}

/// Hosts ordered by id. If there are more, the header `Link` has the next page.
pub async fn list(State(api): State<Api>, Query(page): Query<Page>) -> Result<Response, Problem> {
    let after = match page.after.as_deref() {
        Some(text) => Some(HostId::parse(text).ok_or_else(|| not_a_host(text))?),
        None => None,
    };
    let limit =
        ranges::HOSTS_LIMIT.whole(page.limit.as_deref())?.map_or(HOSTS_LISTED_MAX, |limit| limit as usize);
    let mut hosts = api.driver.ask(Request::Hosts).await?;
    hosts.retain(|host| after.is_none_or(|after| host.view.id > after));
    hosts.sort_unstable_by_key(|host| host.view.id);
    let has_more = hosts.len() > limit;
    hosts.truncate(limit);
    let last = hosts.last().map(|host| host.view.id).filter(|_| has_more);
    let link = last.map(|last| {
        // As in RFC 8288.
        [(header::LINK, format!("</api/v1/hosts?after={last}&limit={limit}>; rel=\"next\""))]
    });
    let hosts: Vec<Host> = hosts.into_iter().map(|host| shown(&api, host)).collect();
    Ok((link, Json(hosts)).into_response())
}

fn not_a_host(text: &str) -> Problem {
    Problem::bad_request(format!("{} is not the id of a host", quoted(text)))
}

/// The connected hosts.
pub async fn all(api: &Api) -> Result<Vec<Host>, Problem> {
    let hosts = api.driver.ask(Request::Hosts).await?;
    Ok(hosts.into_iter().map(|host| shown(api, host)).collect())
}

fn shown(api: &Api, HostSeen { view, since_ms, service, rtt, speed }: HostSeen) -> Host {
    let (state, why_idle) = match &view.paused {
        _ if !view.connected => {
            ("away", Some("its link is broken; it is given up unless it reconnects soon".to_owned()))
        }
        Some(why) => ("paused", Some(why.clone())),
        None if view.counts.busy > 0 => ("working", None),
        None if view.ready.is_empty() => {
            ("idle", Some("no run is under way that it could work on".to_owned()))
        }
        None => ("idle", Some("it asks for jobs, but there are none".to_owned())),
    };
    Host {
        id: view.id.to_string(),
        name: view.report.name.clone(),
        site: view.report.site.clone(),
        threads: view.report.threads,
        version: view.report.version.clone(),
        connected: view.connected,
        paused: view.paused,
        since: written(since_ms.unwrap_or_else(|| api.clock.unix_ms(view.since))),
        runs: view.ready.iter().map(|run| run.0).collect(),
        jobs: service.jobs.into(),
        busy: view.counts.busy,
        state: state.to_owned(),
        why_idle,
        steals_in: service.jobs.of_hosts.stolen,
        steals_out: service.lent,
        rtt_ms: rtt.map(|rtt| (rtt.as_secs_f64() * 1e6).round() / 1e3),
        speed: speed.map(|speed| (speed * 100.0).round() / 100.0),
    }
}
