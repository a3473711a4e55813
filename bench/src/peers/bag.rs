//! Bags of equal tasks, and what a system adds to each.
//!
//! A task is as many turns of a random generator as take a given time where it runs, so that the figure is the cost
//! of the system and not that of the sandbox. How long a turn takes is measured before and after each system's bag, by
//! two threads at once, as two workers slow each other down on many machines.

use anyhow::{Context, Result, ensure};

use super::BENCH;
use super::rounds;
use super::system::{Bag, Kind, System, WORKERS};
use crate::coarse::turns_of;
use crate::figure::{Figure, shown};
use crate::measure::{Samples, time};
use crate::sandbox::Sandbox;

const ROUNDS: usize = 4;

/// Numbers of tasks, their milliseconds, and what their overhead is called among a round's values. Two seconds of two
/// workers each.
const BAGS: [(u64, f64, &str); 3] = [(4_000, 1.0, "1 ms"), (400, 10.0, "10 ms"), (40, 100.0, "100 ms")];
/// Tasks that are timed alone are this share of a bag.
const SINGLES_SHARE: u64 = 10;

const PEERS: [Kind; 3] = [Kind::Ray, Kind::Dask, Kind::HyperQueue];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let app = Sandbox::bench_app("coarse")?;
    let bags: Vec<Bag> =
        BAGS.iter().map(|(jobs, ms, _)| bag(&app, *jobs, ms * 1e-3)).collect::<Result<_>>()?;
    let rounds = rounds::measure("bag", &Kind::ALL, ROUNDS, |kind, system| {
        let each = bags.iter().zip(BAGS);
        each.map(|(bag, (.., what))| Ok((what, overhead_us(&app, kind, system, bag)?))).collect()
    })?;
    let mut figures = Vec::new();
    for (jobs, _, what) in BAGS {
        figures.extend(
            rounds.raw(what, "µs", |kind| {
                format!("{jobs} tasks of {what}, overhead of each: {}", kind.name())
            }),
        );
    }
    let (_, _, what) = BAGS[0];
    if let Some((best, least)) = rounds.best(&PEERS, what) {
        let grid = rounds.of(Kind::Grid, what).context("the grid was measured")?;
        let name =
            format!("overhead of a task of {what}: Sateen's grid ÷ the best of Ray, Dask and HyperQueue");
        let beside = format!("{}, {} µs", best.versioned(), shown(least.median()));
        figures.push(Figure::ratio(BENCH, name, grid.over(&least)).against(beside).goal(0.05, 0.01));
    }
    Ok(figures)
}

fn bag(app: &Sandbox, jobs: u64, job_s: f64) -> Result<Bag> {
    let sandboxed = turns_of(app, job_s)?;
    let native = native_turns_of(job_s);
    let answer = |turns| coarse::plain(jobs, turns).to_string();
    Ok(Bag { jobs, native, sandboxed, native_answer: answer(native), sandboxed_answer: answer(sandboxed) })
}

/// As [`turns_of`], in native code.
fn native_turns_of(seconds: f64) -> u64 {
    const TRIED: u64 = 100_000_000;
    let trials: Samples = (0..3).map(|_| time(|| coarse::plain(1, TRIED)).0.processor).collect();
    (TRIED as f64 * seconds / trials.median()) as u64
}

/// The time of two workers, less that of the tasks' work, for each task.
fn overhead_us(app: &Sandbox, kind: Kind, system: &mut System, bag: &Bag) -> Result<f64> {
    let single_s =
        || if kind.is_sandboxed() { single_in_sandbox_s(app, bag) } else { single_natively_s(bag) };
    let before = single_s()?;
    let took = system.bag(bag)?;
    let single = f64::midpoint(before, single_s()?);
    Ok((took * WORKERS as f64 / bag.jobs as f64 - single) * 1e6)
}

fn single_natively_s(bag: &Bag) -> Result<f64> {
    both_s(bag, |singles| Ok(coarse::plain(singles, bag.native).to_string()))
}

fn single_in_sandbox_s(app: &Sandbox, bag: &Bag) -> Result<f64> {
    both_s(bag, |singles| Ok(app.run("plain", &[singles, bag.sandboxed], 1)?.text))
}

/// Seconds of a task, if each of two threads runs some of them.
fn both_s(bag: &Bag, run: impl Fn(u64) -> Result<String> + Sync) -> Result<f64> {
    let singles = (bag.jobs / SINGLES_SHARE).max(4);
    let (took, results) = time(|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| run(singles))).collect();
            let results = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(anyhow::anyhow!("a thread that computes alone panicked")))
            });
            results.collect::<Result<Vec<_>>>()
        })
    });
    let results = results?;
    ensure!(results.windows(2).all(|pair| pair[0] == pair[1]), "the results of both threads differ");
    Ok(took.wall / singles as f64)
}
