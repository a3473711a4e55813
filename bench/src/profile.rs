//! Samples where a process spends its processor time, with Linux's `perf`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sateen_tests::cluster::Process;

/// Samples a second. Not a multiple of the heartbeat's rate, which would always hit the same point.
const RATE: &str = "2999";
/// Maximum wait for its start and for its end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time from its first event to its last.
const SETTLES: Duration = Duration::from_millis(200);
/// The name that `perf` gives to code without a file.
const MADE_AT_RUNTIME: &str = "[JIT]";

/// Whether `perf` is installed and may sample.
pub fn is_possible() -> bool {
    let mut command = Command::new("perf");
    command.args(["record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "--", "true"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// An ongoing sampling of a process.
pub struct Profile {
    perf: Process,
    file: PathBuf,
}

impl Profile {
    /// Begins to sample all threads of the process with the id `process`. Files go to `folder`.
    pub fn begin(process: u32, folder: &Path) -> Result<Self> {
        let file = folder.join("perf.data");
        let _ = std::fs::remove_file(&file);
        let mut command = Command::new("perf");
        let process = process.to_string();
        command.args(["record", "-q", "-e", "cpu-clock", "-F", RATE, "-p", &process, "-o"]).arg(&file);
        let perf = Process::start("perf", command, folder);
        let began = Instant::now();
        while !is_watching(perf.id()) {
            ensure!(began.elapsed() < PATIENCE, "perf does not start: {}", perf.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(SETTLES);
        Ok(Self { perf, file })
    }

    /// Ends it, and returns the share of samples in code generated at runtime, which is the guests'.
    pub fn share_of_guests(mut self) -> Result<f64> {
        self.perf.signal("INT");
        self.perf.ended(PATIENCE);
        let mut command = Command::new("perf");
        command.args(["report", "--stdio", "--sort", "dso", "-i"]).arg(&self.file);
        let output = command.output()?;
        let report = String::from_utf8_lossy(&output.stdout);
        let lines = report.lines().filter(|line| line.contains(MADE_AT_RUNTIME));
        let percents = lines.filter_map(|line| line.trim().split('%').next()?.parse::<f64>().ok());
        let percent: f64 = percents.sum();
        ensure!(percent > 0.0, "no sample was in a guest: {report}");
        Ok(percent / 100.0)
    }
}

/// Whether the `perf` process with this id has opened events.
fn is_watching(perf: u32) -> bool {
    let files = std::fs::read_dir(format!("/proc/{perf}/fd")).into_iter().flatten().flatten();
    let mut opened = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    opened.any(|opened| opened.to_string_lossy().contains("perf_event"))
}
