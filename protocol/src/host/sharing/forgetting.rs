//! Forgets objects that are no longer used here, and hands over all objects when this host leaves.

use crate::host::lent::Loan;
use crate::host::{Event, Host};
use crate::limits::{
    SHARED_COMPARE_MIN, SHARED_COMPARED_MAX, SHARED_HEIRS, SHARED_UNSTABLE_BYTES_MAX, SHARED_UNUSED,
};
use crate::message::PeerMessage;
use crate::shared::{Missing, ObjectId, Versions};
use crate::{HostId, RunId, Time};

impl Host {
    /// Forgets objects that no job here has mentioned for a while. Objects with updates of this host that other
    /// replicas may lack stay until the other hosts have confirmed them. Objects that were updated since a host with a
    /// replica was given up stay for that host. Both only up to a limit.
    pub(super) fn sweep(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.shared.next_sweep = now + SHARED_UNUSED;
        let mut unused = Vec::new();
        let mut unstable = Vec::new();
        let mut unstable_bytes = 0;
        for (object, sharing) in &mut host_run.shared.objects {
            sharing.sharers.former.expire(now);
            let is_unused = sharing.shown.is_none();
            if !(std::mem::replace(&mut sharing.is_unused, is_unused) && is_unused) {
                continue;
            }
            if !sharing.has_lagging() && !sharing.is_owed() {
                unused.push(*object);
            } else {
                unstable_bytes += sharing.counted;
                unstable.push((*object, unstable_bytes <= SHARED_UNSTABLE_BYTES_MAX as u64));
            }
        }
        for (object, may_stay) in unstable {
            if may_stay {
                self.ask_for_stability(now, run, object);
            } else {
                let count = self.entrust(now, run, object);
                if count > 0 {
                    self.unpolled.event(Event::Entrusted(run, object, count));
                }
                unused.push(object);
            }
        }
        for object in unused {
            self.ship(now, run, object);
            self.forget(run, object);
        }
    }

    /// Asks the hosts that are not known to have all of this host's updates.
    fn ask_for_stability(&mut self, now: Time, run: RunId, object: ObjectId) {
        self.ship(now, run, object);
        let lagging = self.lagging(run, object);
        for (sharer, _) in lagging.into_iter().take(SHARED_COMPARED_MAX) {
            self.ask_for_updates(run, object, sharer, SHARED_COMPARE_MIN);
        }
    }

    /// The hosts that are not known to have all of this host's updates, each with the number that it is known to have.
    fn lagging(&mut self, run: RunId, object: ObjectId) -> Vec<(HostId, u64)> {
        let Some(sharing) = self.sharing(run, object) else { return Vec::new() };
        let Some((_, count)) = sharing.own_log() else { return Vec::new() };
        sharing.sharers.lagging(count).collect()
    }

    /// Sends this host's updates to all hosts that are not known to have them. Returns the number of updates.
    fn entrust(&mut self, now: Time, run: RunId, object: ObjectId) -> u64 {
        self.ship(now, run, object);
        let mut most = 0;
        for (sharer, has) in self.lagging(run, object) {
            let Some(sharing) = self.sharing(run, object) else { break };
            let Some(replica) = &sharing.replica else { break };
            let Some((own, count)) = replica.own_log() else { break };
            most = most.max(count - has);
            let others = replica.versions().iter().filter(|(writer, _)| *writer != own);
            let theirs: Versions = others.chain([(own, has)]).collect();
            match replica.missing(&theirs) {
                Missing::Updates(updates) => {
                    for (writer, first, updates) in updates {
                        self.send_updates(sharer, (run, object), (writer, first), &updates);
                    }
                }
                Missing::Whole => {
                    self.send_replica(sharer, run, object);
                }
                Missing::Nothing => {}
            }
        }
        most
    }

    pub(super) fn forget(&mut self, run: RunId, object: ObjectId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(sharing) = host_run.shared.objects.remove(&object) else { return };
        host_run.reporting.own_mut().shared_bytes -= sharing.counted;
        if !sharing.is_mentioned {
            host_run.shared.unmentioned.count -= 1;
            host_run.shared.unmentioned.bytes -= sharing.counted;
        }
        if let Some(own) = sharing.own_log() {
            host_run.shared.keep_log(object, own);
        }
        for sharer in sharing.sharers.hosts() {
            self.tell_peer(sharer, PeerMessage::NotShared { run, object });
        }
    }

    /// Before this host leaves, sends others the updates that they may lack, and sends objects that only this host has
    /// to some other hosts.
    pub(in crate::host) fn hand_over_objects(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get(&run) else { return };
        let objects: Vec<(ObjectId, bool)> = host_run
            .shared
            .objects
            .iter()
            .map(|(object, sharing)| (*object, sharing.sharers.is_empty()))
            .collect();
        for (object, is_alone) in objects {
            if is_alone {
                for heir in self.heirs(run, object) {
                    self.send_replica(heir, run, object);
                }
            } else {
                self.entrust(now, run, object);
            }
        }
    }

    /// The hosts with jobs of this host that mention the object, and some others.
    fn heirs(&mut self, run: RunId, object: ObjectId) -> Vec<HostId> {
        let Some(host_run) = self.runs.get(&run) else { return Vec::new() };
        let mut heirs: Vec<HostId> = (host_run.loans.values())
            .filter(|loan| loan.spec().objects.iter().any(|mention| mention.creation == object))
            .map(Loan::thief)
            .filter(|thief| self.peers.contains(*thief))
            .collect();
        let others = self.peers.nearest();
        let skip = self.random.below(others.len().max(1));
        heirs.extend(others.iter().cycle().skip(skip).take(SHARED_HEIRS.min(others.len())));
        let mut seen = std::collections::BTreeSet::new();
        heirs.retain(|heir| seen.insert(*heir));
        heirs.truncate(SHARED_HEIRS);
        heirs
    }
}
