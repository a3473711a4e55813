//! Which of several causes is named, and its figures.

use super::*;

/// A suspension of 31 s was named, and not the processors, of which the workers got a sixth for all the rest of the time.
#[test]
fn processors_that_cost_more_than_a_wait_are_named() {
    let of = |work_s: f64| {
        let mut run = run(part(400, 4.0, 3.0, 0.1, 0.1));
        run.waiting.waited = BTreeMap::from([("no host is connected".to_owned(), 31.0)]);
        run.work_s = run.computed_s * work_s;
        run
    };
    is(&of(0.16), HoldUpKind::Starved, &["it got 16 % of a core on average."]);
    is(&of(0.7), HoldUpKind::Waiting, &["For 31 s of the 1 min 40 s"]);
    is(&of(1.0), HoldUpKind::Waiting, &["no host is connected"]);
}

/// It is the figure that is shown elsewhere: both are of the run's counts.
#[test]
fn what_a_worker_got_is_of_the_counts() {
    let mut starved = starved();
    starved.computed_s *= 1.1;
    let got = percent(starved.work_s / starved.computed_s);
    is(&starved, HoldUpKind::Starved, &[&format!("it got {got} of a core on average.")]);
}

/// Each new count was taken for another reason.
#[test]
fn figures_in_a_reason_do_not_make_it_another_one() {
    let mut chronicle = Chronicle::default();
    for checked in 0..5 {
        chronicle.idle_because(
            None,
            Some(&format!("its result is being checked: {checked} of 9 units are checked")),
            1000 * checked,
        );
    }
    let waited = chronicle.waiting(None, 5000).waited;
    assert_eq!(waited, BTreeMap::from([("its result is being checked".to_owned(), 5.0)]));
}
