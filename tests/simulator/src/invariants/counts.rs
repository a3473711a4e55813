//! Counts add up: what people are told was done is no more than what was done, whoever was lost, reborn or
//! asked twice.
//!
//! It may be less: what a host did just before it went is told by nobody.

use sateen_protocol::Counts;

use crate::world::World;

pub fn check(world: &World) -> Option<String> {
    world.server.runs.iter().find_map(|(run, stored)| {
        let (_, told) = stored.end.as_ref()?;
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
        let (what, told_of, most) = pairs.into_iter().find(|(_, told, really)| told > really)?;
        Some(format!("the counts of run {run} say {told_of} {what}, and it was {most}"))
    })
}

/// What each host tells of the jobs that it held, and of its steal requests.
pub fn audit(world: &World) -> Option<String> {
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
