//! How much the coordinator's machine keeps, for tests that bound its memory.

use super::Coordinator;

/// Lengths of queues, lists and maps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Messages, commands and events that nobody has polled.
    pub unpolled: usize,
    /// Hosts.
    pub hosts: usize,
    /// Links on which somebody has said hello.
    pub links: usize,
    /// Links that are about to be closed.
    pub closing: usize,
    /// Hosts whose link is down.
    pub down: usize,
    /// Searches that wait, and answers that are under way.
    pub searches: usize,
    /// Runs that are not over.
    pub runs: usize,
    /// Runs that are over and whose counts are not final, and hosts that are to tell them.
    pub over: (usize, usize),
    /// Those whose result of a root counts, in all runs.
    pub claims: usize,
    /// Hosts that are told of new entries below some job, in all runs.
    pub subscribers: usize,
    /// Hosts that have said whether they can take part, in all runs.
    pub readiness: usize,
    /// Entries that wait to be saved, in all runs.
    pub unsaved: usize,
    /// Things that are done in slices and not finished.
    pub slices: usize,
    /// Pairs of hosts that were asked to forget one another.
    pub partings: usize,
    /// Hosts that have not been told all news.
    pub news: usize,
    /// Departures that hosts have not answered, by host.
    pub owed: usize,
    /// Hosts that were given up and may come back.
    pub missing: usize,
    /// Rows of counts, in all runs.
    pub rows: usize,
    /// Parcels that are on their way here, and the bytes that have come of them.
    pub incoming: (usize, usize),
}

impl Coordinator {
    /// How much it keeps now.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes {
            unpolled: self.transmits.len() + self.commands.len() + self.events.len(),
            hosts: self.hosts.len(),
            links: self.links.len(),
            closing: self.closing.len(),
            down: self.down.len(),
            searches: self.searches.len() + self.answers.len(),
            runs: self.runs.len(),
            over: (self.over.len(), self.over.values().map(|over| over.part.awaited.len()).sum()),
            slices: self.slices.len(),
            partings: self.circles.parting(),
            news: self.newsroom.untold(),
            owed: self.newsroom.owed(),
            missing: self.missing.len(),
            incoming: (self.incoming.len(), self.incoming.held_bytes()),
            ..Sizes::default()
        };
        for part in self.runs.values().chain(self.over.values().map(|over| &*over.part)) {
            sizes.claims += part.claims.len();
            sizes.subscribers += part.subscriptions.len();
            sizes.readiness += part.readiness.ready().len() + part.readiness.unready().len();
            sizes.unsaved += part.unsaved.len();
            sizes.rows += part.tally.size();
        }
        sizes
    }
}
