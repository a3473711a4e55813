//! `sateen host`: which hosts may take part.

use sateen_api::HostKey;
use sateen_command_line::localised;
use serde_json::Value;

use super::client::{Client, SHORT, segment, to_each};
use super::columns::Columns;
use crate::exit::{Failure, say};
use crate::files::{print, print_json};
use crate::flags::{HostKeys, List, OfKeys};

/// Digits of a key in a table: enough to name it in a command.
const DIGITS: usize = 16;

pub fn host_keys(what: &HostKeys) -> Result<(), Failure> {
    match what {
        HostKeys::Ls(flags) => list(flags),
        HostKeys::Approve(flags) => decide(flags, "approve"),
        HostKeys::Revoke(flags) => decide(flags, "revoke"),
    }
}

fn list(flags: &List) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let answer = client.patiently(|| client.get_all_once("/api/v1/keys", SHORT))?;
    if flags.json {
        return print_json(&answer);
    }
    let mut keys: Vec<HostKey> = client.read(&answer)?;
    keys.sort_by_key(|key| (rank(key), key.name.clone()));
    let mut columns = Columns::new(&["KEY", "NAME", "STATE", "ADDRESS", "LAST SEEN", "NOTE"]);
    for key in &keys {
        columns.row([
            short(&key.key),
            key.name.clone(),
            state(key),
            key.address.clone(),
            seen(key),
            note(key),
        ]);
    }
    if keys.is_empty() {
        say("no host has been here yet; `sateen-host key show` prints the key of a host");
    }
    print(columns.text().as_bytes())
}

/// Those about which something is to be decided come first.
fn rank(key: &HostKey) -> usize {
    let states = ["waiting", "enrolled", "revoked"];
    let rank = states.iter().position(|state| *state == key.state).unwrap_or(states.len());
    if key.copied_to.is_some() { 0 } else { rank }
}

fn short(key: &str) -> String {
    key.chars().take(DIGITS).collect()
}

fn state(key: &HostKey) -> String {
    if key.approved { "approved".to_owned() } else { key.state.clone() }
}

fn seen(key: &HostKey) -> String {
    match &key.seen {
        _ if key.connected => "connected".to_owned(),
        Some(seen) => localised(seen),
        None => "never".to_owned(),
    }
}

fn note(key: &HostKey) -> String {
    let copied = key.copied_to.as_ref().map(|address| format!("copied: also used from {address}"));
    let replaced = key.replaced_by.as_ref().map(|by| format!("replaced by {}", short(by)));
    copied.into_iter().chain(replaced).collect::<Vec<_>>().join("; ")
}

/// Decides about all keys that it can. Fails with the error of the first that it cannot.
fn decide(flags: &OfKeys, what: &str) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let mut answers = Vec::new();
    let done = to_each(&flags.keys, |key| {
        let answer = client.order(&format!("/api/v1/keys/{}/{what}", segment(key)))?;
        if !flags.json {
            say(done(what, &client.read(&answer)?));
        }
        answers.push(answer);
        Ok(())
    });
    if flags.json {
        match (flags.keys.as_slice(), answers.pop()) {
            ([_], Some(answer)) => print_json(&answer),
            ([_], None) => Ok(()),
            (_, last) => print_json(&Value::from_iter(answers.into_iter().chain(last))),
        }
        .or_else(Failure::unless_reader_gone)?;
    }
    done
}

fn done(what: &str, key: &HostKey) -> String {
    let name = if key.name.is_empty() { String::new() } else { format!(" ({})", key.name) };
    let (short, name) = (short(&key.key), name.as_str());
    match what {
        "approve" if key.seen.is_none() => {
            format!("the host with the key {short} may take part; it was not seen yet")
        }
        "approve" => format!("the host with the key {short}{name} may take part; it comes back by itself"),
        _ => format!("the host with the key {short}{name} is cut off and refused from now on"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::read;
    use serde_json::{Value, json};

    use super::*;

    fn key(more: &Value) -> HostKey {
        let mut key =
            json!({"key": "ab".repeat(32), "state": "enrolled", "name": "one", "address": "192.0.2.1"});
        key.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        read(&key).expect("a key")
    }

    #[test]
    fn what_is_to_be_decided_comes_first() {
        let waiting = key(&json!({"state": "waiting"}));
        let copied = key(&json!({"copied_to": "192.0.2.9"}));
        let revoked = key(&json!({"state": "revoked"}));
        let replaced = key(&json!({"state": "replaced", "replaced_by": "cd".repeat(32)}));
        let ranks = [&waiting, &copied, &key(&json!({})), &revoked, &replaced].map(rank);
        assert_eq!(ranks, [0, 0, 1, 2, 3]);
        assert_eq!(note(&copied), "copied: also used from 192.0.2.9");
        assert_eq!(note(&replaced), format!("replaced by {}", "cd".repeat(8)));
    }

    #[test]
    fn a_decision_says_what_follows() {
        let seen = key(&json!({"seen": "2026-11-28T10:00:00Z"}));
        assert_eq!(
            done("approve", &seen),
            "the host with the key abababababababab (one) may take part; it comes back by itself"
        );
        let unseen = key(&json!({"name": ""}));
        assert!(done("approve", &unseen).ends_with("it was not seen yet"));
        assert!(done("revoke", &seen).ends_with("refused from now on"));
    }
}
