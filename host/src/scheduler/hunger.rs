//! Which workers are hungry, and what guests must expose for them.

use super::alarm::Alarm;
use super::registry::{Grid, Registry};

/// Exposed jobs in deques, for each worker and in all: above these numbers, coarse kinds stay latent.
const OPEN_JOBS: usize = 64;
const OPEN_JOBS_A_WORKER: usize = 4;

impl<G: Grid> Registry<G> {
    /// Whether jobs are exposed at all: a single worker need not expose jobs, except in a portion, where there
    /// are other hosts.
    pub fn exposes(&self) -> bool {
        (self.threads() > 1 || self.grid.has_hosts()) && !self.is_pristine()
    }

    /// Whether a job may finish while another of the same spawner runs.
    pub fn hears(&self) -> bool {
        self.exposes() || self.is_pristine()
    }

    /// Instances kept for jobs of other hosts, which cannot be called in place here.
    pub fn reserve(&self) -> usize {
        if !self.grid.has_hosts() {
            return 0;
        }
        (self.threads() + 2).min(self.limits().instances_max / 4)
    }

    /// Whether a kind's spawns are exposed before there is a measurement.
    pub fn starts_coarse(&self, kind: usize) -> bool {
        self.is_pristine() || (self.exposes() && !self.grains.is_fine(kind))
    }

    /// Workers, here and elsewhere, that have no work and can take some.
    fn hungry(&self) -> usize {
        let thieves = self.grid.thieves();
        let hungry = self.idle.hungry() + thieves;
        if hungry > thieves && (self.threads() == 1 || self.instances.free() <= self.reserve()) {
            return thieves;
        }
        hungry
    }

    /// Jobs that are kept open for workers, here and elsewhere, that will soon have none.
    fn ahead(&self) -> usize {
        self.deques.demand.ahead()
    }

    /// Whether a worker, here or elsewhere, has no work and finds none.
    pub fn is_anybody_starving(&self) -> bool {
        self.hungry() > self.deques.open_count()
    }

    /// Whether more jobs should be open, for workers that have no work or will soon have none.
    pub fn is_hungry(&self) -> bool {
        self.hungry().max(self.ahead()) > self.deques.open_count()
    }

    /// The jobs that guests are asked to expose now.
    pub fn alarm(&self) -> Option<Alarm> {
        if self.is_draining() {
            return Some(Alarm::All);
        }
        self.is_hungry().then_some(Alarm::Oldest)
    }

    /// Whether another exposed job is welcome.
    pub fn takes_more(&self) -> bool {
        let enough = (OPEN_JOBS + OPEN_JOBS_A_WORKER * self.threads()).max(self.ahead());
        self.is_pristine() || (self.exposes() && self.deques.open_about() < enough) || self.is_draining()
    }
}
