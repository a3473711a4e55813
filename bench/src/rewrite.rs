//! How long it takes to add the checks that make a module stoppable (see `sateen_rewriter`).

use anyhow::{Result, anyhow};
use sateen_rewriter::rewrite;
use wasmtime::{Config, Engine, Module};

use crate::figure::Figure;
use crate::measure::{Samples, interleave, time};
use crate::sandbox::{dist, read};
use crate::workloads::WORKLOADS;

const BENCH: &str = "rewrite";
/// Time for each app.
const BUDGET_S: f64 = 4.0;

/// The engine's error in the form of all others.
fn known(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let engine = Engine::new(Config::new().shared_memory(true)).map_err(known)?;
    let mut relations = Vec::new();
    for workload in &WORKLOADS {
        let bytes = read(&dist().join("apps").join(format!("{}.wasm", workload.name)))?;
        let [both, compiling] = interleave(&format!("rewrite: {}", workload.name), BUDGET_S, || {
            let (adding, checked) = time(|| rewrite(&bytes));
            let checked = checked?;
            let (compiling, module) = time(|| Module::new(&engine, &checked));
            module.map_err(known)?;
            Ok([adding.processor + compiling.processor, compiling.processor])
        })?;
        relations.push(both.over(&compiling));
    }
    let mean = Figure::ratio(
        BENCH,
        "adding checks and compiling, mean over the apps",
        Samples::geometric_mean(&relations),
    )
    .against("compiling alone")
    .goal(1.05, 1.02);
    Ok(vec![mean])
}
