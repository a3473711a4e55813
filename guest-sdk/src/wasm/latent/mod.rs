//! Latent jobs: spawning at the price of a few stores.
//!
//! A spawned job is a *record* on a stack in the guest's own memory: a pointer to its kind, and its
//! parameters by value. Its sync finds the record on top, pops it and makes a plain call; nothing is
//! serialised (TOPLAS 4.1.1, serialisation on demand; Acar et al., PLDI 2018, heartbeat scheduling).
//!
//! ```text
//!  base            real_floor                    top        end
//!   | exposed, holes |  latent, holes             |   free   |
//! ```
//!
//! * Records below `real_floor` are exposed (offered to the host under a number) or *holes* (synced
//!   out of order). Records above are latent or holes. So exposing goes from the oldest upwards, and
//!   "latent" is one comparison.
//! * The **alarm**: the host's heartbeat writes `limit = 0` and `floor = MAX`. Both fast paths
//!   compare against these words anyway, fail, and land in the slow path, which writes the true
//!   values back and exposes the oldest latent record. An alarm costs the fast path nothing.
//! * A job kind that is *coarse* (seldom spawned, so long-running for all that is known) is exposed
//!   at every spawn: nobody may come by later to do it.
//! * The **depth** is the number of in-place calls of spawned jobs that the guest is inside. A record
//!   remembers the depth of its spawn. While the depth is less than `lookup_below`, results of
//!   spawned jobs may be known elsewhere: both fast paths are closed (`limit = 1`, `floor = MAX`) and
//!   every spawn is exposed. Deeper they are open as always.
//! * The alarm's `floor` is `MAX - 1` when the host leaves: the guest then exposes all that is latent.
//! * While a run is profiled, the paths are closed in the same way above the depth `measure_below`: see
//!   `measure.rs`.
//! * When the stack is full, holes at its end are swept away; if that does not help, a job's parameters
//!   go into a box until its sync. Older jobs are there to be exposed. (To run it at its spawn instead
//!   would take no box, but then its failure came too early: not at its sync, and even if dropped.)
//!
//! The jobs of a *set* (`set.rs`) lie in rows on the same stack, and their oldest is called first. When one
//! was exposed, its set moves its parameters away from the stack: so a set needs room here only for what
//! is latent, and a stream of jobs without end passes through.
//!
//! The words that the host writes are read volatile: the compiler may not keep them in a register
//! across a loop without calls.

mod attempt;
mod kind;
pub mod measure;
mod older;
mod pending;
mod record;
mod set;
mod stack;

pub use attempt::run_attempt;
pub use kind::Kind;
pub use pending::Pending;
pub use set::Members;
pub use stack::{attach, news, without_spawns};
