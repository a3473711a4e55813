//! `cargo xtask demo`: a grid on this machine, a real problem, a host that dies halfway, the answer.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build::{build_to_show, dist};
use crate::shell::{command, root};

const QUEENS: &str = "17";
/// OEIS A000170.
const ANSWER: &str = "95815104";
/// Half of the work, in seconds of one core, on a machine of 2026. A rough figure suffices.
const HALF_S: f64 = 30.0;
/// Names and sites. One of the last site is killed.
const HOSTS: [(&str, &str); 3] = [("ada", "amsterdam"), ("bob", "amsterdam"), ("cyd", "delft")];
/// Maximum duration of each step.
const PATIENCE: Duration = Duration::from_secs(600);
const PERIOD: Duration = Duration::from_millis(200);
/// The dashboard's usual port.
const USUAL_PORT: u16 = 7700;

/// Builds what is needed, starts a coordinator and three hosts, counts the ways to place 17 queens, and
/// kills a host halfway. Nothing is left running, except with `stay`.
pub fn demo(stay: bool) -> Result<()> {
    build_to_show("nqueens")?;
    eprintln!();
    let mut grid = Grid::start()?;
    let app = root().join("dist/apps/nqueens.wasm").display().to_string();
    eprintln!("In how many ways can {QUEENS} queens stand on a board without attacking each other?");
    let started = Instant::now();
    let run = grid.sateen(&["submit", &app, QUEENS])?;
    eprintln!("run {run}: {} hosts in 2 sites work on it; watch it at {}", HOSTS.len(), grid.url);

    let before = grid.await_run(&run, |about| about["work_s"].as_f64() >= Some(HALF_S))?;
    let victim = victim(&before);
    eprintln!("after {:.1} s: kill -9 of the host {victim}", started.elapsed().as_secs_f64());
    grid.kill(victim);
    let about = grid.await_run(&run, |_| false)?;
    let answer = grid.sateen(&["result", &run])?;
    if answer != ANSWER {
        bail!("the demo's answer is `{answer}` and should be {ANSWER} (OEIS A000170): {about}");
    }
    writeln!(std::io::stdout(), "{answer}")?;
    eprintln!(
        "in {:.1} s, although a host died. OEIS A000170 agrees.",
        about["elapsed_s"].as_f64().unwrap_or_default()
    );
    eprint!("{}", table(&about, victim));
    eprintln!("Write your own: dist/sateen new queens --template search");
    if stay {
        eprintln!("The grid keeps running at {} until Ctrl-C.", grid.url);
        grid.stay()?;
    }
    Ok(())
}

/// A host of the last site that does not have the root job, so that the table shows the recovery of jobs and not of
/// the root.
fn victim(about: &Value) -> &'static str {
    let hosts = about["by_host"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has_root =
        |name: &str| hosts.iter().any(|host| host["name"] == name && host["host"] == about["root_host"]);
    HOSTS.iter().rev().map(|(name, _)| *name).find(|name| !has_root(name)).unwrap_or(HOSTS[0].0)
}

/// A table of the recovered work and its cost.
fn table(about: &Value, victim: &str) -> String {
    let count = |name: &str| about["jobs"][name].as_u64().unwrap_or(0).to_string();
    let figure = |value: &Value| value.as_f64().unwrap_or_default();
    let hosts = about["by_host"].as_array().map(Vec::as_slice).unwrap_or_default();
    let dead_s = hosts.iter().find(|host| host["name"] == victim).map_or(0.0, |host| figure(&host["work_s"]));
    // In tenths of a second, so that what is shown adds up.
    let tenths = |seconds: f64| (seconds * 10.0).round();
    let [all, lost, dead] = [figure(&about["work_s"]), figure(&about["lost_work_s"]), dead_s].map(tenths);
    let seconds = |tenths: f64| format!("{:.1} s", tenths.max(0.0) / 10.0);
    let rows = [
        ("stolen", count("stolen"), "jobs that moved from host to host"),
        ("recorded", count("recorded"), "results that were recorded in case of a crash"),
        ("redone", count("redone"), "jobs that the dead host had not finished, begun again by others;"),
        ("reused", count("reused"), "recorded results below them did not have to be computed again,"),
        ("adopted", count("adopted"), "jobs below them that continued where they ran"),
        ("all work", seconds(all), "of processor time, all hosts together:"),
        ("answer", seconds(all - lost), "of it is in the answer,"),
        ("lost", seconds(lost), "of it was done twice"),
        ("dead host", seconds(dead), "of it was the dead host's until it was killed:"),
        ("kept", seconds(dead - lost), "of that is in the answer,"),
    ];
    let mut text = String::new();
    for (name, value, meaning) in rows {
        let _ = writeln!(text, "  {name:<10} {value:>10}  {meaning}");
    }
    text
}

/// Real processes on loopback, with temporary data folders.
struct Grid {
    coordinator: Child,
    hosts: Vec<(&'static str, Child)>,
    url: String,
    folder: PathBuf,
}

impl Grid {
    fn start() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("sateen-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let address = TcpListener::bind(("127.0.0.1", USUAL_PORT))
            .or_else(|_| TcpListener::bind(("127.0.0.1", 0)))?
            .local_addr()?;
        let mut command = Command::new(dist("sateen-coordinator"));
        command.args(["--listen", &address.to_string()]);
        let coordinator = start(command, "coordinator", &folder)?;
        let url = format!("http://{address}");
        let mut grid = Self { coordinator, hosts: Vec::new(), url, folder };
        grid.await_hosts(0)?;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = (cores / HOSTS.len()).max(1).to_string();
        for (name, site) in HOSTS {
            let mut command = Command::new(dist("sateen-host"));
            command.args(["--coordinator", &grid.url, "--name", name, "--site", site, "--threads", &threads]);
            grid.hosts.push((name, start(command, name, &grid.folder)?));
        }
        grid.await_hosts(HOSTS.len())?;
        Ok(grid)
    }

    /// The output of `dist/sateen WORDS…`.
    fn sateen(&self, words: &[&str]) -> Result<String> {
        let output = command(dist("sateen"), words).env("SATEEN_COORDINATOR", &self.url).output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("sateen {}: {}", words.join(" "), why.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn await_hosts(&self, count: usize) -> Result<()> {
        let started = Instant::now();
        loop {
            // Until the coordinator listens, the command fails.
            if let Ok(text) = self.sateen(&["hosts", "--json"])
                && let Ok(Value::Array(hosts)) = serde_json::from_str(&text)
                && hosts.iter().filter(|host| host["connected"] == true).count() == count
            {
                return Ok(());
            }
            if started.elapsed() > Duration::from_secs(30) {
                bail!("the grid does not start; the logs of its processes:\n{}", self.logs());
            }
            thread::sleep(PERIOD);
        }
    }

    /// Waits until the run is over or meets the condition `wanted`.
    fn await_run(&self, run: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let started = Instant::now();
        loop {
            let about: Value = serde_json::from_str(&self.sateen(&["status", run, "--json"])?)?;
            match about["state"].as_str() {
                Some("done") => return Ok(about),
                Some("failed" | "cancelled") => bail!("run {run} ended badly: {about}"),
                _ if wanted(&about) => return Ok(about),
                _ => {}
            }
            if started.elapsed() > PATIENCE {
                bail!("run {run} takes too long: {about}\n{}", self.logs());
            }
            thread::sleep(PERIOD);
        }
    }

    fn kill(&mut self, name: &str) {
        for (_, host) in self.hosts.iter_mut().filter(|(of, _)| *of == name) {
            // A process that has already exited needs no kill.
            let _ = host.kill();
            let _ = host.wait();
        }
    }

    /// Waits until the coordinator exits, as it does on Ctrl-C.
    fn stay(&mut self) -> Result<()> {
        self.coordinator.wait()?;
        Ok(())
    }

    fn logs(&self) -> String {
        let names = HOSTS.iter().map(|(name, _)| *name).chain(["coordinator"]);
        names
            .map(|name| std::fs::read_to_string(self.folder.join(format!("{name}.log"))).unwrap_or_default())
            .collect()
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        for child in self.hosts.iter_mut().map(|(_, host)| host).chain([&mut self.coordinator]) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts a process with its own data folder and log in `folder`.
fn start(mut command: Command, name: &str, folder: &Path) -> Result<Child> {
    let log = File::create(folder.join(format!("{name}.log")))?;
    command.arg("--data-dir").arg(folder.join(name));
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    command.spawn().with_context(|| format!("{name} cannot be started"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each figure was rounded by itself: 6.5 s of work were 3.3 s in the answer and 3.3 s lost.
    #[test]
    fn the_figures_of_the_table_add_up() {
        let by_host = [json!({"name": "cyd", "work_s": 4.04})];
        let about = json!({"work_s": 6.52, "answer_work_s": 3.26, "lost_work_s": 3.26, "by_host": by_host});
        let text = table(&about, "cyd");
        for (name, value) in
            [("all work", "6.5"), ("answer", "3.2"), ("lost", "3.3"), ("dead host", "4.0"), ("kept", "0.7")]
        {
            let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect("a line");
            assert!(line.contains(&format!(" {value} s ")), "{line}");
        }
    }
}
