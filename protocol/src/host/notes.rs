//! Notes of what happened to jobs, for the tree that is shown to people.

use crate::limits::{NOTED_PARAMETERS_BYTES_MAX, NOTED_PARAMETERS_WAITING_BYTES_MAX, NOTES_WAITING_MAX};
use crate::message::{JobNote, NoteKind};
use crate::{JobSpec, ROOT_KIND, RunId, Time};

use super::Host;

/// Notes of what happened to jobs, to be sent with the next report.
#[derive(Debug, Default)]
pub struct Notes {
    /// Each note with the time of its event.
    waiting: Vec<(Time, JobNote)>,
    pub dropped: u64,
    /// The length of all their parameters, in bytes.
    bytes: usize,
}

impl Notes {
    /// The number of notes that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a note may carry these parameters.
    pub fn has_room_for(&self, parameters: &[u8]) -> bool {
        parameters.len() <= NOTED_PARAMETERS_BYTES_MAX
            && self.bytes + parameters.len() <= NOTED_PARAMETERS_WAITING_BYTES_MAX
    }

    /// Adds a note of something that happened at the time `when`.
    pub fn add(&mut self, when: Time, mut note: JobNote) {
        if self.waiting.len() >= NOTES_WAITING_MAX {
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        note.parameters = note.parameters.filter(|parameters| self.has_room_for(parameters));
        self.bytes += note.parameters.as_ref().map_or(0, Vec::len);
        self.waiting.push((when, note));
    }

    /// Takes all notes, each with the time for which it has waited.
    pub fn take(&mut self, now: Time) -> Vec<JobNote> {
        self.bytes = 0;
        let notes = std::mem::take(&mut self.waiting).into_iter().map(|(when, mut note)| {
            note.ago_ms = u32::try_from(now.since(when).as_millis()).unwrap_or(u32::MAX);
            note
        });
        notes.collect()
    }
}

/// About how many bytes a note takes besides its parameters.
const NOTE_BYTES: usize = 64;

/// About how many bytes a note takes in a message.
pub fn note_bytes(note: &JobNote) -> usize {
    NOTE_BYTES + note.parameters.as_ref().map_or(0, Vec::len)
}

impl Host {
    /// Counts and notes how a job has ended that this host ran for others; `was_begun` is that of [`Held`](super::held::Held).
    pub(super) fn note_ended(&mut self, run: RunId, (spec, was_begun): (&JobSpec, bool), what: NoteKind) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let held = &mut host_run.reporting.own_mut().held[usize::from(was_begun)];
        match what {
            // Jobs are counted as begun when they come.
            NoteKind::Begun { .. } => {}
            NoteKind::Done { .. } => held.done += 1,
            NoteKind::Failed => held.failed += 1,
            NoteKind::Aborted => held.aborted += 1,
            NoteKind::Lost | NoteKind::GivenBack | NoteKind::Reused | NoteKind::Adopted => {}
        }
        self.note(run, spec, what);
    }

    /// Notes that something happened to a job.
    pub(super) fn note(&mut self, run: RunId, spec: &JobSpec, what: NoteKind) {
        let latest = self.latest;
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        // Jobs that are done or lost have begun, and a note has their parameters. Reused and adopted jobs may never
        // begin here, and people may want to run them again, too.
        let is_first = matches!(what, NoteKind::Begun { .. } | NoteKind::Reused | NoteKind::Adopted);
        let has_parameters = is_first && spec.kind != ROOT_KIND;
        let note = JobNote {
            job: spec.key.tag(),
            parent: spec.lineage.0.last().copied(),
            kind: spec.kind,
            depth: spec.depth,
            what,
            ago_ms: 0,
            parameters: has_parameters.then(|| host_run.reporting.noted(&spec.parameters)).flatten(),
            shares: !spec.objects.is_empty(),
        };
        host_run.reporting.note(latest, note);
    }
}
