use super::super::view::read;
use super::*;
use serde_json::json;

#[test]
fn figures_that_an_older_coordinator_leaves_out_are_not_zero() {
    let run = json!({
        "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "done",
        "by_host": [{"host": "h1", "name": "a", "there": true}],
    });
    let page = page(&read(&run).expect("a run"), None, None);
    for row in [
        "state        done, after -\n",
        "recorded     0 results\n",
        "work         -\n",
        "hosts        - worked on it, -",
    ] {
        assert!(page.contains(row), "`{row}` is not in\n{page}");
    }
    let words: Vec<Vec<&str>> = page.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = ["a", "-/0", "busy", "-", "-", "-", "0", "0", "0", "0", "0", "0"];
    assert!(words.contains(&row.to_vec()), "{page}");
}

/// A host with the root job, and one that had just stolen a job, were told to have found nothing to do.
#[test]
fn a_host_that_has_just_begun_has_found_something_to_do() {
    let told = |state: &str| {
        let run = json!({
            "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": state, "hosts": 0, "threads": 0,
            "root_host": "h1",
            "by_host": [
                {"host": "h1", "name": "a", "there": true}, {"host": "h2", "name": "b", "there": true, "busy": 1},
                {"host": "h3", "name": "c", "there": true, "jobs": {"stolen": 1}},
                {"host": "h4", "name": "d", "there": true, "busy": 0},
                {"host": "h5", "name": "e", "there": true, "busy": null},
            ],
        });
        let page = page(&read(&run).expect("a run"), None, None);
        page.lines().find(|line| line.starts_with("hosts  ")).unwrap_or_default().to_owned()
    };
    assert_eq!(
        told("running"),
        "hosts        3 have begun and counted nothing so far; 1 more took part and found nothing to do; 1 more has not \
         reported yet"
    );
    assert!(told("done").ends_with("0 threads; 5 more took part and found nothing to do"));
}

/// It was said to be in the result, and 0 µs of it lost.
#[test]
fn no_time_is_not_a_loss() {
    assert_eq!(used(2.0, 2.0, 0.0), "all of it in the result");
    assert_eq!(used(2.0, 1.999_9, 0.000_1), "2.0 s in the result, 100 µs lost, done twice or aborted");
    let mut run: Run = read(&json!({
        "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "cancelled",
        "work_s": 0.0, "lost_work_s": 0.0,
    }))
    .expect("a run");
    assert!(!page(&run, None, None).contains("of that"));
    run.figures.lost_work_s = Some(0.25);
    assert!(page(&run, None, None).contains("of that      250 ms lost, as there is no result\n"));
}

/// "0 stolen jobs lost" was said of a run all of whose hosts had been killed.
#[test]
fn what_nobody_could_count_is_not_zero() {
    let of = |lost: u64, redone: u64, roots: u32, there: [bool; 2]| {
        let run = json!({
            "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "done", "root_losses": roots,
            "jobs": {"lost": lost, "redone": redone},
            "by_host": [{"host": "h1", "name": "a", "there": there[0]}, {"host": "h2", "name": "b", "there": there[1]}],
        });
        losses(&read(&run).expect("a run"))
    };
    assert!(of(0, 8, 0, [false, false]).starts_with("8 redone ("));
    assert!(of(0, 8, 1, [false, false]).starts_with("the root job lost once; 8 redone ("));
    assert!(of(3, 8, 2, [false; 2]).starts_with("at least 3 stolen jobs lost and the root 2 times; 8 "));
    assert!(of(1, 1, 0, [false, true]).starts_with("1 stolen job lost; 1 redone"));
    assert!(of(0, 0, 0, [false, false]).starts_with("0 stolen jobs lost; 0 redone,"), "they left");
}

#[test]
fn one_result_is_not_several() {
    let run = json!({
        "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "done",
        "jobs": {"recorded": 1},
    });
    let page = page(&read(&run).expect("a run"), None, None);
    assert!(page.contains("recorded     1 result\n"), "{page}");
}

#[test]
fn a_page_shows_all_figures_of_a_run() {
    let run: Run = read(&json!({
        "run": 17, "app": {"hash": "abcdef", "name": "nqueens"}, "function": "main", "arguments": ["15"],
        "state": "running", "waiting_for": "hosts\u{1b}", "elapsed_s": 2.5, "hosts": 2, "threads": 4,
        "jobs": {"spawned": 9, "stolen": 4, "stolen_wide": 1, "lost": 4, "redone": 2, "reused": 3, "adopted": 1, "recorded": 5},
        "work_s": 12.0, "span_s": 0.25, "answer_work_s": 9.0, "lost_work_s": 3.0, "computed_s": 48.0, "progress": {"done": 5, "total": 20}, "error": null,
        "root_host": "h1", "root_losses": 1, "table": {"entries": 7, "bytes": 2048},
        "reuse": true, "earlier": {"jobs": 999, "work_s": 49.9},
        "held_up_by": {"kind": "straggler", "text": "A straggler: for the last 2.0 s 1 of 6 workers have computed."},
        "by_host": [
            {"host": "h1", "name": "a", "site": "here", "there": true, "jobs": {"executed": 8}, "work_s": 9.0, "computed_s": 45.0, "busy": 2, "workers": 2},
            {"host": "h2", "name": "b", "site": "there", "there": false, "jobs": {"executed": 1}, "work_s": 3.0, "busy": 0, "workers": 2},
            {"host": "h3", "name": "c", "site": "there", "there": true, "away": true, "jobs": {}, "work_s": 0.0, "busy": 0, "workers": 2},
        ],
    }))
    .expect("a run");
    let narrow = page(&run, None, Some(40));
    let (figures, _) = narrow.split_once("\n\n").expect("two parts");
    assert!(figures.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    assert!(
        narrow.contains("held up by   A straggler: for the last\n             2.0 s 1 of 6 workers"),
        "{narrow}"
    );
    let page = page(&run, Some("about 8.0 s".to_owned()), None);
    for row in [
        "held up by   A straggler: for the last 2.0 s 1 of 6 workers have computed.\n",
        "run          17: nqueens 15\n",
        "state        running, for 2.5 s\n",
        "waiting for  hosts\\u{1b}\n",
        "progress     5 of 20 (25 %)\n",
        "time left    about 8.0 s\n",
        "root job     at a, lost with its host once\n",
        "earlier      999 jobs had results of earlier runs, which took 49.9 s of processor time\n",
        "after losses 4 stolen jobs lost and the root once; 2 redone (including the root and jobs below lost ones), 3 reused, 1 adopted\n",
        "recorded     5 results; the table holds 7 entries in 2 KiB\n",
        "work         12.0 s; longest chain of exposed jobs 250 ms\n",
        "processors   workers computed for 48.0 s, and got 25 % of a core each\n",
        "of that      9.0 s in the result, 3.0 s lost, done twice or aborted\n",
        "hosts        2 worked on it, 4 threads (2 of these threads at hosts that are gone); 1 more took part and found nothing to do\n",
    ] {
        assert!(page.contains(row), "`{row}` is not in\n{page}");
    }
    let words: Vec<Vec<&str>> = page.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(
        words.contains(&vec!["b", "there", "gone", "3.0", "s", "25", "%", "-", "1", "0", "0", "0", "0", "0"]),
        "{page}"
    );
    let away = |words: &Vec<&str>| words.starts_with(&["c", "there", "away", "0", "s"]);
    assert!(words.iter().any(away), "{page}");
    let over = super::page(&Run { state: "done".to_owned(), ..run }, None, None);
    assert!(over.contains("5 results; the table held 7 entries in 2 KiB\n"), "{over}");
}

#[test]
fn a_share_is_that_of_each_host_and_a_priority_is_named_if_it_is_not_the_usual_one() {
    let shown = |share: Option<f64>, priority: &str| {
        let run = json!({
            "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "running", "share": share,
            "priority": priority,
        });
        let page = page(&read(&run).expect("a run"), None, None);
        let is_row = |line: &&str| line.starts_with("share ") || line.starts_with("priority ");
        page.lines().find(is_row).map(str::to_owned)
    };
    let of_all = "share        25 % of each host, while all runs have work enough";
    assert_eq!(shown(Some(0.25), "normal").as_deref(), Some(of_all));
    assert_eq!(shown(Some(0.25), "high"), Some(format!("{of_all}; priority high")));
    assert_eq!(shown(None, "low").as_deref(), Some("priority     low"));
    assert_eq!(shown(None, "normal"), None);
}
