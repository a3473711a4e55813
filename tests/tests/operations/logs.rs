//! Logs: one line per event, whatever untrusted text it contains.

use sateen_tests::cluster::{Cluster, SOON, until};
use serde_json::Value;

fn objects(log: &str) -> Vec<Value> {
    let lines = log.lines().filter(|line| !line.starts_with("sateen-coordinator listens on "));
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn a_log_in_json_is_an_object_per_line() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    // A host's name may not have control characters, but it may change the direction of text. Other hosts log it.
    let name = "evil\u{202e}\" level=ERROR";
    cluster.start_host_with(name, "here", &url, &["--log-format", "json", "--log-level", "debug"]);
    cluster.start_host_with("plain", "here", &url, &[]);
    cluster.start_host_with("object", "here", &url, &["--log-format", "json"]);
    cluster.await_hosts(3);
    for host in ["plain", "object"] {
        until("the hosts know one another", SOON, || {
            let log = cluster.host(host).log();
            log.lines().any(|line| line.contains("peer joined") && line.contains("evil")).then_some(())
        });
    }
    let log = cluster.host(name).log();
    let objects = objects(&log);
    assert!(objects.len() > 2, "{log}");
    for object in &objects {
        for field in ["timestamp", "level", "message"] {
            assert!(object[field].is_string(), "no {field} in {object}");
        }
    }
    let joined = objects.iter().find(|object| object["message"] == "joined the grid");
    assert!(joined.is_some_and(|object| object["coordinator"] == url.as_str()), "{log}");

    let text = cluster.host("plain").log();
    let is_awaited = |line: &&str| line.contains("peer joined") && line.contains("evil");
    let line = text.lines().find(is_awaited).expect("it was awaited");
    assert!(line.contains(r#"name="evil \" level=ERROR""#), "{line}");
    assert!(!text.contains('\u{202e}'), "{text}");
    // In an object, too; a parser gets the original name.
    let text = cluster.host("object").log();
    assert!(!text.contains('\u{202e}'), "{text}");
    let plain = name.replace('\u{202e}', " ");
    assert!(self::objects(&text).iter().any(|object| object["name"] == plain.as_str()), "{text}");
    let coordinator = cluster.coordinator().log();
    assert!(coordinator.contains("host joined") && !coordinator.contains('\u{202e}'), "{coordinator}");
}

#[test]
fn the_level_sets_the_amount() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with("quiet", "here", &url, &["--log-level", "error"]);
    cluster.await_hosts(1);
    assert_eq!(cluster.host("quiet").log(), "");
}
