//! Shared objects on a grid: one host's updates reach all others, guards wait for them, and
//! crashes do not change answers.

use std::sync::OnceLock;

use sateen_tests::cluster::{Cluster, PATIENCE, count};
use sateen_tests::probe::module_path;
use serde_json::Value;

/// An entry point of the probe app, and its result when compiled for this machine.
struct Problem {
    words: &'static [&'static str],
    expected: String,
}

/// Each step needs the whole last step, for which guards wait.
fn steps() -> &'static Problem {
    static PROBLEM: OnceLock<Problem> = OnceLock::new();
    PROBLEM.get_or_init(|| Problem {
        words: &["--function", "stepped", "24", "12", "6000000"],
        expected: format!("{}\n", ::probe::objects::stepped(24, 12, 6_000_000)),
    })
}

/// A bound that all lower; the answer depends on results.
fn bound() -> &'static Problem {
    static PROBLEM: OnceLock<Problem> = OnceLock::new();
    PROBLEM.get_or_init(|| Problem {
        words: &["--function", "least_of_results", "6000000"],
        expected: format!("{}\n", ::probe::objects::least_of_results(6_000_000)),
    })
}

fn submit(cluster: &Cluster, problem: &Problem) -> u64 {
    cluster.submit_module(module_path(), problem.words)
}

/// The number of hosts that report replicas.
fn sharers(about: &Value) -> usize {
    let hosts = about["by_host"].as_array().into_iter().flatten();
    hosts.filter(|host| host["shared_bytes"].as_u64().is_some_and(|bytes| bytes > 0)).count()
}

/// All three hosts work on it and have a replica.
#[track_caller]
fn await_sharers(cluster: &Cluster, run: u64, count: usize) {
    let about = cluster.api().run_until(run, "one that all share", PATIENCE, |about| {
        assert_ne!(about["state"], "failed", "{about:#}");
        sharers(about) >= count || about["state"] == "done"
    });
    assert_eq!(about["state"], "running", "it was over before all had a replica: {about:#}");
}

const THREE: [(&str, &str); 3] = [("ada", "here"), ("bob", "here"), ("cyd", "there")];

#[test]
fn three_hosts_share_a_bound() {
    let cluster = Cluster::start(&THREE);
    let run = submit(&cluster, bound());
    await_sharers(&cluster, run, 3);
    let about = cluster.done(run, &bound().expected);
    assert!(count(&about, "stolen") > 0, "{about:#}");
}

#[test]
fn guards_wait_for_updates_of_other_hosts() {
    let cluster = Cluster::start(&THREE);
    let run = submit(&cluster, steps());
    await_sharers(&cluster, run, 3);
    cluster.done(run, &steps().expected);
}

#[test]
fn a_guarded_job_elsewhere_waits_for_a_late_update() {
    let cluster = Cluster::start(&THREE);
    let run = cluster.submit_module(module_path(), &["--function", "opened_late", "400000000"]);
    let about = cluster.done(run, "true\n");
    assert_eq!(count(&about, "stolen"), 1, "{about:#}");
}

#[test]
fn objects_that_other_hosts_made_are_handed_up() {
    let cluster = Cluster::start(&THREE);
    let run = cluster.submit_module(module_path(), &["--function", "handed_up", "60", "4", "20000000"]);
    let about = cluster.done(run, &format!("{}\n", ::probe::objects::handed_up(60, 4, 1)));
    assert!(count(&about, "stolen") > 0, "{about:#}");
}

/// `kill -9` of a host, which may have sent its last updates to some of the others but not all.
#[test]
fn a_host_is_killed_between_updates() {
    for problem in [bound(), steps()] {
        let mut cluster = Cluster::start(&THREE);
        let run = submit(&cluster, problem);
        await_sharers(&cluster, run, 3);
        let root = cluster.root_host(run);
        let victim =
            THREE.iter().map(|(name, _)| *name).find(|name| *name != root).expect("three are not one");
        cluster.kill_host(victim);
        cluster.done(run, &problem.expected);
    }
}

/// Its successor makes new objects, and finds results of jobs that used the old ones.
#[test]
fn the_creator_is_killed() {
    for problem in [bound(), steps()] {
        let mut cluster = Cluster::start(&THREE);
        let run = submit(&cluster, problem);
        cluster.await_work(run, &["ada", "bob", "cyd"], 0.4);
        let root = cluster.root_host(run);
        cluster.kill_host(&root);
        let about = cluster.done(run, &problem.expected);
        assert_eq!(about["root_losses"], 1, "{about:#}");
        assert!(count(&about, "reused") + count(&about, "adopted") > 0, "nothing was saved: {about:#}");
    }
}

#[test]
fn a_host_that_comes_late_gets_its_replica() {
    let mut cluster = Cluster::start(&THREE[..2]);
    let run = submit(&cluster, steps());
    await_sharers(&cluster, run, 2);
    cluster.start_host("cyd", "there");
    await_sharers(&cluster, run, 3);
    cluster.await_work(run, &["cyd"], 0.1);
    cluster.done(run, &steps().expected);
}

#[test]
fn a_host_leaves_with_a_replica() {
    let mut cluster = Cluster::start(&THREE);
    let run = submit(&cluster, steps());
    await_sharers(&cluster, run, 3);
    let root = cluster.root_host(run);
    cluster.tell_host(&root, &["leave"]);
    assert_eq!(cluster.host_ended(&root), Some(0));
    cluster.done(run, &steps().expected);
}

/// The reported failure of a run, and the exit code.
#[track_caller]
fn failure(cluster: &Cluster, words: &[&str]) -> (Option<i32>, String) {
    let run = cluster.submit_module(module_path(), words);
    let about = cluster.api().run_over(run, PATIENCE);
    assert_eq!(about["state"], "failed", "{about:#}");
    let ended = cluster.sateen(["result".to_owned(), run.to_string()]);
    (ended.code, ended.stderr)
}

#[test]
fn errors_are_named() {
    let cluster = Cluster::start(&THREE[..2]);
    let words = ["--guard-limit", "300ms", "--function", "wait_elsewhere", "400000000"];
    // The codes are those of a run on one machine.
    let (code, told) = failure(&cluster, &words);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("the guard `is_open` of the job `enter` was false for 0.3"), "{told}");
    assert!(told.contains("raise the limit with --guard-limit"), "{told}");
    let (code, told) = failure(&cluster, &["--function", "panic_in_update"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("the update `Door::slam` failed: the door slams: wind"), "{told}");
    let (code, told) = failure(&cluster, &["--max-shared", "1M", "--function", "large_object", "1200000"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("shared objects take"), "{told}");
}
