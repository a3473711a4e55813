//! A grid of real processes on loopback: a coordinator, hosts, and faults.
//!
//! A test process runs one cluster at a time, as each needs the machine's cores for itself; only clusters whose tests
//! mostly wait run in parallel. When a test fails, its cluster shows the log of each process. When a cluster ends, all
//! its published numbers are compared with one another, and all of its processes are killed.

mod api;
mod process;
mod secrets;

pub mod namespaces;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sateen_contradictions::contradictions;
use serde_json::Value;
use tempfile::TempDir;

pub use api::{Api, count, until, work_of};
pub use process::{Process, binary, free_address};
use secrets::Secrets;

use crate::command::{Ended, app, command, ended};
use crate::proxy::Proxy;

/// Maximum wait for anything, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(90);
/// Maximum time for a process to start or end.
pub const SOON: Duration = Duration::from_secs(15);

/// Maximum jobs of an unfinished run that are shown when a test fails.
const OPEN_JOBS_SHOWN: usize = 60;

static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A grid.
pub struct Cluster {
    hosts: BTreeMap<String, Process>,
    coordinator: Option<Process>,
    /// Killed or ended processes, kept for their logs.
    gone: Vec<Process>,
    address: SocketAddr,
    api: Api,
    folder: TempDir,
    /// The reason why its numbers may contradict one another, if they may.
    excuse: Option<&'static str>,
    /// If requests need tokens: an admin's, and the join key of hosts.
    secrets: Option<Secrets>,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Cluster {
    /// Starts a coordinator, and a host of one thread for each of `hosts`, given as names and sites, and waits until
    /// all are connected.
    pub fn start(hosts: &[(&str, &str)]) -> Self {
        Self::start_in(Some(turn()), hosts)
    }

    /// As [`Cluster::start`], for a test that mostly waits: it runs in parallel with others.
    pub fn start_beside_others(hosts: &[(&str, &str)]) -> Self {
        Self::start_in(None, hosts)
    }

    /// As [`Cluster::start`], for a benchmark: comparisons take time, and hosts may be forged, so its numbers are
    /// not compared at its end.
    pub fn start_to_measure(hosts: &[(&str, &str)]) -> Self {
        let mut cluster = Self::start(hosts);
        cluster.excuse("it is measured");
        cluster
    }

    fn start_in(turn: Option<MutexGuard<'static, ()>>, hosts: &[(&str, &str)]) -> Self {
        let mut cluster = Self::empty(turn);
        cluster.start_coordinator();
        cluster.add_hosts(hosts);
        cluster
    }

    fn add_hosts(&mut self, hosts: &[(&str, &str)]) {
        for (name, site) in hosts {
            self.start_host(name, site);
        }
        self.await_hosts(hosts.len());
    }

    fn empty(turn: Option<MutexGuard<'static, ()>>) -> Self {
        let address = free_address();
        Self {
            hosts: BTreeMap::new(),
            coordinator: None,
            gone: Vec::new(),
            address,
            api: Api::new(&format!("http://{address}")),
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
            excuse: None,
            secrets: None,
            _turn: turn,
        }
    }

    /// Allows this cluster's numbers to contradict one another: they are not compared at its end.
    pub fn excuse(&mut self, why: &'static str) {
        self.excuse = Some(why);
    }

    /// The coordinator's API.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The coordinator's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A folder for the test's own files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder of the process `name`; the coordinator's is that of `coordinator`.
    pub fn data_folder(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    /// Starts the coordinator, on its predecessor's data folder, and waits until it answers.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn start_coordinator(&mut self) {
        self.start_coordinator_with(&[]);
    }

    /// As `start_coordinator`, with more words.
    ///
    /// # Panics
    /// When it does not answer.
    #[track_caller]
    pub fn start_coordinator_with(&mut self, more: &[&str]) {
        assert!(self.coordinator.is_none(), "there is a coordinator already");
        let mut command = Command::new(binary("sateen-coordinator"));
        command.args(["--listen", &self.address.to_string(), "--data-dir"]);
        command.arg(self.data_folder("coordinator")).args(more);
        self.coordinator = Some(Process::start("coordinator", command, self.folder.path()));
        until("the coordinator answers", SOON, || {
            let ended = self.coordinator.as_mut().is_none_or(Process::has_ended);
            assert!(!ended, "the coordinator ended at once");
            self.api.try_get("/readyz").filter(|(status, _)| *status == 200)
        });
    }

    /// The coordinator's process.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn coordinator(&mut self) -> &mut Process {
        self.coordinator.as_mut().expect("there is a coordinator")
    }

    /// `kill -9` of the coordinator.
    #[track_caller]
    pub fn kill_coordinator(&mut self) {
        let mut process = self.coordinator.take().expect("there is a coordinator");
        process.kill();
        self.gone.push(process);
    }

    /// Starts a host of one thread.
    #[track_caller]
    pub fn start_host(&mut self, name: &str, site: &str) {
        self.start_host_with(name, site, &format!("http://{}", self.address), &[]);
    }

    /// As `start_host`, for a coordinator at `url`, with more words. Unless these words say otherwise, it has one
    /// worker of normal priority, so that other load on the machine does not delay a test.
    #[track_caller]
    pub fn start_host_with(&mut self, name: &str, site: &str, url: &str, more: &[&str]) {
        let mut command = self.bare_host_command(name, site, url);
        for [option, value] in [["--priority", "normal"], ["--threads", "1"]] {
            if !more.contains(&option) {
                command.args([option, value]);
            }
        }
        command.args(more);
        self.start_host_command(name, command);
    }

    /// As `start_host`; other hosts reach it directly only through the proxy.
    #[track_caller]
    pub fn start_host_behind_proxy(&mut self, name: &str, site: &str) -> Proxy {
        let listen = free_address();
        let proxy = Proxy::start(listen, Duration::ZERO);
        let (listen, advertised) = (listen.to_string(), proxy.address().to_string());
        let url = format!("http://{}", self.address);
        let words = ["--direct", listen.as_str(), "--direct-advertise", advertised.as_str()];
        self.start_host_with(name, site, &url, &words);
        proxy
    }

    /// Starts `command` as the host `name`.
    #[track_caller]
    pub fn start_host_command(&mut self, name: &str, command: Command) {
        let process = Process::start(name, command, self.folder.path());
        let before = self.hosts.insert(name.to_owned(), process);
        assert!(before.is_none(), "there is a host {name} already");
    }

    /// The command that starts a host of one worker, of normal priority.
    pub fn host_command(&self, name: &str, site: &str, url: &str) -> Command {
        let mut command = self.bare_host_command(name, site, url);
        command.args(["--priority", "normal", "--threads", "1"]);
        command
    }

    fn bare_host_command(&self, name: &str, site: &str, url: &str) -> Command {
        let mut command = Command::new(binary("sateen-host"));
        command.args(["--dedicated", "--coordinator", url, "--name", name, "--site", site, "--data-dir"]);
        command.arg(self.data_folder(name));
        if let Some(secrets) = &self.secrets {
            command.env("SATEEN_JOIN_KEY", &secrets.join_key);
        }
        command
    }

    /// Waits until exactly `count` hosts are connected.
    #[track_caller]
    pub fn await_hosts(&self, count: usize) {
        until(&format!("{count} hosts are there"), SOON, || (self.api.hosts().len() == count).then_some(()));
    }

    /// The host's process.
    ///
    /// # Panics
    /// When there is no such host.
    #[track_caller]
    pub fn host(&mut self, name: &str) -> &mut Process {
        self.hosts.get_mut(name).unwrap_or_else(|| panic!("there is a host {name}"))
    }

    /// `kill -9` of a host.
    #[track_caller]
    pub fn kill_host(&mut self, name: &str) {
        let mut process = self.hosts.remove(name).unwrap_or_else(|| panic!("there is a host {name}"));
        process.kill();
        self.gone.push(process);
    }

    /// What a host has logged.
    #[track_caller]
    pub fn host_log(&self, name: &str) -> String {
        self.hosts.get(name).unwrap_or_else(|| panic!("there is a host {name}")).log()
    }

    /// The id of a host's process.
    #[track_caller]
    pub fn host_process(&self, name: &str) -> u32 {
        self.hosts.get(name).unwrap_or_else(|| panic!("there is a host {name}")).id()
    }

    /// Waits until a host has ended by itself, and returns its exit code.
    #[track_caller]
    pub fn host_ended(&mut self, name: &str) -> Option<i32> {
        let mut process = self.hosts.remove(name).unwrap_or_else(|| panic!("there is a host {name}"));
        let status = process.ended(SOON);
        self.gone.push(process);
        status.code()
    }

    /// Runs `sateen-host WORDS… --data-dir` for the host `name`, as its owner would.
    pub fn tell_host(&self, name: &str, words: &[&str]) -> Ended {
        let mut command = Command::new(binary("sateen-host"));
        command.args(words).arg("--data-dir").arg(self.data_folder(name));
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        ended(command)
    }

    /// The status reported by the host `name`; `Null` while it does not answer.
    pub fn host_status(&self, name: &str) -> Value {
        serde_json::from_slice(&self.tell_host(name, &["status", "--json"]).stdout).unwrap_or_default()
    }

    /// `sateen WORDS…`, not yet started, set up for this coordinator.
    pub fn sateen_command<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Command {
        let mut command = command(words);
        command.env("SATEEN_COORDINATOR", format!("http://{}", self.address));
        if let Some(secrets) = &self.secrets {
            command.env("SATEEN_TOKEN", &secrets.admin);
        }
        command
    }

    /// Runs `sateen WORDS…` to its end.
    pub fn sateen<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Ended {
        ended(self.sateen_command(words))
    }

    /// Submits the sample app `name`, and returns the run's number.
    #[track_caller]
    pub fn submit(&self, name: &str, arguments: &[&str]) -> u64 {
        self.submit_module(&app(name), arguments)
    }

    /// Submits a module, and returns the run's number.
    #[track_caller]
    pub fn submit_module(&self, module: &Path, arguments: &[&str]) -> u64 {
        let module = module.display().to_string();
        let ended = self.sateen([&["submit", module.as_str()], arguments].concat());
        ended.result().trim().parse().unwrap_or_else(|_| panic!("a run's number and nothing else: {ended:?}"))
    }

    /// Waits until the run is done, compares its result, and returns its status.
    #[track_caller]
    pub fn done(&self, run: u64, expected: &str) -> Value {
        let about = self.api.run_over(run, PATIENCE);
        assert_eq!(about["state"], "done", "{about:#}");
        let ended = self.sateen(["result".to_owned(), run.to_string()]);
        assert_eq!(ended.result(), expected, "the result of {about:#}");
        about
    }

    /// Waits until the run is running and each of `names` has worked on it for `seconds`.
    #[track_caller]
    pub fn await_work(&self, run: u64, names: &[&str], seconds: f64) -> Value {
        let what = format!("one on which {names:?} have worked for {seconds} s each");
        let about = self.api.run_until(run, &what, PATIENCE, |about| {
            assert_ne!(about["state"], "failed", "{about:#}");
            names.iter().all(|name| work_of(about, name) >= seconds) || about["state"] == "done"
        });
        assert_eq!(about["state"], "running", "it was over before it could be disturbed: {about:#}");
        about
    }

    /// Shows the runs, and the jobs of unfinished runs that are being run or waited for.
    fn show_runs(&self) {
        let Some((_, runs)) = self.api.try_get("/api/v1/runs") else { return };
        for run in runs.as_array().into_iter().flatten() {
            eprintln!("--- run {run:#}");
            let path = format!("/api/v1/runs/{}/tree", run["run"]);
            let nodes = self.api.try_get(&path).map(|(_, tree)| tree["nodes"].clone()).unwrap_or_default();
            let is_open =
                |node: &&Value| ["running", "lost", "given back"].iter().any(|state| node["state"] == *state);
            for node in nodes.as_array().into_iter().flatten().filter(is_open).take(OPEN_JOBS_SHOWN) {
                eprintln!("{node}");
            }
        }
    }

    /// The name of the host that has the run's root job.
    #[track_caller]
    pub fn root_host(&self, run: u64) -> String {
        let about = self.api.run_until(run, "one that somebody has the root of", PATIENCE, |about| {
            !about["root_host"].is_null()
        });
        let root = &about["root_host"];
        let hosts = self.api.hosts();
        // Its id or its name.
        let found = hosts.iter().find(|host| host["id"] == *root || host["name"] == *root);
        let name = found.and_then(|host| host["name"].as_str());
        name.unwrap_or_else(|| panic!("nobody is {root} among {hosts:?}")).to_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let has_failed = std::thread::panicking();
        let is_to_be_asked = !has_failed && self.excuse.is_none();
        let is_there = self.coordinator.as_mut().is_some_and(|coordinator| !coordinator.has_ended());
        let found = if is_to_be_asked && is_there { contradictions(&mut &self.api) } else { Vec::new() };
        if found.is_empty() && !has_failed {
            return;
        }
        self.show_runs();
        for process in self.gone.iter().chain(&self.coordinator).chain(self.hosts.values()) {
            process.show_log();
        }
        assert!(
            found.is_empty(),
            "users are shown numbers that contradict one another:\n{}",
            found.join("\n")
        );
    }
}
