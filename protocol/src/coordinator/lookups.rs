//! What hosts search for: searches that wait, and the answers that are under way.

use crate::limits::{SEARCHES_ANSWERED_AT_ONCE_MAX, SEARCHES_PER_HOST_MAX, SEARCHES_WAITING_MAX};
use crate::{HostId, RunId, Time};

use super::answers::Answers;
use super::roster::Roster;
use super::searches::{Search, Searches};

/// All searches of hosts until they are answered.
#[derive(Default)]
pub struct Lookups {
    waiting: Searches,
    answers: Answers,
    /// Some searches could be answered at the last look.
    is_any_ready: bool,
}

impl Lookups {
    /// The number of searches that wait, and of answers that are under way.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.answers.len()
    }

    /// The number of searches that wait.
    pub fn waiting_len(&self) -> usize {
        self.waiting.len()
    }

    /// The number of entries still to be sent in answers, plus one for the end of each.
    pub fn unsent(&self, runs: &Roster) -> usize {
        self.answers.left(runs)
    }

    /// Whether a host may not search for more at present.
    pub fn is_too_much_of(&self, host: HostId) -> bool {
        let of_host = self.waiting.len_of(host) + self.answers.len_of(host);
        self.len() >= SEARCHES_WAITING_MAX || of_host >= SEARCHES_PER_HOST_MAX
    }

    /// A search is answered later.
    pub fn wait(&mut self, search: Search) {
        self.waiting.push(search);
    }

    /// Some searches that need not wait: of epochs before `unsettled`, or whose time is up.
    pub fn take_ready(&mut self, now: Time, unsettled: u64, is_any_missing: bool) -> Vec<Search> {
        self.waiting.take_ready(now, unsettled, is_any_missing, SEARCHES_ANSWERED_AT_ONCE_MAX)
    }

    /// Notes whether there are more of them.
    pub fn look_for_ready(&mut self, now: Time, unsettled: u64, is_any_missing: bool) {
        self.is_any_ready = self.waiting.is_any_ready(now, unsettled, is_any_missing);
    }

    /// Whether there were more of them at the last look.
    pub fn is_any_ready(&self) -> bool {
        self.is_any_ready
    }

    /// The answers that are under way.
    pub fn answers(&mut self) -> &mut Answers {
        &mut self.answers
    }

    /// Whether a host has not been sent all results of earlier runs that it is to have for a run.
    pub fn is_sent_earlier(&self, host: HostId, run: RunId) -> bool {
        self.answers.has_earlier(host, run)
    }

    /// When something is to be done, and what.
    pub fn next(&self) -> Option<(Time, &'static str)> {
        if self.is_any_ready {
            return Some((Time(0), "more searches are to be answered"));
        }
        let waiting = self.waiting.next();
        let waiting = waiting.map(|time| (time, "a search is answered without what some hosts may have"));
        let answer = self.answers.next().map(|time| (time, "a host is sent more of what it searched for"));
        waiting.into_iter().chain(answer).min_by_key(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobKey;
    use crate::coordinator::answers::Answer;

    const KEY: JobKey = JobKey([1; 32]);

    fn search(host: u64, epoch: u64) -> Search {
        let (host, run, until) = (HostId(host), RunId(1), Time(50));
        Search { host, run, key: KEY, epoch, until, waits_for_missing: false }
    }

    #[test]
    fn searches_and_answers_of_a_host_and_of_all_are_bounded_together() {
        let mut lookups = Lookups::default();
        for number in 0..SEARCHES_PER_HOST_MAX {
            assert!(!lookups.is_too_much_of(HostId(1)));
            if number == 0 {
                lookups.answers().push(HostId(1), Time(9), Answer::to_search(RunId(1), KEY));
            } else {
                lookups.wait(search(1, 1));
            }
        }
        assert!(lookups.is_too_much_of(HostId(1)) && !lookups.is_too_much_of(HostId(2)));
        assert_eq!(
            (lookups.len(), lookups.waiting_len()),
            (SEARCHES_PER_HOST_MAX, SEARCHES_PER_HOST_MAX - 1)
        );
        (lookups.len()..SEARCHES_WAITING_MAX).for_each(|number| lookups.wait(search(9 + number as u64, 1)));
        assert!(lookups.is_too_much_of(HostId(2)));
    }

    #[test]
    fn what_is_due_next_depends_on_the_last_look() {
        let mut lookups = Lookups::default();
        assert_eq!(lookups.next(), None);
        (0..=SEARCHES_ANSWERED_AT_ONCE_MAX as u64).for_each(|host| lookups.wait(search(host, 1)));
        let time = |lookups: &Lookups| lookups.next().map(|(time, _)| time);
        assert_eq!((lookups.is_any_ready(), time(&lookups)), (false, Some(Time(50))));
        lookups.look_for_ready(Time(1), 2, false);
        assert_eq!((lookups.is_any_ready(), time(&lookups)), (true, Some(Time(0))));
        assert_eq!(lookups.take_ready(Time(1), 2, false).len(), SEARCHES_ANSWERED_AT_ONCE_MAX);
        assert_eq!(lookups.take_ready(Time(1), 2, false).len(), 1);
        lookups.look_for_ready(Time(1), 2, false);
        lookups.answers().push(HostId(1), Time(9), Answer::to_search(RunId(1), KEY));
        assert_eq!((lookups.is_any_ready(), time(&lookups)), (false, Some(Time(9))));
    }
}
