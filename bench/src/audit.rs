//! Audited runs on grids of which a fifth lies, in virtual time: how many roots are wrong, and how many are to be expected.

use anyhow::{Result, ensure};
use sateen_simulator::experiments::liars::{self, Cost, HOSTS, HOSTS_FOR_COST, LIARS, Plan, Sum};
use sateen_simulator::sweep::sum_of;

use crate::figure::{Figure, shown};

const BENCH: &str = "audit";
/// What `audit` alone means, in millionths.
const SHARE: u32 = 50_000;
/// Runs of each kind; `SATEEN_RUNS` is another number.
const RUNS: u64 = 10_000;
/// Grids on which the cost is measured, each with four runs.
const COSTS: u64 = 10;

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let runs = std::env::var("SATEEN_RUNS").ok().map(|runs| runs.parse()).transpose()?.unwrap_or(RUNS);
    let mut figures = vec![cost()];
    for per_mille in [1000, 100, 10] {
        for is_together in [false, true] {
            let plan = Plan { share_millionths: SHARE, per_mille, is_together };
            figures.extend(with_liars(runs, plan)?);
        }
    }
    Ok(figures)
}

fn with_liars(runs: u64, plan: Plan) -> Result<Vec<Figure>> {
    eprintln!("{BENCH}: {runs} runs of {plan:?}, in virtual time");
    let one = |seed| (seed, liars::run(seed, plan));
    let sum: Sum = sum_of(1, runs, one, |sum: &mut Sum, (seed, seen)| sum.add(seed, seen));
    ensure!(sum.broken.is_empty(), "{}", sum.broken.join("\n"));
    let how = match plan.per_mille {
        1000 => "every unit".to_owned(),
        per_mille => format!("one of {} units", 1000 / per_mille),
    };
    let whose = if plan.is_together { "together" } else { "each alone" };
    let about = format!("{LIARS} of {HOSTS} new hosts lie in {how}, {whose}");
    let count = |name: String, count: f64| Figure::ratio(BENCH, name, [count].into_iter().collect());
    let (least, most) = (sum.expected - sum.band(), sum.expected + sum.band());
    let mut figures = vec![
        count(format!("{about}: wrong roots of {runs} runs with `audit`"), sum.wrong as f64)
            .unit(" runs")
            .against(format!(
                "{} expected, {} to {}",
                shown(sum.expected),
                shown(least.max(0.0)),
                shown(most)
            ))
            .goal(most, most),
        count(format!("{about}: honest hosts that are blamed"), sum.blamed as f64)
            .unit(" hosts")
            .against("0")
            .goal(0.0, 0.0),
    ];
    if plan.per_mille == 1000 {
        let most = sum.until_found.iter().copied().max().unwrap_or_default();
        let figure = count(format!("{about}: units of a liar until it is found, the most"), most as f64);
        let of = format!("{} liars, {} of them found", runs * LIARS as u64, sum.until_found.len());
        figures.push(figure.unit(" units").against(of).goal(20.0, 20.0));
    }
    Ok(figures)
}

fn cost() -> Figure {
    eprintln!("{BENCH}: cost, in virtual time");
    let costs: Vec<Cost> =
        sum_of(1, COSTS, |seed| liars::cost(seed, SHARE), |costs: &mut Vec<_>, cost| costs.push(cost));
    let units = costs.iter().map(|cost| cost.units).sum::<u64>() / COSTS;
    let name = format!("nobody lies, {HOSTS_FOR_COST} hosts with standing: work with `audit`");
    Figure::ratio(BENCH, name, costs.into_iter().map(|cost| cost.ratio).collect())
        .against(format!("`trust`; {units} units a run"))
        .goal(1.08, 1.03)
}
