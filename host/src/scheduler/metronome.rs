//! The clock of a run's heartbeat, which follows the run's [`tempo`](super::tempo), and heartbeats between its beats.

use super::registry::{Grid, Registry};
use super::stands::Ring;
use super::tempo::{BEAT, Rhythm};

/// Waits for the next beat.
pub struct Metronome<'a, G> {
    registry: &'a Registry<G>,
    rhythm: Rhythm,
}

impl<'a, G: Grid> Metronome<'a, G> {
    /// A metronome that begins with quick beats, because nothing is known about the app's jobs yet.
    pub fn new(registry: &'a Registry<G>) -> Self {
        Self { registry, rhythm: Rhythm::default() }
    }

    /// Waits until the next beat is due; false if the run has ended meanwhile.
    pub fn wait(&mut self) -> bool {
        let registry = self.registry;
        let beats = self.rhythm.next(is_hasty(registry));
        let goes_on = registry.wait(BEAT * beats as u32).is_none();
        registry.tempo.count(beats);
        registry.deques.demand.count(beats, registry.deques.open_about());
        goes_on
    }

    /// Begins again with quick beats.
    pub fn restart(&mut self) {
        self.rhythm = Rhythm::default();
    }

    /// After the end: guests check whether their run is over when it rings, and guests that start late
    /// must do so as well.
    pub fn end(self) {
        while self.registry.tasks.are_left() {
            self.registry.ring();
            std::thread::sleep(BEAT);
        }
    }
}

impl<G: Grid> Registry<G> {
    /// Guests must be notified of a change: at once, if it is the first since the last beat. Further changes wait
    /// for the beats, which are quick now.
    pub fn hasten(&self) {
        if self.tempo.make_haste() {
            self.ring();
        }
    }

    /// Makes every computing guest check for news as soon as possible, without waiting for the next beat.
    pub fn ring(&self) {
        self.tempo.signals.ring(&Ring {
            is_stopping: self.is_stopping(),
            is_paused: self.is_paused(),
            is_draining: self.is_draining(),
            turns: self.turns(),
            activity: self.grid.activity(),
        });
    }
}

fn is_hasty<G: Grid>(registry: &Registry<G>) -> bool {
    registry.tempo.take_haste()
        || registry.is_anybody_starving()
        || registry.objects.is_anybody_waiting()
        || registry.is_draining()
}
