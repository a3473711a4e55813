//! Processes of guests that are killed at random moments: their runs have the right answers, and the host stays.

use std::time::Duration;

use anyhow::{Result, ensure};
use sateen_tests::cluster::Cluster;
use sateen_tests::guests::{of_host, signal};
use sateen_tests::random::Random;

use super::{BENCH, HOST, failures, never, start};
use crate::figure::Figure;
use crate::grid::{submit, wait};

const KILLS: u32 = 100;
const SEED: u64 = 20;
/// Two apps, each with a run of some seconds. OEIS A000170 and A000045.
const APPS: [(&str, &str, &str); 2] =
    [("apps/nqueens.wasm", "15", "2279184"), ("apps/fib.wasm", "41", "165580141")];
/// Maximum time between two kills of processes.
const BETWEEN_MS_MAX: usize = 900;

/// How many answers were right.
pub fn figures() -> Result<Vec<Figure>> {
    let mut grid = start(&[]);
    let mut random = Random::new(SEED);
    let (mut kills, mut runs, mut right) = (0, 0_u32, 0_u32);
    while kills < KILLS || runs < KILLS {
        let mut both = Vec::new();
        for (app, argument, _) in APPS {
            both.push(submit(&grid, app, &[argument])?);
        }
        // Each run loses its process once or twice.
        for _ in 0..APPS.len() {
            std::thread::sleep(Duration::from_millis(random.below(BETWEEN_MS_MAX) as u64));
            kills += u32::from(kill_one(&grid, &mut random));
        }
        for (run, (app, argument, answer)) in both.into_iter().zip(APPS) {
            runs += 1;
            match wait(&grid, run, Some(answer)) {
                Ok(_) => right += 1,
                Err(error) => eprintln!("{BENCH}: {app} {argument}: {error:#}"),
            }
        }
        eprintln!("{BENCH}: {kills} processes killed, {right} of {runs} answers are right");
        ensure!(runs < 10 * KILLS, "runs are over before their processes can be killed");
    }
    let share = 100.0 * f64::from(right) / f64::from(runs);
    Ok(vec![
        Figure::ratio(
            BENCH,
            format!("right answers of {runs} runs of two apps, of whose processes {kills} were killed"),
            [share].into_iter().collect(),
        )
        .unit(" %")
        .against("100")
        .higher()
        .goal(100.0, 100.0),
        never("the host panicked, left or ended as its guests were killed", failures(&mut grid), " times"),
    ])
}

/// Kills one of the processes of guests, if there is one.
fn kill_one(grid: &Cluster, random: &mut Random) -> bool {
    let all = of_host(grid.host_process(HOST));
    if all.is_empty() {
        return false;
    }
    let one = all.get(random.below(all.len()));
    one.is_some_and(|process| signal(*process, "KILL"))
}
