//! The command line of `sateen-host`.

mod ask;
mod consent;
mod enrol;
mod flags;
mod key;
mod meet;
mod preference_flags;
mod preferences;
mod priority;
mod say;
mod self_test;
mod service;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use sateen_comfort::governor::Brakes;
use sateen_comfort::preferences::Preferences;
use sateen_comfort::sense::Place;
use sateen_command_line::explained;
#[cfg(target_os = "linux")]
use sateen_host::grid::{Apart, GUESTS_COMMAND, run_guests};
use sateen_host::grid::{
    ComfortOptions, CoordinatorAddress, DataFolder, FolderError, Options, Reread, Runtime, StartError,
    Stopped, Workers, start,
};
use sateen_host::{COMPILE_COMMAND, Compiler, HostMemory, Limits, ModuleCache, Turns, compile_module, size};

use flags::{Command, Host};
use meet::Met;
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
        Ok((Some(Command::Ask(command)), host)) => {
            with_folder(&host, |folder| ask::ask_host(folder, &command))
        }
        Ok((Some(Command::Config(command)), host)) => {
            with_folder(&host, |folder| preferences::config(folder, &host, &command))
        }
        Ok((Some(Command::Key(command)), host)) => with_folder(&host, |folder| key::key(folder, &command)),
        Ok((Some(Command::Service(command)), host)) => {
            with_folder(&host, |folder| service::service(folder, &command))
        }
        Ok((Some(Command::SelfTest { json }), _)) => self_test::test(json),
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
    if joins.is_some()
        && let Err(code) = meet_coordinator(&folder, &known.coordinator, &host.key)
    {
        return code;
    }
    let (priority, is_yes) = (host.priority.into(), host.agreement.yes);
    if let Err(code) = consent::ensure(&folder, &known, priority, is_yes, joins.is_some()) {
        return code;
    }
    let name = host.name.clone().unwrap_or_else(machine_name);
    let shown = match host.key.key() {
        Ok(key) => (key, host.key.pin),
        Err(error) => return fail(USAGE, error),
    };
    let credentials = match enrol::enrol(&folder, &known.coordinator, shown, &name, joins.is_none()) {
        Ok(credentials) => credentials,
        Err(why) => return fail(GRID, why),
    };
    if joins.as_ref().is_some_and(|(_, is_all)| *is_all) {
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
    if let Err(error) = ModuleCache::of_user() {
        let error = explained(&error);
        tracing::warn!("compiled apps are not kept, and each run's app is compiled again: {error}");
    }
    let brakes = Brakes::default();
    let runtime = match runtime(&host, &preferences, &brakes) {
        Ok(runtime) => runtime,
        Err(why) => return fail(GRID, why),
    };
    let (host, path) = (Arc::new(host), folder.path().to_owned());
    let reread = Reread::new(sateen_comfort::preferences::file_path(&path), {
        let host = Arc::clone(&host);
        Box::new(move || {
            let joins = joins.as_ref().map(|(url, _)| url);
            preferences::know(&path, &host, joins).map(|known| known.resolved)
        })
    });
    let reread = match reread {
        Ok(reread) => Some(reread),
        Err(error) => return fail(USAGE, error),
    };
    let place = Place::new(host.agreement.machine.clone());
    let options = Options {
        coordinator: known.coordinator,
        credentials,
        name,
        site: host.site.clone(),
        direct,
        folder,
        signals: true,
        page: host.page,
        run_work_max: host.run_cpu_limit,
        comfort: Some(ComfortOptions { preferences, place, brakes, reread }),
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

/// Makes sure that nothing else answers at the URL of a grid that is joined: a host would wait there for ever.
fn meet_coordinator(
    folder: &DataFolder,
    coordinator: &CoordinatorAddress,
    flags: &enrol::KeyFlags,
) -> Result<(), ExitCode> {
    match meet::meet(folder, coordinator, flags) {
        Met::Coordinator => {}
        Met::Nobody(why) => say::note(&format!(
            "sateen-host: {coordinator} does not answer now ({why}); a host that has joined it tries again until it does"
        )),
        Met::Other(why) => return Err(fail(USAGE, why)),
        Met::Untrusted(why) => return Err(fail(GRID, format!("{coordinator} cannot be joined: {why}"))),
    }
    Ok(())
}

/// Runs guests in processes of their own, if the system has what that needs.
fn runtime(host: &Host, preferences: &Preferences, brakes: &Brakes) -> Result<Arc<dyn Runtime>, String> {
    let threads = preferences
        .limits
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (priority, requires_walls) = (host.priority.into(), preferences.trust.require_walls);
    let bytes_max = preferences.limits.memory_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let compiler = |memory| {
        Compiler::of_this_program(memory, priority)
            .map_err(|error| format!("this program cannot be found: {}", explained(&error)))
    };
    let compiler_apart = compiler(bytes_max.map(HostMemory::unwatched))?;
    let why_not_apart = match apart(threads, compiler_apart, requires_walls, brakes) {
        Ok(runtime) => return Ok(runtime),
        Err(why) if requires_walls => return Err(format!("--require-walls: there are none here: {why}")),
        Err(why) => why,
    };
    tracing::warn!("guests run in this process: {why_not_apart}");
    let memory = bytes_max.map(HostMemory::bounded).transpose();
    let memory = memory.map_err(|error| format!("a thread cannot be started: {}", explained(&error)))?;
    let compiler = Some(compiler(memory.clone())?);
    let turns = Turns::new(threads);
    let (why_not_apart, brakes) = (Some(why_not_apart), brakes.clone());
    Ok(Arc::new(Workers { threads, turns, priority, memory, compiler, why_not_apart, brakes }))
}

#[cfg(target_os = "linux")]
fn apart(
    threads: usize,
    compiler: Compiler,
    requires_walls: bool,
    brakes: &Brakes,
) -> Result<Arc<dyn Runtime>, String> {
    match Apart::new(threads, compiler) {
        Ok(runtime) => {
            let runtime = runtime.requiring_walls(requires_walls).with_brakes(brakes.clone());
            Ok(Arc::new(runtime.with_cgroups()))
        }
        Err(error) => Err(format!("the system lacks what that needs: {}", explained(&error))),
    }
}

#[cfg(not(target_os = "linux"))]
fn apart(
    _threads: usize,
    _compiler: Compiler,
    _requires_walls: bool,
    _brakes: &Brakes,
) -> Result<Arc<dyn Runtime>, String> {
    Err("only Linux has what that needs".to_owned())
}

/// A warning if runs that set no limit on memory are refused with this number of bytes.
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
