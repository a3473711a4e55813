//! Slow links and large results: seeds with only faults of the family `bandwidth`, in addition to the usual crashes.
//! Seeds of all families have too few of these faults to reach their rare states.

use sateen_simulator::families::Family;
use sateen_simulator::sweep::sweep;

/// With fewer, rare states may be missed.
const SEEDS: u64 = 150;

#[test]
fn all_laws_hold_on_slow_links() {
    let families = [Family::Bandwidth];
    let swept = sweep(0, SEEDS, &families);
    assert!(
        swept.failures.is_empty(),
        "SATEEN_FAULTS=bandwidth SATEEN_SEED=…\n{}",
        swept.failures.join("\n")
    );
    let missing: Vec<&str> =
        Family::Bandwidth.shows().iter().copied().filter(|name| swept.sometimes.count(name) == 0).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
