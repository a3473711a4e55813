//! Jobs that are not kept: they are counted, and the newest of them are remembered.

use std::collections::{BTreeMap, HashMap, VecDeque};

use sateen_protocol::JobTag;
use sateen_protocol::message::{JobNote, NoteKind};

use super::node::{DepthCounts, short_depth};
use crate::chronicle::state::Group;
use crate::limits::TREE_ROLLED_REMEMBERED_MAX;

/// A job that is not kept.
#[derive(Debug, Clone, Copy)]
pub struct Rolled {
    /// Its parent.
    pub above: Option<JobTag>,
    /// Spawns below the root.
    pub depth: u16,
    /// Its state.
    pub group: Group,
    /// The run has been suspended since the job was begun: whatever its state, it is not lost.
    pub is_dropped: bool,
}

/// Jobs that were begun and are not kept.
#[derive(Debug, Default)]
pub struct RolledUp {
    /// Their number.
    count: u64,
    /// By depth.
    depths: BTreeMap<u16, DepthCounts>,
    /// The newest jobs.
    of: HashMap<JobTag, Rolled>,
    newest: VecDeque<JobTag>,
}

impl RolledUp {
    /// Restores the counts; no job is remembered.
    pub fn restore(count: u64, depths: impl Iterator<Item = (u16, DepthCounts)>) -> Self {
        Self { count, depths: depths.collect(), ..Self::default() }
    }

    /// Their number. A job may be counted more than once.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their number at each depth.
    pub fn depths(&self) -> impl Iterator<Item = (u16, DepthCounts)> {
        self.depths.iter().map(|(depth, counts)| (*depth, *counts))
    }

    /// The parent of a remembered job.
    pub fn above(&self, tag: JobTag) -> Option<JobTag> {
        self.of.get(&tag)?.above
    }

    /// Adds a job.
    pub fn add(&mut self, tag: JobTag, rolled: Rolled) {
        self.depths.entry(rolled.depth).or_default().add(rolled.group);
        self.count = self.count.saturating_add(1);
        self.of.insert(tag, rolled);
        self.newest.push_back(tag);
        if self.newest.len() > TREE_ROLLED_REMEMBERED_MAX
            && let Some(oldest) = self.newest.pop_front()
        {
            self.of.remove(&oldest);
        }
    }

    /// Removes a job, if it is remembered: it is kept from now on.
    pub fn take(&mut self, tag: JobTag) -> Option<Rolled> {
        let rolled = self.of.remove(&tag)?;
        self.depths.entry(rolled.depth).or_default().take(rolled.group);
        self.count = self.count.saturating_sub(1);
        Some(rolled)
    }

    /// Whether a job is remembered and has no result.
    pub fn is_lost(&self, tag: JobTag) -> bool {
        self.of.get(&tag).is_some_and(|rolled| rolled.group != Group::Done && !rolled.is_dropped)
    }

    /// The run is resumed after a suspension: see [`go_on`](super::Tree::go_on).
    pub fn drop_all(&mut self) {
        self.of.values_mut().for_each(|rolled| rolled.is_dropped = true);
    }

    /// None of them runs any more.
    pub fn abort_all(&mut self) {
        for counts in self.depths.values_mut() {
            counts.other = counts.other.saturating_add(std::mem::take(&mut counts.running));
        }
        for rolled in self.of.values_mut().filter(|rolled| rolled.group == Group::Running) {
            rolled.group = Group::Other;
        }
    }

    /// Whether a job is remembered and stays rolled up, as this note does not start it: only its counts change.
    pub fn stays(&self, note: &JobNote) -> bool {
        let Some(rolled) = self.of.get(&note.job) else { return false };
        match note.what {
            NoteKind::Begun { .. } => false,
            NoteKind::Adopted => rolled.group == Group::Done,
            _ => true,
        }
    }

    /// Something happened to a job that is not kept. If it was not remembered, returns what is to be added. `is_over` if the
    /// run is over.
    pub fn note(&mut self, note: &JobNote, is_over: bool) -> Option<Rolled> {
        let known = self.of.get_mut(&note.job);
        let is_done = known.as_ref().is_some_and(|rolled| rolled.group == Group::Done);
        let group = match note.what {
            NoteKind::Aborted | NoteKind::Adopted if is_done => return None,
            NoteKind::Begun { .. } | NoteKind::Adopted if is_over => Group::Other,
            NoteKind::Begun { .. } | NoteKind::Adopted => Group::Running,
            NoteKind::Done { .. } | NoteKind::Reused => Group::Done,
            NoteKind::Failed | NoteKind::Aborted | NoteKind::Lost | NoteKind::GivenBack => Group::Other,
        };
        if let Some(rolled) = known {
            let before = std::mem::replace(&mut rolled.group, group);
            rolled.is_dropped &= !matches!(note.what, NoteKind::Begun { .. });
            let counts = self.depths.entry(rolled.depth).or_default();
            counts.take(before);
            counts.add(group);
            return None;
        }
        let depth = short_depth(note.depth);
        let counts = self.depths.entry(depth).or_default();
        if group != Group::Running && counts.running > 0 {
            // A running job that is not remembered.
            counts.take(Group::Running);
            counts.add(group);
            return None;
        }
        Some(Rolled { above: note.parent, depth, group, is_dropped: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: NoteKind = NoteKind::Begun { victim: None, redone: false, worker: 0 };
    const DONE: NoteKind = NoteKind::Done { work_ns: 1 };

    fn note(job: u64, what: NoteKind) -> JobNote {
        let (parent, parameters) = (Some(JobTag(1)), None);
        JobNote { job: JobTag(job), parent, kind: 0, depth: 1, what, ago_ms: 0, parameters, shares: false }
    }

    fn tell(rolled: &mut RolledUp, job: u64, what: NoteKind) {
        if let Some(new) = rolled.note(&note(job, what), false) {
            rolled.add(JobTag(job), new);
        }
    }

    fn counts(rolled: &RolledUp) -> [u64; 4] {
        let of_depth = rolled.depths().find(|(depth, _)| *depth == 1).map(|(_, counts)| counts);
        let DepthCounts { running, done, other } = of_depth.unwrap_or_default();
        [rolled.count(), running, done, other]
    }

    #[test]
    fn each_job_is_counted_once_whatever_is_reported() {
        let mut rolled = RolledUp::default();
        for (job, what) in [(2, BEGUN), (3, BEGUN), (2, DONE), (2, NoteKind::Aborted), (2, NoteKind::Adopted)]
        {
            tell(&mut rolled, job, what);
        }
        assert_eq!(counts(&rolled), [2, 1, 1, 0]);
        assert_eq!((rolled.above(JobTag(2)), rolled.above(JobTag(9))), (Some(JobTag(1)), None));
        let stays = |rolled: &RolledUp, job, what| rolled.stays(&note(job, what));
        assert!(stays(&rolled, 2, NoteKind::Adopted) && !stays(&rolled, 3, NoteKind::Adopted));
        assert!(stays(&rolled, 3, NoteKind::Lost) && !stays(&rolled, 3, BEGUN) && !stays(&rolled, 9, DONE));
        // A job that is not remembered is counted as running.
        tell(&mut rolled, 9, DONE);
        assert_eq!(counts(&rolled), [2, 0, 2, 0]);
        assert_eq!(rolled.take(JobTag(2)).map(|rolled| rolled.group), Some(Group::Done));
        assert!(rolled.take(JobTag(2)).is_none());
        assert_eq!(counts(&rolled), [1, 0, 1, 0]);
        let restored = RolledUp::restore(rolled.count(), rolled.depths());
        assert_eq!((counts(&restored), restored.above(JobTag(3))), (counts(&rolled), None));
    }

    #[test]
    fn a_job_without_a_result_is_lost_unless_the_run_was_suspended_since() {
        let mut rolled = RolledUp::default();
        tell(&mut rolled, 2, BEGUN);
        tell(&mut rolled, 3, BEGUN);
        tell(&mut rolled, 3, DONE);
        let lost = |rolled: &RolledUp| [2, 3, 4].map(|job| rolled.is_lost(JobTag(job)));
        assert_eq!(lost(&rolled), [true, false, false]);
        rolled.drop_all();
        assert_eq!(lost(&rolled), [false; 3]);
        tell(&mut rolled, 2, BEGUN);
        assert_eq!(lost(&rolled), [true, false, false]);
        rolled.abort_all();
        assert_eq!(counts(&rolled), [2, 0, 1, 1]);
        assert!(rolled.note(&note(4, BEGUN), true).is_some_and(|new| new.group == Group::Other));
    }
}
