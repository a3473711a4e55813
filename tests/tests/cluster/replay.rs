//! Repeats a job on this machine, from its key.

use sateen_tests::cluster::Cluster;
use sateen_tests::probe;
use serde_json::Value;

/// The shown part of the key of a job of the run for which `wanted` holds.
#[track_caller]
fn key(cluster: &Cluster, run: u64, wanted: impl Fn(&Value) -> bool) -> String {
    let tree = cluster.sateen(["tree", &run.to_string(), "--json"]).json();
    let nodes = tree["nodes"].as_array().expect("nodes");
    let found = nodes.iter().find(|node| wanted(node)).unwrap_or_else(|| panic!("no such job in {tree:#}"));
    found["job"].as_str().expect("its key").to_owned()
}

#[test]
fn a_stolen_job_has_the_same_result_here() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit("nqueens", &["15"]);
    cluster.done(run, "2279184\n");
    let key = key(&cluster, run, |node| node["function"] == "count" && node["state"] == "done");
    // The tree shows it.
    let tree = cluster.sateen(["tree", &run.to_string(), "--width", "1000", "--depth", "100"]);
    let line = tree.result().lines().find(|line| line.contains(&format!(" {key} @ "))).expect("its line");
    let call = line.trim().split_once(&format!(" {key} @ ")).expect("its call").0;
    // With its parameters in Rust's notation.
    assert!(call.starts_with("count(Board { all: 32767, taken: ") && call.contains(" }, "), "{call}");
    assert!(call.ends_with(')'), "{call}");

    let file = cluster.folder().join("result");
    let replayed = cluster.sateen(["replay", &key[..12]]);
    let solutions: u64 = replayed.text().trim().parse().expect("a number, as Rust would write it");
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert!(replayed.stderr.contains(&format!("job {key}, `{call}`, ")), "{replayed:?}");
    assert!(replayed.stderr.contains(&format!("of run {run} of nqueens: ")), "{replayed:?}");
    let run_word = run.to_string();
    let file_word = file.display().to_string();
    let words = [
        "replay",
        &key,
        "--run",
        &run_word,
        "--json",
        "--threads",
        "2",
        "--pristine",
        "--output",
        &file_word,
    ];
    let told = cluster.sateen(words);
    let object = told.json();
    let bytes = std::fs::read(&file).expect("the result is written");
    // Seven bits a byte, the lowest first.
    let written = bytes.iter().rev().fold(0, |value, byte| (value << 7) | u64::from(byte & 0x7f));
    assert!(!bytes.is_empty() && written == solutions, "{written} and {solutions}");
    assert_eq!(object["call"], call);
    assert!(
        object["job"].as_str().is_some_and(|whole| whole.len() == 64 && whole.starts_with(&key)),
        "{object}"
    );
    assert_eq!(
        (&object["run"], &object["function"], &object["threads"]),
        (&run.into(), &"count".into(), &2.into())
    );
    assert_eq!((&object["output"], object.get("result_base64")), (&file_word.as_str().into(), None));
    assert!(object["elapsed_s"].as_f64() > Some(0.0), "{object}");
    assert!(object["jobs"]["spawned"].as_u64() > Some(0), "{object}");

    cluster.sateen(["replay", &key, "--run", "99"]).fails_with(2, &["run 99", "sateen ps"]);
    // Of 16 digits, the last one differs.
    let last = if key.ends_with('0') { '1' } else { '0' };
    let unknown = format!("{}{last}", &key[..15]);
    cluster.sateen(["replay", &unknown]).fails_with(2, &["has a key that begins with", &unknown]);
}

#[test]
fn the_root_job_has_the_runs_result_or_its_failure() {
    let cluster = Cluster::start_beside_others(&[("ada", "here")]);
    let run = cluster.submit("nqueens", &["10"]);
    cluster.done(run, "724\n");
    let root = key(&cluster, run, |node| node["parent"].is_null());
    let replayed = cluster.sateen(["replay", &root, "--quiet"]);
    assert_eq!((replayed.result(), replayed.stderr.as_str()), ("724\n", ""));

    let module = probe::module_path().display().to_string();
    let failed = cluster.sateen(["submit", &module, "--function", "panic_in_root", "--wait", "--json"]);
    let run = failed.json()["run"].as_u64().expect("its number");
    let root = key(&cluster, run, |node| node["parent"].is_null());
    cluster.sateen(["replay", &root, "--quiet"]).fails_with(1, &["the root fails"]);
    let verbose = cluster.sateen(["replay", &root, "--verbose"]);
    assert!(verbose.stderr.contains("\n    in sateen_main_panic_in_root\n"), "{verbose:?}");
    assert!(verbose.stderr.contains(&format!("job {root}, the root job of run {run} of ")), "{verbose:?}");
    let object = cluster.sateen(["replay", &root, "--json"]);
    assert_eq!((object.code, &object.json()["error"]["exit_code"]), (Some(1), &1.into()), "{object:?}");
}

#[test]
fn a_job_that_reads_shared_objects_cannot_be_run_alone() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit_module(probe::module_path(), &["--function", "least_of_results", "3000000"]);
    let expected = format!("{}\n", ::probe::objects::least_of_results(3_000_000));
    cluster.done(run, &expected);
    let key_of_reader = key(&cluster, run, |node| node["function"] == "search_least");
    let why = ["reads shared objects of run", "cannot be run again alone", "the root job"];
    cluster.sateen(["replay", &key_of_reader]).fails_with(2, &why);
    // The root makes its own objects.
    let root = key(&cluster, run, |node| node["parent"].is_null());
    let replayed = cluster.sateen(["replay", &root, "--quiet", "--threads", "2"]);
    assert_eq!(replayed.result(), expected);
}
