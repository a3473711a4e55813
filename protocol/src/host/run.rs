//! What a host knows of one run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use crate::limits::{STEAL_REST_MIN, STEAL_SLOW, STEALS_UNANSWERED_MAX};
use crate::shared::{ObjectId, Writer};
use crate::{Entry, Finished, HostId, JobKey, JobNumber, JobTag, RunSpec, StealId, Stealing, Table, Time};

use super::again::RunAgain;
use super::held::{HeldJobs, Owner};
use super::jobs::{Parked, Request, Unresolved};
use super::lent::Loans;
use super::reporting::Reporting;
use super::sharing::{Sharing, Unmentioned};

/// How far a host is with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its app is not there yet.
    Loading,
    /// It takes part.
    Ready,
    /// Its guests come to rest.
    Draining {
        /// They have until then.
        until: Time,
    },
    /// They have come to rest.
    Drained,
    /// The host cannot take part.
    Unable,
}

/// How far a host is with announcing again what it has.
#[derive(Debug, Clone, Copy)]
pub struct Announced {
    /// The last entry, and what it took.
    pub place: Option<(u64, JobKey)>,
    pub count: usize,
}

/// When to ask for jobs again.
#[derive(Debug)]
pub struct Rest {
    pub until: Time,
    pub length: Duration,
    /// Refusals since the last rest.
    pub refusals: usize,
}

impl Default for Rest {
    fn default() -> Self {
        Self { until: Time::default(), length: STEAL_REST_MIN, refusals: 0 }
    }
}

/// What a host knows of one run.
pub struct HostRun {
    pub spec: RunSpec,
    pub stage: Stage,
    /// The coordinator waits to hear that all is saved.
    pub is_suspending: bool,
    /// It was given to this host again meanwhile.
    pub starts_again: bool,
    /// Why the host cannot take part.
    pub unable: Option<String>,
    pub master: Option<HostId>,
    /// Workers without work, and workers in all.
    pub idle: usize,

    // As a thief.
    pub next_steal: u64,
    pub requests: BTreeMap<StealId, Request>,
    pub rest: Rest,
    pub rest_wide: Rest,
    pub held: HeldJobs,
    /// Counts the holdings sent, to anybody.
    pub holding: u64,

    // As a victim.
    pub parked: VecDeque<Parked>,
    /// What the runtime was last told of how many wait.
    pub wanted: usize,
    pub loans: Loans,
    pub unresolved: BTreeMap<JobNumber, Unresolved>,
    pub next_number: u64,
    pub next_reconcile: Time,

    // The result table.
    pub table: Table,
    /// Hosts that are gone, and of whose entries there may be more.
    pub forgetting: BTreeSet<HostId>,
    /// Announcing its entries again, the host has come to this one.
    pub announced: Option<Announced>,
    /// Lost jobs that are run again here.
    pub redoing: BTreeSet<JobTag>,
    /// The same, the first lost first.
    pub redoing_order: VecDeque<JobTag>,
    /// Of these, those below which there are more entries to be looked at, after the last one.
    pub expecting: VecDeque<(JobTag, Option<(u32, JobKey)>)>,
    /// How often each job was run again here.
    pub run_again: RunAgain,
    /// Entries that one of their descendants may still find.
    pub sought: BTreeSet<JobKey>,
    /// Those up to this one have been looked at lately, whether they are in the table still.
    pub sought_checked: Option<JobKey>,
    /// What of it the runtime was not told, and whether it was told that there is any.
    pub untold: BTreeSet<JobTag>,
    pub lookups_wanted: bool,
    pub outbox: VecDeque<Entry>,
    pub outbox_since: Option<Time>,
    pub owner_outbox: BTreeMap<HostId, Vec<Entry>>,

    // Shared objects.
    pub shared: BTreeMap<ObjectId, Sharing>,
    /// Of these, those that no job here has mentioned.
    pub unmentioned: Unmentioned,
    /// This host's updates of objects that it has forgotten: whose log, and how many.
    pub logs_before: BTreeMap<ObjectId, (Writer, u64)>,
    pub next_sweep: Time,

    pub reporting: Reporting,
}

impl HostRun {
    /// Requests to victims of this host's site that count against their number: those that are not answered soon
    /// do not, as long as there are few.
    pub fn requests_near(&self, now: Time) -> usize {
        let near = || self.requests.values().filter(|request| !request.is_wide);
        match near().count() {
            count @ STEALS_UNANSWERED_MAX.. => count,
            _ => near().filter(|request| now < request.since + STEAL_SLOW).count(),
        }
    }

    pub fn new(spec: RunSpec, table_bytes_max: usize, now: Time) -> Self {
        Self {
            spec,
            stage: Stage::Loading,
            is_suspending: false,
            starts_again: false,
            unable: None,
            master: None,
            idle: 0,
            next_steal: 0,
            requests: BTreeMap::new(),
            rest: Rest::default(),
            rest_wide: Rest::default(),
            held: HeldJobs::default(),
            holding: 0,
            parked: VecDeque::new(),
            wanted: 0,
            loans: Loans::default(),
            unresolved: BTreeMap::new(),
            next_number: 0,
            next_reconcile: now,
            table: Table::new(table_bytes_max),
            forgetting: BTreeSet::new(),
            announced: None,
            redoing: BTreeSet::new(),
            redoing_order: VecDeque::new(),
            expecting: VecDeque::new(),
            run_again: RunAgain::default(),
            sought: BTreeSet::new(),
            sought_checked: None,
            untold: BTreeSet::new(),
            lookups_wanted: false,
            outbox: VecDeque::new(),
            outbox_since: None,
            owner_outbox: BTreeMap::new(),
            shared: BTreeMap::new(),
            unmentioned: Unmentioned::default(),
            logs_before: BTreeMap::new(),
            next_sweep: now,
            reporting: Reporting::new(now),
        }
    }

    /// Whether this host would have to know if that one went.
    pub fn has_to_do_with(&self, host: HostId) -> bool {
        (self.spec.stealing == Stealing::MasterWorker && self.master == Some(host))
            || self.requests.values().any(|request| request.victim == host)
            || self.parked.iter().any(|parked| parked.thief == host)
            || self.loans.to(host).next().is_some()
            || self.held.of_owner(Owner::Host(host)).next().is_some()
            || self.unresolved.values().any(|unresolved| unresolved.wanted_from == Some(host))
            || self.owner_outbox.contains_key(&host)
            || self.table.refers_to(host)
            || self.shared.values().any(|sharing| sharing.needs(host))
    }

    /// A number never used before.
    pub fn new_number(&mut self) -> JobNumber {
        self.next_number += 1;
        JobNumber(self.next_number)
    }

    /// These requests come to nothing: no answer is waited for.
    pub fn drop_requests(&mut self, is_dropped: impl Fn(&Request) -> bool) {
        let steals = &mut self.reporting.own_mut().steals;
        self.requests.retain(|_, request| {
            let stays = !is_dropped(request);
            if !stays {
                steals.of(request.scope).unanswered += 1;
            }
            stays
        });
    }

    /// Whether the table has room for a result at all: a larger one would drive all others out, and then go itself.
    pub fn may_record(&self, finished: &Finished) -> bool {
        finished.outcome.bytes().len() <= self.table.bytes_max()
    }

    /// Forgets what is not in the table any more, of up to `most` entries that may still be found; the next time
    /// of others.
    pub fn check_sought(&mut self, most: usize) {
        let range = (self.sought_checked.map_or(Unbounded, Excluded), Unbounded);
        let keys: Vec<JobKey> = self.sought.range(range).take(most).copied().collect();
        self.sought_checked = keys.last().filter(|_| keys.len() == most).copied();
        for key in keys.iter().filter(|key| self.table.get(key).is_none()) {
            self.sought.remove(key);
        }
    }
}
