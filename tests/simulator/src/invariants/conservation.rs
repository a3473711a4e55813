//! Nothing is computed twice without a reason, and nothing is left out.

use sateen_protocol::{FaultTolerance, RunEnd};

use super::Calm;
use crate::sometimes::GAVE_WAY;
use crate::world::World;

pub fn check(world: &World, calm: &Calm) -> Option<String> {
    world.server.runs.iter().find_map(|(run, stored)| {
        let Some(RunEnd::Finished(_)) = stored.end else { return None };
        let root = world.trees.get(run)?.root();
        let executed_ns = world.executed_ns(*run);
        // Without any other fault, a run that gives its place up is suspended: what is in no recorded result by then is
        // computed again, and nothing else. With less fault tolerance, results are not recorded; with tight tables, they
        // may be dropped, so each life of the run may compute the whole tree ([`World::suspended_ns`]).
        // While messages are late, entries may come after the job below which they are to be found: [`super::recomputed`]
        // bounds that.
        let has_given_way = world.sometimes.count(GAVE_WAY) > 0;
        let is_found = stored.spec.fault_tolerance == FaultTolerance::Full && !calm.records_are_late;
        let is_known = calm.is_undisturbed && (!has_given_way || is_found);
        let may_ns = root.most_ns + world.suspended_ns(*run);
        // Nor are results of other hosts that took little work.
        let may_ns = may_ns + if has_given_way { world.tally(*run).small_ns } else { 0 };
        if is_known && executed_ns > may_ns {
            let twice_ms = (executed_ns - may_ns) as f64 / 1e6;
            return Some(format!("{twice_ms:.3} ms of run {run} were computed twice, undisturbed"));
        }
        // Twins may be computed once where recovery finds their results.
        let has_twins = world.trees.get(run)?.has_twins();
        // What a host took from earlier runs in the last moment before it was lost is not known.
        let earlier_ns = match stored.counted {
            _ if !stored.spec.reuse => 0,
            Some((counts, true)) if calm.is_undisturbed => counts.earlier_work_ns,
            _ => return None,
        };
        let done_ns = executed_ns.saturating_add(earlier_ns);
        if done_ns < root.least_ns && !has_twins {
            let missing_ms = (root.least_ns - done_ns) as f64 / 1e6;
            return Some(format!("{missing_ms:.3} ms of run {run} were never computed"));
        }
        None
    })
}
