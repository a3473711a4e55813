//! A pause with an end: shown by the viewer's clock, and in UTC for machines.

use std::process::{Command, Stdio};

use sateen_tests::cluster::{Cluster, binary};
use sateen_tests::command::{Ended, ended};

/// Time zones in POSIX notation, and their offsets from UTC in seconds: half an hour apart, so that none is mistaken
/// for another.
const ZONES: [(&str, u64); 2] = [("UTC0", 0), ("IST-5:30", 19_800)];

fn host(cluster: &Cluster, zone: &str, words: &[&str]) -> Ended {
    let mut command = Command::new(binary("sateen-host"));
    command.args(words).arg("--data-dir").arg(cluster.data_folder("ada")).env("TZ", zone);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(command)
}

#[test]
fn the_end_of_a_pause_is_shown_by_the_viewers_clock() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let connected_s = |status: &serde_json::Value| status["connected_s"].as_f64().expect("it is connected");
    let connected_before_s = connected_s(&cluster.host_status("ada"));
    let told = host(&cluster, ZONES[1].0, &["pause", "30m"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(!told.stderr.contains("30m"), "{told:?}");
    let status = cluster.host_status("ada");
    assert!(connected_s(&status) > connected_before_s, "a pause is not a break: {status}");
    let until_s = status["paused_until_s"].as_u64().unwrap_or_else(|| panic!("no end in {status}"));
    let run = cluster.submit("fib", &["5"]).to_string();
    let shown = |zone: &str, words: &[&str]| {
        let mut command = cluster.sateen_command(words);
        command.env("TZ", zone);
        let ended = ended(command);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
        ended.text().to_owned()
    };
    for (zone, ahead_s) in ZONES {
        // The end was stored once, but shown from the remaining time: it may differ by a second.
        let clock = |s: u64| {
            let minutes = (s + ahead_s) / 60 % (24 * 60);
            format!("{:02}:{:02}", minutes / 60, minutes % 60)
        };
        let clocks = [until_s - 1, until_s, until_s + 1].map(clock);
        let has_clock = |text: &str| clocks.iter().any(|clock| text.contains(clock));
        let own = host(&cluster, zone, &["status"]);
        let state = own.text().lines().find(|line| line.starts_with("state")).unwrap_or_default().to_owned();
        assert!(state.contains("paused by you until ") && has_clock(&state), "{clocks:?}: {state}");
        for words in [&["hosts"][..], &["ps"], &["status", &run]] {
            let text = shown(zone, words);
            assert!(text.contains("paused by its user until ") && has_clock(&text), "{clocks:?}: {text}");
            assert!(!text.contains("30m") && !text.contains(":00Z"), "{text}");
        }
        // The zone is named if it may be another machine's.
        let submitted = shown(zone, &["status", &run]);
        let (name, _) = zone.split_at(3);
        assert!(
            submitted.lines().any(|line| line.starts_with("submitted") && line.ends_with(name)),
            "{submitted}"
        );
    }
    assert!(
        told.stderr.lines().last().is_some_and(|line| line.starts_with("sateen-host: paused by you until "))
    );
    for words in [&["hosts", "--json"][..], &["ps", "--json"]] {
        let texts = ZONES.map(|(zone, _)| shown(zone, words));
        assert!(texts.iter().all(|text| text.contains("Z")), "{texts:?}");
        let until = texts
            .map(|text| text.split_once("paused by its user until ").map(|(_, rest)| rest[..20].to_owned()));
        assert!(
            until[0] == until[1] && until[0].as_ref().is_some_and(|until| until.ends_with('Z')),
            "{until:?}"
        );
    }
    assert_eq!(host(&cluster, "UTC0", &["resume"]).code, Some(0));
    assert_eq!(cluster.sateen(["wait", &run]).code, Some(0));
}
