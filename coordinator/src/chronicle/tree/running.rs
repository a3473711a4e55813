//! Jobs that run, and those of them that run no more although nobody said so.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::Tree;
use super::node::GIVEN_BACK;
use crate::chronicle::state::JobState;

/// What becomes of jobs that run no more although nobody said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Their host is gone.
    Lost,
    /// The same, and it left in peace: owners have them again.
    GivenBack,
    /// Their run is over.
    Aborted,
}

/// Jobs that run no more and are still to be ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// The place of their host.
    pub host: u32,
    /// What became of them.
    pub ending: Ending,
    /// When.
    pub t_ms: u32,
    /// Their places.
    pub places: Vec<u32>,
}

/// Jobs that run, by hosts.
#[derive(Debug, Default)]
pub struct Running {
    /// By the places of their hosts, as far as they are kept.
    at: HashMap<u32, BTreeSet<u32>>,
    /// Hosts whose jobs run no more, what became of these, and when: that is done little by little.
    ending: VecDeque<(u32, Ending, u32)>,
}

impl Running {
    /// A job runs at a host.
    pub fn begins(&mut self, host: u32, place: u32) {
        self.at.entry(host).or_default().insert(place);
    }

    /// It does not any more.
    pub fn ends(&mut self, host: u32, place: u32) {
        if let Some(running) = self.at.get_mut(&host) {
            running.remove(&place);
            if running.is_empty() {
                self.at.remove(&host);
            }
        }
    }

    /// How many run at a host.
    pub fn count_at(&self, host: u32) -> usize {
        self.at.get(&host).map_or(0, BTreeSet::len)
    }

    /// What runs at a host is to be ended.
    pub fn end_at(&mut self, host: u32, ending: Ending, t_ms: u32) {
        self.ending.push_back((host, ending, t_ms));
    }

    /// Whether what runs at a host is to be ended.
    pub fn is_ending_at(&self, host: u32) -> bool {
        self.ending.iter().any(|(ending, ..)| *ending == host)
    }

    /// All that runs is to be ended.
    pub fn end_all(&mut self, ending: Ending, t_ms: u32) {
        let mut hosts: Vec<u32> = self.at.keys().copied().collect();
        hosts.sort_unstable();
        self.ending.extend(hosts.into_iter().map(|host| (host, ending, t_ms)));
    }

    /// At most `most` jobs that are to be ended next. All ran at the same host.
    pub fn next_ended(&self, most: usize) -> Option<Ended> {
        let (host, ending, t_ms) = self.ending.front().copied()?;
        let running = self.at.get(&host).into_iter().flatten();
        Some(Ended { host, ending, t_ms, places: running.take(most).copied().collect() })
    }

    /// All that are of the first host have been ended.
    pub fn go_to_next(&mut self) {
        self.ending.pop_front();
    }
}

impl Tree {
    /// The run is over: what still runs is not wanted any more, as [`Self::end_some`] gets to it.
    pub fn abort_all(&mut self, t_ms: u32) {
        self.is_over = true;
        self.running.end_all(Ending::Aborted, t_ms);
        // What there was no room for has come to its end as well.
        self.rolled.abort_all();
    }

    /// Ends at most `most` jobs that no longer run. Returns whether more are left.
    pub fn end_some(&mut self, most: usize) -> bool {
        let mut left = most;
        while let Some(Ended { host, ending, t_ms, places }) = self.running.next_ended(left) {
            let state = if ending == Ending::Aborted { JobState::Aborted } else { JobState::Lost };
            for place in &places {
                self.end(*place, state, t_ms);
                if let Some(node) = self.get_mut(*place).filter(|_| ending == Ending::GivenBack) {
                    node.flags |= GIVEN_BACK;
                }
                self.touch(*place);
            }
            left -= places.len();
            if self.running.count_at(host) > 0 {
                return true;
            }
            self.running.go_to_next();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_ended_host_by_host_and_a_bounded_part_at_a_time() {
        let mut running = Running::default();
        for (host, place) in [(7, 1), (7, 2), (3, 3), (5, 4)] {
            running.begins(host, place);
        }
        running.ends(5, 4);
        running.ends(5, 4);
        assert_eq!([7, 3, 5].map(|host| running.count_at(host)), [2, 1, 0]);
        running.end_at(7, Ending::Lost, 10);
        running.end_all(Ending::Aborted, 11);
        assert_eq!([7, 3, 5].map(|host| running.is_ending_at(host)), [true, true, false]);
        let mut ended = Vec::new();
        while let Some(Ended { host, ending, t_ms, places }) = running.next_ended(1) {
            places.iter().for_each(|place| running.ends(host, *place));
            ended.extend(places.iter().map(|place| (*place, ending, t_ms)));
            if running.count_at(host) == 0 {
                running.go_to_next();
            }
        }
        assert_eq!(ended, [(1, Ending::Lost, 10), (2, Ending::Lost, 10), (3, Ending::Aborted, 11)]);
    }
}
