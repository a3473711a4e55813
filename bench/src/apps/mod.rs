//! What shared objects and aborts are worth to the apps that have them, on grids of real processes.

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
const BODIES: [&str; 2] = ["20000", "20"];
/// Workers of each of the hosts that they are on.
const WORKERS: &str = "3";
/// Cities, and which instance.
const CITIES: [&str; 2] = ["60", "1"];
/// Places, and which instance.
const PLACES: [&str; 2] = ["13", "1"];
const MOVES_AHEAD: &str = "14";

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut figures = vec![sent()?];
    figures.extend(searched("tsp", "paths", CITIES)?);
    figures.extend(searched("qap", "bounds", PLACES)?);
    figures.extend(aborts()?);
    figures.extend(update::figures()?);
    Ok(figures)
}

/// Four hosts that say all by way of the coordinator, which counts it.
fn relayed() -> Cluster {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    for name in HOSTS {
        cluster.start_host_with(name, "here", &url, &["--direct", "off", "--threads", WORKERS]);
    }
    cluster.await_hosts(HOSTS.len());
    cluster
}

/// What Barnes-Hut sends with its bodies shared, over what it sends with the bodies in each job.
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
        ensure!(with.1 == without.1, "the bodies are elsewhere: {} {}", with.1, without.1);
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
    Cluster::start(&HOSTS.map(|name| (name, "here")))
}

fn result_of(cluster: &Cluster, module: &str, words: &[&str]) -> Result<(u64, String)> {
    let run = grid::submit(cluster, module, words)?;
    grid::wait(cluster, run, None)?;
    Ok((run, cluster.sateen(["result".to_owned(), run.to_string()]).result().to_owned()))
}

/// How much a search visits with a shared bound, over what it visits without.
fn searched(app: &str, what: &str, instance: [&str; 2]) -> Result<[Figure; 2]> {
    let cluster = direct();
    let module = format!("apps/{app}.wasm");
    let nodes = |function: &str| -> Result<f64> {
        let words = [&["--function", function][..], &instance].concat();
        let (_, text) = result_of(&cluster, &module, &words)?;
        text.trim().parse().with_context(|| format!("{app} counts {text}"))
    };
    let (mut shared, mut at_once, mut in_turn) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        eprintln!("apps: {app}, round {round} of {ROUNDS}");
        shared.push(nodes("nodes")?);
        at_once.push(nodes("unshared")?);
        in_turn.push(nodes("in_turn")?);
    }
    let [shared, at_once, in_turn]: [Samples; 3] =
        [shared, at_once, in_turn].map(|all| all.into_iter().collect());
    let name = format!("{} {}, {what} with a shared bound", app, instance.join(" "));
    Ok([
        Figure::ratio(BENCH, name.clone(), shared.over(&at_once))
            .against(format!("jobs that know what was known when they were spawned, {}", at_once.median()))
            .goal(0.6, 0.6),
        Figure::ratio(BENCH, name, shared.over(&in_turn))
            .against(format!("the same, the most promising done before the others, {}", in_turn.median())),
    ])
}

/// What Othello visits, and how long it computes, with aborts over without.
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
