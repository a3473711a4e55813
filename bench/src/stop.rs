//! How soon a guest that never ends leaves its processor when its run is cancelled.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::figure::Figure;
use crate::measure::Samples;
use crate::sandbox::Sandbox;

const BENCH: &str = "stop";
const ROUNDS: usize = 60;
/// Until the guest computes; not a multiple of the heartbeat's interval.
const BEFORE: Duration = Duration::from_micros(20_300);

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let app = Sandbox::bench_app("kernels")?;
    let guests = [
        ("endless_loop", "a loop that calls nothing", Some((10.0, 2.0))),
        ("endless_calls", "a loop that calls", Some((10.0, 2.0))),
        ("endless_recursion", "a recursion", Some((10.0, 2.0))),
        // It polls before each of them.
        ("endless_copies", "copies of 64 MiB", None),
    ];
    let mut figures = Vec::new();
    for (function, name, goal) in guests {
        let mut took = Vec::new();
        for round in 0..ROUNDS {
            let run = app.start(function)?;
            std::thread::sleep(BEFORE + Duration::from_micros(170) * round as u32);
            let cancelled = Instant::now();
            // Waits for the workers.
            drop(run);
            took.push(cancelled.elapsed().as_secs_f64() * 1e3);
        }
        took.sort_by(f64::total_cmp);
        let slow = *took.get(ROUNDS * 95 / 100).context("there are rounds")?;
        let median: Samples = took.into_iter().collect();
        let figure = Figure::ratio(BENCH, format!("from cancel to the end of {name}, median"), median);
        let figure = figure.unit(" ms").against("0");
        figures.push(match goal {
            Some((bar, aim)) => figure.goal(bar, aim),
            None => figure,
        });
        figures.push(
            Figure::ratio(BENCH, "the same, 95 of 100", [slow].into_iter().collect())
                .unit(" ms")
                .against("0"),
        );
    }
    Ok(figures)
}
