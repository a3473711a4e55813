//! Turns of runs that share a machine: a host computes with as many threads as its owner gave it, however many
//! runs it has.
//!
//! Each run has workers of its own. Only workers with a turn compute. A turn ends when its worker finds no work, or
//! when it has lasted for [`SLICE`] and another worker waits. It then goes to the run with the fewest turns, and
//! among equals to the worker that has waited the longest. So runs take turns one by one, and share the machine
//! equally if all have enough work.
//!
//! A profiled run has turns of its own, one for each core. Its workers need not be treated alike, so a turn lasts until
//! its worker finds no work: if workers took cores from one another, they would find cold caches, and the program would
//! seem to have more work.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Minimum time of a turn, unless its worker has no work: long enough to make filling a processor's caches
/// worthwhile, short enough that other hosts do not notice.
pub const SLICE: Duration = Duration::from_millis(20);

/// A host's turns.
#[derive(Clone)]
pub struct Turns(Arc<All>);

struct All {
    /// Minimum time of a turn.
    slice: Duration,
    waiting: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// The number of the worker that began to wait last.
    last_ticket: u64,
    queue: Vec<Waiting>,
}

/// The number of turns of a run; changed while the state is locked.
type Held = Arc<AtomicUsize>;

struct Waiting {
    run: Held,
    ticket: u64,
    woken: Arc<Condvar>,
}

/// One run's part in a host's turns.
pub struct TurnsOfRun {
    turns: Turns,
    held: Held,
}

/// A turn, until it is dropped.
struct Turn {
    turns: Turns,
    run: Held,
    since: Instant,
}

thread_local! {
    /// The turn of this thread's worker.
    static OWN: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

impl Turns {
    /// Turns for this many threads that compute at once.
    pub fn new(count: usize) -> Self {
        Self::lasting(SLICE, count)
    }

    /// The same for the workers of one run.
    pub fn of_one_run(count: usize) -> TurnsOfRun {
        Self::lasting(Duration::MAX, count).join()
    }

    fn lasting(slice: Duration, count: usize) -> Self {
        let state = State { free: count, last_ticket: 0, queue: Vec::new() };
        Self(Arc::new(All { slice, waiting: AtomicUsize::new(0), state: Mutex::new(state) }))
    }

    /// Another run takes part.
    pub fn join(&self) -> TurnsOfRun {
        TurnsOfRun { turns: self.clone(), held: Held::default() }
    }
}

impl State {
    /// Takes a free turn, if no worker waits for it.
    fn take(&mut self, run: &Held) -> bool {
        let is_free = self.free > 0 && self.queue.is_empty();
        if is_free {
            self.give(run);
        }
        is_free
    }

    fn give(&mut self, run: &Held) {
        self.free -= 1;
        run.fetch_add(1, SeqCst);
    }

    fn give_back(&mut self, run: &Held) {
        self.free += 1;
        run.fetch_sub(1, SeqCst);
    }

    /// Gives free turns to waiting workers.
    fn pass_on(&mut self, waiting: &AtomicUsize) {
        while self.free > 0 {
            let next = (0..self.queue.len()).min_by_key(|&place| {
                let one = &self.queue[place];
                (one.run.load(SeqCst), one.ticket)
            });
            let Some(next) = next else { return };
            let next = self.queue.swap_remove(next);
            waiting.fetch_sub(1, SeqCst);
            self.give(&next.run);
            next.woken.notify_one();
        }
    }
}

impl TurnsOfRun {
    /// Begins this worker's turn as soon as one is free, unless `is_over` before, which is checked again when
    /// [`look_again`](Self::look_again) is called. If no turn is free, `waits` is called first.
    pub fn begin(&self, waits: impl FnOnce(), is_over: impl Fn() -> bool) {
        if OWN.with_borrow(Option::is_some) {
            return;
        }
        let all = &self.turns.0;
        let mut state = all.state.lock();
        if !state.take(&self.held) {
            state.last_ticket += 1;
            let ticket = state.last_ticket;
            waits();
            let woken = Arc::new(Condvar::new());
            state.queue.push(Waiting { run: self.held.clone(), ticket, woken: woken.clone() });
            all.waiting.fetch_add(1, SeqCst);
            // A turn that became free between the two checks.
            state.pass_on(&all.waiting);
            let place = |state: &State| state.queue.iter().position(|one| one.ticket == ticket);
            while place(&state).is_some() && !is_over() {
                woken.wait(&mut state);
            }
            if let Some(place) = place(&state) {
                state.queue.swap_remove(place);
                all.waiting.fetch_sub(1, SeqCst);
                return;
            }
        }
        drop(state);
        let turn = Turn { turns: self.turns.clone(), run: self.held.clone(), since: Instant::now() };
        OWN.set(Some(turn));
    }

    /// The number of the run's workers that have a turn.
    pub fn held(&self) -> usize {
        self.held.load(SeqCst)
    }

    /// Makes waiting workers check whether the run is over.
    pub fn look_again(&self) {
        let state = self.turns.0.state.lock();
        state.queue.iter().filter(|one| Arc::ptr_eq(&one.run, &self.held)).for_each(|one| {
            one.woken.notify_one();
        });
    }
}

/// This worker's turn ends, if it has one.
pub fn end_turn() {
    OWN.set(None);
}

/// Whether this worker's turn has lasted long enough and another worker waits for it.
pub fn is_turn_over() -> bool {
    OWN.with_borrow(|own| {
        own.as_ref().is_some_and(|turn| {
            turn.turns.0.waiting.load(SeqCst) > 0 && turn.since.elapsed() >= turn.turns.0.slice
        })
    })
}

impl Drop for Turn {
    fn drop(&mut self) {
        let all = &self.turns.0;
        let mut state = all.state.lock();
        state.give_back(&self.run);
        state.pass_on(&all.waiting);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    /// Lets the workers of a run compute for as long as they may, until told to stop. Returns how often one of them had
    /// a turn.
    fn work(run: &TurnsOfRun, at_once: &AtomicUsize, most: usize, stop: &AtomicBool) -> u64 {
        let mut turns = 0;
        while !stop.load(SeqCst) {
            run.begin(|| {}, || stop.load(SeqCst));
            assert!(at_once.fetch_add(1, SeqCst) < most || stop.load(SeqCst), "more compute than may");
            assert!((1..=most).contains(&run.held()) || stop.load(SeqCst), "it is not said who computes");
            while !is_turn_over() && !stop.load(SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            at_once.fetch_sub(1, SeqCst);
            end_turn();
            turns += 1;
        }
        turns
    }

    #[test]
    fn runs_take_turns_and_no_more_compute_than_may() {
        for (threads, runs) in [(1, 2), (2, 3)] {
            let turns = Turns::new(threads);
            let (at_once, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
            let had: Vec<u64> = thread::scope(|scope| {
                let runs: Vec<TurnsOfRun> = (0..runs).map(|_| turns.join()).collect();
                let runs = Arc::new(runs);
                let workers: Vec<_> = (0..runs.len())
                    .map(|run| {
                        // The first has more workers than the others.
                        let count = if run == 0 { 4 } else { 2 };
                        let workers: Vec<_> = (0..count)
                            .map(|_| {
                                let (runs, at_once, stop) = (runs.clone(), &at_once, &stop);
                                scope.spawn(move || work(&runs[run], at_once, threads, stop))
                            })
                            .collect();
                        workers
                    })
                    .collect();
                // Until each has had several.
                thread::sleep(SLICE * 40);
                stop.store(true, SeqCst);
                runs.iter().for_each(TurnsOfRun::look_again);
                workers
                    .into_iter()
                    .map(|workers| workers.into_iter().map(|worker| worker.join().expect("it ends")).sum())
                    .collect()
            });
            let (least, most) = (had.iter().min().expect("runs"), had.iter().max().expect("runs"));
            assert!(*least >= 2 && *most <= 3 * least, "{had:?}");
            assert_eq!(turns.0.state.lock().free, threads);
            assert_eq!(turns.0.waiting.load(SeqCst), 0);
        }
    }

    #[test]
    fn a_turn_of_one_run_lasts_until_its_worker_has_nothing_to_do() {
        let run = Turns::of_one_run(1);
        run.begin(|| {}, || false);
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                run.begin(|| {}, || false);
                end_turn();
            });
            while run.turns.0.waiting.load(SeqCst) == 0 {
                thread::yield_now();
            }
            thread::sleep(2 * SLICE);
            assert!(!is_turn_over() && !waits.is_finished());
            end_turn();
            waits.join().expect("it has had its turn");
        });
    }

    #[test]
    fn a_worker_that_learns_that_its_run_is_over_stops_waiting() {
        let turns = Turns::new(1);
        let (first, second) = (turns.join(), turns.join());
        first.begin(|| {}, || false);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                second.begin(|| {}, || over.load(SeqCst));
                OWN.with_borrow(Option::is_some)
            });
            while turns.0.waiting.load(SeqCst) == 0 {
                thread::yield_now();
            }
            over.store(true, SeqCst);
            second.look_again();
            // A call that came before the sleep is not missed: the lock makes the last check and the sleep one
            // step.
            assert!(!waits.join().expect("it ends"));
        });
        end_turn();
        assert!(!is_turn_over());
        assert_eq!(turns.0.state.lock().free, 1);
    }
}
