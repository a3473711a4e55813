//! Whether many people get their shares of one grid: short runs beside a long one, and three submitters of different weights.
//! Real processes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::{Cluster, until};
use sateen_tests::command::ended;

use crate::coarse::turns_of;
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;
use crate::sandbox::{Sandbox, dist};

const BENCH: &str = "share";
const MODULE: &str = "bench/coarse.wasm";
const HOSTS: [(&str, &str); 2] = [("a", "here"), ("b", "here")];
/// Jobs are short enough for turns to end at their ends.
const JOB_S: f64 = 0.01;
/// Work of the long run, in seconds; two workers halve it.
const LONG_S: f64 = 120.0;
/// Short runs, and the work of each.
const SHORT_RUNS: usize = 20;
const SHORT_S: f64 = 1.0;
/// Weights of three submitters.
const WEIGHTS: [u16; 3] = [1, 1, 2];
/// How long their runs are watched, and how long before that each of them must have worked.
const WATCHED: Duration = Duration::from_secs(60);
const SETTLED: Duration = Duration::from_secs(5);
/// Time for anything to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let app = Sandbox::bench_app("coarse")?;
    let turns = turns_of(&app, JOB_S)?;
    let mut figures = of_short_runs(turns)?;
    figures.push(of_weights(turns)?);
    Ok(figures)
}

/// The words of a run with this much work, in seconds.
fn words(work_s: f64, turns: u64) -> [String; 2] {
    [((work_s / JOB_S) as u64).to_string(), turns.to_string()]
}

fn submit(grid: &Cluster, token: &str, work_s: f64, turns: u64) -> Result<u64> {
    let module = dist().join(MODULE).display().to_string();
    let mut command =
        grid.sateen_command([&["submit".to_owned(), module], &words(work_s, turns)[..]].concat());
    command.env("SATEEN_TOKEN", token);
    let ended = ended(command);
    ensure!(ended.code == Some(0), "`sateen submit` failed: {}", ended.stderr);
    Ok(String::from_utf8_lossy(&ended.stdout).trim().parse()?)
}

/// The time from the submission of a run to its result, in seconds, as its submitter waits.
fn timed(grid: &Cluster, token: &str, work_s: f64, turns: u64) -> Result<f64> {
    let since = Instant::now();
    let run = submit(grid, token, work_s, turns)?;
    grid::wait_for_answer(grid, run, None)?;
    Ok(since.elapsed().as_secs_f64())
}

/// Short runs beside a long one of another submitter.
fn of_short_runs(turns: u64) -> Result<Vec<Figure>> {
    let half = Cluster::start_with_tokens(&HOSTS[..1]);
    let user = half.new_token(&["--scope", "submitter"]);
    let mut alone = Vec::new();
    // The first run loads the app.
    for round in 0..=SHORT_RUNS {
        let took = timed(&half, &user, SHORT_S, turns)?;
        alone.extend((round > 0).then_some(took));
    }
    drop(half);
    let alone: Samples = alone.into_iter().collect();
    eprintln!("share: a run of {SHORT_S} s alone on half the grid takes {} s", shown(alone.median()));

    let grid = Cluster::start_with_tokens(&HOSTS);
    let [one, other] = ["one", "other"].map(|name| grid.new_token(&["--scope", "submitter", "--name", name]));
    // The first run loads the app.
    timed(&grid, &other, SHORT_S, turns)?;
    let short_alone = timed(&grid, &other, SHORT_S, turns)?;
    let long_alone = timed(&grid, &one, LONG_S / 4.0, turns)? * 4.0;
    eprintln!(
        "share: alone on the whole grid, a short run takes {} s, and the long one {} s",
        shown(short_alone),
        shown(long_alone)
    );
    let since = Instant::now();
    let long = submit(&grid, &one, LONG_S, turns)?;
    await_work(&grid, long, SETTLED.as_secs_f64());
    let mut beside = Vec::new();
    for _ in 0..SHORT_RUNS {
        beside.push(timed(&grid, &other, SHORT_S, turns)?);
        ensure!(grid.api().run(long)["state"] == "running", "the long run was over before the short ones");
    }
    grid::wait_for_answer(&grid, long, None)?;
    let took = since.elapsed().as_secs_f64();
    let beside: Samples = beside.into_iter().collect();
    let worst = beside.max();
    let ratios = beside.times(1.0 / alone.median());
    let ideal = long_alone + SHORT_RUNS as f64 * short_alone;
    eprintln!(
        "share: beside the long run, a short one takes {} s, at worst {}",
        shown(beside.median()),
        shown(worst)
    );
    Ok(vec![
        Figure::ratio(BENCH, format!("{SHORT_RUNS} runs of {SHORT_S} s beside a long one"), ratios)
            .against(format!("the same run alone on half the grid, {} s", shown(alone.median())))
            .goal(1.5, 1.2),
        Figure::ratio(BENCH, "the worst of them", [worst / alone.median()].into_iter().collect())
            .against(format!("the same run alone on half the grid, {} s", shown(alone.median())))
            .goal(1.5, 1.2),
        Figure::ratio(BENCH, "the long run's time", [took / ideal].into_iter().collect())
            .against(format!("all runs one after another on the whole grid, {} s", shown(ideal)))
            .goal(1.05, 1.02),
    ])
}

/// Waits until a run has done this much work, in seconds.
fn await_work(grid: &Cluster, run: u64, least_s: f64) {
    let work = || grid.api().run(run)["work_s"].as_f64().filter(|work_s| *work_s >= least_s);
    until("a run has worked", PATIENCE, work);
}

/// The greatest deviation of a submitter's part of the work from its share, in per cent of the share.
fn of_weights(turns: u64) -> Result<Figure> {
    let grid = Cluster::start_with_tokens(&HOSTS);
    let mut runs = Vec::new();
    for (number, weight) in WEIGHTS.iter().enumerate() {
        let (name, weight) = (format!("user-{number}"), weight.to_string());
        let token = grid.new_token(&["--scope", "submitter", "--name", &name, "--weight", &weight]);
        runs.push(submit(&grid, &token, 2.0 * WATCHED.as_secs_f64() * HOSTS.len() as f64, turns)?);
    }
    for run in &runs {
        await_work(&grid, *run, 0.1);
    }
    std::thread::sleep(SETTLED);
    let works = |grid: &Cluster| -> Result<Vec<f64>> {
        let work = |run: &u64| grid.api().run(*run)["work_s"].as_f64().context("a run has work");
        runs.iter().map(work).collect()
    };
    let before = works(&grid)?;
    std::thread::sleep(WATCHED);
    let after = works(&grid)?;
    let done: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    let (all, weights) = (done.iter().sum::<f64>(), f64::from(WEIGHTS.iter().sum::<u16>()));
    let parts: Vec<f64> = done.iter().map(|done| done / all).collect();
    eprintln!("share: weights {WEIGHTS:?} got {parts:.3?}, {} s of work", shown(all));
    let deviation =
        |(part, weight): (&f64, &u16)| 100.0 * (part / (f64::from(*weight) / weights) - 1.0).abs();
    let worst = parts.iter().zip(&WEIGHTS).map(deviation).fold(0.0, f64::max);
    let name = format!("three submitters of weights {WEIGHTS:?}: the greatest deviation from a share");
    Ok(Figure::ratio(BENCH, name, [worst].into_iter().collect())
        .unit("%")
        .against(format!("each one's part of the work in {} s", WATCHED.as_secs()))
        .goal(5.0, 2.0))
}
