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
//!
//! Workers end their turns themselves, unless they run a loop that calls nothing: see [`stands`](super::stands).

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
    last_ticket: Ticket,
    queue: Vec<Waiting>,
}

/// The number of turns of a run; changed while the state is locked.
type Held = Arc<AtomicUsize>;

struct Waiting {
    run: Held,
    ticket: Ticket,
    waits: Waits,
}

/// A worker's number in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// How a worker waits for its turn.
enum Waits {
    /// It sleeps until it is woken, and looks.
    Asleep(Arc<Condvar>),
    /// It stands still, and goes on with its turn when this is called, with the queue locked.
    Standing(Box<dyn FnOnce(Turn) + Send>),
}

/// One run's part in a host's turns.
pub struct TurnsOfRun {
    turns: Turns,
    held: Held,
}

/// A turn, until it is dropped.
pub struct Turn {
    turns: Turns,
    run: Held,
    since: Instant,
}

/// The place of one worker's turn, which others may take away.
#[derive(Default)]
pub struct OwnTurn(Mutex<Option<Turn>>);

thread_local! {
    /// That of this thread's worker.
    static OWN: Arc<OwnTurn> = Arc::default();
}

impl OwnTurn {
    /// That of this thread's worker.
    pub fn of_this_thread() -> Arc<Self> {
        OWN.with(Arc::clone)
    }

    fn is_some(&self) -> bool {
        self.0.lock().is_some()
    }

    /// The worker has this turn from now on.
    pub fn set(&self, turn: Turn) {
        *self.0.lock() = Some(turn);
    }

    /// The turn ends, if the worker has one.
    pub fn end(&self) {
        // Dropped when this is unlocked.
        let turn = self.0.lock().take();
        drop(turn);
    }

    /// Whether the worker's turn has lasted long enough and another worker waits for it.
    pub fn is_over(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|turn| {
            turn.turns.0.waiting.load(SeqCst) > 0 && turn.since.elapsed() >= turn.turns.0.slice
        })
    }
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
        let state = State { free: count, last_ticket: Ticket(0), queue: Vec::new() };
        Self(Arc::new(All { slice, waiting: AtomicUsize::new(0), state: Mutex::new(state) }))
    }

    fn turn_of(&self, run: &Held) -> Turn {
        Turn { turns: self.clone(), run: run.clone(), since: Instant::now() }
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

    /// The worker waits from now on.
    fn wait(&mut self, turns: &Turns, run: &Held, waits: Waits) -> Ticket {
        self.last_ticket.0 += 1;
        let ticket = self.last_ticket;
        self.queue.push(Waiting { run: run.clone(), ticket, waits });
        turns.0.waiting.fetch_add(1, SeqCst);
        // A turn may have become free meanwhile.
        self.pass_on(turns);
        ticket
    }

    /// The worker waits no more; returns false if it has got its turn.
    fn forget(&mut self, turns: &Turns, ticket: Ticket) -> bool {
        let place = self.queue.iter().position(|one| one.ticket == ticket);
        if let Some(place) = place {
            self.queue.swap_remove(place);
            turns.0.waiting.fetch_sub(1, SeqCst);
        }
        place.is_some()
    }

    fn has(&self, ticket: Ticket) -> bool {
        self.queue.iter().any(|one| one.ticket == ticket)
    }

    /// Gives free turns to waiting workers.
    fn pass_on(&mut self, turns: &Turns) {
        while self.free > 0 {
            let next = (0..self.queue.len()).min_by_key(|&place| {
                let one = &self.queue[place];
                (one.run.load(SeqCst), one.ticket)
            });
            let Some(next) = next else { return };
            let next = self.queue.swap_remove(next);
            turns.0.waiting.fetch_sub(1, SeqCst);
            self.give(&next.run);
            match next.waits {
                Waits::Asleep(woken) => {
                    woken.notify_one();
                }
                Waits::Standing(go_on) => go_on(turns.turn_of(&next.run)),
            }
        }
    }
}

impl TurnsOfRun {
    /// Begins this worker's turn as soon as one is free, unless `is_over` before, which is checked again when
    /// [`look_again`](Self::look_again) is called. If no turn is free, `waits` is called first.
    pub fn begin(&self, waits: impl FnOnce(), is_over: impl Fn() -> bool) {
        if OWN.with(|own| own.is_some()) {
            return;
        }
        let mut state = self.turns.0.state.lock();
        if !state.take(&self.held) {
            waits();
            let woken = Arc::new(Condvar::new());
            let ticket = state.wait(&self.turns, &self.held, Waits::Asleep(woken.clone()));
            while state.has(ticket) && !is_over() {
                woken.wait(&mut state);
            }
            if state.forget(&self.turns, ticket) {
                return;
            }
        }
        drop(state);
        OWN.with(|own| own.set(self.turns.turn_of(&self.held)));
    }

    /// A worker of this run that stands still waits for its turn, with which `go_on` is called, perhaps at once. That may
    /// be on any thread, which holds the queue: it must not wait, nor end a turn.
    pub fn wait_standing(&self, go_on: impl FnOnce(Turn) + Send + 'static) -> Ticket {
        self.turns.0.state.lock().wait(&self.turns, &self.held, Waits::Standing(Box::new(go_on)))
    }

    /// That worker waits no more. Returns false if it has got its turn.
    pub fn forget(&self, ticket: Ticket) -> bool {
        self.turns.0.state.lock().forget(&self.turns, ticket)
    }

    /// The number of the run's workers that have a turn.
    pub fn held(&self) -> usize {
        self.held.load(SeqCst)
    }

    /// Makes waiting workers check whether the run is over.
    pub fn look_again(&self) {
        let state = self.turns.0.state.lock();
        for one in state.queue.iter().filter(|one| Arc::ptr_eq(&one.run, &self.held)) {
            if let Waits::Asleep(woken) = &one.waits {
                woken.notify_one();
            }
        }
    }
}

/// This worker's turn ends, if it has one.
pub fn end_turn() {
    OWN.with(|own| own.end());
}

/// Whether this worker's turn has lasted long enough and another worker waits for it.
pub fn is_turn_over() -> bool {
    OWN.with(|own| own.is_over())
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.0.state.lock();
        state.give_back(&self.run);
        state.pass_on(&self.turns);
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
                OWN.with(|own| own.is_some())
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
