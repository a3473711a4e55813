//! Jobs that were lost with their hosts, and those of them that were begun again.

use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{HostId, JobTag, ROOT_KIND};

use super::node::{GIVEN_BACK, Node, REDONE};
use super::{Ending, Tree};
use crate::chronicle::state::JobState;
use crate::limits::TREE_ROLLED_REMEMBERED_MAX;

impl Tree {
    /// Whether a job that was lost begins again with this. Equal jobs are one here, and one that nobody lost may be begun
    /// and done in between: that the lost one has still to begin is remembered.
    pub(super) fn begins_again(&mut self, note: &JobNote) -> bool {
        match note.what {
            NoteKind::Begun { redone: true, .. } => {
                self.lost_beside.remove(&note.job) || self.was_lost(note.job)
            }
            NoteKind::Begun { redone: false, .. } => {
                let has_room = self.lost_beside.len() < TREE_ROLLED_REMEMBERED_MAX;
                let is_lost = has_room && note.kind != ROOT_KIND && self.was_lost(note.job);
                if is_lost && self.place(note.job).is_some() {
                    self.lost_beside.insert(note.job);
                }
                false
            }
            NoteKind::Reused | NoteKind::Adopted => {
                self.lost_beside.remove(&note.job);
                false
            }
            _ => false,
        }
    }

    /// Whether a job was begun, and lost. Below one that is redone there are others: new ones, and those that have
    /// an equal one elsewhere in the tree.
    fn was_lost(&self, tag: JobTag) -> bool {
        let Some(node) = self.place(tag).and_then(|place| self.get(place)) else {
            return self.is_lost_rolled(tag);
        };
        let has_lost = || self.hosts.get(node.host as usize).is_some_and(|host| host.has_lost);
        let is_kept = node.flags & GIVEN_BACK == 0 && !self.is_dropped(node);
        is_kept && (node.state == JobState::Lost || has_lost())
    }

    /// Whether the run has rested since a job was begun.
    pub(super) fn is_dropped(&self, node: &Node) -> bool {
        node.begun_ms < self.went_on_ms
    }

    pub(super) fn count_redone(&mut self, place: u32, host: u32) {
        let Some(node) = self.get_mut(place).filter(|node| !node.is_redone()) else { return };
        node.flags |= REDONE;
        self.redone = self.redone.saturating_add(1);
        if let Some(host) = self.hosts.get_mut(host as usize) {
            host.redone = host.redone.saturating_add(1);
        }
    }

    /// Jobs that were begun again after they had been lost.
    pub fn redone(&self) -> u64 {
        self.redone
    }

    /// A host is gone: what runs there is lost, as [`Self::end_some`] gets to it, or was given back. Gives how many jobs
    /// that are, as far as they are kept.
    pub fn lose_host(&mut self, host: HostId, t_ms: u32, is_given_back: bool) -> usize {
        let Some(host) = self.host_places.get(&host).copied() else { return 0 };
        if let Some(host) = self.hosts.get_mut(host as usize) {
            host.has_lost = !is_given_back;
        }
        let Some(running) = self.running_at.get(&host) else { return 0 };
        let running = running.len();
        let became = if is_given_back { Ending::GivenBack } else { Ending::Lost };
        self.ending.push_back((host, became, t_ms));
        running
    }

    /// The run goes on after it rested. All hosts dropped what they had of it before: that jobs from before are begun again
    /// is no loss, whether their hosts have gone since, or went so shortly before that nobody counted them as lost.
    pub fn go_on(&mut self, t_ms: u32) {
        self.went_on_ms = t_ms;
        self.lost_beside.clear();
        self.drop_rolled();
        self.hosts.iter_mut().for_each(|host| host.has_lost = false);
    }

    /// When the run went on after it last rested; 0 if it never did.
    pub fn went_on_ms(&self) -> u32 {
        self.went_on_ms
    }

    /// A host's process has another id, and thus another place: what was counted of it goes with it.
    pub fn rename_host(&mut self, was: u32, is: u32) {
        let Some(host) = self.hosts.get_mut(was as usize).filter(|_| was != is) else { return };
        let (lent, redone) = (std::mem::take(&mut host.lent), std::mem::take(&mut host.redone));
        if let Some(host) = self.hosts.get_mut(is as usize) {
            host.lent = host.lent.saturating_add(lent);
            host.redone = host.redone.saturating_add(redone);
        }
    }

    /// All hosts that have not been heard since a restart are gone: what ran there is lost. Gives how many jobs, without those of
    /// hosts that [`lose_host`](Self::lose_host) was told of.
    pub fn lose_unheard(&mut self, t_ms: u32, is_given_back: bool) -> usize {
        let became = if is_given_back { Ending::GivenBack } else { Ending::Lost };
        let unheard = (0_u32..).zip(&self.hosts).filter(|(_, host)| host.has_lost);
        let places: Vec<u32> = unheard.map(|(place, _)| place).collect();
        let is_told = |place: &u32| self.ending.iter().any(|(host, ..)| host == place);
        let places = places.iter().filter(|place| !is_told(place));
        let running = places.filter_map(|place| Some((*place, self.running_at.get(place)?.len())));
        let running: Vec<(u32, usize)> = running.collect();
        self.ending.extend(running.iter().map(|(place, _)| (*place, became, t_ms)));
        running.iter().map(|(_, jobs)| jobs).sum()
    }
}
