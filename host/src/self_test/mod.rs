//! The self-test: jobs with known answers, which find broken memory and processors that run too fast before they give wrong
//! results of strangers' jobs.
//!
//! The jobs are an app (`module.wat`), which runs in the engine that guests use. So the test also covers the compiler, which
//! depends on the processor's features. The known answers were computed by another program, in Python, with other arithmetic;
//! a test computes them once more in Rust.

mod daily;
#[cfg(test)]
mod plain;

use std::time::{Duration, Instant};

use thiserror::Error;

pub use daily::self_test_daily;

use crate::engine::Engine;
use crate::failure::RunError;
use crate::limits::Limits;
use crate::module::App;
use crate::run::{Output, Run, RunOptions};

/// The app, made of `module.wat`.
const MODULE: &[u8] = include_bytes!("module.wasm");

/// Each check's name, which is that of its entry point, and the answer.
const CHECKS: [(&str, u64); 4] = [
    ("integer", 0x32b3_94b3_4718_0733),
    ("float", 0x9955_1926_bc9c_3f6d),
    ("simd", 0x1959_cdfb_9a4b_771c),
    ("memory", 0x08cf_8f74_e74c_8efc),
];

/// Maximum memory of the guest: its patterns take half of it.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// Maximum processor time of a check: a machine that needs more is taken for one that hangs.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A check with the right answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// `integer`, `float`, `simd` or `memory`.
    pub check: &'static str,
    /// How long it took.
    pub elapsed: Duration,
}

/// Why a self-test failed.
#[derive(Debug, Clone, Error)]
pub enum SelfTestError {
    /// The machine computes wrong: it must not take work.
    #[error("the self-test found that this machine computes wrong: {0}")]
    Unfit(String),
    /// The test could not run, which says nothing about the machine.
    #[error("the self-test could not run: {0}")]
    NotRun(RunError),
}

/// Runs all checks on one thread, one after another. Takes less than a second of processor time.
///
/// # Errors
/// If an answer is wrong, or a check cannot run.
pub fn self_test() -> Result<Vec<Passed>, SelfTestError> {
    let app = load().map_err(SelfTestError::NotRun)?;
    CHECKS.into_iter().map(|(check, answer)| pass(&app, check, answer)).collect()
}

fn load() -> Result<App, RunError> {
    let limits = Limits {
        memory_bytes_max: MEMORY_BYTES_MAX,
        stack_bytes_max: 1 << 20,
        instances_max: 2,
        attempts_max: 1,
        cpu_time_max: Some(TIME_MAX),
        ..Limits::default()
    };
    App::load(&Engine::new(&limits, false)?, MODULE, None)
}

fn pass(app: &App, check: &'static str, answer: u64) -> Result<Passed, SelfTestError> {
    let started = Instant::now();
    let unfit = |what: String| Err(SelfTestError::Unfit(format!("the {check} check {what}")));
    match compute(app, check) {
        Ok(computed) if computed == answer => Ok(Passed { check, elapsed: started.elapsed() }),
        Ok(computed) => unfit(format!("returned {computed:016x} instead of {answer:016x}")),
        // The same code works on other machines.
        Err(RunError::Job(failure)) => unfit(format!("failed: {}", failure.message)),
        Err(RunError::Limit(limit)) => unfit(format!("did not end: {limit}")),
        Err(error) => Err(SelfTestError::NotRun(error)),
    }
}

/// Runs an entry point, whose result is a number of eight bytes.
fn compute(app: &App, function: &str) -> Result<u64, RunError> {
    let options = RunOptions { function: function.to_owned(), threads: 1, ..RunOptions::default() };
    match Run::start(app, options)?.wait()?.output {
        Output::Bytes(bytes) if bytes.len() == 8 => {
            Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        other => Err(RunError::App(format!("the self-test returned {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SATEEN_BLESS=1` writes the module anew.
    #[test]
    fn the_module_is_made_of_its_text() {
        let made = wat::parse_str(include_str!("module.wat")).expect("the text is right");
        if std::env::var_os("SATEEN_BLESS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/self_test/module.wasm");
            std::fs::write(path, &made).expect("it can be written");
        }
        assert!(made == MODULE, "module.wat has changed: run the test again with SATEEN_BLESS=1");
    }

    #[test]
    fn this_machine_computes_right() {
        let passed = self_test().unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = passed.iter().map(|passed| passed.check).collect();
        assert_eq!(names, ["integer", "float", "simd", "memory"]);
    }

    #[test]
    fn plain_rust_computes_the_same_answers() {
        let plain = [plain::integer(), plain::float(), plain::simd(), plain::memory()];
        assert_eq!(CHECKS.map(|(_, answer)| answer), plain);
    }

    #[test]
    fn a_wrong_answer_makes_a_machine_unfit() {
        let app = load().expect("it can run");
        let (check, answer) = CHECKS[0];
        // As if one bit had flipped.
        let error = pass(&app, check, answer ^ 1 << 17).expect_err("it differs");
        let text = error.to_string();
        assert!(matches!(error, SelfTestError::Unfit(_)), "{text}");
        let expected =
            format!("the integer check returned {answer:016x} instead of {:016x}", answer ^ 1 << 17);
        assert!(text.ends_with(&expected), "{text}");
        assert!(matches!(pass(&app, "no-such-check", 0), Err(SelfTestError::NotRun(_))));
    }

    #[test]
    fn a_check_that_traps_makes_a_machine_unfit() {
        // Its memory cannot grow.
        let limits = Limits { memory_bytes_max: 1 << 20, instances_max: 2, ..Limits::default() };
        let engine = Engine::new(&limits, false).expect("this machine can run guests");
        let app = App::load(&engine, MODULE, None).expect("it is small enough");
        assert!(matches!(pass(&app, "memory", CHECKS[3].1), Err(SelfTestError::Unfit(_))));
    }
}
