//! The gain from shared objects and aborts in the apps that use them, on grids of real processes.

mod update;

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::Cluster;

use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "apps";
const ROUNDS: usize = 3;
const HOSTS: [&str; 4] = ["a", "b", "c", "d"];
/// Bodies and steps.
const BODIES: [&str; 2] = ["40000", "20"];
/// Workers of each host of that benchmark.
const WORKERS: &str = "3";
const MOVES_AHEAD: &str = "14";

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut figures = vec![sent()?];
    for search in &SEARCHES {
        figures.push(search.figure()?);
    }
    figures.extend(aborts()?);
    figures.extend(update::figures()?);
    Ok(figures)
}

/// Four hosts that send everything through the coordinator, which counts the bytes.
fn relayed() -> Cluster {
    let mut cluster = Cluster::start_to_measure(&[]);
    let url = format!("http://{}", cluster.address());
    for name in HOSTS {
        cluster.start_host_with(name, "here", &url, &["--direct", "off", "--threads", WORKERS]);
    }
    cluster.await_hosts(HOSTS.len());
    cluster
}

/// Bytes that Barnes-Hut sends with its bodies shared, over those that it sends with the bodies in each job.
fn sent() -> Result<Figure> {
    let cluster = relayed();
    let bytes = |flags: &[&str]| -> Result<(f64, String)> {
        let before = cluster.api().metric("sateen_relayed_bytes_total");
        let run = grid::submit(&cluster, "apps/barneshut.wasm", &[&BODIES[..], flags].concat())?;
        grid::wait(&cluster, run, None)?;
        let result = cluster.sateen(["result".to_owned(), run.to_string()]).result().to_owned();
        Ok((cluster.api().metric("sateen_relayed_bytes_total") - before, result))
    };
    let (mut shared, mut carried) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        eprintln!("apps: Barnes-Hut, round {round} of {ROUNDS}");
        let (with, without) = (bytes(&["--", "--shared"])?, bytes(&[])?);
        ensure!(with.1 == without.1, "the bodies' positions differ: {} {}", with.1, without.1);
        if round > 0 {
            shared.push(with.0);
            carried.push(without.0);
        }
    }
    let [shared, carried]: [Samples; 2] = [shared, carried].map(|all| all.into_iter().collect());
    let about = format!(
        "the bodies in each job, {} MB; shared, {} MB: {} bodies, {} steps, four hosts of {WORKERS} workers",
        shown(carried.median() / 1e6),
        shown(shared.median() / 1e6),
        BODIES[0],
        BODIES[1]
    );
    Ok(Figure::ratio(BENCH, "Barnes-Hut, bytes from host to host with shared bodies", shared.over(&carried))
        .against(about)
        .goal(0.05, 0.005))
}

/// Four hosts on loopback.
fn direct() -> Cluster {
    Cluster::start_to_measure(&HOSTS.map(|name| (name, "here")))
}

fn result_of(cluster: &Cluster, module: &str, words: &[&str]) -> Result<(u64, String)> {
    let run = grid::submit(cluster, module, words)?;
    grid::wait(cluster, run, None)?;
    Ok((run, cluster.sateen(["result".to_owned(), run.to_string()]).result().to_owned()))
}

/// A search with a shared bound, and without.
struct Search {
    app: &'static str,
    /// The number of cities or places, and the seed of the instance.
    instance: [&'static str; 2],
    /// The unit that is counted.
    what: &'static str,
    /// The function that does not share the bound, and what it does instead.
    without: [&'static str; 2],
}

/// Jobs that are spawned at once with the knowledge of that moment.
const AT_ONCE: [&str; 2] = ["unshared", "jobs that know what was known when they were spawned"];
/// The most promising job runs before the others, which know more but have to wait for it.
const IN_TURN: [&str; 2] = ["in_turn", "jobs that know that, and what the most promising of them has found"];

const SEARCHES: [Search; 4] = [
    Search { app: "tsp", instance: ["24", "5"], what: "paths", without: AT_ONCE },
    Search { app: "tsp", instance: ["60", "1"], what: "paths", without: IN_TURN },
    Search { app: "qap", instance: ["11", "1"], what: "bounds", without: AT_ONCE },
    Search { app: "qap", instance: ["13", "1"], what: "bounds", without: IN_TURN },
];

impl Search {
    /// The amount visited with a shared bound, over the amount without.
    fn figure(&self) -> Result<Figure> {
        let Self { app, instance, what, without: [function, way] } = self;
        let cluster = direct();
        let module = format!("apps/{app}.wasm");
        let nodes = |function: &str| -> Result<f64> {
            let words = [&["--function", function][..], instance].concat();
            let (_, text) = result_of(&cluster, &module, &words)?;
            text.trim().parse().with_context(|| format!("{app} counts {text}"))
        };
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            eprintln!("apps: {app}, {function}, round {round} of {ROUNDS}");
            with.push(nodes("nodes")?);
            without.push(nodes(function)?);
        }
        let [with, without]: [Samples; 2] = [with, without].map(|all| all.into_iter().collect());
        let name = format!("{app} {}, {what} with a shared bound", instance.join(" "));
        let figure =
            Figure::ratio(BENCH, name, with.over(&without)).against(format!("{way}: {}", without.median()));
        // The other way reduces parallelism.
        Ok(if self.without == AT_ONCE { figure.goal(0.6, 0.6) } else { figure })
    }
}

/// Othello's visited positions and computing time, with aborts over without.
fn aborts() -> Result<Vec<Figure>> {
    let cluster = direct();
    let search = |flags: &[&str]| -> Result<(f64, f64, String)> {
        let words = [&["search", MOVES_AHEAD, "--", "--stats"][..], flags].concat();
        let (run, text) = result_of(&cluster, "apps/othello.wasm", &words)?;
        let (answer, count) = text.trim().rsplit_once('\n').context("three lines")?;
        let count = count.strip_suffix(" positions").and_then(|count| count.parse().ok());
        let work_s = cluster.api().run(run)["work_s"].as_f64().context("a run has work")?;
        Ok((count.context("a count of positions")?, work_s, answer.to_owned()))
    };
    let (mut visited, mut work) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 1..=ROUNDS {
        eprintln!("apps: othello, round {round} of {ROUNDS}");
        let (with, without) = (search(&[])?, search(&["--no-abort"])?);
        ensure!(with.2 == without.2, "aborts change the answer: {} {}", with.2, without.2);
        for (place, found) in [with, without].into_iter().enumerate() {
            visited[place].push(found.0);
            work[place].push(found.1);
        }
    }
    let samples = |all: [Vec<f64>; 2]| -> [Samples; 2] { all.map(|all| all.into_iter().collect()) };
    let [with, without] = samples(visited);
    let [work_with, work_without] = samples(work);
    Ok(vec![
        Figure::ratio(
            BENCH,
            "Othello, work with aborts, aborted work included",
            work_with.over(&work_without),
        )
        .against(format!("the same without, {} s", shown(work_without.median())))
        .goal(0.6, 0.6),
        Figure::ratio(BENCH, "Othello, positions of the answers that were used", with.over(&without))
            .against(format!("the same without aborts, {}", without.median())),
    ])
}
