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
        "state": state, "elapsed_s": 2.0, "progress": {"done": 1, "total": 4}, "by_host": hosts,
        "jobs": {"spawned": 12345, "stolen": 3, "lost": 3, "redone": 2},
    });
    let lines: Vec<Value> = (1..50)
        .map(|number| json!({"number": number, "job": "j", "text": format!("a\n{number}\u{7}")}))
        .collect();
    let more = json!({"run": run, "remaining": {"low_s": 1.0, "likely_s": 2.0, "high_s": 9.5}});
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
    for words in
        ["run 7", "running for 2.0 s", "25 %", "about 2.0 s left (1.0 s to 9.5 s)", "of 100 hosts shown"]
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
fn a_coordinator_that_is_away_is_told_of() {
    let mut page = RunPage::new(7);
    page.take(news("running", 1));
    page.take(News::Away("no coordinator answers".to_owned()));
    assert!(text(&page, 120, 30).contains("no coordinator answers; trying again"));
    page.new_lines();
    assert!(page.take(news("done", 1)));
    assert!(page.new_lines().iter().any(|line| line.contains("answers again")));
    assert!(text(&page, 120, 30).contains("done after 2.0 s"));
    assert!(page.into_run().is_some());
}

#[test]
fn lines_tell_what_is_new_once() {
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
