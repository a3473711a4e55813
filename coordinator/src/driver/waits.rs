//! Why runs wait, for users.

use std::cell::OnceCell;
use std::collections::HashMap;

use sateen_module::size;
use sateen_protocol::coordinator::{RunView, Waiting};
use sateen_protocol::{RunId, RunState};

use super::Driver;
use crate::chronicle::{NOT_BEGUN, RESTARTED, SUSPENDED, Waits};
use crate::limits::SILENT;
use crate::locked;

/// Maximum hosts that are looked at for the end of their pauses.
const PAUSES_MAX: usize = 1024;
/// The beginning of the reason of a run for which no host works; the machine names any of the hosts.
const ALL_PAUSED: &str = "all hosts are paused (";

/// What answers about many runs have in common, each part computed once.
#[derive(Debug, Default)]
pub struct Reasons {
    /// What each run that is given to hosts is due of them.
    pub(super) shares: OnceCell<HashMap<RunId, f64>>,
    placed: OnceCell<String>,
    paused: OnceCell<Option<(String, String)>>,
}

impl Driver {
    /// Why nothing happens with a run, including which runs have the places.
    pub(super) fn waits(&self, view: &RunView<'_>, known: &Reasons) -> Option<Waits> {
        let reason = self.reason(view, known)?;
        let why = match view.waiting {
            None => self.still(view).map_or_else(|| reason.clone(), |(why, _)| why),
            Some(Waiting::Turn) => known.placed.get_or_init(|| self.whose_places()).clone(),
            Some(Waiting::Result { from, bytes, total }) => {
                let host = self.label_in(view.run, from);
                let (bytes, total) = (size(bytes as u64), size(total as u64));
                format!("{reason}: {bytes} of {total} have come from {host}")
            }
        };
        Some(Waits { why, reason })
    }

    /// Records why a run waits, if it does.
    pub(super) fn note_wait(&self, run: RunId, known: &Reasons) {
        let Some(view) = self.machine.run(run) else { return };
        if let Some(reason) = self.reason(&view, known) {
            self.record(run, |chronicle| chronicle.waits_because(&reason));
        }
    }

    /// Why a run stands still although nothing else is said of it.
    fn still(&self, view: &RunView<'_>) -> Option<(String, String)> {
        let is_running = view.waiting_for.is_none() && view.state() == RunState::Running;
        is_running.then(|| self.why_still(view.run)).flatten()
    }

    /// The reason as chronicles have it.
    pub(super) fn reason(&self, view: &RunView<'_>, known: &Reasons) -> Option<String> {
        match &view.waiting_for {
            None if view.state() == RunState::Suspended => Some(SUSPENDED.to_owned()),
            None => self.still(view).map(|(_, reason)| reason).or_else(|| self.root_not_begun(view)),
            // Those that are back compute, and the run does not wait for the others.
            Some(why) if why == RESTARTED && view.counts().busy > 0 => None,
            Some(why) if why.starts_with(ALL_PAUSED) => {
                let soonest = || {
                    let hosts = self.machine.hosts().take(PAUSES_MAX);
                    soonest(hosts.filter_map(|host| Some((host.report.name.clone(), host.paused?))))
                };
                let named = |(name, pause): &(String, String)| format!("{ALL_PAUSED}{name} says: {pause})");
                Some(known.paused.get_or_init(soonest).as_ref().map_or_else(|| why.clone(), named))
            }
            Some(why) => Some(why.clone()),
        }
    }
}

impl Driver {
    /// A host has had the root job for a while and not begun it, as its workers compute for other runs, say; and nobody
    /// computes for this one. Before, its report may be in transit.
    fn root_not_begun(&self, view: &RunView<'_>) -> Option<String> {
        let host = view.root_host().filter(|_| view.state() == RunState::Running && !view.is_root_begun())?;
        if view.counts().busy > 0 {
            return None;
        }
        let chronicle = self.chronicles.get(view.run)?;
        let has_waited = locked(&chronicle).root_given_for() >= SILENT;
        has_waited.then(|| format!("host {}{NOT_BEGUN}", self.label_in(view.run, host)))
    }
}

/// Of hosts that are paused, the one whose pause ends first: its name, and what it says. The first one, if none says when.
fn soonest(paused: impl Iterator<Item = (String, String)>) -> Option<(String, String)> {
    paused.min_by_key(|(_, pause)| ends_at_ms(pause).unwrap_or(u64::MAX))
}

/// When a pause ends, if its reason says that at its end.
fn ends_at_ms(pause: &str) -> Option<u64> {
    let (_, until) = pause.rsplit_once(" until ")?;
    let until = humantime::parse_rfc3339(until).ok()?;
    Some(until.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_that_ends_first_is_named() {
        let soonest = |pauses: &[(&str, &str)]| {
            let pauses = pauses.iter().map(|(name, pause)| ((*name).to_owned(), (*pause).to_owned()));
            soonest(pauses).map(|(name, _)| name)
        };
        let ann = ("ann", "paused by its user until 2026-11-27T18:09:41Z");
        let bob = ("bob", "paused by its user until 2026-11-27T17:39:02Z");
        let cat = ("cat", "its user works until the evening");
        assert_eq!(soonest(&[ann, bob, cat]).as_deref(), Some("bob"));
        assert_eq!(soonest(&[cat, ann]).as_deref(), Some("ann"));
        assert_eq!(soonest(&[cat, ("dan", "")]).as_deref(), Some("cat"), "nothing is known of their ends");
        assert_eq!(soonest(&[]), None);
    }
}
