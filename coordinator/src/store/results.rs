//! The disk space of finished runs, which is that of their arguments and results: by peer, and in all.
//!
//! A saved result stays until its run is deleted. When there is little room, the oldest cancelled runs are deleted.
//! When there is none, runs are not accepted; and a run that was accepted before and returns a large result fails because
//! of this limit, so that the bound holds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sateen_module::size;
use sateen_protocol::RunEnd;
use serde::Serialize;

use crate::limits::{
    RESULT_ALWAYS_KEPT_BYTES, RESULTS_PER_PEER_SHARE, RUN_KEPT_BYTES, RUNS_KEPT_FOR, RUNS_KEPT_MAX,
};
use crate::peer::Peer;

/// Which runs that are over are kept. The others are deleted, those that ended first before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Their maximum number.
    pub runs_max: u64,
    /// The maximum time since their end; `None` for any.
    pub age_max: Option<Duration>,
}

impl Retention {
    /// The maximum number, and the maximum time in seconds, as the API shows them.
    pub fn shown(&self) -> (u64, Option<u64>) {
        (self.runs_max, self.age_max.map(|age| age.as_secs()))
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { runs_max: RUNS_KEPT_MAX, age_max: Some(RUNS_KEPT_FOR) }
    }
}

/// The disk space of finished runs, and which of them are kept.
#[derive(Debug)]
pub struct Results {
    max_bytes: u64,
    /// Which runs are kept.
    pub retention: Retention,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    all_bytes: u64,
    by_peer: HashMap<Option<Peer>, u64>,
}

impl Results {
    /// A bound, and what is kept: by peer, the number of runs, and the bytes of their specifications and ends as saved.
    pub fn new(max_bytes: u64, kept: Vec<(Option<Peer>, u64, u64)>) -> Self {
        let mut books = Books::default();
        for (peer, count, bytes) in kept {
            let bytes = bytes + count * RUN_KEPT_BYTES;
            books.all_bytes += bytes;
            *books.by_peer.entry(peer).or_default() += bytes;
        }
        Self { max_bytes, retention: Retention::default(), books: Mutex::new(books) }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why there is no room for `bytes` more of a peer's, if there is none.
    fn refusal(&self, books: &Books, peer: Option<Peer>, bytes: u64) -> Option<String> {
        let of_peer_max = self.max_bytes / RESULTS_PER_PEER_SHARE;
        let of_peer = books.by_peer.get(&peer).copied().unwrap_or(0);
        let what_to_do = "delete runs with `sateen rm`, or start the coordinator with a larger --results-max";
        let whose = peer.map_or_else(|| "unknown addresses".to_owned(), |peer| peer.to_string());
        if of_peer + bytes > of_peer_max {
            let (takes, may) = (size(of_peer), size(of_peer_max));
            return Some(format!(
                "the arguments and results of runs from {whose} take {takes} of {may}; {what_to_do}"
            ));
        }
        (books.all_bytes + bytes > self.max_bytes).then(|| {
            let (takes, may) = (size(books.all_bytes), size(self.max_bytes));
            format!("the arguments and results of all runs take {takes} of {may}; {what_to_do}")
        })
    }

    /// Checks whether a run of this peer may be accepted, whose specification takes `spec_bytes`.
    ///
    /// # Errors
    /// When there is no room for it and a result; the sentence gives the reason and what to do.
    pub fn check(&self, peer: Peer, spec_bytes: u64) -> Result<(), String> {
        self.refusal(&self.books(), Some(peer), spec_bytes + RUN_KEPT_BYTES).map_or(Ok(()), Err)
    }

    /// Whether cancelled runs should be deleted: `Some(peer)` if this peer has little room for another run, and
    /// `Some(None)` if all together have. That is somewhat earlier than [`check`](Self::check) refuses it.
    pub fn lacks_room(&self, peer: Peer, spec_bytes: u64) -> Option<Option<Peer>> {
        let books = self.books();
        let is_little = |has: u64, max: u64| has + spec_bytes + RUN_KEPT_BYTES > max - max / 8;
        let of_peer = books.by_peer.get(&Some(peer)).copied().unwrap_or(0);
        if is_little(of_peer, self.max_bytes / RESULTS_PER_PEER_SHARE) {
            return Some(Some(peer));
        }
        is_little(books.all_bytes, self.max_bytes).then_some(None)
    }

    /// The end to be saved for a run of this peer, whose specification takes `spec_bytes`: the limit that was met if there
    /// is no room for its result.
    pub fn admit(&self, (peer, spec_bytes): (Option<Peer>, u64), end: RunEnd) -> RunEnd {
        let bytes = payload(&end);
        let mut books = self.books();
        let refusal = self.refusal(&books, peer, spec_bytes + bytes + RUN_KEPT_BYTES);
        let refusal = refusal.filter(|_| bytes > RESULT_ALWAYS_KEPT_BYTES);
        let end = match refusal {
            Some(why) => {
                let result = size(bytes);
                RunEnd::Limit(format!("the run has a result of {result}, which was not kept: {why}"))
            }
            None => end,
        };
        let bytes = spec_bytes + encoded_bytes(&end) + RUN_KEPT_BYTES;
        books.all_bytes += bytes;
        *books.by_peer.entry(peer).or_default() += bytes;
        end
    }

    /// A run is deleted whose specification and end take `bytes`, encoded.
    pub fn give_back(&self, peer: Option<Peer>, bytes: u64) {
        let mut books = self.books();
        let bytes = bytes + RUN_KEPT_BYTES;
        books.all_bytes = books.all_bytes.saturating_sub(bytes);
        if let Some(of_peer) = books.by_peer.get_mut(&peer) {
            *of_peer = of_peer.saturating_sub(bytes);
            if *of_peer == 0 {
                books.by_peer.remove(&peer);
            }
        }
    }
}

/// The size in the form that is saved.
pub fn encoded_bytes(value: &impl Serialize) -> u64 {
    // Strings and bytes always encode.
    postcard::experimental::serialized_size(value).map_or(0, |bytes| bytes as u64)
}

/// The result itself.
fn payload(end: &RunEnd) -> u64 {
    match end {
        RunEnd::Finished(finished) => finished.outcome.bytes().len() as u64,
        RunEnd::Cancelled
        | RunEnd::Limit(_)
        | RunEnd::Unable(_)
        | RunEnd::Failed(_)
        | RunEnd::Unverified(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sateen_protocol::{Finished, Outcome};

    fn peer(number: u8) -> Peer {
        Peer::of([192, 0, 2, number].into())
    }

    fn is_kept(results: &Results, of: u8, kib: usize) -> bool {
        let outcome = Outcome::Done(vec![0; kib << 10].into());
        let end = RunEnd::Finished(Finished { outcome, work_ns: 1, span_ns: 1 });
        matches!(results.admit((Some(peer(of)), 0), end), RunEnd::Finished(_))
    }

    #[test]
    fn one_peer_has_a_share_and_kept_results_stay() {
        let results = Results::new(RESULTS_PER_PEER_SHARE << 20, vec![(Some(peer(1)), 1, 500 << 10)]);
        assert!(is_kept(&results, 1, 400) && !is_kept(&results, 1, 400) && is_kept(&results, 2, 400));
        assert_eq!(results.check(peer(1), 0), Ok(()), "there is room for a small one");
        assert!(is_kept(&results, 1, 90) && is_kept(&results, 1, 4));
        while results.check(peer(1), 0).is_ok() {
            assert!(is_kept(&results, 1, 4));
        }
        assert!(is_kept(&results, 1, 4), "a small one is always kept");
        let why = results.check(peer(1), 0).expect_err("it is full");
        assert!(why.contains("from 192.0.2.1 take 1") && why.contains("sateen rm"), "{why}");
        assert_eq!(results.check(peer(2), 0), Ok(()));
        results.give_back(Some(peer(1)), 500 << 10);
        assert!(is_kept(&results, 1, 400));
    }

    #[test]
    fn a_deleted_result_is_counted_as_it_was_when_it_was_kept() {
        let results = Results::new(1 << 30, Vec::new());
        let end = results.admit((Some(peer(1)), 70), RunEnd::Limit("the time is over".to_owned()));
        let saved = postcard::to_allocvec(&end).expect("it encodes").len() as u64;
        results.admit((Some(peer(1)), 0), RunEnd::Cancelled);
        results.give_back(Some(peer(1)), 70 + saved);
        assert_eq!(results.books().all_bytes, RUN_KEPT_BYTES + encoded_bytes(&RunEnd::Cancelled));
    }

    #[test]
    fn arguments_count_and_room_is_made_before_there_is_none() {
        let share = 1 << 20;
        let results = Results::new(RESULTS_PER_PEER_SHARE * share, Vec::new());
        assert_eq!(results.lacks_room(peer(1), share / 2), None);
        results.admit((Some(peer(1)), share / 2), RunEnd::Cancelled);
        assert_eq!(results.check(peer(1), share / 2 - 2 * RUN_KEPT_BYTES - 9), Ok(()));
        assert_eq!(results.lacks_room(peer(1), share / 2 - 2 * RUN_KEPT_BYTES - 9), Some(Some(peer(1))));
        assert!(results.check(peer(1), share / 2).is_err());
        assert_eq!(results.lacks_room(peer(2), share / 2), None);
        for other in 2..16 {
            results.admit((Some(peer(other)), share / 2), RunEnd::Cancelled);
        }
        assert_eq!(results.lacks_room(peer(77), 0), Some(None));
    }

    #[test]
    fn all_peers_together_have_a_bound() {
        let results = Results::new(1 << 20, vec![(None, 1, 1 << 20)]);
        let why = results.check(peer(1), 0).expect_err("it is full");
        assert!(why.starts_with("the arguments and results of all runs take 1 MiB of 1 MiB"), "{why}");
        assert!(!is_kept(&results, 1, 5) && is_kept(&results, 1, 4));
    }
}
