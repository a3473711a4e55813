//! The jobs that a guest calls in place and whose results it will report, and the part of its work that other
//! hosts can reuse.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::message::NoteKind;

use super::Guest;
use super::catch_up::Before;
use crate::scheduler::{Job, LazyKey};

/// Maximum recorded ancestors within its instance that are sent with a job.
const RECORDED_ABOVE_MAX: usize = 16;

/// A job that the guest calls in place and whose result it will report.
pub struct Recording {
    pub job: Arc<Job>,
    pub key: Arc<LazyKey>,
    /// It, or a job above it, was lost in a crash.
    pub is_redone: bool,
    /// If it was begun before: the state to restore when it ends.
    pub before: Option<Before>,
    /// The reading of the clock at its start.
    pub work: Duration,
    pub span: Duration,
}

/// A recording that has not ended.
struct Call {
    number: u32,
    recording: Recording,
    /// The depth to which spawns were looked up outside of it.
    outer_lookup_bound: u32,
    /// Work within it, but not within another recording, whose result others can have.
    saved: Duration,
}

/// A recording that has ended.
pub struct Ended {
    pub recording: Recording,
    /// Work within it, but not within another recording, whose result others can have.
    pub saved: Duration,
}

/// Calls in place that will be reported.
#[derive(Default)]
pub struct Recordings {
    /// The innermost last.
    calls: Vec<Call>,
    /// Spawns from less than this depth are looked up, while lookups may find anything.
    lookup_bound: u32,
    /// Work outside of them whose result others can reuse.
    saved: Duration,
    /// The minimum of the instance's unsaved work at all heartbeats since its host began to leave.
    least_unsaved: Option<Duration>,
}

impl Recordings {
    /// The number of recordings.
    pub fn count(&self) -> usize {
        self.calls.len()
    }

    /// Spawns from less than this depth are looked up, while lookups may find anything.
    pub fn lookup_bound(&self) -> u32 {
        self.lookup_bound
    }

    /// The same outside of all calls in place; there are none yet.
    pub fn set_lookup_bound(&mut self, bound: u32) {
        self.lookup_bound = bound;
    }

    /// The job `number` is called in place; its own spawns are looked up down to `lookup_bound`.
    pub fn begin(&mut self, number: u32, recording: Recording, lookup_bound: u32) {
        let outer_lookup_bound = self.lookup_bound;
        self.lookup_bound = outer_lookup_bound.max(lookup_bound);
        self.calls.push(Call { number, recording, outer_lookup_bound, saved: Duration::ZERO });
    }

    /// The recording of the job `number`.
    pub fn find(&self, number: u32) -> Option<&Recording> {
        let call = self.calls.iter().rfind(|call| call.number == number)?;
        Some(&call.recording)
    }

    /// Its index, the outermost first.
    fn position(&self, number: u32) -> Option<usize> {
        self.calls.iter().rposition(|call| call.number == number)
    }

    /// The innermost recording ends: its number and its data.
    fn pop(&mut self) -> Option<(u32, Ended)> {
        let Call { number, recording, outer_lookup_bound, saved } = self.calls.pop()?;
        self.lookup_bound = outer_lookup_bound;
        Some((number, Ended { recording, saved }))
    }

    /// The calls around a job that was spawned at this depth: its own record is superfluous once one of them is
    /// recorded. The innermost calls suffice.
    pub fn above(&self, depth: u32) -> Vec<Arc<LazyKey>> {
        let above: Vec<&Recording> =
            self.recordings().filter(|recording| recording.job.spawned_at < depth).collect();
        let skipped = above.len().saturating_sub(RECORDED_ABOVE_MAX);
        above.into_iter().skip(skipped).map(|recording| recording.key.clone()).collect()
    }

    /// Whether a spawn from this depth belongs to a job called in place that was lost in a crash.
    pub fn is_redone_above(&self, depth: u32) -> bool {
        self.recordings().any(|recording| recording.is_redone && recording.job.spawned_at < depth)
    }

    fn recordings(&self) -> impl Iterator<Item = &Recording> {
        self.calls.iter().map(|call| &call.recording)
    }

    /// Counts work whose result others can reuse.
    pub fn count_saved(&mut self, work: Duration) {
        let saved = self.calls.last_mut().map_or(&mut self.saved, |call| &mut call.saved);
        *saved = saved.saturating_add(work);
    }

    /// All work whose result others can reuse.
    pub fn saved(&self) -> Duration {
        let within: Duration = self.calls.iter().map(|call| call.saved).sum();
        within.saturating_add(self.saved)
    }

    /// Notes the unsaved work, on a host that leaves.
    pub fn note_unsaved(&mut self, unsaved: Duration) {
        self.least_unsaved = Some(self.least_unsaved.map_or(unsaved, |least| least.min(unsaved)));
    }

    /// The minimum of unsaved work since the host began to leave.
    pub fn least_unsaved(&self) -> Option<Duration> {
        self.least_unsaved
    }
}

impl Guest {
    /// The recording of the job `number` ends; those within it trapped and will never end.
    pub fn end_recording(&mut self, number: u32, what: fn(work_ns: u64) -> NoteKind) -> Option<Ended> {
        let at = self.recordings.position(number)?;
        self.forget_recordings(at + 1);
        let ended = self.recordings.pop().map(|(_, ended)| ended);
        if let Some(ended) = &ended {
            self.end_repeating_of(&ended.recording, what);
        }
        self.children.free(number);
        ended
    }

    /// All recordings except the first `kept` have failed.
    pub fn forget_recordings(&mut self, kept: usize) {
        while self.recordings.count() > kept {
            if let Some((number, ended)) = self.recordings.pop() {
                self.end_repeating_of(&ended.recording, |_| NoteKind::Failed);
                self.children.free(number);
            }
        }
    }

    /// The instance is gone, with all jobs that it called in place, the outermost first.
    pub fn abort_recordings(&mut self) {
        for call in std::mem::take(&mut self.recordings.calls) {
            self.end_repeating_of(&call.recording, |_| NoteKind::Aborted);
        }
    }

    fn end_repeating_of(&mut self, recording: &Recording, what: fn(work_ns: u64) -> NoteKind) {
        if let Some(before) = &recording.before {
            self.end_repeating(&recording.job, before, recording.work, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{BlobHash, Bytes, JobKey, KeyMaker};

    use super::*;
    use crate::scheduler::Keys;

    const MS: Duration = Duration::from_millis(1);

    /// For a job that was spawned from this depth.
    fn recording(depth: u32, is_redone: bool) -> Recording {
        let root = KeyMaker::new(1, 0, BlobHash([0; 32]), "main", &[]);
        let keys = Arc::new(Keys { root, by_kind: Vec::new(), within_run: Vec::new(), run_name: Vec::new() });
        let mut job = Job::new(0, Bytes::default(), 1, Duration::ZERO);
        job.spawned_at = depth;
        let key = Arc::new(LazyKey::new(keys, job.kind, Vec::new(), depth.to_le_bytes().as_slice().into()));
        let (work, span) = (Duration::ZERO, Duration::ZERO);
        Recording { job: Arc::new(job), key, is_redone, before: None, work, span }
    }

    #[test]
    fn a_call_in_place_has_the_deeper_bound_and_then_the_outer_one_holds_again() {
        let mut recordings = Recordings::default();
        recordings.set_lookup_bound(3);
        recordings.begin(1, recording(0, false), 7);
        recordings.begin(2, recording(1, false), 5);
        assert_eq!(recordings.lookup_bound(), 7);
        assert_eq!(recordings.pop().map(|(number, _)| number), Some(2));
        assert_eq!(recordings.lookup_bound(), 7);
        assert_eq!(recordings.pop().map(|(number, _)| number), Some(1));
        assert_eq!((recordings.lookup_bound(), recordings.count()), (3, 0));
        assert!(recordings.pop().is_none());
    }

    #[test]
    fn saved_work_belongs_to_the_innermost_call() {
        let mut recordings = Recordings::default();
        recordings.count_saved(MS);
        recordings.begin(1, recording(0, false), 0);
        recordings.count_saved(2 * MS);
        recordings.begin(2, recording(1, false), 0);
        recordings.count_saved(4 * MS);
        assert_eq!(recordings.saved(), 7 * MS);
        assert_eq!(recordings.pop().map(|(_, ended)| ended.saved), Some(4 * MS));
        assert_eq!(recordings.saved(), 3 * MS);
    }

    #[test]
    fn the_least_unsaved_work_is_kept() {
        let mut recordings = Recordings::default();
        assert_eq!(recordings.least_unsaved(), None);
        [3, 1, 2].into_iter().for_each(|unsaved| recordings.note_unsaved(unsaved * MS));
        assert_eq!(recordings.least_unsaved(), Some(MS));
    }

    #[test]
    fn the_innermost_calls_above_a_spawn_travel_with_it() {
        let mut recordings = Recordings::default();
        let most = RECORDED_ABOVE_MAX as u32;
        for depth in 0..most + 2 {
            recordings.begin(depth + 1, recording(depth, depth == 4), 0);
        }
        let keys =
            |depth: u32| -> Vec<JobKey> { recordings.above(depth).iter().map(|key| key.get()).collect() };
        let of = |depth: u32| recordings.find(depth + 1).map(|recording| recording.key.get());
        assert!(keys(0).is_empty());
        assert_eq!(keys(2).into_iter().map(Some).collect::<Vec<_>>(), [of(0), of(1)]);
        let all = keys(most + 2);
        assert_eq!(
            (all.len(), all.first().copied(), all.last().copied()),
            (RECORDED_ABOVE_MAX, of(2), of(most + 1))
        );
        assert!(!recordings.is_redone_above(4) && recordings.is_redone_above(5));
    }
}
