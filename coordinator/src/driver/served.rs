//! What hosts did in runs that are over, kept while they are connected.

use std::collections::{BTreeMap, HashMap};

use sateen_protocol::HostId;

use crate::figures::{HostFigures, JobCounts};

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

    /// Forgets a host that has gone.
    pub fn forget(&mut self, host: HostId) {
        self.of.remove(&host);
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
        served.forget(one);
        assert_eq!([one, two].map(|host| done(&served, host)), [(0, 0), (14, 0)]);
    }
}
