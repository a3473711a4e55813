//! Counts add up: published counts never exceed the work that was done, even if hosts were lost, reborn or
//! asked twice.
//!
//! They may be less: work that a host did just before it went is not reported.
//!
//! At every moment, the numbers of a host's row agree with one another, and a run's are their sums.
//!
//! And all jobs are accounted for: every spawned job was executed, in place or elsewhere, or aborted. This holds for
//! the real counts, and, without disturbances, for the published counts, which are the same.

use sateen_protocol::limits::JOBS_PER_STEAL_MAX;
use sateen_protocol::{Counts, Jobs, RunEnd, RunId};

use super::Calm;
use crate::runtime::Tally;
use crate::world::World;

pub fn check(world: &World, calm: &Calm) -> Option<String> {
    told(world, calm).or_else(|| world.server.runs.keys().find_map(|run| account(world, calm, *run)))
}

/// Each instance of a job begins once: with a spawn (a begun root counts as one), or as a job that returns to be
/// run here. Each ends at most once; without disturbances, exactly once for each spawn, as then no returned job
/// had begun elsewhere.
fn account(world: &World, calm: &Calm, run: RunId) -> Option<String> {
    let (mut jobs, mut tally) = (Jobs::default(), Tally::default());
    for process in &world.processes {
        jobs.add(&process.runtime.jobs(run));
        tally.add(&process.runtime.tally(run));
    }
    let stored = world.server.runs.get(&run)?;
    let is_finished = matches!(stored.end, Some(RunEnd::Finished(_)));
    let ended = jobs.executed + jobs.aborted;
    let again = if calm.is_undisturbed { 0 } else { tally.requeued };
    let begun = jobs.spawned + again;
    if ended > begun {
        return Some(format!("{ended} jobs of run {run} ended, and {begun} began: {jobs:?}, {tally:?}"));
    }
    // One of two equal jobs may receive the other's result.
    if !calm.is_undisturbed || !is_finished || world.trees.get(&run)?.has_twins() {
        return None;
    }
    let earlier = match stored.counted {
        _ if !stored.spec.reuse => 0,
        Some((counts, true)) if jobs.spawned > 0 => counts.earlier,
        // Its own result was found, or a host did not report what it took.
        _ => return None,
    };
    if tally.roots != 1 {
        return Some(format!("the root of run {run} was begun {} times, undisturbed", tally.roots));
    }
    (ended + tally.given_up + earlier < begun)
        .then(|| format!("{begun} jobs of run {run} began, and only {ended} ended: {jobs:?}, {tally:?}"))
}

/// Compares final published counts with the real ones; those of an undisturbed run must be complete.
fn told(world: &World, calm: &Calm) -> Option<String> {
    world.server.runs.iter().find_map(|(run, stored)| {
        stored.end.as_ref()?;
        let Some((told, is_complete)) = &stored.counted else {
            // A coordinator that was restarted meanwhile receives no last counts.
            let is_missed = world.server.starts == 1;
            return is_missed.then(|| format!("the hosts' counts of run {run} have not become final"));
        };
        if calm.is_undisturbed && !is_complete {
            return Some(format!("hosts have not reported their last counts of run {run}, undisturbed"));
        }
        let mut really = Counts { work_ns: world.executed_ns(*run), ..Counts::default() };
        for process in &world.processes {
            really.jobs.add(&process.runtime.jobs(*run));
        }
        let pairs = [
            ("work in ns", told.work_ns, really.work_ns),
            ("spawned", told.jobs.spawned, really.jobs.spawned),
            ("exposed", told.jobs.exposed, really.jobs.exposed),
            ("executed", told.jobs.executed, really.jobs.executed),
            ("stolen by workers", told.jobs.stolen_local, really.jobs.stolen_local),
            ("aborted", told.jobs.aborted, really.jobs.aborted),
        ];
        let is_wrong = |told: u64, really: u64| told > really || (calm.is_undisturbed && told < really);
        let (what, told_of, was) = pairs.into_iter().find(|(_, told, really)| is_wrong(*told, *really))?;
        Some(format!("the counts of run {run} say {told_of} {what}, and it was {was}"))
    })
}

/// Checks each host's counts of the jobs that it held, and of its steal requests; and the published counts of all
/// hosts.
pub fn audit(world: &World) -> Option<String> {
    of_hosts(world).or_else(|| of_people(world))
}

/// The most jobs that one request gives.
const MOST: u64 = JOBS_PER_STEAL_MAX as u64;

/// Checks that the numbers of a host's row agree with one another, and that a run's are the sums of its rows.
fn of_people(world: &World) -> Option<String> {
    world.server.machine.iter().flat_map(|machine| machine.runs()).find_map(|view| {
        let mut sum = Counts::default();
        for (host, _, row) in view.by_host() {
            sum.add(&row);
            let scopes = row.steals.scopes;
            let given: u64 = scopes.iter().map(|scope| scope.jobs).sum();
            let timed: u64 = scopes.iter().flat_map(|scope| scope.latencies.buckets).sum();
            let pairs = [
                ("exposed", row.jobs.exposed, "spawned", row.jobs.spawned),
                ("stolen from other sites", row.jobs.stolen_wide, "stolen", row.jobs.stolen),
                ("stolen", row.jobs.stolen, "that its requests can have given", given * MOST),
                ("requests that gave jobs", given, "timed", timed),
                ("requests timed", timed, "that gave jobs", given),
                ("requests that gave jobs", given, "stolen", row.jobs.stolen),
                ("ns done again", row.redone_work_ns, "ns done", row.work_ns),
            ];
            if let Some((what, is, of, most)) = pairs.into_iter().find(|(_, is, _, most)| is > most) {
                return Some(format!("of run {}, host {host} reports {is} {what} and {most} {of}", view.run));
            }
        }
        // Hosts that only check its results have no row.
        sum.busy += view.busy_with_checks_only();
        (sum != view.counts()).then(|| {
            format!("run {} has {:?} by its page, and {sum:?} by its hosts", view.run, view.counts())
        })
    })
}

fn of_hosts(world: &World) -> Option<String> {
    world.alive().find_map(|(index, process)| {
        process.host.runs().into_iter().find_map(|run| {
            let counts = process.host.counts(run)?;
            let held = counts.held.iter().find(|held| held.done + held.failed + held.aborted > held.begun);
            if let Some(held) = held {
                return Some(format!("host {index} counts of jobs that it holds in run {run}: {held:?}"));
            }
            let answers: u64 = (counts.steals.scopes.iter())
                .map(|scope| scope.jobs + scope.refused + scope.unanswered)
                .sum();
            let asked = counts.steal_requests;
            (answers > asked)
                .then(|| format!("host {index} counts {answers} ends of {asked} requests in run {run}"))
        })
    })
}
