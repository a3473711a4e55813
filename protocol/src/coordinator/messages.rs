//! What hosts say, and what is done about it.

use crate::limits::{
    ACCUSATION_EVERY, ACCUSATIONS_AT_ONCE_MAX, ENTRIES_PER_MESSAGE_MAX, NOTES_WAITING_MAX,
    WORKERS_REPORTED_MAX, shortened,
};
use crate::message::{ToCoordinator, ToHost};
use crate::{RunEnd, Time};

use super::{Coordinator, Event, LinkId, Misbehaviour};

impl Coordinator {
    /// A host said something on this link.
    pub fn handle_message(&mut self, now: Time, link: LinkId, message: ToCoordinator) {
        if self.links.is_closing(link) {
            return;
        }
        if let Err(misbehaviour) = self.message(now, link, message) {
            self.handle_misbehaviour(now, link, misbehaviour.to_string());
        }
        self.tell_news(now);
    }

    fn message(&mut self, now: Time, link: LinkId, message: ToCoordinator) -> Result<(), Misbehaviour> {
        if message.has_long_text() {
            return Err(Misbehaviour::TooMuch);
        }
        let host = self.links.host(link);
        let message = match (message.in_plain_text(), host) {
            (ToCoordinator::Hello { report, was, incarnation, roots, paused }, None) => {
                let identity = was.map(|was| (was, incarnation));
                return self.on_hello(now, link, report, identity, &roots, paused);
            }
            (ToCoordinator::Hello { .. }, Some(_)) => return Err(Misbehaviour::HelloTwice),
            (_, None) => return Err(Misbehaviour::NoHello),
            (message, Some(_)) => message,
        };
        let Some(host) = host else { return Ok(()) };
        if let Some(state) = self.hosts.get_mut(&host) {
            state.heard = now;
        }
        match message {
            ToCoordinator::Ready { run } if self.runs.checks.get(&run).is_some() => {
                self.on_check_ready(host, run)?;
            }
            ToCoordinator::Unready { run, .. } if self.runs.checks.get(&run).is_some() => {
                self.on_check_failed(now, host, run, None)?;
            }
            ToCoordinator::Ready { run } => self.on_ready(now, host, run),
            ToCoordinator::Unready { run, reason } => {
                self.on_unready(now, host, run, reason);
            }
            ToCoordinator::Unit { run, unit } => self.on_unit(now, host, run, *unit),
            ToCoordinator::RootFinished { run, number, finished } => {
                self.on_root_finished(now, host, run, number, finished)?;
            }
            ToCoordinator::Limit { run, reason } => {
                self.on_verdict(now, host, run, RunEnd::Limit(reason))?;
            }
            ToCoordinator::Failed { run, failure } => {
                self.on_verdict(now, host, run, RunEnd::Failed(failure))?;
            }
            ToCoordinator::Entries { run, entries } => {
                if entries.len() > ENTRIES_PER_MESSAGE_MAX {
                    return Err(Misbehaviour::TooMuch);
                }
                self.on_entries(now, host, run, entries)?;
            }
            ToCoordinator::Recovered { epoch } => {
                if let Some(state) = self.hosts.get_mut(&host) {
                    self.newsroom.settle(&mut state.mailbox, epoch);
                }
                self.settle(now);
            }
            ToCoordinator::Find { run, key } => self.on_find(now, host, run, key),
            ToCoordinator::Counts {
                run,
                series,
                counts,
                progress,
                ahead_ns,
                notes,
                notes_dropped: _,
                workers,
            } => {
                if workers.len() > WORKERS_REPORTED_MAX || notes.len() > NOTES_WAITING_MAX {
                    return Err(Misbehaviour::TooMuch);
                }
                if self.on_check_counts(host, run, series, &counts) {
                    return Ok(());
                }
                let is_heard = self.has_taken_part(host, run);
                if !is_heard || !self.on_counts(host, run, (series, *counts), (progress, ahead_ns)) {
                    return Ok(());
                }
                if !workers.is_empty() {
                    self.outputs.event(Event::Activity { run, host, series, workers });
                }
                if !notes.is_empty() {
                    self.on_root_notes(host, run, &notes);
                    self.outputs.event(Event::Notes(run, host, notes));
                }
            }
            ToCoordinator::Log { run, lines } => {
                if self.has_taken_part(host, run) {
                    self.outputs.event(Event::Log(run, host, lines));
                }
            }
            ToCoordinator::Suspended { run } => self.on_suspended(now, run, host),
            ToCoordinator::Stopped { run } => self.on_stopped(now, run, host),
            ToCoordinator::Paused { reason } => self.on_paused(now, host, reason),
            ToCoordinator::Holds { reason } => self.on_holds(host, reason),
            ToCoordinator::Leaving => self.on_leaving(now, link, host),
            ToCoordinator::Knows { hosts } => self.on_knows(now, host, &hosts)?,
            ToCoordinator::Meet { hosts } => self.on_meet(now, host, &hosts)?,
            ToCoordinator::Forgot { ask, host: other, forgotten } => {
                self.on_forgot(now, host, ask, other, forgotten);
            }
            ToCoordinator::Misbehaved { host: accused, reason } => {
                let state = self.hosts.get_mut(&host);
                let is_heard = state.is_some_and(|state| {
                    state.paces.accusations.take(now, ACCUSATION_EVERY, ACCUSATIONS_AT_ONCE_MAX)
                });
                if is_heard {
                    self.outputs.event(Event::Misbehaved { by: host, host: accused, reason });
                }
            }
            // The driver passes relayed frames on itself; a pong says no more than that it came.
            ToCoordinator::Relay { .. }
            | ToCoordinator::RelayBulk { .. }
            | ToCoordinator::Pong { .. }
            | ToCoordinator::Proof(_)
            | ToCoordinator::Hello { .. } => {}
            ToCoordinator::Parcel(message) => self.on_parcel(now, host, message)?,
        }
        Ok(())
    }

    /// A host broke the protocol, here or in the driver's decoder: it is sent the reason and cut off.
    pub fn handle_misbehaviour(&mut self, _now: Time, link: LinkId, reason: String) {
        if self.links.is_closing(link) {
            return;
        }
        self.outputs.transmit((link, ToHost::Refused { reason: shortened(&reason) }));
        self.close(link, reason);
    }
}
