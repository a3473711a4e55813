//! Runs whose results are checked, under random faults: all laws hold that hold for others.

use sateen_protocol::Trust;
use sateen_simulator::families::Family;
use sateen_simulator::seed;
use sateen_simulator::sweep::sum_of;

const SEEDS: u64 = 120;

#[test]
fn all_laws_hold_for_runs_whose_results_are_checked() {
    let first = std::env::var("SATEEN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = if first.is_some() { 1 } else { SEEDS };
    let one = |number: u64| {
        let trust = Trust::Quorum(2 + (number % 3 == 0) as u8);
        let result = seed::run_checked(number, Family::ALL, trust);
        let violation = result.violations.into_iter().next();
        violation.map(|violation| format!("seed {number}: {violation}"))
    };
    let broken = sum_of(first.unwrap_or(0), seeds, one, |broken: &mut Vec<String>, one| broken.extend(one));
    assert!(broken.is_empty(), "{} of {seeds} seeds broke a law:\n{}", broken.len(), broken.join("\n"));
}
