//! The command `sateen` as a user runs it: a real process, and its output.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::root;

/// Time after which a process is considered to hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// The built command.
pub fn sateen() -> PathBuf {
    let path = root().join(format!("dist/sateen{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}

/// A built sample app.
pub fn app(name: &str) -> PathBuf {
    let path = root().join(format!("dist/apps/{name}.wasm"));
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}

/// The command with `arguments`, with a cache of compiled modules that only this test process uses.
pub fn command<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    static CACHE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let cache = CACHE.get_or_init(|| tempfile::tempdir().expect("a temporary folder can be made"));
    let mut command = Command::new(sateen());
    command
        .args(arguments)
        .env("SATEEN_CACHE_DIR", cache.path())
        .env("SATEEN_CONFIG_DIR", cache.path().join("config"))
        .env_remove("SATEEN_COORDINATOR")
        .env_remove("SATEEN_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The output of an ended process.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: Vec<u8>,
    /// Its stderr.
    pub stderr: String,
    /// From its start to its end.
    pub took: Duration,
}

impl Ended {
    /// stdout, which must be text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("stdout is text")
    }

    /// stdout of a process that succeeded with an empty stderr.
    #[track_caller]
    pub fn result(&self) -> &str {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self.text()
    }

    /// stdout as one JSON object on one line.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let text = self.text();
        assert_eq!(text.matches('\n').count(), 1, "one object, one line: {self:?}");
        serde_json::from_str(text).expect("stdout is JSON")
    }

    /// Asserts a clean failure: the exit code `code`, an empty stdout, and exactly one line on
    /// stderr that begins with `sateen: ` and contains each of `words`, without a panic of our own.
    #[track_caller]
    pub fn fails_with(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "exit code of {self:?}");
        assert!(self.stdout.is_empty(), "stdout carries the result and nothing else: {self:?}");
        self.says_one_line(words);
    }

    /// Asserts one clean line on stderr that contains each of `words`.
    #[track_caller]
    pub fn says_one_line(&self, words: &[&str]) {
        let stderr = &self.stderr;
        assert_eq!(stderr.matches('\n').count(), 1, "one line on stderr: {self:?}");
        assert!(stderr.starts_with("sateen: ") && stderr.ends_with('\n'), "{self:?}");
        assert!(
            !stderr.contains("RUST_BACKTRACE") && !stderr.contains("thread '"),
            "a panic of ours: {self:?}"
        );
        let control = stderr.trim_end().chars().find(|character| character.is_control());
        assert_eq!(control, None, "a control character on stderr: {self:?}");
        for word in words {
            assert!(stderr.contains(word), "`{word}` is not in {stderr}");
        }
    }
}

/// Runs `command` to its end.
pub fn ended(mut command: Command) -> Ended {
    let started = Instant::now();
    let child = command.spawn().expect("the command can be started");
    let watched = Watched::over(&child);
    let Output { status, stdout, stderr } = child.wait_with_output().expect("its output can be read");
    watched.done();
    Ended {
        code: status.code(),
        stdout,
        stderr: String::from_utf8(stderr).expect("stderr is text"),
        took: started.elapsed(),
    }
}

/// Runs `sateen` with `arguments` to its end.
pub fn run<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Ended {
    ended(command(arguments))
}

/// Runs `run APP --function FUNCTION ARG…` of the probe app to its end.
pub fn run_probe(function: &str, more: &[&str]) -> Ended {
    ended(probe_command(function, more))
}

/// As `run_probe`, not yet started.
pub fn probe_command(function: &str, more: &[&str]) -> Command {
    let mut command = command(["run"]);
    command.arg(crate::probe::module_path()).args(["--function", function]).args(more);
    command
}

/// Runs `program` with `arguments` in `folder`; panics with its output unless it succeeds.
#[track_caller]
pub fn succeed(program: impl AsRef<OsStr>, arguments: &[&str], folder: &Path) -> Ended {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = ended(command);
    assert_eq!(ended.code, Some(0), "{arguments:?} in {}: {ended:#?}", folder.display());
    ended
}

/// Sends a signal to a process.
pub fn signal(child: &Child, name: &str) {
    assert!(crate::guests::signal(child.id(), name), "the process is gone already");
}

/// Kills a process that hangs, so that its test fails instead of hanging as well.
struct Watched(std::sync::mpsc::Sender<()>);

impl Watched {
    fn over(child: &Child) -> Self {
        let id = child.id().to_string();
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-KILL", &id]).status();
            }
        });
        Self(done)
    }

    fn done(self) {
        let _ = self.0.send(());
    }
}
