//! What guests are asked to expose for hungry workers.

/// The jobs that a guest is asked to expose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Its oldest latent job: a worker is hungry, or the job should be recorded.
    Oldest,
    /// All latent jobs: this host leaves.
    All,
}
