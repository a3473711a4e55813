//! The one task that owns the state machine: it hands over one input, does all that the machine wants, then waits.

mod answers;
mod events;
mod hosts;
mod inbox;
pub mod measure;
mod names;
mod persistence;
mod places;
mod presence;
mod rate;
mod request;
mod returns;
mod reuse;
mod rounds;
mod saver;
mod scan;
mod served;
mod settling;
mod shares;
mod silence;
pub mod simulated;
mod speed;
mod standings;
mod standstills;
#[cfg(test)]
mod tests;
mod totals;
mod unheard;
mod waits;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use sateen_protocol::coordinator::Coordinator;
use sateen_protocol::{HostId, RunId, RunState};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::chronicle::{Chronicle, Chronicles};
use crate::clock::{Clock, unix_ms};
use crate::limits::{
    PART_EVERY, REQUESTS_WAITING_MAX, SAVE_AGAIN_EVERY, SAVE_CHRONICLES_EVERY, SAVE_ENTRIES_EVERY, SLICES_FOR,
};
use crate::links::{FromLink, Links};
use crate::locked;
use crate::peer::Peer;
use crate::shutdown::stopped;
use crate::store::chronicle::SavedHost;
use crate::store::{Reusing, Store, StoreError};
use hosts::Hosts;
use inbox::{Inbox, Submitted};
use places::Submitters;
use presence::Presence;
use rounds::Rounds;
use saver::{Saver, Written};
use scan::Scans;
use settling::Over;
use totals::SinceStart;

pub use request::{ChangeError, DriverHandle, Gone, HostSeen, Live, Request, RunAction};

/// Maximum wait for the machine's next timeout, in case the computer slept meanwhile: the
/// machine's clock continued then and the runtime's did not.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// State from before a restart, for people.
#[derive(Debug)]
pub struct Known {
    /// Names and sites of hosts.
    pub names: Vec<(HostId, String, String)>,
    /// Hosts that were connected.
    pub hosts: Vec<(HostId, SavedHost)>,
    /// Trees and logs of runs, and whether the runs are over; in the order in which they ended.
    pub chronicles: Vec<(RunId, bool, Chronicle)>,
    /// Maximum finished runs whose chronicles are kept.
    pub trees_kept: usize,
    /// Runs that are not over, their submitters, and the sizes of their specifications.
    pub submitters: Vec<(RunId, Option<Peer>, u64)>,
    /// Runs that are not over and use results of earlier ones.
    pub reusing: Vec<Reusing>,
}

/// The next thing to do.
enum Turn {
    News(FromLink),
    Written(Written),
    Submitted(Box<Submitted>),
    Request(Request),
    TimeOut,
    SaveEntries,
    SaveChronicles,
    NextPart,
    NextScanPart,
    Second,
}

/// Drives the machine.
pub struct Driver {
    machine: Coordinator,
    clock: Clock,
    presence: Presence,
    links: Arc<Links>,
    store: Arc<Store>,
    saver: Saver,
    chronicles: Arc<Chronicles>,
    /// Changes whenever a run ends.
    ends: watch::Sender<u64>,
    inbox: Inbox,
    hosts: Hosts,
    submitters: Submitters,
    over: Over,
    since_start: SinceStart,
    rounds: Rounds,
    scans: Scans,
}

impl Driver {
    /// Creates the driver, and the sending ends of its inputs.
    pub fn new(
        mut machine: Coordinator,
        clock: Clock,
        links: Arc<Links>,
        store: Arc<Store>,
        from_links: mpsc::UnboundedReceiver<FromLink>,
        known: Known,
    ) -> (Self, DriverHandle) {
        let (to_driver, requests) = mpsc::channel(REQUESTS_WAITING_MAX);
        let ends = watch::Sender::new(0);
        let chronicles = Arc::new(Chronicles::new(known.trees_kept));
        for (run, is_over, chronicle) in known.chronicles {
            chronicles.restore(run, is_over, chronicle);
        }
        machine.run_ids().for_each(|run| chronicles.begin(run));
        for view in machine.runs().filter(|view| view.state() == RunState::Suspended) {
            if let Some(chronicle) = chronicles.get(view.run) {
                locked(&chronicle).rests();
            }
        }
        let at_work =
            machine.runs().filter(|view| !matches!(view.state(), RunState::Suspending | RunState::Suspended));
        let rounds = Rounds::after_restart(at_work.map(|view| view.run));
        let resting = machine.run_ids().filter_map(|run| chronicles.get(run));
        let resting = resting.flat_map(|chronicle| locked(&chronicle).away().clone().into_keys()).collect();
        let restored = machine.runs().map(|view| (view.run, view.counts())).collect();
        let mut saver = Saver::new(Arc::clone(&store), Arc::clone(&chronicles));
        for Reusing { run, submitter, spec, earlier } in known.reusing {
            saver.keepers.add(run, submitter, &spec);
            machine.use_earlier(clock.now(), run, earlier);
        }
        let hosts = Hosts::restore(known.names, known.hosts, resting);
        let handle = DriverHandle {
            requests: to_driver,
            ends: ends.subscribe(),
            chronicles: Arc::clone(&chronicles),
            names: hosts.profiles().names().clone(),
        };
        let driver = Self {
            machine,
            clock,
            presence: Presence::new(clock.now()),
            links,
            saver,
            store,
            chronicles,
            ends,
            inbox: Inbox::new(from_links, requests),
            hosts,
            submitters: Submitters::restore(known.submitters),
            over: Over::default(),
            since_start: SinceStart::new(restored),
            rounds,
            scans: Scans::default(),
        };
        (driver, handle)
    }

    /// Runs until `shutdown`, and saves what is left.
    ///
    /// # Errors
    /// When that cannot be saved.
    pub async fn run(mut self, mut shutdown: watch::Receiver<bool>) -> Result<(), StoreError> {
        let mut entries = interval(SAVE_ENTRIES_EVERY);
        let mut again = interval(SAVE_AGAIN_EVERY);
        let mut chronicles = interval(SAVE_CHRONICLES_EVERY);
        let mut parts = interval(PART_EVERY);
        parts.set_missed_tick_behavior(MissedTickBehavior::Delay);
        chronicles.set_missed_tick_behavior(MissedTickBehavior::Delay);
        entries.set_missed_tick_behavior(MissedTickBehavior::Delay);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // What the machine wants first.
        self.drain();
        loop {
            let wait = self.wait();
            self.presence.waits(wait);
            let turn = tokio::select! {
                Some(news) = self.inbox.from_links.recv() => Turn::News(news),
                written = self.saver.written() => Turn::Written(written),
                Some(submitted) = self.inbox.submitted.recv() => Turn::Submitted(Box::new(submitted)),
                Some(request) = self.inbox.requests.recv() => Turn::Request(request),
                () = std::future::ready(()), if !self.scans.is_empty() => Turn::NextScanPart,
                () = sleep(wait) => Turn::TimeOut,
                _ = entries.tick() => Turn::SaveEntries,
                _ = chronicles.tick() => Turn::SaveChronicles,
                _ = parts.tick() => Turn::NextPart,
                _ = again.tick() => Turn::Second,
                () = stopped(&mut shutdown) => break,
            };
            self.mind_stalls();
            match turn {
                Turn::News(news) => self.take_in(news),
                Turn::Written(written) => self.written(written),
                Turn::Submitted(submitted) => self.submitted(*submitted),
                Turn::Request(request) => self.request(request),
                Turn::TimeOut => self.time_out(),
                Turn::SaveEntries => self.saver.flush_entries(),
                Turn::SaveChronicles => self.save_standings(),
                Turn::NextPart => self.next_part(),
                Turn::NextScanPart => self.next_scan_part(),
                // Changes that could not be saved before.
                Turn::Second => self.saver.write(),
            }
        }
        self.links.close_all("the coordinator is shutting down");
        // No more input is read.
        self.machine.settle_all_counts(self.clock.now());
        self.drain();
        self.collect_all();
        let saved = self.saver.finish().await;
        // Submissions that are saved by now are acknowledged, although they begin only after the next start.
        self.inbox.answer_submitted().await;
        saved
    }

    /// Hosts that could not be heard while the driver was held up do not count as silent.
    fn mind_stalls(&mut self) {
        let now = self.clock.now();
        if let Some(stall) = self.presence.stall(now) {
            self.links.counters.stalls.fetch_add(1, Relaxed);
            tracing::warn!(
                held_up_s = stall.as_secs_f64(),
                "the coordinator was held up; hosts get time to send something before they are given up"
            );
            self.machine.handle_stall(now);
            self.hosts.reports.stalled(now);
        }
    }

    /// The maximum time to wait for input.
    fn wait(&self) -> Duration {
        match self.machine.poll_timeout() {
            Some((when, _)) => when.since(self.clock.now()).min(WAIT_MAX),
            None => WAIT_MAX,
        }
    }

    /// Advances the machine's time, if it is due. All input that has arrived is handled first: a host that has sent
    /// something is not silent. The machine's slices continue for a limited time, so that they make progress however
    /// much hosts send.
    fn time_out(&mut self) {
        let is_due =
            |driver: &Self| driver.machine.poll_timeout().is_some_and(|(when, _)| when <= driver.clock.now());
        if !is_due(self) {
            return;
        }
        for _ in 0..self.inbox.from_links.len() {
            let Ok(news) = self.inbox.from_links.try_recv() else { break };
            self.take_in(news);
        }
        self.rounds.may_wait_anew = true;
        let began = self.clock.now();
        while is_due(self) && self.clock.now().since(began) < SLICES_FOR {
            let now = self.clock.now();
            for (host, link) in self.machine.silent(now) {
                if let Some(link) = self.links.get(link) {
                    self.machine.handle_heard(link.last_heard(), host);
                }
            }
            self.machine.handle_timeout(now);
            self.drain();
        }
    }

    fn take_in(&mut self, news: FromLink) {
        match news {
            FromLink::Messages { link, messages, permit } => {
                for mut message in messages {
                    self.look_at(link, &mut message);
                    self.machine.handle_message(self.clock.now(), link, message);
                    self.drain();
                }
                drop(permit);
            }
            FromLink::Misbehaved { link, reason } => {
                self.machine.handle_misbehaviour(self.clock.now(), link, reason);
                self.drain();
            }
            FromLink::Closed { link, reason } => {
                self.rounds.may_wait_anew = true;
                self.hosts.closed(link, unix_ms());
                tracing::debug!(link = link.0, reason, "link closed");
                self.machine.handle_closed(self.clock.now(), link);
                self.drain();
            }
        }
    }
}
