//! Guests that take all the memory that they can: how much their process has beyond what its host grants.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sateen_tests::cluster::Cluster;
use sateen_tests::guests::of_host;
use sateen_tests::wat::{app, app_with, bytes};
use serde_json::{Value, json};

use super::watched::memory_bytes;
use super::{BENCH, HOST, clear, failures, guests, never, start, submit};
use crate::figure::Figure;

/// What the host grants to all guests together.
const GRANTED: &str = "512MiB";
const GRANTED_BYTES: u64 = 512 << 20;
/// How long a bomb is watched.
const WATCHED: Duration = Duration::from_secs(8);
const STEP: Duration = Duration::from_millis(2);

/// A figure for each bomb.
pub fn figures() -> Result<Vec<Figure>> {
    let mut grid = start(&["--memory", GRANTED]);
    let base = base_bytes(&grid)?;
    eprintln!("{BENCH}: a process of guests has {} MiB without them", base >> 20);
    let mut figures = Vec::new();
    for (name, text) in bombs() {
        let peak = peak_bytes(&grid, &bytes(&text))?;
        let above = peak as f64 - (base + GRANTED_BYTES) as f64;
        eprintln!("{BENCH}: {name}: {} MiB", peak.saturating_sub(base) >> 20);
        figures.push(
            Figure::ratio(
                BENCH,
                format!("memory of {name} beyond the host's {GRANTED}"),
                [above.max(0.0) / f64::from(1 << 20)].into_iter().collect(),
            )
            .unit(" MiB")
            .against("0")
            .goal(8.0, 0.0),
        );
    }
    figures.push(never(
        "the host panicked, left or ended beside guests that take memory",
        failures(&mut grid),
        " times",
    ));
    Ok(figures)
}

/// Each bomb, and its module.
fn bombs() -> Vec<(&'static str, String)> {
    // Grows by a page, and writes to it, until there is no more.
    let grow = "(local $at i32) (loop $more
        (local.set $at (memory.grow (i32.const 1)))
        (if (i32.ne (local.get $at) (i32.const -1)) (then
            (memory.fill (i32.shl (local.get $at) (i32.const 16)) (i32.const 1) (i32.const 65536)) (br $more))))";
    // A child that another worker may take, endlessly, and the same in each of them.
    let children = "(local $job i32) (loop $again
        (local.set $job (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (if (local.get $job) (then (drop (call $sync (local.get $job))))) (br $again))";
    let with_job = |fields: &str, job: &str| {
        let fields = format!(
            r#"{fields} (func $take_all {job}) (func $job {children})
            (func (export "sateen_job_j") (param i32) (result i64) (call $take_all) (call $job) (i64.const 0))"#
        );
        app_with(&fields, "(call $take_all) (call $job)")
    };
    let large = "(drop (memory.grow (i32.const 1023))) (memory.fill (i32.const 4096) (i32.const 1) (i32.const 67000000))";
    let table = "(drop (table.grow $t (ref.null func) (i32.const 100000)))
        (table.fill $t (i32.const 0) (ref.func $f) (i32.const 100000))";
    let deep = "(func $deep (param $n i32)
        (if (local.get $n) (then (call $deep (i32.sub (local.get $n) (i32.const 1))))))";
    let shared = "(local $n i32) (drop (memory.grow (i32.const 64))) (loop $more
        (drop (call $share (i32.const 1024) (i32.const 2048) (i32.const 2000000))) (br $more))";
    let result = r#"(func (export "sateen_main_main") (param i32) (result i64)
        (drop (memory.grow (i32.const 1000))) (i64.const 0x1000003000000))"#;
    vec![
        ("one guest that grows", app(grow)),
        ("many guests that grow", with_job("", grow)),
        ("many guests of 64 MiB", with_job("", large)),
        (
            "many guests with full tables",
            with_job("(table $t 0 funcref) (func $f) (elem declare func $f)", table),
        ),
        ("many guests with deep stacks", with_job(deep, "(call $deep (i32.const 500000))")),
        ("shared objects", app(shared)),
        ("a large result", app_with("", "").replace(&main_of(&app_with("", "")), result)),
    ]
}

/// The entry point of an app.
fn main_of(app: &str) -> String {
    let start = app.find("(func (export \"sateen_main_main\")").unwrap_or_default();
    app[start..app.len() - 1].to_owned()
}

fn limits() -> Value {
    json!({ "memory_bytes": GRANTED_BYTES, "time_ms": WATCHED.as_millis() as u64 })
}

/// The memory of a process whose guest takes none.
fn base_bytes(grid: &Cluster) -> Result<u64> {
    let run = submit(grid.api(), &bytes(&app("(loop (br 0))")), &limits())?;
    let process = guests(grid);
    std::thread::sleep(Duration::from_millis(1500));
    let bytes = memory_bytes(process).context("it runs")?;
    clear(grid, run);
    Ok(bytes)
}

/// The most that the processes of guests have together while a run is under way.
fn peak_bytes(grid: &Cluster, module: &[u8]) -> Result<u64> {
    let host = grid.host_process(HOST);
    let run = submit(grid.api(), module, &limits())?;
    let (mut peak, mut looked) = (0, Instant::now());
    let until = Instant::now() + WATCHED;
    while Instant::now() < until {
        let bytes = of_host(host).into_iter().filter_map(memory_bytes).sum::<u64>();
        peak = peak.max(bytes);
        if looked.elapsed() > Duration::from_millis(200) {
            looked = Instant::now();
            if !grid.api().run(run)["ended_at"].is_null() {
                break;
            }
        }
        std::thread::sleep(STEP);
    }
    let about = grid.api().run(run);
    eprintln!("{BENCH}: {} {}", about["state"], about["error"]["message"]);
    clear(grid, run);
    Ok(peak)
}
