//! The coordinator's state machine.
//!
//! Hosts: `messages` handles what they send, `hosts` their hellos and departures, `silence` finds those that send
//! nothing any more, `missing` keeps those that were given up and may return, `comings` records when a host joined and
//! returned, and `working` which hosts are not paused. `circles` decides which hosts know one another, and `news` notifies
//! them. Runs: `run` is the coordinator's data of one run (its largest parts are `turn`, `root_job` and `ledger`);
//! `roster` keeps the runs that are not over, and `ended` those that are. `runs` changes a run's state, `places` shares
//! the places of runs under way out among submitters, `turns` decides how long a run that no host can load keeps its
//! place, `root` which host has a root job, `participation` which hosts' reports count, and `over` collects the last
//! reports of runs that are over. `validation` is how a run's results are checked, made of `claims` on each unit and of
//! the `checkers`, `check_runs` are the runs in which these do so, `checking` has units computed again, and `standings`
//! keeps what is known of owners from earlier runs. `earlier` has results of those for a run to find. `reasons` says why a run waits. `parcels` sends what is too large
//! for one message. `results` is the coordinator's result table and the barrier that makes recovery find orphans;
//! `lookups` keeps the searches that wait for it, and their answers. These files have only tests: `bounds`, `commands`,
//! `corners`, `doors` and `leftovers`.
//!
//! For a run's root job the coordinator plays the victim of a steal: it lists the job, assigns it to
//! another host in redone mode when the first is gone, and waits for its result.

mod account;
mod answers;
mod backlog;
#[cfg(test)]
mod bounds;
mod check_runs;
mod checkers;
mod checking;
mod chores;
mod circles;
mod claims;
mod comings;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod corners;
#[cfg(test)]
mod doors;
mod earlier;
mod ended;
mod host_view;
mod hosts;
#[cfg(test)]
mod keys;
mod ledger;
#[cfg(test)]
mod leftovers;
mod links;
mod lookups;
mod messages;
mod meter;
mod metering;
mod missing;
mod news;
mod over;
mod parcels;
mod participation;
mod pausing;
mod places;
mod ready;
mod reasons;
mod restart;
mod results;
mod root;
mod root_job;
mod roster;
mod run;
mod runs;
mod searches;
mod silence;
mod sizes;
mod slices;
mod standings;
mod subscriptions;
mod surface;
mod tally;
#[cfg(test)]
pub(crate) mod tests;
mod turn;
mod turns;
mod unsaved;
mod validation;
mod views;
mod working;

use std::collections::BTreeMap;

pub use crate::limits::Circle;
use crate::limits::{PING, RESTART_GRACE};
use crate::message::ToHost;
use crate::parcel::Incoming;
use crate::unpolled::Unpolled;
use crate::{HostId, Random, RunId, Time};
pub use backlog::Backlog;
use chores::Chores;
use circles::Circles;
use ended::Ended;
use hosts::HostState;
use links::Links;
use lookups::Lookups;
use missing::Missing;
use news::Newsroom;
use roster::Roster;
use run::CoordinatorRun;
use silence::Silence;
use working::Working;

pub use account::Account;
pub use earlier::{Earlier, may_be_kept};
pub use host_view::HostView;
pub use sizes::Sizes;
pub use surface::{
    Command, CommandError, CoordinatorConfig, Event, LinkId, Misbehaviour, Standing, StoredRun, Submitter,
};
pub use tally::{AtWork, LONG_GONE, Row};
pub use validation::{Caught, Checked};
pub use views::{RunView, Waiting};

/// Mixed into the seed of circles, whose random numbers are independent of those for host ids and root jobs.
const CIRCLES: u64 = 0x0c1c_1e50;

/// The coordinator's state machine.
pub struct Coordinator {
    config: CoordinatorConfig,
    random: Random,
    hosts: BTreeMap<HostId, HostState>,
    links: Links,
    /// Hosts that were given up, or were there before a restart, and may come back under their ids.
    missing: Missing,
    silence: Silence,
    circles: Circles,
    newsroom: Newsroom,
    working: Working,
    runs: Roster,
    over: Ended,
    lookups: Lookups,
    incoming: Incoming<HostId>,
    /// Its deferred work.
    chores: Chores,
    outputs: Unpolled<(LinkId, ToHost), Command, Event>,
}

impl Coordinator {
    /// A coordinator with the unfinished runs of its store.
    pub fn new(config: CoordinatorConfig, runs: Vec<StoredRun>, now: Time) -> Self {
        let mut restored = Roster::new(now, config.place_kept);
        for stored in runs {
            let (run, seed) = (stored.run, config.audit_seed(stored.run));
            let restore = |table| CoordinatorRun::restore(stored, table, now).with_seed(seed);
            restored.add(run, config.table_bytes_max, restore);
        }
        restored.keep_tables_to_bound(config.table_bytes_max);
        let mut coordinator = Self {
            random: Random::new(config.seed),
            hosts: BTreeMap::new(),
            links: Links::default(),
            missing: Missing::new(config.restarted.then(|| now + RESTART_GRACE)),
            silence: Silence::default(),
            circles: Circles::new(config.circle, config.seed ^ CIRCLES),
            newsroom: Newsroom::default(),
            working: Working::default(),
            runs: restored,
            over: Ended::default(),
            lookups: Lookups::default(),
            incoming: Incoming::default(),
            chores: Chores::new(now + PING),
            outputs: Unpolled::default(),
            config,
        };
        coordinator.activate_again(now);
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
        self.missing.is_awaiting()
    }

    /// The hosts that a host knows, as far as the coordinator has notified it.
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
        let coordinator_run = self.runs.get(&run)?;
        let (waiting_for, waiting) = self.reason_to_wait(run).unzip();
        let table = coordinator_run.ledger.size();
        Some(RunView {
            run,
            coordinator_run,
            table,
            hosts: &self.hosts,
            waiting_for,
            waiting: waiting.flatten(),
        })
    }

    /// A run that is over, as long as its counts are not final: [`Command::SaveCounts`] follows.
    pub fn run_over(&self, run: RunId) -> Option<RunView<'_>> {
        let over = self.over.get(&run)?;
        let (coordinator_run, table) = (&over.coordinator_run, over.table);
        Some(RunView { run, coordinator_run, table, hosts: &self.hosts, waiting_for: None, waiting: None })
    }

    /// The ids of all runs that are over and whose counts are not final.
    pub fn run_ids_over(&self) -> impl Iterator<Item = RunId> {
        self.over.keys().copied()
    }

    // ---- inputs ----

    /// The time that `poll_timeout` named has come, or is past.
    pub fn handle_timeout(&mut self, now: Time) {
        self.do_a_chore(now);
        self.forget_missing(now);
        self.yield_turns(now);
        self.give_way(now);
        self.time_out_unpausing(now);
        self.forget_late(now);
        if self.missing.is_awaiting_in_vain(now) {
            self.end_waiting(now);
        }
        self.newsroom.expire(now, self.silence.deaf_until);
        self.settle(now);
        self.time_out_parcels(now);
        self.time_out_runs(now);
        self.meter(now);
        self.time_out_checks(now);
    }

    // ---- outputs ----

    /// The next message to send, and its link.
    pub fn poll_transmit(&mut self) -> Option<(LinkId, ToHost)> {
        self.outputs.poll_transmit()
    }

    /// The next command for the driver.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.outputs.poll_command()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.outputs.poll_event()
    }

    /// The latest time for the next call of `handle_timeout`, and the reason.
    pub fn poll_timeout(&self) -> Option<(Time, &'static str)> {
        let down = self.silence.next_down().map(|time| (time, "a host has not come back"));
        let waits = self.missing.awaits_until();
        let waits = waits.map(|time| (time, "hosts from before the restart have had their time"));
        let ping = (!self.hosts.is_empty()).then_some((self.chores.next_ping(), "hosts are pinged"));
        let slices = self.chores.slices().next().map(|time| (time, "a task was too long for one event"));
        let news = self.newsroom.next().map(|time| (time, "hosts are notified of arrivals and departures"));
        let owed = self.newsroom.next_expiry(self.silence.deaf_until);
        let owed = owed.map(|time| (time, "a host has not answered that another is gone"));
        let missing = self.missing.next().map(|time| (time, "a host that was given up has not come back"));
        let parcel = self.incoming.next_timeout().map(|time| (time, "bytes of a parcel have not come"));
        [
            slices,
            down,
            missing,
            self.silence.next_silence(),
            waits,
            ping,
            news,
            owed,
            parcel,
            self.lookups.next(),
            self.next_run_timeout(),
            self.next_metering(),
            self.next_yield(),
            self.next_giving_way(),
            self.next_unpausing(),
            self.next_late(),
            self.next_check(),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|(time, _)| *time)
    }

    fn send(&mut self, host: HostId, message: ToHost) {
        if let Some(link) = self.hosts.get(&host).and_then(|host| host.link) {
            self.outputs.transmit((link, message));
        }
    }
}
