//! The cost of a spawn and its sync, compared with rayon's join.
//!
//! The cost is the extra time of `fib(38)` with spawns, compared to without, over the number of spawns; so
//! fib's own work is not counted, on either side.

use std::hint::black_box;
use std::num::NonZero;

use anyhow::{Result, ensure};

use crate::figure::{Figure, shown};
use crate::measure::{Samples, Took, interleave, time};
use crate::native::{
    Wide, chili_fib, chili_pool, plain_fib, plain_wide_fib, rayon_fib, rayon_pool, rayon_wide_fib,
};
use crate::sandbox::Sandbox;

const BENCH: &str = "spawn";
const N: u64 = 38;
/// fib(38), from OEIS A000045.
const ANSWER: u64 = 39_088_169;
/// Additions of fib(38), each a spawn or a join: one less than fib(39).
const SPAWNS: u64 = 63_245_985;
/// Time for each of the three comparisons.
const BUDGET_S: f64 = 25.0;

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let app = Sandbox::app("fib")?;
    let mut figures = one_worker(&app)?;
    figures.extend(wide_parameters(&app)?);
    figures.extend(two_workers(&app)?);
    Ok(figures)
}

fn one_worker(app: &Sandbox) -> Result<Vec<Figure>> {
    let rayon = rayon_pool(1)?;
    let chili = chili_pool(NonZero::<usize>::MIN);
    let [plain, spawned, native, joined, chili] = interleave("spawn: 1 worker", BUDGET_S, || {
        Ok([
            sandboxed(app, "plain", 1)?.processor,
            sandboxed(app, "main", 1)?.processor,
            natively(plain_fib)?.processor,
            natively(|n| rayon.install(|| rayon_fib(n)))?.processor,
            natively(|n| chili_fib(&mut chili.scope(), n))?.processor,
        ])
    })?;
    let (sateen, join, chili) = (each(&spawned, &plain), each(&joined, &native), each(&chili, &native));
    let against = format!("native rayon::join on 1 thread, {} ns", shown(join.median()));
    let without = format!("native fib(38) without joins, {} s", shown(native.median()));
    Ok(vec![
        Figure::ratio(BENCH, "spawn and sync, 1 worker", sateen.over(&join))
            .against(&against)
            .goal(0.6, 0.25),
        Figure::ratio(BENCH, "native chili join, 1 thread", chili.over(&join)).against(against),
        Figure::ratio(BENCH, "all of fib(38), 1 worker", spawned.over(&joined))
            .against(format!("native rayon on 1 thread, {} s", shown(joined.median()))),
        Figure::ratio(BENCH, "time of a spawn and sync", sateen)
            .unit("ns")
            .against(format!("fib(38) in the sandbox without spawns, {} s", shown(plain.median()))),
        Figure::ratio(BENCH, "time of a native rayon join", join).unit("ns").against(&without),
        Figure::ratio(BENCH, "time of a native chili join", chili).unit("ns").against(without),
    ])
}

fn wide_parameters(app: &Sandbox) -> Result<Vec<Figure>> {
    let rayon = rayon_pool(1)?;
    let [plain, spawned, native, joined] = interleave("spawn: 64 bytes", BUDGET_S, || {
        Ok([
            sandboxed(app, "wide_plain", 1)?.processor,
            sandboxed(app, "wide", 1)?.processor,
            natively(|n| plain_wide_fib(Wide::new(n)))?.processor,
            natively(|n| rayon.install(|| rayon_wide_fib(Wide::new(n))))?.processor,
        ])
    })?;
    let (sateen, join) = (each(&spawned, &plain), each(&joined, &native));
    Ok(vec![
        Figure::ratio(BENCH, "spawn and sync of 64 bytes, 1 worker", sateen.over(&join))
            .against(format!("native rayon::join with the same parameter, {} ns", shown(join.median()))),
        Figure::ratio(BENCH, "time of a spawn and sync of 64 bytes", sateen)
            .unit("ns")
            .against(format!("the same in the sandbox without spawns, {} s", shown(plain.median()))),
    ])
}

fn two_workers(app: &Sandbox) -> Result<Vec<Figure>> {
    let rayon = rayon_pool(2)?;
    let [spawned, joined] = interleave("spawn: 2 workers", BUDGET_S, || {
        Ok([sandboxed(app, "main", 2)?.wall, natively(|n| rayon.install(|| rayon_fib(n)))?.wall])
    })?;
    let all = Figure::ratio(BENCH, "all of fib(38), 2 workers", spawned.over(&joined));
    Ok(vec![all.against(format!("native rayon on 2 threads, {} s", shown(joined.median())))])
}

/// Nanoseconds that one spawn adds.
fn each(with: &Samples, without: &Samples) -> Samples {
    with.less(without).times(1e9 / SPAWNS as f64)
}

fn sandboxed(app: &Sandbox, function: &str, threads: usize) -> Result<Took> {
    let run = app.run(function, &[N], threads)?;
    ensure!(run.text == ANSWER.to_string(), "fib({N}) gave {}", run.text);
    ensure!(run.spawns == 0 || run.spawns == SPAWNS, "fib({N}) counts {} spawns", run.spawns);
    Ok(run.took)
}

fn natively(fib: impl FnOnce(u64) -> u64) -> Result<Took> {
    let (took, answer) = time(|| fib(black_box(N)));
    ensure!(answer == ANSWER, "native fib({N}) gave {answer}");
    Ok(took)
}
