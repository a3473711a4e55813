//! A job that guests have given up before a thief has asked for it: the next thief need not wait for their process, which
//! takes two threads that are woken.
//!
//! A process spares a job only while its own workers have enough, and asks for it back when one of them has nothing to do. The
//! state machine does not learn of a job that goes back.

use parking_lot::Mutex;
use sateen_protocol::host::RunCommand;
use sateen_protocol::{Again, JobSpec, RuntimeJobId};

use super::check::Broken;

/// A job with the number that its process has given it.
pub type Spare = (RuntimeJobId, JobSpec);

/// The spare job of a process.
#[derive(Debug, Default)]
pub struct Stock(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    spare: Option<Spare>,
    /// The process was asked for one, and has not answered.
    is_asked: bool,
    /// No thief comes any more.
    is_closed: bool,
}

impl Stock {
    /// The spare job, for a thief.
    pub fn take(&self) -> Option<Spare> {
        self.0.lock().spare.take()
    }

    /// A thief has got a job, and another one may come: whether the process is to be asked for a spare one.
    pub fn ask(&self) -> bool {
        let mut kept = self.0.lock();
        let may_ask = kept.spare.is_none() && !kept.is_asked && !kept.is_closed;
        kept.is_asked |= may_ask;
        may_ask
    }

    /// The process answers.
    ///
    /// # Errors
    /// If it was not asked.
    pub fn note_answer(&self) -> Result<(), Broken> {
        let was_asked = std::mem::take(&mut self.0.lock().is_asked);
        if was_asked { Ok(()) } else { Err("it spares a job without being asked") }
    }

    /// Keeps a job for the next thief. Returns it if it must go back: no thief comes any more, or it is redone, and its result
    /// may be found before one comes.
    pub fn keep(&self, spare: Spare) -> Option<Spare> {
        let mut kept = self.0.lock();
        if kept.is_closed || spare.1.redone {
            return Some(spare);
        }
        kept.spare.replace(spare)
    }

    /// The job is no longer needed. If it is the spare one, returns it: it goes back, and so counts as aborted.
    pub fn forget(&self, number: RuntimeJobId) -> Option<Spare> {
        self.0.lock().spare.take_if(|(spare, _)| *spare == number)
    }

    /// No thief comes any more. Returns the job, which must go back.
    pub fn close(&self) -> Option<Spare> {
        let mut kept = self.0.lock();
        kept.is_closed = true;
        kept.spare.take()
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
    fn one_job_is_kept_for_the_next_thief() {
        let stock = Stock::default();
        assert!(stock.note_answer().is_err(), "it was not asked");
        assert!(stock.ask() && !stock.ask(), "asked once");
        assert!(stock.note_answer().is_ok() && stock.note_answer().is_err(), "answered once");
        assert_eq!(stock.keep(spare(1)), None);
        assert!(!stock.ask(), "there is one");
        assert_eq!(stock.forget(RuntimeJobId(2)), None);
        assert_eq!(stock.take(), Some(spare(1)));
        assert_eq!(stock.take(), None);
        assert!(stock.ask());
        assert_eq!(stock.keep(spare(2)), None);
        assert_eq!(stock.forget(RuntimeJobId(2)), Some(spare(2)));
        assert_eq!(stock.take(), None);
        let redone = |(number, spec): Spare| (number, JobSpec { redone: true, ..spec });
        assert_eq!(stock.keep(redone(spare(3))), Some(redone(spare(3))));
    }

    #[test]
    fn nothing_is_kept_when_no_thief_comes_any_more() {
        let stock = Stock::default();
        assert_eq!(stock.keep(spare(1)), None);
        assert_eq!(stock.close(), Some(spare(1)));
        assert!(!stock.ask());
        assert_eq!(stock.keep(spare(2)), Some(spare(2)), "it was on its way");
    }
}
