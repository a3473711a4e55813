//! Runs on this host.

mod commanded;

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use sateen_command_line::explained;
use sateen_protocol::host::{FinalCounts, Notice};
use sateen_protocol::limits::PARCEL_BYTES_MIN;
use sateen_protocol::{Counts, Entry, GridId, RunId, RunSpec, Time};
use tracing::{debug, warn};

use super::busy;
use super::caps::Caps;
use super::notices::{Gate, Notices};
use super::places::{Place, Places};
use super::steals::Latencies;
use super::{Driver, Input};
use crate::grid::cancel::Cancel;
use crate::grid::clock::unix_s;
use crate::grid::contribution::Contribution;
use crate::grid::control::StealStatus;
use crate::grid::runtime::{Notify, RunningPortion};
use crate::grid::store::StoredRun;
use crate::grid::threads::on_own_thread;

/// What loading a run has given.
pub struct Loaded {
    portion: Box<dyn RunningPortion>,
    place: Place,
    /// Its entries that were saved here.
    entries: Vec<Entry>,
}

/// A run on this host. A run that stops and starts again has another generation, so that late notices are not
/// attributed to the new one.
pub struct PortionState {
    generation: u64,
    cancel: Cancel,
    portion: Option<Box<dyn RunningPortion>>,
    /// The place of its portion.
    place: Option<Place>,
    /// Its app, its entry point and the words of its command line.
    pub called: (String, String, Vec<String>),
    /// When it was loaded, in seconds since 1970.
    pub since_s: Option<u64>,
    /// The part of its counts that was added to this machine's contribution.
    pub contributed: (u64, u64),
    /// Its workers that computed when all runs were last sampled: workers move from one run to another, so a sample
    /// of one run alone would not be consistent with this.
    busy: u32,
}

impl PortionState {
    pub fn is_loading(&self) -> bool {
        self.portion.is_none()
    }

    /// The run is not wanted any more: whatever loads it gives up.
    fn cancel(&self, places: &Places) {
        self.cancel.cancel();
        places.look_again();
    }

    /// Ends the run, on a thread that may wait for guests.
    fn stop(self, places: &Places) {
        self.cancel(places);
        if let Some(portion) = self.portion {
            stop(portion, self.place);
        }
    }
}

/// The runs of this host, and what it has done for all that it ever had.
pub struct Runs {
    all: BTreeMap<RunId, PortionState>,
    next_generation: u64,
    /// Notices in transit to the driver.
    notices: Arc<Notices>,
    places: Arc<Places>,
    /// The number of this host's workers.
    threads: usize,
    caps: Caps,
    contribution: Contribution,
    steals: Latencies,
    /// Runs whose portions have got commands since they were last flushed.
    commanded: Vec<RunId>,
}

impl Runs {
    /// No runs yet, on a host with this number of workers.
    pub fn new(threads: usize, caps: Caps, contribution: Contribution) -> Self {
        Self {
            all: BTreeMap::new(),
            next_generation: 0,
            notices: Arc::default(),
            places: Arc::default(),
            threads,
            caps,
            contribution,
            steals: Latencies::default(),
            commanded: Vec::new(),
        }
    }

    /// One of the runs.
    pub fn get(&self, run: RunId) -> Option<&PortionState> {
        self.all.get(&run)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The ids of the runs, in order.
    pub fn ids(&self) -> Vec<RunId> {
        self.all.keys().copied().collect()
    }

    /// The number of this host's workers.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// A stolen job has begun: the times since its request.
    pub fn note_steal(&mut self, arrived_ns: u64, begun_ns: Option<u64>) {
        self.steals.add(arrived_ns, begun_ns);
    }

    /// How long steals took.
    pub fn steals(&self) -> StealStatus {
        self.steals.status()
    }

    /// This machine's contribution.
    pub fn contribution(&self) -> &Contribution {
        &self.contribution
    }

    /// Saves this machine's contribution on another thread, if it is time to do so.
    pub fn save_now_and_then(&mut self, now: Time) {
        if let Some(save) = self.contribution.due(now) {
            tokio::task::spawn_blocking(save);
        }
    }
}

/// The length of the result in a notice.
fn result_bytes(notice: &Notice) -> usize {
    match notice {
        Notice::Finished { finished, .. } => finished.outcome.bytes().len(),
        _ => 0,
    }
}

fn stop(portion: Box<dyn RunningPortion>, place: Option<Place>) {
    on_own_thread("sateen-stop", move || {
        portion.stop();
        drop(place);
    });
}

impl Driver {
    pub(super) fn load(&mut self, run: RunId, spec: RunSpec) {
        self.runs.next_generation += 1;
        let generation = self.runs.next_generation;
        let cancel = Cancel::default();
        let called = (spec.app.to_string(), spec.function.clone(), spec.arguments.clone());
        let here = PortionState {
            generation,
            cancel: cancel.clone(),
            portion: None,
            place: None,
            called,
            since_s: None,
            contributed: (0, 0),
            busy: 0,
        };
        if let Some(earlier) = self.runs.all.insert(run, here) {
            earlier.stop(&self.runs.places);
        }
        let stored = StoredRun { grid: self.machine.grid().unwrap_or(GridId(0)), run };
        let unwanted = self.users.comfort.refusal(&spec.app.to_string());
        if let Some(why) = unwanted.or_else(|| self.runs.caps.refusal(stored)) {
            let _ = self.inputs.send(Input::Loaded { run, generation, loaded: Err(why) });
            return;
        }
        let notify = self.notify(run, generation);
        let (loader, keeper, inputs) = (self.loader.clone(), self.keeper.clone(), self.inputs.clone());
        let (places, submitters) = (Arc::clone(&self.runs.places), self.users.comfort.submitters());
        let work = move || {
            let (sender, restored) = mpsc::channel();
            keeper.restore(stored, move |entries| {
                let _ = sender.send(entries);
            });
            drop(keeper);
            let wanted = submitters.map_or(Ok(()), |trust| loader.check_submitter(run, &trust, &cancel));
            let loaded = match wanted.map(|()| places.wait(|| cancel.is_cancelled())) {
                Err(why) => Err(why),
                Ok(Some(place)) => loader.load(run, spec, notify, &cancel).map(|portion| {
                    // A store whose thread is gone has no entries.
                    Loaded { portion, place, entries: restored.recv().unwrap_or_default() }
                }),
                Ok(None) => Err("the run is not wanted any more".to_owned()),
            };
            let _ = inputs.send(Input::Loaded { run, generation, loaded });
        };
        if let Err(error) = std::thread::Builder::new().name("sateen-load".to_owned()).spawn(work) {
            let loaded = Err(format!("a thread cannot be started: {}", explained(&error)));
            let _ = self.inputs.send(Input::Loaded { run, generation, loaded });
        }
    }

    /// The function that a portion calls, on any of its threads.
    fn notify(&self, run: RunId, generation: u64) -> Notify {
        let (inputs, gate) = (self.inputs.clone(), Gate::new(&self.runs.notices));
        let runtime = self.loader.runtime.clone();
        Arc::new(move |notice| {
            let Some(notice) = gate.admit(notice) else { return };
            runtime.result_passes(result_bytes(&notice));
            let _ = inputs.send(Input::Notice { run, generation, notice });
        })
    }

    pub(super) fn on_loaded(&mut self, run: RunId, generation: u64, loaded: Result<Loaded, String>) {
        let here = self.runs.all.get_mut(&run).filter(|here| here.generation == generation);
        let Some(here) = here else {
            if let Ok(Loaded { portion, place, .. }) = loaded {
                stop(portion, Some(place));
            }
            return;
        };
        match loaded {
            Ok(Loaded { portion, place, entries }) => {
                (here.portion, here.place) = (Some(portion), Some(place));
                here.since_s = Some(unix_s(Duration::ZERO));
                if let Some(grid) = self.machine.grid() {
                    self.runs.contribution.count_run(grid, run);
                }
                if !entries.is_empty() {
                    debug!(run = run.0, entries = entries.len(), "entries were saved here");
                    self.tell(|machine, now| machine.handle_restored(now, run, entries));
                }
                self.tell(|machine, now| machine.handle_loaded(now, run, Ok(())));
            }
            Err(why) => {
                warn!(run = run.0, why, "this host cannot take part in run");
                self.tell(|machine, now| machine.handle_loaded(now, run, Err(why)));
            }
        }
    }

    pub(super) fn on_notice(&mut self, run: RunId, generation: u64, notice: Notice) {
        self.runs.notices.take();
        let result_bytes = result_bytes(&notice);
        if let Some(here) = self.runs.get(run).filter(|here| here.generation == generation) {
            here.portion.iter().for_each(|portion| portion.notice_taken(&notice));
            match &notice {
                // The portion may have been asked for more.
                Notice::Offered(_) => self.runs.note_commanded(run),
                Notice::Unable(why) => warn!(run = run.0, why, "this host cannot continue with run"),
                Notice::Crashed(why) => {
                    warn!(
                        run = run.0,
                        why, "the guests' process ended; their jobs are done again, and run begins here anew"
                    );
                    if let Some(counts) = self.contribute(run) {
                        self.tell_counts(run, Some(Counts { busy: 0, ..counts }));
                    }
                }
                // A recorded result is reported no earlier than its work. And guests that come to rest are reported
                // before they are dropped.
                Notice::Finished { .. } | Notice::Recorded { .. } | Notice::Drained => {
                    let busy = self.runs.get(run).map_or(0, |here| here.busy);
                    let counts = self.contribute(run);
                    self.tell_counts(run, counts.map(|counts| Counts { busy, ..counts }));
                }
                _ => {}
            }
            self.tell(|machine, now| machine.handle_notice(now, run, notice));
        }
        if result_bytes >= PARCEL_BYTES_MIN {
            self.count_undelivered();
        }
        self.loader.runtime.result_has_passed(result_bytes);
    }

    /// Counts the result's memory, which guests cannot use until it is delivered.
    pub(super) fn count_undelivered(&self) {
        self.loader.runtime.undelivered(self.machine.undelivered_bytes());
    }

    pub(super) fn portion(&mut self, run: RunId) -> Option<&mut Box<dyn RunningPortion>> {
        self.runs.all.get_mut(&run)?.portion.as_mut()
    }

    /// Drops a run. The state machine gets its counts once no guest computes any more.
    pub(super) fn stop(&mut self, run: RunId, forget: bool) {
        self.contribute(run);
        let here = self.runs.all.remove(&run);
        let contributed = here.as_ref().map(|here| here.contributed).unwrap_or_default();
        here.iter().for_each(|here| here.cancel(&self.runs.places));
        match here.and_then(|here| Some((here.portion?, here.place))) {
            Some((portion, place)) => {
                let inputs = self.inputs.clone();
                on_own_thread("sateen-stop", move || {
                    let last = Box::new(portion.stop());
                    drop(place);
                    let _ = inputs.send(Input::Stopped { run, contributed, last });
                });
            }
            None => self.answer(|machine, now| machine.handle_stopped(now, run, None)),
        }
        if forget && let Some(grid) = self.machine.grid() {
            self.keeper.forget(StoredRun { grid, run });
        }
    }

    pub(super) fn on_stopped(&mut self, run: RunId, contributed: (u64, u64), last: FinalCounts) {
        let (work_ns, jobs) = (last.counts.work_ns, last.counts.jobs.executed);
        self.contribute_more(run, contributed, (work_ns, jobs));
        self.tell(|machine, now| machine.handle_stopped(now, run, Some(last)));
    }

    /// Drops all runs when this host ends, and saves what it has done for them.
    pub(super) fn stop_all(&mut self) {
        for run in self.runs.ids() {
            self.contribute(run);
        }
        self.runs.contribution.save();
        for run in std::mem::take(&mut self.runs.all).into_values() {
            run.stop(&self.runs.places);
        }
    }

    pub(super) fn save(&mut self, run: RunId, entry: Entry) {
        let has_room = self.users.comfort.has_room(|| self.keeper.status().bytes);
        if let Some(grid) = self.machine.grid().filter(|_| has_room) {
            self.keeper.save(StoredRun { grid, run }, entry);
        }
    }

    /// Reports the counts of all runs to the state machine.
    pub(super) fn count(&mut self) {
        let runs = self.runs.ids();
        let mut counts: Vec<Option<Counts>> = runs.iter().map(|run| self.contribute(*run)).collect();
        busy::at_one_moment(self.runs.threads, counts.iter_mut().flatten());
        for (run, counts) in runs.into_iter().zip(counts) {
            if let Some(here) = self.runs.all.get_mut(&run) {
                here.busy = counts.map_or(0, |counts| counts.busy);
            }
            self.tell_counts(run, counts);
            self.bound(run);
        }
    }

    /// A run that has used up this host's limit for one run, or whose app its owner refuses by now, is left to other hosts.
    fn bound(&mut self, run: RunId) {
        let Some(grid) = self.machine.grid().filter(|_| self.portion(run).is_some()) else { return };
        let unwanted = self.runs.get(run).and_then(|here| self.users.comfort.refusal(&here.called.0));
        if let Some(why) = unwanted.or_else(|| self.runs.caps.refusal(StoredRun { grid, run })) {
            warn!(run = run.0, why, "this host cannot continue with run");
            self.tell(|machine, now| machine.handle_notice(now, run, Notice::Unable(why)));
        }
    }

    /// Counts the work of the run on this host since the last call.
    pub(super) fn contribute(&mut self, run: RunId) -> Option<Counts> {
        let here = self.runs.all.get_mut(&run)?;
        let counts = here.portion.as_ref()?.counts();
        let before = here.contributed;
        here.contributed = (before.0.max(counts.work_ns), before.1.max(counts.jobs.executed));
        let now = here.contributed;
        self.contribute_more(run, before, now);
        Some(counts)
    }

    /// Adds the growth of a run's work (in nanoseconds) and jobs.
    fn contribute_more(&mut self, run: RunId, before: (u64, u64), now: (u64, u64)) {
        let more_ns = now.0.saturating_sub(before.0);
        self.runs.contribution.count(more_ns, now.1.saturating_sub(before.1));
        if let Some(grid) = self.machine.grid() {
            self.runs.caps.count(StoredRun { grid, run }, more_ns);
        }
    }

    fn tell_counts(&mut self, run: RunId, counts: Option<Counts>) {
        if let Some(counts) = counts {
            self.tell(|machine, now| machine.handle_notice(now, run, Notice::Counts(Box::new(counts))));
        }
        if let Some(activity) = self.portion(run).and_then(|portion| portion.activity()) {
            self.tell(|machine, now| machine.handle_notice(now, run, activity));
        }
    }
}
