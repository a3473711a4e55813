//! Grids of real processes for benchmarks, and runs on them.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sateen_tests::cluster::Cluster;
use serde_json::Value;

use crate::sandbox::dist;
use crate::workloads::Workload;

/// Maximum wait for a run that should take seconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// Submits `module`, without waiting.
pub fn submit(grid: &Cluster, module: &str, words: &[&str]) -> Result<u64> {
    let module = dist().join(module).display().to_string();
    let ended = grid.sateen([&["submit", module.as_str()], words].concat());
    ensure!(ended.code == Some(0), "`sateen submit` failed: {}", ended.stderr);
    Ok(String::from_utf8_lossy(&ended.stdout).trim().parse()?)
}

/// Waits for a run's result, which must be `expected`, if given. Returns the time from its submission to
/// its result, by the coordinator's clock, in seconds.
pub fn wait(grid: &Cluster, run: u64, expected: Option<&str>) -> Result<f64> {
    right(grid, run, &grid.api().run_over(run, PATIENCE), expected)
}

/// The same, without waiting for all hosts' last counts.
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
        ensure!(result.trim() == expected, "the result of run {run} is {result}, not {expected}");
    }
    about["elapsed_s"].as_f64().context("a run that is over has taken some time")
}

/// Submits and waits.
pub fn run(grid: &Cluster, module: &str, words: &[&str], expected: Option<&str>) -> Result<f64> {
    wait(grid, submit(grid, module, words)?, expected)
}

/// Options of `sateen submit` for a workload's inputs, which are written to the grid's folder.
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
    status(grid, name)?["processor_s"].as_f64().context("a host reports its processor time")
}

/// Processor time that a process has used so far, in seconds; proc(5) has it in hundredths.
pub fn process_s(process: u32) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The command's name, in parentheses, may contain any characters.
    let (_, fields) = text.rsplit_once(')').context("a name in parentheses")?;
    let ticks = fields.split_ascii_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok());
    Ok(ticks.sum::<u64>() as f64 / 100.0)
}

/// A host's own status.
pub fn status(grid: &Cluster, name: &str) -> Result<Value> {
    let ended = grid.tell_host(name, &["status", "--json"]);
    serde_json::from_slice(&ended.stdout).context(ended.stderr)
}

/// Runs `sateen run` in its own process, and returns the time that it reports for the run, in seconds.
pub fn run_alone(module: &str, words: &[&str], threads: usize) -> Result<f64> {
    let threads = threads.to_string();
    let module = dist().join(module).display().to_string();
    let words = [&["run", module.as_str(), "--threads", threads.as_str(), "--json"], words].concat();
    let output = std::process::Command::new(dist().join("sateen")).args(words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let about: Value = serde_json::from_slice(&output.stdout)?;
    about["elapsed_s"].as_f64().context("`sateen run --json` shows the time")
}
