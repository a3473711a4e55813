//! The topic `tree/N`: binary frames of records, first all of them, then those that have changed.
//!
//! ```text
//! "STRE" │ version u8 │ kind u8 │ 0 u16 │ seq u32 │ records u32 │ run u64        little endian
//! length u32 │ JSON: a TreeTable │ zeros up to a multiple of 8
//! records × 48 bytes
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sateen_api::{TreeHost, TreeTable};
use sateen_protocol::RunId;

use super::run::json;
use crate::api::shown::{host_of_tree, table};
use crate::api::{Api, Problem, chronicle_of, names_of};
use crate::chronicle::{Chronicle, Names};
use crate::limits::{
    TREE_HOSTS_TOLD_AT_ONCE_MAX, TREE_HOSTS_TOLD_EVERY, TREE_RECORDS_PER_FRAME_MAX, WATCH_TICKS_KEPT,
};

const MAGIC: &[u8; 4] = b"STRE";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 24;
const SNAPSHOT_PART: u8 = 0;
const LAST_SNAPSHOT_PART: u8 = 1;
const DELTA: u8 = 2;

/// A tree at a tick.
#[derive(Debug)]
pub struct TreeNews {
    run: RunId,
    chronicle: Arc<Mutex<Chronicle>>,
    /// Number of the tick; only ticks with news count.
    tick: u64,
    /// The changes of the newest ticks.
    ticks: VecDeque<(u64, Arc<[u32]>)>,
    /// The records changed in this tick, for clients that are up to date.
    newest: Vec<u8>,
    hosts: usize,
    /// The parts of the table that seldom change, as the fields of an object, and the others as an object.
    hosts_and_kinds: Arc<str>,
    short_table: String,
}

/// A tree as sent to pages.
pub struct TreeFeed {
    run: RunId,
    names: Names,
    chronicle: Arc<Mutex<Chronicle>>,
    tick: u64,
    ticks: VecDeque<(u64, Arc<[u32]>)>,
    hosts: Vec<TreeHost>,
    /// The parts of the table that seldom change, as JSON, and the number of hosts in it. In a large grid it is rewritten
    /// only now and then, since all pages get the whole of it.
    hosts_and_kinds: Arc<str>,
    hosts_told: (usize, Option<Instant>),
    table: Option<TreeTable>,
}

impl Drop for TreeFeed {
    fn drop(&mut self) {
        self.chronicle.lock().unwrap_or_else(PoisonError::into_inner).watch(false);
    }
}

impl TreeFeed {
    /// Of a run.
    pub async fn new(api: &Api, run: RunId) -> Result<Self, Problem> {
        let names = names_of(api, run).await?;
        let chronicle = chronicle_of(api, run).await?;
        Ok(Self::of(run, names, chronicle))
    }

    fn of(run: RunId, names: Names, chronicle: Arc<Mutex<Chronicle>>) -> Self {
        chronicle.lock().unwrap_or_else(PoisonError::into_inner).watch(true);
        Self {
            run,
            names,
            chronicle,
            tick: 0,
            ticks: VecDeque::new(),
            hosts: Vec::new(),
            hosts_and_kinds: "".into(),
            hosts_told: (0, None),
            table: None,
        }
    }

    /// The changes since the last tick.
    pub fn next(&mut self, api: &Api) -> Result<Option<Arc<TreeNews>>, Problem> {
        if api.driver.chronicles.get(self.run).is_none() {
            return Err(Problem::gone_run(self.run));
        }
        Ok(self.tick())
    }

    fn tick(&mut self) -> Option<Arc<TreeNews>> {
        let mut newest = Vec::new();
        let (places, table, hosts) = {
            let mut chronicle = self.chronicle.lock().unwrap_or_else(PoisonError::into_inner);
            let places = chronicle.take_fresh(TREE_RECORDS_PER_FRAME_MAX);
            chronicle.records(places.iter().copied(), &mut newest);
            let hosts: Vec<_> = chronicle.hosts().iter().skip(self.hosts.len()).map(host_of_tree).collect();
            (places, table(&chronicle, &self.names), hosts)
        };
        self.hosts.extend(hosts);
        let are_hosts_due = self.are_hosts_due();
        if places.is_empty() && !are_hosts_due && self.table.as_ref() == Some(&table) {
            return None;
        }
        if are_hosts_due {
            let (hosts, kinds) = (json(&self.hosts), json(&self.names.kinds));
            self.hosts_and_kinds = format!(r#""hosts":{hosts},"kinds":{kinds}"#).into();
            self.hosts_told = (self.hosts.len(), Some(Instant::now()));
        }
        self.tick += 1;
        self.ticks.push_back((self.tick, places.into()));
        if self.ticks.len() > WATCH_TICKS_KEPT {
            self.ticks.pop_front();
        }
        let news = TreeNews {
            run: self.run,
            chronicle: Arc::clone(&self.chronicle),
            tick: self.tick,
            ticks: self.ticks.clone(),
            newest,
            hosts: self.hosts_told.0,
            hosts_and_kinds: Arc::clone(&self.hosts_and_kinds),
            short_table: json(&table),
        };
        self.table = Some(table);
        Some(Arc::new(news))
    }
}

impl TreeFeed {
    /// Whether pages are to be sent all hosts: there are new ones and, in a large grid, the last time was a while ago.
    fn are_hosts_due(&self) -> bool {
        let (told, when) = self.hosts_told;
        let Some(when) = when else { return true };
        let are_few = self.hosts.len() <= TREE_HOSTS_TOLD_AT_ONCE_MAX;
        told < self.hosts.len() && (are_few || when.elapsed() >= TREE_HOSTS_TOLD_EVERY)
    }
}

/// The state of a client of a tree.
#[derive(Debug, Default)]
pub struct TreeClient {
    seq: u32,
    /// The tick up to which everything was sent, or is noted in `due`.
    tick: u64,
    /// The place at which its snapshot continues; `None` when the snapshot is complete.
    snapshot: Option<u32>,
    /// Places that are due to be sent, one bit each, and the number of words with a bit set.
    due: Vec<u64>,
    due_count: usize,
    hosts: Option<usize>,
}

impl TreeClient {
    /// A client that has received nothing.
    pub fn new() -> Self {
        Self { snapshot: Some(0), ..Self::default() }
    }

    /// The next frame for the client; `None` if there is nothing new. False if more is due at once.
    pub fn next(&mut self, news: &TreeNews) -> Option<(Vec<u8>, bool)> {
        if self.snapshot.is_none() && self.due_count == 0 && self.tick + 1 == news.tick {
            self.tick = news.tick;
            return Some((self.frame(news, DELTA, &news.newest), true));
        }
        let is_new = self.tick != news.tick;
        self.absorb(news);
        let mut records = Vec::new();
        if let Some(from) = self.snapshot {
            let chronicle = news.chronicle.lock().unwrap_or_else(PoisonError::into_inner);
            let until = chronicle.nodes() as u32;
            let to = until.min(from.saturating_add(TREE_RECORDS_PER_FRAME_MAX as u32));
            chronicle.records(from..to, &mut records);
            drop(chronicle);
            let is_last = to >= until;
            self.snapshot = (!is_last).then_some(to);
            let kind = if is_last { LAST_SNAPSHOT_PART } else { SNAPSHOT_PART };
            return Some((self.frame(news, kind, &records), is_last && self.due_count == 0));
        }
        if self.due_count == 0 && !is_new {
            return None;
        }
        let places = self.take_due(TREE_RECORDS_PER_FRAME_MAX);
        let chronicle = news.chronicle.lock().unwrap_or_else(PoisonError::into_inner);
        chronicle.records(places.into_iter(), &mut records);
        drop(chronicle);
        Some((self.frame(news, DELTA, &records), self.due_count == 0))
    }

    /// Maximum length of the next frame.
    pub fn next_bytes_max(&self, news: &TreeNews) -> usize {
        let all = TREE_RECORDS_PER_FRAME_MAX * crate::chronicle::RECORD_BYTES;
        let records = match self.snapshot {
            None if self.due_count == 0 && self.tick + 1 == news.tick => news.newest.len(),
            None if self.due_count == 0 && self.tick == news.tick => 0,
            _ => all,
        };
        let hosts = if self.hosts == Some(news.hosts) { 0 } else { news.hosts_and_kinds.len() };
        HEADER_BYTES + 16 + news.short_table.len() + hosts + records
    }

    /// Notes the changes since the client was last served.
    fn absorb(&mut self, news: &TreeNews) {
        if self.tick == news.tick {
            return;
        }
        // A snapshot that has not begun will include all changes.
        let is_at_start = self.snapshot == Some(0);
        let is_behind = news.ticks.front().is_some_and(|(first, _)| *first > self.tick + 1);
        if is_behind && !is_at_start {
            *self = Self { seq: self.seq, tick: self.tick, ..Self::new() };
        }
        if !is_at_start && !is_behind {
            let told = self.tick;
            for (_, places) in news.ticks.iter().filter(|(tick, _)| *tick > told) {
                places.iter().for_each(|place| self.note(*place));
            }
        }
        self.tick = news.tick;
    }

    fn note(&mut self, place: u32) {
        let (word, bit) = (place as usize / 64, 1_u64 << (place % 64));
        if self.due.len() <= word {
            self.due.resize(word + 1, 0);
        }
        if let Some(word) = self.due.get_mut(word).filter(|word| **word & bit == 0) {
            *word |= bit;
            self.due_count += 1;
        }
    }

    fn take_due(&mut self, limit: usize) -> Vec<u32> {
        let mut places = Vec::new();
        for (at, word) in self.due.iter_mut().enumerate() {
            while *word != 0 && places.len() < limit {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                places.push(at as u32 * 64 + bit);
            }
        }
        self.due_count -= places.len();
        places
    }

    fn frame(&mut self, news: &TreeNews, kind: u8, records: &[u8]) -> Vec<u8> {
        let are_hosts_known = self.hosts == Some(news.hosts);
        let table = match (are_hosts_known, news.short_table.strip_suffix('}')) {
            (false, Some(open)) => &format!("{open},{}}}", news.hosts_and_kinds),
            _ => &news.short_table,
        };
        self.hosts = Some(news.hosts);
        let count = (records.len() / crate::chronicle::RECORD_BYTES) as u32;
        let mut frame = Vec::with_capacity(HEADER_BYTES + 16 + table.len() + records.len());
        frame.extend_from_slice(MAGIC);
        frame.extend_from_slice(&[VERSION, kind, 0, 0]);
        frame.extend_from_slice(&self.seq.to_le_bytes());
        frame.extend_from_slice(&count.to_le_bytes());
        frame.extend_from_slice(&news.run.0.to_le_bytes());
        frame.extend_from_slice(&(table.len() as u32).to_le_bytes());
        frame.extend_from_slice(table.as_bytes());
        frame.resize(frame.len().next_multiple_of(8), 0);
        frame.extend_from_slice(records);
        self.seq += 1;
        frame
    }
}

#[cfg(test)]
mod tests;
