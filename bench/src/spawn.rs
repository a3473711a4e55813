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

/// What each side took. One worker is measured in processor time, two on the wall.
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
    let in_ns = |name: &str, cost: &Samples| format!("{name}, {} ns", shown(cost.median()));
    let in_s = |name: &str, time: &Samples| format!("{name}, {} s", shown(time.median()));
    let join = in_ns("native rayon::join on 1 thread", &rayon);
    let join_wide = in_ns("native rayon::join with the same parameter", &rayon_wide);
    let ratio = |name: &str, samples: Samples| Figure::ratio(BENCH, name, samples);

    Ok(vec![
        ratio("spawn and sync, 1 worker", sateen.over(&rayon)).against(&join).goal(0.6, 0.25),
        ratio("native chili join, 1 thread", chili.over(&rayon)).against(&join),
        ratio("spawn and sync of 64 bytes, 1 worker", wide.over(&rayon_wide)).against(join_wide),
        ratio("all of fib(38), 1 worker", sides.spawned.over(&sides.rayon))
            .against(in_s("native rayon on 1 thread", &sides.rayon)),
        ratio("all of fib(38), 2 workers", sides.spawned_by_two.over(&sides.rayon_by_two))
            .against(in_s("native rayon on 2 threads", &sides.rayon_by_two)),
        ratio("time of a spawn and sync", sateen)
            .unit("ns")
            .against(in_s("fib(38) in the sandbox without spawns", &sides.plain)),
        ratio("time of a spawn and sync of 64 bytes", wide)
            .unit("ns")
            .against(in_s("the same without spawns", &sides.wide_plain)),
        ratio("time of a native rayon join", rayon)
            .unit("ns")
            .against(in_s("native fib(38) without joins", &sides.native)),
        ratio("time of a native chili join", chili)
            .unit("ns")
            .against(in_s("native fib(38) without joins", &sides.native)),
    ])
}

fn measure() -> Result<Sides> {
    let app = Sandbox::app("fib")?;
    let sandboxed = |function: &str, threads: usize| {
        let run = app.run(function, &[N], threads)?;
        ensure!(run.text == ANSWER.to_string(), "fib({N}) gave {}", run.text);
        ensure!(run.spawns == 0 || run.spawns == SPAWNS, "fib({N}) counts {} spawns", run.spawns);
        Ok::<_, anyhow::Error>(run.took)
    };
    let native = |call: &dyn Fn(u64) -> u64| {
        let (took, answer) = time(|| call(black_box(N)));
        ensure!(answer == ANSWER, "native fib({N}) gave {answer}");
        Ok::<_, anyhow::Error>(took)
    };
    let (rayon, rayon_by_two) = (rayon_pool(1)?, rayon_pool(2)?);
    let chili = chili_pool(NonZero::<usize>::MIN);
    // What is set in relation stands side by side.
    let times = interleave("spawn: fib(38)", ROUNDS, || {
        Ok([
            sandboxed("plain", 1)?.processor,
            sandboxed("main", 1)?.processor,
            native(&plain_fib)?.processor,
            native(&|n| rayon.install(|| rayon_fib(n)))?.processor,
            native(&|n| chili_fib(&mut chili.scope(), n))?.processor,
            sandboxed("wide_plain", 1)?.processor,
            sandboxed("wide", 1)?.processor,
            native(&|n| plain_wide_fib(Wide::new(n)))?.processor,
            native(&|n| rayon.install(|| rayon_wide_fib(Wide::new(n))))?.processor,
            sandboxed("main", 2)?.wall,
            native(&|n| rayon_by_two.install(|| rayon_fib(n)))?.wall,
        ])
    })?;
    let [plain, spawned, native, rayon, chili, wide_plain, wide, native_wide, rayon_wide, by_two @ ..] =
        times;
    let [spawned_by_two, rayon_by_two] = by_two;
    Ok(Sides {
        plain,
        spawned,
        spawned_by_two,
        wide_plain,
        wide,
        native,
        rayon,
        rayon_by_two,
        chili,
        native_wide,
        rayon_wide,
    })
}
