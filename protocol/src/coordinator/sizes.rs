//! Sizes of the coordinator's state, for tests that bound its memory.

use super::Coordinator;

/// Lengths of queues, lists and maps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Messages, commands and events that were not polled.
    pub unpolled: usize,
    /// Hosts.
    pub hosts: usize,
    /// Links on which a hello was received.
    pub links: usize,
    /// Links that are about to be closed.
    pub closing: usize,
    /// Hosts whose link is down.
    pub down: usize,
    /// Searches that wait, and answers that are under way.
    pub searches: usize,
    /// Runs that are not over.
    pub runs: usize,
    /// Runs that are over and whose counts are not final, and hosts that still have to send theirs.
    pub over: (usize, usize),
    /// Hosts whose result of a root counts, in all runs.
    pub claims: usize,
    /// Subscriptions of hosts to new entries, in all runs.
    pub subscribers: usize,
    /// Hosts that have reported whether they can take part, in all runs.
    pub readiness: usize,
    /// Entries that wait to be saved, in all runs.
    pub unsaved: usize,
    /// Slices that are not finished.
    pub slices: usize,
    /// Pairs of hosts that were asked to forget one another.
    pub partings: usize,
    /// Hosts with unsent news.
    pub news: usize,
    /// Departures that hosts have not answered, by host.
    pub owed: usize,
    /// Hosts that were given up and may come back.
    pub missing: usize,
    /// Rows of counts, in all runs.
    pub rows: usize,
    /// Incoming parcels, and their bytes received so far.
    pub incoming: (usize, usize),
}

impl Coordinator {
    /// The present sizes.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes {
            unpolled: self.outputs.len(),
            hosts: self.hosts.len(),
            links: self.links.len(),
            closing: self.links.closing_len(),
            down: self.silence.down_len(),
            searches: self.lookups.len(),
            runs: self.runs.len(),
            over: (self.over.len(), self.over.values().map(|over| over.coordinator_run.awaited.len()).sum()),
            slices: self.chores.slices().len(),
            partings: self.circles.parting(),
            news: self.newsroom.untold(),
            owed: self.newsroom.owed(),
            missing: self.missing.len(),
            incoming: (self.incoming.len(), self.incoming.held_bytes()),
            ..Sizes::default()
        };
        for coordinator_run in self.runs.values().chain(self.over.values().map(|over| &*over.coordinator_run))
        {
            sizes.claims += coordinator_run.root.claims_len();
            sizes.subscribers += coordinator_run.ledger.subscriptions_len();
            sizes.readiness +=
                coordinator_run.readiness.ready().len() + coordinator_run.readiness.unready().len();
            sizes.unsaved += coordinator_run.ledger.unsaved_len();
            sizes.rows += coordinator_run.tally.size();
        }
        sizes
    }
}
