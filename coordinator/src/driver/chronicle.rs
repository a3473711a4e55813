//! What people can look at while a run goes on: its tree and its log. Bounded, in memory only, and
//! gone when the coordinator is started again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, RunId};

use crate::api::types::{Log, LogLine, Node, Tree, seconds};
use crate::limits::{CHRONICLES_OF_ENDED_RUNS_MAX, LOG_BYTES_MAX, LOG_LINES_MAX, TREE_NODES_MAX};
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
            let Some(known) = self.known(host, note) else {
                self.without_room += u64::from(matches!(note.what, NoteKind::Begun { .. }));
                continue;
            };
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
                });
                place
            }
        };
        self.nodes.get_mut(place)
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
        JobNote { job: JobTag(job), parent: (job > 1).then_some(JobTag(1)), kind: 0, depth: 1, what }
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
