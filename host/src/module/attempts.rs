//! Compilations that came to nothing.
//!
//! A submitter can have a host compile the same costly module again and again, and cancel each run before a limit is
//! reached. So a module that reached a limit is refused without another attempt, and one whose compilation
//! was stopped is compiled again only after a rest, which grows with what was wasted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Maximum modules that are remembered; those whose last attempt is longest ago are forgotten.
const MODULES_MAX: usize = 256;
/// Processor time that may be wasted without a rest: a user may cancel a run, and submit it again.
const FREE: Duration = Duration::from_secs(1);
/// A rest is this many times as long as what was wasted beyond [`FREE`], and twice as long with each further attempt.
const REST_FACTOR: u32 = 2;
/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(600);

/// The modules of a host whose compilation failed or was stopped.
#[derive(Debug, Default)]
pub struct Attempts {
    of: BTreeMap<[u8; 32], Attempt>,
}

#[derive(Debug)]
struct Attempt {
    ended: Instant,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    /// It reached a limit, says this sentence.
    Failed(String),
    /// It was stopped: how often, and after how much processor time in all.
    Stopped { times: u32, wasted: Duration },
}

/// What may be done about a module.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be compiled.
    Go,
    /// Not before this moment.
    Rest(Instant),
    /// Not again while this is remembered, for this reason.
    Refused(String),
}

impl Attempts {
    /// Whether a module may be compiled now.
    pub fn verdict(&self, module: &blake3::Hash, now: Instant) -> Verdict {
        match self.of.get(module.as_bytes()) {
            None => Verdict::Go,
            Some(Attempt { outcome: Outcome::Failed(why), .. }) => Verdict::Refused(why.clone()),
            Some(Attempt { ended, outcome: Outcome::Stopped { times, wasted } }) => {
                let until = *ended + rest(*times, *wasted);
                if until <= now { Verdict::Go } else { Verdict::Rest(until) }
            }
        }
    }

    /// The compilation of a module has reached a limit, which it would reach again.
    pub fn note_failed(&mut self, module: &blake3::Hash, why: String, now: Instant) {
        self.note(module, Outcome::Failed(why), now);
    }

    /// The compilation of a module was stopped after this much processor time.
    pub fn note_stopped(&mut self, module: &blake3::Hash, wasted: Duration, now: Instant) {
        let (times, before) = match self.of.get(module.as_bytes()) {
            Some(Attempt { outcome: Outcome::Stopped { times, wasted }, .. }) => (*times, *wasted),
            _ => (0, Duration::ZERO),
        };
        let outcome =
            Outcome::Stopped { times: times.saturating_add(1), wasted: before.saturating_add(wasted) };
        self.note(module, outcome, now);
    }

    /// The module was compiled.
    pub fn note_compiled(&mut self, module: &blake3::Hash) {
        self.of.remove(module.as_bytes());
    }

    fn note(&mut self, module: &blake3::Hash, outcome: Outcome, now: Instant) {
        self.of.insert(*module.as_bytes(), Attempt { ended: now, outcome });
        if self.of.len() > MODULES_MAX
            && let Some(oldest) =
                self.of.iter().min_by_key(|(_, attempt)| attempt.ended).map(|(hash, _)| *hash)
        {
            self.of.remove(&oldest);
        }
    }
}

fn rest(times: u32, wasted: Duration) -> Duration {
    let counted = wasted.saturating_sub(FREE);
    let doubled = 1 << times.saturating_sub(1).min(16);
    counted.saturating_mul(REST_FACTOR).saturating_mul(doubled).min(REST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn module(number: u32) -> blake3::Hash {
        blake3::hash(&number.to_le_bytes())
    }

    #[test]
    fn a_module_that_is_stopped_again_and_again_rests_longer_each_time() {
        let (mut attempts, start) = (Attempts::default(), Instant::now());
        let (mut now, mut rests) = (start, Vec::new());
        for _ in 0..6 {
            attempts.note_stopped(&module(1), 2 * S, now);
            let until = match attempts.verdict(&module(1), now) {
                Verdict::Rest(until) => until,
                other => panic!("{other:?}"),
            };
            rests.push((until - now).as_secs());
            now = until;
            assert_eq!(attempts.verdict(&module(1), now), Verdict::Go);
        }
        assert_eq!(rests, [2, 12, 40, 112, 288, 600]);
        assert_eq!(attempts.verdict(&module(2), now), Verdict::Go, "others do not rest");
        attempts.note_compiled(&module(1));
        assert!(attempts.of.is_empty());
    }

    #[test]
    fn a_run_that_is_cancelled_and_submitted_again_does_not_rest() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        attempts.note_stopped(&module(1), S / 2, now);
        attempts.note_stopped(&module(1), S / 2, now);
        assert_eq!(attempts.verdict(&module(1), now), Verdict::Go);
    }

    #[test]
    fn a_module_that_reached_a_limit_is_refused() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        attempts.note_failed(&module(1), "it is too large".to_owned(), now);
        let later = now + REST_MAX;
        assert_eq!(attempts.verdict(&module(1), later), Verdict::Refused("it is too large".to_owned()));
    }

    #[test]
    fn no_more_modules_than_a_bound_are_remembered() {
        let (mut attempts, now) = (Attempts::default(), Instant::now());
        for number in 0..2 * MODULES_MAX as u32 {
            attempts.note_failed(&module(number), String::new(), now + Duration::from_nanos(number.into()));
        }
        assert_eq!(attempts.of.len(), MODULES_MAX);
        assert_eq!(attempts.verdict(&module(0), now), Verdict::Go);
        let last = module(2 * MODULES_MAX as u32 - 1);
        assert!(matches!(attempts.verdict(&last, now), Verdict::Refused(_)));
    }
}
