//! `sateen hosts`.

use std::fmt::Display;

use sateen_api::Host;
use sateen_command_line::localised;

use super::client::{Client, SHORT};
use super::columns::Columns;
use super::view::read;
use crate::exit::{Failure, say};
use crate::files::{print, print_json};
use crate::flags::List;

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
        say(no_hosts(client.url()));
    }
    print(columns.text().as_bytes())
}

/// Nothing is said of hosts that come back after a restart of the coordinator: it may have had none before.
fn no_hosts(coordinator: impl Display) -> String {
    format!("no host is connected; start one with `sateen-host --coordinator {coordinator}`")
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
        _ if host.state == "silent" => host.state.clone(),
        _ => "idle".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn no_host_is_promised() {
        let said = no_hosts("http://grid:7700");
        assert_eq!(said, "no host is connected; start one with `sateen-host --coordinator http://grid:7700`");
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
        let host = json!({"id": "h1", "name": "a", "site": "s", "connected": true, "state": "silent"});
        assert_eq!(state(&read(&host).expect("a host")), "silent");
    }
}
