//! The command line of `sateen-host`.

mod ask;
mod consent;
mod flags;
mod preference_flags;
mod preferences;
mod say;
mod service;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use sateen_comfort::governor::Brakes;
use sateen_comfort::sense::Place;
use sateen_command_line::explained;
use sateen_host::grid::{
    ComfortOptions, CoordinatorAddress, DataFolder, FolderError, Options, StartError, Stopped, Workers, start,
};
use sateen_host::{COMPILE_COMMAND, Compiler, HostMemory, Limits, Turns, compile_module, size};

use flags::{Command, Host};
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
        Ok((Some(Command::Ask(command)), host)) => {
            with_folder(&host, |folder| ask::ask_host(folder, &command))
        }
        Ok((Some(Command::Config(command)), host)) => {
            with_folder(&host, |folder| preferences::config(folder, &host, &command))
        }
        Ok((Some(Command::Service(command)), host)) => {
            with_folder(&host, |folder| service::service(folder, &command))
        }
        Ok((Some(Command::Join(join)), _)) => take_part(join.host, Some((join.url, join.no_start))),
        Ok((None, host)) => take_part(host, None),
        Err(code) => code,
    }
}

fn with_folder(host: &Host, run: impl FnOnce(&Path) -> ExitCode) -> ExitCode {
    host.data_folder().map_or_else(no_home, |folder| run(&folder))
}

fn no_home() -> ExitCode {
    fail(USAGE, "this user has no home folder; name a data folder with --data-dir")
}

/// Works until it is asked to leave. A host that joins a grid is given its coordinator, and whether it only joins.
fn take_part(host: Host, joins: Option<(CoordinatorAddress, bool)>) -> ExitCode {
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
    let known = match preferences::know(folder.path(), &host, joins.as_ref().map(|(url, _)| url)) {
        Ok(known) => known,
        Err(error) => return fail(USAGE, error),
    };
    known.resolved.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    if let Err(code) = consent::ensure(&folder, &known, host.agreement.yes, joins.is_some()) {
        return code;
    }
    if joins.is_some_and(|(_, is_all)| is_all) {
        say::note(&format!(
            "sateen-host: this machine has joined {}; `sateen-host` begins",
            known.coordinator
        ));
        return ExitCode::SUCCESS;
    }
    let preferences = known.resolved.preferences();
    if let Some(warning) = preferences.limits.memory_bytes.and_then(too_little) {
        tracing::warn!("{warning}");
    }
    let memory = preferences
        .limits
        .memory_bytes
        .map(|bytes| HostMemory::bounded(usize::try_from(bytes).unwrap_or(usize::MAX)));
    let memory = match memory.transpose() {
        Ok(memory) => memory,
        Err(error) => return fail(GRID, format!("a thread cannot be started: {}", explained(&error))),
    };
    let compiler = match Compiler::of_this_program(memory.clone(), host.priority.into()) {
        Ok(compiler) => Some(compiler),
        Err(error) => return fail(GRID, format!("this program cannot be found: {}", explained(&error))),
    };
    let threads = preferences
        .limits
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (turns, priority, brakes) = (Turns::new(threads), host.priority.into(), Brakes::default());
    let workers = Workers { threads, turns, priority, memory, compiler, brakes: brakes.clone() };
    let options = Options {
        coordinator: known.coordinator,
        name: host.name.unwrap_or_else(machine_name),
        site: host.site,
        direct,
        folder,
        signals: true,
        page: host.page,
        run_work_max: host.run_cpu_limit,
        comfort: Some(ComfortOptions { preferences, place: Place::new(host.agreement.machine), brakes }),
    };
    let handle = match start(options, Arc::new(workers)) {
        Ok(handle) => handle,
        Err(error @ StartError::System(_)) => return fail(GRID, error),
        Err(error) => return fail(USAGE, error),
    };
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
