//! Workers that are made to stand still in the midst of a loop that calls nothing, while their run is paused or while
//! others have their turn. All others do so by themselves when they poll.

use std::sync::Arc;
use std::time::Duration;

use super::activity::{Activity, Doing};
use super::turns::{OwnTurn, Ticket, TurnsOfRun};
use crate::guest::Halt;

/// Guests that poll do so within this time.
const DEAF_FOR: Duration = Duration::from_millis(5);

/// The state of a run, of which the instances that compute must hear.
pub struct Ring<'a> {
    pub is_stopping: bool,
    pub is_paused: bool,
    pub is_draining: bool,
    /// The run's part in the turns of a host.
    pub turns: Option<&'a TurnsOfRun>,
    /// The workers' clocks, if others look at them.
    pub activity: Option<&'a Arc<Activity>>,
}

/// Whether one worker stands still.
pub struct Stands {
    worker: usize,
    halt: Arc<Halt>,
    own: Arc<OwnTurn>,
    still: Option<Still>,
}

/// A worker that stands still, without a turn.
struct Still {
    /// What it did.
    did: Doing,
    /// While it waits for its turn.
    ticket: Option<Ticket>,
}

impl Stands {
    /// This thread's worker does not stand still.
    pub fn this(worker: usize, halt: Arc<Halt>) -> Self {
        Self { worker, halt, own: OwnTurn::of_this_thread(), still: None }
    }

    pub fn is_still(&self) -> bool {
        self.still.is_some()
    }

    /// Makes the worker stand still or continue, as it must. Called again and again while it computes, with whether its
    /// instance was asked to stop, and for how long it has not answered.
    pub fn look(&mut self, ring: &Ring<'_>, is_stopped: bool, unanswered: Option<Duration>) {
        let Some(activity) = ring.activity else { return };
        // A host that leaves gives jobs back after a while, for which it stops them.
        let must_go = ring.is_stopping || ring.is_draining || is_stopped;
        match (self.still.take(), ring.turns) {
            (None, _) if must_go => self.halt.release(),
            (None, _) => self.look_whether_to_stand(ring, unanswered, activity),
            (Some(still), Some(turns)) if must_go || ring.is_paused => {
                let has_gone_on = still.ticket.is_some_and(|ticket| !turns.forget(ticket));
                match (has_gone_on, must_go) {
                    (true, _) => {}
                    (false, true) => self.go_on(still.did, activity),
                    (false, false) => self.still = Some(Still { ticket: None, ..still }),
                }
            }
            (Some(still), Some(turns)) => self.wait_for_turn(still, turns, activity),
            (Some(still), None) if ring.is_paused && !must_go => self.still = Some(still),
            (Some(still), None) => self.go_on(still.did, activity),
        }
    }

    fn look_whether_to_stand(&mut self, ring: &Ring<'_>, unanswered: Option<Duration>, activity: &Activity) {
        let is_deaf = unanswered.is_some_and(|unanswered| unanswered >= DEAF_FOR);
        if !is_deaf || !(ring.is_paused || self.own.is_over()) {
            return self.halt.release();
        }
        if !self.halt.is_standing() {
            return self.halt.ask();
        }
        let did = activity.begin(self.worker, if ring.is_paused { Doing::Nothing } else { Doing::Others });
        self.own.end();
        self.still = Some(Still { did, ticket: None });
    }

    fn wait_for_turn(&mut self, still: Still, turns: &TurnsOfRun, activity: &Arc<Activity>) {
        match still.ticket {
            Some(_) if !self.halt.is_standing() => {}
            Some(_) => self.still = Some(still),
            None => {
                let (own, halt, activity) = (self.own.clone(), self.halt.clone(), activity.clone());
                let (worker, did) = (self.worker, still.did);
                activity.begin(worker, Doing::Others);
                let ticket = turns.wait_standing(move |turn| {
                    own.set(turn);
                    activity.begin(worker, did);
                    halt.release();
                });
                self.still = Some(Still { ticket: Some(ticket), ..still });
            }
        }
    }

    fn go_on(&self, did: Doing, activity: &Activity) {
        activity.begin(self.worker, did);
        self.halt.release();
    }
}

/// The worker leaves its guest: it has gone on, and stands nowhere else.
impl Drop for Stands {
    fn drop(&mut self) {
        self.halt.release();
    }
}
