//! Links that are away for less than 5 s, and nothing else: no host is considered dead, and the cost is small.

use sateen_simulator::families::Family;
use sateen_simulator::sweep::sweep;

/// With fewer, rare states may be missed.
const SEEDS: u64 = 200;

#[test]
fn a_blip_is_not_a_death() {
    let swept = sweep(0, SEEDS, &[Family::Blips]);
    assert!(swept.failures.is_empty(), "SATEEN_FAULTS=blips SATEEN_SEED=…\n{}", swept.failures.join("\n"));
    let missing: Vec<&str> =
        Family::Blips.shows().iter().copied().filter(|name| swept.sometimes.count(name) == 0).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
