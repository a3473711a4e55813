//! The length of jobs of the app `coarse`.

use anyhow::Result;

use crate::sandbox::Sandbox;

/// Less than this cannot be told apart from the start of a run.
const MEASURED_S_MIN: f64 = 0.1;

/// The number of turns of a job of the app `coarse` that lasts `seconds`.
///
/// # Errors
/// When the app cannot be run.
pub fn turns_of(app: &Sandbox, seconds: f64) -> Result<u64> {
    let mut turns = 1_000_000;
    loop {
        let taken = app.run("plain", &[1, turns], 1)?.took.processor;
        if taken >= (seconds / 2.0).max(MEASURED_S_MIN) {
            return Ok((turns as f64 * seconds / taken) as u64);
        }
        turns *= 2;
    }
}
