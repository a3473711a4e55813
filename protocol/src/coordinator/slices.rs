//! What concerns all hosts of a large grid, or all entries of a large table, and is done a bounded slice at a
//! time, so that no event takes long.
//!
//! The first slice is done at once, so that in a small grid nothing is left; the others follow in events of
//! their own, without delay and in their order. What is sent to one host alone may come before its turn in a
//! broadcast, so whatever is broadcast has to bear that, as it has to bear a host that joins meanwhile.

use std::collections::VecDeque;
use std::ops::Bound::{Excluded, Unbounded};

use crate::limits::{BROADCAST_AT_ONCE_MAX, ENTRIES_FREED_AT_ONCE_MAX, RENEWED_AT_ONCE_MAX};
use crate::message::ToHost;
use crate::{HostId, JobTag, RunId, Time};

use super::Coordinator;
use super::part::RunPart;

/// Something that is being done slice by slice.
pub enum Slice {
    /// A message goes to all hosts.
    Broadcast {
        /// The last host that has it.
        after: Option<HostId>,
        /// To paused ones, too.
        is_for_paused: bool,
        message: ToHost,
    },
    /// Circles are renewed.
    Renew(VecDeque<HostId>),
    /// What hosts have to do with a run that is over.
    Forget { after: Option<HostId>, run: RunId },
    /// A host that is gone is told of nothing any more.
    Unsubscribe { run: RunId, host: HostId, jobs: Vec<JobTag> },
    /// What there was of a run that is over.
    Free(Box<RunPart>),
}

/// What is under way.
#[derive(Default)]
pub struct Slices {
    waiting: VecDeque<Slice>,
    /// When the first of them was put there.
    since: Time,
}

impl Slices {
    /// When the next slice is due, if there is one.
    pub fn next(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.since)
    }
}

impl Coordinator {
    /// Does the first slice of something, if nothing waits, and the rest later.
    pub(super) fn in_slices(&mut self, now: Time, slice: Slice) {
        if self.slices.waiting.is_empty() {
            self.slices.since = now;
            if let Some(rest) = self.do_slice(now, slice) {
                self.slices.waiting.push_back(rest);
            }
        } else {
            self.slices.waiting.push_back(slice);
        }
    }

    /// Does one slice of what waits.
    pub(super) fn do_next_slice(&mut self, now: Time) {
        let Some(slice) = self.slices.waiting.pop_front() else { return };
        if let Some(rest) = self.do_slice(now, slice) {
            self.slices.waiting.push_front(rest);
        }
    }

    /// To all hosts that work.
    pub(super) fn broadcast(&mut self, now: Time, message: ToHost) {
        self.in_slices(now, Slice::Broadcast { after: None, is_for_paused: false, message });
    }

    /// Gives back what is left to do.
    fn do_slice(&mut self, now: Time, slice: Slice) -> Option<Slice> {
        match slice {
            Slice::Broadcast { after, is_for_paused, message } => {
                let mut last = None;
                for (host, state) in self.hosts.range(from(after)).take(BROADCAST_AT_ONCE_MAX) {
                    last = Some(*host);
                    if let Some(link) = state.link.filter(|_| is_for_paused || state.paused.is_none()) {
                        self.transmits.push_back((link, message.clone()));
                    }
                }
                let after = self.if_more(last)?;
                Some(Slice::Broadcast { after, is_for_paused, message })
            }
            Slice::Renew(mut hosts) => {
                for host in hosts.drain(..hosts.len().min(RENEWED_AT_ONCE_MAX)).collect::<Vec<_>>() {
                    self.renew_circle(now, host);
                }
                (!hosts.is_empty()).then_some(Slice::Renew(hosts))
            }
            Slice::Forget { after, run } => {
                let mut last = None;
                for (host, state) in self.hosts.range_mut(from(after)).take(BROADCAST_AT_ONCE_MAX) {
                    last = Some(*host);
                    state.counts.remove(&run);
                    state.ready.remove(&run);
                    state.unready.remove(&run);
                }
                let after = self.if_more(last)?;
                Some(Slice::Forget { after, run })
            }
            Slice::Unsubscribe { run, host, mut jobs } => {
                let part = self.runs.get_mut(&run)?;
                for job in jobs.drain(jobs.len().saturating_sub(ENTRIES_FREED_AT_ONCE_MAX)..) {
                    if let Some(hosts) = part.subscribers.get_mut(&job) {
                        hosts.remove(&host);
                        if hosts.is_empty() {
                            part.subscribers.remove(&job);
                        }
                    }
                }
                (!jobs.is_empty()).then_some(Slice::Unsubscribe { run, host, jobs })
            }
            Slice::Free(mut part) => part.shrink(ENTRIES_FREED_AT_ONCE_MAX).then_some(Slice::Free(part)),
        }
    }

    /// The last host that a slice got to, if there are hosts beyond.
    fn if_more(&self, last: Option<HostId>) -> Option<Option<HostId>> {
        let last = last?;
        self.hosts.range(from(Some(last))).next().map(|_| Some(last))
    }
}

fn from(after: Option<HostId>) -> (std::ops::Bound<HostId>, std::ops::Bound<HostId>) {
    (after.map_or(Unbounded, Excluded), Unbounded)
}
