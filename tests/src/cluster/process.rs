//! A process of the cluster, and its log.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::command::signal;
use crate::root;

/// Maximum last lines that are shown when a test fails.
const LINES_SHOWN: usize = 120;
/// Interval between checks while waiting for its end.
const PERIOD: Duration = Duration::from_millis(5);

/// A real process. It is killed when this is dropped.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts `command`; its output is appended to a file in `folder`, after that of an earlier process of
    /// the same name.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(name: &str, mut command: Command, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log).expect("a log can be written");
        let other = file.try_clone().expect("a file has many handles");
        let started = command.stdin(Stdio::null()).stdout(file).stderr(other).spawn();
        let child = started.unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        Self { name: name.to_owned(), child, log, status: None }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its name in the cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a signal, such as `TERM` or `STOP`.
    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// `kill -9`, and waits for its end.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            // A process that has ended by itself cannot be killed.
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("a child can be asked");
        }
        self.status.is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within `patience`.
    #[track_caller]
    pub fn ended(&mut self, patience: Duration) -> ExitStatus {
        let started = Instant::now();
        while !self.has_ended() {
            assert!(started.elapsed() < patience, "{} does not end within {patience:?}", self.name);
            std::thread::sleep(PERIOD);
        }
        self.status.expect("it has just ended")
    }

    /// Its whole log.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Shows the end of its log.
    pub fn show_log(&self) {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        eprintln!("--- {} (process {}, {:?})", self.name, self.id(), self.status);
        for line in &lines[lines.len().saturating_sub(LINES_SHOWN)..] {
            eprintln!("{line}");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A built binary.
///
/// # Panics
/// When it is not built.
pub fn binary(name: &str) -> PathBuf {
    let path = root().join(format!("dist/{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}

/// An unused address of this machine.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address")
}
