//! Grids of real processes, for benchmarks that need one, and runs on them.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sateen_tests::cluster::Cluster;
use serde_json::Value;

use crate::sandbox::dist;
use crate::workloads::Workload;

/// A run that is meant to take seconds is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Submits `module`, without waiting.
pub fn submit(grid: &Cluster, module: &str, words: &[&str]) -> Result<u64> {
    let module = dist().join(module).display().to_string();
    let ended = grid.sateen([&["submit", module.as_str()], words].concat());
    ensure!(ended.code == Some(0), "`sateen submit` failed: {}", ended.stderr);
    Ok(String::from_utf8_lossy(&ended.stdout).trim().parse()?)
}

/// Waits for a run's result, which must be `expected`, if that is known. Gives the time from its submission to
/// its result, by the coordinator's clock, in seconds.
pub fn wait(grid: &Cluster, run: u64, expected: Option<&str>) -> Result<f64> {
    right(grid, run, &grid.api().run_over(run, PATIENCE), expected)
}

/// The same, whether or not all hosts have said what they counted.
pub fn wait_for_answer(grid: &Cluster, run: u64, expected: Option<&str>) -> Result<f64> {
    right(grid, run, &grid.api().run_answered(run, PATIENCE), expected)
}

fn right(grid: &Cluster, run: u64, about: &Value, expected: Option<&str>) -> Result<f64> {
    if about["state"] != "done" {
        bail!("run {run} has failed: {about:#}");
    }
    let ended = grid.sateen(["result".to_owned(), run.to_string()]);
    let result = String::from_utf8_lossy(&ended.stdout).into_owned();
    if let Some(expected) = expected {
        ensure!(result.trim() == expected, "run {run} gave {result} and not {expected}");
    }
    about["elapsed_s"].as_f64().context("a run that is over has taken some time")
}

/// Both.
pub fn run(grid: &Cluster, module: &str, words: &[&str], expected: Option<&str>) -> Result<f64> {
    wait(grid, submit(grid, module, words)?, expected)
}

/// Options of `sateen submit` that give a workload its inputs, which become files beside the grid's.
pub fn input_words(grid: &Cluster, workload: &Workload) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for (input, bytes) in workload.inputs {
        let file = grid.folder().join(format!("{}-{input}", workload.name));
        std::fs::write(&file, bytes)?;
        words.extend(["--input".to_owned(), format!("{input}={}", file.display())]);
    }
    Ok(words)
}

/// Processor time that a host has used so far, in seconds.
pub fn processor_seconds(grid: &Cluster, name: &str) -> Result<f64> {
    status(grid, name)?["processor_s"].as_f64().context("a host tells its processor time")
}

/// Processor time that a process has used so far, in seconds; in proc(5), hundredths of one.
pub fn process_s(process: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The command's name, in parentheses, may hold anything.
    let (_, fields) = text.rsplit_once(')').context("a name in parentheses")?;
    let ticks = fields.split_ascii_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok());
    Ok(ticks.sum::<u64>() as f64 / 100.0)
}

/// What a host says of itself.
pub fn status(grid: &Cluster, name: &str) -> Result<Value> {
    let ended = grid.tell_host(name, &["status", "--json"]);
    serde_json::from_slice(&ended.stdout).context(ended.stderr)
}

/// `sateen run` in a process of its own: the time that it says the run took, in seconds.
pub fn run_alone(module: &str, words: &[&str], threads: usize) -> Result<f64> {
    let threads = threads.to_string();
    let module = dist().join(module).display().to_string();
    let words = [&["run", module.as_str(), "--threads", threads.as_str(), "--json"], words].concat();
    let output = std::process::Command::new(dist().join("sateen")).args(words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let about: Value = serde_json::from_slice(&output.stdout)?;
    about["elapsed_s"].as_f64().context("`sateen run --json` tells the time")
}
