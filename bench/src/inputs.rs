//! What it costs that every stolen job begins in a fresh instance, if jobs need a large input.

use std::fmt::Write;

use anyhow::{Result, ensure};

use crate::figure::{Figure, shown};
use crate::measure::interleave;
use crate::sandbox::Sandbox;

const BENCH: &str = "inputs";
/// Time for each figure.
const BUDGET_S: f64 = 60.0;
/// The graph.
const LINES: u64 = 22_000;
const NODES: u64 = 5_500;
/// Jobs of a run, and nodes from which each finds shortest ways: about 10 ms of work.
const JOBS: u64 = 300;
const SOURCES: u64 = 8;

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let graph = graph();
    let prepared = of_app("graph", "jobs on a graph that is prepared, 2 workers", &graph)?.goal(1.05, 1.02);
    Ok(vec![prepared, of_app("graph-anew", "the same without `#[prepare]`", &graph)?])
}

fn of_app(app: &str, what: &str, graph: &str) -> Result<Figure> {
    let app = Sandbox::bench_app(app)?;
    let mut expected = None;
    let mut run = |workers| {
        let run = app.run_on("main", &[JOBS, SOURCES], &[("graph", graph.as_bytes())], workers)?;
        let expected = expected.get_or_insert_with(|| run.text.clone());
        ensure!(run.text == *expected, "{workers} workers return {}, not {expected}", run.text);
        Ok(run.took.processor)
    };
    let [two, one] = interleave(&format!("inputs: {what}"), BUDGET_S, || Ok([run(2)?, run(1)?]))?;
    let figure = Figure::ratio(BENCH, what, two.over(&one));
    Ok(figure.against(format!("1 worker, {} s of processors", shown(one.median()))))
}

/// A random graph that is connected, one edge a line.
fn graph() -> String {
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = String::new();
    for line in 0..LINES {
        let from = if line < NODES { line } else { random(NODES) };
        let to = random(if line < NODES { line.max(1) } else { NODES });
        let _ = writeln!(text, "node{from} node{to} {}", 1 + random(1000));
    }
    text
}
