//! A host that lies, among three that do not, real processes: whether the answers of checked runs are right, whether the liar
//! is named and nobody else, and what quorums and audits cost where nobody lies.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use sateen_protocol::RunId;
use sateen_tests::cluster::Cluster;
use sateen_tests::lying_host::{self, Lies};
use serde_json::Value;

use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "liars";
/// Runs with a liar, each on a grid of its own.
const RUNS: u64 = 20;
/// Rounds without one, after one that does not count.
const ROUNDS: usize = 5;
/// The liar lies about one job in this many.
const ONE_IN: u64 = 10;
const LIAR: &str = "eve";
const HONEST: [(&str, &str); 3] = [("ada", "here"), ("bob", "here"), ("cyd", "there")];
/// The host in the liar's place where nobody lies.
const FOURTH: (&str, &str) = ("dan", "there");
/// Some seconds on two cores. OEIS A000170.
const QUEENS: [&str; 2] = ["apps/nqueens.wasm", "15"];
const ANSWER: &str = "2279184";
/// The policies that check something. The liar has no standing, so that an audit checks its first units.
const CHECKED: [&str; 2] = ["quorum=2", "audit"];
/// All policies whose costs are compared.
const POLICIES: [&str; 3] = ["trust", CHECKED[0], CHECKED[1]];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for policy in CHECKED {
        figures.extend(with_a_liar(policy)?);
    }
    figures.extend(cost()?);
    Ok(figures)
}

/// Counts of runs with a liar.
#[derive(Debug, Default)]
struct Seen {
    right: u32,
    /// Runs in whose units the liar lied, and of these, runs in which it was named.
    lied: u32,
    named: u32,
    /// Honest hosts that were named.
    blamed: u32,
    /// Wrong answers of runs that trust their hosts.
    wrong_with_trust: u32,
}

fn with_a_liar(policy: &str) -> Result<Vec<Figure>> {
    let mut seen = Seen::default();
    for seed in 1..=RUNS {
        let mut cluster = Cluster::start_to_measure(&HONEST);
        lying_host::start(&mut cluster, &program()?, (LIAR, "there"), Lies { one_in: ONE_IN, seed });
        cluster.await_hosts(HONEST.len() + 1);
        let trusting = submit(&cluster, "trust")?;
        seen.wrong_with_trust += u32::from(answer(&cluster, trusting)? != ANSWER);
        let run = submit(&cluster, policy)?;
        let result = answer(&cluster, run)?;
        seen.right += u32::from(result == ANSWER);
        let about = cluster.api().run(run);
        let barred = about["checked"]["barred"].as_array().context("a run that is checked bars hosts")?;
        let liar = id(&cluster, LIAR)?;
        let is_named = barred.iter().any(|barred| barred["host"] == liar);
        let lies = lying_host::lies(&cluster.host_log(LIAR));
        let told = lies.iter().filter(|lie| lie.run == RunId(run)).count();
        let in_checks = lies.iter().filter(|lie| lie.run != RunId(run) && lie.run != RunId(trusting)).count();
        seen.lied += u32::from(told > 0);
        seen.named += u32::from(told > 0 && is_named);
        seen.blamed += barred.iter().filter(|barred| barred["host"] != liar).count() as u32;
        eprintln!(
            "{BENCH}: {policy}, run {seed} of {RUNS}: {result}, {told} lies in {} units and {in_checks} in checks, {}",
            about["checked"]["units"],
            if is_named { "named" } else { "not named" }
        );
    }
    ensure!(seen.lied > 0, "the host has never lied");
    let Seen { right, lied, named, blamed, wrong_with_trust } = seen;
    let about = format!("a host of 4 lies about one job in {ONE_IN}");
    let count =
        |name: String, count: u32| Figure::ratio(BENCH, name, [f64::from(count)].into_iter().collect());
    Ok(vec![
        count(format!("{about}: right answers of {RUNS} runs with `{policy}`"), right)
            .unit(" runs")
            .higher()
            .against(format!("`trust`: {} right", RUNS - u64::from(wrong_with_trust)))
            .goal(RUNS as f64, RUNS as f64),
        count(
            format!("{about}, `{policy}`: runs in which it is named, of {lied} in whose units it lied"),
            named,
        )
        .unit(" runs")
        .higher()
        .goal(lied.into(), lied.into()),
        count(format!("{about}, `{policy}`: honest hosts that are named"), blamed)
            .unit(" hosts")
            .against("0")
            .goal(0.0, 0.0),
    ])
}

/// A quorum and an audit over trust, without a liar, alternating. The first round gives all hosts standing.
fn cost() -> Result<Vec<Figure>> {
    let hosts = [HONEST[0], HONEST[1], HONEST[2], FOURTH];
    let cluster = Cluster::start_to_measure(&hosts);
    let used = || hosts.iter().map(|(name, _)| grid::processor_seconds(&cluster, name)).sum::<Result<f64>>();
    let turn = |policy: &str| -> Result<(f64, f64)> {
        let before = used()?;
        let took_s = grid::wait(&cluster, submit(&cluster, policy)?, Some(ANSWER))?;
        Ok((took_s, used()? - before))
    };
    let (mut time, mut work): ([Vec<f64>; POLICIES.len()], [Vec<f64>; POLICIES.len()]) = Default::default();
    for round in 0..=ROUNDS {
        eprintln!("{BENCH}: nobody lies, round {round} of {ROUNDS}");
        for (side, policy) in POLICIES.into_iter().enumerate() {
            let (took_s, worked_s) = turn(policy)?;
            if round > 0 {
                time[side].push(took_s);
                work[side].push(worked_s);
            }
        }
    }
    let over = |values: [Vec<f64>; POLICIES.len()], what: &str| {
        let [trust, checked @ ..] = values.map(|values| values.into_iter().collect::<Samples>());
        let figure = |(policy, checked): (&str, Samples)| {
            Figure::ratio(BENCH, format!("nobody lies: {what} with `{policy}`"), checked.over(&trust))
                .against(format!("`trust`, {} s", shown(trust.median())))
        };
        CHECKED.into_iter().zip(checked).map(figure).collect::<Vec<_>>()
    };
    let mut figures = over(time, "time");
    figures.extend(over(work, "processor time of all hosts"));
    Ok(figures)
}

fn submit(cluster: &Cluster, policy: &str) -> Result<u64> {
    let [module, argument] = QUEENS;
    grid::submit(cluster, module, &["--trust", policy, argument])
}

/// The result of a run, which must be done.
fn answer(cluster: &Cluster, run: u64) -> Result<String> {
    grid::wait(cluster, run, None)?;
    let ended = cluster.sateen(["result".to_owned(), run.to_string()]);
    Ok(ended.result().trim().to_owned())
}

fn id(cluster: &Cluster, name: &str) -> Result<Value> {
    let hosts = cluster.api().hosts();
    let host = hosts.into_iter().find(|host| host["name"] == name);
    Ok(host.with_context(|| format!("{name} is connected"))?["id"].take())
}

/// Built beside this program.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().context("a program is in a folder")?;
    Ok(folder.join(format!("lying-host{}", std::env::consts::EXE_SUFFIX)))
}
