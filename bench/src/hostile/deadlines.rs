//! From the moment at which a run has had its time to the moment after which its guests do not compute any more.
//!
//! The processor time of their process is looked at every few milliseconds, which are part of what is measured.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::Cluster;
use sateen_tests::wat::{app, app_with, bytes};
use serde_json::json;

use super::watched::Account;
use super::{BENCH, clear, guests, start, submit};
use crate::figure::Figure;
use crate::measure::Samples;

const ROUNDS: usize = 12;
/// The limit on the time of each run; each round's is a little longer than the last one's.
const LIMIT: Duration = Duration::from_millis(700);
const LONGER: Duration = Duration::from_micros(1_700);
/// How long the process is looked at after that.
const AFTER: Duration = Duration::from_millis(600);
/// The memory of a run with operations on much of it: gigabytes, as the issue of one that cannot be stopped has them.
const MEMORY_BYTES: u64 = 3 << 30;
const PAGES: &str = "(drop (memory.grow (i32.const 49000)))";

/// A figure for each kind of guest.
pub fn figures() -> Result<Vec<Figure>> {
    let grid = start(&[]);
    let fill = "(memory.fill (i32.const 0) (i32.const 7) (i32.const 0xbf000000))";
    let copy = "(memory.copy (i32.const 0) (i32.const 0x60000000) (i32.const 0x5f000000))";
    let deep = "(func $deep (param $n i32)
        (if (local.get $n) (then (call $deep (i32.sub (local.get $n) (i32.const 1))))))";
    let kinds = [
        ("a loop that calls nothing", app("(loop (br 0))")),
        ("a loop in a start function", app_with("(func $start (loop (br 0))) (start $start)", "")),
        ("a loop of calls of the host", app("(loop (call $progress (i64.const 1) (i64.const 2)) (br 0))")),
        ("a deep recursion", app_with(deep, "(loop (call $deep (i32.const 500000)) (br 0))")),
        ("fills of 3 GiB", app(&format!("{PAGES} (loop {fill} (br 0))"))),
        ("copies of 1.5 GiB", app(&format!("{PAGES} (loop {copy} (br 0))"))),
    ];
    let mut figures = Vec::new();
    for (name, text) in kinds {
        eprintln!("{BENCH}: {name}");
        let module = bytes(&text);
        let took: Result<Vec<f64>> = (0..ROUNDS).map(|round| took_ms(&grid, &module, round as u32)).collect();
        let mut took = took?;
        took.sort_by(f64::total_cmp);
        let slowest = *took.last().context("there are rounds")?;
        let figure = |name: String, samples: Samples| {
            Figure::ratio(BENCH, name, samples).unit(" ms").against("0").goal(100.0, 50.0)
        };
        figures.push(figure(
            format!("from the deadline of {name} to guests off the processor, median"),
            took.into_iter().collect(),
        ));
        figures.push(figure(
            format!("from the deadline of {name} to guests off the processor, slowest of {ROUNDS}"),
            [slowest].into_iter().collect(),
        ));
    }
    Ok(figures)
}

fn took_ms(grid: &Cluster, module: &[u8], round: u32) -> Result<f64> {
    let limit = LIMIT + LONGER * round;
    let limit = Duration::from_millis(limit.as_millis() as u64);
    let limits = json!({ "time_ms": limit.as_millis() as u64, "memory_bytes": MEMORY_BYTES });
    let run = submit(grid.api(), module, &limits)?;
    let mut account = Account::of(guests(grid));
    let deadline = began(grid, run)? + limit;
    account.look_until(deadline + AFTER);
    let about = grid.api().run(run);
    ensure!(about["error"]["kind"] == "limit", "the run did not meet its limit: {about:#}");
    let last = account.last_used().context("it was looked at")?;
    clear(grid, run);
    Ok(last.saturating_duration_since(deadline).as_secs_f64() * 1e3)
}

/// When the run's time began: not later than this.
fn began(grid: &Cluster, run: u64) -> Result<Instant> {
    loop {
        let asked = Instant::now();
        let about = grid.api().run(run);
        ensure!(about["ended_at"].is_null(), "it was over before it could be looked at: {about:#}");
        if let Some(elapsed_s) = about["elapsed_s"].as_f64().filter(|_| !about["started_at"].is_null()) {
            return Ok(asked - Duration::from_secs_f64(elapsed_s));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
