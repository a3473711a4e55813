//! Applies changes to a topic's value, as pages do.

use serde_json::{Value, json};

/// Applies changes: the grid's runs and hosts by their keys, a timeline's newest part, and other values as they are.
pub fn change(topic: &str, value: &mut Value, changes: &Value) {
    for (name, new) in changes.as_object().expect("an object") {
        match (name.trim_end_matches("_gone"), topic) {
            ("runs", "grid") => merge(&mut value["runs"], "run", new, name.ends_with("_gone")),
            ("hosts", "grid") => merge(&mut value["hosts"], "id", new, name.ends_with("_gone")),
            ("rows", _) => merge_rows(value, changes),
            ("from_ms", topic) if topic.starts_with("timeline/") => {}
            _ => value[name] = new.clone(),
        }
    }
}

/// Changes items of a list, or removes those that are gone.
fn merge(list: &mut Value, key: &str, changes: &Value, are_gone: bool) {
    let Some(list) = list.as_array_mut() else { return };
    for change in changes.as_array().into_iter().flatten() {
        if are_gone {
            list.retain(|item| item[key] != *change);
            continue;
        }
        match list.iter_mut().find(|item| item[key] == change[key]) {
            Some(item) => *item = change.clone(),
            None => list.push(change.clone()),
        }
    }
}

/// Replaces the newest part of a timeline.
fn merge_rows(value: &mut Value, new: &Value) {
    let step = new["bucket_ms"].as_u64().unwrap_or(1).max(1);
    let start = value["from_ms"].as_u64().unwrap_or_default();
    let skipped = (new["from_ms"].as_u64().unwrap_or_default().saturating_sub(start) / step) as usize;
    let Some(rows) = value["rows"].as_array_mut() else { return };
    for change in new["rows"].as_array().into_iter().flatten() {
        let is_same = |row: &Value| row["host"] == change["host"] && row["worker"] == change["worker"];
        let place = match rows.iter().position(is_same) {
            Some(place) => place,
            None => {
                rows.push(
                    json!({"host": change["host"], "host_name": change["host_name"], "site": change["site"],
                    "worker": change["worker"], "work": [], "steal": [], "wait": []}),
                );
                rows.len() - 1
            }
        };
        for kind in ["work", "steal", "wait"] {
            if let (Some(known), Some(newest)) = (rows[place][kind].as_array_mut(), change[kind].as_array()) {
                known.resize(skipped, Value::Null);
                known.extend(newest.iter().cloned());
            }
        }
    }
}
