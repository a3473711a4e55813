//! How much the times of equal searches with a shared bound differ while processors are taken away at random. In the
//! worst cases, the host with the most promising part gets no processor time, and all others search in vain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::thread::CpuSet;
use sateen_tests::cluster::Cluster;
use sateen_tests::random::{Random, seed};

use crate::cores;
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "spread";
const HOSTS: [(&str, &str); 4] = [("a", "one"), ("b", "one"), ("c", "two"), ("d", "two")];
const RUNS: u32 = 100;
/// Maximum time for which a core is taken away, and for which it is free in between.
const TAKEN_MAX_MS: usize = 400;
const FREE_MAX_MS: usize = 400;
/// Seed of the random choices.
const SEED: u64 = 1;

/// A search with a shared bound.
struct Search {
    app: &'static str,
    /// The number of cities or places, and the seed of the instance.
    instance: [&'static str; 2],
    /// The same search, begun with a poor solution.
    poor: &'static str,
}

const SEARCHES: [Search; 2] = [
    Search { app: "tsp", instance: ["48", "3"], poor: "nodes" },
    Search { app: "qap", instance: ["12", "1"], poor: "nodes" },
];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let cores = cores::each()?;
    let mut grid = Cluster::start_to_measure(&[]);
    let url = format!("http://{}", grid.address());
    // Each on one core, so that some have a core while others have none.
    for ((name, site), core) in HOSTS.iter().zip(cores.iter().cycle()) {
        cores::on(core, || grid.start_host_with(name, site, &url, &["--priority", "idle"]))?;
    }
    grid.await_hosts(HOSTS.len());
    let takers = Takers::start(&cores, seed(SEED));
    let figures = SEARCHES.iter().map(|search| search.figures(&grid)).collect::<Result<Vec<_>>>();
    takers.stop();
    Ok(figures?.concat())
}

impl Search {
    fn figures(&self, grid: &Cluster) -> Result<Vec<Figure>> {
        let Self { app, instance, poor } = self;
        let module = format!("apps/{app}.wasm");
        // Hosts fetch and compile the apps.
        grid::run(grid, &module, instance, None)?;
        let words = [&["--function", poor][..], instance].concat();
        let (mut times, mut poor_times) = (Vec::new(), Vec::new());
        for round in 1..=RUNS {
            if round % 10 == 1 {
                eprintln!("spread: {app}, run {round} of {RUNS}");
            }
            times.push(grid::run(grid, &module, instance, None)?);
            poor_times.push(grid::run(grid, &module, &words, None)?);
        }
        let [times, poor_times] = [times, poor_times].map(|all| all.into_iter().collect::<Samples>());
        let figure = |times: &Samples, name: String| {
            let worst = std::iter::once(times.max() / times.median()).collect();
            let about = format!("the median of {RUNS} runs, {} ms", shown(times.median() * 1e3));
            Figure::ratio(BENCH, name, worst).against(about)
        };
        let name = format!("{app} {}, four hosts, two busy cores: worst of {RUNS} runs", instance.join(" "));
        Ok(vec![
            figure(&poor_times, format!("{name}, begun with a poor solution")),
            figure(&times, name).goal(10.0, 5.0),
        ])
    }
}

/// Threads of normal priority, one per core, which take the core away from hosts now and then.
struct Takers {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Takers {
    fn start(cores: &[CpuSet], seed: u64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = cores.iter().zip(seed..).map(|(core, seed)| {
            let (core, is_over) = (*core, Arc::clone(&is_over));
            thread::spawn(move || cores::on(&core, || take(&is_over, &mut Random::new(seed))))
        });
        Self { threads: threads.collect(), is_over }
    }

    fn stop(self) {
        self.is_over.store(true, Relaxed);
        for thread in self.threads {
            if let Err(error) = thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked"))) {
                eprintln!("spread: a core was not taken away: {error:#}");
            }
        }
    }
}

fn take(is_over: &AtomicBool, random: &mut Random) {
    let mut time = |most_ms: usize| Duration::from_millis(random.below(most_ms) as u64);
    while !is_over.load(Relaxed) {
        let (since, taken) = (Instant::now(), time(TAKEN_MAX_MS));
        while since.elapsed() < taken {
            std::hint::spin_loop();
        }
        thread::sleep(time(FREE_MAX_MS));
    }
}
