//! Many short runs, one after the other, on one coordinator: its memory and its folder must not grow for ever. Real processes.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::{Cluster, until};
use sateen_tests::memory::resident_kib;
use serde_json::json;

use crate::figure::{Figure, shown};
use crate::sandbox::dist;

const BENCH: &str = "soak";
/// Runs in each half.
const RUNS: usize = 5000;
/// Runs that are not over at a time.
const AT_ONCE: usize = 16;
/// Finished runs that the coordinator keeps. Each half has more runs, so both end with as many.
const KEPT: u64 = 1000;
/// A problem of some milliseconds. OEIS A000045.
const ARGUMENT: &str = "20";

/// Maximum wait for a short run, and until the coordinator has deleted what it need not keep.
const PATIENCE: Duration = Duration::from_secs(120);
/// What is freed is given back within this time.
const REST: Duration = Duration::from_secs(5);

/// What a process and its folder take, in bytes.
struct Sizes {
    memory: f64,
    folder: f64,
}

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut grid = Cluster::start_to_measure(&[]);
    grid.kill_coordinator();
    grid.start_coordinator_with(&["--runs-kept", &KEPT.to_string()]);
    grid.start_host("a", "here");
    grid.await_hosts(1);
    let module = std::fs::read(dist().join("apps/fib.wasm")).context("fib.wasm")?;
    ensure!(grid.api().publish("fib", &module).0 == 201, "fib.wasm is not published");
    let coordinator = grid.coordinator().id();
    let mut halves = Vec::new();
    for half in ["first", "second"] {
        let since = Instant::now();
        run_all(&grid)?;
        let took_s = since.elapsed().as_secs_f64();
        until("the coordinator deletes runs", PATIENCE, || {
            let runs = grid.api().get("/api/v1/status")["runs"]["done"].as_u64();
            (runs == Some(KEPT)).then_some(())
        });
        std::thread::sleep(REST);
        let sizes = |process, name| -> Result<Sizes> {
            Ok(Sizes {
                memory: resident_kib(process) as f64 * 1024.0,
                folder: bytes_of(&grid.data_folder(name))?,
            })
        };
        let both = [sizes(coordinator, "coordinator")?, sizes(grid.host_process("a"), "a")?];
        let shown = both.each_ref().map(|sizes| [sizes.memory, sizes.folder].map(|bytes| shown(bytes / 1e6)));
        eprintln!(
            "soak: the {half} {RUNS} runs took {took_s:.0} s; memory and folder in MB: coordinator {}, host {}",
            shown[0].join(" and "),
            shown[1].join(" and ")
        );
        halves.push(both);
    }
    let growth = |which: usize, what: &str, size: fn(&Sizes) -> f64| {
        let [first, second] = [0, 1].map(|half| size(&halves[half][which]));
        Figure::ratio(BENCH, format!("{} runs: {what}", 2 * RUNS), [second / first].into_iter().collect())
            .against(format!("after the first {RUNS}, {} MB", shown(first / 1e6)))
    };
    Ok(vec![
        growth(0, "the coordinator's memory", |sizes| sizes.memory).goal(1.05, 1.0),
        growth(0, "the coordinator's folder", |sizes| sizes.folder).goal(1.05, 1.0),
        growth(1, "the host's memory", |sizes| sizes.memory).goal(1.05, 1.0),
        growth(1, "the host's folder", |sizes| sizes.folder).goal(1.05, 1.0),
    ])
}

fn run_all(grid: &Cluster) -> Result<()> {
    let submission = json!({"app": "fib", "arguments": [ARGUMENT]}).to_string();
    let mut under_way = VecDeque::new();
    for number in 0..RUNS + AT_ONCE {
        if number >= AT_ONCE {
            let run = under_way.pop_front().context("a run")?;
            let state = until("a short run is over", PATIENCE, || {
                let state = grid.api().run(run)["state"].as_str().unwrap_or_default().to_owned();
                (!["queued", "running"].contains(&state.as_str())).then_some(state)
            });
            ensure!(state == "done", "run {run} is {state}");
        }
        if number < RUNS {
            let (status, answer) = grid.api().post("/api/v1/runs", &submission);
            ensure!(status == 201, "a run was refused: {answer}");
            under_way.push_back(answer["run"].as_u64().context("a run's number")?);
        }
    }
    Ok(())
}

/// The files of a folder, and of those in it.
fn bytes_of(folder: &Path) -> Result<f64> {
    let mut bytes = 0.0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // One may be gone by now.
        let Ok(about) = entry.metadata() else { continue };
        bytes += if about.is_dir() { bytes_of(&entry.path())? } else { about.len() as f64 };
    }
    Ok(bytes)
}
