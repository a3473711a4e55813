//! What a spawn and its sync cost, against rayon's join.
//!
//! The cost is what `fib(38)` takes longer with spawns than without, over the number of spawns; so
//! what fib itself does is not counted, on either side.

use std::hint::black_box;
use std::num::NonZero;

use anyhow::{Result, ensure};

use crate::figure::{Figure, shown};
use crate::measure::{Samples, interleave, time};
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
const ROUNDS: usize = 9;

/// Names of the sides, in the order in which they are measured.
struct Sides {
    plain: Samples,
    spawned: Samples,
    spawned_by_two: Samples,
    wide_plain: Samples,
    wide: Samples,
    native: Samples,
    rayon: Samples,
    rayon_by_two: Samples,
    chili: Samples,
    native_wide: Samples,
    rayon_wide: Samples,
}

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let sides = measure()?;
    let each = |with: &Samples, without: &Samples| with.less(without).times(1e9 / SPAWNS as f64);
    let sateen = each(&sides.spawned, &sides.plain);
    let rayon = each(&sides.rayon, &sides.native);
    let chili = each(&sides.chili, &sides.native);
    let wide = each(&sides.wide, &sides.wide_plain);
    let rayon_wide = each(&sides.rayon_wide, &sides.native_wide);
    let named = |name: &str, cost: &Samples| format!("{name}, {} ns", shown(cost.median()));
    let join = named("rayon::join on 1 thread", &rayon);
    let join_wide = named("rayon::join with the same parameter", &rayon_wide);
    let whole = |name: &str, time: &Samples| format!("{name}, {} s", shown(time.median()));

    Ok(vec![
        Figure::ratio(BENCH, "spawn and sync, 1 worker", sateen.over(&rayon)).against(&join).goal(0.6, 0.25),
        Figure::ratio(BENCH, "native chili join, 1 thread", chili.over(&rayon)).against(&join),
        Figure::ratio(BENCH, "spawn and sync of 64 bytes, 1 worker", wide.over(&rayon_wide))
            .against(&join_wide),
        Figure::ratio(BENCH, "all of fib(38), 1 worker", sides.spawned.over(&sides.rayon))
            .against(whole("rayon on 1 thread", &sides.rayon)),
        Figure::ratio(BENCH, "all of fib(38), 2 workers", sides.spawned_by_two.over(&sides.rayon_by_two))
            .against(whole("rayon on 2 threads", &sides.rayon_by_two)),
        Figure::ratio(BENCH, "time of a spawn and sync", sateen).unit("ns").against("fib without spawns"),
        Figure::ratio(BENCH, "time of a spawn and sync of 64 bytes", wide)
            .unit("ns")
            .against("fib without spawns"),
        Figure::ratio(BENCH, "time of a native rayon join", rayon).unit("ns").against("native fib"),
        Figure::ratio(BENCH, "time of a native chili join", chili).unit("ns").against("native fib"),
    ])
}

fn measure() -> Result<Sides> {
    let app = Sandbox::app("fib")?;
    let sandboxed = |function: &str, threads: usize| {
        let run = app.run(function, &[N], threads)?;
        ensure!(run.text == ANSWER.to_string(), "fib({N}) gave {}", run.text);
        ensure!(run.spawns == 0 || run.spawns == SPAWNS, "fib({N}) counts {} spawns", run.spawns);
        Ok(run.seconds)
    };
    let rayon = [rayon_pool(1)?, rayon_pool(2)?];
    let chili = chili_pool(NonZero::<usize>::MIN);
    let native = |call: &mut dyn FnMut(u64) -> u64| {
        let (seconds, answer) = time(|| call(black_box(N)));
        ensure!(answer == ANSWER, "native fib({N}) gave {answer}");
        Ok(seconds)
    };
    let [
        plain,
        native_plain,
        spawned,
        rayon_join,
        chili_join,
        spawned_by_two,
        rayon_by_two,
        wide_plain,
        native_wide,
        wide,
        rayon_wide,
    ] = interleave("spawn: fib(38)", ROUNDS, || {
        Ok([
            sandboxed("plain", 1)?,
            native(&mut plain_fib)?,
            sandboxed("main", 1)?,
            native(&mut |n| rayon[0].install(|| rayon_fib(n)))?,
            native(&mut |n| chili_fib(&mut chili.scope(), n))?,
            sandboxed("main", 2)?,
            native(&mut |n| rayon[1].install(|| rayon_fib(n)))?,
            sandboxed("wide_plain", 1)?,
            native(&mut |n| plain_wide_fib(Wide::new(n)))?,
            sandboxed("wide", 1)?,
            native(&mut |n| rayon[0].install(|| rayon_wide_fib(Wide::new(n))))?,
        ])
    })?;
    Ok(Sides {
        plain,
        spawned,
        spawned_by_two,
        wide_plain,
        wide,
        native: native_plain,
        rayon: rayon_join,
        rayon_by_two,
        chili: chili_join,
        native_wide,
        rayon_wide,
    })
}
