//! The published numbers of simulated histories do not contradict one another. `SATEEN_HISTORIES` is the number of
//! histories, `SATEEN_FIRST_HISTORY` the first of them; `SATEEN_HISTORY` runs a single one.

use sateen_histories::sweep::sweep;
use sateen_histories::{families, run};

/// A number that takes at most a minute on two cores.
const HISTORIES: u64 = 50;

#[test]
fn published_numbers_do_not_contradict_one_another() {
    if let Some(seed) = number("SATEEN_HISTORY") {
        let history = run(seed);
        eprintln!("{history:#?}");
        assert!(
            history.contradictions.is_empty(),
            "history {seed}:\n  {}",
            history.contradictions.join("\n  ")
        );
        return;
    }
    let (first, histories) =
        (number("SATEEN_FIRST_HISTORY").unwrap_or(0), number("SATEEN_HISTORIES").unwrap_or(HISTORIES));
    let swept = sweep(first, histories, &families());
    let found = swept.contradictions.join("\n");
    assert!(found.is_empty(), "run one alone with SATEEN_HISTORY=…\n{found}");
    // They were inspected, and in some the coordinator was started again.
    assert!(swept.runs as u64 >= histories && swept.looks as u64 >= 5 * histories, "{swept:?}");
    assert!(histories < HISTORIES || swept.restarts > 0, "{swept:?}");
}

/// When the coordinator crashes, the run's end is saved, but its chronicle is not.
#[test]
fn a_run_that_ended_just_before_a_crash_has_ended_in_its_chronicle() {
    let contradictions = run(156).contradictions;
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
}

/// One or two of each kind of former contradiction; `tests/README.md` explains them.
#[test]
fn former_contradictions_do_not_return() {
    for seed in
        [7, 33, 59, 81, 185, 256, 273, 314, 366, 747, 915, 959, 5000426, 5000606, 7000518, 7000653, 7000995]
    {
        let contradictions = run(seed).contradictions;
        assert!(contradictions.is_empty(), "history {seed}:\n  {}", contradictions.join("\n  "));
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, which is not a number")))
}
