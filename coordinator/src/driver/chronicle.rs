//! What people can look at while a run goes on: its tree and its log. Bounded, in memory only, and
//! gone when the coordinator is started again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, RunId};

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
}

#[derive(Debug, Clone)]
struct KnownJob {
    job: JobTag,
    parent: Option<JobTag>,
    kind: u32,
    depth: u32,
    host: HostId,
    state: &'static str,
    redone: bool,
    work_ns: Option<u64>,
    parameters: Parameters,
}

/// What is known of a job's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl KnownJob {
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

    /// The run is over: its chronicle is kept until others push it out.
    pub fn end(&self, run: RunId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.ended.push_back(run);
        if runs.ended.len() > CHRONICLES_OF_ENDED_RUNS_MAX
            && let Some(oldest) = runs.ended.pop_front()
        {
            runs.of.remove(&oldest);
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
                    (known.host, known.state, known.work_ns) = (host, "running", None);
                    known.redone |= redone;
                }
                NoteKind::Done { work_ns } => (known.state, known.work_ns) = ("done", Some(work_ns)),
                NoteKind::Failed => known.state = "failed",
                NoteKind::Aborted => known.state = "aborted",
                NoteKind::Lost => known.state = "lost",
                NoteKind::Reused => known.state = "reused",
                NoteKind::Adopted => {
                    // It may have come to its end before this was heard.
                    if known.state != "done" {
                        known.state = "adopted";
                    }
                }
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
                    state: "running",
                    redone: false,
                    work_ns: None,
                    parameters: Parameters::NotSent,
                });
                place
            }
        };
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
            state: known.state,
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
