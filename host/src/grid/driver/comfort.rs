//! What the owner's governor decides, as the driver carries it out: a pause that lasts hands the jobs over, as the owner's
//! own pause does. A short one needs no driver: the governor holds the guests itself.

use std::io;

use sateen_comfort::governor::{Brakes, Change, Governor, Options, Phase, Transferred};
use sateen_comfort::preferences::{Preferences, Trust};
use sateen_comfort::sense::Place;
use tokio::sync::mpsc;
use tracing::info;

use super::{Driver, Input, Reread};
use crate::grid::control::ComfortStatus;
use crate::grid::folder::DataFolder;
use crate::grid::transport::Traffic;

/// What an owner allows the host to do.
pub struct ComfortOptions {
    /// His preferences.
    pub preferences: Preferences,
    /// The machine.
    pub place: Place,
    /// The brakes of everything that computes for the host.
    pub brakes: Brakes,
    /// How they are read again when their file changes.
    pub reread: Option<Reread>,
}

/// The governor, and the pauses that follow from its changes and from the owner's own requests.
#[derive(Default)]
pub struct Comfort {
    /// It governs as long as the host runs.
    governor: Option<Governor>,
    preferences: Option<Preferences>,
    last: Option<Change>,
    /// Whether the owner has asked for a pause, whose reason is the one that is shown.
    is_paused_by_user: bool,
    /// Whether the state machine has been asked to pause because of the governor.
    is_handed_over: bool,
}

impl Comfort {
    /// Starts a governor, if its owner allows less than everything.
    pub(super) fn start(
        options: Option<&ComfortOptions>,
        folder: &DataFolder,
        threads: usize,
        inputs: &mpsc::UnboundedSender<Input>,
    ) -> io::Result<Self> {
        let mut comfort = Self::default();
        if let Some(options) = options {
            comfort.allow(options, folder, threads, inputs)?;
        }
        Ok(comfort)
    }

    /// The owner allows this from now on.
    pub(super) fn allow(
        &mut self,
        options: &ComfortOptions,
        folder: &DataFolder,
        threads: usize,
        inputs: &mpsc::UnboundedSender<Input>,
    ) -> io::Result<()> {
        let ComfortOptions { preferences, place, brakes, .. } = options;
        let limits = &preferences.limits;
        Traffic::of_process().set_limit(limits.bandwidth_bytes_s);
        self.preferences = Some(preferences.clone());
        let transferred = limits
            .daily_transfer_bytes
            .map(|_| Box::new(Traffic::of_process().today(folder.part("transferred.json"))) as Transferred);
        if let Some(governor) = &self.governor {
            governor.change(preferences.clone(), transferred);
        } else if !preferences.are_unlimited() {
            let inputs = inputs.clone();
            let options = Options {
                preferences: preferences.clone(),
                threads,
                place: place.clone(),
                transferred,
                on_change: Box::new(move |change| {
                    let _ = inputs.send(Input::Comfort(Box::new(change)));
                }),
            };
            self.governor = Some(Governor::start(options, brakes.clone())?);
        }
        Ok(())
    }

    /// Why the owner refuses this app's runs, if so.
    pub fn refusal(&self, app: &str) -> Option<String> {
        self.preferences.as_ref()?.trust.refuses_app(app)
    }

    /// What the owner thinks of submitters, if it matters who has submitted a run.
    pub fn submitters(&self) -> Option<Trust> {
        self.preferences
            .as_ref()
            .map(|preferences| &preferences.trust)
            .filter(|trust| trust.names_submitters())
            .cloned()
    }

    /// Whether the disk has room for more saved results, which take `bytes` now: they may have half of the owner's limit, and
    /// blobs the other half.
    pub fn has_room(&self, bytes: impl FnOnce() -> u64) -> bool {
        let disk_bytes = self.preferences.as_ref().and_then(|preferences| preferences.limits.disk_bytes);
        disk_bytes.is_none_or(|most| bytes() < most / 2)
    }

    /// The owner has asked for a pause.
    pub fn begin_users_pause(&mut self) {
        self.is_paused_by_user = true;
    }

    /// Whether a pause that the owner has asked for is not over.
    pub fn is_paused_by_user(&self) -> bool {
        self.is_paused_by_user
    }

    /// What is shown of it; nothing if the owner allows everything.
    pub fn status(&self) -> Option<ComfortStatus> {
        let Change { state, phase, missing } = self.last.as_ref()?;
        let in_use = matches!(state, sateen_comfort::decision::State::Compute { in_use: true, .. });
        Some(ComfortStatus {
            phase: *phase,
            share_percent: state.share().get(),
            in_use,
            reason: state.reason(),
            missing: missing.clone(),
        })
    }

    /// Why guests stand still, if they do and keep their jobs.
    fn holds(&self) -> Option<String> {
        let change = self.last.as_ref().filter(|change| change.phase == Phase::Holds)?;
        change.state.reason()
    }

    /// Why the jobs are to go to other hosts, if they are.
    fn hands_over(&self) -> Option<String> {
        let change = self.last.as_ref().filter(|change| change.phase == Phase::HandsOver)?;
        change.state.reason()
    }
}

impl Driver {
    pub(super) fn on_comfort(&mut self, change: Change) {
        let reason = change.state.reason();
        let share = change.state.share();
        match (change.phase, &reason) {
            (Phase::Computes, _) => info!(%share, "may compute"),
            (Phase::Holds, Some(reason)) => info!(reason, "guests stand still, and keep their jobs"),
            (Phase::HandsOver, Some(reason)) => info!(reason, "gives back its jobs"),
            (Phase::Holds | Phase::HandsOver, None) => {}
        }
        self.users.comfort.last = Some(change);
        if !self.users.comfort.is_paused_by_user {
            self.settle_pause();
        }
    }

    /// The owner's own pause is over; another reason may remain.
    pub(super) fn end_users_pause(&mut self) {
        self.users.comfort.is_paused_by_user = false;
        self.users.comfort.is_handed_over = true;
        self.settle_pause();
    }

    fn settle_pause(&mut self) {
        if self.users.is_unfit() {
            return;
        }
        let holds = self.users.comfort.holds();
        self.tell(|machine, now| machine.hold(now, holds));
        match self.users.comfort.hands_over() {
            Some(reason) => {
                self.users.comfort.is_handed_over = true;
                if self.machine.paused() != Some(reason.as_str()) {
                    self.tell(|machine, now| machine.pause(now, Some(reason)));
                }
            }
            None if self.users.comfort.is_handed_over => {
                self.users.comfort.is_handed_over = false;
                info!("takes work again");
                self.tell(|machine, now| machine.pause(now, None));
            }
            None => {}
        }
    }
}
