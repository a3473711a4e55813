//! `sateen hosts`.

use std::fmt::Display;

use sateen_api::{Host, Status};
use sateen_command_line::localised;

use super::client::{Client, SHORT};
use super::columns::{Columns, seconds};
use super::view::read;
use crate::exit::{Failure, say};
use crate::files::{print, print_json};
use crate::flags::List;

/// Hosts try to reach a coordinator that is away at least this often.
const HOSTS_BACK_S_MAX: f64 = 30.0;

pub fn hosts(flags: &List) -> Result<(), Failure> {
    let client = Client::new(&flags.grid.coordinator)?;
    let answer = client.patiently(|| client.get_all_once("/api/v1/hosts", SHORT))?;
    if flags.json {
        return print_json(&answer);
    }
    let hosts: Vec<Host> = read(&answer)?;
    let mut columns = Columns::new(&["HOST", "NAME", "SITE", "THREADS", "BUSY", "RUNS", "STATE", "VERSION"]);
    for host in &hosts {
        columns.row([
            host.id.clone(),
            host.name.clone(),
            host.site.clone(),
            host.threads.to_string(),
            host.busy.to_string(),
            runs(host),
            state(host),
            host.version.clone(),
        ]);
    }
    if hosts.is_empty() {
        let status: Status = read(&client.get("/api/v1/status")?)?;
        say(no_hosts(&status, client.url()));
    }
    print(columns.text().as_bytes())
}

/// After a restart of the coordinator, hosts are back in a moment.
fn no_hosts(status: &Status, coordinator: impl Display) -> String {
    let start = format!("start one with `sateen-host --coordinator {coordinator}`");
    if status.uptime_s < HOSTS_BACK_S_MAX {
        let up = seconds(status.uptime_s);
        format!(
            "no host is connected: the coordinator started {up} ago, and hosts that it had before are back soon; if it had none, {start}"
        )
    } else {
        format!("the grid has no hosts; {start}")
    }
}

/// The numbers of the runs whose app a host has loaded.
pub fn runs(host: &Host) -> String {
    host.runs.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// The state of a host, in words.
pub fn state(host: &Host) -> String {
    match &host.paused {
        _ if !host.connected => "away".to_owned(),
        Some(why) if why.starts_with("paused") => localised(why),
        Some(why) => format!("paused: {}", localised(why)),
        _ if host.busy > 0 => "working".to_owned(),
        _ => "idle".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn hosts_that_are_about_to_be_back_need_not_be_started() {
        let said = |uptime_s: f64| {
            no_hosts(&read(&json!({ "uptime_s": uptime_s })).expect("a status"), "http://grid:7700")
        };
        assert_eq!(
            said(300.0),
            "the grid has no hosts; start one with `sateen-host --coordinator http://grid:7700`"
        );
        assert!(
            said(2.0).starts_with("no host is connected: the coordinator started 2.0 s ago"),
            "{}",
            said(2.0)
        );
    }

    /// The coordinator's own words, so that pages, the API and the commands have the same.
    #[test]
    fn states_are_called_as_the_coordinator_calls_them() {
        for (connected, paused, busy, expected) in [
            (true, Value::Null, 2, "working"),
            (true, Value::Null, 0, "idle"),
            (true, json!("paused by its user"), 2, "paused by its user"),
            (true, json!("somebody works here"), 0, "paused: somebody works here"),
            (false, Value::Null, 2, "away"),
            (false, json!("paused by its user"), 0, "away"),
        ] {
            let host = json!({
                "id": "h1", "name": "a", "site": "s", "connected": connected, "paused": paused, "busy": busy,
            });
            assert_eq!(state(&read(&host).expect("a host")), expected, "{host}");
        }
    }
}
