//! A value that is told whole once and then in parts: those that have changed since what was told last.
//!
//! What is long is told in several messages, each of them of bounded length and of the newest that there is: a client
//! that takes little keeps nothing of what there was before.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use crate::limits::{WATCH_PART_BYTES, WATCH_PART_BYTES_MAX};

/// How many that are gone are remembered, for clients that are behind.
const GONE_MAX: usize = 4096;

/// A value at a moment. Parts are JSON already: they are written once for all clients.
#[derive(Debug, Clone, Default)]
pub struct Value {
    version: u64,
    fields: BTreeMap<&'static str, Part>,
    /// In the order in which they are told.
    lists: Vec<(&'static str, List)>,
    /// What all ask for who are not behind: everything, and what is new with this version. The beginnings of these.
    whole: OnceLock<Written>,
    newest: OnceLock<Written>,
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

/// A part of a value as JSON, and where the next one begins.
type Written = (Arc<str>, Option<Place>);

/// The place behind an item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    list: usize,
    key: String,
}

/// How far a client is with a value.
#[derive(Debug, Default)]
pub struct ValueClient {
    /// The version of which it was told everything.
    told: Option<u64>,
    /// What it is being told.
    rest: Option<Rest>,
}

/// All that is newer than what was told, from some place on.
#[derive(Debug)]
struct Rest {
    /// Before this place, nothing is older than this version.
    version: u64,
    from: Place,
    part_bytes: usize,
}

impl ValueClient {
    /// About how long the next message is at most. Each is longer than the one before, since that was taken.
    pub fn part_bytes(&self) -> usize {
        self.rest.as_ref().map_or(WATCH_PART_BYTES, |rest| rest.part_bytes)
    }
}

impl Value {
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
        let place = self.lists.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.lists.push((name, List::default()));
            self.lists.len() - 1
        });
        let Some((_, list)) = self.lists.get_mut(place) else { return };
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
            || self.lists.iter().any(|(_, list)| {
                list.items.values().any(|part| part.version == version)
                    || list.gone.iter().any(|(gone, _)| *gone == version)
            })
    }

    /// The next message for a client, of about `bytes_max`, as a kind and JSON; `None` if there is nothing new.
    pub fn next(&self, client: &mut ValueClient, bytes_max: usize) -> Option<(&'static str, Arc<str>)> {
        let oldest = client.told.or(client.rest.as_ref().map(|rest| rest.version));
        if oldest.is_some_and(|oldest| self.lists.iter().any(|(_, list)| oldest < list.forgotten)) {
            *client = ValueClient::default();
        }
        let (kind, version, (json, next)) = match (&client.rest, client.told) {
            (Some(rest), told) => ("delta", rest.version, self.write(told, Some(&rest.from), bytes_max)),
            (None, Some(told)) if told == self.version => return None,
            (None, Some(told)) if told + 1 == self.version => {
                let newest = self.newest.get_or_init(|| self.write(Some(told), None, WATCH_PART_BYTES));
                ("delta", self.version, newest.clone())
            }
            (None, Some(told)) => ("delta", self.version, self.write(Some(told), None, WATCH_PART_BYTES)),
            (None, None) => {
                let whole = self.whole.get_or_init(|| self.write(None, None, WATCH_PART_BYTES));
                ("snapshot", self.version, whole.clone())
            }
        };
        match next {
            Some(from) => {
                let part_bytes = (2 * client.part_bytes()).min(WATCH_PART_BYTES_MAX);
                client.rest = Some(Rest { version, from, part_bytes });
            }
            None => *client = ValueClient { told: Some(version), rest: None },
        }
        Some((kind, json))
    }

    /// How long the next message for a client is at least, as far as that is known: fields come in one piece.
    pub fn next_bytes_min(&self, client: &ValueClient) -> usize {
        if client.rest.is_some() {
            return 0;
        }
        let is_new = |part: &&Part| client.told.is_none_or(|told| part.version > told);
        let fields: usize = self.fields.values().filter(is_new).map(|part| part.json.len()).sum();
        let gone: usize =
            self.lists.iter().flat_map(|(_, list)| &list.gone).map(|(_, key)| key.len() + 1).sum();
        fields + if client.told.is_some() { gone } else { 0 }
    }

    /// Whether a client is to be told more.
    pub fn has_more(&self, client: &ValueClient) -> bool {
        client.rest.is_some() || client.told != Some(self.version)
    }

    /// What is newer than `since`, of lists from a place on and until there are so many bytes. Fields and what is gone come
    /// first.
    fn write(&self, since: Option<u64>, from: Option<&Place>, bytes_max: usize) -> Written {
        let is_new = |version: u64| since.is_none_or(|since| version > since);
        let mut text = String::from("{");
        let field = |text: &mut String, name: &str, json: &str| {
            let comma = if text.len() > 1 { "," } else { "" };
            // A string takes all that is written to it.
            let _ = write!(text, "{comma}\"{name}\":{json}");
        };
        if from.is_none() {
            for (name, part) in self.fields.iter().filter(|(_, part)| is_new(part.version)) {
                field(&mut text, name, &part.json);
            }
            for (name, list) in self.lists.iter().filter(|_| since.is_some()) {
                let gone = list.gone.iter().filter(|(version, _)| is_new(*version));
                let gone: Vec<&str> = gone.map(|(_, key)| key.as_str()).collect();
                if !gone.is_empty() {
                    field(&mut text, &format!("{name}_gone"), &format!("[{}]", gone.join(",")));
                }
            }
        }
        let mut next: Option<Place> = None;
        for (number, (name, list)) in self.lists.iter().enumerate() {
            let start = match from {
                Some(from) if number < from.list => continue,
                Some(from) if number == from.list => Bound::Excluded(from.key.as_str()),
                _ => Bound::Unbounded,
            };
            let mut items = String::new();
            // Once there is enough, lists of a snapshot are begun as empty ones.
            let after = next.is_none().then(|| list.items.range::<str, _>((start, Bound::Unbounded)));
            for (key, part) in after.into_iter().flatten().filter(|(_, part)| is_new(part.version)) {
                items.push_str(if items.is_empty() { "" } else { "," });
                items.push_str(&part.json);
                if text.len() + items.len() >= bytes_max {
                    next = Some(Place { list: number, key: key.clone() });
                    break;
                }
            }
            let is_begun = since.is_none() && from.is_none();
            if is_begun || !items.is_empty() {
                field(&mut text, name, &format!("[{items}]"));
            }
        }
        text.push('}');
        (text.into(), next)
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

    fn next(value: &Value, client: &mut ValueClient) -> Option<(&'static str, Json)> {
        let part_bytes = client.part_bytes();
        value.next(client, part_bytes).map(|(kind, json)| (kind, parsed(&json)))
    }

    /// A client that was told everything.
    fn up_to_date(value: &Value) -> ValueClient {
        ValueClient { told: Some(value.version), rest: None }
    }

    #[test]
    fn parts_tell_what_has_changed_since() {
        let mut value = Value::default();
        hosts(&mut value, &[(1, 0), (2, 0)]);
        value.set("status", "7".to_owned());
        let mut client = ValueClient::default();
        let whole = json!({"status": 7, "hosts": [[1, 0], [2, 0]]});
        assert_eq!(next(&value, &mut client), Some(("snapshot", whole)));
        assert!(next(&value, &mut client).is_none());
        let mut behind = up_to_date(&value);
        hosts(&mut value, &[(1, 0), (2, 5)]);
        value.set("status", "7".to_owned());
        assert_eq!(next(&value, &mut client), Some(("delta", json!({"hosts": [[2, 5]]}))));
        hosts(&mut value, &[(2, 5)]);
        assert!(value.is_new());
        assert_eq!(next(&value, &mut client), Some(("delta", json!({"hosts_gone": [1]}))));
        // Who is behind gets all at once.
        let both = json!({"hosts": [[2, 5]], "hosts_gone": [1]});
        assert_eq!(next(&value, &mut behind), Some(("delta", both)));
        let mut behind = ValueClient { told: Some(1), rest: None };
        hosts(&mut value, &[(2, 5)]);
        assert!(!value.is_new());
        // Who comes back is not gone.
        hosts(&mut value, &[(1, 9), (2, 5)]);
        assert_eq!(next(&value, &mut behind), Some(("delta", json!({"hosts": [[1, 9], [2, 5]]}))));
    }

    #[test]
    fn who_is_too_far_behind_begins_anew() {
        let mut value = Value::default();
        hosts(&mut value, &[]);
        let (mut first, mut under_way) = (up_to_date(&value), ValueClient::default());
        for round in 0..3_u32 {
            let all: Vec<(u32, u32)> =
                (0..GONE_MAX as u32).map(|id| (round * 10_000 + id, u32::MAX)).collect();
            hosts(&mut value, &all);
            if round == 0 {
                assert!(next(&value, &mut under_way).is_some() && under_way.rest.is_some());
            }
        }
        let mut third = ValueClient { told: Some(3), rest: None };
        for (client, kind) in [(&mut first, "snapshot"), (&mut under_way, "snapshot"), (&mut third, "delta")]
        {
            assert_eq!(next(&value, client).map(|(kind, _)| kind), Some(kind));
        }
    }

    /// What a client makes of what it is told.
    #[derive(Default)]
    struct Page {
        client: ValueClient,
        hosts: BTreeMap<u64, Json>,
        runs: usize,
    }

    impl Page {
        /// Takes a message; its length.
        fn take(&mut self, value: &Value) -> Option<usize> {
            let part_bytes = self.client.part_bytes();
            let (kind, text) = value.next(&mut self.client, part_bytes)?;
            let json = parsed(&text);
            if kind == "snapshot" {
                self.hosts.clear();
                assert!(json["runs"].is_array() && json["hosts"].is_array());
            }
            self.runs += json["runs"].as_array().map_or(0, Vec::len);
            for gone in json["hosts_gone"].as_array().into_iter().flatten() {
                self.hosts.remove(&gone.as_u64().expect("a number"));
            }
            for host in json["hosts"].as_array().into_iter().flatten() {
                self.hosts.insert(host[0].as_u64().expect("a number"), host.clone());
            }
            Some(text.len())
        }
    }

    #[test]
    fn what_is_long_is_told_in_messages_that_grow_as_they_are_taken() {
        let name = "x".repeat(1000);
        let tell = |value: &mut Value, hosts: &[(u64, u64)]| {
            value.begin();
            value.set_list("runs", [("1".to_owned(), "1".to_owned())]);
            let json = |host: &(u64, u64)| (host.0.to_string(), json!([host.0, host.1, name]).to_string());
            value.set_list("hosts", hosts.iter().map(json));
        };
        let mut value = Value::default();
        let mut all: Vec<(u64, u64)> = (0..4000).map(|id| (id, 0)).collect();
        tell(&mut value, &all);
        let (mut page, mut lengths) = (Page::default(), Vec::new());
        while let Some(length) = page.take(&value) {
            lengths.push(length);
            // Hosts that come, change and go meanwhile.
            if lengths.len() < 6 {
                all.remove(lengths.len() * 300);
                all.iter_mut().step_by(7).for_each(|host| host.1 += 1);
                all.push((10_000 + lengths.len() as u64, 0));
                tell(&mut value, &all);
            }
            assert!(value.has_more(&page.client) || lengths.len() > 6);
        }
        assert!(lengths[0] < WATCH_PART_BYTES + 2000, "{lengths:?}");
        assert!(lengths.windows(2).take(4).all(|pair| pair[1] > pair[0]), "{lengths:?}");
        assert!(lengths.iter().all(|length| *length < WATCH_PART_BYTES_MAX + 2000), "{lengths:?}");
        let told: Vec<(u64, u64)> = page
            .hosts
            .values()
            .map(|host| (host[0].as_u64().expect("one"), host[1].as_u64().expect("one")))
            .collect();
        all.sort_unstable();
        assert_eq!((told, page.runs), (all, 1));
    }
}
