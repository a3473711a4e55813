//! The share of one address, when others have reached the limits.

use std::time::Duration;

use sateen_tests::watcher::Watcher;
use serde_json::{Value, json};

use crate::server::{RawRequest, Server, app, detail, eventually};

/// Maximum topics that pages of one address may be the first to watch, and those of one page.
const FEEDS_PER_ADDRESS: usize = 128;
const TOPICS_PER_PAGE: usize = 8;

fn is_told(page: &Watcher, topic: &str) -> Option<()> {
    (!page.value(topic).is_null()).then_some(())
}

fn refusal(page: &Watcher, topic: &str) -> Option<Value> {
    page.gone.iter().find(|gone| gone["topic"] == topic).cloned()
}

/// Each watched topic has a task, for all that watch it.
#[test]
fn pages_of_one_address_have_a_limited_number_of_feeds_and_others_have_their_own() {
    let server = Server::start();
    server.publish();
    let topics: Vec<String> = (0..=FEEDS_PER_ADDRESS).map(|_| format!("run/{}", server.submit())).collect();
    let (last, most) = topics.split_last().expect("there are some");
    let mut pages: Vec<Watcher> = most
        .chunks(TOPICS_PER_PAGE)
        .map(|topics| {
            let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
            let mut page = Watcher::open(&server.address, &topics);
            page.until("all of them", |page| topics.iter().try_for_each(|topic| is_told(page, topic)));
            page
        })
        .collect();
    // A topic that is watched already takes nothing more, and one more topic is refused.
    let mut page = Watcher::open(&server.address, &[last, &most[0]]);
    page.until("what others watch", |page| is_told(page, &most[0]));
    let told = page.until("the refusal", |page| refusal(page, last));
    let why = told["problem"]["detail"].as_str().unwrap_or_default();
    assert!(told["problem"]["status"] == 429 && why.contains("close some pages"), "{told}");
    // When another address watches it, so may this one.
    let stream = RawRequest::open(&server.address, "127.66.0.9").0;
    let mut other = Watcher::on(stream, &server.address);
    let watch = |topic: &str| json!({"watch": [topic]}).to_string();
    other.say(&watch(last)).expect("an open socket");
    other.until("the topic", |page| is_told(page, last));
    page.say(&watch(last)).expect("an open socket");
    page.until("the topic", |page| is_told(page, last));
    // The topic is no longer watched, and still there is no room; when a page has gone there is.
    drop((page, other));
    let mut page = Watcher::connect(&server.address);
    let is_refused = |page: &mut Watcher| {
        // Feeds without watchers end with the next tick, and pages send little in a second.
        std::thread::sleep(Duration::from_millis(600));
        page.gone.clear();
        page.say(&watch(last)).expect("an open socket");
        page.until("an answer", |page| {
            refusal(page, last).map(|_| true).or_else(|| is_told(page, last).map(|()| false))
        })
    };
    eventually("its feed has ended", || is_refused(&mut Watcher::connect(&server.address)).then_some(()));
    drop(pages.pop());
    eventually("there is room again", || (!is_refused(&mut page)).then_some(()));
}

/// Other addresses have reached the limit for arguments of runs.
#[test]
fn small_runs_are_accepted_when_others_have_reached_the_limit() {
    const RESERVED_RUNS: usize = 8;
    let server = Server::start();
    server.post("/api/v1/apps?name=probe", &app(""));
    let submit = |from: &str, bytes: usize| {
        let submission = json!({"app": "probe", "arguments": ["x".repeat(bytes)]}).to_string();
        server.post_from(from, "/api/v1/runs", submission.as_bytes())
    };
    let submit_all = |from: &str, bytes: usize| {
        for _ in 0..500 {
            let answer = submit(from, bytes);
            if answer.0 != 201 {
                return detail(answer).0;
            }
        }
        panic!("there is no limit");
    };
    // Each address may have half, so a third one gets the rest.
    for from in ["127.66.0.1", "127.66.0.2"] {
        assert_eq!(submit_all(from, 250 << 10), 429);
    }
    for bytes in [250 << 10, 25 << 10, 3 << 10, 1 << 10] {
        assert_eq!(submit_all("127.66.0.3", bytes), 503);
    }
    // The reserve is small in all, and the same for each address.
    for from in ["127.66.0.4", "127.66.0.5"] {
        let (status, why) = detail(submit(from, 40 << 10));
        assert!(status == 503 && why.contains("sateen cancel"), "{status} {why}");
        for number in 0..RESERVED_RUNS {
            assert_eq!(submit(from, 1 << 10).0, 201, "the {number}th of {from}");
        }
        assert_eq!(submit(from, 1 << 10).0, 503);
    }
    assert_eq!(submit("127.66.0.1", 1 << 10).0, 503);
    // When some runs have ended, there is room for all.
    for run in 1..=3 {
        assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    }
    eventually("there is room again", || (submit("127.66.0.4", 1 << 10).0 == 201).then_some(()));
}
