//! What the governor holds and lets go.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

use super::{Signal, quota};
use crate::preferences::Percent;

/// Something that computes, in this process or in another, and can be made to stand still.
pub trait Brake: Send {
    /// Makes it stand still as soon as it can, or lets it continue. Called with the same value again and again; returns at
    /// once.
    fn hold(&self, is_held: bool);

    /// Whether it has ended, so that it needs no brake.
    fn is_over(&self) -> bool;

    /// Processor time that it has used in other processes than this one.
    fn used_elsewhere(&self) -> Duration {
        Duration::ZERO
    }

    /// The folder of a cgroup that nothing else is in but other brakes, if it has one: the system then holds the share of all.
    fn cgroup(&self) -> Option<PathBuf> {
        None
    }
}

/// All that computes on a host.
#[derive(Clone, Default)]
pub struct Brakes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    all: Mutex<All>,
    signal: Arc<Signal>,
}

#[derive(Default)]
struct All {
    brakes: Vec<Box<dyn Brake>>,
    is_held: bool,
    /// Time used elsewhere by those that are over.
    used_before: Duration,
    /// The quota that was last written, by the number of brakes that had it.
    quota: Option<(Percent, usize)>,
}

impl All {
    fn forget_ended(&mut self) {
        let Self { brakes, used_before, .. } = self;
        brakes.retain(|brake| {
            let is_over = brake.is_over();
            if is_over {
                *used_before += brake.used_elsewhere();
            }
            !is_over
        });
    }
}

impl Brakes {
    /// Adds one. It stands still from the beginning if all others do. Those that are over are forgotten, as there may be no
    /// governor to do it.
    pub fn add(&self, brake: Box<dyn Brake>) {
        let mut all = self.0.all.lock();
        all.forget_ended();
        if all.is_held {
            brake.hold(true);
        }
        all.brakes.push(brake);
        drop(all);
        self.0.signal.wake();
    }

    /// The number of those that are not over.
    pub fn count(&self) -> usize {
        let mut all = self.0.all.lock();
        all.forget_ended();
        all.brakes.len()
    }

    /// Whether all are held.
    pub fn are_held(&self) -> bool {
        self.0.all.lock().is_held
    }

    /// Holds all of them, or lets them go.
    pub(super) fn hold(&self, is_held: bool) {
        let mut all = self.0.all.lock();
        if all.is_held != is_held {
            all.is_held = is_held;
            all.brakes.iter().for_each(|brake| brake.hold(is_held));
        }
    }

    /// Processor time of this process and of all brakes elsewhere.
    pub(super) fn used(&self) -> Duration {
        let all = self.0.all.lock();
        let elsewhere: Duration = all.brakes.iter().map(|brake| brake.used_elsewhere()).sum();
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let own = Duration::new(own.tv_sec.unsigned_abs(), u32::try_from(own.tv_nsec).unwrap_or(0));
        own + elsewhere + all.used_before
    }

    /// Has the system hold this share of `threads` processors; returns whether it does so for all brakes.
    pub(super) fn set_quota(&self, share: Percent, threads: usize) -> bool {
        let mut all = self.0.all.lock();
        let mut folders: Vec<PathBuf> = all.brakes.iter().filter_map(|brake| brake.cgroup()).collect();
        if folders.is_empty() || folders.len() < all.brakes.len() {
            return false;
        }
        folders.sort();
        folders.dedup();
        let wanted = Some((share, folders.len()));
        if all.quota != wanted {
            if let Some(error) = folders.iter().find_map(|folder| quota::write(folder, share, threads).err())
            {
                tracing::debug!(%error, "a quota cannot be set");
                return false;
            }
            all.quota = wanted;
        }
        true
    }

    pub(super) fn signal(&self) -> Arc<Signal> {
        self.0.signal.clone()
    }
}
