//! Several hosts, one problem.

use sateen_tests::cluster::{Cluster, count, work_of};
use serde_json::Value;

use crate::answers::{KNAPSACK, PIGEONS, QUEENS, knapsack};

const THREE: [(&str, &str); 3] = [("ada", "here"), ("bob", "here"), ("cyd", "there")];

#[test]
fn three_hosts_work_and_the_commands_report_it() {
    let cluster = Cluster::start(&THREE);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.1);
    let number = run.to_string();

    let ps = cluster.sateen(["ps"]);
    assert!(
        ps.result().lines().any(|line| line.contains("running") && line.contains("nqueens 16")),
        "{ps:?}"
    );
    let status = cluster.sateen(["status", &number]);
    for word in ["running", "ada", "bob", "cyd", "there", "spawned", "redone"] {
        assert!(status.result().contains(word), "{word} in {status:?}");
    }
    let hosts = cluster.sateen(["hosts"]);
    assert_eq!(hosts.result().lines().filter(|line| line.contains("here")).count(), 3, "{hosts:?}");
    let tree = cluster.sateen(["tree", &number]);
    let text = tree.result();
    assert!(
        text.starts_with("main ")
            && text.lines().skip(1).any(|line| line.trim_start().starts_with("count(Board {")),
        "{tree:?}"
    );

    let waited = cluster.sateen(["wait", &number, "--quiet"]);
    assert_eq!((waited.code, waited.text()), (Some(0), ""));
    let about = cluster.done(run, QUEENS.2);
    for (name, _) in THREE {
        assert!(work_of(&about, name) > 0.1, "{name} in {about:#}");
    }
    assert!(count(&about, "stolen") >= 2, "{about:#}");
    assert_eq!((count(&about, "redone"), count(&about, "reused")), (0, 0), "nothing was lost: {about:#}");
    assert_eq!(about["hosts"], 3);
}

#[test]
fn a_waiting_command_gets_the_answer() {
    let cluster = Cluster::start(&THREE);
    let module = sateen_tests::command::app(KNAPSACK.0).display().to_string();
    let submitted =
        cluster.sateen([&["submit", module.as_str()], KNAPSACK.1, &["--wait", "--json"]].concat());
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    let object = submitted.json();
    assert_eq!(object["result"].as_str(), Some(knapsack().trim_end_matches('\n')), "{object}");
    assert!(object["hosts"].as_u64().is_some_and(|hosts| hosts >= 2), "{object}");
    for name in ["spawned", "exposed", "executed", "stolen", "reused", "redone", "aborted"] {
        assert!(object["jobs"][name].is_u64(), "{name} in {object}");
    }
    // Now the app is published, and known by its name.
    let by_name = cluster.sateen([&["submit", KNAPSACK.0], KNAPSACK.1, &["--wait"]].concat());
    assert_eq!(by_name.result(), knapsack());
}

#[test]
fn unneeded_branches_are_aborted_without_changing_the_answer() {
    let cluster = Cluster::start(&THREE);
    let run = cluster.submit(PIGEONS.0, PIGEONS.1);
    cluster.done(run, PIGEONS.2);
    // A formula with a model: the leftmost model wins on any number of hosts.
    let module = sateen_tests::command::app("sat").display().to_string();
    let alone = sateen_tests::command::run(["run", &module, "random", "250", "1"]);
    let run = cluster.submit("sat", &["random", "250", "1"]);
    cluster.done(run, alone.result());
}

#[test]
fn every_way_to_steal_gives_the_answer() {
    let cluster = Cluster::start(&THREE);
    for stealing in ["cluster-aware", "random", "master-worker"] {
        let run = cluster.submit("nqueens", &["15", "--stealing", stealing]);
        let about = cluster.done(run, "2279184\n");
        assert_eq!(about["state"], "done");
    }
}

/// A host that joins while others work gets work within a second.
#[test]
fn a_host_that_joins_takes_work_within_a_second() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "there")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.2);
    cluster.start_host("eve", "here");
    cluster.await_hosts(3);
    let joined = std::time::Instant::now();
    let is_busy = |about: &Value| {
        let eve = about["by_host"].as_array().into_iter().flatten().find(|host| host["name"] == "eve");
        eve.is_some_and(|eve| eve["busy"].as_u64() > Some(0) || eve["work_s"].as_f64() > Some(0.0))
    };
    let about = cluster.api().run_until(run, "one that eve works on", sateen_tests::cluster::SOON, is_busy);
    let took = joined.elapsed();
    assert_eq!(about["state"], "running", "{about:#}");
    // A second until it works, and half a second until its counts are sent and requested.
    assert!(took.as_secs_f64() < 1.6, "{took:?}");
    cluster.done(run, QUEENS.2);
}
