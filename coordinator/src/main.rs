//! `sateen-coordinator`: parses flags, logs, and serves.
#![forbid(unsafe_code)]

mod flags;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use sateen_command_line::explained;
use sateen_coordinator::{CertificateError, Config, Tls, listen, make_token, prepare, run};
use tokio::signal::unix::{SignalKind, signal};

use flags::{Command, Flags, NewToken, TokenCommand};

/// Exit code for wrong usage.
const USAGE: u8 = 2;
/// Exit code when the service cannot run.
const UNABLE: u8 = 4;

fn main() -> ExitCode {
    let flags = match sateen_command_line::parsed::<Flags>(std::env::args_os()) {
        Ok(flags) => flags,
        Err(error) if error.use_stderr() => return fail(USAGE, &anyhow!(flags::one_line(&error))),
        Err(help) => {
            // Nowhere to say it if this fails.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match flags.command {
        Some(Command::Generate(what)) => {
            return match what.run(flags::program()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail(USAGE, &anyhow!(error)),
            };
        }
        Some(Command::Token(TokenCommand::New(new))) => {
            return make(new).map_or_else(|error| fail(UNABLE, &error), |()| ExitCode::SUCCESS);
        }
        None => {}
    }
    sateen_command_line::free_at_once();
    sateen_logging::start(flags.log);
    if let Err(error) = flags.protection().check(flags.listen) {
        return fail(USAGE, &error.into());
    }
    match serve(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(exit_code(&error), &error),
    }
}

/// Files that were named on the command line and are of no use are wrong usage.
fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<sateen_coordinator::Error>() {
        Some(sateen_coordinator::Error::Certificate(
            CertificateError::File { .. } | CertificateError::OtherKey { .. },
        )) => USAGE,
        _ => UNABLE,
    }
}

fn fail(code: u8, error: &anyhow::Error) -> ExitCode {
    note(&format!("{error:#}"));
    ExitCode::from(code)
}

/// A line on stderr, whatever is logged.
fn note(line: &str) {
    // Nowhere to say it if this fails.
    let _ = writeln!(std::io::stderr(), "sateen-coordinator: {line}");
}

/// Makes a token, and prints its secret.
fn make(new: NewToken) -> Result<()> {
    let data_dir = match new.data_dir {
        Some(folder) => folder,
        None => default_data_dir()?,
    };
    let (name, secret) = make_token(&data_dir, new.scope, new.name, new.expires)?;
    writeln!(std::io::stdout(), "{}", secret.text())?;
    note(&format!(
        "the token `{name}` has the scope {}; it is not kept and cannot be shown again",
        new.scope
    ));
    Ok(())
}

fn serve(flags: Flags) -> Result<()> {
    let protection = flags.protection();
    let data_dir = match flags.data_dir {
        Some(folder) => folder,
        None => default_data_dir()?,
    };
    let prepared = prepare(Config {
        data_dir,
        protection: protection.clone(),
        public_names: flags.public_names,
        blobs_bytes_max: flags.room.blobs_max,
        trees_kept: flags.trees_kept,
        results_bytes_max: flags.room.results_max,
        retention: flags.room.retention(),
        kept_bytes_max: flags.room.reuse_max,
        new_grid: flags.new_grid,
        approve: flags.approve,
        minimum_version: flags.minimum_version,
    })?;
    prepared.check(flags.listen)?;
    let tls = prepared.tls(flags.listen)?;
    if let Some(what) = protection.exposure(flags.listen) {
        note(&format!("WARNING: {what}"));
    }
    if let Some(pin) = tls.as_ref().and_then(Tls::pin) {
        note(&format!("clients give the fingerprint of its certificate authority: --pin {pin}"));
    }
    let sockets = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(socket_threads())
        .thread_name("sateen-sockets")
        .enable_all()
        .build()?;
    sockets.block_on(async {
        // Before anything is served: a signal in between would end the process at once.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let listener = listen(flags.listen).map_err(|error| {
            let why = explained(&error);
            anyhow!("cannot listen on {}: {why}; choose another address with --listen", flags.listen)
        })?;
        // Callers that used port 0 learn the address here.
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        match writeln!(std::io::stdout(), "sateen-coordinator listens on {scheme}://{address}") {
            // It serves others without a reader of that line.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written?,
        }
        let shutdown = async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        Ok(run(prepared, listener, tls, shutdown).await?)
    })
}

/// A frame that is passed on by the thread that read it arrives sooner than one that wakes another thread:
/// steals that are relayed take 1.5 times as long as direct ones on one thread, 2.2 times on two. One thread
/// passes on some 100,000 frames a second.
fn socket_threads() -> usize {
    const CORES_PER_THREAD: usize = 8;
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(CORES_PER_THREAD))
}

fn default_data_dir() -> Result<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "sateen")
        .context("this system has no standard folder for data; choose one with --data-dir")?;
    Ok(folders.data_dir().join("coordinator"))
}
