//! Why runs wait, for users; with the addresses that have the places for runs under way.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sateen_module::size;
use sateen_protocol::coordinator::{RunView, Waiting};
use sateen_protocol::{RunId, RunState};

use super::Driver;
use crate::chronicle::{SUSPENDED, Waits};
use crate::peer::Peer;

/// Maximum addresses that are named.
const NAMED_MAX: usize = 3;

/// Maximum hosts that are looked at for the end of their pauses.
const PAUSES_MAX: usize = 1024;
/// The beginning of the reason of a run for which no host works; the machine names any of the hosts.
const ALL_PAUSED: &str = "all hosts are paused (";

/// Parts of reasons that are the same for many runs, each computed once.
#[derive(Debug, Default)]
pub struct Reasons {
    placed: OnceCell<String>,
    paused: OnceCell<Option<(String, String)>>,
}

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

impl Driver {
    /// Why nothing happens with a run, including who has the places.
    pub(super) fn waits(&self, view: &RunView<'_>, known: &Reasons) -> Option<Waits> {
        let reason = self.reason(view, known)?;
        let why = match view.waiting {
            None => reason.clone(),
            Some(Waiting::Turn) => known.placed.get_or_init(|| places(&self.placed())).clone(),
            Some(Waiting::Result { from, bytes, total }) => {
                let (host, bytes, total) =
                    (&self.hosts.name_of(from).name, size(bytes as u64), size(total as u64));
                format!("{reason}: {bytes} of {total} have come from {host}")
            }
        };
        Some(Waits { why, reason })
    }

    /// The reason as chronicles have it.
    pub(super) fn reason(&self, view: &RunView<'_>, known: &Reasons) -> Option<String> {
        match &view.waiting_for {
            None => (view.state() == RunState::Suspended).then(|| SUSPENDED.to_owned()),
            Some(why) if why.starts_with(ALL_PAUSED) => {
                let soonest = || {
                    let hosts = self.machine.hosts().take(PAUSES_MAX);
                    soonest(hosts.filter_map(|host| Some((host.report.name.clone(), host.paused?))))
                };
                let named = |(name, pause): &(String, String)| format!("{ALL_PAUSED}{name} says: {pause})");
                Some(known.paused.get_or_init(soonest).as_ref().map_or_else(|| why.clone(), named))
            }
            Some(why) => Some(why.clone()),
        }
    }

    fn placed(&self) -> Vec<Placed> {
        let now = self.clock.now();
        let placed = |(run, time): (RunId, Duration)| (run, self.submitters.of(run), time.as_secs());
        self.machine.active_runs(now).map(placed).collect()
    }
}

/// Of hosts that are paused, the one whose pause ends first: its name, and what it says. The first one, if none says when.
fn soonest(paused: impl Iterator<Item = (String, String)>) -> Option<(String, String)> {
    paused.min_by_key(|(_, pause)| ends_at_ms(pause).unwrap_or(u64::MAX))
}

/// When a pause ends, if its reason says that at its end.
fn ends_at_ms(pause: &str) -> Option<u64> {
    let (_, until) = pause.rsplit_once(" until ")?;
    let until = humantime::parse_rfc3339(until).ok()?;
    Some(until.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis() as u64)
}

/// Names those that have all places.
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
    let mut text = format!("{} {have} all places for runs under way", whose.join(", "));
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

    #[test]
    fn the_pause_that_ends_first_is_named() {
        let soonest = |pauses: &[(&str, &str)]| {
            let pauses = pauses.iter().map(|(name, pause)| ((*name).to_owned(), (*pause).to_owned()));
            soonest(pauses).map(|(name, _)| name)
        };
        let ann = ("ann", "paused by its user until 2026-11-27T18:09:41Z");
        let bob = ("bob", "paused by its user until 2026-11-27T17:39:02Z");
        let cat = ("cat", "its user works until the evening");
        assert_eq!(soonest(&[ann, bob, cat]).as_deref(), Some("bob"));
        assert_eq!(soonest(&[cat, ann]).as_deref(), Some("ann"));
        assert_eq!(soonest(&[cat, ("dan", "")]).as_deref(), Some("cat"), "nothing is known of their ends");
        assert_eq!(soonest(&[]), None);
    }

    fn peer(number: u8) -> Option<Peer> {
        Some(Peer::of([10, 0, 0, number].into()))
    }

    #[test]
    fn submitters_with_places_are_named_and_the_run_that_has_had_one_the_longest() {
        let all: Vec<Placed> = (1..=8).map(|run| (RunId(run), peer(7), 10_800 - run)).collect();
        assert_eq!(
            places(&all),
            "8 runs of 10.0.0.7 have all places for runs under way; run 1 has had its place the longest, for 2 h"
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
            "2 runs of 10.0.0.2, 1 run of unknown addresses, 1 run of 10.0.0.1, 1 of other addresses have all places \
             for runs under way; run 3 has had its place the longest, for 10 min"
        );
    }
}
