use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

/// Lets the workers of a run compute for as long as they may, until asked to stop. Returns how often one of them had
/// a turn.
fn work(run: &TurnsOfRun, at_once: &AtomicUsize, most: usize, stop: &AtomicBool) -> u64 {
    let mut turns = 0;
    while !stop.load(SeqCst) {
        run.begin(|| {}, || stop.load(SeqCst));
        assert!(at_once.fetch_add(1, SeqCst) < most || stop.load(SeqCst), "more compute than may");
        assert!((1..=most).contains(&run.held()) || stop.load(SeqCst), "it is not said which compute");
        while !is_turn_over() && !stop.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        at_once.fetch_sub(1, SeqCst);
        end_turn();
        turns += 1;
    }
    turns
}

#[test]
fn runs_take_turns_and_no_more_compute_than_may() {
    for (threads, runs) in [(1, 2), (2, 3)] {
        let turns = Turns::new(threads);
        let (at_once, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let had: Vec<u64> = thread::scope(|scope| {
            let runs: Vec<TurnsOfRun> = (0..runs).map(|_| turns.join()).collect();
            let runs = Arc::new(runs);
            let workers: Vec<_> = (0..runs.len())
                .map(|run| {
                    // The first has more workers than the others.
                    let count = if run == 0 { 4 } else { 2 };
                    let workers: Vec<_> = (0..count)
                        .map(|_| {
                            let (runs, at_once, stop) = (runs.clone(), &at_once, &stop);
                            scope.spawn(move || work(&runs[run], at_once, threads, stop))
                        })
                        .collect();
                    workers
                })
                .collect();
            // Until each has had several.
            thread::sleep(SLICE * 40);
            stop.store(true, SeqCst);
            runs.iter().for_each(TurnsOfRun::look_again);
            workers
                .into_iter()
                .map(|workers| workers.into_iter().map(|worker| worker.join().expect("it ends")).sum())
                .collect()
        });
        let (least, most) = (had.iter().min().expect("runs"), had.iter().max().expect("runs"));
        assert!(*least >= 2 && *most <= 3 * least, "{had:?}");
        assert_eq!(turns.0.state.lock().free, threads);
        assert_eq!(turns.0.waiting.load(SeqCst), 0);
    }
}

#[test]
fn a_turn_of_one_run_lasts_until_its_worker_has_nothing_to_do() {
    let run = Turns::of_one_run(1);
    run.begin(|| {}, || false);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            run.begin(|| {}, || false);
            end_turn();
        });
        while run.turns.0.waiting.load(SeqCst) == 0 {
            thread::yield_now();
        }
        thread::sleep(2 * SLICE);
        assert!(!is_turn_over() && !waits.is_finished());
        end_turn();
        waits.join().expect("it has had its turn");
    });
}

#[test]
fn a_worker_that_learns_that_its_run_is_over_stops_waiting() {
    let turns = Turns::new(1);
    let (first, second) = (turns.join(), turns.join());
    first.begin(|| {}, || false);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            second.begin(|| {}, || over.load(SeqCst));
            OWN.with(|own| own.is_some())
        });
        while turns.0.waiting.load(SeqCst) == 0 {
            thread::yield_now();
        }
        over.store(true, SeqCst);
        second.look_again();
        // A call that came before the sleep is not missed: the lock makes the last check and the sleep one
        // step.
        assert!(!waits.join().expect("it ends"));
    });
    end_turn();
    assert!(!is_turn_over());
    assert_eq!(turns.0.state.lock().free, 1);
}
