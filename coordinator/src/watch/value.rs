//! A value that is told whole once and then in parts: those that have changed since what was told last.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// How many that are gone are remembered, for clients that are behind.
const GONE_MAX: usize = 4096;

/// A value at a moment. Parts are JSON already: they are written once for all clients.
#[derive(Debug, Clone, Default)]
pub struct Value {
    version: u64,
    fields: BTreeMap<&'static str, Part>,
    lists: BTreeMap<&'static str, List>,
    /// What all ask for who are not behind: everything, and what is new with this version.
    whole: OnceLock<Arc<str>>,
    newest: OnceLock<Arc<str>>,
}

#[derive(Debug, Clone)]
struct Part {
    version: u64,
    json: Arc<str>,
}

#[derive(Debug, Clone, Default)]
struct List {
    items: BTreeMap<String, Part>,
    /// Keys as JSON, with the version in which they went.
    gone: Vec<(u64, String)>,
    /// Clients that saw no later version than this one miss some that have gone.
    forgotten: u64,
}

impl Value {
    /// The version; greater ones are newer.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The next version begins: what is set from now on is new in it.
    pub fn begin(&mut self) {
        self.version += 1;
        (self.whole, self.newest) = (OnceLock::new(), OnceLock::new());
    }

    /// Sets a field.
    pub fn set(&mut self, name: &'static str, json: String) {
        let is_same = self.fields.get(name).is_some_and(|part| *part.json == *json);
        if !is_same {
            self.fields.insert(name, Part { version: self.version, json: json.into() });
        }
    }

    /// Sets a list's items, each with its key as JSON; items that are not among them are gone.
    pub fn set_list(&mut self, name: &'static str, items: impl IntoIterator<Item = (String, String)>) {
        let version = self.version;
        let list = self.lists.entry(name).or_default();
        let mut before = std::mem::take(&mut list.items);
        for (key, json) in items {
            let part = match before.remove(&key) {
                Some(part) if *part.json == *json => part,
                _ => Part { version, json: json.into() },
            };
            list.items.insert(key, part);
        }
        list.gone.retain(|(_, key)| !list.items.contains_key(key));
        list.gone.extend(before.into_keys().map(|key| (version, key)));
        if let Some(superfluous) = list.gone.len().checked_sub(GONE_MAX) {
            for (version, _) in list.gone.drain(..superfluous) {
                list.forgotten = list.forgotten.max(version);
            }
        }
    }

    /// Whether something is new in this version.
    pub fn is_new(&self) -> bool {
        let version = self.version;
        self.fields.values().any(|part| part.version == version)
            || self.lists.values().any(|list| {
                list.items.values().any(|part| part.version == version)
                    || list.gone.iter().any(|(gone, _)| *gone == version)
            })
    }

    /// All of it.
    pub fn whole(&self) -> Arc<str> {
        Arc::clone(self.whole.get_or_init(|| self.write(None).into()))
    }

    /// What is new for who has this version; `None` if that cannot be said any more.
    pub fn since(&self, version: u64) -> Option<Arc<str>> {
        if self.lists.values().any(|list| version < list.forgotten) {
            return None;
        }
        if version + 1 == self.version {
            return Some(Arc::clone(self.newest.get_or_init(|| self.write(Some(version)).into())));
        }
        Some(self.write(Some(version)).into())
    }

    fn write(&self, since: Option<u64>) -> String {
        let is_new = |part: &Part| since.is_none_or(|since| part.version > since);
        let mut text = String::from("{");
        let field = |text: &mut String, name: &str, json: &str| {
            let comma = if text.len() > 1 { "," } else { "" };
            // A string takes all that is written to it.
            let _ = write!(text, "{comma}\"{name}\":{json}");
        };
        for (name, part) in self.fields.iter().filter(|(_, part)| is_new(part)) {
            field(&mut text, name, &part.json);
        }
        for (name, list) in &self.lists {
            let items: Vec<&str> =
                list.items.values().filter(|part| is_new(part)).map(|part| &*part.json).collect();
            if since.is_none() || !items.is_empty() {
                field(&mut text, name, &format!("[{}]", items.join(",")));
            }
            let gone = list.gone.iter().filter(|(version, _)| since.is_some_and(|since| *version > since));
            let gone: Vec<&str> = gone.map(|(_, key)| key.as_str()).collect();
            if !gone.is_empty() {
                field(&mut text, &format!("{name}_gone"), &format!("[{}]", gone.join(",")));
            }
        }
        text.push('}');
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn parsed(text: &str) -> Json {
        serde_json::from_str(text).expect("JSON")
    }

    fn hosts(value: &mut Value, hosts: &[(u32, u32)]) {
        value.begin();
        value.set_list(
            "hosts",
            hosts.iter().map(|(id, jobs)| (id.to_string(), json!([id, jobs]).to_string())),
        );
    }

    #[test]
    fn parts_tell_what_has_changed_since() {
        let mut value = Value::default();
        hosts(&mut value, &[(1, 0), (2, 0)]);
        value.set("status", "7".to_owned());
        assert_eq!(parsed(&value.whole()), json!({"status": 7, "hosts": [[1, 0], [2, 0]]}));
        hosts(&mut value, &[(1, 0), (2, 5)]);
        value.set("status", "7".to_owned());
        assert_eq!(parsed(&value.since(1).expect("known")), json!({"hosts": [[2, 5]]}));
        hosts(&mut value, &[(2, 5)]);
        assert!(value.is_new());
        assert_eq!(parsed(&value.since(2).expect("known")), json!({"hosts_gone": [1]}));
        // Who is behind gets all at once.
        assert_eq!(parsed(&value.since(1).expect("known")), json!({"hosts": [[2, 5]], "hosts_gone": [1]}));
        hosts(&mut value, &[(2, 5)]);
        assert!(!value.is_new());
        // Who comes back is not gone.
        hosts(&mut value, &[(1, 9), (2, 5)]);
        assert_eq!(parsed(&value.since(1).expect("known")), json!({"hosts": [[1, 9], [2, 5]]}));
    }

    #[test]
    fn who_is_too_far_behind_begins_anew() {
        let mut value = Value::default();
        hosts(&mut value, &[]);
        for round in 0..3_u32 {
            let all: Vec<(u32, u32)> = (0..GONE_MAX as u32).map(|id| (round * 10_000 + id, 0)).collect();
            hosts(&mut value, &all);
        }
        assert!(value.since(1).is_none());
        assert!(value.since(3).is_some());
    }
}
