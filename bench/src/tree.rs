//! A coordinator with a tree of a million jobs: its cost, and that of dashboards that watch it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{JobTag, ROOT_KIND, RunId};
use sateen_tests::cluster::Cluster;
use sateen_tests::forged_host::ForgedHost;
use sateen_tests::memory::resident_kib;
use sateen_tests::watcher::RECORD_BYTES;

use crate::crowd::{Crowd, WATCHERS};
use crate::figure::Figure;
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "tree";
/// More jobs than the full tree holds, so that some make room for others.
const JOBS: u64 = 1_010_000;
/// Jobs that the tree reports.
const SHOWN: usize = 1_000_000;
/// Size of a block: a job and those below it.
const BLOCK: u64 = 64;
/// Jobs of the tree that run at any time.
const ALIVE: u64 = 10_000;
/// Jobs that begin and end in a second while the tree is watched.
const CHANGES_PER_S: u64 = 500;
/// Jobs that begin or end at once while the tree is watched.
const CHANGES_AT_ONCE: u64 = 50;
/// Jobs that are reported at once before that.
const TOLD_AT_ONCE: u64 = 500;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(5);
/// Maximum wait for a coordinator that saves a million jobs, which takes it a minute.
const SAVED_MAX: Duration = Duration::from_secs(240);

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut grid = Cluster::start_to_measure(&[]);
    let process = grid.coordinator().id();
    let submitted = grid::submit(&grid, "apps/fib.wasm", &["1"])?;
    let (mut host, _) = ForgedHost::join(&grid.address().to_string(), "forged");
    let (run, _) = host.take_root();
    ensure!(run == RunId(submitted), "another run than the one submitted");
    let (memory_mib, processor) = (resident_mib(process), grid::process_s(process)?);
    let mut jobs = Jobs { begun: 0 };
    while jobs.begun < JOBS {
        let notes = jobs.next(TOLD_AT_ONCE);
        host.report(run, &notes);
    }
    let path = format!("/api/v1/runs/{run}/overview");
    let all = |grid: &Cluster| -> u64 {
        let depths = grid.api().get(&path)["depths"].as_array().cloned().unwrap_or_default();
        let sum = |group: &str| depths.iter().filter_map(|depth| depth[group].as_u64()).sum::<u64>();
        sum("running") + sum("done") + sum("other")
    };
    let started = Instant::now();
    while all(&grid) < JOBS {
        ensure!(started.elapsed() < SAVED_MAX, "{} of {JOBS} jobs are known", all(&grid));
        thread::sleep(Duration::from_millis(100));
    }
    let told_s = grid::process_s(process)? - processor;

    // Jobs begin and end from now on, watched or not: few at first, as a silent host is given up.
    let (is_over, at_once) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)));
    let worker = {
        let (is_over, at_once) = (Arc::clone(&is_over), Arc::clone(&at_once));
        thread::spawn(move || {
            while !is_over.load(Relaxed) {
                host.report(run, &jobs.next(at_once.load(Relaxed)));
                thread::sleep(Duration::from_millis(1000 * CHANGES_AT_ONCE / CHANGES_PER_S));
            }
        })
    };
    await_rest(process)?;
    let memory_mib = resident_mib(process) - memory_mib;
    at_once.store(CHANGES_AT_ONCE, Relaxed);
    let (mut costs, mut opened) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        eprintln!("tree: round {round} of {ROUNDS}");
        let without = spent(process)?;
        let started = Instant::now();
        let crowd = Crowd::open(&grid, submitted);
        crowd.await_bytes(SHOWN * RECORD_BYTES, SAVED_MAX)?;
        opened.push(started.elapsed().as_secs_f64());
        let with = spent(process)?;
        crowd.close()?;
        costs.push(100.0 * (with - without) / ROUND.as_secs_f64());
    }
    is_over.store(true, Relaxed);
    ensure!(worker.join().is_ok(), "the host was cut off");

    let samples = |values: Vec<f64>| values.into_iter().collect::<Samples>();
    Ok(vec![
        Figure::ratio(BENCH, "memory for a tree of a million jobs", samples(vec![memory_mib])).unit("MiB"),
        Figure::ratio(BENCH, "a job told, begun and done", samples(vec![told_s * 1e6 / JOBS as f64]))
            .unit("µs of processor time"),
        Figure::ratio(
            BENCH,
            format!("{WATCHERS} dashboards on a million jobs, {CHANGES_PER_S} of which change in a second"),
            samples(costs),
        )
        .unit("% of a core")
        .against("the same, unwatched"),
        Figure::ratio(BENCH, format!("until {WATCHERS} dashboards have all of them"), samples(opened))
            .unit("s"),
    ])
}

/// Notes of jobs; the last `ALIVE` jobs are running.
struct Jobs {
    begun: u64,
}

impl Jobs {
    /// Notes that `count` jobs begin, and as many end.
    fn next(&mut self, count: u64) -> Vec<JobNote> {
        let begun = NoteKind::Begun { victim: None, redone: false, worker: 0 };
        let first = self.begun;
        self.begun += count;
        let begin = (first..self.begun).map(|job| note(job, begun));
        // The root and the job right below it continue.
        let ended = (first..self.begun).filter_map(|job| job.checked_sub(ALIVE)).filter(|job| *job >= BLOCK);
        begin.chain(ended.map(|job| note(job, NoteKind::Done { work_ns: 1_000_000 }))).collect()
    }
}

/// The tree's shape: blocks, each below its first job, which is below a job of the first block.
fn note(job: u64, what: NoteKind) -> JobNote {
    // Tags are digits of hashes.
    let tag = |job: u64| JobTag((job + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let first = job / BLOCK * BLOCK;
    let (parent, depth) = match job {
        0 => (None, 0),
        1..BLOCK => (Some(0), 1),
        _ if job == first => (Some(1 + job / BLOCK % (BLOCK - 1)), 2),
        _ => (Some(first), 3),
    };
    JobNote {
        job: tag(job),
        parent: parent.map(tag),
        kind: if job == 0 { ROOT_KIND } else { 0 },
        depth,
        what,
        ago_ms: 0,
        parameters: None,
        shares: false,
    }
}

/// Processor time that the process takes in a round.
fn spent(process: u32) -> Result<f64> {
    thread::sleep(Duration::from_secs(1));
    let before = grid::process_s(process)?;
    thread::sleep(ROUND);
    Ok(grid::process_s(process)? - before)
}

/// Waits until everything is saved: the process is nearly idle.
fn await_rest(process: u32) -> Result<()> {
    let started = Instant::now();
    loop {
        let before = grid::process_s(process)?;
        thread::sleep(Duration::from_secs(2));
        if grid::process_s(process)? - before < 0.1 {
            return Ok(());
        }
        ensure!(started.elapsed() < SAVED_MAX, "the coordinator does not become idle");
    }
}

fn resident_mib(process: u32) -> f64 {
    resident_kib(process) as f64 / 1024.0
}
