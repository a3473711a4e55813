//! The command line of `sateen-host`.

mod ask;
mod flags;
mod say;

use std::process::ExitCode;
use std::sync::Arc;

use sateen_host::grid::{DataFolder, Options, Stopped, Workers, start};

use flags::{Command, Host};
use say::{GRID, INTERRUPTED, USAGE, fail};

/// Does what the command line says.
pub fn main() -> ExitCode {
    match flags::parse() {
        Ok((Some(command), host)) => ask_host(&command, &host),
        Ok((None, host)) => take_part(host),
        Err(code) => code,
    }
}

fn ask_host(command: &Command, host: &Host) -> ExitCode {
    match host.data_folder() {
        Some(folder) => ask::ask_host(&folder, command),
        None => no_home(),
    }
}

fn no_home() -> ExitCode {
    fail(USAGE, "this user has no home folder; name a data folder with --data-dir")
}

/// Works until it is told to leave.
fn take_part(host: Host) -> ExitCode {
    sateen_log::start(host.log);
    let Some(folder) = host.data_folder() else { return no_home() };
    let folder = match DataFolder::open(&folder) {
        Ok(folder) => folder,
        Err(error) => return fail(USAGE, error),
    };
    let workers = Workers {
        threads: host.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        priority: host.priority.into(),
        memory_bytes_max: host.memory,
    };
    let options = Options {
        coordinator: host.coordinator,
        name: host.name.unwrap_or_else(machine_name),
        site: host.site,
        direct: host.direct.unwrap_or_default(),
        folder,
        signals: true,
        page: host.page,
    };
    let handle = match start(options, Arc::new(workers)) {
        Ok(handle) => handle,
        Err(error) => return fail(USAGE, error),
    };
    match handle.wait() {
        Stopped::Left => ExitCode::SUCCESS,
        Stopped::Interrupted => ExitCode::from(INTERRUPTED),
        // Said already, with the log's other lines.
        Stopped::Abandoned(_) | Stopped::Refused(_) | Stopped::Failed(_) => ExitCode::from(GRID),
    }
}

fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
