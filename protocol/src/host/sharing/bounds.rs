//! Limits on shared objects; exceeding one ends the run.

use crate::host::Host;
use crate::limits::{OBJECTS_PER_RUN_MAX, SHARED_BYTES_MAX, SHARED_WRITERS_MAX, UNMENTIONED_BYTES_MAX};
use crate::message::ToCoordinator;
use crate::shared::ObjectId;
use crate::{RunId, Time};

impl Host {
    /// The object has changed: ends the run if its replicas take too much memory.
    pub(super) fn check_bytes(&mut self, now: Time, run: RunId, object: ObjectId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(sharing) = host_run.shared.objects.get_mut(&object) else { return };
        let bytes = sharing.bytes();
        let before = std::mem::replace(&mut sharing.counted, bytes);
        let own = host_run.reporting.own_mut();
        own.shared_bytes = own.shared_bytes - before + sharing.counted;
        if !sharing.is_mentioned {
            host_run.shared.unmentioned.bytes = host_run.shared.unmentioned.bytes - before + sharing.counted;
            if host_run.shared.unmentioned.bytes > UNMENTIONED_BYTES_MAX {
                self.forget(run, object);
            }
            return;
        }
        let bytes = host_run.reporting.own().shared_bytes - host_run.shared.unmentioned.bytes;
        let most = host_run.spec.limits.shared_bytes_max.unwrap_or(SHARED_BYTES_MAX);
        if bytes > most {
            self.end_for_sharing(now, run, || {
                format!(
                    "the replicas of the run's shared objects take {bytes} bytes on one host, and the limit is {most}; raise it with --max-shared"
                )
            });
        }
    }

    /// A job here mentions the object: from now on it counts as one of the run's objects.
    pub(super) fn note_mention(&mut self, run: RunId, object: ObjectId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(sharing) = host_run.shared.objects.get_mut(&object).filter(|sharing| !sharing.is_mentioned)
        else {
            return;
        };
        sharing.is_mentioned = true;
        host_run.shared.unmentioned.count -= 1;
        host_run.shared.unmentioned.bytes -= sharing.counted;
    }

    /// The object has more writers than replicas can count, so its replicas cannot be kept equal: ends the run, if one
    /// of its jobs here mentions the object.
    pub(super) fn end_for_writers(&mut self, now: Time, run: RunId, object: ObjectId) {
        if self.sharing(run, object).is_some_and(|sharing| !sharing.is_mentioned) {
            return self.forget(run, object);
        }
        self.end_for_sharing(now, run, || {
            format!(
                "hosts have begun more than {SHARED_WRITERS_MAX} logs of updates of the shared object {object}; let fewer hosts update it"
            )
        });
    }

    /// Whether this host may take the object in. Ends the run if it has too many.
    pub(super) fn has_room_for(&mut self, now: Time, run: RunId, object: ObjectId) -> bool {
        let Some(host_run) = self.runs.get(&run) else { return false };
        let mentioned = host_run.shared.len() - host_run.shared.unmentioned.count;
        let has_room = mentioned < OBJECTS_PER_RUN_MAX || host_run.shared.contains(object);
        if !has_room {
            self.end_for_sharing(now, run, || {
                format!(
                    "the run uses more than {OBJECTS_PER_RUN_MAX} shared objects on one host; share fewer and larger ones"
                )
            });
        }
        has_room
    }

    fn end_for_sharing(&mut self, now: Time, run: RunId, reason: impl FnOnce() -> String) {
        if self.runs.get(&run).is_some_and(|run| run.reporting.verdict().is_none()) {
            self.judge(now, run, ToCoordinator::Limit { run, reason: reason() });
        }
    }
}
