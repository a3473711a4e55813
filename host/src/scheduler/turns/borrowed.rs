//! Turns that belong to another process, which lends them: the supervisor of a host, whose runs are in processes of
//! their own.
//!
//! A run keeps the turns that it was lent until the lender wants some of them back, also while its workers have nothing
//! to do. So a run that is alone on its host asks once for each of its workers, and never again.

use std::sync::atomic::Ordering::SeqCst;

use serde::{Deserialize, Serialize};

use super::{SLICE, State, Turns};

/// Called with news for the lender, with the queue locked: it must not wait, nor use the turns.
pub type Lender = Box<dyn Fn(TurnNews) + Send + Sync>;

/// What is reported to the lender of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnNews {
    /// This many workers wait. Turns that are lent from now on are subtracted by both sides.
    Waiting(u32),
    /// This many turns are given back.
    Returned(u32),
}

impl Turns {
    /// No turns yet; more are lent by the process that `tell` notifies. `tell` must not wait, nor use the turns.
    pub(crate) fn borrowed(tell: impl Fn(TurnNews) + Send + Sync + 'static) -> Self {
        Self::with(SLICE, 0, Some(Box::new(tell)))
    }

    /// The lender lends this many more turns. Those that no worker waits for are given back at once.
    pub(crate) fn lend(&self, turns: u32) {
        let mut state = self.0.state.lock();
        let count = turns as usize;
        let needed = count.min(state.queue.len());
        state.told = state.told.saturating_sub(count);
        state.free += needed;
        state.pass_on(self);
        self.tell(TurnNews::Returned(turns - u32::try_from(needed).unwrap_or(turns)));
    }

    /// The lender wants this many turns back: those that are free now, others when their workers have had their time.
    pub(crate) fn recall(&self, turns: u32) {
        let mut state = self.0.state.lock();
        self.0.owed.fetch_add(turns as usize, SeqCst);
        state.pay_back(self);
    }

    /// Whether others wait: then turns that no worker needs are given back at once.
    pub(crate) fn note_scarce(&self, is_scarce: bool) {
        let mut state = self.0.state.lock();
        state.is_scarce = is_scarce;
        state.spare(self);
    }

    fn tell(&self, news: TurnNews) {
        if let Some(tell) = self.0.lender.as_ref().filter(|_| news != TurnNews::Returned(0)) {
            tell(news);
        }
    }
}

impl State {
    /// Gives back the free turns that the lender wants.
    pub(super) fn pay_back(&mut self, turns: &Turns) {
        let count = self.free.min(turns.0.owed.load(SeqCst));
        if count > 0 {
            self.free -= count;
            turns.0.owed.fetch_sub(count, SeqCst);
            turns.tell(TurnNews::Returned(u32::try_from(count).unwrap_or(u32::MAX)));
        }
    }

    /// Gives back the free turns if others wait for them.
    pub(super) fn spare(&mut self, turns: &Turns) {
        if self.is_scarce {
            let count = std::mem::take(&mut self.free);
            turns.tell(TurnNews::Returned(u32::try_from(count).unwrap_or(u32::MAX)));
        }
    }

    /// Notifies the lender if more workers wait than it knows of.
    pub(super) fn tell_waiting(&mut self, turns: &Turns) {
        if turns.0.lender.is_some() && self.queue.len() > self.told {
            self.told = self.queue.len();
            turns.tell(TurnNews::Waiting(u32::try_from(self.told).unwrap_or(u32::MAX)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use parking_lot::Mutex;

    use super::super::{end_turn, is_turn_over};
    use super::*;

    fn borrowed() -> (Turns, Arc<Mutex<Vec<TurnNews>>>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let turns = Turns::borrowed({
            let told = told.clone();
            move |news| told.lock().push(news)
        });
        (turns, told)
    }

    fn until(is_so: impl Fn() -> bool) {
        let since = Instant::now();
        while !is_so() {
            assert!(since.elapsed() < Duration::from_secs(20), "nothing happens");
            std::thread::yield_now();
        }
    }

    #[test]
    fn turns_are_asked_for_once_and_kept_until_they_are_wanted_back() {
        let (turns, told) = borrowed();
        let take = || std::mem::take(&mut *told.lock());
        turns.lend(2);
        assert_eq!(take(), [TurnNews::Returned(2)], "nobody waits");
        let run = turns.join();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                run.begin(|| {}, || false);
                end_turn();
                // It is not asked for again.
                run.begin(|| {}, || false);
                end_turn();
            });
            until(|| !told.lock().is_empty());
            assert_eq!(take(), [TurnNews::Waiting(1)]);
            turns.lend(1);
            worker.join().expect("it has had its turns");
        });
        assert_eq!(take(), []);
        turns.recall(1);
        assert_eq!(take(), [TurnNews::Returned(1)], "it was free");
        turns.note_scarce(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                run.begin(|| {}, || false);
                end_turn();
            });
            until(|| !told.lock().is_empty());
            turns.lend(1);
        });
        assert_eq!(take(), [TurnNews::Waiting(1), TurnNews::Returned(1)], "others wait for it");
    }

    #[test]
    fn a_turn_in_use_is_given_back_when_its_worker_has_had_its_time() {
        let (turns, told) = borrowed();
        let run = turns.join();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                run.begin(|| {}, || false);
                until(is_turn_over);
                end_turn();
                run.begin(|| {}, || is_over.load(SeqCst));
            });
            until(|| !told.lock().is_empty());
            turns.lend(1);
            turns.recall(1);
            until(|| told.lock().len() == 3);
            is_over.store(true, SeqCst);
            run.look_again();
        });
        assert_eq!(*told.lock(), [TurnNews::Waiting(1), TurnNews::Returned(1), TurnNews::Waiting(1)]);
    }
}
