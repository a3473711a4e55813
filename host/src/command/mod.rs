//! The command line of `sateen-host`.

mod ask;
mod flags;
mod say;
mod self_test;

use std::process::ExitCode;
use std::sync::Arc;

use sateen_command_line::explained;
#[cfg(target_os = "linux")]
use sateen_host::grid::{Apart, GUESTS_COMMAND, run_guests};
use sateen_host::grid::{DataFolder, FolderError, Options, Runtime, StartError, Stopped, Workers, start};
use sateen_host::{COMPILE_COMMAND, Compiler, HostMemory, Limits, Turns, compile_module, size};

use flags::{Ask, Command, Host};
use say::{GRID, INTERRUPTED, USAGE, fail};

/// Runs the command of the command line.
pub fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // A child of a host: no flag or file but those that it is given.
    if let Some((command, words)) = words.split_first()
        && command == COMPILE_COMMAND
    {
        return compile_module(words);
    }
    #[cfg(target_os = "linux")]
    if words == [GUESTS_COMMAND] {
        sateen_command_line::free_at_once();
        return run_guests();
    }
    match flags::parse() {
        Ok((Some(Command::Generate(what)), _)) => match what.run(flags::program()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(USAGE, error),
        },
        Ok((Some(Command::Ask(command)), host)) => ask_host(&command, &host),
        Ok((Some(Command::SelfTest { json }), _)) => self_test::test(json),
        Ok((None, host)) => take_part(host),
        Err(code) => code,
    }
}

fn ask_host(command: &Ask, host: &Host) -> ExitCode {
    match host.data_folder() {
        Some(folder) => ask::ask_host(&folder, command),
        None => no_home(),
    }
}

fn no_home() -> ExitCode {
    fail(USAGE, "this user has no home folder; name a data folder with --data-dir")
}

/// Works until it is asked to leave.
fn take_part(host: Host) -> ExitCode {
    sateen_command_line::free_at_once();
    sateen_logging::start(host.log);
    let direct = match host.direct() {
        Ok(direct) => direct,
        Err(error) => return fail(USAGE, error),
    };
    let Some(folder) = host.data_folder() else { return no_home() };
    let folder = match DataFolder::open(&folder) {
        Ok(folder) => folder,
        // It may be free again when a service restarts this host.
        Err(error @ FolderError::InUse { .. }) => return fail(GRID, error),
        Err(error) => return fail(USAGE, error),
    };
    if let Some(warning) = host.memory.and_then(too_little) {
        tracing::warn!("{warning}");
    }
    let runtime = match runtime(&host) {
        Ok(runtime) => runtime,
        Err(why) => return fail(GRID, why),
    };
    let options = Options {
        coordinator: host.coordinator,
        name: host.name.unwrap_or_else(machine_name),
        site: host.site,
        direct,
        folder,
        signals: true,
        page: host.page,
        run_work_max: host.run_cpu_limit,
    };
    let handle = match start(options, runtime) {
        Ok(handle) => handle,
        Err(error @ StartError::System(_)) => return fail(GRID, error),
        Err(error) => return fail(USAGE, error),
    };
    if let Err(error) = self_test::test_daily(handle.health()) {
        tracing::warn!(error = explained(&error), "the self-test does not run");
    }
    match handle.wait() {
        Stopped::Left => ExitCode::SUCCESS,
        Stopped::Interrupted => ExitCode::from(INTERRUPTED),
        // Said already, with the log's other lines.
        Stopped::Abandoned(_) | Stopped::Failed(_) => ExitCode::from(GRID),
    }
}

/// Runs guests in processes of their own, if the system has what that needs.
fn runtime(host: &Host) -> Result<Arc<dyn Runtime>, String> {
    let threads = host.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let priority = host.priority.into();
    let bytes_max = host.memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let compiler = |memory| {
        Compiler::of_this_program(memory, priority)
            .map_err(|error| format!("this program cannot be found: {}", explained(&error)))
    };
    let compiler_apart = compiler(bytes_max.map(HostMemory::unwatched))?;
    let why_not_apart = match apart(threads, compiler_apart, host.require_walls) {
        Ok(runtime) => return Ok(runtime),
        Err(why) if host.require_walls => return Err(format!("--require-walls: there are none here: {why}")),
        Err(why) => why,
    };
    tracing::warn!("guests run in this process: {why_not_apart}");
    let memory = bytes_max.map(HostMemory::bounded).transpose();
    let memory = memory.map_err(|error| format!("a thread cannot be started: {}", explained(&error)))?;
    let compiler = Some(compiler(memory.clone())?);
    let turns = Turns::new(threads);
    let why_not_apart = Some(why_not_apart);
    Ok(Arc::new(Workers { threads, turns, priority, memory, compiler, why_not_apart }))
}

#[cfg(target_os = "linux")]
fn apart(threads: usize, compiler: Compiler, requires_walls: bool) -> Result<Arc<dyn Runtime>, String> {
    match Apart::new(threads, compiler) {
        Ok(runtime) => Ok(Arc::new(runtime.requiring_walls(requires_walls))),
        Err(error) => Err(format!("the system lacks what that needs: {}", explained(&error))),
    }
}

#[cfg(not(target_os = "linux"))]
fn apart(_threads: usize, _compiler: Compiler, _requires_walls: bool) -> Result<Arc<dyn Runtime>, String> {
    Err("only Linux has what that needs".to_owned())
}

/// A warning if runs that set no limit on memory are refused with so many bytes.
fn too_little(bytes: u64) -> Option<String> {
    const MEBIBYTE: u64 = 1 << 20;
    let least = Limits::default().memory_bytes_max as u64;
    (bytes < least).then(|| {
        format!(
            "this host refuses runs with default limits: their instances may have {} each, and --memory is {}; --memory {}M is \
             the least that takes them",
            size(least),
            size(bytes),
            least.div_ceil(MEBIBYTE)
        )
    })
}

fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
