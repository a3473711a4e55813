//! The coordinator's state machine.
//!
//! Hosts: `messages` handles what they send, `hosts` their hellos and departures, `silence` finds those that send nothing
//! any more, `missing` keeps those that were given up and may return, `comings` records when a host joined and returned.
//! `circles` decides which hosts know one another, and `news` tells them. Runs: `run` is the coordinator's data of one run,
//! `runs` changes its state, `turns` decides which runs are given to hosts, `root` which host has a root job,
//! `participation` which hosts' reports count, and `over` collects the last reports of runs that are over. `parcels` sends
//! what is too large for one message. `results` is the coordinator's result table and the barrier that makes recovery find
//! orphans.
//!
//! For a run's root job the coordinator plays the victim of a steal: it lists the job, assigns it to
//! another host in redone mode when the first is gone, and waits for its result.

mod answers;
mod backlog;
#[cfg(test)]
mod bounds;
mod chores;
mod circles;
mod comings;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod corners;
#[cfg(test)]
mod doors;
mod hosts;
mod ledger;
#[cfg(test)]
mod leftovers;
mod messages;
mod meter;
mod metering;
mod missing;
mod news;
mod over;
mod parcels;
mod participation;
mod pausing;
mod ready;
mod restart;
mod results;
mod root;
mod root_job;
mod run;
mod runs;
mod searches;
mod silence;
mod sizes;
mod slices;
mod subscriptions;
mod surface;
mod tally;
#[cfg(test)]
pub(crate) mod tests;
mod turn;
mod turns;
mod unsaved;
mod views;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use crate::limits::Circle;
use crate::limits::{PING, RESTART_GRACE};
use crate::message::ToHost;
use crate::parcel::Incoming;
use crate::table::Total;
use crate::{HostId, Random, RunId, Table, Time};
use answers::Answers;
pub use backlog::Backlog;
use chores::Chores;
use circles::Circles;
use hosts::HostState;
use missing::Missing;
use news::Newsroom;
use over::Over;
use run::CoordinatorRun;
use searches::Searches;
use silence::Silence;
use slices::Slices;

pub use root_job::root_job;
pub use sizes::Sizes;
pub use surface::{
    Command, CommandError, CoordinatorConfig, Event, LinkId, Misbehaviour, Standing, StoredRun,
};
pub use tally::{AtWork, LONG_GONE, Row};
pub use views::{Account, HostView, RunView, Waiting};

/// Its random numbers are independent of those for host ids and root jobs.
const CIRCLES: u64 = 0x0c1c_1e50;

/// The coordinator's state machine.
pub struct Coordinator {
    config: CoordinatorConfig,
    random: Random,
    hosts: BTreeMap<HostId, HostState>,
    /// Open links, and the hosts that have said hello on them.
    links: BTreeMap<LinkId, HostId>,
    /// Links that are about to be closed; their messages are ignored.
    closing: BTreeSet<LinkId>,
    /// Hosts whose link is down, in the order in which they will be given up.
    down: BTreeSet<(Time, HostId)>,
    /// Hosts that were given up and may come back under their ids.
    missing: Missing,
    silence: Silence,
    circles: Circles,
    newsroom: Newsroom,
    /// Counts the departures.
    epoch: u64,
    /// Until then, hosts from before the restart may come back.
    waits_until: Option<Time>,
    /// Hosts that are working, that is, not paused.
    working: BTreeSet<HostId>,
    runs: BTreeMap<RunId, CoordinatorRun>,
    /// The memory of their tables.
    tables: Total,
    /// Runs that are given to hosts.
    active: BTreeSet<RunId>,
    /// Runs with entries that wait to be saved, or that are being suspended.
    attended: BTreeSet<RunId>,
    /// Runs that gave their turn up, in order of their next turn.
    resting: BTreeSet<(Time, RunId)>,
    /// Runs that are over, and whose counts are not final.
    over: BTreeMap<RunId, Over>,
    /// Runs that are over, and the time until which their hosts are heard.
    late: VecDeque<(Time, RunId)>,
    /// Hosts that resumed work too often, in order of when they may do so again.
    unpausing: BTreeSet<(Time, HostId)>,
    searches: Searches,
    /// No search could be answered at the last check.
    searches_wait: bool,
    answers: Answers,
    slices: Slices,
    incoming: Incoming<HostId>,
    /// Its deferred work.
    chores: Chores,
    /// When runs with time limits were last checked.
    metered_at: Time,
    transmits: VecDeque<(LinkId, ToHost)>,
    commands: VecDeque<Command>,
    events: VecDeque<Event>,
}

impl Coordinator {
    /// A coordinator with the unfinished runs of its store.
    pub fn new(config: CoordinatorConfig, runs: Vec<StoredRun>, now: Time) -> Self {
        let tables = Total::default();
        let restored = runs.into_iter().map(|stored| {
            let table = Table::among(config.table_bytes_max, &tables);
            (stored.run, CoordinatorRun::restore(stored, table, now))
        });
        let restored = restored.collect();
        let mut coordinator = Self {
            random: Random::new(config.seed),
            hosts: BTreeMap::new(),
            links: BTreeMap::new(),
            closing: BTreeSet::new(),
            down: BTreeSet::new(),
            missing: Missing::default(),
            silence: Silence::default(),
            circles: Circles::new(config.circle, config.seed ^ CIRCLES),
            newsroom: Newsroom::default(),
            epoch: 0,
            waits_until: config.restarted.then(|| now + RESTART_GRACE),
            working: BTreeSet::new(),
            runs: restored,
            tables,
            active: BTreeSet::new(),
            attended: BTreeSet::new(),
            resting: BTreeSet::new(),
            over: BTreeMap::new(),
            late: VecDeque::new(),
            unpausing: BTreeSet::new(),
            searches: Searches::default(),
            searches_wait: true,
            answers: Answers::default(),
            slices: Slices::default(),
            incoming: Incoming::default(),
            chores: Chores::new(now + PING),
            metered_at: now,
            transmits: VecDeque::new(),
            commands: VecDeque::new(),
            events: VecDeque::new(),
            config,
        };
        coordinator.keep_tables_to_bound();
        coordinator.activate(now);
        coordinator
    }

    // ---- getters ----

    /// The ids of all hosts.
    pub fn host_ids(&self) -> impl Iterator<Item = HostId> {
        self.hosts.keys().copied()
    }

    /// Whether the host is known.
    pub fn has_host(&self, host: HostId) -> bool {
        self.hosts.contains_key(&host)
    }

    /// Whether the coordinator was restarted recently, and hosts from before still have time to come back.
    pub fn waits_for_hosts(&self) -> bool {
        self.waits_until.is_some()
    }

    /// The hosts that a host knows, as far as the coordinator has told it.
    pub fn circle(&self, host: HostId) -> impl Iterator<Item = HostId> {
        self.circles.of(host)
    }

    /// Views of all runs that are not over, computed lazily.
    pub fn runs(&self) -> impl Iterator<Item = RunView<'_>> {
        self.runs.keys().filter_map(|run| self.run(*run))
    }

    /// The ids of all runs that are not over.
    pub fn run_ids(&self) -> impl Iterator<Item = RunId> {
        self.runs.keys().copied()
    }

    /// A run that is not over.
    pub fn run(&self, run: RunId) -> Option<RunView<'_>> {
        let part = self.runs.get(&run)?;
        let (waiting_for, waiting) = self.reason_to_wait(run).unzip();
        let table = part.ledger.size();
        Some(RunView { run, part, table, hosts: &self.hosts, waiting_for, waiting: waiting.flatten() })
    }

    /// A run that is over, as long as its counts are not final: [`Command::SaveCounts`] follows.
    pub fn run_over(&self, run: RunId) -> Option<RunView<'_>> {
        let over = self.over.get(&run)?;
        let (part, table) = (&over.part, over.table);
        Some(RunView { run, part, table, hosts: &self.hosts, waiting_for: None, waiting: None })
    }

    /// The ids of all runs that are over and whose counts are not final.
    pub fn run_ids_over(&self) -> impl Iterator<Item = RunId> {
        self.over.keys().copied()
    }

    // ---- inputs ----

    /// Time has come to what `poll_timeout` named, or has just passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.do_a_chore(now);
        self.forget_missing(now);
        self.yield_turns(now);
        self.time_out_unpausing(now);
        self.forget_late(now);
        if self.waits_until.is_some_and(|until| now >= until) {
            self.end_waiting(now);
        }
        self.newsroom.expire(now, self.silence.deaf_until);
        self.settle(now);
        self.time_out_parcels(now);
        self.time_out_runs(now);
        self.meter(now);
    }

    // ---- outputs ----

    /// The next message to send, and its link.
    pub fn poll_transmit(&mut self) -> Option<(LinkId, ToHost)> {
        self.transmits.pop_front()
    }

    /// The next command for the driver.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The latest time for the next call of `handle_timeout`, and the reason.
    pub fn poll_timeout(&self) -> Option<(Time, &'static str)> {
        let down = self.next_down().map(|time| (time, "a host has not come back"));
        let waits = self.waits_until.map(|time| (time, "hosts from before the restart have had their time"));
        let ping = (!self.hosts.is_empty()).then_some((self.chores.next_ping, "hosts are pinged"));
        let slices = self.slices.next().map(|time| (time, "more is to be done of what was begun"));
        let news = self.newsroom.next().map(|time| (time, "hosts are told who came and who went"));
        let owed = self.newsroom.next_expiry(self.silence.deaf_until);
        let owed = owed.map(|time| (time, "a host has not answered that another is gone"));
        let missing = self.missing.next().map(|time| (time, "a host that was given up has not come back"));
        let parcel = self.incoming.next_timeout().map(|time| (time, "bytes of a parcel have not come"));
        [
            slices,
            down,
            missing,
            self.next_silence(),
            waits,
            ping,
            news,
            owed,
            parcel,
            self.next_settle(),
            self.next_run_timeout(),
            self.next_metering(),
            self.next_yield(),
            self.next_unpausing(),
            self.next_late(),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|(time, _)| *time)
    }

    fn send(&mut self, host: HostId, message: ToHost) {
        if let Some(link) = self.hosts.get(&host).and_then(|host| host.link) {
            self.transmits.push_back((link, message));
        }
    }
}
