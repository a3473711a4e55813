//! A link that is away for less than 5 s costs little, as no host has died: no host returns under another id, and as
//! long as no host is given up, no root is begun a second time and nothing is computed twice.
//!
//! A host whose link is away for more than a moment is given up, and others begin its work, until it is back. So it may
//! cost what this host computed while it was away and since its last recordings, with each worker's present job. When it
//! is back, it continues the jobs that another host has begun again, as neither can know which of them is done first:
//! until then, both work on these, as `super::recomputed` allows, too. Its root, if it had one, is begun once more
//! elsewhere, and withdrawn: until then, the others may do the same work.

use sateen_protocol::{FaultTolerance, limits};

use super::Calm;
use crate::world::World;

/// A worker's unrecorded work before the link was away, in intervals of recording.
const INTERVALS: u64 = 8;
/// Time after its link is back until others have stopped the jobs that they began for it.
const STOPPED_NS: u64 = 500_000_000;

pub fn check(world: &World, calm: &Calm) -> Option<String> {
    if !calm.only_blips {
        return None;
    }
    if world.sometimes.count("a host came back under a new id") > 0 {
        return Some(
            "a host returned under another id, although its link was away for less than 5 s".to_owned(),
        );
    }
    world.server.runs.iter().find_map(|(run, stored)| {
        stored.end.as_ref()?;
        let tree = world.trees.get(run)?;
        let again_ns = world.executed_ns(*run).saturating_sub(tree.root().most_ns);
        let roots = world.tally(*run).roots;
        let given_up = world.disturbances.ids_gone() as u64;
        if roots > 1 + given_up {
            return Some(format!("the root of run {run} was begun {roots} times, and {given_up} hosts were given up"));
        }
        if stored.spec.fault_tolerance != FaultTolerance::Full && given_up > 0 {
            return None;
        }
        let recording_ns = INTERVALS
            * (u64::from(stored.spec.record_every_ms) * 1_000_000 + limits::FLUSH.as_nanos() as u64);
        let leaf_ns = tree.heaviest_ns() + world.config.grain_ns;
        // Below a root that was begun once more, the others repeat the first one's work meanwhile.
        let all: u64 = world.processes.iter().map(|process| process.plan.workers_by_speed()).sum();
        let may_ns: u64 = (world.disturbances.blips().iter().filter(|_| given_up > 0))
            .map(|(workers, away_ns)| {
                let at_it = if roots > 1 { all } else { *workers };
                at_it * (away_ns + STOPPED_NS + recording_ns + 3 * leaf_ns)
            })
            .sum();
        let may_ns = may_ns + world.disturbances.begun_elsewhere_ns(*run);
        (again_ns > may_ns).then(|| {
            let (again_ms, may_ms) = (again_ns as f64 / 1e6, may_ns as f64 / 1e6);
            format!(
                "{again_ms:.1} ms of run {run} were computed again, and {may_ms:.1} ms are allowed: links were away, and \
                 {given_up} hosts were given up"
            )
        })
    })
}
