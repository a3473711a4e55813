//! `sateen run`: runs an app on this machine, without a server.

mod interrupt;
mod profile;

use std::iter;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use sateen_command_line::{explained, wrap};
use sateen_host::{
    App, Engine, Finished, JobCounts, Limits, LogLine, ModuleCache, Run, RunError, RunOptions, Snapshot,
};
use serde_json::{Value, json};

use crate::ended::{About, Given, Times, Wanted, deliver};
use crate::exit::{Failure, say, visible, write_line};
use crate::files::{OutputFile, read_inputs, read_module};
use crate::flags::{LimitFlags, Run as Flags};
use crate::progress::{PERIOD, Progress};
pub use interrupt::Interrupt;

/// Instances for each thread, if there are many threads: one that runs and some that wait.
const INSTANCES_A_THREAD: usize = 8;

pub fn run(flags: Flags) -> Result<(), Failure> {
    let interrupt = Interrupt::install()?;
    let threads = flags.threads.unwrap_or_else(|| RunOptions::default().threads);
    let limits = limits(&flags.limits, threads);
    let bytes = read_module(&flags.app, &limits)?;
    let inputs = read_inputs(&flags.input, &limits)?;
    let sources = iter::once(flags.app.as_path()).chain(flags.input.iter().map(|(_, path)| path.as_path()));
    let output = OutputFile::requested(flags.output.as_deref(), sources)?;

    let engine = Engine::new(&limits, flags.strict_nan)?;
    let cache = if flags.no_cache { None } else { open_cache() };
    let app = App::load(&engine, &bytes, cache.as_ref()).map_err(|error| named(error, &flags.app))?;

    let progress = Progress::new(flags.quiet);
    let options = RunOptions {
        function: flags.function.clone(),
        arguments: flags.arguments.clone(),
        inputs,
        threads,
        pristine: flags.pristine,
        profile: flags.profile,
        log: log_to(&progress, flags.quiet),
    };
    let (end, result) = finish(Run::start(&app, options)?, &interrupt, &progress);

    let mut about = about(&flags, &app, &end, threads);
    let wanted = Wanted { inputs: &flags.input, json: flags.json, verbose: flags.verbose, output };
    match result {
        Ok(finished) => {
            for input in &finished.unread_inputs {
                say(format!("the input `{input}` was never read; does the app call it by another name?"));
            }
            say_dropped(finished.log_lines_dropped);
            about.jobs = counts(finished.jobs);
            about.times = Times::here(finished.elapsed, finished.work, Some(finished.span));
            about.shared = Some(finished.objects);
            if let Some(profile) = &finished.profile {
                about.profile = Some(profile::as_json(profile));
                if !flags.json {
                    let width = wrap::width_of_stderr().unwrap_or(usize::MAX);
                    let lines = profile::text(profile);
                    let lines = lines.lines().flat_map(|line| wrap::wrap(&visible(line), 4, width));
                    lines.for_each(|line| write_line(&line));
                }
            }
            deliver(wanted, &about, Ok(Given::Output(&finished.output)))
        }
        Err(error) => deliver(wanted, &about, Err(error.into())),
    }
}

/// Shows a run's progress until it ends. Its last figures are known even if it failed.
pub fn finish(
    run: Run,
    interrupt: &Interrupt,
    progress: &Progress,
) -> (Snapshot, Result<Finished, RunError>) {
    interrupt.watch(&run);
    while !run.wait_for(PERIOD) {
        progress.show(&run.snapshot());
    }
    let end = run.snapshot();
    let result = run.wait();
    progress.clear();
    (end, result)
}

/// Reports how many lines of the app's log were dropped.
pub fn say_dropped(log_lines: u64) {
    if log_lines > 0 {
        say(format!("{log_lines} more lines of the app's log were dropped"));
    }
}

fn about(flags: &Flags, app: &App, end: &Snapshot, threads: usize) -> About {
    About {
        run: run_id(app).into(),
        app: flags.app.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
        module: app.inspection().hash.clone(),
        function: flags.function.clone(),
        arguments: flags.arguments.clone(),
        hosts: None,
        threads: Some(threads as u64),
        jobs: counts(end.jobs),
        times: Times::here(end.elapsed, end.work, None),
        checking: None,
        losses: None,
        earlier: None,
        shared: None,
        profile: None,
        job: None,
    }
}

/// The counts of jobs on this machine, as JSON.
pub fn counts(jobs: JobCounts) -> Value {
    json!({
        "spawned": jobs.spawned,
        "exposed": jobs.exposed,
        "executed": jobs.executed,
        // From other hosts, of which there are none.
        "stolen": 0,
        "stolen_local": jobs.stolen,
        "reused": jobs.reused,
        "redone": jobs.redone,
        "aborted": jobs.aborted,
    })
}

/// A unique name for this run.
fn run_id(app: &App) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(app.inspection().hash.as_bytes());
    hasher.update(&std::process::id().to_le_bytes());
    if let Ok(now) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        hasher.update(&now.as_nanos().to_le_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn limits(flags: &LimitFlags, threads: usize) -> Limits {
    Limits {
        memory_bytes_max: flags.memory,
        stack_bytes_max: flags.stack,
        attempts_max: flags.attempts,
        output_bytes_max: flags.max_output,
        shared_bytes_max: flags.max_shared,
        guard_wait_max: flags.guard_limit,
        wall_time_max: flags.time_limit,
        cpu_time_max: flags.cpu_limit,
        instances_max: Limits::default().instances_max.max(INSTANCES_A_THREAD * threads),
        ..Limits::default()
    }
}

/// An error about the module itself, with its name before it.
fn named(error: RunError, app: &Path) -> RunError {
    match error {
        RunError::BadInput(why) => RunError::BadInput(format!("{}: {why}", app.display())),
        other => other,
    }
}

/// The cache; if it cannot be used, prints a warning. Without a cache everything works, but a start
/// takes longer.
pub fn open_cache() -> Option<ModuleCache> {
    ModuleCache::of_user()
        .map_err(|error| say(format!("compiled modules are not kept: {}", explained(&error))))
        .ok()
}

/// Where the app's log goes.
pub fn log_to(progress: &Progress, quiet: bool) -> Arc<dyn Fn(LogLine) + Send + Sync> {
    if quiet {
        return Arc::new(|_| {});
    }
    let progress = progress.clone();
    Arc::new(move |line: LogLine| {
        for text in line.text.split('\n') {
            progress.print(&visible(&format!("[{}] {text}", line.job)));
        }
    })
}
