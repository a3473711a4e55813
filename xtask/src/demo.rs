//! `cargo xtask demo`: a real problem, from nothing to its answer.

use std::io::Write;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::build::{build, dist};
use crate::shell::{command, root};

const QUEENS: &str = "16";
const ANSWER: &str = "14772512";

/// Builds what is needed and counts the ways to place 16 queens.
pub fn demo() -> Result<()> {
    build()?;
    let app = root().join("dist/apps/nqueens.wasm");
    eprintln!();
    eprintln!("In how many ways can {QUEENS} queens stand on a board without attacking each other?");
    eprintln!("+ dist/sateen run dist/apps/nqueens.wasm {QUEENS}");
    let started = Instant::now();
    let output = command(dist("sateen"), ["run".as_ref(), app.as_os_str(), QUEENS.as_ref()])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || answer != ANSWER {
        bail!("the demo's answer is `{answer}` and should be {ANSWER} (OEIS A000170)");
    }
    writeln!(std::io::stdout(), "{answer}")?;
    eprintln!("in {:.1} s, sandboxed, on every core. OEIS A000170 agrees.", started.elapsed().as_secs_f64());
    eprintln!("Write your own: dist/sateen new queens --template search");
    Ok(())
}
