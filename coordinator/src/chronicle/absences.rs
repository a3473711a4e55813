//! Which hosts of the run are away, since when and why, also after a restart of the coordinator.

use std::collections::{BTreeMap, BTreeSet};

use sateen_protocol::HostId;
use serde::{Deserialize, Serialize};

use super::{Away, Chronicle, EventKind, Going};
use crate::figures::Untold;

/// Absences as they are saved: with each batch, as events are saved only now and then, and only the newest are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absences {
    /// Hosts that are away.
    away: BTreeMap<HostId, Away>,
    /// Hosts that were given up, and since when they are back; by their places in the tree.
    given_up: BTreeMap<u32, Option<u32>>,
}

impl Absences {
    pub fn new(away: BTreeMap<HostId, Away>, given_up: BTreeMap<u32, Option<u32>>) -> Self {
        Self { away, given_up }
    }

    pub fn into_parts(self) -> (BTreeMap<HostId, Away>, BTreeMap<u32, Option<u32>>) {
        (self.away, self.given_up)
    }
}

/// How a host went, as an event.
pub fn event_of(named: &str, how: Going) -> (EventKind, String) {
    let (kind, how) = match how {
        Going::Left => (EventKind::HostLeft, "left"),
        Going::Paused => (EventKind::HostPaused, "paused"),
        Going::Crashed | Going::NotBack | Going::Resting => (EventKind::HostLost, "was given up"),
    };
    (kind, format!("{named} {how}"))
}

impl Chronicle {
    /// A host went.
    pub(super) fn note_absence(&mut self, host: HostId, how: Going, since_ms: u32) {
        let how = match how {
            Going::Left => {
                self.away.remove(&host);
                return;
            }
            Going::Crashed | Going::NotBack if self.is_resting(host) => Going::Resting,
            how => how,
        };
        self.away.insert(host, Away { how, since_ms });
    }

    /// Whether a host has nothing to do with the run for now.
    fn is_resting(&self, host: HostId) -> bool {
        let is_at_rest = |away: &Away| matches!(away.how, Going::Paused | Going::Resting);
        self.was_suspended || self.away.get(&host).is_some_and(is_at_rest)
    }

    /// What hosts of the run that are away have counted and not reported. `awaited` are hosts that may come back after a
    /// restart, and have not.
    pub fn untold(&self, awaited: &BTreeSet<HostId>) -> Untold {
        let of_away = self.away.values().map(|away| match away.how {
            Going::Left | Going::Paused | Going::Resting => Untold::Nothing,
            Going::Crashed => Untold::LastMoment,
            Going::NotBack => Untold::SinceSaved,
        });
        let is_of_run = |host: &HostId| self.tree.has_host(*host) && !self.is_resting(*host);
        let are_awaited = awaited.iter().any(is_of_run);
        let of_awaited = if are_awaited { Untold::SinceSaved } else { Untold::Nothing };
        of_away.max().unwrap_or_default().max(of_awaited)
    }

    /// Adds the events of hosts that went after the events were saved. `newest_ms` is the time of the last of these.
    pub(super) fn add_lost_events(&mut self, newest_ms: u32) {
        let told = self.events.away();
        for (host, Away { how, since_ms }) in &self.away {
            let is_told = told.get(host).is_some_and(|told| told.how.is_loss() == how.is_loss());
            // An older event is one of those that are no longer kept.
            if is_told || *since_ms < newest_ms {
                continue;
            }
            let Some((_, known)) = self.tree.known_host(*host) else { continue };
            let (kind, text) = event_of(&self.tree.named(*host, &known.name, &known.site), *how);
            self.events.add(*since_ms, kind, Some(*host), text);
        }
    }
}
