//! Short names for hosts and jobs, so that stories can be read.

use std::collections::BTreeMap;

use sateen_protocol::{BlobHash, HostId, JobKey, JobSpec, JobTag, KeyMaker, LoanId, ROOT_KIND};

/// The root job's name; `r.2.1` is the first child of its second.
pub const ROOT: &str = "r";

/// The names of hosts, jobs and loans.
#[derive(Default)]
pub struct Names {
    hosts: BTreeMap<HostId, String>,
    jobs: BTreeMap<JobKey, String>,
    tags: BTreeMap<JobTag, String>,
    /// Loans, by owner and the owner's number.
    loans: BTreeMap<(String, LoanId), String>,
}

impl Names {
    /// A process has a new id: its name gets a prime for each earlier id.
    pub fn identify(&mut self, process: &str, id: HostId) {
        if self.hosts.contains_key(&id) {
            return;
        }
        let before = self.hosts.values().filter(|name| name.trim_end_matches('′') == process).count();
        self.hosts.insert(id, format!("{process}{}", "′".repeat(before)));
    }

    /// A host's name.
    pub fn host(&self, id: HostId) -> String {
        self.hosts.get(&id).cloned().unwrap_or_else(|| "stranger".to_owned())
    }

    /// The id of the host with a name, the latest if there were several.
    pub fn id(&self, name: &str) -> Option<HostId> {
        self.hosts.iter().find_map(|(id, known)| (known == name).then_some(*id))
    }

    /// Makes the key of the job `name`.
    pub fn key(&mut self, name: &str) -> JobKey {
        let known = self.jobs.iter().find_map(|(key, known)| (known == name).then_some(*key));
        known.unwrap_or_else(|| {
            let maker = KeyMaker::new(1, 0, BlobHash::of(b"story"), "job", b"");
            let key = maker.key(name.as_bytes());
            self.remember(key, name);
            key
        })
    }

    /// Learns the root's key, which the coordinator makes.
    pub fn learn(&mut self, spec: &JobSpec) {
        if spec.kind == ROOT_KIND {
            self.remember(spec.key, ROOT);
        }
    }

    fn remember(&mut self, key: JobKey, name: &str) {
        self.jobs.insert(key, name.to_owned());
        self.tags.insert(key.tag(), name.to_owned());
    }

    pub fn job(&self, key: &JobKey) -> String {
        self.jobs.get(key).cloned().unwrap_or_else(|| "?".to_owned())
    }

    /// Notes which job `owner` lends under `number`.
    pub fn lend(&mut self, owner: &str, number: LoanId, key: &JobKey) {
        self.loans.insert((owner.to_owned(), number), self.job(key));
    }

    pub fn loan(&self, owner: &str, number: LoanId) -> String {
        self.loans.get(&(owner.to_owned(), number)).cloned().unwrap_or_else(|| "no job".to_owned())
    }

    pub fn loans(&self, owner: &str, numbers: &[LoanId]) -> String {
        let names: Vec<String> = numbers.iter().map(|number| self.loan(owner, *number)).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(" ") }
    }
}

/// The name of the job above.
pub fn parent(job: &str) -> Option<&str> {
    job.rsplit_once('.').map(|(parent, _)| parent)
}
