//! A system that is driven by Python: a process that takes requests and returns times.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::install::Environment;

/// Maximum wait for a system to stop. Then it is killed.
const STOPS_WITHIN: Duration = Duration::from_secs(60);
/// Lines of its messages that an error has.
const LINES_SHOWN: usize = 3;

/// A started system.
pub struct Session {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Its own files, and its messages.
    folder: TempDir,
}

impl Session {
    /// Starts `bench/peers/on_NAME.py`, and waits until the system has warmed up.
    pub fn start(environment: &Environment, name: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        let programs = std::env::current_exe().context("the path of this program is unknown")?;
        let beside = |name: String| programs.with_file_name(name);
        // Cargo leaves the libraries of dependencies in this folder.
        let library = format!("{}peers_kernel{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let mut child = Command::new(environment.python())
            .arg(scripts.join(format!("on_{name}.py")))
            .env("PYTHONPATH", &scripts)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PEERS_LIBRARY", beside(format!("deps/{library}")))
            .env("PEERS_PROGRAM", beside(format!("peers-kernel{}", std::env::consts::EXE_SUFFIX)))
            .env("PEERS_FOLDER", folder.path())
            // Nothing is written to the user's folder, and nothing is reported to anybody.
            .env("DASK_CONFIG", folder.path())
            .env("RAY_AUTH_MODE", "disabled")
            .env("RAY_USAGE_STATS_ENABLED", "0")
            .env("TQDM_DISABLE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.path().join("messages.txt"))?)
            .spawn()
            .context("Python cannot be started")?;
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("its stdout is a pipe")?);
        let mut session = Self { child, requests, answers, folder };
        let ready = session.answer()?;
        ensure!(ready["ready"] == true, "unexpected answer {ready}");
        Ok(session)
    }

    /// Sends a request, and returns the seconds from its first task to its last result, which must be `expected`.
    pub fn ask(&mut self, request: &Value, expected: &str) -> Result<f64> {
        let requests = self.requests.as_mut().context("it has not been stopped")?;
        writeln!(requests, "{request}").and_then(|()| requests.flush()).context("it takes no requests")?;
        let answer = self.answer()?;
        ensure!(
            answer["result"] == expected,
            "{request} has the result {}, not {expected}",
            answer["result"]
        );
        answer["seconds"].as_f64().with_context(|| format!("{answer} has no time"))
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            bail!("it ended ({status}): {}", self.last_messages());
        }
        serde_json::from_str(&line).with_context(|| format!("unexpected answer {line}"))
    }

    fn last_messages(&self) -> String {
        let text = std::fs::read(self.folder.path().join("messages.txt")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES_SHOWN)..].join(" / ")
    }
}

impl Drop for Session {
    /// The end of its requests stops the system.
    fn drop(&mut self) {
        self.requests = None;
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if since.elapsed() > STOPS_WITHIN {
                eprintln!("peers: a system does not stop, and is killed");
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
