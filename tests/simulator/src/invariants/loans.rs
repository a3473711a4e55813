//! No loan is lost for ever: every job that a guest waits for is being run, or in transit, somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sateen_protocol::{JobKey, RunId, limits};

use crate::world::World;

/// Probability of a false alarm of this law: one in a billion.
const WRONG_MAX: f64 = 1e-9;
/// Maximum attempts that are waited for, however many messages are lost.
const ATTEMPTS_MAX: u32 = 1_000;

pub fn check(world: &mut World) -> Option<String> {
    let mut running: BTreeMap<RunId, BTreeSet<JobKey>> = BTreeMap::new();
    let mut away = Vec::new();
    for (index, process) in world.alive() {
        for (run, portion) in &process.runtime.portions {
            // A stopped host notices nothing.
            let is_up = process.frozen.is_none();
            running.entry(*run).or_default().extend(portion.tasks.values().map(|task| task.spec.key));
            let waits = portion.exchange.away().filter(|_| is_up);
            away.extend(waits.map(|(number, _, spec)| (index, *run, number, spec.key)));
        }
    }
    let now = world.now;
    // Jobs in transit in chunks may take long, and those that wait for their turn longer.
    if world.network.pipes.is_jammed() {
        world.disturbances.note_jam(now);
    }
    let moved_at = world.faults.parcels.moved_at.max(world.disturbances.jammed_at());
    let suspects: BTreeMap<_, _> = (away.iter())
        .filter(|(_, run, _, key)| !running.get(run).is_some_and(|keys| keys.contains(key)))
        .map(|(index, run, number, _)| {
            let loan = (*index, *run, *number);
            let since = world
                .remembered
                .suspects
                .get(&loan)
                .copied()
                .unwrap_or(now)
                .max(world.disturbances.last())
                .max(moved_at);
            (loan, since)
        })
        .collect();
    world.remembered.suspects = suspects;
    // Silence must be noticed, the coordinator settle, and three reconciliations take place. While messages are
    // lost, more are needed before three get through.
    let attempts = attempts_for_three(world.network.weather.loss_per_million);
    let patience = limits::SILENCE_MAX + limits::FIND_TIMEOUT + attempts * limits::RECONCILE;
    let patience = patience + Duration::from_nanos(4 * world.network.pipes.buffer_ns());
    let is_calm = world.server.machine.is_some() && world.network.partitions.is_empty();
    let lost =
        world.remembered.suspects.iter().find(|(_, since)| is_calm && now.since(**since) > patience)?;
    let (index, run, number) = lost.0;
    Some(format!("host {index} waits for job {} of run {run}, and no host runs it", number.0))
}

/// Number of reconciliations of which at least three almost surely succeed. Each is a question and its answer.
fn attempts_for_three(loss_per_million: u32) -> u32 {
    const WANTED: usize = 3;
    let arrives = 1.0 - f64::from(loss_per_million) / 1e6;
    let succeeds = arrives * arrives;
    if loss_per_million == 0 {
        return WANTED as u32;
    }
    // The probability that none, one or two have succeeded so far.
    let mut chances = [0.0; WANTED];
    chances[0] = 1.0;
    let mut attempts = 0;
    while chances.iter().sum::<f64>() > WRONG_MAX && attempts < ATTEMPTS_MAX {
        for had in (0..WANTED).rev() {
            let before = if had > 0 { chances[had - 1] } else { 0.0 };
            chances[had] = chances[had] * (1.0 - succeeds) + before * succeeds;
        }
        attempts += 1;
    }
    attempts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_messages_are_lost_the_more_attempts_are_needed() {
        assert_eq!(attempts_for_three(0), 3);
        let attempts = [1_000, 100_000, 300_000].map(attempts_for_three);
        assert!(attempts[0] >= 4 && attempts[2] <= 60, "{attempts:?}");
        assert!(attempts.is_sorted(), "{attempts:?}");
        assert_eq!(attempts_for_three(1_000_000), ATTEMPTS_MAX);
    }
}
