//! Jobs that guests have given up before a thief has asked for them: the next thief need not wait for their process, which
//! takes two threads that are woken.
//!
//! A process spares jobs only while its own workers have enough, and asks for them back when one of them has nothing to do.
//! The state machine does not learn of a job that goes back.

use std::collections::VecDeque;

use parking_lot::Mutex;
use sateen_protocol::host::RunCommand;
use sateen_protocol::limits::JOBS_PER_STEAL_MAX;
use sateen_protocol::{Again, JobSpec, RuntimeJobId};

use super::check::Broken;

/// Maximum jobs that are kept: for two thieves that each take as many as they may.
pub const SPARES_MAX: usize = 2 * JOBS_PER_STEAL_MAX;

/// A job with the number that its process has given it.
pub type Spare = (RuntimeJobId, JobSpec);

/// The spare jobs of a process.
#[derive(Debug, Default)]
pub struct Stock(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The first one was spared first.
    spares: VecDeque<Spare>,
    /// The process was asked for some, and has not answered.
    is_asked: bool,
    /// No thief comes any more.
    is_closed: bool,
}

impl Stock {
    /// A spare job, for a thief, and at most `more` that are like it; none if there is none.
    pub fn take(&self, more: usize) -> Vec<Spare> {
        let mut kept = self.0.lock();
        let Some(first) = kept.spares.pop_front() else { return Vec::new() };
        let is_like_first = |(_, spec): &mut Spare| {
            (spec.kind, spec.depth, &spec.lineage) == (first.1.kind, first.1.depth, &first.1.lineage)
        };
        let others: Vec<Spare> =
            std::iter::from_fn(|| kept.spares.pop_front_if(is_like_first)).take(more).collect();
        std::iter::once(first).chain(others).collect()
    }

    /// A thief has got jobs, and would have taken as many as `most`. Returns how many the process is to be asked for, if it
    /// is to be asked: for two further thieves, when there are not enough for one.
    pub fn ask(&self, most: usize) -> Option<usize> {
        let mut kept = self.0.lock();
        let may_ask = kept.spares.len() < most && !kept.is_asked && !kept.is_closed;
        kept.is_asked |= may_ask;
        may_ask.then(|| (2 * most).min(SPARES_MAX) - kept.spares.len())
    }

    /// The process answers with this number of jobs.
    ///
    /// # Errors
    /// If it was not asked, or with these there are more than are kept.
    pub fn note_answer(&self, count: usize) -> Result<(), Broken> {
        let mut kept = self.0.lock();
        if !std::mem::take(&mut kept.is_asked) {
            return Err("it spares jobs without being asked");
        }
        if kept.spares.len() + count > SPARES_MAX { Err("it spares too many jobs") } else { Ok(()) }
    }

    /// Keeps a job for the next thief. Returns it if it must go back: no thief comes any more, or it is redone, and its result
    /// may be found before one comes.
    pub fn keep(&self, spare: Spare) -> Option<Spare> {
        let mut kept = self.0.lock();
        if kept.is_closed || spare.1.redone {
            return Some(spare);
        }
        kept.spares.push_back(spare);
        None
    }

    /// The job is no longer needed. If it is a spare one, returns it: it goes back, and so counts as aborted.
    pub fn forget(&self, number: RuntimeJobId) -> Option<Spare> {
        let mut kept = self.0.lock();
        let index = kept.spares.iter().position(|(spare, _)| *spare == number)?;
        kept.spares.remove(index)
    }

    /// The jobs go back.
    pub fn take_all(&self) -> Vec<Spare> {
        self.0.lock().spares.drain(..).collect()
    }

    /// No thief comes any more. Returns the jobs, which must go back.
    pub fn close(&self) -> Vec<Spare> {
        self.0.lock().is_closed = true;
        self.take_all()
    }
}

/// The command with which a spare job goes back: it was never begun.
pub fn goes_back((number, spec): &Spare) -> RunCommand {
    let again = Again { redone: spec.redone, begun: false, given_back: spec.given_back, lookup_below: 0 };
    RunCommand::Requeue { number: *number, again }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::JobKey;

    use super::*;

    fn spare(number: u64) -> Spare {
        (RuntimeJobId(number), JobSpec::new(JobKey([1; 32]), 0, vec![1]))
    }

    #[test]
    fn jobs_are_kept_for_the_next_thieves() {
        let stock = Stock::default();
        assert!(stock.note_answer(0).is_err(), "it was not asked");
        assert_eq!((stock.ask(1), stock.ask(1)), (Some(2), None), "asked once");
        assert!(stock.note_answer(1).is_ok() && stock.note_answer(0).is_err(), "answered once");
        assert_eq!(stock.keep(spare(1)), None);
        assert_eq!(stock.ask(1), None, "there is one");
        assert_eq!(stock.ask(2), Some(3));
        assert_eq!(stock.forget(RuntimeJobId(2)), None);
        assert_eq!(stock.take(0), [spare(1)]);
        assert_eq!(stock.take(9), []);
        assert!(stock.note_answer(SPARES_MAX + 1).is_err());
        assert_eq!(stock.keep(spare(2)), None);
        assert_eq!(stock.forget(RuntimeJobId(2)), Some(spare(2)));
        assert_eq!(stock.take(0), []);
        let redone = |(number, spec): Spare| (number, JobSpec { redone: true, ..spec });
        assert_eq!(stock.keep(redone(spare(3))), Some(redone(spare(3))));
    }

    #[test]
    fn jobs_that_go_together_are_alike() {
        let stock = Stock::default();
        let other = |(number, spec): Spare| (number, JobSpec { kind: 1, ..spec });
        for spare in [spare(1), spare(2), spare(3), other(spare(4)), spare(5)] {
            assert_eq!(stock.keep(spare), None);
        }
        assert_eq!(stock.take(1), [spare(1), spare(2)], "no more than the thief takes");
        assert_eq!(stock.take(9), [spare(3)]);
        assert_eq!(stock.take(9), [other(spare(4))]);
        assert_eq!(stock.take_all(), [spare(5)]);
    }

    #[test]
    fn nothing_is_kept_when_no_thief_comes_any_more() {
        let stock = Stock::default();
        assert_eq!(stock.keep(spare(1)), None);
        assert_eq!(stock.close(), [spare(1)]);
        assert_eq!(stock.ask(1), None);
        assert_eq!(stock.keep(spare(2)), Some(spare(2)), "it was in transit");
    }
}
