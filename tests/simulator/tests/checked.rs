//! Runs whose results are checked, under random faults: all laws hold that hold for others.

use sateen_protocol::Trust;
use sateen_simulator::families::Family;
use sateen_simulator::seed;
use sateen_simulator::sweep::sum_of;

const SEEDS: u64 = 250;

#[test]
fn all_laws_hold_for_runs_whose_results_are_checked() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let first = number("SATEEN_SEED");
    let seeds = if first.is_some() { 1 } else { number("SATEEN_CHECKED_SEEDS").unwrap_or(SEEDS) };
    let one = |number: u64| {
        let trust = match number % 4 {
            0 => Trust::Audit(300_000),
            1 => Trust::AUDIT_DEFAULT,
            2 => Trust::Quorum(3),
            _ => Trust::Quorum(2),
        };
        let result = seed::run_checked(number, Family::ALL, trust);
        let violation = result.violations.into_iter().next();
        violation.map(|violation| format!("seed {number}: {violation}"))
    };
    let broken = sum_of(first.unwrap_or(0), seeds, one, |broken: &mut Vec<String>, one| broken.extend(one));
    assert!(broken.is_empty(), "{} of {seeds} seeds broke a law:\n{}", broken.len(), broken.join("\n"));
}
