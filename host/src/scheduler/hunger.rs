//! Who is hungry, and what guests are to expose for them.

use super::registry::{Grid, Registry};

/// Exposed jobs that lie in deques, for each worker and in all: beyond, coarse kinds stay latent.
const OPEN_JOBS: usize = 64;
const OPEN_JOBS_A_WORKER: usize = 4;

/// What a guest is asked to expose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Its oldest latent job: somebody is hungry, or it is to be recorded.
    Oldest,
    /// All that is latent: this host leaves.
    All,
}

impl<G: Grid> Registry<G> {
    /// Whether jobs are exposed at all: alone, a worker has nobody to expose for. In a portion there are
    /// other hosts.
    pub fn exposes(&self) -> bool {
        (self.threads() > 1 || self.grid.has_hosts()) && !self.is_pristine()
    }

    /// Whether a job may finish while another of the same spawner runs.
    pub fn hears(&self) -> bool {
        self.exposes() || self.is_pristine()
    }

    /// So many instances are kept for jobs of other hosts, which nobody here can call in place.
    pub fn reserve(&self) -> usize {
        if !self.grid.has_hosts() {
            return 0;
        }
        (self.threads() + 2).min(self.limits().instances_max / 4)
    }

    /// Whether a kind's spawns are exposed before anything was measured.
    pub fn starts_coarse(&self, kind: usize) -> bool {
        self.is_pristine() || (self.exposes() && !self.grains.is_fine(kind))
    }

    /// Whether some worker, here or elsewhere, has nothing to do and finds nothing.
    pub fn is_hungry(&self) -> bool {
        let thieves = self.grid.thieves();
        let mut hungry = self.idle.hungry() + thieves;
        if hungry > thieves && (self.threads() == 1 || self.instances.free() <= self.reserve()) {
            hungry = thieves;
        }
        hungry > self.deques.open_count()
    }

    /// What guests are asked to expose now.
    pub fn alarm(&self) -> Option<Alarm> {
        if self.is_draining() {
            return Some(Alarm::All);
        }
        self.is_hungry().then_some(Alarm::Oldest)
    }

    /// Whether another exposed job is welcome.
    pub fn takes_more(&self) -> bool {
        let enough = OPEN_JOBS + OPEN_JOBS_A_WORKER * self.threads();
        self.is_pristine() || (self.exposes() && self.deques.open_about() < enough) || self.is_draining()
    }
}
