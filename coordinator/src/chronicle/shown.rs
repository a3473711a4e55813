//! What pages get of a chronicle.

use std::fmt::Write;

use sateen_api::{
    ChildJob, CriticalJob, Depth, Figures, HostOfRun, JobCounts, JobDetails, Log, Remaining, RunEvent,
    SeriesOfRun, Timeline, TimelineRow, Tree, TreeHost, TreeTable,
};
use sateen_protocol::coordinator::LONG_GONE;
use sateen_protocol::{HostId, JobTag};

use super::Chronicle;
use super::names::Names;
use super::tree::{DepthCounts, NEVER, NO_WORKER, Node, ROOT};
use crate::clock::seconds;
use crate::limits::{CHILDREN_SHOWN_MAX, CRITICAL_PATH_MAX, DEPTHS_SHOWN_MAX, TREE_NODES_IN_JSON_MAX};

/// Length of a job's call where many are listed, about.
const CALL_BYTES_IN_TREE: usize = 120;
/// Length of a job's call where it is shown alone, about.
const CALL_BYTES_MAX: usize = 4096;
/// A job, for those who list many.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The beginning of its key.
    pub job: JobTag,
    /// The job above it.
    pub parent: Option<JobTag>,
    /// For [`Names::of`].
    pub kind: u16,
    /// Spawns below the root.
    pub depth: u16,
    /// In the table of hosts.
    pub host: u32,
    /// Which of the host's workers took it.
    pub worker: Option<u16>,
    /// As it is shown.
    pub state: &'static str,
    /// It was lost, and begun again.
    pub redone: bool,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
    /// Processor time, descendants included.
    pub work_s: Option<f64>,
    /// Jobs below it that are not kept.
    pub rolled: u32,
}

fn some(time_ms: u32) -> Option<u32> {
    (time_ms != NEVER).then_some(time_ms)
}

impl Chronicle {
    /// How much of the tree is shown, and its hosts from this place on.
    pub fn table(&self, names: &Names, hosts_from: usize) -> (TreeTable, Vec<TreeHost>) {
        let hosts = self.tree.hosts().iter().skip(hosts_from).map(|host| TreeHost {
            id: host.id.to_string(),
            name: host.name.clone(),
            site: host.site.clone(),
        });
        let table = TreeTable {
            hosts: None,
            kinds: None,
            shown: self.tree.len() as u64,
            total: (self.tree.len() as u64).saturating_add(self.tree.without_room()),
            left_out: self.tree.without_room().saturating_add(self.left_out),
            entry_point: names.entry_point.clone(),
        };
        (table, hosts.collect())
    }

    /// Id, name and site of a host of the tree's table.
    pub fn host_of(&self, place: u32) -> (String, String, String) {
        let host = self.tree.hosts().get(place as usize);
        host.map_or_else(Default::default, |host| (host.id.to_string(), host.name.clone(), host.site.clone()))
    }

    /// Jobs from one place on, at most so many.
    pub fn shown(&self, from: u32, limit: usize) -> Vec<Shown> {
        let places = (from..).take(limit).map_while(|place| Some((place, self.tree.get(place)?)));
        places.map(|(place, node)| self.shown_one(place, node)).collect()
    }

    fn shown_one(&self, place: u32, node: &Node) -> Shown {
        Shown {
            job: node.tag,
            parent: self.tree.parent_tag(place),
            kind: node.kind,
            depth: node.depth,
            host: node.host,
            worker: (node.worker != NO_WORKER).then_some(node.worker),
            state: node.state.word(),
            redone: node.is_redone(),
            begun_ms: node.begun_ms,
            ended_ms: some(node.ended_ms),
            work_s: node.work_ns().map(seconds),
            rolled: node.rolled,
        }
    }

    /// The tree's first jobs as JSON has them.
    pub fn tree(&self, names: &Names) -> Tree {
        let nodes = (0_u32..).zip(self.shown(0, TREE_NODES_IN_JSON_MAX)).map(|(place, shown)| {
            let (host, host_name, _) = self.host_of(shown.host);
            let parameters = self.tree.parameters(place).ok().filter(|_| shown.kind != ROOT);
            sateen_api::Node {
                job: shown.job.to_string(),
                parent: shown.parent.map(|parent| parent.to_string()),
                function: names.of(shown.kind).to_owned(),
                call: parameters.and_then(|bytes| names.call(shown.kind, bytes, CALL_BYTES_IN_TREE)),
                depth: u32::from(shown.depth),
                host,
                host_name,
                state: shown.state.to_owned(),
                redone: shown.redone,
                work_s: shown.work_s,
                begun_ms: shown.begun_ms,
                ended_ms: shown.ended_ms,
                worker: shown.worker,
                rolled: shown.rolled,
            }
        });
        let nodes: Vec<sateen_api::Node> = nodes.collect();
        let not_sent = self.tree.len().saturating_sub(nodes.len()) as u64;
        let left_out = self.tree.without_room().saturating_add(self.left_out).saturating_add(not_sent);
        Tree { nodes, left_out }
    }

    /// One job, without the command that runs it again.
    pub fn job(&self, tag: JobTag, names: &Names, arguments: &[String]) -> Option<JobDetails> {
        let place = self.tree.place(tag)?;
        let node = self.tree.get(place)?;
        let shown = self.shown_one(place, node);
        let is_root = node.kind == ROOT;
        let (host, host_name, _) = self.host_of(node.host);
        let (parameters, parameters_text, parameters_why) = match self.tree.parameters(place) {
            _ if is_root => (None, Some(arguments.join(" ")), None),
            Ok(bytes) => {
                let call = names.call(node.kind, bytes, CALL_BYTES_MAX);
                (Some(hex(bytes)), call.or_else(|| as_text(bytes)), None)
            }
            Err(missing) => (None, None, Some(missing.to_string())),
        };
        let mut children: Vec<&Node> = self.tree.nodes().filter(|child| child.parent == place).collect();
        children.sort_by_key(|child| std::cmp::Reverse(child.work_ns()));
        let children_left_out = children.len().saturating_sub(CHILDREN_SHOWN_MAX) as u32 + node.rolled;
        let children = children.into_iter().take(CHILDREN_SHOWN_MAX).map(|child| ChildJob {
            job: child.tag.to_string(),
            function: names.of(child.kind).to_owned(),
            state: child.state.word().to_owned(),
            work_s: child.work_ns().map(seconds),
        });
        Some(JobDetails {
            job: tag.to_string(),
            function: names.of(node.kind).to_owned(),
            is_root,
            depth: u32::from(node.depth),
            parameters,
            parameters_text,
            parameters_why,
            host,
            host_name,
            worker: shown.worker,
            state: shown.state.to_owned(),
            redone: shown.redone,
            begun_ms: shown.begun_ms,
            ended_ms: shown.ended_ms,
            work_s: shown.work_s,
            parent: shown.parent.map(|parent| parent.to_string()),
            children: children.collect(),
            children_left_out,
            replay: None,
        })
    }

    /// Jobs by depth. Below the last one that is shown, all are one.
    pub fn depths(&self) -> Vec<Depth> {
        let mut shown: Vec<Depth> = Vec::new();
        for (depth, counts) in self.tree.depths() {
            if counts.total() == 0 {
                continue;
            }
            if shown.len() >= DEPTHS_SHOWN_MAX
                && let Some(last) = shown.last_mut()
            {
                last.running = last.running.saturating_add(counts.running);
                last.done = last.done.saturating_add(counts.done);
                last.other = last.other.saturating_add(counts.other);
                continue;
            }
            let DepthCounts { running, done, other } = counts;
            shown.push(Depth { depth: u32::from(depth), running, done, other });
        }
        shown
    }

    /// The critical path, as far as it is known.
    pub fn critical_path(&self, names: &Names) -> Vec<CriticalJob> {
        let path = self.tree.critical_path(CRITICAL_PATH_MAX).into_iter();
        let path = path.filter_map(|place| self.tree.get(place)).map(|node| CriticalJob {
            job: node.tag.to_string(),
            function: names.of(node.kind).to_owned(),
            work_s: node.work_ns().map(seconds),
            host: self.host_of(node.host).1,
            begun_ms: node.begun_ms,
            ended_ms: some(node.ended_ms),
        });
        path.collect()
    }

    /// How it went.
    pub fn series(&self) -> SeriesOfRun {
        self.series.shown()
    }

    /// What happened.
    pub fn events(&self) -> Vec<RunEvent> {
        self.events.all()
    }

    /// The time that is left, or why that cannot be said.
    ///
    /// # Errors
    /// See [`Pace::remaining`](super::pace::Pace::remaining).
    pub fn remaining(&self) -> Result<Remaining, String> {
        self.pace.remaining(self.now_ms())
    }

    /// Changes whenever the timeline does.
    pub fn timeline_version(&self) -> u64 {
        self.timeline.version()
    }

    /// The length of its stretches.
    pub fn timeline_bucket_ms(&self) -> u32 {
        self.timeline.bucket_ms()
    }

    /// From when on something is new for who knew this version.
    pub fn timeline_changed_from(&self, version: u64) -> u32 {
        self.timeline.changed_from(version)
    }

    /// Changes whenever a reason for doing nothing comes or goes.
    pub fn idle_count(&self) -> usize {
        self.idle.iter().map(|idle| 1 + usize::from(idle.to_ms.is_some())).sum()
    }

    /// What workers did from one moment to another, in at most so many stretches.
    pub fn timeline(&self, from_ms: u32, to_ms: u32, buckets_max: usize) -> Timeline {
        let (bucket_ms, from_ms, rows) = self.timeline.rows(from_ms, to_ms, buckets_max);
        let rows = rows.into_iter().map(|row| {
            let (host, host_name, site) = self.host_of(row.host);
            let of = |kind: usize| {
                let shares = row.shares.iter().map(|shares| shares[kind]);
                shares
                    .map(|share| (!share.is_nan()).then(|| (f64::from(share) * 1000.0).round() / 1000.0))
                    .collect()
            };
            TimelineRow {
                host,
                host_name,
                site,
                worker: row.worker,
                work: of(0),
                recover: of(1),
                steal: of(2),
                wait: of(3),
            }
        });
        Timeline { bucket_ms, from_ms, rows: rows.collect(), idle_why: self.idle.clone() }
    }

    /// The lines after this one.
    pub fn lines_after(&self, after: u64) -> Log {
        self.lines.after(after)
    }

    /// Jobs that other hosts got from these, and jobs that these were the first to begin again after they had been
    /// lost, in the order of the tree's table.
    pub fn lent_and_redone(&self) -> impl Iterator<Item = (HostId, u64, u64)> {
        self.tree.hosts().iter().map(|host| (host.id, host.lent, host.redone))
    }

    /// Jobs that were begun again after they had been lost, each once.
    pub fn redone(&self) -> u64 {
        self.tree.redone()
    }

    /// Adds to a run's figures what hosts do not count: jobs that were begun again, and how long workers computed.
    pub fn complete(&self, figures: &mut Figures) {
        figures.jobs.redone = self.redone();
        let computed = (0_u32..).zip(self.tree.hosts()).map(|(place, _)| self.timeline.computed_s(place));
        // Figures are saved a moment before the timeline is, and a restart may have come in between. The sum of nothing would
        // be a negative zero.
        figures.computed_s = computed.fold(0.0, |sum, of_host| sum + of_host).max(figures.computed_s);
        let mut of_others = figures.jobs.redone;
        for row in &mut figures.by_host {
            let known = HostId::parse(&row.host).and_then(|id| self.tree.known_host(id));
            let (redone, computed_s) =
                known.map(|(place, host)| (host.redone, self.timeline.computed_s(place))).unwrap_or_default();
            (row.jobs.redone, row.computed_s) = (redone, row.computed_s.max(computed_s));
            of_others = of_others.saturating_sub(redone);
        }
        if of_others > 0 {
            Self::add_redone_elsewhere(&mut figures.by_host, of_others);
        }
    }

    /// Jobs that were begun again by hosts that have no row: by one of the first to go, or under an id that a host's process
    /// had before the coordinator was started again.
    fn add_redone_elsewhere(rows: &mut Vec<HostOfRun>, redone: u64) {
        let long_gone = LONG_GONE.to_string();
        match rows.iter_mut().find(|row| row.host == long_gone) {
            Some(row) => row.jobs.redone = row.jobs.redone.saturating_add(redone),
            None => {
                let jobs = JobCounts { redone, ..JobCounts::default() };
                rows.push(HostOfRun { host: long_gone, jobs, ..HostOfRun::default() });
            }
        }
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // A string takes all that is written to it.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// What parameters most likely are, if they are text with its length before it.
fn as_text(bytes: &[u8]) -> Option<String> {
    let (length, text) = bytes.split_first()?;
    let text = std::str::from_utf8(text).ok()?;
    let is_text = usize::from(*length) == text.len() && text.len() > 1 && !text.chars().any(char::is_control);
    is_text.then(|| text.to_owned())
}
