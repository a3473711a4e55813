//! `self-test`, and the same in the background of a host.

use std::io;
use std::process::ExitCode;

use sateen_host::grid::Health;
use sateen_host::{Passed, SelfTestError, self_test, self_test_daily};

use super::say::{GRID, WRONG, fail, result};

/// Runs the self-test and prints the outcome.
pub fn test(is_json: bool) -> ExitCode {
    let outcome = self_test();
    if is_json {
        result(&as_json(&outcome).to_string());
    } else if let Ok(checks) = &outcome {
        for Passed { check, elapsed } in checks {
            result(&format!("{check:<8} right, in {:.0} ms", elapsed.as_secs_f64() * 1e3));
        }
    }
    match outcome {
        Ok(_) => ExitCode::SUCCESS,
        Err(error @ SelfTestError::Unfit(_)) => fail(WRONG, error),
        Err(error @ SelfTestError::NotRun(_)) => fail(GRID, error),
    }
}

/// Tests now and every day while the host works, which is notified if the machine computes wrong.
pub fn test_daily(health: Health) -> io::Result<()> {
    self_test_daily(move |outcome| match outcome {
        Ok(_) => tracing::info!("the self-test found nothing wrong"),
        Err(error @ SelfTestError::Unfit(_)) => health.unfit(error.to_string()),
        Err(SelfTestError::NotRun(error)) => tracing::warn!(%error, "the self-test could not run"),
    })
}

fn as_json(outcome: &Result<Vec<Passed>, SelfTestError>) -> serde_json::Value {
    let (checks, why) = match outcome {
        Ok(checks) => (checks.as_slice(), None),
        Err(error) => (&[][..], Some(error.to_string())),
    };
    let checks: Vec<_> = checks
        .iter()
        .map(|Passed { check, elapsed }| serde_json::json!({ "check": check, "elapsed_s": elapsed.as_secs_f64() }))
        .collect();
    serde_json::json!({ "is_fit": outcome.is_ok(), "checks": checks, "why": why })
}
