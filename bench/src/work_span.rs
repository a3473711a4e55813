//! `sateen run --profile`: what it costs, and whether work and span are the program's, whatever the number of
//! workers.
//!
//! With many more workers than cores most of them wait, are preempted and steal: nothing of that is the program's.

use anyhow::{Context, Result, ensure};

use crate::figure::{Figure, shown};
use crate::measure::{Samples, interleave};
use crate::sandbox::Sandbox;

const BENCH: &str = "profile";
/// For each app and each comparison.
const BUDGET_S: f64 = 30.0;
/// Set against one worker.
const WORKERS: [usize; 4] = [2, 4, 8, 16];
/// What a figure may differ by from that of one worker.
const DIFFERENCE: f64 = 1.10;

/// A recursion of the finest grain, a search, a tree of games that is uneven, and a flat bag.
const APPS: [(&str, &str); 4] =
    [("fib", "38"), ("nqueens", "13"), ("othello", "perft 10"), ("coarse", "64 8000000")];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, words) in APPS {
        figures.extend(of_app(name, words)?);
    }
    Ok(figures)
}

fn of_app(name: &str, words: &str) -> Result<Vec<Figure>> {
    let app = if name == "coarse" { Sandbox::bench_app(name) } else { Sandbox::app(name) }?;
    let words: Vec<&str> = words.split_ascii_whitespace().collect();
    let label = format!("{name} {}", words.join(" "));
    let profiled = |threads| {
        let timed = app.run_profiled("main", &words, threads)?;
        let profile = timed.profile.context("the run was not profiled")?;
        Ok::<_, anyhow::Error>((
            timed.took,
            profile.work.as_secs_f64(),
            profile.span.as_secs_f64(),
            timed.text,
        ))
    };

    let [off, on, off_two, on_two] = interleave(&format!("profile: cost, {name}"), BUDGET_S, || {
        let off = app.run("main", &words, 1)?;
        let (on, .., text) = profiled(1)?;
        let off_two = app.run("main", &words, 2)?;
        let (on_two, .., text_two) = profiled(2)?;
        ensure!(off.text == text && off.text == text_two, "{name}: the answers differ");
        Ok([off.took.processor, on.processor, off_two.took.wall, on_two.wall])
    })?;
    let mut figures = vec![
        Figure::ratio(BENCH, format!("{label} with --profile, 1 worker"), on.over(&off))
            .against(format!("without, {} s", shown(off.median())))
            .goal(1.10, 1.05),
        Figure::ratio(BENCH, format!("{label} with --profile, 2 workers"), on_two.over(&off_two))
            .against(format!("without, {} s", shown(off_two.median())))
            .goal(1.10, 1.05),
    ];

    let all: [Samples; 10] = interleave(&format!("profile: workers, {name}"), BUDGET_S, || {
        let mut values = [0.0; 10];
        for (at, threads) in std::iter::once(1).chain(WORKERS).enumerate() {
            let (_, work, span, _) = profiled(threads)?;
            [values[at], values[5 + at]] = [work, span];
        }
        Ok(values)
    })?;
    let parts = [("work", "s", 1.0, &all[..5]), ("span", "ms", 1e3, &all[5..])];
    for (what, unit, factor, samples) in parts {
        let one = samples[0].median();
        for (workers, samples) in WORKERS.iter().zip(&samples[1..]) {
            // Each round's ratio has the noise of both; what one run says is set against what is usual.
            let ratio = samples.times(1.0 / one);
            figures.push(
                Figure::ratio(BENCH, format!("{label}, {what} on {workers} workers"), ratio)
                    .against(format!("on 1 worker, {} {unit}", shown(one * factor)))
                    .goal(DIFFERENCE, 1.03),
            );
        }
    }
    Ok(figures)
}
