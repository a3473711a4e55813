//! The time from start to end of `sateen run` with nothing to do, and its memory.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use wait4::Wait4;

use crate::figure::{Figure, shown};
use crate::measure::{interleave, time};
use crate::sandbox::dist;

const BENCH: &str = "start";
/// Time for warm and for cold starts each.
const BUDGET_S: f64 = 2.0;
const MIB: f64 = (1 << 20) as f64;

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    // An empty cache, so that the first start is cold.
    let cache = tempfile::tempdir()?;
    let [cold, _] = interleave("start: cold", BUDGET_S, || {
        let empty = tempfile::tempdir_in(&cache)?;
        let first = run(&mut sateen(empty.path()))?;
        Ok([first.seconds * 1e3, run(&mut bare())?.seconds * 1e3])
    })?;
    let [warm, memory, process, process_memory] = interleave("start: warm", BUDGET_S, || {
        let warm = run(&mut sateen(cache.path()))?;
        let bare = run(&mut bare())?;
        Ok([warm.seconds * 1e3, warm.memory / MIB, bare.seconds * 1e3, bare.memory / MIB])
    })?;
    let bare_ms = format!("a process that does nothing, {} ms", shown(process.median()));
    let bare_mib = format!("a process that does nothing, {} MiB", shown(process_memory.median()));
    Ok(vec![
        Figure::ratio(BENCH, "second start, whole process", warm.clone())
            .unit("ms")
            .against(&bare_ms)
            .goal(20.0, 8.0),
        Figure::ratio(BENCH, "second start, peak memory", memory)
            .unit("MiB")
            .against(bare_mib)
            .goal(60.0, 60.0),
        Figure::ratio(BENCH, "second start, in bare processes", warm.over(&process)).against(&bare_ms),
        Figure::ratio(BENCH, "first start, compilation included", cold).unit("ms").against(bare_ms),
    ])
}

/// `sateen run` of an app with next to nothing to do, as a user starts it.
fn sateen(cache: &Path) -> Command {
    let mut command = Command::new(dist().join("sateen"));
    command.arg("run").arg(dist().join("apps/fib.wasm")).arg("1").env("SATEEN_CACHE_DIR", cache);
    command
}

/// A process that does nothing.
fn bare() -> Command {
    Command::new("true")
}

struct Ended {
    seconds: f64,
    /// Bytes.
    memory: f64,
}

fn run(command: &mut Command) -> Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let (took, ended) = time(|| {
        let child = command.spawn()?;
        child.wait4()
    });
    let ended = ended.with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    if !ended.status.success() {
        bail!("{} failed ({})", command.get_program().display(), ended.status);
    }
    Ok(Ended { seconds: took.wall, memory: ended.rusage.maxrss as f64 })
}
