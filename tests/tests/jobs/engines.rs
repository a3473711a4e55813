//! Several runs on one engine, one after another and at once.

use std::time::Duration;

use sateen_host::{Output, Run, RunError, RunOptions};
use sateen_tests::grid::{call, finish, pristine, shared, usual};

#[test]
fn runs_at_once_on_one_engine_do_not_disturb_one_another() {
    let app = usual();
    std::thread::scope(|scope| {
        for setting in [shared(1), shared(4), pristine(2), pristine(4), shared(2), pristine(1)] {
            let app = app.clone();
            scope.spawn(move || {
                for (function, arguments, expected) in [
                    ("many_waits", &["20", "20"][..], "400"),
                    ("balanced", &["15"], "610"),
                    ("every_order", &["4"], ""),
                ] {
                    let output = call(&app, function, arguments, setting).map(|finished| finished.output);
                    let Ok(Output::Text(text)) = output else {
                        panic!("{function} with {setting:?}: {output:?}")
                    };
                    assert!(expected.is_empty() || text == expected, "{function} with {setting:?}: {text}");
                }
            });
        }
    });
}

#[test]
fn a_run_that_is_cancelled_or_dropped_ends_at_once() {
    let app = usual();
    for function in ["loop_for_ever", "wait_for_ever", "spawn_and_sync_for_ever"] {
        for setting in [shared(1), shared(2), pristine(4)] {
            let options = || RunOptions {
                function: function.to_owned(),
                threads: setting.threads,
                pristine: setting.pristine,
                ..RunOptions::default()
            };
            let run = Run::start(&app, options()).expect("it starts");
            assert!(!run.wait_for(Duration::from_millis(30)), "it runs for ever");
            run.canceller().cancel();
            assert!(matches!(finish(run), Err(RunError::Cancelled)));
            drop(Run::start(&app, options()).expect("it starts"));
        }
    }
}

#[test]
fn a_cancellation_after_the_end_changes_nothing() {
    let options = RunOptions { function: "silence".to_owned(), ..RunOptions::default() };
    let run = Run::start(&usual(), options).expect("it starts");
    assert!(run.wait_for(Duration::from_secs(60)));
    run.canceller().cancel();
    assert!(finish(run).is_ok());
}

#[test]
fn no_threads_and_no_such_entry_are_bad_input() {
    let app = usual();
    let none =
        Run::start(&app, RunOptions { threads: 0, function: "silence".to_owned(), ..RunOptions::default() });
    assert!(matches!(none.map(|_| ()), Err(RunError::BadInput(_))));
    let other = call(&app, "no such entry", &[], shared(1)).map(|_| ());
    assert!(matches!(other, Err(RunError::BadInput(why)) if why.contains("`no such entry`")));
}
