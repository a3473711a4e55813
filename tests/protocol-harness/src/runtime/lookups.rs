//! Which redone jobs are looked up: those whose results others may know.

use std::collections::BTreeMap;

use sateen_protocol::JobTag;

use super::Inherited;

/// What lookups may find, as the machine has reported.
#[derive(Debug, Default)]
pub struct Lookups {
    /// Jobs whose lookup may find a result, there or below; each with the number of the last report about it.
    sought: BTreeMap<JobTag, u64>,
    /// The number of reports.
    told: u64,
}

impl Lookups {
    /// Adds jobs that lookups may find; if there are none, lookups find nothing.
    pub fn tell(&mut self, jobs: Vec<JobTag>) {
        if jobs.is_empty() {
            self.sought.clear();
        }
        self.told += 1;
        self.sought.extend(jobs.into_iter().map(|job| (job, self.told)));
    }

    /// Whether lookups may find anything.
    pub fn are_on(&self) -> bool {
        !self.sought.is_empty()
    }

    /// Whether a lookup may find a result of a job, or of one below it.
    pub fn may_find(&self, job: JobTag) -> bool {
        self.sought.contains_key(&job)
    }

    /// Whether the children of a call are looked up that may be found.
    pub fn reach_below(&self, call: &Inherited) -> bool {
        self.are_on() && call.redone && call.depth < call.lookup_below
    }

    /// The number of reports.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    /// Whether a job was reported after report number `asked`.
    pub(super) fn has_news(&self, job: JobTag, asked: u64) -> bool {
        self.sought.get(&job).is_some_and(|told| *told > asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_add_up_until_nothing_is_left() {
        let mut lookups = Lookups::default();
        assert!(!lookups.are_on() && !lookups.may_find(JobTag(1)));
        lookups.tell(vec![JobTag(1)]);
        lookups.tell(vec![JobTag(2)]);
        assert!(lookups.are_on() && lookups.may_find(JobTag(1)) && lookups.may_find(JobTag(2)));
        lookups.tell(Vec::new());
        assert!(!lookups.are_on() && !lookups.may_find(JobTag(1)));
    }

    #[test]
    fn news_of_a_job_is_what_it_reported_of_itself_later() {
        let mut lookups = Lookups::default();
        lookups.tell(vec![JobTag(1)]);
        assert!(lookups.has_news(JobTag(1), 0) && !lookups.has_news(JobTag(1), lookups.told()));
        let asked = lookups.told();
        lookups.tell(vec![JobTag(2)]);
        assert!(!lookups.has_news(JobTag(1), asked), "it was of another");
        lookups.tell(vec![JobTag(1)]);
        assert!(lookups.has_news(JobTag(1), asked));
    }

    #[test]
    fn only_the_upper_children_of_redone_calls_are_looked_up() {
        let call = Inherited { depth: 3, redone: true, given_back: false, lookup_below: 4 };
        let mut lookups = Lookups::default();
        assert!(!lookups.reach_below(&call), "nothing is known");
        lookups.tell(vec![JobTag(1)]);
        assert!(lookups.reach_below(&call));
        assert!(!lookups.reach_below(&Inherited { redone: false, ..call }));
        assert!(!lookups.reach_below(&Inherited { depth: 4, ..call }));
    }
}
