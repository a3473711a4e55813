//! Runs within this process, with the host's library.

use std::sync::Arc;
use std::time::Duration;

use sateen_host::{App, Engine, Finished, Limits, LogLine, ModuleCache, Output, Run, RunError, RunOptions};

use crate::{kept, probe};

/// Time after which a run is considered to hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// The distribution of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Workers.
    pub threads: usize,
    /// Every job has its own instance.
    pub pristine: bool,
    /// Whether work and span are measured.
    pub profile: bool,
}

/// All settings in which the same program must have the same result.
pub const SETTINGS: [Setting; 8] =
    [shared(1), shared(2), shared(4), shared(8), pristine(1), pristine(4), profiled(1), profiled(4)];

/// Jobs run in place unless stolen.
pub const fn shared(threads: usize) -> Setting {
    Setting { threads, pristine: false, profile: false }
}

/// Every job has its own instance.
pub const fn pristine(threads: usize) -> Setting {
    Setting { threads, pristine: true, profile: false }
}

/// As `shared`, profiled.
pub const fn profiled(threads: usize) -> Setting {
    Setting { threads, pristine: false, profile: true }
}

/// The probe app under the usual limits.
pub fn usual() -> App {
    limited(&Limits::default())
}

/// The probe app under `limits`, on its own engine: tests that run at once share no instances.
pub fn limited(limits: &Limits) -> App {
    load(limits, probe::module())
}

/// The app with awkward types, as `usual`.
pub fn awkward() -> App {
    let module = std::fs::read(probe::awkward_path()).expect("the module was just built");
    load(&Limits::default(), &module)
}

fn load(limits: &Limits, module: &[u8]) -> App {
    let engine = Engine::new(limits, false).expect("this machine can run guests");
    let cache = ModuleCache::open(&kept().join("cache")).expect("target/ can hold a cache");
    App::load(&engine, module, Some(&cache)).expect("the tests' apps are good apps")
}

/// Waits for a run. A run that hangs fails its test instead of hanging it.
pub fn finish(run: Run) -> Result<Finished, RunError> {
    assert!(run.wait_for(PATIENCE), "the run hangs: {:?}", run.snapshot());
    run.wait()
}

/// Calls the entry point `function` of `app`.
pub fn call(app: &App, function: &str, arguments: &[&str], setting: Setting) -> Result<Finished, RunError> {
    call_logging(app, function, arguments, setting, Arc::new(|_| {}))
}

/// As `call`; the app's log goes to `log`.
pub fn call_logging(
    app: &App,
    function: &str,
    arguments: &[&str],
    setting: Setting,
    log: Arc<dyn Fn(LogLine) + Send + Sync>,
) -> Result<Finished, RunError> {
    let run = Run::start(
        app,
        RunOptions {
            function: function.to_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            threads: setting.threads,
            pristine: setting.pristine,
            profile: setting.profile,
            log,
            ..RunOptions::default()
        },
    )?;
    finish(run)
}

/// The text that the probe app's `function` returns under the usual limits.
#[track_caller]
pub fn text(function: &str, arguments: &[&str], setting: Setting) -> String {
    match call(&usual(), function, arguments, setting) {
        Ok(Finished { output: Output::Text(text), .. }) => text,
        other => panic!("{function} {arguments:?} with {setting:?} gave {other:?}"),
    }
}

/// Asserts that `function` returns `expected` in every setting.
#[track_caller]
pub fn gives_everywhere(function: &str, arguments: &[&str], expected: impl ToString) {
    gives(function, arguments, expected, &SETTINGS);
}

/// Asserts that `function` returns `expected` in each of `settings`.
#[track_caller]
pub fn gives(function: &str, arguments: &[&str], expected: impl ToString, settings: &[Setting]) {
    let expected = expected.to_string();
    for setting in settings {
        let text = text(function, arguments, *setting);
        assert!(text == expected, "{function} {arguments:?} with {setting:?}: `{text}`, not `{expected}`");
    }
}
