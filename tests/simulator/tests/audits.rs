//! Audited runs on grids of which a fifth lies. `cargo xtask bench audit` has more of them.

use sateen_protocol::Trust;
use sateen_simulator::experiments::liars::{self, Plan, Sum};
use sateen_simulator::sweep::sum_of;

const SEEDS: u64 = 40;
/// What `audit` alone means.
const SHARE: u32 = 50_000;

fn runs(per_mille: u64, is_together: bool) -> Sum {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let plan = Plan { share_millionths: SHARE, per_mille, is_together };
    let first = number("SATEEN_SEED");
    let seeds = if first.is_some() { 1 } else { number("SATEEN_CHECKED_SEEDS").unwrap_or(SEEDS) };
    let one = |seed| (seed, liars::run(seed, plan));
    let sum = sum_of(first.unwrap_or(1), seeds, one, |sum: &mut Sum, (seed, seen)| sum.add(seed, seen));
    let found = &sum.until_found;
    eprintln!(
        "{plan:?}: {} of {} wrong, {:.2} ± {:.2} expected, {} lies, {} units, {} liars found after at most {:?} units",
        sum.wrong,
        sum.runs,
        sum.expected,
        sum.band(),
        sum.lies,
        sum.units,
        found.len(),
        found.iter().max()
    );
    assert_eq!(sum.broken, Vec::<String>::new());
    assert_eq!(sum.blamed, 0, "honest hosts");
    assert!(sum.lies > 0, "or this shows nothing");
    assert!(sum.is_as_expected());
    sum
}

#[test]
fn the_default_is_a_twentieth() {
    assert_eq!(Trust::AUDIT_DEFAULT, Trust::Audit(SHARE));
}

#[test]
fn hosts_that_lie_in_every_unit_are_found_before_they_have_told_many_lies() {
    for is_together in [false, true] {
        let sum = runs(1000, is_together);
        assert_eq!(sum.wrong, 0);
        // A liar that has only the root is not to blame for it if another lied below: it is computed again in any case.
        assert!(
            10 * sum.until_found.len() as u64 >= 9 * sum.runs * liars::LIARS as u64,
            "nearly all are found"
        );
        assert!(sum.until_found.iter().all(|units| *units <= 20), "{:?}", sum.until_found);
    }
}

#[test]
fn as_many_lies_in_one_of_ten_units_pass_as_the_policy_says() {
    for is_together in [false, true] {
        runs(100, is_together);
    }
}

#[test]
fn as_many_lies_in_one_of_a_hundred_units_pass_as_the_policy_says() {
    for is_together in [false, true] {
        assert!(runs(10, is_together).wrong > 0, "some must");
    }
}

/// Of the owners, only that of the root's host has no standing: it computes the root, and little else, in each run. The root's
/// unit is always checked, and it is as large as what its host computes.
#[test]
fn an_audit_of_hosts_with_standing_computes_again_what_it_has_drawn_and_nothing_else() {
    let cost = liars::cost(1, SHARE);
    eprintln!("{cost:?}");
    assert!(cost.without_standing <= 1, "{cost:?}");
    assert_eq!(cost.checks, cost.units_checked, "each once");
    assert!((cost.ratio - 1.0 - cost.work_share).abs() < 0.001, "{cost:?}");
    // A twentieth, and a few more, as two of each owner are checked at least.
    assert!(cost.units_checked * 100 < cost.units * 7, "{cost:?}");
}
