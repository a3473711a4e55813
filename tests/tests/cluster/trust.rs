//! Runs whose results are checked by a quorum of hosts.

#[cfg(target_os = "linux")]
mod liars;

use sateen_tests::cluster::{Cluster, PATIENCE, SOON};

use crate::answers::{FEW_QUEENS, QUEENS};

const FOUR: [(&str, &str); 4] = [("ada", "here"), ("bob", "here"), ("cyd", "there"), ("dan", "there")];

#[test]
fn honest_hosts_agree_on_all_units() {
    let cluster = Cluster::start(&FOUR);
    let module = sateen_tests::command::app("nqueens").display().to_string();
    let submitted = cluster.sateen(["submit", &module, "14", "--trust", "quorum=2", "--wait", "--json"]);
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    let object = submitted.json();
    // OEIS A000170.
    assert_eq!((&object["result"], &object["trust"]), (&"365596".into(), &"quorum=2".into()), "{object}");
    let run = object["run"].as_u64().expect("a number");
    let about = cluster.api().run_until(run, "counted", SOON, |about| about["counted"] == "final");
    for object in [&object, &about] {
        let checked = &object["checked"];
        let units = checked["units"].as_u64().expect("a number");
        assert!(units >= 1, "{object:#}");
        assert_eq!(checked["units_checked"], units, "{object:#}");
        assert_eq!(
            (&checked["work_share"], &checked["is_checking"]),
            (&1.0.into(), &false.into()),
            "{object:#}"
        );
        assert!(checked["checks"].as_u64() >= Some(units), "{object:#}");
        assert_eq!(checked["barred"], serde_json::json!([]), "{object:#}");
    }
    let status = cluster.sateen(["status", &run.to_string()]);
    assert!(
        status.result().contains("checked      quorum=2: ") && status.result().contains("100 % of the work"),
        "{status:?}"
    );
    // Others are believed, and say so.
    let run = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
    let about = cluster.done(run, FEW_QUEENS.2);
    assert_eq!((&about["trust"], about["checked"].is_null()), (&"trust".into(), true), "{about:#}");
}

#[test]
fn an_audit_checks_a_part_and_says_what_that_is_worth() {
    let cluster = Cluster::start(&FOUR);
    let run = |words: &[&str]| {
        let run = cluster.submit("nqueens", &[&["14"], words].concat());
        // OEIS A000170.
        cluster.done(run, "365596\n")
    };
    // All hosts are new.
    let about = run(&["--trust", "audit"]);
    let checked = &about["checked"];
    assert_eq!(
        (&about["trust"], &checked["barred"]),
        (&"audit=0.05".into(), &serde_json::json!([])),
        "{about:#}"
    );
    assert_eq!(checked["caught"][0], serde_json::json!({ "one_in": 1, "probability": 1.0 }), "{about:#}");
    assert!(checked["without_standing"].as_u64() >= Some(1), "{about:#}");
    assert!(checked["units_checked"].as_u64() >= Some(1), "{about:#}");
    let status = cluster.sateen(["status".to_owned(), about["run"].to_string()]);
    assert!(
        status.result().contains("checked      audit=0.05: ")
            && status
                .result()
                .contains("without standing; a host that lied was found with a probability of at least"),
        "{status:?}"
    );
    // Standing comes with verified units, and less is checked.
    let share = |about: &serde_json::Value| about["checked"]["work_share"].as_f64().expect("a share");
    for _ in 0..20 {
        let about = run(&["--trust", "audit=0.01"]);
        assert_eq!(about["checked"]["barred"], serde_json::json!([]), "{about:#}");
        if about["checked"]["without_standing"] == 0 && share(&about) < 1.0 {
            return;
        }
    }
    panic!("no owner gained standing");
}

/// All hosts were idle on all pages while they computed units of one another again, and the run looked stuck.
#[test]
fn a_host_that_checks_results_works_and_says_so_everywhere() {
    let cluster = Cluster::start(&FOUR);
    let run = cluster.submit(QUEENS.0, &[QUEENS.1, &["--trust", "quorum=2"]].concat());
    let api = cluster.api();
    api.run_until(run, "checked by workers that compute", PATIENCE, |about| {
        assert_ne!(about["state"], "done", "it was over before it was looked at: {about:#}");
        let busy =
            about["by_host"].as_array().into_iter().flatten().any(|host| host["busy"].as_u64() > Some(0));
        // No job of the run itself is under way any more.
        let is_computed = about["checked"]["is_checking"] == true && about["root_host"].is_null();
        if !(busy && is_computed) {
            return false;
        }
        let hosts = api.hosts();
        let works = |host: &serde_json::Value| host["state"] == "working" && host["busy"].as_u64() > Some(0);
        hosts.iter().any(works) && api.metric("sateen_workers_busy") > 0.0
    });
    let about = cluster.done(run, QUEENS.2);
    let checks_s = about["checked"]["work_s"].as_f64().expect("a time");
    let work_s = about["work_s"].as_f64().expect("a time");
    // All of it was computed once more, by others.
    assert!(checks_s > 0.5 * work_s && checks_s < 3.0 * work_s, "{checks_s} of {work_s}: {about:#}");
    let counted_s = api.metric("sateen_checks_work_seconds_total");
    assert!(counted_s > checks_s - 1e-3, "{counted_s}, and {checks_s} by the run");
}

#[test]
fn a_crash_while_results_are_checked_costs_no_trust() {
    let mut cluster = Cluster::start(&FOUR);
    let run = cluster.submit(QUEENS.0, &[QUEENS.1, &["--trust", "quorum=2"]].concat());
    cluster.await_work(run, &["ada", "bob", "cyd", "dan"], 0.2);
    cluster.kill_host("bob");
    cluster.api().run_until(run, "checked", PATIENCE, |about| about["checked"]["is_checking"] == true);
    cluster.kill_host("cyd");
    cluster.start_host("eve", "here");
    let about = cluster.done(run, QUEENS.2);
    assert_eq!(about["checked"]["units_checked"], about["checked"]["units"], "{about:#}");
    assert_eq!(about["checked"]["barred"], serde_json::json!([]), "{about:#}");
}

#[test]
fn a_run_with_too_few_hosts_says_what_it_waits_for() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(FEW_QUEENS.0, &[FEW_QUEENS.1, &["--trust", "quorum=3"]].concat());
    let about = cluster.api().run_until(run, "waiting", PATIENCE, |about| {
        about["waiting_for"].as_str().is_some_and(|why| why.contains("no other host that could is connected"))
    });
    let why = about["waiting_for"].as_str().unwrap_or_default();
    assert!(
        why.contains("3 hosts with different keys must agree on each unit")
            && why.contains("start more hosts"),
        "{why}"
    );
    assert_eq!(
        (&about["state"], &about["checked"]["is_checking"]),
        (&"running".into(), &true.into()),
        "{about:#}"
    );
    let status = cluster.sateen(["status", &run.to_string()]);
    assert!(status.result().contains("must agree on each"), "{status:?}");
    cluster.start_host("cyd", "here");
    let about = cluster.done(run, FEW_QUEENS.2);
    assert_eq!(about["checked"]["units_checked"], about["checked"]["units"], "{about:#}");
}

#[test]
fn a_policy_that_there_is_not_is_refused_with_those_that_there_are() {
    let cluster = Cluster::start_beside_others(&[]);
    let module = sateen_tests::command::app("nqueens").display().to_string();
    for policy in ["quorum=1", "quorum=6", "quorum", "audit=0", "audit=1.5", "referee"] {
        let submitted = cluster.sateen(["submit", &module, "8", "--trust", policy]);
        submitted.fails_with(2, &[policy, "`quorum=N` with N from 2 to 5"]);
    }
    let ended = sateen_tests::command::run(["run", &module, "8", "--trust", "quorum=2"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}
