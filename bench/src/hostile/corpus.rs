//! All hostile modules, beside the runs of somebody else.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use anyhow::{Context, Result};
use sateen_tests::cluster::{Cluster, count};
use sateen_tests::hostile::CASES_MIN;
use sateen_tests::real_host::RealHost;

use super::{failures, never, start};
use crate::figure::Figure;
use crate::grid::{submit, wait};

/// The run beside them, a few seconds long. OEIS A000170.
const OTHER: (&str, &[&str], &str) = ("apps/nqueens.wasm", &["15"], "2279184");

/// What became of the modules, of the host, and of other runs.
pub fn figures() -> Result<Vec<Figure>> {
    let mut grid = start(&[]);
    let host = RealHost::of(&grid);
    let is_over = AtomicBool::new(false);
    let others = thread::scope(|scope| {
        let others = scope.spawn(|| run_others(&grid, &is_over));
        host.run_all();
        is_over.store(true, SeqCst);
        others.join()
    });
    let (runs, disturbed) = others.ok().context("the other runs are reported to this thread")??;
    let wrong = host.wrong();
    wrong.iter().for_each(|why| eprintln!("hostile: {why}"));
    let missing = CASES_MIN.saturating_sub(host.cases());
    Ok(vec![
        never(
            format!("hostile modules, {} of them, that did not end as expected", host.cases()),
            (wrong.len() + missing) as f64,
            " modules",
        ),
        never("the host panicked, left or ended beside hostile modules", failures(&mut grid), " times"),
        never(
            format!("other runs beside them, {runs} of them, with a wrong answer or jobs lost or redone"),
            disturbed as f64,
            " runs",
        ),
    ])
}

/// Runs one after another until the modules are over. Returns the number of all, and of those that were disturbed.
fn run_others(grid: &Cluster, is_over: &AtomicBool) -> Result<(usize, usize)> {
    let (mut runs, mut disturbed) = (0, 0);
    while !is_over.load(SeqCst) {
        let run = submit(grid, OTHER.0, OTHER.1)?;
        let ended = wait(grid, run, Some(OTHER.2));
        let about = grid.api().run(run);
        runs += 1;
        if ended.is_err() || count(&about, "redone") + count(&about, "lost") > 0 {
            eprintln!("hostile: another run was disturbed: {about:#}");
            disturbed += 1;
        }
    }
    Ok((runs, disturbed))
}
