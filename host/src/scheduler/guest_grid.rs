//! What guests need of other hosts, in addition to what workers do.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::message::NoteKind;
use sateen_protocol::shared::ObjectId;
use sateen_protocol::{HeldId, JobTag};

use super::job::Job;
use super::keys::Keys;
use super::objects::Object;
use super::place::Ancestry;
use super::registry::{Grid, Registry};

/// The part of a run that involves other hosts, as guests see it. In a run on this host alone, these methods do nothing and
/// return false or none.
pub trait GuestGrid: Grid {
    // ---- results that are recorded ----

    /// How often finished work is recorded; `None` if it is not.
    fn record_every(&self) -> Option<Duration>;
    /// Whether all results that are worth it are recorded, and not only those that a crash would lose.
    fn keeps_results(&self) -> bool;
    /// The keys of the run's jobs.
    fn keys(&self) -> Option<&Arc<Keys>>;

    // ---- lost work ----

    /// Whether redone jobs are looked up at all.
    fn looks_up(&self) -> bool;
    /// Whether there is room for another lookup.
    fn is_lookup_possible(&self) -> bool;
    /// Whether the result of a redone job may be known.
    fn may_find(&self, kind: usize, parameters: &[u8], objects: &[Arc<Object>]) -> bool;
    /// Exposes a job that is open once its lookup is answered; at once where there are no other hosts.
    fn look_up(registry: &Registry<Self>, job: Job) -> Arc<Job>;
    /// Whether a redone job was begun before.
    fn was_begun(&self, is_lost: bool, tag: impl FnOnce() -> JobTag) -> bool;
    /// Whether a job was begun and given back. New jobs below such a job repeat nothing.
    fn was_given_back(&self, ancestry: &Ancestry) -> bool;

    // ---- what others learn ----

    /// Notes what happened to a job, for the run's tree.
    fn note(&self, job: &Job, ancestry: &Ancestry, what: NoteKind, parameters: Option<&[u8]>);
    /// A job of another host has begun.
    fn announce_begun(&self, held: HeldId);
    /// Asks again for replicas of objects, for which a guard of a job waits.
    fn refetch_objects(&self, held: HeldId, objects: &[ObjectId]);

    // ---- pauses ----

    /// How long this host has been leaving, if it is.
    fn drains_for(&self) -> Option<Duration>;
    /// Sleeps until a pause ends, or `is_over`.
    fn wait_for_pause(&self, is_over: impl Fn() -> bool);
}
