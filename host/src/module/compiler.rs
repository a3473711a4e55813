//! Compiling a stranger's module in a process of its own.
//!
//! A module can be built so that compiling it takes minutes and gigabytes, and a compiler cannot be stopped from
//! within. So a host compiles in a child process of its own program. The child has a low priority and limits on
//! its memory and time, and is killed when the module is not wanted any more. It dies with the host.
//!
//! ```text
//! host ── the module's bytes ──► child's stdin
//! child's stdout ──► a new file in the private cache, which the host authenticates when the child has ended well
//! child's stderr ──► why it could not
//! ```

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use sateen_command_line::explained;

use super::attempts::{Attempts, Verdict};
use super::cache::{Code, is_copyable};
use super::program::this_program;
use super::{App, ModuleCache};
use crate::engine::Engine;
use crate::failure::RunError;
use crate::guest::processor::of_other;
use crate::limits::{
    COMPILE_MEMORY_BYTES_MAX, COMPILE_TIME_MAX, COMPILED_BYTES_MAX, COMPILER_ADDRESSES_BYTES, Limits, size,
};
use crate::memory::{HostMemory, resident_bytes};
use crate::scheduler::Priority;

/// The hidden command of `sateen-host` that compiles.
pub const COMPILE_COMMAND: &str = "compile-module";
const STRICT_NAN: &str = "--strict-nan";
const UNPOOLED: &str = "--unpooled";
const IDLE: &str = "--idle";
/// Niceness of the child of a host with normal priority: the host's workers go first, and do not starve the
/// child.
const NICENESS: i32 = 5;

/// How often a child is checked: at first so often that compiling a small app takes no longer.
const LOOK_MIN: Duration = Duration::from_millis(1);
const LOOK_MAX: Duration = Duration::from_millis(20);
/// Maximum bytes read of a child's error message.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

/// Held while compiling: one module at a time, on all idle cores of the machine.
static TURN: Mutex<()> = Mutex::new(());

/// Compiles modules in child processes.
#[derive(Debug, Clone)]
pub struct Compiler {
    /// The program, a `sateen-host`.
    pub program: PathBuf,
    /// Maximum processor time for a module, of all threads together.
    pub time_max: Duration,
    /// Maximum memory for a module, in bytes.
    pub memory_bytes_max: usize,
    /// The child's priority compared with other programs.
    pub priority: Priority,
    /// The guests' memory, if it is limited: the child takes part of it while it runs.
    pub memory: Option<HostMemory>,
    /// Earlier compilations that failed or were stopped.
    pub attempts: Arc<Mutex<Attempts>>,
}

impl Compiler {
    /// Compiles with this very program, within the usual limits; within half of the guests' `memory` if that is
    /// less.
    ///
    /// # Errors
    /// If the system does not report the program's path.
    pub fn of_this_program(memory: Option<HostMemory>, priority: Priority) -> io::Result<Self> {
        let half = memory.as_ref().map_or(usize::MAX, |memory| memory.bytes_max() / 2);
        Ok(Self {
            program: this_program()?,
            priority,
            time_max: COMPILE_TIME_MAX,
            memory_bytes_max: COMPILE_MEMORY_BYTES_MAX.min(half),
            memory,
            attempts: Arc::default(),
        })
    }

    /// Like [`App::load`], but a child compiles the module if the `cache` does not have it. `is_unwanted` is
    /// called regularly. A module that reached a limit before is refused at once, and one whose compilation was
    /// stopped after some processor time rests for a while (see `attempts`).
    ///
    /// # Errors
    /// If the module is refused, exceeds a limit, or is not wanted any more.
    pub fn load(
        &self,
        engine: &Engine,
        bytes: &[u8],
        cache: &ModuleCache,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<App, RunError> {
        App::load_by(engine, bytes, |hash| {
            let broken = || RunError::Host("the code compiled here cannot be loaded".to_owned());
            self.code(engine, (bytes, hash), cache, is_unwanted)?.load(engine).ok_or_else(broken)
        })
    }

    /// The code of the module `bytes` for a process of guests, whose engine has the same settings as `engine`. The module is
    /// inspected first.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn prepare(
        &self,
        engine: &Engine,
        bytes: &[u8],
        cache: &ModuleCache,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<Code, RunError> {
        self.code(engine, (bytes, &blake3::hash(bytes)), cache, is_unwanted)
    }

    fn code(
        &self,
        engine: &Engine,
        (bytes, hash): (&[u8], &blake3::Hash),
        cache: &ModuleCache,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<Code, RunError> {
        if let Some(code) = cache.read(engine, hash) {
            return Ok(code);
        }
        let _turn = self.wait_for_turn(hash, is_unwanted)?;
        // Another run of the same app may have been first.
        if let Some(code) = cache.read(engine, hash) {
            return Ok(code);
        }
        let failed = |error: io::Error| {
            RunError::Host(format!("the app cannot be compiled here: {}", explained(&error)))
        };
        let file = cache.new_file().map_err(failed)?;
        let place = ModuleCache::place_for_code(&file).map_err(failed)?;
        let compiled = self.compile(engine, bytes, place, is_unwanted);
        self.note(hash, &compiled);
        compiled?;
        cache.keep(engine, hash, file, is_copyable(bytes)).map_err(failed)?;
        let broken = || RunError::Host("the code compiled here cannot be loaded".to_owned());
        cache.read(engine, hash).ok_or_else(broken)
    }

    /// Waits until this module may be compiled and no other module is being compiled.
    fn wait_for_turn(
        &self,
        module: &blake3::Hash,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<MutexGuard<'static, ()>, RunError> {
        loop {
            if is_unwanted() {
                return Err(RunError::Cancelled);
            }
            let turn = TURN.try_lock_for(LOOK_MAX);
            // Asked only now, as the previous turn may have compiled this module and failed.
            let verdict = self.attempts.lock().verdict(module, Instant::now());
            match (verdict, turn) {
                (Verdict::Refused(why), _) => return Err(RunError::Host(why)),
                (Verdict::Go, Some(turn)) => return Ok(turn),
                (Verdict::Go, None) => {}
                (Verdict::Rest(until), turn) => {
                    // Other modules go first.
                    drop(turn);
                    std::thread::sleep(LOOK_MAX.min(until.saturating_duration_since(Instant::now())));
                }
            }
        }
    }

    /// Remembers what a compilation has come to.
    fn note(&self, module: &blake3::Hash, compiled: &Result<(), Failure>) {
        let (mut attempts, now) = (self.attempts.lock(), Instant::now());
        match compiled {
            Ok(()) => attempts.note_compiled(module),
            Err(Failure::Unwanted(wasted)) => attempts.note_stopped(module, *wasted, now),
            Err(Failure::Limit(error)) => attempts.note_failed(module, error.to_string(), now),
            Err(Failure::Other(_)) => {}
        }
    }

    /// Compiles the module `bytes` in a child, which writes its code to `code`.
    fn compile(
        &self,
        engine: &Engine,
        bytes: &[u8],
        code: File,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            Failure::Other(RunError::Host(format!("the app cannot be compiled here: {}", explained(&error))))
        };
        let mut command = Command::new(&self.program);
        command.arg(COMPILE_COMMAND).args(engine.strict_nan.then_some(STRICT_NAN));
        command.args((!engine.is_pooled).then_some(UNPOOLED));
        command.args((self.priority == Priority::Idle).then_some(IDLE));
        command.args(["--memory", &self.memory_bytes_max.to_string()]);
        command.args(["--seconds", &self.time_max.as_secs().max(1).to_string()]);
        command.args(["--parent", &std::process::id().to_string()]);
        command.env_clear().stdin(Stdio::piped()).stdout(code).stderr(Stdio::piped());
        let mut child = Killed(command.spawn().map_err(failed)?);
        let (stdin, stderr) = (child.0.stdin.take(), child.0.stderr.take());
        std::thread::scope(|scope| {
            // A child that is killed closes its ends, so neither thread outlives it.
            scope.spawn(move || {
                if let Some(mut stdin) = stdin {
                    // A child that does not read them says why.
                    let _ = stdin.write_all(bytes);
                }
            });
            let complaint = scope.spawn(move || {
                let mut text = Vec::new();
                if let Some(stderr) = stderr {
                    let _ = stderr.take(COMPLAINT_BYTES_MAX).read_to_end(&mut text);
                }
                String::from_utf8_lossy(&text).trim().to_owned()
            });
            let ended = self.watch(&mut child.0, is_unwanted);
            drop(child);
            self.takes(0);
            let complaint = complaint.join().unwrap_or_default();
            match ended? {
                Ended::Well => Ok(()),
                Ended::Badly => Err(self.what_went_wrong(&complaint)),
            }
        })
    }

    /// Waits for a child's end, unless the child exceeds a limit.
    fn watch(&self, child: &mut Child, is_unwanted: &dyn Fn() -> bool) -> Result<Ended, Failure> {
        let started = Instant::now();
        let mut pause = LOOK_MIN;
        loop {
            let ended =
                child.try_wait().map_err(|error| Failure::Other(RunError::Host(explained(&error))))?;
            if let Some(status) = ended {
                return Ok(if status.success() { Ended::Well } else { Ended::Badly });
            }
            let (resident, time) = taken_by(child.id());
            if is_unwanted() {
                return Err(Failure::Unwanted(time));
            }
            self.takes(resident);
            if resident > self.memory_bytes_max {
                return Err(Failure::Limit(self.too_large()));
            }
            if time > self.time_max {
                return Err(Failure::Limit(self.too_long()));
            }
            // On a machine that is busy with other things, it gets no processor time.
            if started.elapsed() > self.time_max.saturating_mul(10) {
                return Err(Failure::Other(RunError::Host(format!(
                    "the app was not compiled here within {} s, as the machine is busy",
                    self.time_max.saturating_mul(10).as_secs()
                ))));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK_MAX);
        }
    }

    /// Notes how much memory the child takes now.
    fn takes(&self, bytes: usize) {
        if let Some(memory) = &self.memory {
            memory.compiles(bytes);
        }
    }

    fn what_went_wrong(&self, complaint: &str) -> Failure {
        if complaint.contains("memory allocation") || complaint.contains("out of memory") {
            Failure::Limit(self.too_large())
        } else if complaint.is_empty() {
            // The system ended it, at one of its limits or for lack of memory.
            let why = "the system ended the compilation of the app here: it took too much time or memory, or its code is too large";
            // That may have been for this once: it is not remembered.
            Failure::Other(RunError::Host(why.to_owned()))
        } else {
            Failure::Other(RunError::BadInput(complaint.to_owned()))
        }
    }

    fn too_large(&self) -> RunError {
        let most = size(self.memory_bytes_max as u64);
        RunError::Host(format!("the app takes more than {most} of memory to compile here"))
    }

    fn too_long(&self) -> RunError {
        let most = self.time_max.as_secs_f64();
        RunError::Host(format!("the app takes more than {most} s of processor time to compile here"))
    }
}

enum Ended {
    Well,
    Badly,
}

/// Why a module was not compiled.
enum Failure {
    /// Nobody wants it any more; the processor time that was spent.
    Unwanted(Duration),
    /// It reached a limit, and would reach it again.
    Limit(RunError),
    /// Any other reason.
    Other(RunError),
}

impl From<Failure> for RunError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unwanted(_) => Self::Cancelled,
            Failure::Limit(error) | Failure::Other(error) => error,
        }
    }
}

/// A child that does not outlive its owner.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The resident memory and the processor time of a process, as far as the system reports them.
fn taken_by(id: u32) -> (usize, Duration) {
    (resident_bytes(&id.to_string()).unwrap_or(0), of_other(id))
}

/// The child's part. Takes the words of its command line, without the command, and prints errors to stderr.
pub fn compile_module(words: &[String]) -> ExitCode {
    match compile_from_stdin(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn compile_from_stdin(words: &[String]) -> Result<(), String> {
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let number = |flag: &str| {
        let at = words.iter().position(|word| word == flag)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    if has(IDLE) {
        Priority::Idle.take();
    } else {
        // A system that forbids it runs the child as any other program.
        let _ = rustix::process::nice(NICENESS);
    }
    confine(number("--memory"), number("--seconds"), number("--parent"));
    let limits = Limits::default();
    let mut bytes = Vec::new();
    let most = limits.module_bytes_max as u64;
    io::stdin().take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let engine = Engine::for_compiling(has(STRICT_NAN), !has(UNPOOLED));
    let engine = engine.map_err(|error| error.to_string())?;
    let module = engine.stoppable(&bytes).map_err(|error| error.to_string())?;
    let code = engine.inner.precompile_module(&module);
    let code = code.map_err(|error| format!("the module cannot be loaded: {error:#}"))?;
    io::stdout().write_all(&code).map_err(|error| error.to_string())
}

/// Limits this process, and makes it die with its parent, where the system can; otherwise, the parent does so alone.
#[cfg(target_os = "linux")]
fn confine(memory_bytes: Option<u64>, seconds: Option<u64>, parent: Option<u64>) {
    use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
    let limit = |resource, most: Option<u64>| {
        let _ = setrlimit(resource, Rlimit { current: most, maximum: most });
    };
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    limit(Resource::As, memory_bytes.map(|bytes| bytes.saturating_add(COMPILER_ADDRESSES_BYTES)));
    limit(Resource::Cpu, seconds.map(|seconds| seconds.saturating_add(1)));
    limit(Resource::Fsize, Some(COMPILED_BYTES_MAX));
    limit(Resource::Core, Some(0));
    // The parent may have died before. In a container, its number is 1.
    let now = rustix::process::getppid().map_or(0, |now| u64::from(now.as_raw_pid().unsigned_abs()));
    if parent.is_some_and(|parent| parent != now) {
        std::process::exit(1);
    }
}

#[cfg(not(target_os = "linux"))]
fn confine(_memory_bytes: Option<u64>, _seconds: Option<u64>, _parent: Option<u64>) {}
