//! Random grids under random faults. `SATEEN_SEEDS` is the number of seeds, `SATEEN_SEED` runs only one;
//! `SATEEN_FAULTS` names the families of faults to draw from: `links,stalls`.

use sateen_simulator::families::Family;
use sateen_simulator::seed;
use sateen_simulator::sweep::sweep;

/// The first seed of the block that runs unless another is named.
const FIXED_BLOCK: u64 = 0;
/// With fewer seeds of the fixed block than this, rare states may be missed.
const SEEDS_FOR_RARE_STATES: u64 = 150;
/// The same for the states of [`Family::shows_rarely`].
const SEEDS_FOR_RARER_STATES: u64 = 1000;
/// Drawn seeds that once broke a law, or showed that a law was too strict; `tests/README.md` explains some.
const BROKE_A_LAW: [u64; 46] = [
    31005695, 51000616, 100007328, 1500000639, 1500001611, 1500002603, 1812406197, 1812408214, 1812410753,
    2012401666, 2012404127, 2012409783, 2012410375, 2012413038, 2012413217, 2712508738, 2712514719,
    2712516173, 3512509003, 3512515287, 3512519531, 4037, 26003513, 28001609, 28005811, 28017193, 29000656,
    40000290, 40003543, 40004650, 40005190, 40005700, 50002452, 70004462, 70006216, 70010132, 70011617,
    70012565, 70015307, 91001751, 92005772, 95009470, 95015239, 96000280, 98005660, 98006302,
];

#[test]
fn all_laws_hold_under_random_faults() {
    let families = families();
    if let Some(seed) = number("SATEEN_SEED") {
        let result = seed::run_with(seed, &families);
        eprintln!("seed {seed}: {} events, over after {:.1} virtual seconds", result.events, result.end_s);
        for (name, count) in result.sometimes.iter() {
            eprintln!("  {count:8} × {name}");
        }
        assert!(result.violations.is_empty(), "seed {seed}:\n  {}", result.violations.join("\n  "));
        return;
    }
    let seeds = number("SATEEN_SEEDS").unwrap_or(200);
    let first = number("SATEEN_FIRST_SEED").unwrap_or(FIXED_BLOCK);
    let swept = sweep(first, seeds, &families);
    for (name, count) in swept.sometimes.iter() {
        eprintln!("{count:10} × {name}");
    }
    assert!(
        swept.failures.is_empty(),
        "{} of {seeds} seeds broke a law; run one alone with SATEEN_SEED=… \n{}",
        swept.failures.len(),
        swept.failures.join("\n")
    );
    // Which rare states a drawn block reaches is chance; in the fixed block it is always the same.
    if first != FIXED_BLOCK {
        return;
    }
    // One of twelve seeds has slow links, too few for their rare states: in `narrow.rs`, all seeds have them.
    let shown: Vec<Family> = families.into_iter().filter(|family| *family != Family::Bandwidth).collect();
    let missing = swept.sometimes.missing(&shown);
    assert!(seeds < SEEDS_FOR_RARE_STATES || missing.is_empty(), "never happened: {missing:?}");
    let rarer = shown.iter().flat_map(|family| family.shows_rarely());
    let missing: Vec<&str> = rarer.copied().filter(|name| swept.sometimes.count(name) == 0).collect();
    assert!(seeds < SEEDS_FOR_RARER_STATES || missing.is_empty(), "never happened: {missing:?}");
}

#[test]
fn former_violations_do_not_return() {
    for seed in BROKE_A_LAW {
        let result = seed::run_with(seed, Family::ALL);
        assert!(result.violations.is_empty(), "seed {seed}:\n  {}", result.violations.join("\n  "));
    }
}

fn families() -> Vec<Family> {
    let Ok(names) = std::env::var("SATEEN_FAULTS") else { return Family::ALL.to_vec() };
    Family::parse(&names).unwrap_or_else(|name| panic!("SATEEN_FAULTS: there is no family {name:?}"))
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, which is not a number")))
}
