//! A value that is sent whole once and then in parts: those that have changed since the last message.
//!
//! A long value is sent in several messages of bounded length, each with the newest state. A client
//! that takes little causes no older states to be kept.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use crate::limits::{WATCH_PART_BYTES, WATCH_PART_BYTES_MAX};

/// Maximum removed items that are remembered for clients that are behind.
const GONE_MAX: usize = 4096;

/// A value at a moment. Parts are already encoded as JSON: once for all clients.
#[derive(Debug, Clone, Default)]
pub struct Value {
    version: u64,
    fields: BTreeMap<&'static str, Part>,
    /// In the order in which they are sent.
    lists: Vec<(&'static str, List)>,
    /// Messages for clients that are up to date: the whole value, and the changes of this version. Only their first parts.
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
    /// Keys as JSON, with the version in which they were removed.
    gone: Vec<(u64, String)>,
    /// Clients that have seen no later version than this one miss some removals.
    forgotten: u64,
}

/// A part of a value as JSON, and where the next one begins.
type Written = (Arc<str>, Option<Place>);

/// The place after an item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    list: usize,
    key: String,
}

/// The state of a client of a value.
#[derive(Debug, Default)]
pub struct ValueClient {
    /// The last version that was sent completely.
    told: Option<u64>,
    /// What is still to be sent of the present version.
    rest: Option<Rest>,
}

/// All that is newer than what was sent, from a place on.
#[derive(Debug)]
struct Rest {
    /// All parts before this place are up to date with this version.
    version: u64,
    from: Place,
    part_bytes: usize,
}

impl ValueClient {
    /// About the maximum length of the next message. Each is longer than the one before, since the client took that.
    pub fn part_bytes(&self) -> usize {
        self.rest.as_ref().map_or(WATCH_PART_BYTES, |rest| rest.part_bytes)
    }
}

impl Value {
    /// Starts the next version: parts that are set from now on are new in it.
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

    /// Sets a list's items, each with its key as JSON; other items are removed.
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

    /// The minimum length of the next message for a client, as far as it is known: fields come in one piece.
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

    /// Whether there is more to send to a client.
    pub fn has_more(&self, client: &ValueClient) -> bool {
        client.rest.is_some() || client.told != Some(self.version)
    }

    /// What is newer than `since`; lists from a place on, up to a maximum length. Fields and removed keys come
    /// first.
    fn write(&self, since: Option<u64>, from: Option<&Place>, bytes_max: usize) -> Written {
        let is_new = |version: u64| since.is_none_or(|since| version > since);
        let mut text = String::from("{");
        let field = |text: &mut String, name: &str, json: &str| {
            let comma = if text.len() > 1 { "," } else { "" };
            // Writing to a string cannot fail.
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
            // Once the message is full, the remaining lists of a snapshot start empty.
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

    /// A client that has received everything.
    fn up_to_date(value: &Value) -> ValueClient {
        ValueClient { told: Some(value.version), rest: None }
    }

    #[test]
    fn changes_are_sent_in_parts() {
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
        // A client that is behind gets all changes at once.
        let both = json!({"hosts": [[2, 5]], "hosts_gone": [1]});
        assert_eq!(next(&value, &mut behind), Some(("delta", both)));
        let mut behind = ValueClient { told: Some(1), rest: None };
        hosts(&mut value, &[(2, 5)]);
        assert!(!value.is_new());
        // An item that comes back is not removed.
        hosts(&mut value, &[(1, 9), (2, 5)]);
        assert_eq!(next(&value, &mut behind), Some(("delta", json!({"hosts": [[1, 9], [2, 5]]}))));
    }

    #[test]
    fn a_client_that_is_too_far_behind_starts_over() {
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

    /// A client's copy of the value.
    #[derive(Default)]
    struct Page {
        client: ValueClient,
        hosts: BTreeMap<u64, Json>,
        runs: usize,
    }

    impl Page {
        /// Takes a message; returns its length.
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
    fn long_values_are_sent_in_messages_that_grow_as_they_are_taken() {
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
