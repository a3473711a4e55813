use serde_json::json;

use super::super::super::view::read;
use super::*;

fn run(state: &str, there: bool, lost: u64, root_losses: u64) -> Run {
    read(&json!({
        "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": state,
        "jobs": {"lost": lost, "reused": lost}, "root_losses": root_losses,
        "by_host": [{"host": "h1", "name": "ada", "there": there}],
    }))
    .expect("a run")
}

fn texts(events: &Events) -> Vec<&str> {
    events.last(9).map(|event| event.text.as_str()).collect()
}

#[test]
fn changes_are_events() {
    let mut events = Events::default();
    events.compare(None, &run("queued", false, 0, 0));
    events.compare(Some(&run("queued", false, 0, 0)), &run("running", true, 0, 0));
    events.compare(Some(&run("running", true, 0, 0)), &run("running", true, 0, 0));
    events.compare(Some(&run("running", true, 0, 0)), &run("failed", false, 3, 1));
    let expected = [
        "run 7 is queued",
        "run 7 is running",
        "ada (h1) takes part",
        "ada (h1) is gone",
        "the root job was lost with its host",
        "3 stolen jobs were lost with a host",
        "3 results were reused",
        "run 7 has failed",
    ];
    assert_eq!(texts(&events), expected);
    assert_eq!((events.count, events.new_texts().len(), events.new_texts().len()), (8, 8, 0));
}

/// In 40 columns, what told them apart was cut off, and they had no times.
#[test]
fn events_are_shown_whole_with_their_times() {
    let mut events = Events::default();
    let event = |number: u64, t_ms: u32, text: &str| -> RunEvent {
        read(&json!({"number": number, "t_ms": t_ms, "kind": "host_joined", "text": text})).expect("an event")
    };
    events.take(&[
        event(1, 499, "host ada (leiden) takes part"),
        event(2, 37_600, "host bob (amsterdam-east) takes part for the second time"),
        event(3, 3_723_000, "it ends"),
    ]);
    let rows = |lines: usize, width: usize| -> (Vec<String>, usize) {
        let (rows, count) = events.rows(lines, width);
        (rows.iter().map(Row::text).collect(), count)
    };
    let second = ["0:38  host bob (amsterdam-east) takes", "      part for the second time"];
    let all = ["0:00  host ada (leiden) takes part", second[0], second[1], "1:02:03 it ends"];
    assert_eq!(rows(9, 40), (all.map(str::to_owned).to_vec(), 3));
    assert_eq!(rows(3, 40), (all[1..].iter().map(|row| (*row).to_owned()).collect(), 2));
    assert_eq!(rows(2, 40), (vec![all[3].to_owned()], 1));
    assert_eq!(rows(0, 40), (Vec::new(), 0));
    assert_eq!(rows(9, 20).0.len(), 3, "they are cut");
    events.take(&[event(4, 3_800_000, "a long last word on what has happened in this run")]);
    let (rows, _) = events.rows(1, 40);
    let texts: Vec<String> = rows.iter().map(Row::text).collect();
    assert_eq!(texts, ["1:03:20 a long last word on what has happened in this run"], "the screen cuts it");
}

#[test]
fn each_event_of_the_coordinator_is_shown_once() {
    let mut events = Events::default();
    let event = |number: u64, kind: &str, text: &str| -> RunEvent {
        read(&json!({"number": number, "kind": kind, "text": text})).expect("an event")
    };
    let told = [event(1, "host_lost", "a"), event(2, "only newer coordinators know it", "b")];
    events.take(&told);
    events.take(&told);
    events.compare(Some(&run("running", true, 0, 0)), &run("done", false, 3, 1));
    assert_eq!(texts(&events), ["a", "b"]);
    let tones: Vec<Tone> = events.last(9).map(|event| event.tone).collect();
    assert_eq!(tones, [Tone::Bad, Tone::Plain]);
    for number in 3..2000 {
        events.take(&[event(number, "adopted", "c")]);
    }
    assert_eq!((events.count, events.last(usize::MAX).count()), (1999, KEPT_MAX));
    events.take(&[event(2000, "ended", "d")]);
    events.take(&[event(2000, "host_joined", "e"), event(2001, "ended", "d")]);
    assert_eq!((events.count, texts(&events).split_off(7)), (2001, vec!["e", "d"]));
}

/// Hosts report a moment later what they did: the coordinator lists it among earlier events.
#[test]
fn late_events_are_shown_in_order_of_time_and_none_is_left_out() {
    let mut events = Events::default();
    let event = |number: u64, t_ms: u32, text: &str| -> RunEvent {
        read(&json!({"number": number, "t_ms": t_ms, "kind": "host_joined", "text": text})).expect("an event")
    };
    events.take(&[event(1, 100, "a"), event(2, 900, "d")]);
    events.take(&[event(1, 100, "a"), event(4, 400, "b"), event(3, 500, "c"), event(2, 900, "d")]);
    assert_eq!(texts(&events), ["a", "b", "c", "d"]);
    // Lines that are written stay.
    assert_eq!(events.new_texts(), ["a", "b", "c", "d"]);
    events.take(&[event(5, 200, "e")]);
    assert_eq!((events.new_texts(), events.count), (vec!["e".to_owned()], 5));
}

#[test]
fn an_event_that_may_grow_is_written_when_it_is_complete() {
    let event = |number: u64, kind: &str, text: &str| -> RunEvent {
        read(&json!({"number": number, "kind": kind, "text": text})).expect("an event")
    };
    let mut events = Events::default();
    events.take(&[event(1, "started", "a"), event(2, "reused", "2 results"), event(3, "host_joined", "b")]);
    assert_eq!(events.new_texts(), ["a"]);
    events.take(&[event(2, "reused", "27 results"), event(3, "host_joined", "b")]);
    assert_eq!((events.new_texts().len(), texts(&events)), (0, vec!["a", "27 results", "b"]));
    events.take(&[event(2, "reused", "27 results"), event(4, "adopted", "an orphan")]);
    assert_eq!(events.new_texts(), ["27 results", "b"]);
    events.take(&[event(2, "reused", "28 results"), event(4, "adopted", "2 orphans")]);
    assert_eq!(events.new_texts(), ["28 results (in all)"]);
    events.complete();
    assert_eq!((events.new_texts(), events.new_texts().len()), (vec!["2 orphans".to_owned()], 0));
    // The end has the number of an event that is reported after it, which was left out.
    events.take(&[event(5, "ended", "the end")]);
    for _ in 0..2 {
        events.take(&[event(5, "reused", "5 results"), event(6, "ended", "the end")]);
    }
    for _ in 0..2 {
        events.take(&[event(6, "host_lost", "c"), event(7, "host_lost", "d"), event(8, "ended", "the end")]);
    }
    let count = events.count;
    assert_eq!(texts(&events)[count - 4..], ["5 results", "c", "d", "the end"]);
}

#[test]
fn an_event_that_no_longer_grows_is_written_after_a_moment() {
    let event: RunEvent = read(&json!({"number": 1, "kind": "reused", "text": "a"})).expect("an event");
    let mut events = Events::default();
    events.take(std::slice::from_ref(&event));
    assert_eq!(events.new_texts().len(), 0);
    for kept in &mut events.kept {
        kept.changed = kept.changed.and_then(|changed| changed.checked_sub(COMPLETE_AFTER));
    }
    events.take(&[event]);
    assert_eq!(events.new_texts(), ["a"]);
}
