use serde_json::json;

use super::*;

fn news(state: &str, hosts: usize) -> News {
    let hosts: Vec<Value> = (0..hosts)
        .map(|host| {
            json!({"host": format!("h{host}"), "name": format!("evil\u{1b}[31m{host}"), "site": "s",
                "there": true, "busy": 1, "workers": 2, "work_s": host})
        })
        .collect();
    let run = json!({
        "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "arguments": ["\u{1b}]0;x\u{7}"],
        "state": state, "hosts": hosts.len(), "elapsed_s": 2.0, "progress": {"done": 1, "total": 4}, "by_host": hosts,
        "jobs": {"spawned": 12345, "stolen": 3, "lost": 3, "redone": 2},
    });
    let lines: Vec<Value> = (1..50)
        .map(|number| json!({"number": number, "job": "j", "text": format!("a\n{number}\u{7}")}))
        .collect();
    let events: Vec<Value> = (1..4)
        .map(|number| json!({"number": number, "kind": "other", "text": format!("event {number}")}))
        .collect();
    let more =
        json!({"run": run, "remaining": {"low_s": 1.0, "likely_s": 2.0, "high_s": 9.5}, "events": events});
    News::Run { run, more: Some(more), log: Some(json!({"lines": lines, "dropped": 4})) }
}

fn text(page: &RunPage, width: usize, height: usize) -> String {
    page.rows(width, height).iter().map(|row| row.text() + "\n").collect()
}

#[test]
fn the_view_fits_and_says_what_it_leaves_out() {
    let mut page = RunPage::new(7);
    assert!(!page.take(news("running", 100)));
    for (width, height) in [(80, 24), (120, 50), (20, 5), (1, 1), (300, 200)] {
        let rows = page.rows(width, height);
        assert_eq!(rows.len(), height, "{width} × {height}");
        assert!(rows.iter().all(|row| !row.text().contains(char::is_control)), "{rows:?}");
    }
    let text = text(&page, 120, 50);
    for words in ["run 7", "running, for 2.0 s", "25 %", "about 2.0 s left (1.0 s to 9.5 s)", "of 100 shown"]
    {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(text.contains("of 98 lines shown, 4 were dropped") && text.contains("q quits"), "{text}");
    assert!(
        text.contains("12.3 k spawned") && text.contains("3 stolen jobs lost; 2 redone (including"),
        "{text}"
    );
}

#[test]
fn small_terminals_are_used_to_the_last_line_and_say_what_is_left_out() {
    let mut page = RunPage::new(7);
    page.take(news("running", 2));
    for (width, height) in [(120, 24), (80, 24)] {
        let text = text(&page, width, height);
        for words in ["Hosts (2)", "evil\\u{1b}[31m0", "Events (3 of 3 shown)", "lines shown, 4 were dropped"]
        {
            assert!(text.contains(words), "{words} is not in {text}");
        }
        assert!(!text.contains("\n\n\n") && text.contains("q quits; the run continues"), "{text}");
    }
    let mut cut = 0;
    for (width, height) in (20..120).step_by(10).flat_map(|width| (3..30).map(move |height| (width, height)))
    {
        let text = text(&page, width, height);
        for (part, name) in [("Hosts (", "hosts"), ("Events (", "events"), ("Log (", "log")] {
            let footer = text.lines().last().expect("a footer");
            assert_eq!(text.contains(part), !footer.contains(name), "{width} × {height}: {text}");
            cut += usize::from(footer.contains(name));
        }
        assert!(!text.contains("(0 of"), "{text}");
    }
    assert!(cut > 9);
}

#[test]
fn results_of_earlier_runs_are_summed_up() {
    let shown = |earlier: Value| {
        let mut news = news("done", 1);
        if let News::Run { run, .. } = &mut news {
            run["earlier"] = earlier;
        }
        let mut page = RunPage::new(7);
        page.take(news);
        (page.new_lines().pop().expect("a line"), text(&page, 120, 50))
    };
    let words = "12 jobs had results of earlier runs, which took 1.5 s of processor time";
    let (line, view) = shown(json!({"jobs": 12, "work_s": 1.5}));
    assert!(line.contains(", 12 found in earlier runs, "), "{line}");
    assert!(view.contains(&format!("earlier   {words}")), "{view}");
    for nothing in [Value::Null, json!({"jobs": 0, "work_s": 0.0})] {
        let (line, view) = shown(nothing);
        assert!(!line.contains("earlier") && !view.contains("earlier"), "{line}\n{view}");
    }
}

#[test]
fn lines_are_shared_in_equal_parts() {
    assert_eq!(shared(30, [9, 9, 9], [1, 2, 1]), [8, 8, 8]);
    assert_eq!(shared(30, [2, 3, 99], [1, 2, 1]), [2, 3, 19]);
    assert_eq!(shared(30, [0, 3, 0], [1, 2, 1]), [0, 3, 0]);
    assert_eq!(shared(13, [4, 3, 0], [1, 2, 1]), [4, 3, 0]);
    assert_eq!(shared(7, [4, 3, 5], [1, 2, 1]), [1, 2, 0]);
    assert_eq!(shared(3, [4, 3, 5], [1, 2, 1]), [1, 0, 0]);
    assert_eq!(shared(2, [4, 3, 5], [1, 2, 1]), [0, 0, 0]);
}

#[test]
fn time_left_is_shown_only_of_a_run_that_continues() {
    for (state, is_shown) in [("running", true), ("queued", false), ("suspended", false), ("done", false)] {
        let mut page = RunPage::new(7);
        page.take(news(state, 2));
        assert_eq!(text(&page, 120, 30).contains("about 2.0 s left"), is_shown, "{state}");
        assert!(!page.new_lines().is_empty(), "{state}");
    }
}

/// Hosts appear in a run when they have loaded its app, so their number says nothing about the connected ones.
#[test]
fn the_hosts_of_a_line_are_those_that_take_part() {
    for (state, hosts, expected) in [
        ("queued", 0, "no host takes part yet"),
        ("running", 1, "1 host takes part, 1/2 workers busy"),
        ("running", 2, "2 hosts take part, 2/4 workers busy"),
        ("done", 2, "2 hosts worked on it"),
    ] {
        let mut page = RunPage::new(7);
        page.take(news(state, hosts));
        let lines = page.new_lines();
        let line = lines.last().expect("a line");
        assert!(line.contains(expected) && !line.contains("connected"), "{state}: {line}");
    }
    let mut news = news("running", 1);
    if let News::Run { run, .. } = &mut news {
        run["by_host"][0]["there"] = json!(false);
    }
    let mut page = RunPage::new(7);
    page.take(news);
    assert!(
        page.new_lines().iter().all(|line| !line.contains("take part") && !line.contains("takes part yet"))
    );
}

#[test]
fn a_coordinator_that_is_away_is_reported() {
    let mut page = RunPage::new(7);
    page.take(news("running", 1));
    page.take(News::Away("no coordinator answers".to_owned()));
    assert!(text(&page, 120, 30).contains("no coordinator answers; trying again"));
    page.new_lines();
    assert!(page.take(news("done", 1)));
    assert!(page.new_lines().iter().any(|line| line.contains("answers again")));
    assert!(text(&page, 120, 30).contains("done, after 2.0 s"));
    assert!(page.into_run().is_some());
}

#[test]
fn lines_name_what_is_new_once() {
    let mut page = RunPage::new(7);
    page.take(news("running", 1));
    let first = page.new_lines();
    assert!(first.iter().any(|line| line == "[j] 49\\u{7}"), "{first:?}");
    assert!(first.last().is_some_and(|line| line.contains("run 7 running, 25 % done")), "{first:?}");
    assert!(first.iter().all(|line| !line.contains(char::is_control)), "{first:?}");
    page.take(news("running", 1));
    assert_eq!(page.new_lines(), Vec::<String>::new());
    assert_eq!((page.new_objects().len(), page.new_objects().len()), (0, 0));
    page.take(news("done", 1));
    assert_eq!((page.new_objects().len(), page.new_objects().len()), (1, 0));
}
