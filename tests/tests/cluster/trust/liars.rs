//! A host that lies among three that do not.

use std::path::Path;

use sateen_host::grid::HostKey;
use sateen_protocol::RunId;
use sateen_tests::cluster::{Cluster, PATIENCE};
use sateen_tests::lying_host::{Lies, lies, start};
use serde_json::{Value, json};

/// Half a second, with some thirty units. OEIS A000170.
const QUEENS: (&str, &str, &str) = ("nqueens", "14", "365596\n");
const HONEST: [(&str, &str); 3] = [("ada", "here"), ("bob", "here"), ("cyd", "there")];
const LIAR: (&str, &str) = ("eve", "there");
/// Runs until one has a lie in it: it depends on which host steals what. In an audit, a host that lies is often barred as a
/// checker, before it has computed anything of the run itself.
const RUNS_MAX: usize = 40;

/// A grid with a host that lies about one job in `one_in`.
fn grid(one_in: u64) -> Cluster {
    let mut cluster = Cluster::start(&HONEST);
    let lies = Lies { one_in, seed: 21 };
    start(&mut cluster, Path::new(env!("CARGO_BIN_EXE_lying-host")), LIAR, lies);
    cluster.await_hosts(HONEST.len() + 1);
    cluster
}

/// The run, once it is over, and how many lies there are in its units.
fn run(cluster: &Cluster, policy: &str) -> (Value, usize) {
    let run = cluster.submit(QUEENS.0, &[QUEENS.1, "--trust", policy]);
    let about = cluster.api().run_over(run, PATIENCE);
    assert_eq!(about["state"], "done", "{about:#}");
    let all = lies(&cluster.host_log(LIAR.0));
    (about, all.iter().filter(|lie| lie.run == RunId(run)).count())
}

/// The host that lies, as the API names those that are barred.
fn liar(cluster: &Cluster) -> Value {
    let hosts = cluster.api().hosts();
    let liar = hosts.iter().find(|host| host["name"] == LIAR.0).expect("it is connected");
    let key = HostKey::show(&cluster.data_folder(LIAR.0)).expect("it has a key");
    json!({ "host": liar["id"], "key": key.to_string() })
}

/// A host that lies about one job in `one_in` is found in each run in which it lies, and changes no answer.
#[track_caller]
fn is_found(one_in: u64, policy: &str) {
    let cluster = grid(one_in);
    let liar = liar(&cluster);
    for _ in 0..RUNS_MAX {
        let (about, told) = run(&cluster, policy);
        let ended = cluster.sateen(["result".to_owned(), about["run"].to_string()]);
        assert_eq!(ended.result(), QUEENS.2, "the result of {about:#}");
        let checked = &about["checked"];
        if policy.starts_with("quorum") {
            assert_eq!(checked["units_checked"], checked["units"], "{about:#}");
        }
        if told > 0 {
            assert_eq!(checked["barred"], json!([liar]), "{told} lies in {about:#}");
            let status = cluster.sateen(["status".to_owned(), about["run"].to_string()]);
            assert!(status.result().contains("gave a wrong result and is barred"), "{status:?}");
            return;
        }
        // It may have lied as a checker.
        let barred = checked["barred"].as_array().expect("a list");
        assert!(barred.iter().all(|barred| *barred == liar), "{about:#}");
    }
    panic!("it has not lied in {RUNS_MAX} runs");
}

#[test]
fn a_host_that_lies_about_one_job_in_ten_is_found_and_changes_no_answer() {
    is_found(10, "quorum=2");
}

#[test]
fn a_host_that_lies_about_every_job_is_found_and_changes_no_answer() {
    is_found(1, "quorum=2");
}

#[test]
fn an_audit_finds_a_host_that_lies_about_every_job_and_changes_no_answer() {
    is_found(1, "audit");
}

#[test]
fn an_audit_finds_a_host_that_lies_about_one_job_in_ten_and_changes_no_answer() {
    // With a smaller share, it might gain standing before it lies, and then escape.
    is_found(10, "audit=1");
}

/// Or the tests above would show nothing.
#[test]
fn lies_change_the_answer_of_a_run_that_trusts_its_hosts() {
    let cluster = grid(10);
    for _ in 0..RUNS_MAX {
        let (about, told) = run(&cluster, "trust");
        assert_eq!(about["checked"], Value::Null, "{about:#}");
        let ended = cluster.sateen(["result".to_owned(), about["run"].to_string()]);
        let is_right = ended.result() == QUEENS.2;
        // Two lies can cancel each other.
        assert!(is_right || told > 0, "{ended:?}, without a lie");
        if !is_right {
            return;
        }
    }
    panic!("all of {RUNS_MAX} answers are right");
}
