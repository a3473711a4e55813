//! Handles synced in any order, dropped, and moved about.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sateen_host::{LogLine, Run, RunError, RunOptions};
use sateen_tests::grid::{SETTINGS, call, finish, gives, gives_everywhere, pristine, shared, usual};

#[test]
fn five_jobs_have_the_same_results_in_each_of_their_120_orders() {
    gives_everywhere("every_order", &["6"], probe::orders::every_order(6));
    gives("every_order", &["14"], probe::orders::every_order(14), &[shared(2), shared(8)]);
}

#[test]
fn a_sliding_window_of_handles_leaves_nothing_behind() {
    for (count, width) in [(1_000, 0), (1_000, 7), (1_000, 999)] {
        let expected = count * (count - 1) / 2;
        gives_everywhere("sliding_window", &[&count.to_string(), &width.to_string()], expected);
    }
    // A hundred times the capacity of the stack of latent jobs passes through it.
    gives("sliding_window", &["4000000", "5"], 4_000_000_u64 * 3_999_999 / 2, &[shared(1), shared(2)]);
}

#[test]
fn dropped_jobs_are_aborted_and_the_others_are_not() {
    gives_everywhere("dropped", &["300"], probe::orders::dropped(300));
    let alone = call(&usual(), "dropped", &["300"], shared(1)).expect("it runs").jobs;
    assert_eq!(alone.aborted, 200, "{alone:?}");
    for setting in SETTINGS {
        let jobs = call(&usual(), "dropped", &["300"], setting).expect("it runs").jobs;
        // A job that had finished already was executed; of a job that had begun, the children are aborted, too.
        let of_begun = jobs.spawned - alone.spawned;
        assert!(
            jobs.aborted <= 200 + of_begun && jobs.executed + jobs.aborted == jobs.spawned,
            "{jobs:?}, with one worker {alone:?}"
        );
    }
}

#[test]
fn a_dropped_job_that_never_ends_is_stopped() {
    gives_everywhere("dropped_while_running", &["12"], 12);
}

/// The root continues for ever, so that only the drop can stop the dropped jobs.
#[test]
fn dropped_jobs_and_their_children_are_stopped_while_the_run_continues() {
    for setting in [shared(4), pristine(4)] {
        let app = usual();
        let (written, lines) = std::sync::mpsc::channel::<String>();
        let (permits, permitted) = std::sync::mpsc::channel::<()>();
        let permitted = Mutex::new(permitted);
        let log = move |line: LogLine| {
            let waits = line.text.ends_with("spawned");
            let _ = written.send(line.text);
            if waits {
                let _ = permitted.lock().map(|permitted| permitted.recv());
            }
        };
        let run = Run::start(
            &app,
            RunOptions {
                function: "drop_and_go_on".to_owned(),
                threads: setting.threads,
                pristine: setting.pristine,
                log: Arc::new(log),
                ..RunOptions::default()
            },
        );
        let run = run.expect("it starts");
        let until = |instances: usize| {
            let patience = Instant::now() + Duration::from_secs(60);
            while run.snapshot().instances != instances {
                assert!(Instant::now() < patience, "with {setting:?}: {:?}", run.snapshot());
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        // The root, the family and its child, and the single one.
        until(4);
        for _root_and_family in 0..2 {
            permits.send(()).expect("both wait for this");
        }
        assert!(lines.iter().any(|line| line == "root dropped"), "the log ends when the run does");
        until(1);
        run.canceller().cancel();
        assert!(matches!(finish(run), Err(RunError::Cancelled)));
    }
}

#[test]
fn handles_may_move() {
    gives_everywhere("moved", &["9"], probe::orders::moved(9));
}

#[test]
fn records_of_many_frames_may_be_interleaved() {
    gives_everywhere("braid", &["5"], probe::orders::braid(5));
    gives("braid", &["11"], probe::orders::braid(11), &[shared(1), shared(2), shared(8)]);
}
