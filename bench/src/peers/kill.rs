//! One of two workers is killed at half time, by `kill -9`.
//!
//! Ray and Dask replace a killed worker. A host of Sateen is a machine; here, it is started again, as a service would be, or
//! stays away. Workers of `sateen run` and rayon are threads of one process, and so are those of HyperQueue's local
//! cluster: these have no figure, as whatever kills one ends the run.

use anyhow::{Context, Result};

use super::BENCH;
use super::rounds;
use super::system::{Kind, Queens, Return};
use crate::figure::{Figure, shown};

const ROUNDS: usize = 3;
const SYSTEMS: [Kind; 3] = [Kind::Grid, Kind::Ray, Kind::Dask];
/// Tasks of some tens of milliseconds.
const QUEENS: Queens = Queens { size: 16, rows: 2, answer: 14_772_512 };
const ALONE: &str = "undisturbed";
const REPLACED: &str = "replaced";
const GONE: &str = "gone";

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut round = 0;
    let rounds = rounds::measure("kill", &SYSTEMS, ROUNDS, |kind, system| {
        round += 1;
        let alone = system.queens(&QUEENS)?;
        let replaced = system.queens_disturbed(&QUEENS, alone / 2.0, Return::AtOnce, round)?;
        let mut values = vec![(ALONE, alone), (REPLACED, replaced)];
        if kind == Kind::Grid {
            values.push((GONE, system.queens_disturbed(&QUEENS, alone / 2.0, Return::Never, round)?));
        }
        Ok(values)
    })?;
    let mut figures = Vec::new();
    for kind in SYSTEMS {
        for (what, about) in [(REPLACED, "and replaced"), (GONE, "and not replaced")] {
            let Some(disturbed) = rounds.of(kind, what) else { continue };
            let alone = rounds.of(kind, ALONE).context("each round begins undisturbed")?;
            let name =
                format!("{} queens, one worker killed at half time {about}: {}", QUEENS.size, kind.name());
            let beside = format!("{} undisturbed, {} s", kind.versioned(), shown(alone.median()));
            figures.push(Figure::ratio(BENCH, name, disturbed.over(&alone)).against(beside));
        }
    }
    Ok(figures)
}
