//! The command line of `sateen-host`.

mod ask;
mod flags;
mod say;
mod self_test;

use std::process::ExitCode;
use std::sync::Arc;

use sateen_command_line::explained;
use sateen_host::grid::{DataFolder, FolderError, Options, StartError, Stopped, Workers, start};
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
    let memory = host.memory.map(|bytes| HostMemory::bounded(usize::try_from(bytes).unwrap_or(usize::MAX)));
    let memory = match memory.transpose() {
        Ok(memory) => memory,
        Err(error) => return fail(GRID, format!("a thread cannot be started: {}", explained(&error))),
    };
    let compiler = match Compiler::of_this_program(memory.clone(), host.priority.into()) {
        Ok(compiler) => Some(compiler),
        Err(error) => return fail(GRID, format!("this program cannot be found: {}", explained(&error))),
    };
    let threads = host.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let workers =
        Workers { threads, turns: Turns::new(threads), priority: host.priority.into(), memory, compiler };
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
    let handle = match start(options, Arc::new(workers)) {
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
