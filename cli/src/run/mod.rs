//! `sateen run`: an app on this machine, no server.

mod interrupt;
mod json;

use std::path::Path;
use std::sync::Arc;

use sateen_host::{App, Engine, Finished, Limits, LogLine, ModuleCache, Run, RunError, RunOptions};

use crate::exit::{Failure, say, visible};
use crate::files::{OutputFile, plain, print, read_inputs, read_module};
use crate::flags::{LimitFlags, Run as Flags};
use crate::progress::{PERIOD, Progress};
use interrupt::Interrupt;
use json::About;
pub use json::add_result;

/// Instances for each thread, where there are many threads: one that runs and some that wait.
const INSTANCES_A_THREAD: usize = 8;

pub fn run(flags: Flags) -> Result<(), Failure> {
    let interrupt = Interrupt::install()?;
    let threads = flags.threads.unwrap_or_else(|| RunOptions::default().threads);
    let limits = limits(&flags.limits, threads);
    let bytes = read_module(&flags.app, &limits)?;
    let inputs = read_inputs(&flags.input, &limits)?;
    let output = flags.output.as_deref().map(OutputFile::open).transpose()?;

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
        log: log_to(&progress, flags.quiet),
    };
    let run = Run::start(&app, options)?;
    interrupt.watch(&run);
    while !run.wait_for(PERIOD) {
        progress.show(&run.snapshot());
    }
    let jobs = run.snapshot().jobs;
    let result = run.wait();
    progress.clear();

    let about = About { flags: &flags, app: &app, jobs, threads };
    match result {
        Ok(finished) => {
            for input in &finished.unread_inputs {
                say(format!("the input `{input}` was never read; does the app call it by another name?"));
            }
            if finished.log_lines_dropped > 0 {
                say(format!("{} more lines of the app's log were dropped", finished.log_lines_dropped));
            }
            deliver(&finished, &about, output)
        }
        Err(error) => {
            if flags.json {
                print(format!("{}\n", about.failed(&error)).as_bytes())?;
            }
            let mut failure = Failure::from(error);
            if !flags.verbose {
                failure.backtrace.clear();
            }
            Err(failure)
        }
    }
}

/// Writes the result where it is wanted.
fn deliver(finished: &Finished, about: &About<'_>, output: Option<OutputFile>) -> Result<(), Failure> {
    let plain = plain(&finished.output);
    let to_file = output.is_some();
    if let Some(file) = output {
        file.write(&plain)?;
    }
    if about.flags.json {
        print(format!("{}\n", about.finished(finished)).as_bytes())
    } else if to_file {
        Ok(())
    } else {
        print(&plain)
    }
}

fn limits(flags: &LimitFlags, threads: usize) -> Limits {
    Limits {
        memory_bytes_max: flags.memory,
        stack_bytes_max: flags.stack,
        attempts_max: flags.attempts,
        output_bytes_max: flags.max_output,
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

/// The cache, or a warning: without one everything works, but a start takes longer.
fn open_cache() -> Option<ModuleCache> {
    ModuleCache::of_user().map_err(|error| say(format!("compiled modules are not kept: {error}"))).ok()
}

fn log_to(progress: &Progress, quiet: bool) -> Arc<dyn Fn(LogLine) + Send + Sync> {
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
