//! `sateen hosts`.

use std::fmt::Display;

use sateen_api::{Host, Status};
use sateen_command_line::localised;

use super::client::{Client, SHORT};
use super::columns::{Columns, known};
use crate::exit::{Failure, say};
use crate::files::{print, print_json};
use crate::flags::List;

pub fn hosts(flags: &List) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let answer = client.patiently(|| client.get_all_once("/api/v1/hosts", SHORT))?;
    if flags.json {
        return print_json(&answer);
    }
    let hosts: Vec<Host> = client.read(&answer)?;
    let mut columns =
        Columns::new(&["HOST", "NAME", "SITE", "THREADS", "BUSY", "LOADED", "STATE", "VERSION"]);
    for host in &hosts {
        columns.row([
            host.id.clone(),
            host.name.clone(),
            host.site.clone(),
            host.threads.to_string(),
            known(host.busy, |busy| busy.to_string()),
            loaded(host),
            state(host),
            host.version.clone(),
        ]);
    }
    if hosts.is_empty() {
        let status: Status = client.read(&client.patiently(|| client.get_once("/api/v1/status", SHORT))?)?;
        say(no_hosts(client.url(), status.hosts_awaited));
    }
    print(columns.text().as_bytes())
}

/// After a restart of the coordinator, hosts may still come back.
fn no_hosts(coordinator: impl Display, awaited: usize) -> String {
    match awaited {
        0 => format!("no host is connected; start one with `sateen-host --coordinator {coordinator}`"),
        1 => "no host is connected yet: the coordinator was started again and waits for one that it had"
            .to_owned(),
        more => format!(
            "no host is connected yet: the coordinator was started again and waits for {more} that it had"
        ),
    }
}

/// The runs whose app a host has loaded, by their numbers.
pub fn loaded(host: &Host) -> String {
    let runs: Vec<String> = host.runs.iter().map(u64::to_string).collect();
    match runs.as_slice() {
        [] => "-".to_owned(),
        [one] => format!("run {one}"),
        several => format!("runs {}", several.join(", ")),
    }
}

/// The state of a host, in words.
pub fn state(host: &Host) -> String {
    match &host.paused {
        Some(why) if host.state == "paused" && why.starts_with("paused") => localised(why),
        Some(why) if host.state == "paused" => format!("paused: {}", localised(why)),
        _ => match &host.why_idle {
            Some(why) if host.state == "idle" && why.starts_with("paused") => localised(why),
            _ => host.state.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::read;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn no_host_is_promised() {
        let said = no_hosts("http://grid:7700", 0);
        assert_eq!(said, "no host is connected; start one with `sateen-host --coordinator http://grid:7700`");
        let said = no_hosts("http://grid:7700", 2);
        assert_eq!(
            said,
            "no host is connected yet: the coordinator was started again and waits for 2 that it had"
        );
    }

    /// Under the heading RUNS, the number of a run looked like a number of runs that the host works on.
    #[test]
    fn runs_that_a_host_has_loaded_are_named_and_not_counted() {
        let of = |runs: &[u64]| {
            let host = json!({"id": "h1", "name": "a", "site": "s", "runs": runs});
            loaded(&read(&host).expect("a host"))
        };
        assert_eq!([&[] as &[u64], &[3], &[3, 12]].map(of), ["-", "run 3", "runs 3, 12"]);
    }

    /// The coordinator's own words, so that pages, the API and the commands have the same.
    #[test]
    fn states_are_called_as_the_coordinator_calls_them() {
        for (state_there, paused, expected) in [
            ("working", Value::Null, "working"),
            ("unknown", Value::Null, "unknown"),
            ("silent", Value::Null, "silent"),
            ("paused", json!("paused by its user"), "paused by its user"),
            ("paused", json!("somebody works here"), "paused: somebody works here"),
            ("away", json!("paused by its user"), "away"),
        ] {
            let host = json!({"id": "h1", "name": "a", "site": "s", "paused": paused, "state": state_there});
            assert_eq!(state(&read(&host).expect("a host")), expected);
        }
        for (why, expected) in [
            (
                "paused for a moment: somebody uses the machine",
                "paused for a moment: somebody uses the machine",
            ),
            ("no run is under way that it could work on", "idle"),
        ] {
            let host = json!({"id": "h1", "name": "a", "site": "s", "state": "idle", "why_idle": why});
            assert_eq!(state(&read(&host).expect("a host")), expected);
        }
    }
}
