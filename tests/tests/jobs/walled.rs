//! The engine and the scheduler work within the walls of the system as they do without: same results, same errors.

use std::path::Path;
use std::process::{Command, Output};

use sateen_tests::command::{app, run};
use sateen_tests::{probe, root};
use sateen_walls::Wall;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sateen-tests-walled");

/// Runs an app within walls; `inputs` are names and files below `sample-apps/`.
fn walled(module: &Path, function: &str, inputs: &[(&str, &str)], arguments: &[&str]) -> Output {
    let cache = tempfile::tempdir().expect("a temporary folder can be made");
    // Threads of the compiler would remain in the process.
    let mut compile = Command::new(PROGRAM);
    let compiled = compile.arg(module).env("SATEEN_CACHE_DIR", cache.path()).status();
    assert!(compiled.expect("it can be started").success());
    let mut command = Command::new(PROGRAM);
    command.arg(module).args([function, &std::process::id().to_string()]);
    command.args(inputs.iter().map(|(name, file)| format!("{name}={}", in_apps(file)))).arg("--");
    let ended =
        command.args(arguments).env("SATEEN_CACHE_DIR", cache.path()).output().expect("it can be started");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains(&format!("{}: up", Wall::FilteredCalls.name())), "{said}");
    // The whole process is within: no thread was started before.
    assert!(!said.contains("started before"), "{said}");
    ended
}

fn in_apps(file: &str) -> String {
    root().join("sample-apps").join(file).display().to_string()
}

/// Runs a sample app within walls and by `sateen run`, and compares the results.
#[track_caller]
fn same(name: &str, inputs: &[(&str, &str)], arguments: &[&str]) {
    let module = app(name);
    let given = inputs.iter().map(|(name, file)| format!("--input={name}={}", in_apps(file)));
    let words = ["run".to_owned(), module.display().to_string(), "--threads".to_owned(), "4".to_owned()];
    let without = run(words.into_iter().chain(given).chain(arguments.iter().map(ToString::to_string)));
    let within = walled(&module, "main", inputs, arguments);
    let said = String::from_utf8_lossy(&within.stderr);
    assert!(within.status.success() && without.code == Some(0), "{:?}: {said} {without:?}", within.status);
    assert!(!within.stdout.is_empty() && within.stdout == without.stdout, "{name}: {said}");
}

#[test]
fn jobs_that_are_stolen_have_the_same_results() {
    same("nqueens", &[], &["11"]);
    same("fib", &[], &["27"]);
}

#[test]
fn jobs_that_are_aborted_have_the_same_results() {
    same("othello", &[], &["search", "8"]);
}

/// The image of what was prepared is a file in memory, which instances map.
#[test]
fn prepared_values_are_shared() {
    same("raytracer", &[("scene", "raytracer/scenes/marbles.txt")], &[]);
    same("grammar", &[("train", "grammar/data/dfa_300_2_5.txt")], &["3", "2"]);
}

#[test]
fn shared_objects_are_updated() {
    same("barneshut", &[], &["1000", "2", "--shared"]);
}

/// Traps are signals, and panics print where they were.
#[test]
fn failures_of_jobs_are_caught() {
    for (function, n) in [("trap_caught", "12"), ("panic_caught", "12")] {
        let without = run(["run", &probe::module_path().display().to_string(), "--function", function, n]);
        let within = walled(probe::module_path(), function, &[], &[n]);
        assert!(within.status.success(), "{function}: {}", String::from_utf8_lossy(&within.stderr));
        assert_eq!(within.stdout, without.stdout, "{function}");
    }
    let ended = walled(probe::module_path(), "trap", &[], &[]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.code() == Some(1) && said.contains("job `trap` failed"),
        "{:?} {said}",
        ended.status
    );
}
