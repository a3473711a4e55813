//! The systems that are compared, each with two workers on this machine.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use sateen_tests::cluster::Cluster;
use serde_json::json;

use super::install::{Environment, pinned};
use super::session::Session;
use crate::measure::time;
use crate::native::{rayon_pool, rayon_queens, rayon_uts};
use crate::sandbox::dist;

/// Workers of each system.
pub const WORKERS: usize = 2;
/// The hosts of the grid, of one worker each.
pub const HOSTS: [&str; WORKERS] = ["a", "b"];
const SITE: &str = "here";

/// One of the systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Native code with rayon.
    Rayon,
    /// `sateen run` with two workers.
    Process,
    /// A coordinator of Sateen and two hosts of one worker.
    Grid,
    /// Ray on this machine.
    Ray,
    /// Dask.distributed's local cluster, with processes.
    Dask,
    /// HyperQueue's local cluster.
    HyperQueue,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Rayon, Self::Process, Self::Grid, Self::Ray, Self::Dask, Self::HyperQueue];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rayon => "rayon",
            Self::Process => "sateen run",
            Self::Grid => "Sateen's grid",
            Self::Ray => "Ray",
            Self::Dask => "Dask",
            Self::HyperQueue => "HyperQueue",
        }
    }

    /// The package that it is installed from, and the name of its script.
    fn package(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Ray => Some(("ray", "ray")),
            Self::Dask => Some(("distributed", "dask")),
            Self::HyperQueue => Some(("hyperqueue", "hyperqueue")),
            Self::Rayon | Self::Process | Self::Grid => None,
        }
    }

    /// Whether it is a system of others, which may be missing.
    pub fn is_peer(self) -> bool {
        self.package().is_some()
    }

    /// Whether its tasks run in Sateen's sandbox.
    pub fn is_sandboxed(self) -> bool {
        matches!(self, Self::Process | Self::Grid)
    }

    /// Its name with its version, where it is pinned here.
    pub fn versioned(self) -> String {
        let version = self.package().and_then(|(package, _)| Some(pinned(package).ok()?.split_once("==")?.1));
        version.map_or_else(|| self.name().to_owned(), |version| format!("{} {version}", self.name()))
    }
}

/// N queens, with the number of solutions.
#[derive(Debug, Clone, Copy)]
pub struct Queens {
    /// The board's size.
    pub size: u32,
    /// Rows that a task's queens already stand in, where tasks are cut by hand.
    pub rows: u32,
    /// The number of solutions.
    pub answer: u64,
}

/// Equal, independent tasks.
#[derive(Debug, Clone)]
pub struct Bag {
    /// The number of tasks.
    pub jobs: u64,
    /// Turns of a task in native code.
    pub native: u64,
    /// Turns of a task in the sandbox.
    pub sandboxed: u64,
    /// The result of native code.
    pub native_answer: String,
    /// The result of the sandbox.
    pub sandboxed_answer: String,
}

/// Whether a killed host is started again. Ray and Dask always replace a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// As soon as it has been killed.
    AtOnce,
    /// Not in this run.
    Never,
}

/// A system that has started and warmed up.
pub enum System {
    /// [`Kind::Rayon`].
    Rayon(rayon::ThreadPool),
    /// [`Kind::Process`].
    Process,
    /// [`Kind::Grid`].
    Grid(Box<Cluster>),
    /// Driven by Python.
    Python(Session),
}

impl System {
    /// Starts `kind`, and warms it up: Sateen has compiled the apps, Python's workers have loaded the library.
    pub fn start(kind: Kind, environment: &Environment) -> Result<Self> {
        if let Some((package, script)) = kind.package() {
            environment.install(package)?;
            return Ok(Self::Python(Session::start(environment, script)?));
        }
        let mut system = match kind {
            Kind::Rayon => Self::Rayon(rayon_pool(WORKERS)?),
            Kind::Grid => Self::Grid(Box::new(Cluster::start_to_measure(&HOSTS.map(|host| (host, SITE))))),
            _ => Self::Process,
        };
        system.queens(&Queens { size: 8, rows: 2, answer: 92 })?;
        let answer = coarse::plain(50, 1000).to_string();
        system.bag(&Bag {
            jobs: 50,
            native: 1000,
            sandboxed: 1000,
            native_answer: answer.clone(),
            sandboxed_answer: answer,
        })?;
        Ok(system)
    }

    /// Seconds for `queens`. Sateen's app spawns by its own rule, and rayon joins in these rows.
    pub fn queens(&mut self, queens: &Queens) -> Result<f64> {
        let Queens { size, rows, answer } = *queens;
        match self {
            Self::Rayon(pool) => {
                let (took, found) = time(|| pool.install(|| rayon_queens(nqueens::Board::empty(size), rows)));
                ensure!(found == answer, "rayon finds {found} solutions, not {answer}");
                Ok(took.wall)
            }
            Self::Python(session) => {
                let request = json!({ "do": "queens", "size": size, "rows": rows });
                session.ask(&request, &answer.to_string())
            }
            Self::Process | Self::Grid(_) => {
                self.sateen("apps/nqueens.wasm", &[size.to_string()], &answer.to_string())
            }
        }
    }

    /// Seconds for the tree T`number` of UTS, of which a task of others is a subtree at `depth`.
    pub fn uts(&mut self, number: u64, depth: u32) -> Result<f64> {
        let tree = uts::Tree::of(number).with_context(|| format!("there is no tree {number}"))?;
        let answer = tree.nodes();
        match self {
            Self::Rayon(pool) => {
                let root = tree.root();
                let (took, below) = time(|| pool.install(|| rayon_uts(root, 0, root.children())));
                ensure!(1 + below == answer, "rayon finds {below} nodes below the root of {answer}");
                Ok(took.wall)
            }
            Self::Python(session) => {
                session.ask(&json!({ "do": "uts", "tree": number, "depth": depth }), &answer.to_string())
            }
            Self::Process | Self::Grid(_) => {
                self.sateen("bench/uts.wasm", &[number.to_string()], &answer.to_string())
            }
        }
    }

    /// Seconds for `queens`, of which a worker is killed after `kill_after_s` seconds. On a grid, it is that of a host which
    /// `round` chooses, so that the root's host is among them.
    pub fn queens_disturbed(
        &mut self,
        queens: &Queens,
        kill_after_s: f64,
        returns: Return,
        round: usize,
    ) -> Result<f64> {
        let Queens { size, rows, answer } = *queens;
        match self {
            Self::Python(session) => {
                let request =
                    json!({ "do": "queens", "size": size, "rows": rows, "kill_after_s": kill_after_s });
                session.ask(&request, &answer.to_string())
            }
            Self::Grid(cluster) => {
                cluster.await_hosts(HOSTS.len());
                let mut command = cluster.sateen_command(["submit", "--wait", "--quiet"]);
                command.arg(dist().join("apps/nqueens.wasm")).arg(size.to_string());
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let (took, output) = time(|| {
                    let child = command.spawn()?;
                    std::thread::sleep(Duration::from_secs_f64(kill_after_s));
                    let victim = HOSTS[round % HOSTS.len()];
                    cluster.kill_host(victim);
                    if returns == Return::AtOnce {
                        cluster.start_host(victim, SITE);
                    }
                    child.wait_with_output()
                });
                right(&output?, &answer.to_string())?;
                Ok(took.wall)
            }
            Self::Rayon(_) | Self::Process => bail!("all its workers are threads of one process"),
        }
    }

    /// Seconds for `bag`.
    pub fn bag(&mut self, bag: &Bag) -> Result<f64> {
        let Bag { jobs, native, sandboxed, native_answer, sandboxed_answer } = bag;
        match self {
            Self::Rayon(pool) => {
                let seeds: Vec<u64> = (0..*jobs).collect();
                // Each task on its own, as in the other systems.
                let tasks = || {
                    let states = seeds.par_iter().with_max_len(1).map(|seed| coarse::spin(*native, *seed));
                    states.reduce(|| 0, |all, state| all ^ state)
                };
                let (took, found) = time(|| pool.install(tasks));
                ensure!(found.to_string() == *native_answer, "rayon's result is wrong");
                Ok(took.wall)
            }
            Self::Python(session) => {
                session.ask(&json!({ "do": "bag", "jobs": jobs, "turns": native }), native_answer)
            }
            Self::Process | Self::Grid(_) => {
                self.sateen("bench/coarse.wasm", &[jobs.to_string(), sandboxed.to_string()], sandboxed_answer)
            }
        }
    }

    /// Seconds of a whole command `sateen run` or `sateen submit --wait`, the start of its process included.
    fn sateen(&self, module: &str, words: &[String], expected: &str) -> Result<f64> {
        let module = dist().join(module);
        let mut command = match self {
            Self::Grid(cluster) => cluster.sateen_command(["submit", "--wait", "--quiet"]),
            _ => {
                let mut command = Command::new(dist().join("sateen"));
                command.args(["run", "--quiet", "--threads", &WORKERS.to_string()]);
                command
            }
        };
        command.arg(module).args(words).stdin(Stdio::null());
        let (took, output) = time(|| command.output());
        right(&output.context("`sateen` cannot be started")?, expected)?;
        Ok(took.wall)
    }
}

/// Checks a command's result.
fn right(output: &Output, expected: &str) -> Result<()> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result = String::from_utf8_lossy(&output.stdout);
    ensure!(result.trim() == expected, "Sateen's result is {result}, not {expected}");
    Ok(())
}
