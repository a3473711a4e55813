//! The image of a run's prepared values: one worker makes it, and the others wait for it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::module::Image;

/// The image, in one of its states.
#[derive(Default)]
pub struct Prepared(Arc<ImageSlot>);

/// Where the image will be, and how instances that wait for it learn of a change.
#[derive(Default)]
struct ImageSlot {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Unmade,
    Making,
    Made(Arc<Image>),
    /// There will be no image.
    Apart,
}

/// What a new instance does.
pub enum Beginning {
    /// It makes the values, for the image.
    Make(Making),
    /// It begins as a copy.
    Copy(Arc<Image>),
    /// It makes the values when its job uses them.
    Apart,
}

/// The image is being made. If this is dropped before there is a result, another instance makes it.
pub struct Making(Arc<ImageSlot>);

impl Prepared {
    /// What a new instance does; `None` while another makes the image.
    pub fn begin(&self) -> Option<Beginning> {
        let mut state = self.0.state.lock();
        match &*state {
            State::Unmade => {
                *state = State::Making;
                Some(Beginning::Make(Making(self.0.clone())))
            }
            State::Making => None,
            State::Made(image) => Some(Beginning::Copy(image.clone())),
            State::Apart => Some(Beginning::Apart),
        }
    }

    /// Waits while another instance makes the image, at most for `patience`.
    pub fn wait(&self, patience: Duration) {
        let mut state = self.0.state.lock();
        if matches!(*state, State::Making) {
            self.0.changed.wait_for(&mut state, patience);
        }
    }
}

impl Making {
    /// The image is made; without one, each instance makes the values when it uses them.
    pub fn end(self, image: Option<Image>) {
        *self.0.state.lock() = image.map_or(State::Apart, |image| State::Made(Arc::new(image)));
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        if matches!(*state, State::Making) {
            *state = State::Unmade;
        }
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_makes_the_image_until_it_is_made_or_given_up() {
        let prepared = Prepared::default();
        let making = match prepared.begin() {
            Some(Beginning::Make(making)) => making,
            _ => panic!("nobody makes it yet"),
        };
        assert!(prepared.begin().is_none());
        drop(making);
        let Some(Beginning::Make(making)) = prepared.begin() else { panic!("it was given up") };
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| prepared.wait(Duration::from_secs(60)));
            making.end(None);
            waiting.join()
        });
        assert!(waiting.is_ok() && matches!(prepared.begin(), Some(Beginning::Apart)));
    }
}
