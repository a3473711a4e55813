//! Jobs that are running, and those that have stopped running without a note about it.

use std::collections::{BTreeSet, HashMap, VecDeque};

use sateen_protocol::HostId;

use super::Tree;
use crate::chronicle::state::JobState;

/// The fate of jobs that stopped running without a note about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Their host crashed.
    Lost,
    /// Their host left or paused: their owners have them again.
    GivenBack,
    /// Their run is over.
    Aborted,
}

/// Jobs that are no longer running and are still to be marked as ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// The place of their host.
    pub host: u32,
    /// Their fate.
    pub ending: Ending,
    /// When they stopped.
    pub t_ms: u32,
    /// Their places.
    pub places: Vec<u32>,
}

/// Running jobs, by host.
#[derive(Debug, Default)]
pub struct Running {
    /// Kept jobs, by the places of their hosts.
    at: HashMap<u32, BTreeSet<u32>>,
    /// Hosts whose jobs are no longer running: these are marked as ended a part at a time.
    ending: VecDeque<(u32, Ending, u32)>,
}

impl Running {
    /// A job begins to run at a host.
    pub fn begins(&mut self, host: u32, place: u32) {
        self.at.entry(host).or_default().insert(place);
    }

    /// A job no longer runs at a host.
    pub fn ends(&mut self, host: u32, place: u32) {
        if let Some(running) = self.at.get_mut(&host) {
            running.remove(&place);
            if running.is_empty() {
                self.at.remove(&host);
            }
        }
    }

    /// The number of jobs that run at a host.
    pub fn count_at(&self, host: u32) -> usize {
        self.at.get(&host).map_or(0, BTreeSet::len)
    }

    /// All jobs at a host are to be marked as ended.
    pub fn end_at(&mut self, host: u32, ending: Ending, t_ms: u32) {
        self.ending.push_back((host, ending, t_ms));
    }

    /// Whether the jobs at a host are to be marked as ended.
    pub fn is_ending_at(&self, host: u32) -> bool {
        self.ending.iter().any(|(ending, ..)| *ending == host)
    }

    /// All running jobs are to be marked as ended.
    pub fn end_all(&mut self, ending: Ending, t_ms: u32) {
        let mut hosts: Vec<u32> = self.at.keys().copied().collect();
        hosts.sort_unstable();
        self.ending.extend(hosts.into_iter().map(|host| (host, ending, t_ms)));
    }

    /// At most `most` jobs that are to be marked as ended next, all of the same host.
    pub fn next_ended(&self, most: usize) -> Option<Ended> {
        let (host, ending, t_ms) = self.ending.front().copied()?;
        let running = self.at.get(&host).into_iter().flatten();
        Some(Ended { host, ending, t_ms, places: running.take(most).copied().collect() })
    }

    /// All jobs of the first host have been marked as ended.
    pub fn go_to_next(&mut self) {
        self.ending.pop_front();
    }
}

impl Tree {
    /// Whether jobs that are kept run at a host.
    pub fn has_running_at(&self, host: HostId) -> bool {
        let place = self.hosts.place(host);
        place.is_some_and(|place| self.running.count_at(place) > 0 && !self.running.is_ending_at(place))
    }

    /// The run is over: running jobs are aborted, as [`Self::end_some`] gets to them.
    pub fn abort_all(&mut self, t_ms: u32) {
        self.is_over = true;
        self.running.end_all(Ending::Aborted, t_ms);
        // So are running jobs for which there was no room.
        self.rolled.abort_all();
    }

    /// Marks at most `most` jobs as ended that are no longer running. Returns whether more are left.
    pub fn end_some(&mut self, most: usize) -> bool {
        let mut left = most;
        while let Some(Ended { host, ending, t_ms, places }) = self.running.next_ended(left) {
            let state = match ending {
                Ending::Aborted => JobState::Aborted,
                Ending::Lost => JobState::Lost,
                Ending::GivenBack => JobState::GivenBack,
            };
            for place in &places {
                self.end(*place, state, t_ms);
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
