//! The places for runs under way: which runs have them, and since when.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use sateen_protocol::{RunId, Time};

use super::Driver;
use crate::locked;
use crate::peer::Peer;

/// Maximum addresses that are named.
const NAMED_MAX: usize = 3;

/// A run that has a place: its submitter, if known, and for how long it has had the place, in seconds.
type Placed = (RunId, Option<Peer>, u64);

/// The submitters of runs that are not over, as far as they are known, and the sizes of their specifications on the disk.
#[derive(Debug, Default)]
pub struct Submitters(HashMap<RunId, (Option<Peer>, u64)>);

impl Submitters {
    /// The submitters known at the start.
    pub fn restore(known: Vec<(RunId, Option<Peer>, u64)>) -> Self {
        Self(known.into_iter().map(|(run, peer, spec_bytes)| (run, (peer, spec_bytes))).collect())
    }

    /// A run was submitted.
    pub fn add(&mut self, run: RunId, peer: Peer, spec_bytes: u64) {
        self.0.insert(run, (Some(peer), spec_bytes));
    }

    /// The address from which a run was submitted.
    pub fn of(&self, run: RunId) -> Option<Peer> {
        self.0.get(&run)?.0
    }

    /// The run is over. Returns its submitter, and the size of its specification.
    pub fn take(&mut self, run: RunId) -> (Option<Peer>, u64) {
        self.0.remove(&run).unwrap_or_default()
    }
}

/// Since when runs have had their places.
#[derive(Debug, Default)]
pub struct Places {
    /// When each run was first seen to have its place, and for how long it had had it by then.
    since: HashMap<RunId, (Time, Duration)>,
    /// Runs from before a restart that have not been suspended since.
    restored: HashSet<RunId>,
}

impl Places {
    /// Of runs from before a restart.
    pub fn restore(runs: impl Iterator<Item = RunId>) -> Self {
        Self { restored: runs.collect(), ..Self::default() }
    }

    /// These runs have places now; `had_for` knows for how long those from before a restart have had them.
    pub fn look(
        &mut self,
        now: Time,
        active: impl Iterator<Item = RunId>,
        had_for: impl Fn(RunId) -> Duration,
    ) {
        let before = std::mem::take(&mut self.since);
        let since = active.map(|run| {
            let is_restored = self.restored.remove(&run);
            let first = if is_restored { had_for(run) } else { Duration::ZERO };
            (run, before.get(&run).copied().unwrap_or((now, first)))
        });
        self.since = since.collect();
    }

    /// A run has given up its place: when it has one again, that is another.
    pub fn rests(&mut self, run: RunId) {
        self.restored.remove(&run);
        self.since.remove(&run);
    }

    /// For how long a run has had its place.
    fn age(&self, now: Time, run: RunId) -> Duration {
        self.since.get(&run).map_or(Duration::ZERO, |(since, before)| now.since(*since) + *before)
    }
}

impl Driver {
    /// Notes which runs have places.
    pub(super) fn look_at_places(&mut self) {
        let now = self.clock.now();
        let had_for = |run| {
            let chronicle = self.chronicles.get(run);
            chronicle.map_or(Duration::ZERO, |chronicle| locked(&chronicle).active_for())
        };
        self.rounds.places.look(now, self.machine.active_runs(now).map(|(run, _)| run), had_for);
    }

    /// Names those that have all places.
    pub(super) fn whose_places(&self) -> String {
        let now = self.clock.now();
        let placed = |(run, _): (RunId, Duration)| {
            (run, self.submitters.of(run), self.rounds.places.age(now, run).as_secs())
        };
        places(&self.machine.active_runs(now).map(placed).collect::<Vec<Placed>>())
    }
}

/// Names the submitters of runs that have places.
fn places(placed: &[Placed]) -> String {
    let mut of_peers: BTreeMap<Option<Peer>, usize> = BTreeMap::new();
    for (_, peer, _) in placed {
        *of_peers.entry(*peer).or_default() += 1;
    }
    let mut of_peers: Vec<(Option<Peer>, usize)> = of_peers.into_iter().collect();
    of_peers.sort_by_key(|(peer, count)| (std::cmp::Reverse(*count), *peer));
    let others: usize = of_peers.iter().skip(NAMED_MAX).map(|(_, count)| count).sum();
    let mut whose: Vec<String> = of_peers
        .iter()
        .take(NAMED_MAX)
        .map(|(peer, count)| {
            let runs = if *count == 1 { "run" } else { "runs" };
            let peer = peer.map_or_else(|| "unknown addresses".to_owned(), |peer| peer.to_string());
            format!("{count} {runs} of {peer}")
        })
        .collect();
    if others > 0 {
        whose.push(format!("{others} of other addresses"));
    }
    let have = if placed.len() == 1 { "has" } else { "have" };
    let mut text = format!("{} {have} all places", whose.join(", "));
    if let Some((run, _, seconds)) =
        placed.iter().max_by_key(|(run, _, seconds)| (*seconds, std::cmp::Reverse(*run)))
    {
        text.push_str(&format!("; run {run} has had its place the longest, for {}", duration(*seconds)));
    }
    text
}

/// In one unit, as a whole number.
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u8) -> Option<Peer> {
        Some(Peer::of([10, 0, 0, number].into()))
    }

    /// As if the time between two suspensions were that since the last one.
    #[test]
    fn a_resumed_run_has_another_place() {
        let (run, second) = (RunId(1), |seconds: u64| Time(1_000_000_000 * seconds));
        let mut places = Places::restore([RunId(1), RunId(2)].into_iter());
        let active = || [RunId(1)].into_iter();
        let had_for = |_| Duration::from_secs(9);
        places.look(second(1), active(), had_for);
        places.look(second(3), active(), had_for);
        assert_eq!(places.age(second(4), run).as_secs(), 12, "the time before the restart is included");
        places.rests(run);
        places.look(second(5), [].into_iter(), had_for);
        assert_eq!(places.age(second(6), run).as_secs(), 0);
        places.look(second(20), active(), had_for);
        places.look(second(21), active(), had_for);
        assert_eq!(places.age(second(22), run).as_secs(), 2);
        // Between two looks.
        places.rests(run);
        places.look(second(30), active(), had_for);
        assert_eq!(places.age(second(31), run).as_secs(), 1);
    }

    #[test]
    fn submitters_with_places_are_named_and_the_run_that_has_had_one_the_longest() {
        let all: Vec<Placed> = (1..=8).map(|run| (RunId(run), peer(7), 10_800 - run)).collect();
        assert_eq!(
            places(&all),
            "8 runs of 10.0.0.7 have all places; run 1 has had its place the longest, for 2 h"
        );
        let mixed = [
            (RunId(1), None, 5),
            (RunId(2), peer(1), 7),
            (RunId(3), peer(2), 600),
            (RunId(4), peer(2), 600),
            (RunId(5), peer(3), 1),
        ];
        assert_eq!(
            places(&mixed),
            "2 runs of 10.0.0.2, 1 run of unknown addresses, 1 run of 10.0.0.1, 1 of other addresses have all places; \
             run 3 has had its place the longest, for 10 min"
        );
    }
}
