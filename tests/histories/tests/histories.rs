//! Nothing that people are told of a simulated history contradicts anything else. `SATEEN_HISTORIES` is the number of
//! histories, `SATEEN_FIRST_HISTORY` the first of them; `SATEEN_HISTORY` runs that one alone.

use sateen_histories::sweep::sweep;
use sateen_histories::{families, run};

/// As many as take no more than a minute on two cores.
const HISTORIES: u64 = 50;

#[test]
fn people_are_told_nothing_that_contradicts_itself() {
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
    // They were looked at, and the coordinator was started again in some.
    assert!(swept.runs as u64 >= histories && swept.looks as u64 >= 5 * histories, "{swept:?}");
    assert!(histories < HISTORIES || swept.restarts > 0, "{swept:?}");
}

/// The end of its run is saved, and what is taken down of it is not, when the coordinator crashes.
#[test]
fn a_run_that_ended_just_before_a_crash_has_ended_in_its_chronicle() {
    let contradictions = run(156).contradictions;
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
}

/// One or two of each kind that contradicted themselves; `tests/README.md` says why.
#[test]
fn histories_that_contradicted_themselves_do_so_no_more() {
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
