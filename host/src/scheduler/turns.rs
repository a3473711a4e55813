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

mod borrowed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use borrowed::Lender;
pub use borrowed::TurnNews;

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
    /// Turns in use that another process wants back.
    owed: AtomicUsize,
    /// The process that they are borrowed from, if they are.
    lender: Option<Lender>,
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// The number of the worker that began to wait last.
    last_ticket: Ticket,
    queue: Vec<Waiting>,
    /// The number of waiting workers that the lender knows of.
    told: usize,
    /// Others wait for turns of the lender.
    is_scarce: bool,
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
    /// It stands still, and continues its turn when this is called, with the queue locked.
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
            let all = &turn.turns.0;
            let is_wanted = all.waiting.load(SeqCst) > 0 || all.owed.load(SeqCst) > 0;
            is_wanted && turn.since.elapsed() >= all.slice
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
        Self::with(slice, count, None)
    }

    fn with(slice: Duration, count: usize, lender: Option<Lender>) -> Self {
        let state =
            State { free: count, last_ticket: Ticket(0), queue: Vec::new(), told: 0, is_scarce: false };
        let (waiting, owed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(All { slice, waiting, owed, lender, state: Mutex::new(state) }))
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
        self.tell_waiting(turns);
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
    /// Begins this worker's turn if it need not wait for it; returns whether it has one now.
    pub fn begin_at_once(&self) -> bool {
        if OWN.with(|own| own.is_some()) {
            return true;
        }
        let has_turn = self.turns.0.state.lock().take(&self.held);
        if has_turn {
            OWN.with(|own| own.set(self.turns.turn_of(&self.held)));
        }
        has_turn
    }

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
        state.pay_back(&self.turns);
        state.pass_on(&self.turns);
        state.spare(&self.turns);
    }
}

#[cfg(test)]
mod tests;
