//! What people can look at while a run goes on, and after: its tree and its log. Bounded; what has changed
//! is saved now and then, so that a restart forgets no more than the last moment.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, RunId};

use serde::{Deserialize, Serialize};

use crate::api::types::{Log, LogLine, Node, Tree, seconds};
use crate::limits::{
    CHRONICLES_OF_ENDED_RUNS_MAX, LOG_BYTES_MAX, LOG_LINES_MAX, TREE_NODES_MAX, TREE_PARAMETERS_BYTES_MAX,
};
use crate::module::About;

/// The chronicles of all runs.
#[derive(Debug, Default)]
pub struct Chronicles {
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    of: HashMap<RunId, Arc<Mutex<Chronicle>>>,
    ended: VecDeque<RunId>,
    /// To be forgotten on disk.
    dropped: Vec<RunId>,
}

/// The tree and the log of one run.
#[derive(Debug, Default)]
pub struct Chronicle {
    nodes: Vec<KnownJob>,
    place: BTreeMap<JobTag, usize>,
    /// Jobs that this tree has no room for. One of them may be counted more than once.
    without_room: u64,
    /// What hosts say that they left out.
    left_out: u64,
    parameters_bytes: usize,
    names: BTreeMap<HostId, String>,
    lines: VecDeque<LogLine>,
    line_bytes: usize,
    last_line: u64,
    /// Places of jobs that are to be saved.
    changed: BTreeSet<usize>,
    /// Lines up to this one are saved, or were dropped.
    saved_line: u64,
    saved_summary: Summary,
}

/// What there is of a chronicle beside its jobs and lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    without_room: u64,
    left_out: u64,
    names: BTreeMap<HostId, String>,
    last_line: u64,
}

/// What is to be saved of a run's chronicle.
#[derive(Debug)]
pub struct ChronicleChanges {
    /// Which run.
    pub run: RunId,
    /// Jobs that are new or have changed, each with its place.
    pub jobs: Vec<(usize, KnownJob)>,
    /// New lines.
    pub lines: Vec<LogLine>,
    /// Lines before this one are dropped.
    pub first_line: u64,
    /// The rest.
    pub summary: Summary,
}

/// A job of a tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KnownJob {
    job: JobTag,
    parent: Option<JobTag>,
    kind: u32,
    depth: u32,
    host: HostId,
    state: JobState,
    redone: bool,
    work_ns: Option<u64>,
    parameters: Parameters,
}

/// What was heard of a job last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum JobState {
    Running,
    Done,
    Failed,
    Aborted,
    Lost,
    Reused,
    Adopted,
}

/// What is known of a job's parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parameters {
    /// These are they.
    Known(Box<[u8]>),
    /// Its host did not send them; the root's are in its run.
    NotSent,
    /// They came when there was no room left for them.
    NoRoom,
}

/// A job as those see it who want to run it again.
#[derive(Debug, Clone)]
pub struct FoundJob {
    /// The beginning of its key.
    pub job: JobTag,
    /// As in a [`JobSpec`](sateen_protocol::JobSpec).
    pub kind: u32,
    /// Spawns below the root.
    pub depth: u32,
    /// What is known of them.
    pub parameters: Parameters,
}

impl JobState {
    fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Lost => "lost",
            Self::Reused => "reused",
            Self::Adopted => "adopted",
        }
    }
}

impl KnownJob {
    fn parameters_bytes(&self) -> usize {
        match &self.parameters {
            Parameters::Known(bytes) => bytes.len(),
            Parameters::NotSent | Parameters::NoRoom => 0,
        }
    }

    fn has_parameters(&self) -> bool {
        matches!(self.parameters, Parameters::Known(_))
    }
}

impl Chronicles {
    /// The run begins.
    pub fn begin(&self, run: RunId) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).of.entry(run).or_default();
    }

    /// The chronicle of a run, if it has one.
    pub fn get(&self, run: RunId) -> Option<Arc<Mutex<Chronicle>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).of.get(&run).cloned()
    }

    /// Jobs whose tags are `from` to `to`, of one run or of all, at most `limit`; those of the newest run
    /// first.
    pub fn find(&self, run: Option<RunId>, from: JobTag, to: JobTag, limit: usize) -> Vec<(RunId, FoundJob)> {
        let mut chronicles: Vec<(RunId, Arc<Mutex<Chronicle>>)> = {
            let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = runs.of.iter().filter(|(of, _)| run.is_none_or(|run| run == **of));
            wanted.map(|(run, chronicle)| (*run, Arc::clone(chronicle))).collect()
        };
        chronicles.sort_by_key(|(run, _)| std::cmp::Reverse(*run));
        let mut found = Vec::new();
        for (run, chronicle) in chronicles {
            let chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
            let jobs = chronicle.find(from, to).take(limit - found.len());
            found.extend(jobs.map(|job| (run, job)));
        }
        found
    }

    /// A run's chronicle from before a restart.
    pub fn restore(&self, run: RunId, is_over: bool, chronicle: Chronicle) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.of.insert(run, Arc::new(Mutex::new(chronicle)));
        if is_over {
            runs.ended.push_back(run);
        }
    }

    /// What is to be saved of all of them, at most so many jobs; and the runs whose chronicles are to be
    /// forgotten.
    pub fn changes(&self, jobs_max: usize) -> (Vec<ChronicleChanges>, Vec<RunId>) {
        let (all, dropped) = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            let all: Vec<_> = runs.of.iter().map(|(run, chronicle)| (*run, Arc::clone(chronicle))).collect();
            (all, std::mem::take(&mut runs.dropped))
        };
        let mut left = jobs_max;
        let mut changes = Vec::new();
        for (run, chronicle) in all {
            let mut chronicle = chronicle.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(change) = chronicle.changes(run, left) {
                left -= change.jobs.len();
                changes.push(change);
            }
            if left == 0 {
                break;
            }
        }
        (changes, dropped)
    }

    /// What was taken could not be saved.
    pub fn save_again(&self, taken: &[ChronicleChanges], dropped: Vec<RunId>) {
        for change in taken {
            if let Some(chronicle) = self.get(change.run) {
                chronicle.lock().unwrap_or_else(PoisonError::into_inner).save_all_again();
            }
        }
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).dropped.extend(dropped);
    }

    /// The run is over: its chronicle is kept until others push it out.
    pub fn end(&self, run: RunId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.ended.push_back(run);
        if runs.ended.len() > CHRONICLES_OF_ENDED_RUNS_MAX
            && let Some(oldest) = runs.ended.pop_front()
        {
            runs.of.remove(&oldest);
            runs.dropped.push(oldest);
        }
    }
}

impl Chronicle {
    /// Takes down what happened to jobs at a host.
    pub fn note(&mut self, host: HostId, name: &str, notes: &[JobNote]) {
        self.names.entry(host).or_insert_with(|| name.to_owned());
        for note in notes {
            let room = TREE_PARAMETERS_BYTES_MAX.saturating_sub(self.parameters_bytes);
            let Some(known) = self.known(host, note) else {
                self.without_room += u64::from(matches!(note.what, NoteKind::Begun { .. }));
                continue;
            };
            let mut kept_bytes = 0;
            if let (Some(parameters), false) = (&note.parameters, known.has_parameters()) {
                known.parameters = if parameters.len() <= room {
                    kept_bytes = parameters.len();
                    Parameters::Known(parameters.as_slice().into())
                } else {
                    Parameters::NoRoom
                };
            }
            match note.what {
                NoteKind::Begun { redone, .. } => {
                    (known.host, known.state, known.work_ns) = (host, JobState::Running, None);
                    known.redone |= redone;
                }
                NoteKind::Done { work_ns } => (known.state, known.work_ns) = (JobState::Done, Some(work_ns)),
                NoteKind::Failed => known.state = JobState::Failed,
                // A job that is done twice may be done before the second is stopped.
                NoteKind::Aborted if known.state == JobState::Done => {}
                NoteKind::Aborted => known.state = JobState::Aborted,
                NoteKind::Lost => known.state = JobState::Lost,
                NoteKind::Reused => known.state = JobState::Reused,
                // It may have come to its end before this was heard.
                NoteKind::Adopted if known.state == JobState::Done => {}
                NoteKind::Adopted => known.state = JobState::Adopted,
            }
            self.parameters_bytes += kept_bytes;
        }
    }

    fn known(&mut self, host: HostId, note: &JobNote) -> Option<&mut KnownJob> {
        let place = match self.place.get(&note.job) {
            Some(place) => *place,
            None if self.nodes.len() >= TREE_NODES_MAX => return None,
            None => {
                let place = self.nodes.len();
                self.place.insert(note.job, place);
                self.nodes.push(KnownJob {
                    job: note.job,
                    parent: note.parent,
                    kind: note.kind,
                    depth: note.depth,
                    host,
                    state: JobState::Running,
                    redone: false,
                    work_ns: None,
                    parameters: Parameters::NotSent,
                });
                place
            }
        };
        self.changed.insert(place);
        self.nodes.get_mut(place)
    }

    /// The jobs whose tags are `from` to `to`, in their order.
    pub fn find(&self, from: JobTag, to: JobTag) -> impl Iterator<Item = FoundJob> {
        let places = self.place.range(from..=to).filter_map(|(_, place)| self.nodes.get(*place));
        places.map(|known| FoundJob {
            job: known.job,
            kind: known.kind,
            depth: known.depth,
            parameters: known.parameters.clone(),
        })
    }

    /// A host has left out so many more notes.
    pub fn left_out(&mut self, notes: u64) {
        self.left_out = self.left_out.saturating_add(notes);
    }

    /// Takes down lines of the app's log.
    pub fn log(&mut self, host: HostId, lines: Vec<(String, String)>) {
        for (job, text) in lines {
            self.last_line += 1;
            self.line_bytes += job.len() + text.len();
            self.lines.push_back(LogLine { number: self.last_line, host: host.to_string(), job, text });
            while self.lines.len() > LOG_LINES_MAX || self.line_bytes > LOG_BYTES_MAX {
                let Some(line) = self.lines.pop_front() else { break };
                self.line_bytes -= line.job.len() + line.text.len();
            }
        }
    }

    /// What is to be saved of it since the last time, at most so many jobs; `None` if nothing is.
    fn changes(&mut self, run: RunId, jobs_max: usize) -> Option<ChronicleChanges> {
        let summary = Summary {
            without_room: self.without_room,
            left_out: self.left_out,
            names: self.names.clone(),
            last_line: self.last_line,
        };
        if self.changed.is_empty() && summary == self.saved_summary {
            return None;
        }
        let places: Vec<usize> = self.changed.iter().take(jobs_max).copied().collect();
        for place in &places {
            self.changed.remove(place);
        }
        let jobs = places.into_iter().filter_map(|place| Some((place, self.nodes.get(place)?.clone())));
        let jobs = jobs.collect();
        let lines = self.lines.iter().filter(|line| line.number > self.saved_line).cloned().collect();
        self.saved_line = self.last_line;
        self.saved_summary = summary.clone();
        let first_line = self.lines.front().map_or(self.last_line + 1, |line| line.number);
        Some(ChronicleChanges { run, jobs, lines, first_line, summary })
    }

    /// What was taken could not be saved: all of it is to be saved once more.
    fn save_all_again(&mut self) {
        self.changed = (0..self.nodes.len()).collect();
        self.saved_line = 0;
        self.saved_summary = Summary::default();
    }

    /// As it was saved. What is missing of it is missing.
    pub fn restore(jobs: Vec<KnownJob>, lines: Vec<LogLine>, summary: Summary) -> Self {
        Self {
            place: jobs.iter().enumerate().map(|(place, known)| (known.job, place)).collect(),
            parameters_bytes: jobs.iter().map(KnownJob::parameters_bytes).sum(),
            nodes: jobs,
            without_room: summary.without_room,
            left_out: summary.left_out,
            names: summary.names.clone(),
            line_bytes: lines.iter().map(|line| line.job.len() + line.text.len()).sum(),
            lines: lines.into(),
            last_line: summary.last_line,
            changed: BTreeSet::new(),
            saved_line: summary.last_line,
            saved_summary: summary,
        }
    }

    /// The lines after this one.
    pub fn lines_after(&self, after: u64) -> Log {
        let first_kept = self.lines.front().map_or(self.last_line + 1, |line| line.number);
        Log {
            lines: self.lines.iter().filter(|line| line.number > after).cloned().collect(),
            dropped: first_kept.saturating_sub(after + 1),
        }
    }

    /// The tree, with names for kinds.
    pub fn tree(&self, about: &About, entry_point: &str) -> Tree {
        let nodes = self.nodes.iter().map(|known| Node {
            job: known.job.to_string(),
            parent: known.parent.map(|parent| parent.to_string()),
            function: about.job(known.kind, entry_point).to_owned(),
            depth: known.depth,
            host: known.host.to_string(),
            host_name: self.names.get(&known.host).cloned().unwrap_or_default(),
            state: known.state.word(),
            redone: known.redone,
            work_s: known.work_ns.map(seconds),
        });
        Tree { nodes: nodes.collect(), left_out: self.without_room.saturating_add(self.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About {
            determinism: "integer".to_owned(),
            entry_points: vec!["main".to_owned()],
            jobs: vec!["f".to_owned()],
        }
    }

    fn note(job: u64, what: NoteKind) -> JobNote {
        let parent = (job > 1).then_some(JobTag(1));
        JobNote { job: JobTag(job), parent, kind: 0, depth: 1, what, parameters: None }
    }

    fn begun(job: u64, parameters: Option<Vec<u8>>) -> JobNote {
        JobNote { parameters, ..note(job, NoteKind::Begun { victim: None, redone: false }) }
    }

    #[test]
    fn parameters_are_kept_as_long_as_there_is_room() {
        let mut chronicle = Chronicle::default();
        let large = vec![7; TREE_PARAMETERS_BYTES_MAX - 3];
        chronicle.note(
            HostId(1),
            "one",
            &[begun(1, None), begun(2, Some(large)), begun(3, Some(vec![1; 4]))],
        );
        // Once more is no more.
        chronicle.note(HostId(2), "two", &[begun(2, Some(vec![8])), begun(4, Some(vec![1; 3]))]);
        let found: Vec<FoundJob> = chronicle.find(JobTag(0), JobTag(9)).collect();
        let known = |job: usize| match &found[job - 1].parameters {
            Parameters::Known(bytes) => bytes.len(),
            _ => 0,
        };
        assert_eq!((known(2), known(4)), (TREE_PARAMETERS_BYTES_MAX - 3, 3));
        assert_eq!((&found[0].parameters, &found[2].parameters), (&Parameters::NotSent, &Parameters::NoRoom));
        assert_eq!(chronicle.find(JobTag(2), JobTag(3)).count(), 2);
    }

    #[test]
    fn a_job_that_is_done_again_elsewhere_is_shown_there() {
        let mut chronicle = Chronicle::default();
        let begun = |redone| NoteKind::Begun { victim: None, redone };
        chronicle.note(HostId(1), "one", &[note(1, begun(false)), note(2, begun(false))]);
        chronicle.note(HostId(3), "three", &[note(2, NoteKind::Lost)]);
        chronicle.note(HostId(2), "two", &[note(2, begun(true)), note(2, NoteKind::Done { work_ns: 5 })]);
        let tree = chronicle.tree(&about(), "main");
        assert_eq!(tree.nodes.len(), 2);
        let node = &tree.nodes[1];
        assert_eq!((node.host.as_str(), node.state, node.redone), ("h2", "done", true));
        assert_eq!((node.function.as_str(), node.host_name.as_str()), ("f", "two"));
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut chronicle = Chronicle::default();
        for job in 0..TREE_NODES_MAX as u64 + 7 {
            chronicle.note(HostId(1), "one", &[note(job, NoteKind::Begun { victim: None, redone: false })]);
        }
        chronicle.left_out(3);
        let tree = chronicle.tree(&about(), "main");
        assert_eq!((tree.nodes.len(), tree.left_out), (TREE_NODES_MAX, 10));
    }

    #[test]
    fn old_lines_are_dropped_and_counted() {
        let mut chronicle = Chronicle::default();
        let lines = (0..LOG_LINES_MAX + 5).map(|line| ("f".to_owned(), line.to_string())).collect();
        chronicle.log(HostId(1), lines);
        let log = chronicle.lines_after(0);
        assert_eq!((log.lines.len(), log.dropped), (LOG_LINES_MAX, 5));
        let log = chronicle.lines_after(LOG_LINES_MAX as u64 + 4);
        assert_eq!((log.lines.len(), log.dropped), (1, 0));
    }
}
