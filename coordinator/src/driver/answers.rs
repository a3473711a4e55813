//! Requests of the API to the driver.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sateen_protocol::coordinator::{CommandError, Earlier};
use sateen_protocol::{RunId, RunSpec, RunState};
use tokio::sync::oneshot;

use super::inbox::Submitted;
use super::scan::Scan;
use super::settling::Settling;
use super::waits::Reasons;
use super::{ChangeError, Driver, Live, Request, RunAction};
use crate::chronicle::Waits;
use crate::clock::unix_ms;
use crate::figures::{Figures, end, of_view};
use crate::peer::Peer;
use crate::store::{StoreError, encoded_bytes, sql};
use crate::submitter::submitter_of;
use crate::token::TokenId;

impl Driver {
    pub(super) fn request(&mut self, request: Request) {
        // The caller may have hung up; the answer is then dropped.
        match request {
            Request::Submit { app_name, spec, submitter, owner, reply } => {
                self.submit(app_name, *spec, (submitter, owner), reply);
            }
            Request::Change { run, action, reply } => {
                let now = self.clock.now();
                let result = match action {
                    RunAction::Cancel => self.machine.cancel(now, run),
                    RunAction::Suspend => self.machine.suspend(now, run),
                    RunAction::Resume => self.machine.resume(now, run),
                };
                self.drain();
                self.look_at_places();
                match result {
                    Ok(()) => self.saver.answer(run, reply),
                    // The machine has forgotten it, and its end is not in the store yet.
                    Err(CommandError::NoRun(_)) if self.saver.is_behind_with(run) => {
                        let _ = reply.send(Err(ChangeError::Over { run, why: self.store.trouble() }));
                    }
                    Err(error) => {
                        let _ = reply.send(Err(ChangeError::Refused(error)));
                    }
                }
            }
            Request::Run(run, reply) => self.scan(Scan::run(run, reply)),
            Request::Runs(reply) => {
                let reasons = Reasons::default();
                let runs = self.machine.run_ids().chain(self.over.run_ids());
                let _ = reply.send(runs.filter_map(|run| self.live(run, &reasons)).collect());
            }
            Request::Checked(run, reply) => {
                let _ = reply.send(self.machine.checked_run(run).unwrap_or(run));
            }
            Request::Hosts(reply) => self.scan(Scan::hosts(reply)),
            Request::Forget(run, reply) => {
                self.chronicles.forget(run);
                self.ends.send_modify(|ends| *ends += 1);
                let _ = reply.send(());
            }
            Request::Totals(reply) => self.scan(Scan::totals(reply)),
        }
    }

    /// Saves a run, with the number by which hosts know its submitter; the machine gets it afterwards.
    fn submit(
        &self,
        app_name: String,
        mut spec: RunSpec,
        (submitter, owner): (Peer, Option<TokenId>),
        reply: oneshot::Sender<Result<RunId, StoreError>>,
    ) {
        spec.share.submitter = self.machine.submitter_for_hosts(submitter_of(Some(submitter), owner));
        let (store, driver) = (Arc::clone(&self.store), self.inbox.to_submitted());
        tokio::spawn(async move {
            let (to_save, now_ms) = (spec.clone(), unix_ms());
            let save = move |connection: &mut rusqlite::Connection| {
                sql::add_run(connection, &app_name, &to_save, (submitter, owner), now_ms)
            };
            let result = store.write(save).await;
            let submitted_by = submitter_of(Some(submitter), owner);
            let earlier = match &result {
                Ok(run) if spec.reuse => store.earlier(*run, submitted_by, &spec).await,
                _ => Earlier::default(),
            };
            // A driver that has stopped has answered by stopping.
            let _ = driver.send(Submitted { result, spec, earlier, submitter, owner, reply });
        });
    }

    pub(super) fn submitted(&mut self, submitted: Submitted) {
        let Submitted { result, spec, earlier, submitter, owner, reply } = submitted;
        if let Ok(run) = result {
            tracing::info!(run = run.0, app = ?spec.app, function = spec.function, "run submitted");
            self.links.counters.runs_submitted.fetch_add(1, Relaxed);
            self.chronicles.begin(run);
            self.submitters.add(run, submitter, encoded_bytes(&spec));
            let (now, submitter) = (self.clock.now(), submitter_of(Some(submitter), owner));
            self.saver.keepers.add(run, submitter, &spec);
            self.machine.submit(now, run, submitter, spec);
            self.machine.use_earlier(now, run, earlier);
            self.drain();
            self.note_wait(run, &Reasons::default());
        }
        // The caller may have hung up.
        let _ = reply.send(result);
    }

    /// A run whose figures are not saved, without what each host did of it.
    pub(super) fn live(&self, run: RunId, reasons: &Reasons) -> Option<Live> {
        if let Some(view) = self.machine.run(run) {
            let figures = of_view(&view, Vec::new());
            let (state, waits) = (view.state(), self.waits(&view, reasons));
            let share = self.share(&view, reasons);
            return Some(Live { run, state, waits, share, figures, is_over: false, at_ms: unix_ms() });
        }
        if let Some(settled) = self.over.settled(run) {
            return Some(self.over(run, settled.state, settled.sums.clone()));
        }
        let (settling, view) = (self.over.settling(run)?, self.machine.run_over(run)?);
        let Settling { end, failure, untold, .. } = settling;
        let workers = view.counts().workers;
        let figures = end::close(of_view(&view, Vec::new()), (workers, *untold), end, failure.clone());
        Some(self.over(run, settling.state, figures))
    }

    /// A run that is over. The API learns that only when it is saved.
    fn over(&self, run: RunId, state: RunState, figures: Figures) -> Live {
        let Some(at_ms) = self.saver.unsaved_end(run) else {
            let (waits, share, at_ms) = (None, None, unix_ms());
            return Live { run, state, waits, share, figures, is_over: true, at_ms };
        };
        let why = match self.store.trouble() {
            Some(trouble) => format!("it is over, and its end cannot be saved: {trouble}"),
            None => "it is over, and its end is being saved".to_owned(),
        };
        let waits = Some(Waits { reason: why.clone(), why });
        Live { run, state: RunState::Running, waits, share: None, figures, is_over: true, at_ms }
    }
}
