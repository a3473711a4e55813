//! Runs copies of a native program at once, to measure the machine's own gain from a second core.
//!
//! Each copy is a process of its own, started from this same binary, so that copies share only what
//! any two programs share.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::measure::time;
use crate::workloads;

/// The hidden command that runs this binary as such a copy: `native NAME ARGUMENT`.
pub const COMMAND: &str = "native";

/// The body of a copy: runs the workload `name`, once.
pub fn run_here(name: &str, argument: &str) -> Result<()> {
    std::hint::black_box(workloads::native(name, argument)?);
    Ok(())
}

/// Starts `count` copies at once, and returns the seconds until the last has ended.
pub fn run(count: usize, name: &str, argument: &str) -> Result<f64> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let copy = || {
        let mut command = Command::new(&program);
        command.args([COMMAND, name, argument]).stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().context("a copy cannot be started")
    };
    let (took, result) = time(|| {
        let children: Result<Vec<_>> = (0..count).map(|_| copy()).collect();
        for mut child in children? {
            if !child.wait()?.success() {
                bail!("a copy of `{name} {argument}` failed");
            }
        }
        Ok(())
    });
    result.map(|()| took.wall)
}
