//! How fast hearts beat: every millisecond while somebody waits for what guests have or are to hear, every fourth
//! otherwise.
//!
//! A beat costs more than what is done in it: the clock's thread takes a core from a worker for a moment, which on
//! rented machines takes the hypervisor's time as well, and each guest leaves its code. With every core at work,
//! a quarter of the beats saves two percent of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use super::remote::Remote;
use super::shared::Shared;

/// How long a quick beat is.
const BEAT: Duration = Duration::from_millis(1);
/// The time from one beat to the next, in quick ones: when all is quick,
const QUICK: u64 = 1;
/// and when all is calm. A guest hears within this time of whatever nobody hastens.
pub const CALM: u64 = 4;
/// All is calm after so many beats without haste.
const CALM_AFTER: u32 = 8;

/// What the beats of one run have come to.
#[derive(Default)]
pub struct Tempo {
    /// The time so far, in quick beats.
    beats: AtomicU64,
    /// Guests are to hear of something soon.
    is_hasty: AtomicBool,
}

impl Tempo {
    /// The time so far, in quick beats.
    pub fn beats(&self) -> u64 {
        self.beats.load(Relaxed)
    }
}

/// How long it is from one beat to the next.
#[derive(Default)]
struct Rhythm {
    /// Beats without haste.
    calm: u32,
}

impl Rhythm {
    /// Quick beats until the next.
    fn next(&mut self, is_hasty: bool) -> u64 {
        self.calm = if is_hasty { 0 } else { self.calm.saturating_add(1) };
        if self.calm < CALM_AFTER { QUICK } else { CALM }
    }
}

/// The clock of a run's heartbeat.
pub struct Metronome<'a> {
    shared: &'a Shared,
    rhythm: Rhythm,
}

impl<'a> Metronome<'a> {
    /// One that begins quickly: nothing is known of the app's jobs yet.
    pub fn new(shared: &'a Shared) -> Self {
        Self { shared, rhythm: Rhythm::default() }
    }

    /// Waits until the next beat is due; false if the run has ended meanwhile.
    pub fn wait(&mut self) -> bool {
        let shared = self.shared;
        let beats = self.rhythm.next(is_hasty(shared));
        let goes_on = shared.wait(BEAT * beats as u32).is_none();
        shared.tempo.beats.fetch_add(beats, Relaxed);
        goes_on
    }

    /// Begins quickly again.
    pub fn restart(&mut self) {
        self.rhythm = Rhythm::default();
    }

    /// After the end: guests look whether their run is over when the epoch moves; so must those that start late.
    pub fn end(self) {
        while self.shared.has_tasks() {
            self.shared.move_epoch();
            std::thread::sleep(BEAT);
        }
    }
}

fn is_hasty(shared: &Shared) -> bool {
    shared.tempo.is_hasty.swap(false, SeqCst)
        || shared.is_hungry()
        || shared.objects.is_anybody_waiting()
        || shared.remote.as_ref().is_some_and(Remote::is_draining)
}

impl Shared {
    /// Something has come of which guests are to hear: at once, if it is the first since the last beat. More of the
    /// kind may come, and waits for the beats, which are quick now.
    pub fn hasten(&self) {
        if !self.tempo.is_hasty.swap(true, SeqCst) {
            self.move_epoch();
        }
    }

    /// Has every guest that computes look up as soon as it may, without waiting for the next beat.
    pub fn move_epoch(&self) {
        self.app.0.engine.inner.increment_epoch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_quick_at_first_and_after_haste_and_then_calm() {
        let mut rhythm = Rhythm::default();
        for is_hasty in [false, true, true] {
            let first = [is_hasty].into_iter().chain(std::iter::repeat_n(false, CALM_AFTER as usize - 2));
            for is_hasty in first {
                assert_eq!(rhythm.next(is_hasty), QUICK);
            }
            // After haste there is one more: the hasty one does not count.
            if is_hasty {
                assert_eq!(rhythm.next(false), QUICK);
            }
            assert_eq!([rhythm.next(false), rhythm.next(false)], [CALM; 2]);
        }
    }
}
