//! Runs that use results of earlier runs: all laws hold for them, too, whatever else happens.

use sateen_simulator::families::Family;
use sateen_simulator::sweep::sweep;

const SEEDS: u64 = 200;

#[test]
fn all_laws_hold_for_runs_with_results_of_earlier_runs() {
    let families: Vec<Family> = Family::ALL.iter().copied().chain([Family::Earlier]).collect();
    let swept = sweep(0, SEEDS, &families);
    assert!(
        swept.failures.is_empty(),
        "SATEEN_FAULTS=all,earlier SATEEN_SEED=…\n{}",
        swept.failures.join("\n")
    );
    let missing: Vec<&str> =
        Family::Earlier.shows().iter().copied().filter(|name| swept.sometimes.count(name) == 0).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
