//! `sateen hosts`.

use sateen_command_line::localised;
use serde_json::Value;

use super::client::{Client, SHORT};
use super::columns::Columns;
use super::view::{Host, id, read};
use crate::exit::{Failure, say};
use crate::files::{print, print_json};
use crate::flags::List;

pub fn hosts(flags: &List) -> Result<(), Failure> {
    let client = Client::new(&flags.grid.coordinator)?;
    let answer = client.get_all("/api/v1/hosts", SHORT)?;
    if flags.json {
        return print_json(&answer);
    }
    let hosts: Vec<Host> = read(&answer)?;
    let mut columns = Columns::new(&["HOST", "NAME", "SITE", "THREADS", "BUSY", "RUNS", "STATE", "VERSION"]);
    for host in &hosts {
        columns.row([
            id(&host.id),
            host.name.clone(),
            host.site.clone(),
            host.threads.to_string(),
            host.busy.to_string(),
            host.runs.iter().map(id).collect::<Vec<_>>().join(" "),
            state(host),
            host.version.clone(),
        ]);
    }
    if hosts.is_empty() {
        say(format!("the grid has no hosts; start one with `sateen-host --coordinator {}`", client.url()));
    }
    print(columns.text().as_bytes())
}

/// What a host does, in words.
pub fn state(host: &Host) -> String {
    match &host.paused {
        _ if !host.connected => "away".to_owned(),
        Value::String(why) if why.starts_with("paused") => localised(why),
        Value::String(why) => format!("paused: {}", localised(why)),
        Value::Bool(true) => "paused".to_owned(),
        _ if host.busy > 0 => "working".to_owned(),
        _ => "idle".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
