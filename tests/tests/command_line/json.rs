//! `--json`: one object for machines.

use sateen_tests::command::{app, run, run_probe};
use serde_json::{Value, json};

/// The counters that every object has.
const COUNTERS: [&str; 8] =
    ["spawned", "exposed", "executed", "stolen", "stolen_local", "reused", "redone", "aborted"];

#[track_caller]
fn assert_common(object: &Value, function: &str, arguments: &[&str]) {
    assert_eq!(object["app"], "probe");
    assert_eq!((&object["function"], &object["arguments"]), (&json!(function), &json!(arguments)));
    assert_eq!(object["threads"], 2);
    assert_eq!(object["module"].as_str().map(str::len), Some(64), "{object}");
    assert!(object["run"].as_str().is_some_and(|run| !run.is_empty()), "{object}");
    for counter in COUNTERS {
        assert!(object["jobs"][counter].is_u64(), "{counter} in {object}");
    }
}

#[test]
fn a_finished_run_is_one_object() {
    let ended = run_probe("balanced", &["20", "--threads", "2", "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let object = ended.json();
    assert_common(&object, "balanced", &["20"]);
    assert_eq!(object["result"], "6765");
    assert_eq!(object["jobs"]["spawned"], 10_946, "fib(20) has this many additions, and the root");
    let seconds = |name: &str| object[name].as_f64().unwrap_or(-1.0);
    assert!(seconds("elapsed_s") > 0.0 && seconds("work_s") > 0.0, "{object}");
    assert!(seconds("span_s") > 0.0 && seconds("span_s") <= seconds("work_s") * 1.01 + 0.01, "{object}");
}

#[test]
fn every_run_has_an_id_of_its_own() {
    let id = || run_probe("balanced", &["5", "--json"]).json()["run"].clone();
    assert_ne!(id(), id());
}

#[test]
fn bytes_that_are_not_text_are_base64() {
    let object = run_probe("bytes", &["1", "--json"]).json();
    assert_eq!(object["result"], Value::Null);
    let encoded = object["result_base64"].as_str().unwrap_or_default();
    assert!(encoded.starts_with("AAECAwQF") && encoded.ends_with("/P3+/w=="), "{encoded}");
    let text = run_probe("silence", &["--json"]).json();
    assert_eq!((&text["result"], &text["result_base64"]), (&json!(""), &Value::Null));
}

#[test]
fn a_failed_run_is_one_object_too() {
    for (function, code, word) in [
        ("panic_in_root", 1, "the root fails"),
        ("trap", 1, "unreachable"),
        ("recurse_for_ever", 3, "--stack"),
        ("balanced", 2, "`n` is missing"),
    ] {
        let ended = run_probe(function, &["--threads", "2", "--json"]);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let object = ended.json();
        assert_common(&object, function, &[]);
        assert_eq!((&object["result"], &object["error"]["exit_code"]), (&Value::Null, &json!(code)));
        let message = object["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(word), "{object}");
        assert!(object["error"]["backtrace"].is_array(), "{object}");
        assert!(object["elapsed_s"].as_f64() > Some(0.0) && object["work_s"].is_f64(), "{object}");
        assert_eq!(object.get("span_s"), Some(&Value::Null), "{object}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
}

#[test]
fn an_output_file_has_the_result_and_the_object_has_the_files_name() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("result");
    let name = path.display().to_string();
    let object = run_probe("balanced", &["10", "--json", "--output", &name]).json();
    assert_eq!((object.get("result"), &object["output"]), (None, &json!(name)));
    assert_eq!(std::fs::read_to_string(path).expect("it was written"), "55\n");
}

/// The documented example.
#[test]
fn queens_give_one_object() {
    let queens = app("nqueens");
    let words = [
        "run".as_ref(),
        queens.as_os_str(),
        "12".as_ref(),
        "--threads".as_ref(),
        "2".as_ref(),
        "--json".as_ref(),
    ];
    let object = run(words).json();
    assert_eq!((&object["result"], &object["app"]), (&json!("14200"), &json!("nqueens")));
}

#[test]
fn a_profile_estimates_the_gain_from_more_workers() {
    let words = |more: &[&str]| {
        let app = app("nqueens").display().to_string();
        [&["run", &app, "12", "--profile"], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let profile = run(words(&["--json"])).json()["profile"].clone();
    let number = |value: &Value| value.as_f64().expect("a number");
    let (work, span) = (number(&profile["work_s"]), number(&profile["span_s"]));
    assert!(work > 0.0 && span > 0.0 && span <= work, "{profile}");
    assert!((number(&profile["parallelism"]) - work / span).abs() < 1e-6 * work / span, "{profile}");
    let curve = profile["curve"].as_array().expect("a curve");
    let workers: Vec<_> = curve.iter().map(|point| point["workers"].as_u64()).collect();
    assert_eq!(workers, [2, 10, 100, 1000].map(Some));
    for point in curve {
        let bound = work / number(&point["workers"]) + span;
        assert!((number(&point["time_s"]) - bound).abs() < 1e-6, "{profile}");
    }
    let level = &profile["levels"][0];
    assert_eq!((&level["job"], &level["depth"]), (&"count".into(), &1.into()));
    assert_eq!(profile["depends_on"], json!({ "shared_objects": [], "dropped_jobs": [] }));

    let shown = run(words(&[]));
    assert_eq!(shown.text(), "14200\n");
    for part in ["work ", "span ", "parallelism ", "   1000 workers ", "count "] {
        assert!(shown.stderr.contains(part), "`{part}` is not in {}", shown.stderr);
    }
    let c = app("nqueens-c").display().to_string();
    run(["run", &c, "8", "--profile"]).fails_with(2, &["cannot be profiled"]);
}

#[test]
fn a_profile_says_where_work_depends_on_the_schedule() {
    let othello = app("othello").display().to_string();
    let shown = run(["run", &othello, "search", "7", "--profile"]);
    for part in ["depends on the schedule", "dropped from sets (`answer`)", "`--threads 1`"] {
        assert!(shown.stderr.contains(part), "`{part}` is not in {}", shown.stderr);
    }
    let counted = run(["run", &othello, "perft", "7", "--profile"]);
    assert!(!counted.stderr.contains("schedule"), "{}", counted.stderr);
}

/// With every job in its own sandbox, each sandbox makes the values that its job needs; there cannot be more of them.
#[test]
fn values_made_per_sandbox_count_once_for_any_number_of_sandboxes() {
    let apps = [
        ("barneshut", "1000 2"),
        ("barneshut", "1000 2 --shared"),
        ("knapsack", "200 1"),
        ("othello", "search 6"),
        ("qap", "11 1"),
        ("raytracer", "2"),
        ("sat", "random 200 1"),
        ("tsp", "14 1"),
    ];
    for (name, words) in apps {
        let made = |more: &[&str]| {
            let app = app(name).display().to_string();
            let words = words.split_ascii_whitespace();
            let all: Vec<&str> = ["run", &app, "--profile", "--json"]
                .into_iter()
                .chain(more.iter().copied())
                .chain(words)
                .collect();
            let per_sandbox = run(all).json()["profile"]["per_sandbox"].clone();
            ["made", "again"].map(|what| per_sandbox[what].as_u64().expect("a count"))
        };
        let [in_one, again_in_one] = made(&["--threads", "1"]);
        let [in_each, again_in_each] = made(&["--threads", "2", "--pristine"]);
        assert!(in_one > 0 && again_in_one == 0, "{name} {words}: {in_one}, {again_in_one} again");
        assert_eq!(in_one, in_each, "{name} {words}");
        assert!(again_in_each > 0, "{name} {words}: each job has a sandbox that makes its own");
    }
}
