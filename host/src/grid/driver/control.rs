//! Requests of this machine's user, and signals.

use std::net::TcpListener;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sateen_command_line::explained;
use sateen_protocol::{Time, limits};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::{Driver, Input, Stopped};
use crate::grid::control::{Answer, Answers, PeerPath, PeerStatus, Request, RunStatus, Status, listen};
use crate::grid::page::Page;

/// The state machine leaves within [`limits::LEAVE_MAX`]; if it has not after this time, the host ends without
/// it.
const ABANDONED_AFTER: Duration = limits::LEAVE_MAX.saturating_add(Duration::from_millis(250));
/// Maximum wait of a user who asks for a pause; current work is then still being given back.
const PAUSING_MAX: Duration = Duration::from_secs(10);
const PAUSE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

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

impl Driver {
    pub(super) fn listen_for_users(&self) {
        let Some((alive, _)) = &self.alive else { return };
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
                info!(url = page.url, "its page is open to this machine");
                self.page = Some(page);
            }
            Err(error) => warn!(error = explained(&error), "the host's page cannot be served"),
        }
    }

    pub(super) fn on_asked(&mut self, request: &Request, answers: Answers) {
        match request {
            Request::Status => answers.send(Answer::Status(Box::new(self.status()))),
            Request::Pause { for_s } => self.pause(*for_s, answers),
            Request::Resume => {
                // A host that is still giving back work is resumed afterwards.
                self.pause_until = Some(self.clock.now());
                self.look_at_users(self.clock.now());
                answers.send(Answer::Done("takes work again".to_owned()));
            }
            Request::Leave => {
                info!("leaves, as its user asks");
                self.leave();
                if let Some(leaving) = &mut self.leaving {
                    leaving.answers.push(answers);
                }
            }
        }
    }

    fn pause(&mut self, for_s: Option<u64>, answers: Answers) {
        let now = self.clock.now();
        if self.leaving.is_some() {
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
                (format!("paused by its user until {until}"), Some(now + time))
            }
            None => ("paused by its user".to_owned(), None),
        };
        info!(reason, "takes no work");
        self.pause_until = until;
        self.tell(|machine, now| machine.pause(now, Some(reason.clone())));
        let told = reason.replace("its user", "you");
        answers
            .send(Answer::Progress(format!("no new work is taken, and current work is given back: {told}")));
        self.pausing.push(Pausing { until: now + PAUSING_MAX, reason: told, answers });
        self.look_at_pauses(now);
    }

    /// Users who asked for a pause are notified when the host has given back everything and, if it is
    /// connected, the grid knows that it is paused.
    fn look_at_pauses(&mut self, now: Time) {
        let is_known = self.machine.id().is_some() || self.coordinator.since().is_none();
        let is_paused = self.machine.paused().is_some() && is_known;
        let is_over = self.pause_until.is_some_and(|until| until <= now) || self.leaving.is_some();
        self.pausing.retain(|Pausing { until, reason, answers }| {
            let told = match () {
                () if is_paused => reason.clone(),
                () if is_over => "no longer to pause".to_owned(),
                () if now >= *until => format!("{reason}; work is still being given back"),
                () => return true,
            };
            answers.send(Answer::Done(told));
            false
        });
    }

    pub(super) fn on_signal(&mut self) {
        if self.leaving.is_some() {
            self.ended = Some(Stopped::Interrupted);
            return;
        }
        info!("leaves; a second signal ends it at once");
        self.leave();
    }

    fn leave(&mut self) {
        if self.leaving.is_none() {
            let until = self.clock.now() + ABANDONED_AFTER;
            self.leaving = Some(Leaving { until, answers: Vec::new(), told: 0 });
            self.tell(sateen_protocol::host::Host::leave);
        }
    }

    /// Ends pauses whose time is over, and reports the progress of leaving.
    pub(super) fn look_at_users(&mut self, now: Time) {
        self.look_at_pauses(now);
        if self.pause_until.is_some_and(|until| until <= now) {
            if self.machine.paused().is_some() {
                info!("takes work again");
                self.pause_until = None;
                self.tell(|machine, now| machine.pause(now, None));
            } else if !self.machine.is_leaving() {
                self.pause_until = None;
            }
        }
        let busy: u32 =
            self.runs.keys().filter_map(|run| self.machine.counts(*run)).map(|counts| counts.busy).sum();
        let runs = self.runs.len();
        let Some(leaving) = &mut self.leaving else { return };
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
        for answers in self.leaving.take().into_iter().flat_map(|leaving| leaving.answers) {
            answers.send(match stopped {
                Stopped::Left => Answer::Done("it has left".to_owned()),
                Stopped::Abandoned(why) | Stopped::Failed(why) => {
                    Answer::Refused(format!("it exited without notifying the coordinator: {why}"))
                }
                Stopped::Interrupted => Answer::Refused("it was told to exit at once".to_owned()),
            });
        }
    }

    fn status(&self) -> Status {
        let now = self.clock.now();
        let runs = self.machine.runs().into_iter().map(|run| {
            let here = self.runs.get(&run);
            let (app, function, arguments) = here.map(|here| here.called.clone()).unwrap_or_default();
            RunStatus {
                run,
                app,
                function,
                arguments,
                loading: here.is_some_and(super::runs::PortionState::is_loading),
                counts: self.machine.counts(run).unwrap_or_default(),
            }
        });
        let peers = self.machine.peers().map(|info| PeerStatus {
            id: info.id.to_string(),
            name: info.report.name.clone(),
            site: info.report.site.clone(),
            path: match self.peers.get(&info.id) {
                Some(route) if route.is_direct() => PeerPath::Direct,
                _ => PeerPath::Relayed,
            },
        });
        Status {
            id: self.machine.id().map(|id| id.to_string()),
            name: self.options.name.clone(),
            site: self.options.site.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            processor_s: processor_s(),
            threads: self.threads,
            coordinator: self.options.coordinator.to_string(),
            connected_s: self.coordinator.since().map(|since| now.since(since).as_secs_f64()),
            unreachable: self.coordinator.unreachable.clone(),
            refused: self.coordinator.refused.clone(),
            paused: self.machine.paused().map(str::to_owned),
            paused_until_s: self.machine.paused().and(self.pause_until).map(|until| unix_s(until.since(now))),
            leaving: self.leaving.is_some(),
            runs: runs.collect(),
            peers: peers.collect(),
            direct: self.reported_direct.clone(),
            steals: self.steals.status(),
            store: self.keeper.status(),
            may_use: self.may_use.clone(),
            contributed: self.contribution.so_far(),
            page: self.page.as_ref().map(|page| page.url.clone()),
        }
    }
}

/// The time after this duration, in seconds since 1970.
fn unix_s(later: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now + later).as_secs()
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
