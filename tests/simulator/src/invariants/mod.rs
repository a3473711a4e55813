//! The laws, one per file. Each returns its violation, if any.

mod answer;
mod blips;
mod bounded_loss;
mod bounds;
mod conservation;
mod counts;
mod liveness;
mod loans;
mod memory;
mod obedience;
mod recomputed;
mod reconciled;
mod remembered;
mod replicas;
pub mod strangers;
mod unwanted;
mod wire;

use sateen_protocol::host::Host;
use sateen_protocol::limits;

use crate::sometimes::GAVE_WAY;
use crate::world::World;

pub use remembered::Remembered;

/// Checks the laws that must hold at every moment.
pub fn audit(world: &mut World) {
    observe(world);
    let now = world.now;
    for process in world.processes.iter_mut().filter(|process| process.is_alive) {
        process.acquaintances.look(now, &process.host);
    }
    let found = [
        loans::check(world),
        unwanted::check(world),
        bounds::check(world),
        memory::check(world),
        counts::audit(world),
        obedience::check(world),
        replicas::check(world),
        replicas::check_content(world),
    ];
    report(world, found.into_iter().flatten());
}

/// Counts rare states that no event shows.
fn observe(world: &mut World) {
    let evicted = |host: &Host| {
        host.runs().into_iter().any(|run| host.entries_evicted(run).is_some_and(|count| count > 0))
    };
    if world.alive().any(|(_, process)| evicted(&process.host)) {
        world.sometimes.hit("an entry was evicted");
    }
    let under_way = world.server.runs.values().filter(|stored| stored.end.is_none()).count();
    if under_way > limits::RUNS_ACTIVE_MAX {
        world.sometimes.hit("a run waited for others to end");
    }
}

/// Checks the laws that must hold when all runs are over and the grid is idle.
pub fn check_end(world: &mut World, calm: &Calm) {
    // Without any fault, a run that gives its place to another submitter is suspended. What that costs is known exactly.
    let has_given_way = world.sometimes.count(GAVE_WAY) > 0;
    let drawn = calm;
    let calm = &Calm { is_undisturbed: calm.is_undisturbed && !has_given_way, ..*calm };
    let found = [
        liveness::check(world),
        answer::check(world),
        conservation::check(world, drawn),
        bounded_loss::check(world, calm),
        recomputed::check(world, calm),
        blips::check(world, calm),
        counts::check(world, calm),
        wire::check(world),
        memory::check_end(world),
        reconciled::check(world),
        obedience::check(world),
    ];
    report(world, found.into_iter().flatten());
}

/// Whether all hosts are connected and know the hosts that they should know.
pub fn is_reconciled(world: &World) -> bool {
    reconciled::check(world).is_none()
}

/// Whether a run of an experiment has ended with the right answer.
pub fn at_end(world: &World) -> Vec<String> {
    [liveness::check(world), answer::check(world), obedience::check(world)].into_iter().flatten().collect()
}

/// The kinds of faults that a seed lacked: some laws hold only without them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calm {
    /// Nothing was disturbed, except for late messages.
    pub is_undisturbed: bool,
    /// Hosts crashed or left, one after the other with time in between, and nothing else happened.
    pub only_departures: bool,
    /// Links were away for less than 5 s, and nothing else happened.
    pub only_blips: bool,
    /// No recorded result can have been lost with a disk or table.
    pub records_survive: bool,
    /// Messages were lost or late, or hosts stopped taking part in a run.
    pub records_are_late: bool,
}

fn report(world: &mut World, found: impl Iterator<Item = String>) {
    const KEPT_MAX: usize = 20;
    for violation in found {
        if world.violations.len() < KEPT_MAX && !world.violations.contains(&violation) {
            let at_s = world.now.0 as f64 / 1e9;
            world.violations.push(format!("{violation} (at {at_s:.3} s)"));
        }
    }
}
