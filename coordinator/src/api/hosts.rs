//! The hosts.

use std::borrow::Cow;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use sateen_api::Host;
use sateen_api::names::quoted;
use sateen_protocol::HostId;

use super::Api;
use super::extract::Query;
use super::paging::{Page, next_page};
use super::problem::Problem;
use crate::clock::written;
use crate::driver::{HostSeen, Request};

/// Hosts ordered by id. If there are more, the header `Link` has the next page.
pub async fn list(State(api): State<Api>, Query(page): Query<Page>) -> Result<Response, Problem> {
    let after = match page.after() {
        Some(text) => Some(HostId::parse(text).ok_or_else(|| not_a_host(text))?),
        None => None,
    };
    let limit = page.limit()?;
    let mut hosts = api.driver.ask(Request::Hosts).await?;
    hosts.retain(|host| after.is_none_or(|after| host.view.id > after));
    hosts.sort_unstable_by_key(|host| host.view.id);
    let has_more = hosts.len() > limit;
    hosts.truncate(limit);
    let last = hosts.last().map(|host| host.view.id).filter(|_| has_more);
    let link = next_page("/api/v1/hosts", last, limit);
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

fn shown(api: &Api, seen: HostSeen) -> Host {
    let (state, why_idle) = state(&seen);
    let why_idle = why_idle.map(Cow::into_owned);
    let HostSeen { view, since_ms, service, rtt, speed, busy, .. } = seen;
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
        busy,
        state: state.to_owned(),
        why_idle,
        steals_in: service.jobs.of_hosts.stolen,
        steals_out: service.lent,
        rtt_ms: rtt.map(|rtt| (rtt.as_secs_f64() * 1e6).round() / 1e3),
        speed: speed.map(|speed| (speed * 100.0).round() / 100.0),
    }
}

/// The state of a host, and why it does nothing.
fn state(host: &HostSeen) -> (&'static str, Option<Cow<'_, str>>) {
    let (view, silence) = (&host.view, host.silence.filter(|_| host.view.connected));
    if let (None, Some(silence)) = (&view.paused, silence) {
        let why = format!("nothing has come from it for {:.0} s", silence.as_secs_f64());
        return ("silent", Some(why.into()));
    }
    if let (true, None, Some(why)) = (view.connected, &view.paused, &view.holds) {
        let state = if host.busy > Some(0) { "working" } else { "idle" };
        return (state, Some(format!("paused for a moment: {why}").into()));
    }
    let (state, why) = match &view.paused {
        _ if !view.connected => {
            ("away", Some("its link is broken; it is given up unless it reconnects soon"))
        }
        Some(why) => ("paused", Some(why.as_str())),
        None if host.busy.is_none() => ("unknown", Some("it has not reported yet what it does")),
        None if host.busy > Some(0) => ("working", None),
        None if view.ready.is_empty() && host.are_runs_active => {
            ("idle", Some("it has not loaded the app of a run that is under way"))
        }
        None if view.ready.is_empty() => ("idle", Some("no run is under way that it could work on")),
        None => ("idle", Some("it asks for jobs, or waits for results of others")),
    };
    (state, why.map(Cow::Borrowed))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use sateen_protocol::coordinator::HostView;
    use sateen_protocol::message::HostReport;
    use sateen_protocol::{Counts, RunId, Time};

    use super::*;

    fn seen(ready: &[RunId], busy: u32, are_runs_active: bool) -> HostSeen {
        let report = HostReport {
            name: "one".to_owned(),
            site: "here".to_owned(),
            threads: 1,
            version: "0".to_owned(),
            direct: None,
            key: Default::default(),
        };
        let view = HostView {
            id: HostId(1),
            report: Arc::new(report),
            since: Time(0),
            connected: true,
            paused: None,
            holds: None,
            ready: ready.iter().copied().collect(),
            counts: Counts { busy, ..Counts::default() },
        };
        let (since_ms, service, rtt, speed, silence) = (None, Default::default(), None, None, None);
        HostSeen { view, since_ms, service, rtt, speed, busy: Some(busy), silence, are_runs_active }
    }

    #[test]
    fn a_host_asks_for_jobs_only_if_it_could_run_them_and_has_none() {
        let run = [RunId(1)];
        let unheard = HostSeen { busy: None, ..seen(&run, 0, true) };
        for (host, expected) in [
            (seen(&run, 1, true), None),
            (seen(&run, 0, true), Some("it asks for jobs, or waits for results of others")),
            (unheard, Some("it has not reported yet what it does")),
            (seen(&[], 0, true), Some("it has not loaded the app of a run that is under way")),
            (seen(&[], 0, false), Some("no run is under way that it could work on")),
        ] {
            assert_eq!(state(&host).1.as_deref(), expected);
        }
    }

    #[test]
    fn a_host_that_is_silent_is_neither_working_nor_idle() {
        let silence = Some(Duration::from_millis(2_600));
        let mut host = HostSeen { busy: None, silence, ..seen(&[RunId(1)], 1, true) };
        assert_eq!(state(&host), ("silent", Some("nothing has come from it for 3 s".into())));
        host.view.ready.clear();
        assert_eq!(state(&host).0, "silent", "nor does it wait for a run");
        host.silence = None;
        host.busy = Some(0);
        host.view.holds = Some("somebody uses the machine".to_owned());
        assert_eq!(state(&host), ("idle", Some("paused for a moment: somebody uses the machine".into())));
        host.view.paused = Some("paused by its user".to_owned());
        assert_eq!(state(&host).0, "paused");
        host.view.connected = false;
        assert_eq!(state(&host).0, "away");
    }
}
