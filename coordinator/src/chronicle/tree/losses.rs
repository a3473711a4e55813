//! Jobs that were lost with their hosts, and those of them that were begun again.

use std::collections::HashSet;

use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, ROOT_KIND};

use super::Tree;
use super::node::{Node, REDONE, ROOT};
use super::running::Ending;
use crate::chronicle::state::JobState;
use crate::limits::TREE_ROLLED_REMEMBERED_MAX;

/// What is known about lost jobs.
#[derive(Debug, Default)]
pub struct Losses {
    /// Lost jobs of which an equal one was begun elsewhere since: their state does not show that they have not been begun
    /// again yet.
    beside: HashSet<JobTag>,
    /// The number of jobs that were begun again after they had been lost.
    redone: u64,
    /// When the run was last resumed: jobs that were begun before are not lost.
    went_on_ms: u32,
}

impl Losses {
    /// Of a run that was last resumed at this time.
    pub fn since(went_on_ms: u32) -> Self {
        Self { went_on_ms, ..Self::default() }
    }

    /// Whether the run has been suspended since a job was begun, so that it would be begun again in any case. The loss of the
    /// root is counted at once, and is one whatever comes next.
    pub fn is_dropped(&self, node: &Node) -> bool {
        node.kind != ROOT && node.begun_ms < self.went_on_ms
    }

    /// A lost job was begun again.
    pub fn count_redone(&mut self) {
        self.redone = self.redone.saturating_add(1);
    }
}

impl Tree {
    /// Whether this note begins a lost job again. Equal jobs are one here, and an equal one that was not lost may be begun
    /// and done in between: so lost jobs that have still to begin are remembered.
    pub(super) fn begins_again(&mut self, note: &JobNote) -> bool {
        match note.what {
            NoteKind::Begun { redone: true, .. } => {
                self.losses.beside.remove(&note.job) || self.was_lost(note.job)
            }
            NoteKind::Begun { redone: false, .. } => {
                let has_room = self.losses.beside.len() < TREE_ROLLED_REMEMBERED_MAX;
                let is_lost = has_room && note.kind != ROOT_KIND && self.was_lost(note.job);
                if is_lost && self.place(note.job).is_some() {
                    self.losses.beside.insert(note.job);
                }
                false
            }
            NoteKind::Reused | NoteKind::Adopted => {
                self.losses.beside.remove(&note.job);
                false
            }
            _ => false,
        }
    }

    /// Whether a job was begun, and lost. Below a redone job there are others: new jobs, and jobs that have
    /// an equal one elsewhere in the tree.
    fn was_lost(&self, tag: JobTag) -> bool {
        let Some(node) = self.place(tag).and_then(|place| self.get(place)) else {
            return self.rolled.is_lost(tag);
        };
        let is_kept = node.state != JobState::GivenBack && !self.losses.is_dropped(node);
        is_kept && (node.state == JobState::Lost || self.hosts.has_lost(node.host))
    }

    pub(super) fn count_redone(&mut self, place: u32, host: u32) {
        let Some(node) = self.get_mut(place).filter(|node| !node.is_redone()) else {
            return self.redone_moves(place, host);
        };
        node.flags |= REDONE;
        self.losses.count_redone();
        self.hosts.redoes(host);
    }

    /// Another host begins a job that was begun again before: it counts there, as only its last host is saved.
    pub(super) fn redone_moves(&mut self, place: u32, host: u32) {
        let Some(was) = self.began_again(place) else { return };
        if self.get(place).is_some_and(|node| node.kind == ROOT) {
            self.root_began_again = None;
        }
        self.hosts.redone_moves(was, host);
    }

    /// The number of jobs that were begun again after they had been lost.
    pub fn redone(&self) -> u64 {
        self.losses.redone
    }

    /// A host is gone: its running jobs are lost, as [`Self::end_some`] gets to them, or were given back. Returns the number
    /// of these jobs, as far as they are kept.
    pub fn lose_host(&mut self, host: HostId, t_ms: u32, is_given_back: bool) -> usize {
        let Some(host) = self.hosts.place(host) else { return 0 };
        self.hosts.set_lost(host, !is_given_back);
        let running = self.running.count_at(host);
        if running > 0 {
            self.running.end_at(host, became(is_given_back), t_ms);
        }
        running
    }

    /// The run is suspended: no host has any of its jobs. Running jobs were given back, as [`Self::end_some`] gets to them.
    pub fn rest(&mut self, t_ms: u32) {
        self.running.end_all(Ending::GivenBack, t_ms);
        self.rolled.abort_all();
    }

    /// The run is resumed. All hosts dropped its jobs before: beginning these again
    /// is not a loss, even if their hosts have gone since, or went too shortly before to be counted as lost.
    pub fn go_on(&mut self, t_ms: u32) {
        // Those that begin from now on are running.
        self.end_some(usize::MAX);
        self.losses.went_on_ms = t_ms;
        self.losses.beside.clear();
        self.rolled.drop_all();
        self.hosts.set_all_lost(false);
    }

    /// When the run was last resumed; 0 if it never was.
    pub fn went_on_ms(&self) -> u32 {
        self.losses.went_on_ms
    }

    /// A host's process has another id, and thus another place: its counts move with it.
    pub fn rename_host(&mut self, was: u32, is: u32) {
        self.hosts.rename(was, is);
        self.root_began_again = self.root_began_again.map(|host| if host == was { is } else { host });
    }

    /// All hosts that have not been heard since a restart are gone: their running jobs are lost. Returns the number of these
    /// jobs, without those of hosts for which [`lose_host`](Self::lose_host) was called.
    pub fn lose_unheard(&mut self, t_ms: u32, is_given_back: bool) -> usize {
        let unheard = self.hosts.lost().filter(|host| !self.running.is_ending_at(*host));
        let unheard = unheard.map(|host| (host, self.running.count_at(host))).filter(|(_, jobs)| *jobs > 0);
        let running: Vec<(u32, usize)> = unheard.collect();
        for (host, _) in &running {
            self.running.end_at(*host, became(is_given_back), t_ms);
        }
        running.iter().map(|(_, jobs)| jobs).sum()
    }
}

/// The fate of jobs whose host is gone.
fn became(is_given_back: bool) -> Ending {
    if is_given_back { Ending::GivenBack } else { Ending::Lost }
}
