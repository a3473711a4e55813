//! What hosts did in runs that are over, kept while they are connected.

use std::collections::{BTreeMap, HashMap, VecDeque};

use sateen_protocol::HostId;

use crate::figures::{HostFigures, JobCounts};
use crate::limits::GONE_HOSTS_SERVED_MAX;

/// What a tree says about a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told {
    /// Jobs that other hosts got from it.
    pub lent: u64,
    /// Jobs that it began again after they had been lost, and was the last to begin.
    pub redone: u64,
}

/// What a host did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Service {
    /// Counts of jobs there.
    pub jobs: JobCounts,
    /// Jobs that other hosts got from it.
    pub lent: u64,
}

/// By host.
#[derive(Debug, Default)]
pub struct Served {
    of: BTreeMap<HostId, Service>,
    /// The last hosts that have gone, in that order: one that was given up may come back.
    gone: VecDeque<(HostId, Service)>,
}

impl Served {
    /// A run is over: adds what each host did for it, and what its tree says about them.
    pub fn add(&mut self, by_host: &[HostFigures], told: &HashMap<HostId, Told>) {
        for HostFigures { host, jobs, .. } in by_host.iter().filter(|host| host.is_there) {
            let service = self.of.entry(*host).or_default();
            service.jobs.add(jobs);
            service.lent = service.lent.saturating_add(told.get(host).map_or(0, |told| told.lent));
        }
    }

    /// A host has gone. It is forgotten once many others have gone.
    pub fn went(&mut self, host: HostId) {
        let Some(service) = self.of.remove(&host) else { return };
        if self.gone.len() >= GONE_HOSTS_SERVED_MAX {
            self.gone.pop_front();
        }
        self.gone.push_back((host, service));
    }

    /// A host that had gone is back, and keeps its counts.
    pub fn returned(&mut self, host: HostId) {
        let Some(place) = self.gone.iter().rposition(|(gone, _)| *gone == host) else { return };
        if let Some((_, service)) = self.gone.remove(place) {
            self.of.insert(host, service);
        }
    }

    /// What a host did.
    pub fn of(&self, host: HostId) -> Service {
        self.of.get(&host).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::Jobs;

    use super::*;

    #[test]
    fn runs_add_up_for_connected_hosts() {
        let [one, two, three] = [1, 2, 3].map(HostId);
        let did = |host: HostId, is_there, executed| HostFigures {
            is_there,
            jobs: Jobs { executed, ..Jobs::default() }.into(),
            ..HostFigures::of(host)
        };
        let lent = |lent| Told { lent, redone: 0 };
        let mut served = Served::default();
        let run = [did(one, true, 5), did(two, true, 7), did(three, false, 9)];
        for _ in 0..2 {
            served.add(&run, &HashMap::from([(one, lent(3)), (three, lent(3))]));
        }
        let done = |served: &Served, host| (served.of(host).jobs.of_hosts.executed, served.of(host).lent);
        assert_eq!([one, two, three].map(|host| done(&served, host)), [(10, 6), (14, 0), (0, 0)]);
        served.add(&[did(one, true, u64::MAX)], &HashMap::from([(one, lent(u64::MAX))]));
        assert_eq!(done(&served, one), (u64::MAX, u64::MAX));
        served.went(one);
        assert_eq!([one, two].map(|host| done(&served, host)), [(0, 0), (14, 0)]);
        served.returned(one);
        assert_eq!(done(&served, one), (u64::MAX, u64::MAX), "it was given up too early");
        for host in 1..=GONE_HOSTS_SERVED_MAX as u64 + 1 {
            served.add(&[did(HostId(host), true, 1)], &HashMap::new());
            served.went(HostId(host));
        }
        assert_eq!(served.gone.len(), GONE_HOSTS_SERVED_MAX);
        served.returned(one);
        assert_eq!(done(&served, one), (0, 0));
    }
}
