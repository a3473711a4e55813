//! Apps in languages other than Rust obey the same rules, and give the same answers.
//!
//! `cargo xtask test` builds them, and installs the compilers if possible.

use std::path::PathBuf;
use std::process::{Command, Output};

use sateen_tests::root;
use serde_json::Value;

fn module(name: &str) -> PathBuf {
    let module = root().join("dist").join(format!("{name}.wasm"));
    assert!(
        module.exists(),
        "{} is not built: `cargo xtask test` says what it needs (clang and lld for C, Node for AssemblyScript)",
        module.display()
    );
    module
}

fn run(name: &str, words: &[&str]) -> Output {
    let mut sateen = Command::new(root().join("dist/sateen"));
    sateen.arg("run").arg(module(name)).args(words).output().expect("it starts")
}

#[track_caller]
fn answers(name: &str, words: &[&str], expected: &str) {
    for how in [&["--threads", "1"][..], &["--threads", "2"], &["--threads", "5"], &["--pristine"]] {
        let output = run(name, &[words, how].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} {words:?} {how:?}: {errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), expected, "{name} {words:?} {how:?}");
    }
}

#[track_caller]
fn refuses(name: &str, words: &[&str], code: i32, saying: &[&str]) {
    let output = run(name, words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{name} {words:?}: {said}");
    assert!(output.stdout.is_empty(), "{name} {words:?}");
    for part in saying {
        assert!(said.contains(part), "{name} {words:?} does not say `{part}`: {said}");
    }
}

const QUEENS: [&str; 2] = ["apps/nqueens-c", "apps/nqueens-assemblyscript"];

#[test]
fn known_answers_are_given_in_every_language() {
    for app in QUEENS {
        for (size, solutions) in [("1", "1"), ("2", "0"), ("8", "92"), ("10", "724"), ("12", "14200")] {
            answers(app, &[size], solutions);
        }
    }
}

#[test]
fn jobs_of_every_language_are_stolen() {
    for app in QUEENS {
        let output = run(app, &["14", "--threads", "3", "--json"]);
        let about: Value = serde_json::from_slice(&output.stdout).expect("an object");
        assert_eq!(about["result"], "365596", "{app}");
        assert!(about["jobs"]["stolen_local"].as_u64() > Some(0), "{app}: {about}");
        assert!(about["jobs"]["spawned"].as_u64() > Some(1000), "{app}: {about}");
    }
}

#[test]
fn wrong_words_are_bad_input_in_every_language() {
    for app in QUEENS {
        for words in [&[][..], &["0"], &["28"], &["eight"], &["8", "8"], &["99999999999999999999"]] {
            refuses(app, words, 2, &["the number of queens, from 1 to 27"]);
        }
    }
}

#[test]
fn unknown_words_are_named_in_every_language() {
    for app in QUEENS {
        for words in
            [&["--frobnicate"][..], &["8", "--frobnicate"], &["--frobnicate", "8"], &["--frobnicate=8"]]
        {
            refuses(app, words, 2, &["`--frobnicate", "` is not understood: one argument is expected"]);
        }
        refuses(app, &["8", "9"], 2, &["`9` is not understood"]);
        refuses(app, &["zwölf"], 2, &["`zwölf` is not understood"]);
        refuses(app, &[], 2, &["sateen: one argument is expected"]);
    }
}

const C: &str = "tests/conformance-c";

#[test]
fn halves_of_halves_add_up() {
    answers(C, &["2000", "--function", "halves"], "1999000");
}

#[test]
fn handles_are_synced_in_any_order() {
    answers(C, &["--function", "orders"], "ok");
}

#[test]
fn a_full_stack_costs_no_job() {
    answers(C, &["--function", "many"], "ok");
}

#[test]
fn dropped_jobs_are_aborted() {
    answers(C, &["--function", "drops"], "ok");
}

#[test]
fn a_failed_job_fails_its_parent() {
    for threads in ["1", "4"] {
        refuses(C, &["--function", "fails", "--threads", threads], 1, &["sulk", "seven will not do"]);
    }
}

#[test]
fn inputs_and_the_log_work() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), b"\x00bytes\xff").expect("written");
    let input = format!("some={}", file.path().display());
    let output = run(C, &["--function", "echo", "--input", &input]);
    assert_eq!(output.stdout, b"\x00bytes\xff");
    assert!(String::from_utf8_lossy(&output.stderr).contains("a line from C"));
    refuses(C, &["--function", "echo"], 1, &["there is no input `some`"]);
}

#[test]
fn a_pointer_out_of_memory_is_refused_with_its_offset() {
    refuses(C, &["--function", "strays"], 1, &["4294967280", "64"]);
}
