//! `sateen run`: an app on this machine, no server.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Seek, Write};
use std::path::Path;
use std::process::exit;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use sateen_host::{
    App, Canceller, Engine, Finished, JobCounts, Limits, LogLine, ModuleCache, Output, Run, RunError,
    RunOptions, size,
};
use serde_json::{Value, json};

use crate::exit::{CANCELLED, Failure, USAGE, say};
use crate::flags::{LimitFlags, Run as Flags};
use crate::progress::{PERIOD, Progress};

/// How long a cancelled run may take to end by itself. What takes longer is a bulk operation of a
/// guest, which nothing but the end of the process can stop.
const PATIENCE: Duration = Duration::from_millis(500);

/// Instances for each thread, where there are many threads: one that runs and some that wait.
const INSTANCES_A_THREAD: usize = 8;

pub fn run(flags: Flags) -> Result<(), Failure> {
    let interrupt = Interrupt::install()?;
    let threads = flags.threads.unwrap_or_else(|| RunOptions::default().threads);
    let limits = limits(&flags.limits, threads);
    let bytes = read_module(&flags.app, &limits)?;
    let inputs = read_inputs(&flags.input)?;
    let mut output = flags.output.as_deref().map(open_output).transpose()?;

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
            deliver(&finished, &about, output.as_mut())
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

fn limits(flags: &LimitFlags, threads: usize) -> Limits {
    Limits {
        memory_bytes_max: flags.memory,
        stack_bytes_max: flags.stack,
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

/// The module's bytes. One that is too large is not read to its end.
pub fn read_module(path: &Path, limits: &Limits) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let wrong = |error: std::io::Error| Failure::usage(format!("{}: {}", path.display(), readable(&error)));
    let file = File::open(path).map_err(wrong)?;
    let mut bytes = Vec::new();
    file.take(limits.module_bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(wrong)?;
    Ok(bytes)
}

fn read_inputs(inputs: &[(String, std::path::PathBuf)]) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let mut read = BTreeMap::new();
    for (name, path) in inputs {
        let wrong = |why: String| Failure::usage(format!("input `{name}`: {}: {why}", path.display()));
        let bytes = fs::read(path).map_err(|error| wrong(readable(&error)))?;
        if u32::try_from(bytes.len()).is_err() {
            return Err(wrong(format!("{} is more than a guest can hold", size(bytes.len() as u64))));
        }
        if read.insert(name.clone(), bytes).is_some() {
            return Err(Failure::usage(format!("the input `{name}` is given twice")));
        }
    }
    Ok(read)
}

/// Opens the file before the run, so that a wrong name costs no run; it is emptied only afterwards.
fn open_output(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    file.map_err(|error| Failure::usage(format!("output {}: {}", path.display(), readable(&error))))
}

/// An I/O error for people, without the number that the system gives it.
pub fn readable(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "you may not read or write it".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
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
    Arc::new(move |line: LogLine| progress.print(&format!("[{}] {}", line.job, line.text)))
}

/// What goes into the JSON object whatever the end.
struct About<'a> {
    flags: &'a Flags,
    app: &'a App,
    jobs: JobCounts,
    threads: usize,
}

impl About<'_> {
    fn common(&self, jobs: JobCounts) -> Value {
        let name = self.flags.app.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        json!({
            "run": self.run_id(),
            "app": name,
            "module": self.app.inspection().hash,
            "function": self.flags.function,
            "arguments": self.flags.arguments,
            "threads": self.threads,
            "jobs": {
                "spawned": jobs.spawned,
                "exposed": jobs.exposed,
                "executed": jobs.executed,
                "stolen": jobs.stolen,
                "reused": jobs.reused,
                "redone": jobs.redone,
                "aborted": jobs.aborted,
            },
        })
    }

    /// A name for this run that no other has.
    fn run_id(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.app.inspection().hash.as_bytes());
        hasher.update(&std::process::id().to_le_bytes());
        if let Ok(now) = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            hasher.update(&now.as_nanos().to_le_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    fn finished(&self, finished: &Finished) -> Value {
        let mut object = self.common(finished.jobs);
        match &finished.output {
            Output::Text(text) => object["result"] = json!(text),
            Output::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => object["result"] = json!(text),
                Err(_) => {
                    object["result"] = Value::Null;
                    object["result_base64"] = json!(base64::engine::general_purpose::STANDARD.encode(bytes));
                }
            },
        }
        let (work_s, span_s) = (finished.work.as_secs_f64(), finished.span.as_secs_f64());
        object["elapsed_s"] = json!(finished.elapsed.as_secs_f64());
        object["work_s"] = json!(work_s);
        object["span_s"] = json!(span_s);
        object["parallelism"] = json!(if span_s > 0.0 { work_s / span_s } else { 1.0 });
        object
    }

    fn failed(&self, error: &RunError) -> Value {
        let mut object = self.common(self.jobs);
        let failure = Failure::from(error.clone());
        object["result"] = Value::Null;
        object["error"] = json!({
            "message": failure.message,
            "exit_code": failure.code,
            "backtrace": failure.backtrace,
        });
        object
    }
}

/// Writes the result where it is wanted.
fn deliver(finished: &Finished, about: &About<'_>, output: Option<&mut File>) -> Result<(), Failure> {
    let plain = match &finished.output {
        Output::Text(text) if text.ends_with('\n') => text.clone().into_bytes(),
        Output::Text(text) => format!("{text}\n").into_bytes(),
        Output::Bytes(bytes) => bytes.clone(),
    };
    let to_file = output.is_some();
    if let Some(file) = output {
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&plain));
        written.or_else(ignore_fixed_size).map_err(|error| {
            let path = about.flags.output.as_deref().unwrap_or(Path::new("")).display();
            Failure::usage(format!("output {path}: {}", readable(&error)))
        })?;
    }
    if about.flags.json {
        print(format!("{}\n", about.finished(finished)).as_bytes())
    } else if to_file {
        Ok(())
    } else {
        print(&plain)
    }
}

/// Devices and pipes cannot be emptied, and need not be.
fn ignore_fixed_size(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == ErrorKind::InvalidInput { Ok(()) } else { Err(error) }
}

/// Writes to stdout. A reader that has gone away has seen what it wanted: that is said, and no error.
pub fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            say("the reader of stdout went away before it had the whole result");
            Ok(())
        }
        Err(error) => Err(Failure {
            code: USAGE,
            message: format!("the result cannot be written to stdout: {error}"),
            backtrace: Vec::new(),
        }),
    }
}

/// Ctrl-C and termination: the run is cancelled, and the process ends soon whatever happens.
struct Interrupt {
    canceller: Arc<Mutex<Option<Canceller>>>,
}

impl Interrupt {
    fn install() -> Result<Self, Failure> {
        let canceller: Arc<Mutex<Option<Canceller>>> = Arc::default();
        let of_handler = canceller.clone();
        let installed = ctrlc::set_handler(move || {
            let canceller = of_handler.lock().ok().and_then(|mut slot| slot.take());
            if let Some(canceller) = canceller {
                canceller.cancel();
                thread::sleep(PATIENCE);
            }
            say("cancelled");
            exit(i32::from(CANCELLED));
        });
        installed.map_err(|error| Failure::usage(format!("Ctrl-C cannot be handled: {error}")))?;
        Ok(Self { canceller })
    }

    fn watch(&self, run: &Run) {
        if let Ok(mut slot) = self.canceller.lock() {
            *slot = Some(run.canceller());
        }
    }
}
