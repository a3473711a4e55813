//! Requests of this machine's user, and signals.

use std::net::TcpListener;
use std::time::{Duration, UNIX_EPOCH};

use sateen_command_line::explained;
use sateen_protocol::{Time, limits};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::comfort::Comfort;
use super::{Driver, Input, Stopped};
use crate::grid::clock::unix_s;
use crate::grid::control::{
    Answer, Answers, MayUse, PAUSED_BY_USER, PeerPath, PeerStatus, Request, RunStatus, Status, listen,
    to_user,
};
use crate::grid::page::Page;

/// The state machine leaves within [`limits::LEAVE_MAX`]; if it has not after this time, the host ends without
/// it.
const ABANDONED_AFTER: Duration = limits::LEAVE_MAX.saturating_add(Duration::from_millis(250));
/// Maximum wait of a user who asks for a pause; after it, the user is notified that work is still being given back.
const PAUSING_MAX: Duration = Duration::from_secs(10);
const PAUSE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
/// At the end, maximum time for answers to users.
const ANSWERS_MAX: Duration = Duration::from_millis(200);

/// A host that is leaving, and the users who wait for that.
pub struct Leaving {
    until: Time,
    answers: Vec<Answers>,
    told: usize,
}

/// A host that gives back its work, and the users who wait for that.
pub struct Pausing {
    until: Time,
    reason: String,
    answers: Answers,
}

/// This machine's users, as the driver serves them.
pub struct Users {
    page: Option<Page>,
    /// What runs may use, as users are shown.
    may_use: MayUse,
    pause_until: Option<Time>,
    /// Why this machine must not compute, if it must not.
    unfit: Option<String>,
    /// What its owner allows, and why it does not compute.
    pub comfort: Comfort,
    pausing: Vec<Pausing>,
    leaving: Option<Leaving>,
    /// Ends when all answers are written: each connection has a clone of the sender.
    alive: Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>,
}

impl Users {
    /// Nobody has asked for anything.
    pub fn new(may_use: MayUse, comfort: Comfort) -> Self {
        Self {
            page: None,
            may_use,
            pause_until: None,
            unfit: None,
            comfort,
            pausing: Vec::new(),
            leaving: None,
            alive: Some(mpsc::channel(1)),
        }
    }

    /// Whether this host leaves.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Whether a user waits for an answer, or for the end of a pause.
    pub fn are_waiting(&self) -> bool {
        self.leaving.is_some() || !self.pausing.is_empty() || self.pause_until.is_some()
    }

    /// No pause of a user changes from now on that the host takes no work.
    pub fn be_unfit(&mut self, why: String) {
        self.pause_until = None;
        self.unfit = Some(why);
    }

    /// Whether this machine must not compute, whatever its owner allows.
    pub fn is_unfit(&self) -> bool {
        self.unfit.is_some()
    }

    /// Waits until all answers are written, but not for long.
    pub async fn wait_for_answers(&mut self) {
        if let Some((alive, mut gone)) = self.alive.take() {
            drop(alive);
            let _ = tokio::time::timeout(ANSWERS_MAX, gone.recv()).await;
        }
    }
}

impl Driver {
    pub(super) fn listen_for_users(&self) {
        let Some((alive, _)) = &self.users.alive else { return };
        if self.options.signals {
            for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
                let inputs = self.inputs.clone();
                match signal(kind) {
                    Ok(mut signals) => {
                        tokio::spawn(async move {
                            while signals.recv().await.is_some() {
                                let _ = inputs.send(Input::Signal);
                            }
                        });
                    }
                    Err(error) => warn!(%error, "signals end this host without notifying the coordinator"),
                }
            }
        }
        let Some(path) = self.options.folder.part("control.sock") else {
            warn!("without a data folder `sateen-host status`, pause, resume and leave do not work");
            return;
        };
        let inputs = self.inputs.clone();
        let requests = move |incoming| {
            let _ = inputs.send(Input::Asked(incoming));
        };
        if let Err(error) = listen(&path, requests, alive) {
            warn!(path = %path.display(), error = explained(&error), "`sateen-host status`, pause, resume and leave do not work");
        }
    }

    /// The host also works without a page.
    pub(super) fn serve_page(&mut self, listener: Option<TcpListener>) {
        let Some(listener) = listener else { return };
        let inputs = self.inputs.clone();
        let requests = move |incoming| {
            let _ = inputs.send(Input::Asked(incoming));
        };
        match Page::serve(listener, requests) {
            Ok(page) => {
                info!(url = page.url, "the host's page is available on this machine");
                self.users.page = Some(page);
            }
            Err(error) => warn!(error = explained(&error), "the host's page cannot be served"),
        }
    }

    pub(super) fn on_asked(&mut self, request: &Request, answers: Answers) {
        if let (Request::Pause { .. } | Request::Resume, Some(why)) = (request, &self.users.unfit) {
            let told = format!("the host takes no work until it is started again: {why}");
            return answers.send(Answer::Refused(told));
        }
        match request {
            Request::Status => answers.send(Answer::Status(Box::new(self.status()))),
            Request::Pause { for_s } => self.pause(*for_s, answers),
            Request::Resume if !self.users.comfort.is_paused_by_user() => {
                let reason = self.users.comfort.status().and_then(|comfort| comfort.reason);
                let told = match reason {
                    _ if self.users.is_leaving() => "you had not paused it, and it is leaving".to_owned(),
                    Some(reason) => {
                        format!("you had not paused it; it still does not compute: {}", to_user(&reason))
                    }
                    None => "you had not paused it; it takes work".to_owned(),
                };
                answers.send(Answer::Done(told));
            }
            Request::Resume => {
                // A host that is still giving back work is resumed afterwards.
                self.users.pause_until = Some(self.clock.now());
                self.look_at_users(self.clock.now());
                let told = match self.users.comfort.status().and_then(|comfort| comfort.reason) {
                    Some(reason) => {
                        format!("your pause is over; it still does not compute: {}", to_user(&reason))
                    }
                    None if self.machine.is_leaving() => {
                        "takes work again, once it has given back what it had".to_owned()
                    }
                    None => "takes work again".to_owned(),
                };
                answers.send(Answer::Done(told));
            }
            Request::Leave => {
                info!("leaves, as its user asks");
                self.leave();
                if let Some(leaving) = &mut self.users.leaving {
                    leaving.answers.push(answers);
                }
            }
        }
    }

    fn pause(&mut self, for_s: Option<u64>, answers: Answers) {
        let now = self.clock.now();
        if self.users.is_leaving() {
            return answers.send(Answer::Refused("the host is leaving".to_owned()));
        }
        let (reason, until) = match for_s.map(Duration::from_secs) {
            Some(time) if time > PAUSE_MAX => {
                let why = "a pause is at most a year; leave it open, or leave the grid";
                return answers.send(Answer::Refused(why.to_owned()));
            }
            Some(time) => {
                let until_s = unix_s(time);
                // The grid has hosts in several time zones: each program shows this in its user's own.
                let until = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(until_s));
                (format!("{PAUSED_BY_USER} until {until}"), Some(now + time))
            }
            None => (PAUSED_BY_USER.to_owned(), None),
        };
        info!(reason, "takes no work");
        self.users.pause_until = until;
        self.users.comfort.begin_users_pause();
        self.tell(|machine, now| machine.pause(now, Some(reason.clone())));
        let told = reason.replace("its user", "you");
        answers.send(Answer::Progress("no new work is taken, and current work is given back".to_owned()));
        self.users.pausing.push(Pausing { until: now + PAUSING_MAX, reason: told, answers });
        self.look_at_pauses(now);
    }

    /// Users who asked for a pause are notified when the host has given back everything and, if it is
    /// connected, the grid knows that it is paused.
    fn look_at_pauses(&mut self, now: Time) {
        let is_known = self.machine.id().is_some() || self.coordinator.since().is_none();
        let is_paused = self.machine.paused().is_some() && is_known;
        let is_over = self.users.pause_until.is_some_and(|until| until <= now) || self.users.is_leaving();
        self.users.pausing.retain(|Pausing { until, reason, answers }| {
            let told = match () {
                () if is_paused => reason.clone(),
                () if is_over => "the pause ended before all work was given back".to_owned(),
                () if now >= *until => format!("{reason}; work is still being given back"),
                () => return true,
            };
            answers.send(Answer::Done(told));
            false
        });
    }

    pub(super) fn on_signal(&mut self) {
        if self.users.is_leaving() {
            self.ended = Some(Stopped::Interrupted);
            return;
        }
        info!("leaving the grid; a second signal stops the host at once");
        self.leave();
    }

    fn leave(&mut self) {
        if self.users.leaving.is_none() {
            let until = self.clock.now() + ABANDONED_AFTER;
            self.users.leaving = Some(Leaving { until, answers: Vec::new(), told: 0 });
            self.tell(sateen_protocol::host::Host::leave);
        }
    }

    /// Ends pauses whose time is over, and reports the progress of leaving.
    pub(super) fn look_at_users(&mut self, now: Time) {
        self.look_at_pauses(now);
        if self.users.pause_until.is_some_and(|until| until <= now) {
            if self.machine.paused().is_some() {
                info!("its user's pause is over");
                self.users.pause_until = None;
                self.end_users_pause();
            } else if !self.machine.is_leaving() {
                self.users.pause_until = None;
                self.end_users_pause();
            }
        }
        let ids = self.runs.ids();
        let busy: u32 =
            ids.iter().filter_map(|run| self.machine.counts(*run)).map(|counts| counts.busy).sum();
        let runs = ids.len();
        let Some(leaving) = &mut self.users.leaving else { return };
        leaving.told += 1;
        if leaving.told % 4 == 1 {
            for answers in &leaving.answers {
                answers
                    .send(Answer::Progress(format!("runs to hand over: {runs}; workers still busy: {busy}")));
            }
        }
        if now >= leaving.until && self.ended.is_none() {
            let why = format!("the grid did not answer in {} s", ABANDONED_AFTER.as_secs_f64());
            self.ended = Some(Stopped::Abandoned(why));
        }
    }

    /// Notifies users who asked the host to leave of the outcome.
    pub(super) fn tell_those_who_wait(&mut self, stopped: &Stopped) {
        for answers in self.users.leaving.take().into_iter().flat_map(|leaving| leaving.answers) {
            answers.send(match stopped {
                Stopped::Left => Answer::Done("it has left".to_owned()),
                Stopped::Abandoned(why) | Stopped::Failed(why) => {
                    Answer::Refused(format!("it exited without notifying the coordinator: {why}"))
                }
                Stopped::Interrupted => Answer::Refused("a second signal stopped it at once".to_owned()),
            });
        }
    }

    fn may_use(&self) -> MayUse {
        let comfort = self.options.comfort.as_ref();
        let reread = comfort.and_then(|comfort| comfort.reread.as_ref());
        let preferences = reread.map(|reread| reread.status().clone()).unwrap_or_default();
        MayUse { preferences, ..self.users.may_use.clone() }
    }

    fn status(&self) -> Status {
        let now = self.clock.now();
        let runs = self.machine.runs().into_iter().map(|run| {
            let here = self.runs.get(run);
            let (app, function, arguments) = here.map(|here| here.called.clone()).unwrap_or_default();
            RunStatus {
                run,
                app,
                function,
                arguments,
                loading: here.is_some_and(super::runs::PortionState::is_loading),
                unable: self.machine.unable(run).map(str::to_owned),
                since_s: here.and_then(|here| here.since_s),
                counts: self.machine.counts(run).unwrap_or_default(),
            }
        });
        let peers = self.machine.peers().map(|info| PeerStatus {
            id: info.id.to_string(),
            name: info.report.name.clone(),
            site: info.report.site.clone(),
            path: if self.direct.is_direct(info.id) { PeerPath::Direct } else { PeerPath::Relayed },
        });
        Status {
            key: self.coordinator.key().to_string(),
            id: self.machine.id().map(|id| id.to_string()),
            name: self.options.name.clone(),
            site: self.options.site.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            processor_s: processor_s() + self.loader.runtime.processor_time().as_secs_f64(),
            threads: self.runs.threads(),
            coordinator: self.options.coordinator.to_string(),
            connected_s: self.coordinator.connected_since().map(|since| now.since(since).as_secs_f64()),
            unreachable: self.coordinator.unreachable.clone(),
            refused: self.coordinator.refused.clone(),
            paused: self.machine.paused().map(str::to_owned),
            paused_until_s: self
                .machine
                .paused()
                .and(self.users.pause_until)
                .map(|until| unix_s(until.since(now))),
            leaving: self.users.is_leaving(),
            runs: runs.collect(),
            peers: peers.collect(),
            direct: self.direct.reported().map(str::to_owned),
            steals: self.runs.steals(),
            store: self.keeper.status(),
            may_use: self.may_use(),
            guests: self.loader.runtime.guests(),
            comfort: self.users.comfort.status(),
            contributed: self.runs.contribution().so_far(),
            page: self.users.page.as_ref().map(|page| page.url.clone()),
        }
    }
}

/// Processor time of this process.
#[cfg(unix)]
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Not available on this system.
#[cfg(not(unix))]
fn processor_s() -> f64 {
    0.0
}
